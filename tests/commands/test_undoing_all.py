"""Random tool calls and commands, then everything undone, then the undos: nothing is lost on the way."""

from __future__ import annotations

import itertools
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from memory_app.commands import frame
from memory_app.commands.upkeep import past
from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from memory_app.storage.history import generations
from tests.commands.running import entity, relation, write

_NAMES: Final = tuple(f"e{number}" for number in range(8))
_CHANGES: Final = 9

Said = frozenset[tuple[str, ...]]


def _graph(memory: Path) -> Graph:
    return Graph.of(document.read(memory.read_bytes()))


def _said(graph: Graph) -> Said:
    """Everything that a graph says, each thing by itself; types and the keys that are not ours too."""
    found: set[tuple[str, ...]] = set()
    for name, first in graph.entities.items():
        found |= {(name,)} | {(name, text) for text in first.observations()}
        for line in (first, *first.also):
            others = json.loads(line.raw)
            found |= {(name, key, str(others[key])) for key in others.keys() - {"name", "type", "observations"}}
    return frozenset(found | {(one.source, one.relation_type, one.target) for one in graph.first_relations()})


def _tool(name: str, **arguments: object) -> tuple[str, ...]:
    return ("call", name, json.dumps(arguments))


def _changes(chance: random.Random, memory: Path, number: int) -> tuple[str, ...]:
    """A random command line, or a tool call, that changes the memory."""
    have = sorted(_graph(memory).entities) or ["none"]
    one, other = chance.choice(have), chance.choice(have)
    new = chance.choice([f"new{number}", *_NAMES[:2]])
    source = write(memory.with_name(f"{number}.jsonl"), entity(one, "t", ["x"]), relation(one, f"in{number}", "q"))
    states = [state.path for state in generations(str(memory))] or [str(source)]
    created = {"name": new, "entityType": "t", "observations": [f"fact {number}"]}
    kinds: list[Callable[[], tuple[str, ...]]] = [
        lambda: _tool("delete_entities", entityNames=[one]),
        lambda: _tool("delete_observations", deletions=[{"entityName": one, "observations": [f"{one}-1"]}]),
        lambda: _tool("create_entities", entities=[created]),
        lambda: _tool("add_observations", observations=[{"entityName": one, "contents": [f"more {number}"]}]),
        lambda: ("add", chance.choice([one, new]), f"text {number}"),
        lambda: ("rename", one, new),
        lambda: ("merge-entities", one, other),
        lambda: ("forget", one),
        lambda: ("import", str(source)),
        lambda: ("merge", str(memory), str(source)),
        lambda: ("restore", chance.choice(states)),
        lambda: ("repair", "--add-missing"),
        lambda: ("undo", "1"),
    ]
    return chance.choice(kinds)()


def _undo(memory: Path, names: list[str]) -> None:
    for name in names:
        assert frame.run("undo", [name], str(memory), None) == 0, name


def _check(seed: int, folder: Path) -> None:
    chance = random.Random(seed)
    memory = folder / "memory.jsonl"
    lines = [entity(name, "t", [f"{name}-{n}" for n in range(3)], **{f"key of {name}": 1}) for name in _NAMES]
    lines += [relation(one, other, "r") for one, other in itertools.pairwise(_NAMES)]
    write(memory, *lines, *([entity("e3", "t", ["again"])] if chance.random() < 0.5 else []))
    wanted = set(_said(_graph(memory)))
    for number in range(_CHANGES):
        name, *words = _changes(chance, memory, number)
        before = _said(_graph(memory))
        status = frame.run(name, words, str(memory), None)
        if status == 0 and words[0] in ("create_entities", "add_observations"):
            wanted |= _said(_graph(memory)) - before
    present, earlier = _graph(memory), {one.path for one in generations(str(memory))}
    _undo(memory, [os.path.basename(step.generation.path) for step in past.undoable(str(memory), present)])
    lost = wanted - _said(_graph(memory))
    # An entity that was made anew under a name keeps its type.
    assert not [thing for thing in lost if thing[1:2] != ("entityType",)], (seed, sorted(lost))
    undos = [one for one in generations(str(memory)) if one.reason == "undo" and one.path not in earlier]
    _undo(memory, [os.path.basename(one.path) for one in undos])
    assert _said(_graph(memory)) == _said(present), seed


@pytest.mark.parametrize("seeds", [range(8), pytest.param(range(8, 300), marks=pytest.mark.slow)], ids=["few", "many"])
def test_undoing_all_brings_everything_back_and_undoing_the_undos_the_state_before(
    seeds: range, tmp_path: Path
) -> None:
    for seed in seeds:
        (tmp_path / str(seed)).mkdir()
        _check(seed, tmp_path / str(seed))
