"""Erasing entities from every file beside a memory: its history, its backups, and other files that carry its name.

Each file that contains them is rewritten without them, whole and synced, with its owner, mode and time, or left
unchanged. Then all files are searched for the erased words, so that the remaining places can be named. A name is found
however it is written: with JSON's escapes, in another encoding, in another normal form of Unicode.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple

from memory_app.commands.memory import read_whole
from memory_app.commands.upkeep.leftovers import conflict_copies
from memory_app.disk import calls, whole
from memory_app.errors import StoreError
from memory_app.graph import changes
from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from memory_app.storage import history
from memory_app.text import shown

_SECOND: Final = 1_000_000_000
_SHORTEST: Final = 2
"""Bytes of a text up to which it is not searched for: it would be found everywhere."""

_NESTED: Final = 2
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_MEANT: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


class Erased(NamedTuple):
    """`holders` are the files beside the memory that contain or contained an entity, `left` the files that still
    contain words of it. `texts` are these words: names and observations. `present`: the memory itself contains one.
    """

    holders: list[str]
    left: list[str]
    texts: frozenset[str]
    present: bool


def found(path: str, folder: str | None, names: frozenset[str], present: Graph) -> Erased:
    """The files that contain the entities. Nothing is changed."""
    texts = set(names)
    texts.update(_texts(present, names))
    holders = []
    for file in _files(path, folder):
        graph = _graph(file)
        if graph is not None and names_in(graph, names):
            holders.append(file)
            texts.update(_texts(graph, names))
    return Erased(holders, [], frozenset(texts), bool(names_in(present, names)))


def names_in(graph: Graph, names: frozenset[str]) -> list[str]:
    """The names as the graph has them, of entities and of ends of relations."""
    wanted = frozenset(map(_normal, names))
    return [name for name in dict.fromkeys([*graph.entities, *graph.touching]) if _normal(name) in wanted]


def erase(path: str, folder: str | None, names: frozenset[str], texts: frozenset[str]) -> Erased:
    """Erase the entities from every file except the memory itself. StoreError if a file cannot be written; the files
    before it are done.
    """
    holders = []
    for file in _files(path, folder):
        graph = _graph(file)
        there = [] if graph is None else names_in(graph, names)
        if graph is None or not there:
            continue
        texts |= _texts(graph, names)
        try:
            written = calls.lstat(file).st_mtime_ns
            whole.write_over(file, changes.delete_entities(graph, there)[0].chunks())
            # The time marks a finished backup, and tells the history when a fact first appeared.
            if written % _SECOND == 0 or os.path.dirname(file) == history.folder_of(os.path.realpath(path)):
                calls.set_time(file, written // _SECOND)
        except OSError as error:
            raise StoreError(
                f"{shown(file)} could not be written: {error.strerror or error}. It still contains the erased entities."
            ) from error
        holders.append(file)
    words = [_normal(text) for text in texts if len(text.encode("utf-8", "replace")) > _SHORTEST]
    left = []
    for file in [os.path.realpath(path), *_files(path, folder), *_copies(path)]:
        data = _bytes(file)
        if data is not None and any(word in text for text in _readings(data) for word in words):
            left.append(file)
    return Erased(holders, left, texts, False)


def _files(path: str, folder: str | None) -> list[str]:
    """Every file with the memory's name except the memory itself: beside it, in its history and in a folder of
    backups.
    """
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


def _copies(path: str) -> list[str]:
    """Other files beside the memory that may well be copies of it, of editors and sync services. They are not ours to
    change.
    """
    beside, name = os.path.split(os.path.realpath(path))
    try:
        entries = sorted(os.listdir(beside))
    except OSError:
        return []
    stem = os.path.splitext(name)[0]
    conflicts = frozenset(conflict_copies(name, entries))
    copies = [
        os.path.join(beside, entry)
        for entry in entries
        if entry in conflicts or entry.startswith((f"{stem}.", f"{name}~", f"{name}-", f".{name}", f"#{name}"))
    ]
    known = {os.path.realpath(path), *_files(path, None)}
    return [file for file in copies if file not in known and _is_file(file)]


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


def _texts(graph: Graph, names: frozenset[str]) -> frozenset[str]:
    """The names and observations of the entities. Types are left out, because others use the same words."""
    there = [name for name in names_in(graph, names) if name in graph.entities]
    return frozenset(text for name in there for text in (name, *graph.entities[name].observations()))


def _readings(data: bytes) -> Iterator[str]:
    """The text as it is, and with escapes resolved: once as in JSON, and again as in JSON inside a JSON string."""
    text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", "replace")
    yield _normal(text)
    for _ in range(_NESTED):
        plain = _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else _MEANT.get(match[2], match[2]), text)
        if plain == text:
            return
        text = plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        yield _normal(text)


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", text)
