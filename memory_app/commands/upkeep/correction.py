"""A correction by hand: one locked change, and a report of what it changed. For add, rename, edit, forget,
merge-entities.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence

from memory_app.commands.memory import apply_change, locate, no_memory, open_store, refuse_read_only
from memory_app.commands.screen.terminal import output, say, write_json
from memory_app.commands.upkeep.differences import Difference
from memory_app.errors import GraphError, UsageError
from memory_app.graph.graph import Graph
from memory_app.text import SURROGATE, fold, shown


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="show what would change; change nothing")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def correct(asked: argparse.Namespace, command: str, change: Callable[[Graph], Graph]) -> int:
    """Make the change, or only report what it would do; return the exit status. A change that breaks a rule changes
    nothing.
    """
    location = locate(asked, writes=not asked.dry_run)
    path = location.path

    def apply(graph: Graph) -> tuple[Graph, Difference]:
        after = change(graph)
        return after, Difference.between(graph, after)

    with open_store(path, quiet=True) as store:
        try:
            if asked.dry_run:
                difference = apply(store.graph())[1]
            else:
                refuse_read_only(path)
                difference = apply_change(store, apply, command)
        except GraphError as error:
            if "not found" not in str(error):
                raise UsageError(str(error)) from error
            if not os.path.exists(path):
                say(f"memory-server: {no_memory(location)}")
                return 1
            say(f"memory-server: {shown(str(error))}.{suggestion(store.graph(), str(error))}")
            return 1
    if asked.json:
        write_json({"dryRun": asked.dry_run, **difference.as_json("removed", "added")})
        return 0
    out = output()
    if difference.is_empty:
        out.line("Nothing to change: the memory is already like this.")
        return 0
    out.line("This would change:" if asked.dry_run else "Changed:")
    difference.show(out, "gone", "new")
    return 0


def stored_text(argument: str) -> str:
    """The text of an argument that will be stored, for argparse. Bytes that the locale could not decode are read as
    UTF-8.
    """
    if not SURROGATE.search(argument):
        return argument
    try:
        return os.fsencode(argument).decode()
    except UnicodeError:
        raise argparse.ArgumentTypeError("it is not valid UTF-8") from None


def expect_all(missing: Sequence[str]) -> None:
    """GraphError that names the first missing entity, if one is missing."""
    if missing:
        raise GraphError(f"Entity with name {missing[0]} not found")


def suggestion(graph: Graph, text: str) -> str:
    """A hint at the stored name most similar to the one in `Entity with name X not found`."""
    from difflib import get_close_matches

    name = text.removeprefix("Entity with name ").removesuffix(" not found")
    folded = {fold(other): other for other in graph.entities}
    near = get_close_matches(fold(name), folded, 1)
    return f" Did you mean {shown(folded[near[0]])}?" if near else " Try: search"
