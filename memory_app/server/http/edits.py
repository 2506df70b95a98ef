"""Edits from a page: from their JSON to one change of the graph, by the rules of the tools and of corrections.

An edit that would do nothing because somebody else was faster is an error that says so: the person believes that it
changed something. No I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from memory_app.errors import GraphError
from memory_app.graph import changes, corrections
from memory_app.graph.changes import Addition, Deletion, NewEntity, RelationKey
from memory_app.graph.graph import Graph
from memory_app.text import without_lone_surrogates


class Edit(NamedTuple):
    """`command` does the same in a terminal, and names the edit in the history. `label` describes it in the list of
    changes. `renamed` is the old and the new name of an entity that gets another name.
    """

    command: str
    label: str
    apply: Callable[[Graph], Graph]
    renamed: tuple[str, str] | None = None


Given = Mapping[str, Any]


def read_edit(given: object) -> Edit:
    """The edit that a request's JSON describes. GraphError if it describes none."""
    if not isinstance(given, dict):
        raise GraphError("An edit is an object.")
    try:
        make = _EDITS[given.get("do")]  # type: ignore[index]
    except (KeyError, TypeError):
        raise GraphError("There is no such edit.") from None
    return make(given)


def _text(given: Given, key: str, *, empty: bool = False) -> str:
    value = given.get(key)
    if not isinstance(value, str):
        raise GraphError(f"{key} must be a text.")
    if not empty and not value.strip():
        raise GraphError("Write something first.")
    return without_lone_surrogates(value)


def _texts(given: Given, key: str) -> list[str]:
    value = given.get(key)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise GraphError(f"{key} must be a list of texts.")
    return [without_lone_surrogates(item) for item in value]


def _add_fact(given: Given) -> Edit:
    name, text = _text(given, "entity", empty=True), _text(given, "text")

    def apply(graph: Graph) -> Graph:
        after, added = changes.add_observations(graph, [Addition(name, (text,))])
        if not added[0].observations:
            raise GraphError(f"{name} has this observation already.")
        return after

    return Edit("add", f"Added an observation to {name}", apply)


def _replace_fact(given: Given) -> Edit:
    name, old, new = _text(given, "entity", empty=True), _text(given, "old", empty=True), _text(given, "new")
    return Edit(
        "edit",
        f"Changed an observation of {name}",
        lambda graph: corrections.replace_observation(graph, name, old, new),
    )


def _delete_fact(given: Given) -> Edit:
    name, text = _text(given, "entity", empty=True), _text(given, "text", empty=True)

    def apply(graph: Graph) -> Graph:
        after, found, _ = changes.delete_observations(graph, [Deletion(name, (text,))])
        if not found:
            raise GraphError(f"{name} has no such observation any more.")
        return after

    return Edit("edit", f"Deleted an observation of {name}", apply)


def _add_entity(given: Given) -> Edit:
    name, kind, facts = _text(given, "name"), _text(given, "type", empty=True), _texts(given, "facts")
    new = NewEntity(name, kind, tuple(dict.fromkeys(text for text in facts if text.strip())))

    def apply(graph: Graph) -> Graph:
        after, _, skipped = changes.create_entities(graph, [new])
        if skipped:
            raise GraphError(f"There is an entity with name {name} already.")
        return after

    return Edit("add", f"Added {name}", apply)


def _delete_entity(given: Given) -> Edit:
    name, seen = _text(given, "name", empty=True), _texts(given, "seen")

    def apply(graph: Graph) -> Graph:
        _as_seen(graph, name, seen)
        return changes.delete_entities(graph, [name])[0]

    return Edit("forget", f"Deleted {name}", apply)


def _rename(given: Given) -> Edit:
    old, new = _text(given, "name", empty=True), _text(given, "to")
    return Edit(
        "rename", f"Renamed {old} to {new}", lambda graph: corrections.rename_entity(graph, old, new), (old, new)
    )


def _merge(given: Given) -> Edit:
    source, target, seen = _text(given, "name", empty=True), _text(given, "into", empty=True), _texts(given, "seen")

    def apply(graph: Graph) -> Graph:
        _as_seen(graph, source, seen)
        return corrections.merge_entities(graph, source, target)

    return Edit("merge-entities", f"Merged {source} into {target}", apply, (source, target))


def _change_type(given: Given) -> Edit:
    name, kind = _text(given, "name", empty=True), _text(given, "type", empty=True)
    return Edit(
        "edit", f"Changed the type of {name} to {kind}", lambda graph: corrections.change_type(graph, name, kind)
    )


def _relation(given: Given) -> RelationKey:
    return RelationKey(
        _text(given, "from", empty=True), _text(given, "to", empty=True), _text(given, "type", empty=True)
    )


def _add_relation(given: Given) -> Edit:
    key = _relation(given)
    if not key.relation_type.strip():
        raise GraphError("Say what the relation is.")

    def apply(graph: Graph) -> Graph:
        after, made = changes.create_relations(graph, [key])
        if not made:
            raise GraphError("There is this relation already.")
        return after

    return Edit("add", f"Added {key.source} {key.relation_type} {key.target}", apply)


def _delete_relation(given: Given) -> Edit:
    key = _relation(given)

    def apply(graph: Graph) -> Graph:
        after, found = changes.delete_relations(graph, [key])
        if not found:
            raise GraphError("There is no such relation any more.")
        return after

    return Edit("edit", f"Deleted {key.source} {key.relation_type} {key.target}", apply)


def _as_seen(graph: Graph, name: str, seen: list[str]) -> None:
    """GraphError if the entity is not as the person saw it: nobody removes what they have not seen."""
    if corrections.entity(graph, name).observations() != seen:
        raise GraphError(f"{name} was changed meanwhile. Look at it again before you take it away.")


_EDITS: Final[Mapping[str, Callable[[Given], Edit]]] = {
    "add fact": _add_fact,
    "replace fact": _replace_fact,
    "delete fact": _delete_fact,
    "add entity": _add_entity,
    "delete entity": _delete_entity,
    "rename": _rename,
    "merge": _merge,
    "change type": _change_type,
    "add relation": _add_relation,
    "delete relation": _delete_relation,
}
