"""Bring back what a change removed: entities, observations, relations. What was added since stays. Without a number,
the last change is undone. An undo is itself a change, so a second undo reverses the first. Changes of the last 30 days
can be undone if they removed something (see `help correcting`).
"""

from __future__ import annotations

import argparse
import os
from typing import Any, Final

from memory_app.commands.memory import apply_change, open_store, refuse_read_only, require_past
from memory_app.commands.screen.terminal import output, safe, say, write_json
from memory_app.commands.upkeep import past, states
from memory_app.commands.upkeep.differences import Difference
from memory_app.commands.upkeep.past import Step
from memory_app.graph.graph import Graph
from memory_app.storage import history

EXAMPLES: Final = (
    ("undo", "bring back what the last change removed"),
    ("undo --list", "show the changes that can be undone, with their numbers"),
    ("undo 3 --dry-run", "show what undoing the third newest would change"),
)


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("which", nargs="?", default="1", metavar="N", help="a number or time from --list (default: 1)")
    parser.add_argument("--list", action="store_true", help="list the changes; undo none")
    parser.add_argument("--dry-run", action="store_true", help="show what would change; change nothing")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(asked: argparse.Namespace) -> int:
    path = require_past(asked, writes=not asked.dry_run and not asked.list).path
    with open_store(path, quiet=True) as store:
        if asked.list:
            return _list(path, store.graph(), as_json=asked.json)
        step = past.choose(asked.which, path, store.graph())
        if not asked.dry_run:
            refuse_read_only(path)
        stamp = os.path.basename(step.generation.path)

        def change(graph: Graph) -> tuple[Graph, Difference]:
            # Found again: later changes of others belong to their own steps.
            after = past.choose(stamp, path, graph).undo(graph)
            return after, Difference.between(graph, after)

        known = _undos(path)
        done = change(store.graph())[1] if asked.dry_run else apply_change(store, change, "undo")
    _tell(step, done, asked, can_be_reversed=not _undos(path) <= known)
    return 0


def _undos(path: str) -> set[str]:
    """The states that were kept before an undo."""
    return {one.path for one in history.generations(os.path.realpath(path)) if one.reason == "undo"}


def _tell(step: Step, done: Difference, asked: argparse.Namespace, *, can_be_reversed: bool) -> None:
    if asked.json:
        write_json({"change": _as_json(step), "dryRun": asked.dry_run, **done.as_json("removed", "restored")})
        return
    out = output()
    when = states.when(step.generation.seconds)
    if done.is_empty:
        out.line(f"There is nothing to bring back: everything that the change of {when} removed is there.")
        return
    out.line(f"{'Undoing' if asked.dry_run else 'Undid'} {_what(step)} of {when}:")
    would = "would " if asked.dry_run else ""
    done.show(out, f"{would}go" if would else "gone", f"{would}come back" if would else "back")
    if not asked.dry_run:
        say(
            "To reverse this: undo"
            if can_be_reversed
            else "This cannot be reversed: the memory as it was before was not kept."
        )


def _list(path: str, present: Graph, *, as_json: bool) -> int:
    found = list(past.undoable(path, present, say))
    if as_json:
        write_json([_as_json(step) for step in found])
        return 0
    out = output()
    if not found:
        out.line(f"The history of {safe(path)} contains no change that can be undone.")
    for step in found:
        when = states.time_of(step.generation)
        out.line(f"{step.number:>3}  {when}  {out.styled(_what(step), 'bold')}")
        title = "it added" if step.generation.reason else "added since"
        step.difference.show(out, "it took away", title)
    return 0


def _what(step: Step) -> str:
    return f"the {step.generation.reason}" if step.generation.reason else "the change"


def _as_json(step: Step) -> dict[str, Any]:
    one = step.generation
    return {
        "number": step.number,
        "time": one.stamp,
        "command": one.reason or None,
        **step.difference.as_json("before", "after"),
    }
