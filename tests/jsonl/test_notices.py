"""Notices name lines, and are of one kind wherever these stand."""

from __future__ import annotations

from memory_app.jsonl.notices import Notice


def test_a_notice_names_up_to_five_lines_and_counts_the_others() -> None:
    assert str(Notice("it is odd")) == "it is odd"
    assert str(Notice("it is kept", where="memory.jsonl.bak")) == "it is kept (memory.jsonl.bak)"
    assert str(Notice("is odd", (7,))) == "line 7 is odd"
    assert str(Notice("is odd", (1, 7))) == "2 lines (1, 7): each is odd"
    assert str(Notice("is odd", tuple(range(1, 9)))) == "8 lines (1, 2, 3, 4, 5 and 3 more): each is odd"


def test_lines_that_have_moved_are_nothing_new_and_more_of_them_are() -> None:
    assert Notice("is odd", (1, 7)).kind == Notice("is odd", (2, 9)).kind
    assert Notice("is odd", (1, 7)).kind != Notice("is odd", (1, 7, 8)).kind
    assert Notice("is odd", (1,)).kind != Notice("is even", (1,)).kind
    assert Notice("it is kept", where="a").kind == Notice("it is kept", where="b").kind
