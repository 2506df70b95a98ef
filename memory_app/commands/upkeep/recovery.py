"""Undo of a change in a graph that has changed since: what the change removed comes back, and newer content stays.

Functions from one snapshot to the next; no input or output. A record that comes back has its former bytes.
"""

from __future__ import annotations

import json

from memory_app.commands.upkeep.differences import Difference, Side
from memory_app.graph import changes
from memory_app.graph.changes import Deletion, RelationKey
from memory_app.graph.corrections import OTHER_VALUES, change_type
from memory_app.graph.graph import Graph
from memory_app.jsonl.lines import items_of, with_items, with_other_keys, without_observations
from memory_app.jsonl.records import (
    KIND_KEYS,
    TYPE_KEYS,
    EntityLine,
    Form,
    RelationLine,
    first_key,
    name_key,
    observations_key,
)


def undo_change(graph: Graph, before: Graph, after: Graph, *, both: bool) -> Graph:
    """`graph` without the change that turned `before` into `after`; `graph` itself if nothing of it is left to undo.

    With `both`, what the change added is removed too, as far as nothing newer depends on it.
    """
    difference = Difference.between(before, after)
    made = graph
    if both:
        made = take_out(made, after, difference.second)
    made = bring_back(made, before, difference.first)
    for name, (was, became) in difference.types.items():
        line = made.entities.get(name)
        if line is not None and line.entity_type == became:
            made = change_type(made, name, was)
    if both:
        made = _with_former_keys(made, graph, before, after)
    return _with_lost_keys(made, before, after)


def bring_back(graph: Graph, source: Graph, side: Side) -> Graph:
    """The graph with the parts of `source` that `side` names. An existing entity keeps its type and gets what it lacks.
    A missing entity comes back; if `side` names only some of its observations, it has only those.
    """
    new: list[EntityLine] = []
    longer: list[EntityLine] = []
    wanted = dict.fromkeys(side.entities) | {name: set(texts) for name, texts in side.observations.items()}
    for name, texts in wanted.items():
        there, line = graph.entities.get(name), source.entities[name]
        if there is None:
            gone = set() if texts is None else set(line.observations()) - texts
            alone = line.placed(line.order)
            new.append(_with(without_observations(alone, gone), line, texts))
        elif (more := _with(there, line, texts)).raw != there.raw:
            longer.append(more.placed(there.order, there.also))
    keys = [RelationKey(*key) for key in side.relations]
    lacking = [key for key, there in zip(keys, graph.relations(keys), strict=True) if there is None]
    relations = [line for line in source.relations(lacking) if line is not None]
    return graph.replacing(longer).adding(new, [line.placed(line.order) for line in relations])


def take_out(graph: Graph, source: Graph, side: Side) -> Graph:
    """The graph without the parts that `side` names, as `source` had them. An entity stays if it has gained an
    observation or relation. Its other relations stay: they were there before it.
    """
    relations = [RelationKey(*key) for key in side.relations]
    made = changes.delete_relations(graph, relations)[0]
    deletions = [Deletion(name, tuple(texts)) for name, texts in side.observations.items()]
    gone = []
    for name in side.entities:
        line = made.entities.get(name)
        if line is None:
            continue
        had = source.entities[name].observations()
        touching = [(one.source, one.target, one.relation_type) for one in made.touching.get(name, ())]
        if set(line.observations()) <= set(had) and None not in source.relations(touching):
            gone.append(name)
        else:
            deletions.append(Deletion(name, tuple(had)))
    made = changes.delete_observations(made, deletions)[0]
    return made.removing([made.entities[name] for name in gone])


def _with_former_keys(made: Graph, graph: Graph, before: Graph, after: Graph) -> Graph:
    """`made` with the records that the change edited as they were, but for the observations that `made` has: keys that
    the change added go. Only records whose other keys are still as `after` had them in `graph`.
    """
    entities: list[EntityLine] = []
    for name, line in before.entities.items():
        then, now, result = after.entities.get(name), graph.entities.get(name), made.entities.get(name)
        if then is None or now is None or result is None or line.raw == then.raw:
            continue
        if any(one.form is Form.PART for one in (line, then, now, result)) or _frame(now) != _frame(then):
            continue
        first = result.placed(result.order)
        gone = set(line.own_observations()).difference(first.own_observations())
        was = _with(without_observations(line.placed(line.order), gone), first, None)
        if was.raw != result.raw:
            entities.append(was.placed(result.order, result.also))
    replaced: list[RelationLine] = []
    relations: list[RelationLine] = []
    edited = [line for line in before.first_relations() if not line.also]
    keys = [RelationKey(line.source, line.target, line.relation_type) for line in edited]
    found = (one.relations(keys) for one in (after, made))
    for relation, then_, now_ in zip(edited, *found, strict=True):
        if then_ is None or now_ is None or then_.also or now_.also or now_.raw != then_.raw:
            continue
        if relation.raw != now_.raw:
            replaced.append(now_)
            relations.append(relation.placed(now_.order))
    return made.exchanging((), entities, replaced, relations)


def _with_lost_keys(made: Graph, before: Graph, after: Graph) -> Graph:
    """`made` with the other keys that the change took from an entity, most often by deleting it, where another one of
    its name has been made since.
    """
    entities: list[EntityLine] = []
    for name, line in before.entities.items():
        then, now = after.entities.get(name), made.entities.get(name)
        if now is None or (then is not None and then.raw == line.raw) or Form.PART in (line.form, now.form):
            continue
        lost, held = set(_other_keys(line)), json.loads(now.raw)
        if then is not None:
            lost.difference_update(json.loads(then.raw))
        if not lost.issubset(held):
            own = {*json.loads(line.raw), *held}.difference(lost.difference(held))
            entities.append(with_other_keys(now, line, own, OTHER_VALUES).placed(now.order, now.also))
    return made.replacing(entities)


def _other_keys(line: EntityLine) -> list[str]:
    """The keys of an entity's record under which none of its name, type and observations is."""
    value = json.loads(line.raw)
    own = {*KIND_KEYS, name_key(value), first_key(value, TYPE_KEYS), observations_key(value)}
    return [key for key in value if key not in own]


def _frame(line: EntityLine) -> bytes:
    """The line without its observations: name, type and the keys that are not ours."""
    return without_observations(line, set(line.own_observations())).raw


def _with(line: EntityLine, source: EntityLine, texts: set[str] | None) -> EntityLine:
    """The line with those observations of the source that it lacks, in their own form; None means all."""
    have = set(line.observations())
    lacking: dict[str, str] = {}
    for one in (source, *source.also):
        for said, raw in items_of(one):
            if said is not None and said not in have and (texts is None or said in texts):
                lacking.setdefault(said, raw)
    return with_items(line, list(lacking.values())) if lacking else line
