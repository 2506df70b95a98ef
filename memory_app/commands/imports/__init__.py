"""Import formats: other formats read back.

Each module is a function from a text to the records in it; none does any input or output. What cannot be imported is
reported by its kind, never by its text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from memory_app.jsonl.document import Contents
from memory_app.jsonl.records import Line, new_entity, new_relation
from memory_app.text import clean

MARKDOWN: Final = (".md", ".markdown")


class NotRead(ValueError):
    """The file is not what its name or beginning says. The text tells people why."""


class Read(NamedTuple):
    """The records found, and the kinds of what could not be imported, with their numbers."""

    contents: Contents
    left: Counter[str]


class Gathered:
    """Entities and relations in the order of their appearance. A repeated entity gets the new observations."""

    def __init__(self) -> None:
        self.left: Counter[str] = Counter()
        self._entities: dict[str, tuple[str, list[str]]] = {}
        self._relations: dict[tuple[str, str, str], None] = {}

    def entity(self, name: str, entity_type: str, observations: Sequence[str] = ()) -> None:
        name = clean(name)
        known_type, known = self._entities.get(name, ("", []))
        self._entities[name] = (known_type or clean(entity_type), [*known, *map(clean, observations)])

    def observation(self, name: str, entity_type: str, text: str) -> None:
        name = clean(name)
        if name not in self._entities:
            self._entities[name] = (clean(entity_type), [])
        self._entities[name][1].append(clean(text))

    def relation(self, source: str, target: str, relation_type: str) -> None:
        self._relations[clean(source), clean(target), clean(relation_type)] = None

    def read(self) -> Read:
        lines: list[Line] = [new_entity(name, kind, texts) for name, (kind, texts) in self._entities.items()]
        lines += [new_relation(*relation) for relation in self._relations]
        return Read(Contents((), tuple(lines), (), False, ()), self.left)


def decoded(data: bytes) -> str:
    """The text of a file: UTF-8, or UTF-16 with a byte order mark."""
    try:
        return data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeError as error:
        raise NotRead("it is not in UTF-8") from error


def form_of(name: str, data: bytes) -> str | None:
    """`csv` or `markdown`, by the file's ending or by its beginning; None for a memory in one of JSON's shapes."""
    lower = name.lower()
    if lower.endswith(".csv"):
        return "csv"
    if lower.endswith(MARKDOWN):
        return "markdown"
    start = data.removeprefix(b"\xef\xbb\xbf")
    if start.startswith((b"kind,name,", b"kind;name;", b"kind\tname\t")):
        return "csv"
    return "markdown" if start.startswith((b"# ", b"## ", b"---\n", b"---\r\n")) else None
