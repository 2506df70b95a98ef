"""The differences between two memories: whole entities, observations, types, relations."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from memory_app.commands.screen.terminal import Terminal, safe
from memory_app.graph.graph import Graph
from memory_app.text import counted

_SHOWN: Final = 10
"""Names that are listed of each kind; --json has all."""

Relation = tuple[str, str, str]


class Side(NamedTuple):
    """What one of the two has and the other lacks. `observations` are those of entities that both have."""

    entities: list[str]
    observations: dict[str, list[str]]
    relations: list[Relation]


class Difference(NamedTuple):
    """`types` are the entities that both have, with their type in the first and in the second."""

    first: Side
    second: Side
    types: dict[str, tuple[str, str]]
    same: int

    @classmethod
    def between(cls, one: Graph, other: Graph) -> Difference:
        types: dict[str, tuple[str, str]] = {}
        lacking: tuple[dict[str, list[str]], dict[str, list[str]]] = ({}, {})
        same = 0
        for name, line in one.entities.items():
            counterpart = other.entities.get(name)
            if counterpart is None:
                continue
            same += 1
            if line.entity_type != counterpart.entity_type:
                types[name] = (line.entity_type, counterpart.entity_type)
            if line.raw == counterpart.raw and not line.also and not counterpart.also:
                continue
            ours, theirs = line.observations(), counterpart.observations()
            for side, mine, yours in ((lacking[0], ours, theirs), (lacking[1], theirs, ours)):
                have = set(yours)
                only = [text for text in dict.fromkeys(mine) if text not in have]
                if only:
                    side[name] = only
        return cls(_side(one, other, lacking[0]), _side(other, one, lacking[1]), types, same)

    @property
    def is_empty(self) -> bool:
        return not (any(self.first) or any(self.second) or self.types)

    def as_json(self, first: str, second: str) -> dict[str, Any]:
        """The difference as a JSON object; `first` and `second` are the names of the two sides in it."""
        return {
            **{f"{name}Only": _side_json(side) for name, side in ((first, self.first), (second, self.second))},
            "types": [{"name": name, first: one, second: other} for name, (one, other) in self.types.items()],
            "entitiesInBoth": self.same,
        }

    def show(self, out: Terminal, first: str, second: str) -> None:
        if self.is_empty:
            out.line("  nothing: both hold the same")
            return
        for side, title in ((self.first, first), (self.second, second)):
            if any(side):
                out.line(f"  {out.styled(title, 'bold')}")
                show_side(out, side)
        if self.types:
            out.line(f"  {out.styled('of different types', 'bold')}")
            show_types(out, self.types)


def show_side(out: Terminal, side: Side) -> None:
    """Print what only one side has, with a few names of each kind."""
    if side.entities:
        _list(out, counted(len(side.entities), "entity"), [_named(name) for name in side.entities])
    if side.observations:
        total = sum(map(len, side.observations.values()))
        what = f"{counted(total, 'observation')} of {counted(len(side.observations), 'entity')}"
        _list(out, what, [f"{_named(name)} ({len(texts)})" for name, texts in side.observations.items()])
    if side.relations:
        _list(out, counted(len(side.relations), "relation"), [relation_text(*key) for key in side.relations])


def show_types(out: Terminal, types: dict[str, tuple[str, str]]) -> None:
    _list(
        out,
        counted(len(types), "entity"),
        [
            f"{_named(name)} ({safe(one) or 'no type'} / {safe(other) or 'no type'})"
            for name, (one, other) in types.items()
        ],
    )


def relation_text(source: str, target: str, relation_type: str) -> str:
    return f"{_named(source)} {safe(relation_type) or '-'} → {_named(target)}"


def _named(name: str) -> str:
    return safe(name) if name.strip() else f'"{safe(name)}"'  # a blank one would not be seen


def _list(out: Terminal, what: str, items: list[str]) -> None:
    more = len(items) - _SHOWN
    out.line(f"    {what}: {', '.join(items[:_SHOWN])}{f' and {more:,} more' if more > 0 else ''}")


def _side(one: Graph, other: Graph, observations: dict[str, list[str]]) -> Side:
    keys = [(line.source, line.target, line.relation_type) for line in one.first_relations()]
    relations = [key for key, there in zip(keys, other.relations(keys), strict=True) if there is None]
    return Side([name for name in one.entities if name not in other.entities], observations, relations)


def _side_json(side: Side) -> dict[str, Any]:
    return {
        "entities": side.entities,
        "observations": [{"entityName": name, "contents": texts} for name, texts in side.observations.items()],
        "relations": [{"from": one, "to": two, "relationType": kind} for one, two, kind in side.relations],
    }
