"""Undo of a change in a graph that has changed since: what the change removed comes back, and newer content stays.

Functions from one snapshot to the next; no input or output. A record that comes back has its former bytes.
"""

from __future__ import annotations

from memory_app.commands.upkeep.differences import Difference, Side
from memory_app.graph import changes
from memory_app.graph.changes import Deletion, RelationKey
from memory_app.graph.corrections import change_type
from memory_app.graph.graph import Graph
from memory_app.jsonl.lines import items_of, with_items, without_observations
from memory_app.jsonl.records import EntityLine, Form, RelationLine


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
    return _with_former_keys(made, graph, before, after) if both else made


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
        parts = (line, then, now, result)
        if any(one.also or one.form is Form.PART for one in parts) or _without_facts(now) != _without_facts(then):
            continue
        gone = set(line.observations()).difference(result.observations())
        was = _with(without_observations(line, gone), result, None)
        if was.raw != result.raw:
            entities.append(was.placed(result.order))
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


def _without_facts(line: EntityLine) -> bytes:
    """The record without its observations: its name, its type and the keys that are not ours."""
    return without_observations(line, set(line.observations())).raw


def _with(line: EntityLine, source: EntityLine, texts: set[str] | None) -> EntityLine:
    """The line with those observations of the source that it lacks, in their own form; None means all."""
    have = set(line.observations())
    lacking: dict[str, str] = {}
    for one in (source, *source.also):
        for said, raw in items_of(one):
            if said is not None and said not in have and (texts is None or said in texts):
                lacking.setdefault(said, raw)
    return with_items(line, list(lacking.values())) if lacking else line
