"""Changes that wait together: what each comes to, and that their number does not multiply with the memory's size."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from memory_app.errors import GraphError
from memory_app.graph import changes
from memory_app.graph.changes import Addition, Deletion, NewEntity, RelationKey
from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from memory_app.storage.pending import Call, apply
from memory_app.tools import table
from memory_app.tools.plans import Write

Change = Callable[[Graph], tuple[Graph, Any]]


def create(*names: str) -> Change:
    return lambda graph: changes.create_entities(graph, [NewEntity(name, "t", ("x",)) for name in names])[:2]


def outcomes(calls: list[Call]) -> list[str]:
    return [repr(call.outcome) if isinstance(call.outcome, Exception) else str(call.outcome) for call in calls]


def singly(made: list[Change], graph: Graph) -> tuple[Graph, list[str]]:
    calls = [Call(change, 0.0) for change in made]
    for call in calls:
        graph = apply([call], graph)
    return graph, outcomes(calls)


def together(made: list[Change], graph: Graph) -> tuple[Graph, list[str]]:
    calls = [Call(change, 0.0) for change in made]
    after = apply(calls, graph)
    return after, outcomes(calls)


def written(graph: Graph) -> bytes:
    return b"".join(graph.chunks())


def change_of(tool: str, arguments: dict[str, Any]) -> Change:
    plan = table.plan(tool, arguments)
    assert isinstance(plan, Write)
    return plan.apply


def chosen(chance: random.Random) -> Change:
    """Some change of few entities: many hit what others of the batch have made, and some fail."""
    one, other, text = (chance.choice("abcdefgh") for _ in range(3))
    asked: list[tuple[str, dict[str, Any]]] = [
        ("create_entities", {"entities": [{"name": one, "entityType": "t", "observations": [text]}]}),
        ("create_relations", {"relations": [{"from": one, "to": other, "relationType": "r"}]}),
        ("add_observations", {"observations": [{"entityName": one, "contents": [text]}]}),
        ("delete_entities", {"entityNames": [one]}),
        ("delete_observations", {"deletions": [{"entityName": one, "observations": [text]}]}),
        ("delete_relations", {"relations": [{"from": one, "to": other, "relationType": "r"}]}),
        ("delete_entities", {"entityNames": one}),  # lenient, and so an error where it hits nothing
    ]
    name, arguments = chance.choice(asked)
    return change_of(name, arguments)


@pytest.mark.parametrize("seed", range(40))
def test_changes_together_come_to_what_they_come_to_one_after_the_other(seed: int) -> None:
    chance = random.Random(seed)
    graph = Graph.empty()
    for _ in range(8):
        made = [chosen(chance) for _ in range(chance.randrange(2, 12))]
        before = written(graph), dict(graph.entities), dict(graph.touching)
        wanted, wanted_outcomes = singly(made, graph)
        found, found_outcomes = together(made, graph)
        assert found_outcomes == wanted_outcomes
        assert written(found) == written(wanted)
        fresh = Graph.of(document.read(written(found)))
        assert [*found.entities] == [*wanted.entities] and set(found.entities) == set(fresh.entities)
        assert {name: len(at) for name, at in found.touching.items()} == {
            n: len(at) for n, at in fresh.touching.items()
        }
        assert (written(graph), graph.entities, graph.touching) == before
        graph = found


@pytest.mark.parametrize("tool", ["create_entities", "create_relations", "add_observations"])
def test_changes_together_copy_an_index_once(tool: str) -> None:
    graph, _ = create(*(f"n{number}" for number in range(200)))(Graph.empty())
    indexes = set()

    def change(number: int) -> Change:
        asked: dict[str, dict[str, Any]] = {
            "create_entities": {"entities": [{"name": f"m{number}", "entityType": "t", "observations": []}]},
            "create_relations": {"relations": [{"from": "n1", "to": f"n{number}", "relationType": "r"}]},
            "add_observations": {"observations": [{"entityName": f"n{number}", "contents": ["y"]}]},
        }
        arguments = asked[tool]
        apply_it = change_of(tool, arguments)

        def counted(before: Graph) -> tuple[Graph, Any]:
            indexes.add((id(before.entities), id(before.touching)))
            return apply_it(before)

        return counted

    after, _ = together([change(number) for number in range(100)], graph)
    assert len(indexes) == 2  # that of the graph before, and one copy
    assert written(after) != written(graph)


def test_a_change_that_looks_back_is_applied_all_the_same_and_sees_nothing_later() -> None:
    seen = []

    def looks_back(graph: Graph) -> tuple[Graph, bool]:
        after, _ = create("Late")(graph)
        seen.append("Late" in graph.entities)
        return after, "Late" in graph.entities

    after, found = together([create("Ann"), looks_back, create("Bo")], Graph.empty())
    assert found[1] == "False" and seen == [False]
    assert [*after.entities] == ["Ann", "Late", "Bo"]


def test_a_change_that_fails_half_way_leaves_nothing_of_itself() -> None:
    def fails(graph: Graph) -> tuple[Graph, None]:
        create("Half")(graph)
        raise GraphError("no")

    after, found = together([create("Ann"), fails, create("Bo")], Graph.empty())
    assert found[1] == repr(GraphError("no"))
    assert [*after.entities] == ["Ann", "Bo"]


def test_changes_that_change_nothing_give_back_the_very_graph() -> None:
    graph, _ = create("Ann")(Graph.empty())
    after, _ = together([create("Ann"), create("Ann")], graph)
    assert after is graph


def test_the_graph_that_a_batch_ends_with_is_changed_by_nobody() -> None:
    graph, _ = together([create("Ann"), create("Bo")], Graph.empty())
    once, _ = create("Cy")(graph)
    again, _ = together([create("Dee"), lambda now: changes.add_observations(now, [Addition("Ann", ("y",))])], graph)
    gone = changes.delete_observations(graph, [Deletion("Ann", ("x",))])[0]
    tied, _ = changes.create_relations(graph, [RelationKey("Ann", "Bo", "r")])
    assert [*graph.entities] == ["Ann", "Bo"] and not graph.touching
    assert [*once.entities] == ["Ann", "Bo", "Cy"] and [*again.entities] == ["Ann", "Bo", "Dee"]
    assert gone.entities["Ann"] is not graph.entities["Ann"] and tied.touching
