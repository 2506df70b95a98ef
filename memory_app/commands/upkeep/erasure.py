"""Erasing entities from every file beside a memory: its history, its backups, and what else carries its name.

Each file that holds them is written anew without them, whole and synced, with its owner, mode and time, or left as it
was. Then all are searched for the words that went, so that what is left elsewhere can be named.
"""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from memory_app.commands.memory import read_whole
from memory_app.disk import calls, whole
from memory_app.errors import StoreError
from memory_app.graph import changes
from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from memory_app.jsonl.records import encode
from memory_app.storage import history
from memory_app.text import shown


class Erased(NamedTuple):
    """`holders` are the files beside the memory that hold or held an entity, `left` those that still hold words of it;
    `texts` are these words: names and observations. `present`: the memory itself holds one."""

    holders: list[str]
    left: list[str]
    texts: frozenset[str]
    present: bool


def found(path: str, folder: str | None, names: frozenset[str], present: Graph) -> Erased:
    """Where the entities are. Nothing is changed."""
    texts = set(names)
    texts.update(_texts(present, names))
    holders = []
    for file in _files(path, folder):
        graph = _graph(file)
        if graph is not None and _holds(graph, names):
            holders.append(file)
            texts.update(_texts(graph, names))
    return Erased(holders, [], frozenset(texts), _holds(present, names))


def erase(path: str, folder: str | None, names: frozenset[str], texts: frozenset[str]) -> Erased:
    """Erase them from every file but the memory itself. StoreError if one cannot be written; those before it are."""
    holders = []
    for file in _files(path, folder):
        graph = _graph(file)
        if graph is None or not _holds(graph, names):
            continue
        texts |= _texts(graph, names)
        try:
            written = calls.lstat(file).st_mtime_ns
            whole.write_over(file, changes.delete_entities(graph, list(names))[0].chunks())
            if written % 1_000_000_000 == 0:  # the mark of a finished backup
                calls.set_time(file, written // 1_000_000_000)
        except OSError as error:
            raise StoreError(
                f"{shown(file)} could not be written: {error.strerror or error}. It still holds what should go."
            ) from error
        holders.append(file)
    words = [word for text in texts for word in {text.encode(), encode(text)[1:-1]} if len(word) > 2]
    left = []
    for file in [os.path.realpath(path), *_files(path, folder)]:
        data = _bytes(file)
        if data is not None and any(word in data for word in words):
            left.append(file)
    return Erased(holders, left, texts, False)


def _files(path: str, folder: str | None) -> list[str]:
    """Every file that carries the memory's name, beside it, in its history and in a folder of backups, but itself."""
    real = os.path.realpath(path)
    beside, name = os.path.split(real)
    found = []
    for place, start in ((beside, f"{name}."), (history.folder_of(real), ""), (folder or "", f"{name}.")):
        try:
            entries = sorted(os.listdir(place)) if place else []
        except OSError:
            continue
        found += [os.path.join(place, entry) for entry in entries if entry.startswith(start) and entry != ".gitignore"]
    return [file for file in dict.fromkeys(found) if _is_file(file)]


def _is_file(path: str) -> bool:
    try:
        return stat.S_ISREG(calls.lstat(path).st_mode)
    except OSError:
        return False


def _bytes(path: str) -> bytes | None:
    try:
        return read_whole(path)
    except StoreError:
        return None


def _graph(path: str) -> Graph | None:
    data = _bytes(path)
    try:
        return None if data is None else Graph.of(document.read(data))
    except document.NotAMemory:
        return None


def _holds(graph: Graph, names: frozenset[str]) -> bool:
    return any(name in graph.entities or name in graph.touching for name in names)


def _texts(graph: Graph, names: frozenset[str]) -> frozenset[str]:
    """What the entities say: their names and observations. Types are words of everybody."""
    return frozenset(
        text for name in names if name in graph.entities for text in (name, *graph.entities[name].observations())
    )
