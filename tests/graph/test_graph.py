"""Snapshots and the rules of the tools that change them."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_app.errors import GraphError
from memory_app.graph import changes
from memory_app.graph.blocks import SPAN, Blocks
from memory_app.graph.changes import Addition, Deletion, NewEntity, RelationKey
from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from memory_app.jsonl.records import EntityLine, RelationLine, new_entity


def graph_of(*lines: str) -> Graph:
    return Graph.of(document.read("".join(line + "\n" for line in lines).encode()))


def entity(name: str, *observations: str, more: str = "") -> str:
    return new_entity(name, "t", observations).raw.decode()[:-1] + more + "}"


def relation(source: str, target: str, kind: str = "r", more: str = "") -> str:
    return f'{{"type":"relation","from":"{source}","to":"{target}","relationType":"{kind}"{more}}}'


def text(graph: Graph) -> list[str]:
    return b"".join(graph.chunks()).decode().splitlines()


def ends(lines: Sequence[RelationLine]) -> list[str]:
    return [line.source + line.target for line in lines]


ANN_AND_BO = (entity("A", "x"), entity("B"), relation("A", "B"), relation("B", "A"), relation("A", "A"))


def test_a_name_on_several_lines_is_one_entity_of_the_first_type() -> None:
    graph = graph_of(
        entity("A", "x"), entity("B"), entity("A", "x", "y").replace('"t"', '"other"'), entity("A", "z", more=',"k":1')
    )
    one = graph.entities["A"]
    assert (one.entity_type, one.observations()) == ("t", ["x", "y", "z"])
    assert [line.name for line in graph.first_entities()] == ["A", "B"]
    assert graph.entity_lines.size == 4


def test_a_relation_on_several_lines_is_one_relation() -> None:
    graph = graph_of(relation("A", "B"), relation("B", "C"), relation("A", "B", more=',"w":1'))
    assert ends(list(graph.first_relations())) == ["AB", "BC"]
    assert ends(graph.touching["B"]) == ["AB", "BC"]


def test_the_index_of_relations_names_each_once_at_each_of_its_ends_in_file_order() -> None:
    graph = graph_of(*ANN_AND_BO, relation("A", "Nobody"))
    assert ends(graph.touching["A"]) == ["AB", "BA", "AA", "ANobody"]
    assert ends(graph.touching["B"]) == ["AB", "BA"]
    assert ends(graph.touching["Nobody"]) == ["ANobody"]
    assert graph.relation("A", "Nobody", "r") is not None
    assert graph.relation("Nobody", "A", "r") is None


def test_a_change_leaves_the_snapshot_that_it_began_with() -> None:
    graph = graph_of(*ANN_AND_BO)
    before = text(graph)
    after, _ = changes.delete_entities(graph, ["A"])
    changes.create_entities(graph, [NewEntity("C", "t", ())])
    changes.add_observations(graph, [Addition("A", ("y",))])
    assert text(graph) == before
    assert ends(graph.touching["B"]) == ["AB", "BA"]
    assert text(after) == [entity("B")]


def test_an_entity_that_exists_or_came_earlier_in_the_call_is_skipped_with_its_observations() -> None:
    graph, made, skipped = changes.create_entities(
        graph_of(entity("A", "x")),
        [
            NewEntity("B", "t", ("1",)),
            NewEntity("A", "u", ("2",)),
            NewEntity("B", "u", ("3",)),
            NewEntity("b", "t", ()),
        ],
    )
    assert [line.name for line in made] == ["B", "b"]
    assert skipped == ["A", "B"]
    assert text(graph) == [entity("A", "x"), entity("B", "1"), entity("b")]


def test_normal_forms_and_white_space_make_different_names() -> None:
    graph, made, _ = changes.create_entities(
        Graph.empty(), [NewEntity(name, "t", ()) for name in ("é", "e\u0301", "", " ", "A", "A ")]
    )
    assert len(made) == len(graph.entities) == 6


def test_a_relation_that_exists_or_came_earlier_in_the_call_is_left_out() -> None:
    asked = [
        RelationKey("A", "B", "r"),
        RelationKey("B", "B", "r"),
        RelationKey("B", "B", "r"),
        RelationKey("A", "B", "s"),
    ]
    graph, made = changes.create_relations(graph_of(*ANN_AND_BO), asked)
    assert [(line.source, line.target, line.relation_type) for line in made] == [("B", "B", "r"), ("A", "B", "s")]
    assert ends(graph.touching["B"]) == ["AB", "BA", "BB", "AB"]
    assert text(graph)[-2:] == [relation("B", "B"), relation("A", "B", "s")]


def test_a_dangling_relation_is_known_when_its_end_is_made() -> None:
    graph, _, _ = changes.create_entities(graph_of(entity("A"), relation("A", "C")), [NewEntity("C", "t", ())])
    assert changes.create_relations(graph, [RelationKey("A", "C", "r")]) == (graph, [])


@pytest.mark.parametrize(
    "key", [RelationKey("A", "No", "r"), RelationKey("No", "A", "r"), RelationKey("No", "No", "r")]
)
def test_a_missing_end_fails_the_whole_call(key: RelationKey) -> None:
    with pytest.raises(GraphError, match=r"^Entity with name No not found$"):
        changes.create_relations(graph_of(*ANN_AND_BO), [RelationKey("B", "B", "s"), key])


def test_only_what_an_entity_lacks_is_added() -> None:
    graph, results = changes.add_observations(
        graph_of(entity("A", "x", more=',"k":1.0'), entity("A", "y")),
        [Addition("A", ("x", "y", "z", "z", "")), Addition("A", ("z", "w")), Addition("A", ())],
    )
    assert [one.observations for one in results] == [["z", ""], ["w"], []]
    assert text(graph) == [entity("A", "x", "z", "", "w", more=',"k":1.0'), entity("A", "y")]
    assert graph.entities["A"].observations() == ["x", "z", "", "w", "y"]


def test_a_missing_entity_fails_the_whole_addition() -> None:
    with pytest.raises(GraphError, match=r"^Entity with name No not found$"):
        changes.add_observations(graph_of(entity("A")), [Addition("A", ("x",)), Addition("No", ())])


def test_relations_go_with_their_entity_also_where_that_was_missing() -> None:
    graph, missing = changes.delete_entities(graph_of(*ANN_AND_BO, relation("No", "B")), ["A", "No", "Zed", "A"])
    assert missing == ["No", "Zed"]
    assert text(graph) == [entity("B")]
    assert graph.touching == {}


def test_every_line_of_a_deleted_name_goes() -> None:
    graph, missing = changes.delete_entities(
        graph_of(
            entity("A", "x"), entity("B"), entity("A", "y"), relation("A", "B"), relation("A", "B", more=',"k":1')
        ),
        ["A"],
    )
    assert (text(graph), missing) == ([entity("B")], [])


def test_an_observation_goes_from_each_line_that_holds_it_and_no_other_line_changes() -> None:
    other = '{"type":"entity","name":"A","entityType":"t","observations":[ "z" , "w" ]}'
    graph, found, missing = changes.delete_observations(
        graph_of(entity("A", "x", "y"), entity("A", "x", more=',"k":1'), other),
        [Deletion("A", ("x", "no")), Deletion("No", ("x",)), Deletion("A", ("x", "y"))],
    )
    assert (found, missing) == (3, ["No"])
    assert text(graph) == [entity("A"), entity("A", more=',"k":1'), other]
    assert graph.entities["A"].observations() == ["z", "w"]


def test_deleted_relations_are_counted_as_asked() -> None:
    keys = [RelationKey("A", "B", "r"), RelationKey("A", "B", "no"), RelationKey("A", "B", "r")]
    graph, found = changes.delete_relations(graph_of(*ANN_AND_BO, relation("A", "B", more=',"k":1')), keys)
    assert found == 2
    assert text(graph) == [ANN_AND_BO[0], ANN_AND_BO[1], *ANN_AND_BO[3:]]
    assert ends(graph.touching["B"]) == ["BA"]


def test_what_many_items_of_one_call_ask_of_one_entity_is_done_in_their_order() -> None:
    graph = graph_of(entity("A", "x"), entity("A", "y"), entity("B"))
    asked = [Addition("A", ("n", "y")), Addition("B", ("n",)), Addition("A", ("n", "m")), Addition("A", ("m",))]
    after, added = changes.add_observations(graph, asked)
    assert [one.observations for one in added] == [["n"], ["n"], ["m"], []]
    assert text(after) == [entity("A", "x", "n", "m"), entity("A", "y"), entity("B", "n")]
    gone = [Deletion("A", ("n", "no")), Deletion("A", ("n", "y")), Deletion("C", ("n",)), Deletion("A", ("m", "m"))]
    after, found, missing = changes.delete_observations(after, gone)
    assert (found, missing) == (5, ["C"])
    assert text(after) == [entity("A", "x"), entity("A"), entity("B", "n")]


def test_every_relation_of_a_crowded_pair_is_found_again() -> None:
    graph = graph_of(
        entity("A"), entity("B"), relation("A", "B", "0"), relation("B", "A", "1"), relation("A", "A", "2")
    )
    keys = [RelationKey(*key) for key in ("AB0", "BA0", "BA1", "AB1", "AA2", "AA2", "CB0", "CB0", "BC0")]
    assert graph.relations(keys) == [graph.relation(*key) for key in keys]
    assert [line is not None for line in graph.relations(keys)] == [True, False, True, False, True, True, *[False] * 3]


def test_a_call_of_many_items_costs_no_more_for_each_because_all_are_about_the_same() -> None:
    many = 1000
    graph = graph_of(entity("A", *map(str, range(many))), entity("B"))
    seen = 0

    def step(frame: object, event: str, argument: object) -> None:
        nonlocal seen
        seen += event in ("call", "c_call")

    kinds = [RelationKey("A", "B", f"r{number}") for number in range(many)]
    sys.setprofile(step)
    try:
        graph, _ = changes.add_observations(graph, [Addition("A", (f"n{number}",)) for number in range(many)])
        graph, _, _ = changes.delete_observations(graph, [Deletion("A", (f"n{number}",)) for number in range(many)])
        graph, _ = changes.create_relations(graph, kinds)
        graph, _ = changes.create_relations(graph, kinds)
        graph, found = changes.delete_relations(graph, kinds)
    finally:
        sys.setprofile(None)
    assert found == many
    assert seen < 100 * many


def test_a_call_that_changes_nothing_gives_back_the_very_snapshot() -> None:
    graph = graph_of(*ANN_AND_BO)
    assert changes.create_entities(graph, [])[0] is graph
    assert changes.create_entities(graph, [NewEntity("A", "t", ("new",))])[0] is graph
    assert changes.create_relations(graph, [RelationKey("A", "B", "r")])[0] is graph
    assert changes.add_observations(graph, [Addition("A", ("x",)), Addition("B", ())])[0] is graph
    assert changes.delete_entities(graph, ["No"])[0] is graph
    assert changes.delete_observations(graph, [Deletion("A", ("no",)), Deletion("No", ("x",))])[0] is graph
    assert changes.delete_relations(graph, [RelationKey("A", "B", "no")])[0] is graph


def test_what_was_made_by_changes_reads_back_as_the_same_graph() -> None:
    graph = graph_of("kept", *ANN_AND_BO, "kept too")
    graph, _, _ = changes.create_entities(graph, [NewEntity(f"N{n}", "t", (str(n),)) for n in range(700)])
    graph, _ = changes.create_relations(graph, [RelationKey(f"N{n}", f"N{n + 1}", "next") for n in range(699)])
    graph, _ = changes.delete_entities(graph, [f"N{n}" for n in range(0, 700, 3)])
    graph, _ = changes.add_observations(graph, [Addition("N1", ("more",)), Addition("N650", ("more",))])
    again = Graph.of(document.read(b"".join(graph.chunks())))
    assert text(again) == text(graph)
    assert list(again.entities) == list(graph.entities)
    assert {name: ends(lines) for name, lines in again.touching.items()} == {
        name: ends(lines) for name, lines in graph.touching.items()
    }


@given(st.integers(0, 3 * SPAN), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_blocks_behave_like_one_list(size: int, seed: int) -> None:
    chance = random.Random(seed)
    lines = [new_entity(f"N{n}", "", ()).placed(n) for n in range(size)]
    blocks, plain = Blocks.of(lines), {line.order: line for line in lines}
    for _ in range(5):
        replaced: dict[int, EntityLine | None] = {}
        for order in chance.sample(sorted(plain), min(len(plain), chance.choice([0, 1, 40, 300]))):
            replaced[order] = chance.choice([None, new_entity(f"R{order}", "", ()).placed(order)])
        added = [new_entity(f"A{n}", "", ()).placed(blocks.end + n) for n in range(chance.choice([0, 1, 300]))]
        before = list(blocks)
        following = blocks.changed(replaced, added)
        assert list(blocks) == before
        plain.update({line.order: line for line in added})
        plain.update({order: line for order, line in replaced.items() if line is not None})
        for order in [order for order, line in replaced.items() if line is None]:
            del plain[order]
        blocks = following
        assert list(blocks) == [plain[order] for order in sorted(plain)]
        assert blocks.size == len(plain)
        assert all(line.order // SPAN == n for n, block in enumerate(blocks.blocks) for line in block.lines)


def test_a_block_finds_each_line_that_holds_a_text_once() -> None:
    blocks = Blocks.of([new_entity(name, "", ()).placed(n) for n, name in enumerate(["aa a", "b", "", "ab", "ba"])])
    found = [line.name for line in blocks.blocks[0].lines_with("a", lambda line: line.name)]
    assert found == ["aa a", "ab", "ba"]
    assert not list(blocks.blocks[0].lines_with("aab", lambda line: line.name))


def test_a_block_answers_the_same_after_more_words_than_it_remembers() -> None:
    texts = [" ".join(f"w{number % divisor}x" for divisor in range(1, 90)) for number in range(SPAN)]
    block = Blocks.of([new_entity(text, "t", ()) for text in texts]).blocks[0]
    for _ in range(2):
        for first in range(80):
            words = [f"w{first}x", f"w{first // 2}x", "w0x"]
            held = [line.name for line in block.lines_with_all(words, lambda line: line.name)]
            assert held == [text for text in texts if all(word in text for word in words)]
            held = [line.name for line in block.lines_with(words[1], lambda line: line.name)]
            assert held == [text for text in texts if words[1] in text]
