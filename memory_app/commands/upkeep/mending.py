"""Mending a memory: one line for each entity and each relation, in our own form. No fact is lost, nothing is guessed.

- Lines with the same name become one: the first line, with the observations of the others after its own. Their other
  keys are copied too. If two values differ (including an entity's type), the first stays, and the others are kept
  under `otherValues`, which is not served.
- A relation that occurs several times is kept once, in the same way.
- A repeated observation is dropped, and so is null. An object stays an object: it holds more than its text.
- Lines that are not records of ours stay, without the CR at the end that Windows programs write.
- A record with a number that rewriting would change (1.10, 1e400) stays as it is.

No I/O.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from memory_app.jsonl.lines import from_value
from memory_app.jsonl.records import (
    KIND_KEYS,
    OWNER_KEYS,
    EntityLine,
    Form,
    Line,
    encode,
    listed,
    new_entity,
    new_relation,
    observation_text,
    observations_key,
)

OTHER_VALUES: Final = "otherValues"
_OWN_KEYS: Final = frozenset({"type", "name", "observations", "from", "to", "relationType", OTHER_VALUES})


class Options(NamedTuple):
    """Steps done only on request. `is_unreadable` says which kept lines are moved out."""

    add_missing: bool = False
    unreadable: frozenset[bytes] = frozenset()


class Mended(NamedTuple):
    """The mended graph, and what was done."""

    graph: Graph
    merged: int = 0  # lines of repeated names
    dropped: int = 0  # repeated relations
    repeated: int = 0  # repeated observations
    rewritten: int = 0  # records in another form
    added: tuple[str, ...] = ()  # entities that relations named
    moved_out: tuple[bytes, ...] = ()


class _InexactNumber(ValueError):
    """Rewriting the record would change a number."""


def mend(graph: Graph, options: Options) -> Mended:
    """The graph as it should be in the file."""
    lines: list[Line] = []
    merged = dropped = repeated = rewritten = 0
    for group in (graph.first_entities(), graph.first_relations()):
        for line in group:
            together = _combine(line)
            lines += together
            if len(together) == 1:
                again = 0 if line.also else _count_repeated(line)
                repeated += again
                rewritten += together[0].raw != line.raw and not line.also and not again
                if isinstance(line, EntityLine):
                    merged += len(line.also)
                else:
                    dropped += len(line.also)
    missing = tuple(name for name in graph.touching if name not in graph.entities) if options.add_missing else ()
    entities = [line for line in lines if isinstance(line, EntityLine)]
    relations = [line for line in lines if not isinstance(line, EntityLine)]
    head, tail = (_readable(kept, options.unreadable) for kept in (graph.head, graph.tail))
    whole: tuple[Line, ...] = (*entities, *(new_entity(name, "unknown", ()) for name in missing), *relations)
    gone = tuple(raw for raw in (*graph.head, *graph.tail) if raw in options.unreadable)
    after = Graph.of(document.Contents(head, whole, tail, False, ()))
    return Mended(after, merged, dropped, repeated, rewritten, missing, gone)


def distinct(items: Any) -> list[Any]:
    """The items of a record's observations without null and without repetitions, texts as texts."""
    held: list[Any] = items if isinstance(items, list) else [items]
    if set(map(type, held)) <= {str} and len(set(held)) == len(held):
        return held
    kept: dict[bytes, Any] = {}
    objects: set[str | None] = set()
    for item in held:
        if isinstance(item, dict):
            objects.add(observation_text(item))
        elif item is not None and not isinstance(item, str):
            item = observation_text(item)
        if item is not None:
            kept.setdefault(encode(item), item)
    return [item for item in kept.values() if not (isinstance(item, str) and item in objects)]


def _count_repeated(line: Line) -> int:
    """The number of repeated observations in the line."""
    if not isinstance(line, EntityLine):
        return 0
    texts = line.own_observations()
    return len(texts) - len(set(texts))


def _combine(line: Line) -> list[Line]:
    """The line and its repetitions as one line; unchanged if that would change a number."""
    if not line.also and _is_ours(line):
        return [line]
    try:
        values = [_canonical(one) for one in (line, *line.also)]
    except _InexactNumber:
        return [line, *line.also]
    body = values[0]
    for value in values[1:]:
        _take_over(body, value)
    if isinstance(line, EntityLine):
        body["observations"] = distinct(body["observations"])
    raw = encode(body)
    made = line if raw == line.raw else from_value(body, None)
    return [line, *line.also] if isinstance(made, bytes) else [made.placed(line.order)]


def _is_ours(line: Line) -> bool:
    """Whether the line is what we would write, as most lines are."""
    if isinstance(line, EntityLine):
        texts = line.own_observations()
        return line.raw == new_entity(line.name, line.entity_type, texts).raw and len(set(texts)) == len(texts)
    return line.raw == new_relation(line.source, line.target, line.relation_type).raw


def _canonical(line: Line) -> dict[str, Any]:
    exact = _exact(line.raw)
    if isinstance(line, EntityLine) and line.form is Form.PART:
        key = observations_key(exact)
        items = [] if key is None else listed(exact[key])
        rest = {one: held for one, held in exact.items() if one not in (key, *KIND_KEYS, *OWNER_KEYS)}
        return {"observations": items if isinstance(items, list) else [items], **rest}
    made = from_value(exact, "entity" if isinstance(line, EntityLine) else "relation")
    value: dict[str, Any] = json.loads(made if isinstance(made, bytes) else made.raw)
    return value


def _exact(raw: bytes) -> Any:
    return json.loads(raw, parse_float=_exact_float, parse_int=_exact_int)


def _exact_float(digits: str) -> float:
    number = float(digits)
    if repr(number) != digits:
        raise _InexactNumber
    return number


def _exact_int(digits: str) -> int:
    number = int(digits)
    if str(number) != digits:
        raise _InexactNumber
    return number


def _take_over(body: dict[str, Any], value: dict[str, Any]) -> None:
    others: dict[str, list[Any]] = {}
    if "observations" in body:
        body["observations"] = [*body["observations"], *value["observations"]]
    for key, item in value.items():
        if key in _OWN_KEYS:
            continue
        if key not in body:
            body[key] = item
        elif body[key] != item and item != "":
            others.setdefault(key, []).append(item)
    for held in (value.get(OTHER_VALUES),):
        if isinstance(held, dict):
            for key, items in held.items():
                others.setdefault(key, []).extend(items if isinstance(items, list) else [items])
        elif held is not None:
            others.setdefault(OTHER_VALUES, []).append(held)
    if others:
        before = body.get(OTHER_VALUES)
        collected: dict[str, Any] = (
            before if isinstance(before, dict) else {} if before is None else {OTHER_VALUES: [before]}
        )
        for key, items in others.items():
            there = collected.setdefault(key, [])
            there = there if isinstance(there, list) else [there]
            collected[key] = [*there, *(item for item in _once(items) if item not in there)]
        body[OTHER_VALUES] = collected


def _once(items: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        if item not in found:
            found.append(item)
    return found


def _readable(kept: Iterable[bytes], unreadable: frozenset[bytes]) -> tuple[bytes, ...]:
    return tuple(raw.removesuffix(b"\r") for raw in kept if raw not in unreadable)
