"""Questions of somebody who did not know the search, in process, ranked as an answer with `limit` is."""

from __future__ import annotations

import pytest

from memory_app.graph import queries, relevance
from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from memory_app.jsonl.records import new_entity, new_relation
from tests.graph.life_lists import ABSENT, ENTITIES, QUESTIONS, RELATIONS


def graph_of_life() -> Graph:
    lines = [new_entity(*entity).raw for entity in ENTITIES] + [new_relation(*relation).raw for relation in RELATIONS]
    return Graph.of(document.read(b"".join(line + b"\n" for line in lines)))


LIFE = graph_of_life()


def found(query: str) -> list[str]:
    lines, is_loose = queries.search(LIFE, query)
    return [line.name for line in (lines if is_loose else relevance.ranked(lines, query))]


def test_questions_about_a_life_are_answered_and_others_are_not() -> None:
    answers = [(question, right, found(question)) for question, right in QUESTIONS]
    for question, right, names in answers:
        if right not in names[:1]:
            print(f"{question!r}: {right!r}, found {names[:4]}")
    extra = {question: names[:4] for question in ABSENT if (names := found(question))}
    print(extra)
    assert sum(right in names for _, right, names in answers) >= 0.95 * len(answers)
    assert sum(right in names[:1] for _, right, names in answers) >= 0.9 * len(answers)
    assert len(extra) <= 0.1 * len(ABSENT)


@pytest.mark.parametrize("query", ["wifi", "wi-fi", "wifi password", "adr007", "adr007 sourcing", "stand-ups"])
def test_a_hyphen_makes_no_difference(query: str) -> None:
    wanted = {"w": "Wi-Fi at home", "a": "ADR-007 Event sourcing", "s": "Daily standup"}
    assert found(query)[:1] == [wanted[query[0]]]


@pytest.mark.parametrize("query", ["how do I do this?", "what is that", "who are you?", "what do you do?"])
def test_a_question_of_nothing_finds_nothing(query: str) -> None:
    assert found(query) == []


@pytest.mark.parametrize("query", ["кто катается на лыжах", "на лыжах катались", "катаюсь на лыжах"])
def test_reflexive_verbs_answer_in_each_form(query: str) -> None:
    assert found(query)[:1] == ["Анна Кузнецова"]
