"""Calls as models make them: what is plain succeeds like the right call, what is not fails and changes nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memory_app.graph.graph import Graph
from memory_app.jsonl import document as shapes
from tests.calls import outcomes
from tests.calls.lists import KNOWN, LATER, MEMORY, Row


def outcome(tool: str, sent: Any) -> tuple[bytes, str | bytes | None]:
    return outcomes.outcome(Graph.of(shapes.read("\n".join(MEMORY).encode())), tool, sent)


def behaves(row: Row) -> bool:
    tool, sent, expected = row
    file, answer = outcome(tool, sent)
    if isinstance(expected, str):
        return file == outcome("read_graph", {})[0] and isinstance(answer, str) and expected in answer
    return (file, answer) == outcome(tool, expected) and isinstance(answer, bytes)


def stores_junk(row: Row) -> bool:
    """Whether a call changed the file in another way than the right one does, if there is a right one."""
    tool, sent, expected = row
    return outcome(tool, sent)[0] not in (
        outcome("read_graph", {})[0],
        None if isinstance(expected, str) else outcome(tool, expected)[0],
    )


def named(rows: list[Row]) -> list[Any]:
    return [pytest.param(row, id=f"{row[0]}-{json.dumps(row[1])[:60]}") for row in rows]


@pytest.mark.parametrize("row", named(KNOWN))
def test_a_call_that_is_plain_is_understood_and_any_other_fails_with_a_text_that_mends(row: Row) -> None:
    assert behaves(row), outcome(row[0], row[1])


@pytest.mark.parametrize("row", named([*KNOWN, *LATER]))
def test_no_call_stores_junk_or_deletes_the_wrong_thing(row: Row) -> None:
    assert not stores_junk(row), outcome(row[0], row[1])


def test_of_calls_that_the_code_was_not_written_for_nearly_all_behave() -> None:
    plain = [behaves(row) for row in LATER if not isinstance(row[2], str)]
    all_calls = [behaves(row) for row in LATER]
    print(f"plain calls {sum(plain)} of {len(plain)}, all calls {sum(all_calls)} of {len(all_calls)}")
    assert sum(plain) >= 0.95 * len(plain)
    assert sum(all_calls) >= 0.97 * len(all_calls)
