"""The past of a memory: its generations as a list of changes, and any state by the name that people give it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from memory_app.commands.memory import read_whole
from memory_app.commands.upkeep import states
from memory_app.commands.upkeep.differences import Difference
from memory_app.commands.upkeep.recovery import undo_change
from memory_app.errors import StoreError, UsageError
from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from memory_app.storage import history
from memory_app.storage.history import Generation
from memory_app.text import counted, shown

_LOOKED_AT: Final = 32 << 20
"""Bytes of states that are read for a hint: they take a second or two."""


class Step(NamedTuple):
    """A change in the past: the state before it, and the next known one. `number` counts from the newest."""

    number: int
    generation: Generation
    before: Graph
    after: Graph
    difference: Difference

    @property
    def can_be_undone(self) -> bool:
        if self.generation.reason:
            return not self.difference.is_empty
        return any(self.difference.first) or bool(self.difference.types)

    def undo(self, graph: Graph) -> Graph:
        """The graph without this change. For a person's command, what it added is removed again. A tool's change may be
        followed by others without a generation between them, so only what it removed comes back.
        """
        return undo_change(graph, self.before, self.after, both=bool(self.generation.reason))


def generations(path: str) -> list[Generation]:
    """The generations of the memory at `path`, newest first. StoreError if there is a history that cannot be listed."""
    target = os.path.realpath(path)
    try:
        os.listdir(history.folder_of(target))
    except FileNotFoundError:
        return []
    except OSError as error:
        where = shown(history.folder_of(target))
        raise StoreError(f"the history in {where} could not be read: {error.strerror or error}.") from error
    return history.generations(target)


def steps(path: str, present: Graph, tell: Callable[[str], None] = lambda text: None) -> Iterator[Step]:
    """All known changes of the memory at `path`, newest first, each read on demand. `tell` receives a line for each
    state that cannot be read. StoreError as in `generations`.
    """
    after, number = present, 0
    for one in generations(path):
        before = graph_at(one.path)
        if before is None:
            tell(f"memory-server: {shown(one.path)} is skipped: it cannot be read")
            continue
        number += 1
        yield Step(number, one, before, after, Difference.between(before, after))
        after = before


def undoable(path: str, present: Graph, tell: Callable[[str], None] = lambda text: None) -> Iterator[Step]:
    """The changes that can be undone, numbered for `undo`."""
    number = 0
    for step in steps(path, present, tell):
        if step.can_be_undone:
            number += 1
            yield step._replace(number=number)


def choose(which: str, path: str, present: Graph) -> Step:
    """The change with this number or time. UsageError if there is none."""
    number = int(which) if which.isdecimal() and len(which) < 5 else None
    wanted = None if number else states.find_named(which, generations(path))
    count = 0
    for step in undoable(path, present):
        count = step.number
        if number == count or wanted == step.generation:
            return step
    raise UsageError(
        f"there is no such change: the history has {counted(count, 'change')} that can be undone. Try: undo --list"
        if count
        else f"the history of {shown(path)} contains no change that can be undone. "
        "Older states may be in backups: restore --list"
    )


def last_seen(path: str, name: str) -> Generation | None:
    """The newest state of the history that has this entity. Because it is only a hint for people, it reads a limited
    number of bytes.
    """
    left = _LOOKED_AT
    for one in history.generations(os.path.realpath(path)):
        left -= one.size
        if left < 0:
            return None
        graph = graph_at(one.path)
        if graph is not None and name in graph.entities:
            return one
    return None


def graph_at(path: str) -> Graph | None:
    """The graph of a file; None if it is not a memory or cannot be read."""
    try:
        return Graph.of(document.read(read_whole(path)))
    except (StoreError, document.NotAMemory):
        return None
