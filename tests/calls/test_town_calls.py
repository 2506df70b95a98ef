"""A third list of calls: plain ones succeed and store what they say, junk is refused and changes nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from tests.calls import outcomes, town_calls
from tests.calls.town_calls import Call

BEFORE = json.dumps(town_calls.STORED).encode()


def graph() -> Graph:
    return Graph.of(document.read(BEFORE))


UNCHANGED = b"".join(graph().chunks())


def outcome(tool: str, sent: Any) -> tuple[bytes, str | bytes | None]:
    return outcomes.outcome(graph(), tool, sent)


def succeeds(call: Call) -> bool:
    tool, sent, text = call
    file, answer = outcome(tool, sent)
    if not isinstance(answer, bytes):
        return False
    expected = text.encode()
    if tool.startswith("delete_"):
        return expected in UNCHANGED and expected not in file
    return expected in answer and (not tool.startswith(("create_", "add_")) or expected in file)


def is_refused(tool: str, sent: object) -> bool:
    file, answer = outcome(tool, sent)
    return isinstance(answer, str) and file == UNCHANGED


@pytest.mark.parametrize(
    ("plain", "junk"),
    [
        pytest.param(town_calls.PLAIN, town_calls.JUNK, id="measured while the reading was mended"),
        pytest.param(town_calls.LATE_PLAIN, town_calls.LATE_JUNK, id="measured at the end"),
    ],
)
def test_nearly_all_plain_calls_succeed_and_nearly_all_others_are_refused(
    plain: list[Call], junk: list[tuple[str, object]]
) -> None:
    failed = [(call, outcome(*call[:2])) for call in plain if not succeeds(call)]
    taken = [(call, outcome(*call)) for call in junk if not is_refused(*call)]
    print(f"{len(plain) - len(failed)} of {len(plain)} plain calls succeed, not: {failed}; taken: {taken}")
    assert len(failed) <= 0.05 * len(plain)
    assert len(failed) + len(taken) <= 0.03 * (len(plain) + len(junk))


@pytest.mark.parametrize(("tool", "sent"), [*town_calls.JUNK, *town_calls.LATE_JUNK, *town_calls.MISSES])
def test_no_junk_call_changes_the_memory(tool: str, sent: object) -> None:
    assert outcome(tool, sent)[0] == UNCHANGED
