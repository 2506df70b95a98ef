"""A second list of calls, by somebody who did not know the code: each plain one answers as the right one beside it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from tests.calls import outcomes
from tests.calls.spoken import EMPTY_BESIDE, FAIL, SAME, SPACES, TEXTS

MEMORY = (
    '{"type":"entity","name":"Ann","entityType":"person","observations":["likes tea","owns a boat"]}',
    '{"type":"entity","name":"Bob","entityType":"person","observations":["plays chess"]}',
    '{"type":"entity","name":"[draft] plan","entityType":"doc","observations":["a, b"]}',
    '{"type":"relation","from":"Ann","to":"Bob","relationType":"knows"}',
    '{"type":"relation","from":"Bob","to":"[draft] plan","relationType":"wrote"}',
)
BEFORE = "\n".join((*MEMORY, "")).encode()
PLAIN = [(tool, right, sent) for tool, right, variants in SAME for sent in variants]


def outcome(tool: str, sent: Any) -> tuple[bytes, str | bytes | None]:
    return outcomes.outcome(Graph.of(document.read(BEFORE)), tool, sent)


def test_nearly_every_plain_call_answers_as_the_right_one() -> None:
    wrong = [(tool, sent) for tool, right, sent in PLAIN if outcome(tool, sent) != outcome(tool, right)]
    print(f"plain calls {len(PLAIN) - len(wrong)} of {len(PLAIN)}; not: {wrong}")
    assert all(isinstance(outcome(tool, right)[1], bytes) for tool, right, _ in PLAIN)
    assert len(wrong) <= 0.05 * len(PLAIN)


ENTITY = {"name": "Cid", "entityType": "person", "observations": ["likes jazz"]}
ADDITION = {"entityName": "Ann", "contents": ["rides a horse"]}
RELATION = {"from": "Ann", "to": "Bob", "relationType": "knows"}


@pytest.mark.parametrize(
    ("tool", "right", "sent"),
    [
        ("create_entities", {"entities": [ENTITY]}, {"entities": {"0": ENTITY}}),
        ("create_entities", {"entities": [ENTITY]}, {"entities": {"cid": ENTITY}}),
        ("create_entities", {"entities": [ENTITY]}, {"action_input": {"entities": [ENTITY]}}),
        ("create_entities", {"entities": [ENTITY]}, {"__arg1": json.dumps({"entities": [ENTITY]})}),
        ("add_observations", {"observations": [ADDITION]}, {"observations": {"Ann": "rides a horse"}}),
        ("add_observations", {"observations": [ADDITION]}, {"observations": [{"Ann": ["rides a horse"]}]}),
        ("delete_relations", {"relations": [RELATION]}, {"deletions": [RELATION]}),
        ("search_nodes", {"query": "tea"}, {"__arg1": "tea"}),
        ("search_nodes", {"query": "tea"}, {"string": "tea"}),
        ("search_nodes", {"query": "tea"}, {"query": "tea", "limit": "null"}),
        ("open_nodes", {"names": ["Ann"]}, {"names": {"0": "Ann"}}),
        ("open_nodes", {"names": ["Ann"]}, {"names": ["Ann", None]}),
        ("open_nodes", {"names": ["Ann"]}, {"query": "Ann"}),
    ],
    ids=lambda value: json.dumps(value)[:60],
)
def test_keys_of_agents_and_rows_and_names_as_keys_are_understood(tool: str, right: Any, sent: Any) -> None:
    assert outcome(tool, sent) == outcome(tool, right)
    assert isinstance(outcome(tool, right)[1], bytes)


@pytest.mark.parametrize(
    ("tool", "sent"),
    [
        ("delete_entities", {"entityNames": ""}),
        ("delete_entities", {"entityNames": ["Bob", None]}),
        ("delete_observations", {"deletions": [{"facts_to_remove": ["likes tea"]}]}),
        ("delete_observations", {"deletions": {"facts_to_remove": ["likes tea"]}}),
    ],
    ids=lambda value: json.dumps(value)[:60],
)
def test_a_delete_of_what_is_no_name_fails_and_changes_nothing(tool: str, sent: Any) -> None:
    file, answer = outcome(tool, sent)
    assert file == BEFORE
    assert isinstance(answer, str)


@pytest.mark.parametrize(("tool", "sent"), FAIL, ids=[f"{tool}-{json.dumps(sent)[:60]}" for tool, sent in FAIL])
def test_a_call_that_says_too_little_fails_with_a_text_and_changes_nothing(tool: str, sent: Any) -> None:
    file, answer = outcome(tool, sent)
    assert file == BEFORE
    assert isinstance(answer, str)
    assert "Example of a right call" in answer or "not found" in answer


@pytest.mark.parametrize(("tool", "sent", "key"), EMPTY_BESIDE, ids=[json.dumps(row[1])[:70] for row in EMPTY_BESIDE])
def test_an_empty_key_beside_another_spelling_with_facts_fails_and_names_that(
    tool: str, sent: dict[str, Any], key: str
) -> None:
    file, answer = outcome(tool, sent)
    assert file == BEFORE
    assert isinstance(answer, str)
    assert f'it is empty, while the key "{key}" holds' in answer


@pytest.mark.parametrize("text", [*TEXTS, *SPACES])
def test_a_text_stays_as_it_is_wherever_it_stands(text: str) -> None:
    def stored(entity: dict[str, Any]) -> str:
        return outcome("create_entities", {"entities": [entity]})[0].decode().split("\n")[3]

    def line(name: str, entity_type: str, observations: list[str]) -> str:
        record = {"type": "entity", "name": name, "entityType": entity_type, "observations": observations}
        return json.dumps(record, ensure_ascii=False, separators=(",", ":"))

    assert stored({"name": text, "entityType": "t", "observations": []}) == line(text, "t", [])
    assert stored({"name": "Zed", "entityType": text, "observations": []}) == line("Zed", text, [])
    assert stored({"name": "Zed", "entityType": "t", "observations": [text, "x"]}) == line("Zed", "t", [text, "x"])
    assert stored({"name": "Zed", "entityType": "t", "observations": text}) == line("Zed", "t", [text])
