# ruff: noqa: RUF001 (letters that look alike are among the names)
"""Random sequences of tool calls agree with a naive model of the rules, result object by result object, and a fresh
process reads back from the file what the model holds.

`MEMORY_MODEL_CALLS` sets how many calls each sequence has, `MEMORY_MODEL_SEED` the first seed.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

from tests.driver import Driver, Era, serve
from tests.tools.model import Model, Result, without_near

CALLS = int(os.environ.get("MEMORY_MODEL_CALLS", "250"))
FIRST_SEED = int(os.environ.get("MEMORY_MODEL_SEED", "1"))

NAMES = [
    "Ann",
    "ann",
    "Bo",
    "Café",
    "Cafe\u0301",
    "東京",
    "東京タワー",
    "",
    " ",
    "a\u2028b",
    "a\x85b",
    "a\x0bb\x0c",
    "tab\there",
    'quo"te\\',
    "line\nbreak\r",
    "nul\0",
    "\ud800",
    "x\udfffy",
    "\ufffd",
    "\U0001f600",
    "ıstanbul",
    "İ",
    "ﬁ",
    "L" * 3000,
    "\ufeffmark",
    "__proto__",
    '{"name":"Ann"}',
    "[]",
    "Zed",
    "Yan",
]
TYPES = ["person", "", "Person", "firm\u2029", "typ\udc00e"]
FACTS = [
    "likes tea",
    "Likes TEA",
    "likes green tea",
    "",
    " ",
    "é",
    "e\u0301",
    "x" * 5000,
    "a\nb",
    "\ud83d",
    "ＴＥＡ",
    "タワー",
    '["json"]',
    "null",
    "\0",
    "knows Ann",
]
VERBS = ["knows", "works at", "", "KNOWS", "v\ud800"]
QUERIES = [
    "tea",
    "TEA green",
    "likes tea",
    "",
    " \t",
    "cafe",
    "CAFE\u0301",
    "タワー",
    "istanbul",
    "i",
    "fi",
    "\u0301",
    "person ann",
    "a.b",
    "nothing at all",
    "\ud800",
    "\0",
    "\u2028",
    "x" * 2048,
    "l" * 2048,
    "\n",
    "[]",
]


class Caller:
    """Makes up calls. Names repeat often, within a call too."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        # Few names for each seed, so that calls meet what others made.
        self._names = self._chance.sample(NAMES, 12)

    def name(self) -> str:
        return self._chance.choice(self._names if self._chance.random() < 0.95 else NAMES)

    def some(self, make: Any, most: int = 4) -> list[Any]:
        return [make() for _ in range(self._chance.choice([0, *range(1, most + 1), 1, 2]))]

    def fact(self) -> str:
        return self._chance.choice(FACTS)

    def entity(self) -> Result:
        return {"name": self.name(), "entityType": self._chance.choice(TYPES), "observations": self.some(self.fact)}

    def relation(self) -> Result:
        return {"from": self.name(), "to": self.name(), "relationType": self._chance.choice(VERBS)}

    def addition(self) -> Result:
        return {"entityName": self.name(), "contents": self.some(self.fact)}

    def deletion(self) -> Result:
        return {"entityName": self.name(), "observations": self.some(self.fact)}

    def page(self) -> Result:
        page = {"limit": self._chance.randint(1, 5), "offset": self._chance.randint(0, 9), "namesOnly": True}
        return {key: page[key] for key in page if self._chance.random() < 0.25}

    def call(self) -> tuple[str, Result]:
        kind = self._chance.random()
        if kind < 0.22:
            return "create_entities", {"entities": self.some(self.entity)}
        if kind < 0.40:
            return "create_relations", {"relations": self.some(self.relation, 2)}
        if kind < 0.54:
            return "add_observations", {"observations": self.some(self.addition, 2)}
        if kind < 0.59:
            return "delete_entities", {"entityNames": self.some(self.name, 2)}
        if kind < 0.67:
            return "delete_observations", {"deletions": self.some(self.deletion, 3)}
        if kind < 0.73:
            return "delete_relations", {"relations": self.some(self.relation, 3)}
        if kind < 0.80:
            return "read_graph", self.page()
        if kind < 0.92:
            return "search_nodes", {"query": self._chance.choice(QUERIES), **self.page()}
        return "open_nodes", {"names": self.some(self.name)}


def result_of(driver: Driver, tool: str, arguments: Result) -> Result:
    result = driver.call(tool, arguments)
    assert result.pop("resultType", "complete") == "complete"
    return result


def without_loose(result: Result, expected: Result) -> Result:
    """What the model expects in place of what comes near, which is an answer only where the rules find nothing."""
    found, right = result.get("structuredContent", {}), expected.get("structuredContent", {})
    if "loose" not in found:
        return result
    assert right["entities"] == [] and not right.get("names") and right.get("total", 0) == 0
    return expected


@pytest.mark.parametrize(("seed", "era"), [(FIRST_SEED, "2025"), (FIRST_SEED + 1, "2026")])
def test_random_calls_agree_with_the_model_and_with_a_fresh_process(
    archive: Path, tmp_path: Path, seed: int, era: Era
) -> None:
    print(f"seed {seed}, {CALLS} calls")
    model, caller = Model(), Caller(seed)
    with serve(archive, tmp_path, era=era) as driver:
        driver.open()
        for number in range(CALLS):
            tool, arguments = caller.call()
            expected = model.call(tool, arguments)
            found = without_loose(without_near(result_of(driver, tool, arguments)), expected)
            assert found == expected, f"seed {seed}, call {number}: {tool} {arguments!r}"
        assert driver.finish() == 0
    assert {path.name for path in tmp_path.iterdir()} <= {"memory.jsonl", "memory.jsonl.history"}
    with serve(archive, tmp_path, era=era) as driver:
        driver.open()
        assert result_of(driver, "read_graph", {}) == model.call("read_graph", {})
        for query in QUERIES:
            arguments = {"query": query}
            expected = model.call("search_nodes", arguments)
            assert without_loose(result_of(driver, "search_nodes", arguments), expected) == expected, query


def test_calls_sent_without_waiting_are_applied_in_the_order_in_which_they_were_sent(
    archive: Path, tmp_path: Path
) -> None:
    print(f"seed {FIRST_SEED}")
    model, caller = Model(), Caller(FIRST_SEED)
    calls = [call for call in (caller.call() for _ in range(2 * CALLS)) if call[0][:4] in ("crea", "add_", "dele")]
    with serve(archive, tmp_path) as driver:
        driver.open()
        ids = [driver.start_call(*call) for call in calls]
        for number, (request_id, call) in enumerate(zip(ids, calls, strict=True)):
            assert without_near(driver.answer(request_id)["result"]) == model.call(*call), f"call {number}: {call!r}"
        assert result_of(driver, "read_graph", {}) == model.call("read_graph", {})
