"""Show the changes of the memory in the last 30 days: each state that was kept, and what changed between it and the
next. With a name, shows one entity over time, and the day on which each of its facts first appeared.
"""

from __future__ import annotations

import argparse
import os
from typing import Final

from memory_app.commands.memory import locate, open_store
from memory_app.commands.screen.terminal import output, paragraph, safe, say, write_json
from memory_app.commands.upkeep import past, states
from memory_app.commands.upkeep.correction import stored_text
from memory_app.commands.upkeep.differences import Side
from memory_app.graph.graph import Graph
from memory_app.text import counted, shown

EXAMPLES: Final = (
    ("history", "list the states that were kept, and what changed"),
    ("history Ann", "show when each fact about Ann first appeared, and which are gone"),
)


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", type=stored_text, metavar="NAME", help="an entity's name")
    parser.add_argument("--json", action="store_true", help="print one JSON array")


def run(asked: argparse.Namespace) -> int:
    path = locate(asked).path
    with open_store(path, quiet=True) as store:
        present = store.graph()
    if asked.name is not None:
        return _show_entity(path, present, asked.name, as_json=asked.json)
    found = list(past.steps(path, present, say))
    if asked.json:
        write_json(
            [
                {
                    "file": step.generation.path,
                    "time": step.generation.stamp,
                    "command": step.generation.reason or None,
                    "bytes": step.generation.size,
                    **step.difference.as_json("before", "after"),
                }
                for step in found
            ]
        )
        return 0
    out = output()
    if not found:
        out.line(f"There is no history of {safe(path)} yet.")
        return 0
    for step in found:
        one = step.generation
        lost, gained = (_counts(side) for side in (step.difference.first, step.difference.second))
        changes = "; ".join(part for part in (lost and f"gone: {lost}", gained and f"new: {gained}") if part)
        command = f"  {one.reason}" if one.reason else ""
        out.line(f"{states.time_of(one)}  {one.stamp}{out.styled(command, 'bold')}  {changes or 'nothing'}")
    out.line(out.styled(f"each time is that of a change; in {safe(os.path.dirname(found[0].generation.path))}", "dim"))
    return 0


def _counts(side: Side) -> str:
    numbers = (
        (len(side.entities), "entity"),
        (sum(map(len, side.observations.values())), "observation"),
        (len(side.relations), "relation"),
    )
    return ", ".join(counted(number, noun) for number, noun in numbers if number)


def _show_entity(path: str, present: Graph, name: str, *, as_json: bool) -> int:
    """Show an entity over time: states oldest first, each with the time of its content."""
    target = os.path.realpath(path)
    kept = [
        (one.written, graph)
        for one in reversed(past.generations(path))
        if (graph := past.graph_at(one.path)) is not None
    ]
    written = os.stat(target).st_mtime if os.path.exists(target) else 0.0
    first: dict[str, float] = {}
    gone: dict[str, float] = {}
    oldest = kept[0][0] if kept else written
    for when, graph in [*kept, (written, present)]:
        line = graph.entities.get(name)
        texts = [] if line is None else line.observations()
        for text in texts:
            first.setdefault(text, when)
            gone.pop(text, None)
        for text in first.keys() - set(texts):
            gone.setdefault(text, when)
    known = [graph for _, graph in [*kept, (written, present)] if name in graph.entities]
    if not known:
        say(f"No entity is or was named {shown(name)}, as far as the history goes. Try: search")
        return 1
    if as_json:
        write_json(
            [
                {
                    "observation": text,
                    "first": states.when(when),
                    "orEarlier": when == oldest,
                    "goneBy": states.when(gone[text]) if text in gone else None,
                }
                for text, when in first.items()
            ]
        )
        return 0
    out = output()
    line = present.entities.get(name)
    mark = "" if line is not None else "  (no longer in the memory)"
    out.line(out.styled(safe(name), "bold") + f"  {safe((line or known[-1].entities[name]).entity_type)}{mark}")
    for text, when in first.items():
        day = states.when(when)[:10] + (" or earlier" if when == oldest else "")
        end = f", gone by {states.when(gone[text])[:10]}" if text in gone else ""
        out.line(paragraph(text, "    ", "  - ") + out.styled(f"  since {day}{end}", "dim"))
    return 0
