"""Questions about a memory in many languages, ranked as an answer with `limit` is: found, found first, left empty."""

from __future__ import annotations

import pytest

from memory_app.graph import queries, relevance
from memory_app.graph.graph import Graph
from tests.graph import world_lists
from tests.graph.test_loose import figures, graph_of

WORLD = graph_of(world_lists.ENTITIES, world_lists.RELATIONS)


def ranked(graph: Graph, query: str) -> list[str]:
    lines, is_loose = queries.search(graph, query)
    return [line.name for line in (lines if is_loose else relevance.ranked(lines, query))]


@pytest.mark.parametrize(
    ("questions", "absent"),
    [
        pytest.param(world_lists.FIRST, world_lists.FIRST_NOTHING, id="looked at first"),
        pytest.param(world_lists.SECOND, world_lists.SECOND_NOTHING, id="looked at second"),
        pytest.param(world_lists.UNSEEN, world_lists.UNSEEN_NOTHING, id="never looked at"),
    ],
)
def test_questions_in_many_languages_are_answered(questions: list[tuple[str, str]], absent: list[str]) -> None:
    reached = figures(WORLD, questions, absent, ranked)
    print(reached)
    assert reached.recall >= 0.96 and reached.first >= 0.94 and reached.empty >= 0.9


@pytest.mark.parametrize(
    "query",
    ["submarine warranty", "travel insurance", "project Falcon deadline", "swimming pool maintenance", "xylophone"],
)
def test_one_word_of_several_is_no_answer_where_it_names_nothing(query: str) -> None:
    assert ranked(WORLD, query) == []


@pytest.mark.parametrize(
    ("query", "right"),
    [
        ("ngozi favourite sandwich", "Ngozi Adeyemi"),
        ("o'leary pension", "Siobhán O'Leary"),
        ("王晓明 工资", "王晓明"),
        ("dermatologist address", "Dr. Henrike Osterloh"),
        ("bike frame number", "Bicycle"),
    ],
)
def test_a_name_answers_whatever_is_asked_of_it(query: str, right: str) -> None:
    assert ranked(WORLD, query)[:1] == [right]
