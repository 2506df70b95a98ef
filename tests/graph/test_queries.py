# ruff: noqa: RUF001 (letters that look alike are the matter here)
"""Reading: search, open_nodes, and which relations belong to an answer."""

from __future__ import annotations

import unicodedata
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_app.graph import queries, relevance
from memory_app.graph.blocks import SPAN, Block
from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from memory_app.jsonl.records import RelationLine, new_entity, new_relation
from memory_app.text import fold
from tests.tools.model import Model


def graph_of(entities: dict[str, list[str]], relations: list[tuple[str, str]] | None = None, kind: str = "") -> Graph:
    lines = [new_entity(name, kind, texts).raw for name, texts in entities.items()]
    lines += [new_relation(source, target, "r").raw for source, target in relations or []]
    return Graph.of(document.read(b"".join(line + b"\n" for line in lines)))


def found(graph: Graph, query: str) -> list[str]:
    return [line.name for line in queries.strict_search(graph, query)]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("tea green", "likes green tea"),
        (unicodedata.normalize("NFD", "café"), "Café au lait"),
        ("cafe", unicodedata.normalize("NFD", "CAFÉ")),
        ("東京", "東京タワー"),
        ("ISTANBUL", "ıstanbul"),
        ("istanbul", "İstanbul"),
        ("tea", "ＴＥＡ"),
        ("a.c", "x a.c y"),
        ("[x", "a [x] b"),
        ("\\d", "\\d+"),
        ("  green   tea ", "tea, green"),
        ("tea\tgreen\u3000", "green tea"),
        ("\u0301", "e\u0301"),
        ("a\0b", "xa\0by"),
        ("", "anything"),
        (" \t\u3000", "anything"),
        ("Tea" * 600, "tea" * 600),
    ],
)
def test_a_query_finds(query: str, text: str) -> None:
    assert found(graph_of({"x": [], "holds": [text]}), query)[-1] == "holds"
    assert found(graph_of({"x": [], text: []}), query)[-1] == text
    assert found(graph_of({"x": []}, kind=text), query) == ["x"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("a.c", "abc"),
        ("tea coffee", "tea"),
        ("が", "か"),
        ("likes tea", "like teas"),
        ("x\0y", "x y"),
        ("\u0301", "é"),
        ("\u0301 \u0302", "green tea"),
        ("\u0301 \u0302", "tea"),
        ("tea\0", "tea"),
    ],
)
def test_a_query_does_not_find(query: str, text: str) -> None:
    assert found(graph_of({"": [text]}), query) == []


def test_a_match_never_spans_two_texts_or_two_entities() -> None:
    graph = graph_of({"ab": ["cd", "ef"], "gh": []}, kind="k")
    assert [found(graph, query) for query in ("abk", "cdef", "efgh", "ab\0k", "k\0cd")] == [[]] * 5


def test_words_count_only_when_nothing_holds_the_whole_query() -> None:
    graph = graph_of({"one": ["green tea"], "two": ["tea, green"], "three": ["green"]})
    assert found(graph, "green tea") == ["one"]
    assert found(graph, "tea green") == ["one", "two"]
    assert found(graph, "one green") == ["one"]


def test_words_may_stand_in_different_texts_of_an_entity() -> None:
    graph = graph_of({"Ann": ["likes tea", "lives in Lisbon"], "Bo": ["likes tea"]}, kind="person")
    assert found(graph, "person lisbon ann") == ["Ann"]


def test_matches_come_in_file_order() -> None:
    graph = graph_of({f"N{n}": ["tea"] if n % 7 == 0 else [] for n in range(3 * SPAN, 0, -1)})
    assert found(graph, "tea") == [f"N{n}" for n in range(3 * SPAN, 0, -1) if n % 7 == 0]


def test_a_further_line_of_a_name_is_searched_for_its_observations_alone() -> None:
    lines = [new_entity("Ann", "person", ["tea"]).raw, new_entity("Ann", "robot", ["pie"]).raw]
    graph = Graph.of(document.read(b"\n".join(lines)))
    assert found(graph, "pie") == ["Ann"]
    assert found(graph, "robot") == []
    assert found(graph, "tea pie") == ["Ann"]
    assert found(graph, "\0") == []


def test_a_lone_surrogate_is_searched_as_the_replacement_character() -> None:
    graph = Graph.of(document.read(b'{"type":"entity","name":"a\\ud800","entityType":"","observations":["\\udfff!"]}'))
    assert found(graph, "\ufffd!") == found(graph, "A\ufffd") == ["a\ufffd"]


def test_a_star_matches_everything_where_nothing_holds_one() -> None:
    assert (
        found(graph_of({"Ann": ["tea"], "Bo": []}), "*")
        == found(graph_of({"Ann": [], "Bo": []}), " * ")
        == ["Ann", "Bo"]
    )
    assert found(graph_of({"Ann": ["2 * 3"], "Bo": []}), "*") == ["Ann"]


def test_relevance_is_exact_name_beginning_name_some_words_of_it_type_observation() -> None:
    graph = graph_of({"x": ["ann"], "Joanna": [], "Annex": [], "Ánn": [], "y": ["Ann"], "Anna": []})
    matches = queries.strict_search(graph, "ANN")
    assert [line.name for line in relevance.ranked(matches, "ANN")] == [
        "Ánn",
        "Annex",
        "Anna",
        "Joanna",
        "x",
        "y",
    ]
    graph = graph_of({"tea": ["green"], "z": ["tea, green"], "Green Tea": [], "tea, green": []}, kind="leaf")
    matches = queries.strict_search(graph, "tea leaf green")
    assert [line.name for line in relevance.ranked(matches, "tea green")] == [
        "Green Tea",
        "tea, green",
        "tea",
        "z",
    ]
    assert relevance.ranked(matches, " ") == matches


@pytest.mark.parametrize("query", ["tea", "tea ann", " Tea", "a", "thing", "ß"])
@pytest.mark.parametrize("rarely", [1, 40, 2000])
def test_the_first_by_relevance_are_those_of_a_sort_of_all(query: str, rarely: int) -> None:
    chance = Random(f"{query} {rarely}")
    odd = ["tea", " TEA ", "tea tray", "green tea", "Ann", "Tea with Ann", "\u3000tea", "Straße", "a"]
    names = [chance.choice(odd) if chance.randrange(rarely) == 0 else f"n{number}" for number in range(5 * SPAN)]
    kinds = [chance.choice(["thing", "tea"]) if chance.randrange(rarely) == 0 else "t" for _ in names]
    lines = [new_entity(name, kind, ["tea"]) for name, kind in zip(names, kinds, strict=True)]
    for most in (0, 1, 3, 20, SPAN, len(lines), 2 * len(lines)):
        first = relevance.ranked(lines, query, most)
        assert first[:most] == sorted(lines, key=relevance._Ranks(fold(query).strip()).of)[:most]
        assert sorted(map(id, first)) == sorted(map(id, lines))
    assert relevance.ranked(lines, query) == relevance.ranked(lines, query, len(lines))


@pytest.mark.parametrize("query", ["e", "x1", "entity 7", "é", "entity"])
def test_a_word_of_many_lines_is_found_in_each_again(query: str) -> None:
    graph = graph_of({f"Entity {number}": [f"x{number % 3}", "é" * (number % 2)] for number in range(3 * SPAN)})
    wanted = [line.name for line in graph.first_entities() if fold(query) in queries._folded(line)]
    assert found(graph, query) == found(graph, query) == wanted


def test_repeated_words_are_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of({"x": ["a"], "y": ["b"]})
    asked: list[int] = []

    def lines_with_all(block: Block[Any], words: list[str], folded: object) -> tuple[()]:
        asked.append(len(words))
        return ()

    monkeypatch.setattr(Block, "lines_with_all", lines_with_all)
    assert found(graph, "a b " * 500) == []
    assert asked == [2]


words = st.sampled_from(
    ["tea", "Tea", "TÉA", "te", "a", "ı", "İ", "ß", "SS", "が", "か", "\u0301", "\0", " ", "\u2028", "."]
)
texts = st.lists(words, max_size=4).map("".join)


@given(st.dictionaries(texts, st.lists(texts, max_size=3), max_size=6), texts)
@settings(max_examples=300)
def test_search_agrees_with_the_naive_rules(entities: dict[str, list[str]], query: str) -> None:
    model = Model()
    model.create_entities([{"name": n, "entityType": "", "observations": held} for n, held in entities.items()])
    assert found(graph_of(entities), query) == [entity["name"] for entity in model.matches(query)]


COMMON = ["tea", "green", "teapot", "a", "é", "cup 7", "7", "x-ray", "rare"]
_ONE_IN = {"rare": 300, "7": 20, "cup 7": 9, "x-ray": 5}


@given(st.integers(0, 3), st.lists(st.sampled_from([*COMMON, "no"]), min_size=1, max_size=4), st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_words_that_are_common_or_rare_find_what_the_naive_rules_find(
    seed: int, words: list[str], changed: int
) -> None:
    graph = MANY[seed]
    for number in range(changed):  # blocks that are new beside some that remember whose lines hold a word
        line = graph.entities[f"N{number * 90}"]
        graph = graph.replacing([new_entity(line.name, "", [COMMON[number], "tea green"]).placed(line.order)])
    query = " ".join(words)
    texts = [(line.name, [line.name, *line.observations()]) for line in graph.first_entities()]
    whole = [name for name, held in texts if any(fold(query) in fold(text) for text in held)]
    parts = fold(query).split()
    all_words = [name for name, held in texts if all(any(part in fold(text) for text in held) for part in parts)]
    assert found(graph, fold(query)) == (whole or all_words)


def _many(seed: int) -> Graph:
    chance = Random(seed)
    return graph_of(
        {
            f"N{n}": [
                " ".join(word for word in chance.sample(COMMON, 9) if chance.randrange(_ONE_IN.get(word, 2)) == 0)
                for _ in range(2)
            ]
            for n in range(2 * SPAN + 40)
        }
    )


MANY = [_many(seed) for seed in range(4)]


def ends(lines: list[RelationLine]) -> list[str]:
    return [line.source + line.target for line in lines]


def test_open_nodes_tells_relations_between_the_named_from_those_that_lead_outside() -> None:
    relations = [("A", "B"), ("C", "A"), ("B", "B"), ("A", "Gone"), ("C", "C"), ("Gone", "B"), ("C", "Gone")]
    graph = graph_of({"A": [], "B": [], "C": []}, relations)
    opened = queries.open_nodes(graph, ["B", "A", "Nobody", "A"])
    assert [line.name for line in opened.entities] == ["A", "B"]
    assert (ends(opened.relations), ends(opened.external)) == (["AB", "BB"], ["CA", "AGone", "GoneB"])
    assert ends(queries.open_nodes(graph, ["Gone"]).external) == []
    assert queries.open_nodes(graph, []) == queries.Found([], [], [])
    everyone = queries.open_nodes(graph, ["A", "B", "C"])
    assert (ends(everyone.relations), ends(everyone.external)) == (
        ["AB", "CA", "BB", "CC"],
        ["AGone", "GoneB", "CGone"],
    )


@pytest.mark.parametrize("count", [1, 2, 30, 60])
def test_relations_that_touch_are_the_same_by_either_way(count: int) -> None:
    graph = graph_of(
        {f"N{n}": [] for n in range(60)}, [(f"N{n * 7 % 60}", f"N{n * 11 % 60}") for n in range(60)] + [("N0", "Gone")]
    )
    chosen = [graph.entities[f"N{n}"] for n in range(count)]
    names = {line.name for line in chosen}
    expected = [line for line in graph.first_relations() if line.source in names or line.target in names]
    assert queries.touching(graph, chosen) == expected


def test_everything_is_each_entity_and_each_relation_once() -> None:
    lines = [new_entity("A", "", ["x"]).raw, new_relation("A", "A", "r").raw]
    everything = queries.everything(Graph.of(document.read(b"\n".join(lines * 3))))
    assert (len(everything.entities), len(everything.relations)) == (1, 1)
