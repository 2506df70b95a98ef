"""Names that are spelled alike: the marks and joined keys of the blocks find what a comparison of all names finds."""

from __future__ import annotations

import random

import pytest

from memory_app.graph import near
from memory_app.graph.blocks import SPAN
from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from memory_app.jsonl.records import EntityLine, new_entity


def graph_of(names: list[str]) -> Graph:
    return Graph.of(document.read(b"".join(new_entity(name, "t", ()).raw + b"\n" for name in names)))


def alike(names: list[str], asked: list[str]) -> list[str]:
    found = {
        other: None
        for one in dict.fromkeys(map(near.key_of, asked))
        for other in names
        if near.key_of(other) == one and other not in asked
    }
    return list(found)


@pytest.mark.parametrize("size", [0, 1, SPAN, SPAN + 1, 3 * SPAN])
@pytest.mark.parametrize("count", [1, 5, 200])
def test_names_spelled_alike_are_those_that_a_comparison_of_all_finds(size: int, count: int) -> None:
    chance = random.Random(f"{size} {count}")
    letters = ["a", "A", "á", "\uff21", "b", " ", "\u3000", "\0", "\t", "ß", "ss"]
    names = list(dict.fromkeys("".join(chance.choices(letters, k=chance.randrange(1, 7))) for _ in range(size)))
    graph = graph_of(names)
    for _ in range(10):
        asked = ["".join(chance.choices(letters, k=chance.randrange(1, 5))) for _ in range(count)]
        assert near.spelled_alike(graph, asked) == alike(names, asked)


def test_marks_that_followed_changes_hide_no_name() -> None:
    chance = random.Random(1)
    graph = graph_of([f"Name {number}" for number in range(2 * SPAN)])
    for step in range(40):
        added = [new_entity(f"Step {step} {number}", "t", ()) for number in range(chance.randrange(1, SPAN))]
        gone = chance.sample(list(graph.first_entities()), chance.randrange(SPAN // 2))
        graph = graph.removing(gone).adding(added)
        names = [line.name for line in graph.first_entities()]
        asked = [name.upper() for name in chance.sample(names, 20)]
        assert near.spelled_alike(graph, asked) == alike(names, asked)
    assert near.spelled_alike(graph.removing(graph.first_entities()), ["NAME 1"]) == []


def test_a_new_name_makes_no_pass_over_the_names_that_stayed(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of([f"Name {number}" for number in range(4 * SPAN)])
    assert near.spelled_alike(graph, ["name 7"]) == ["Name 7"]
    made: list[int] = []
    looked_through: list[int] = []
    make, look = near._Keys.__init__, near._Keys.places

    def counted_make(keys: near._Keys, lines: list[EntityLine]) -> None:
        made.append(len(lines))
        make(keys, lines)

    def counted_look(keys: near._Keys, part: str) -> object:
        looked_through.append(1)
        return look(keys, part)

    monkeypatch.setattr(near._Keys, "__init__", counted_make)
    monkeypatch.setattr(near._Keys, "places", counted_look)
    (marks,) = graph.name_marks
    name = next(name for name in map(str, range(10_000)) if not marks.may_hold(f"x{name}"))
    after = graph.adding([new_entity(f"X{name}", "t", ())])
    assert near.spelled_alike(after, [f"x{name}"]) == [f"X{name}"]
    assert made == [1]
    assert len(looked_through) == 1  # the last block alone
