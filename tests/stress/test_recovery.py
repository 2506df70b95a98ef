"""A short run of the proof that everything can be undone."""

from __future__ import annotations

from tests.stress import recovery


def test_after_kills_everything_that_was_taken_away_can_be_brought_back() -> None:
    figures = recovery.run(seed=11, rounds=1, most=20)
    assert figures.losses == []
    assert figures.counts["undos"] > 10
    assert figures.counts["kills"] > 0
