"""Many processes on one file, for a few seconds: kills, writers, histories. `checkers` shows that each can fail."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.stress import checkers, crowd, histories, kills, writers
from tests.stress.figures import Figures

SEED = 20261130

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")


def test_no_acknowledged_write_is_lost_by_a_kill_at_a_random_moment(archive: Path) -> None:
    figures = Figures("kills")
    kills.at_random(figures, SEED, 1)
    assert figures.losses == [] and figures.counts["kills"] == 1


@pytest.mark.skipif(shutil.which("strace") is None, reason="no strace here")
def test_no_acknowledged_write_is_lost_by_a_kill_at_a_system_call(archive: Path) -> None:
    figures = Figures("kills")
    kills.at_system_calls(figures, SEED, (9,))
    assert figures.losses == []


def test_many_writers_lose_nothing_and_double_nothing(archive: Path) -> None:
    assert writers.run(SEED, ours=3, peers=1, calls=15, each_peer=15).losses == []


def test_concurrent_calls_to_five_servers_are_linearizable(archive: Path) -> None:
    figures = histories.run(range(SEED, SEED + 4), processes=5, calls=8)
    assert figures.losses == [] and figures.counts["of them overlapping"] > 20


def test_no_acknowledged_write_over_http_is_lost_by_a_restart(archive: Path) -> None:
    figures = crowd.run(clients=20, seconds=2)
    assert figures.losses == [] and figures.counts["writes acknowledged"] > 20


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, marks=() if check in checkers.QUICK else pytest.mark.slow, id=check.__name__)
        for check in checkers.CHECKS
    ],
)
def test_each_checker_catches_servers_that_break_its_promise(check: Callable[[], list[str]]) -> None:
    try:
        caught = check()
    except checkers.CannotRun as error:
        pytest.skip(str(error))
    assert caught
