"""Dated copies: made last means newest, the same bytes once, and removed by count alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memory_app.disk import copies
from memory_app.disk.copies import Series

NOW = 1_800_000_000.0  # 2027-01-15T08:00:00Z


@pytest.fixture
def series(tmp_path: Path) -> Series:
    return Series(str(tmp_path), "memory.jsonl.", ".bak")


def make(series: Series, *texts: bytes) -> list[str]:
    return [os.path.basename(copies.back_up(series, text, now=lambda: NOW)[0]) for text in texts]


def test_copies_of_one_second_are_in_the_order_in_which_they_were_made(series: Series) -> None:
    names = make(series, b"one", b"two", b"three")
    assert names == [f"memory.jsonl.20270115T08000{n}Z.bak" for n in range(3)]
    assert [os.path.basename(one.path) for one in copies.listed(series)] == names[::-1]
    assert all(one.finished for one in copies.listed(series))


def test_the_same_bytes_are_a_new_copy_unless_the_newest_has_them(series: Series) -> None:
    make(series, b"one", b"two")
    assert copies.back_up(series, b"two")[1] is False
    assert copies.back_up(series, b"one")[1] is True


def test_with_once_the_bytes_of_any_copy_are_enough(series: Series) -> None:
    make(series, b"one", b"two")
    assert copies.back_up(series, b"one", once=True) == (series.path("20270115T080000Z"), False)


def test_a_copy_from_elsewhere_is_not_finished_until_it_was_compared(series: Series) -> None:
    path = Path(series.path("20270115T080000Z"))
    path.write_bytes(b"one")
    assert [one.finished for one in copies.listed(series)] == [False]
    copies.back_up(series, b"one")
    assert [one.finished for one in copies.listed(series)] == [True]


def test_only_names_of_the_exact_form_are_copies(series: Series, tmp_path: Path) -> None:
    for name in ("memory.jsonl.bak", "memory.jsonl.20270115T080000Z.bak.old", "memory.jsonl.20279915T080000Z.bak"):
        (tmp_path / name).write_text("x")
    (tmp_path / "memory.jsonl.20270115T080000Z.bak").mkdir()
    assert copies.listed(series) == []


def test_a_series_may_be_a_folder_of_its_own(tmp_path: Path) -> None:
    series = Series(str(tmp_path / "memory.jsonl.history"), "", ".jsonl")
    assert make(series, b"one") == ["20270115T080000Z.jsonl"]
    assert [one.size for one in copies.listed(series)] == [3]


def test_pruning_keeps_the_newest_whole_copies_and_what_is_spared(series: Series) -> None:
    names = make(series, b"1", b"2", b"3", b"", b"5")
    spared = series.path(copies.listed(series)[-1].stamp)
    gone = copies.prune(series, 2, lambda one: one.size > 0, {spared})
    assert [os.path.basename(one.path) for one in gone] == [names[1]]
    assert [one.size for one in copies.listed(series)] == [1, 0, 1, 1]
