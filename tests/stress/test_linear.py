"""The checker of histories, on histories written by hand: what it must accept, and what it must not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.stress.linear import Operation, faults, is_linearizable

CREATED = ((("a",), ()), ((), ("a",)))


def create(process: int, called: int, returned: int, result: Any, *texts: str) -> Operation:
    return Operation(process, called, returned, "create_entities", (("a", texts),), result)


def add(process: int, called: int, returned: int, text: str, result: Any = None) -> Operation:
    expected = (("a", (text,)),) if result is None else result
    return Operation(process, called, returned, "add_observations", (("a", (text,)),), expected)


def read(process: int, called: int, returned: int, *texts: str) -> Operation:
    return Operation(process, called, returned, "open_nodes", ("a",), ((("a", texts),), frozenset()))


def test_two_that_create_the_same_name_at_once_may_be_in_either_order() -> None:
    assert is_linearizable([create(1, 0, 10, CREATED[0]), create(2, 5, 9, CREATED[1])])
    assert is_linearizable([create(1, 0, 10, CREATED[1]), create(2, 5, 9, CREATED[0])])


@pytest.mark.parametrize(
    "history",
    [
        pytest.param([create(1, 0, 10, CREATED[0]), create(2, 5, 9, CREATED[0])], id="made twice"),
        pytest.param([create(1, 0, 10, CREATED[1]), create(2, 11, 12, CREATED[0])], id="skipped before it was made"),
        pytest.param(
            [create(1, 0, 1, CREATED[0]), add(1, 2, 9, "x"), add(2, 3, 8, "y"), read(1, 10, 11, "y")],
            id="lost update",
        ),
        pytest.param(
            [create(1, 0, 1, CREATED[0]), add(1, 2, 3, "x"), read(2, 4, 5), read(2, 6, 7, "x")], id="stale read"
        ),
        pytest.param(
            [create(1, 0, 1, CREATED[0]), add(1, 2, 9, "x"), read(2, 3, 4, "x"), read(3, 5, 6)], id="read backwards"
        ),
        pytest.param(
            [create(1, 0, 1, CREATED[0]), add(1, 2, 3, "x"), add(2, 4, 5, "x")], id="the same observation added twice"
        ),
        pytest.param([add(1, 0, 1, "x")], id="added to nothing"),
    ],
)
def test_what_no_order_explains_is_refused(history: list[Operation]) -> None:
    assert not is_linearizable(history)


def test_a_read_during_a_change_may_see_it_or_not() -> None:
    history = [create(1, 0, 1, CREATED[0]), add(1, 2, 9, "x")]
    assert is_linearizable([*history, read(2, 3, 4)])
    assert is_linearizable([*history, read(2, 3, 4, "x")])
    assert is_linearizable([*history, read(2, 3, 4), read(3, 5, 6, "x")])


def test_an_error_is_explained_by_the_state_that_it_met() -> None:
    gone = Operation(2, 2, 3, "delete_entities", ("a",), "Entities deleted successfully")
    assert is_linearizable([create(1, 0, 1, CREATED[0]), gone, add(1, 4, 5, "x", "Entity with name a not found")])
    assert not is_linearizable([create(1, 0, 1, CREATED[0]), add(1, 4, 5, "x", "Entity with name a not found")])


def test_independent_groups_are_told_apart() -> None:
    good = create(1, 0, 1, CREATED[0])._replace(group="good")
    bad = add(1, 0, 1, "x")._replace(group="bad")
    assert faults([good, bad]) == ["bad"]
