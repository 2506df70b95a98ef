"""Whether a history of concurrent calls is linearizable: whether each call can have happened at one moment between its
start and its answer, all in one order, so that every answer is what the rules give.

The search is that of Wing and Gong with Lowe's memory of what was tried; no well-kept library for Python does this.
Calls on names that no other call connects are independent objects, so a history is checked in parts (`group`). The
rules here are written down anew, apart from the program's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

Relation: TypeAlias = tuple[str, str, str]


class State(NamedTuple):
    """One part of the memory: observations by name, and relations."""

    entities: tuple[tuple[str, tuple[str, ...]], ...] = ()
    relations: frozenset[Relation] = frozenset()


class Operation(NamedTuple):
    """One call: who made it, when (any clock that all share), and what came back."""

    process: int
    called: int
    returned: int
    tool: str
    arguments: Any
    result: Any
    group: str = ""


EMPTY: Final = State()


def faults(history: Iterable[Operation]) -> list[str]:
    """The groups whose part of the history is not linearizable."""
    parts: dict[str, list[Operation]] = {}
    for operation in history:
        parts.setdefault(operation.group, []).append(operation)
    return [group for group, part in parts.items() if not is_linearizable(part)]


def is_linearizable(history: Sequence[Operation], start: State = EMPTY) -> bool:
    """Whether some order of the calls explains all answers, from this state on."""
    calls = sorted(history, key=lambda operation: operation.called)
    everything = (1 << len(calls)) - 1
    tried = {(0, start)}
    stack = [(0, start)]
    while stack:
        done, state = stack.pop()
        if done == everything:
            return True
        left = [number for number in range(len(calls)) if not done >> number & 1]
        first_end = min(calls[number].returned for number in left)
        for number in left:
            if calls[number].called > first_end:
                break  # this one and all later ones began after another had ended
            after, result = apply(state, calls[number].tool, calls[number].arguments)
            step = (done | 1 << number, after)
            if result == calls[number].result and step not in tried:
                tried.add(step)
                stack.append(step)
    return False


def apply(state: State, tool: str, arguments: Any) -> tuple[State, Any]:
    """What a call makes of the state, and its answer."""
    return _RULES[tool](dict(state.entities), state.relations, arguments)


def _made(entities: dict[str, tuple[str, ...]], relations: frozenset[Relation]) -> State:
    return State(tuple(sorted(entities.items())), relations)


def _create_entities(entities: dict[str, tuple[str, ...]], relations: frozenset[Relation], asked: Any) -> Any:
    made, skipped = [], []
    for name, observations in asked:
        if name in entities:
            skipped.append(name)
        else:
            entities[name] = tuple(observations)
            made.append(name)
    return _made(entities, relations), (tuple(made), tuple(skipped))


def _add_observations(entities: dict[str, tuple[str, ...]], relations: frozenset[Relation], asked: Any) -> Any:
    before = _made(entities, relations)
    added = []
    for name, contents in asked:
        if name not in entities:
            return before, f"Entity with name {name} not found"
        new = tuple(text for text in dict.fromkeys(contents) if text not in entities[name])
        entities[name] += new
        added.append((name, new))
    return _made(entities, relations), tuple(added)


def _create_relations(entities: dict[str, tuple[str, ...]], relations: frozenset[Relation], asked: Any) -> Any:
    for source, target, _ in asked:
        for name in (source, target):
            if name not in entities:
                return _made(entities, relations), f"Entity with name {name} not found"
    new = tuple(relation for relation in dict.fromkeys(asked) if relation not in relations)
    return _made(entities, relations | set(new)), new


def _delete_entities(entities: dict[str, tuple[str, ...]], relations: frozenset[Relation], names: Any) -> Any:
    missing = [name for name in names if name not in entities]
    left = {name: held for name, held in entities.items() if name not in names}
    kept = frozenset(one for one in relations if one[0] not in names and one[1] not in names)
    if not missing:
        return _made(left, kept), "Entities deleted successfully"
    hits = len(names) - len(missing)
    return _made(left, kept), f"Deleted {hits} of {len(names)} entities. Not found: {', '.join(missing)}"


def _delete_observations(entities: dict[str, tuple[str, ...]], relations: frozenset[Relation], asked: Any) -> Any:
    ((name, gone),) = asked
    if name not in entities:
        return _made(entities, relations), f"Deleted 0 of {len(gone)} observations. Entities not found: {name}"
    hits = sum(text in entities[name] for text in gone)
    entities[name] = tuple(text for text in entities[name] if text not in gone)
    if hits == len(gone):
        return _made(entities, relations), "Observations deleted successfully"
    return _made(entities, relations), f"Deleted {hits} of {len(gone)} observations."


def _delete_relations(entities: dict[str, tuple[str, ...]], relations: frozenset[Relation], asked: Any) -> Any:
    hits = sum(relation in relations for relation in asked)
    state = _made(entities, relations - set(asked))
    if hits == len(asked):
        return state, "Relations deleted successfully"
    return state, f"Deleted {hits} of {len(asked)} relations. The rest matched nothing."


def _open_nodes(entities: dict[str, tuple[str, ...]], relations: frozenset[Relation], names: Any) -> Any:
    """The names are all that the part has, so every relation is between them."""
    return _made(entities, relations), (tuple((name, entities[name]) for name in names if name in entities), relations)


_RULES: Final[dict[str, Callable[[dict[str, tuple[str, ...]], frozenset[Relation], Any], tuple[State, Any]]]] = {
    "create_entities": _create_entities,
    "add_observations": _add_observations,
    "create_relations": _create_relations,
    "delete_entities": _delete_entities,
    "delete_observations": _delete_observations,
    "delete_relations": _delete_relations,
    "open_nodes": _open_nodes,
}
