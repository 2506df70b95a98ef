"""What a run of the platforms makes of its rows, and where it writes them."""

from __future__ import annotations

from build.platform_table import PAGE
from tests.platforms.fetching import Missing
from tests.platforms.results import Job, Row, rows_of, short_table, table


def test_what_cannot_be_had_is_a_row_that_says_why() -> None:
    def make() -> list[Row]:
        raise Missing("needs root")

    (row,) = rows_of(Job("Windows", "CPython", make))
    assert row == Row("Windows", "CPython", note="needs root")
    assert not row.failed
    assert "| Windows | CPython |  |  | not run: needs root |" in table([row])


def test_an_unforeseen_error_is_a_row_that_failed_and_not_the_runs_end() -> None:
    def make() -> list[Row]:
        raise RuntimeError("a|b\nc")

    (row,) = rows_of(Job("Windows", "CPython", make))
    assert row.failed
    assert "| 0 of 1 (stopped by RuntimeError: a/b c) |" in table([row])


def test_the_guides_table_has_one_line_for_each_platform_and_outcome() -> None:
    rows = [
        Row("Linux", "CPython 3.10.13", "1.3 s", "0.30 s", 11, 11),
        Row("Linux", "CPython 3.11.7", "1.3 s", "0.30 s", 11, 11),
        Row("Linux", "CPython 3.12.1", "1.3 s", "0.30 s", 10, 11, "FAILED: it speaks"),
        Row("Windows", "CPython", note="needs root"),
    ]
    assert short_table(rows).splitlines()[2:] == [
        "| Linux | CPython 3.10.13, 3.11.7 | all passed |",
        "| Linux | CPython 3.12.1 | 10 of 11 passed: FAILED: it speaks |",
        "| Windows | CPython | not run: needs root |",
    ]


def test_the_guide_has_the_place_for_it() -> None:
    text = PAGE.read_text("utf-8")
    assert text.count("<!-- run:begin -->") == text.count("<!-- run:end -->") == 1
