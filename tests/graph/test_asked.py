"""Questions about nine more memories, ranked as an answer with `limit` is: found, found first, left empty.

Each file of `asked` is a memory and what is asked of it, all written before it was asked, and most before their writer
had seen the search (not those of acquaintances, household, office and relatives):
`name | type | observation; observation`, `> from > relation > to`, `? question => right name|another right name`, and
`- question` for what is not there. The first questions were looked at while the search was mended, each of the other
lists when that seemed done: some of its kinds of misses were mended then, and the next list was asked.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from memory_app.graph.graph import Graph
from tests.graph.test_loose import Figures, figures, graph_of
from tests.graph.test_world import ranked


class Memory(NamedTuple):
    """A memory with its questions, by when they were looked at."""

    graph: Graph
    questions: dict[str, list[tuple[str, str]]]
    absent: dict[str, list[str]]


def memory(path: Path) -> Memory:
    entities: list[tuple[str, str, list[str]]] = []
    relations: list[tuple[str, str, str]] = []
    questions: dict[str, list[tuple[str, str]]] = {}
    absent: dict[str, list[str]] = {}
    section = ""
    for line in filter(None, path.read_text(encoding="utf-8").split("\n")):
        mark, rest = line[:2], line[2:]
        if mark == "# ":
            section = rest
        elif mark == "? ":
            question, right = rest.rsplit(" => ", 1)
            questions.setdefault(section, []).append((question, right))
        elif mark == "- ":
            absent.setdefault(section, []).append(rest)
        elif mark == "> ":
            source, kind, target = rest.split(" > ")
            relations.append((source, target, kind))
        else:
            name, kind, texts = line.split(" | ", 2)
            entities.append((name, kind, texts.split("; ")))
    return Memory(graph_of(entities, relations), questions, absent)


MEMORIES = [memory(path) for path in sorted(Path(__file__).with_name("asked").glob("*.txt"))]


@pytest.mark.parametrize(
    "section",
    [
        "looked at first",
        "looked at second",
        "looked at third",
        "looked at fourth",
        "looked at fifth",
        "looked at sixth",
    ],
)
def test_questions_about_nine_memories_are_answered(section: str) -> None:
    reached = Figures(0, 0, 0)
    asked = unknown = 0
    for graph, questions, absent in MEMORIES:
        if section in questions:
            part = figures(graph, questions[section], absent[section], ranked)
            size, without = len(questions[section]), len(absent[section])
            asked, unknown = asked + size, unknown + without
            reached = Figures(
                reached.recall + part.recall * size,
                reached.first + part.first * size,
                reached.empty + part.empty * without,
            )
    recall, first, empty = reached.recall / asked, reached.first / asked, reached.empty / unknown
    print(f"of {asked}: found {recall:.3f}, first {first:.3f}; of {unknown} left empty {empty:.3f}")
    assert recall >= 0.95 and first >= 0.9 and empty >= 0.9
