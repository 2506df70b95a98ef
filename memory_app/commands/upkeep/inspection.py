"""Everything odd in the bytes of a memory file, with line numbers. Changes nothing, does no I/O.

A line is read as the store reads it, so that the report matches what the server does with it.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from memory_app.commands.upkeep.findings import Finding
from memory_app.commands.upkeep.likeness import alike
from memory_app.commands.upkeep.mending import OTHER_VALUES, distinct
from memory_app.jsonl import document
from memory_app.jsonl.lines import read_line
from memory_app.jsonl.parser import NotTaken, parse
from memory_app.jsonl.records import (
    KIND_KEYS,
    OWNER_KEYS,
    RELATION_KEYS,
    SOURCE_KEYS,
    TARGET_KEYS,
    TYPE_KEYS,
    EntityLine,
    Form,
    Line,
    RelationLine,
    first_key,
    listed,
    name_key,
    new_relation,
    observation_text,
    observations_key,
)

_BLANK: Final = b" \t\r"
_ENTITY_KEYS: Final = frozenset({"type", "name", "entityType", "observations"})
_RELATION_KEYS: Final = frozenset({"type", "from", "to", "relationType"})
_PART_KEYS: Final = frozenset({"type", *OWNER_KEYS})
_MARKERS: Final = ("_aim", "_memory")
"""Records by which programs know their files; they are in their place."""

Tracker = Callable[[list[bytes], str], Iterable[bytes]]


class Counts(NamedTuple):
    """`entities` and `relations` count each item once, however often it occurs."""

    entities: int = 0
    observations: int = 0
    relations: int = 0
    lines: int = 0
    bytes: int = 0


class Inspection(NamedTuple):
    counts: Counts
    findings: list[Finding]


def inspect(data: bytes, tracker: Tracker) -> Inspection:
    """The contents of a memory file, and its oddities. `tracker` receives the lines to be worked on."""
    try:
        contents = document.read(data)
    except document.NotAMemory as error:
        return Inspection(Counts(0, 0, 0, _count_lines(data), len(data)), [Finding("not-a-memory", f"{error}")])
    reader = _Reader()
    if contents.foreign:
        reader.foreign(data, contents, tracker)
    else:
        reader.lines(data, tracker)
    counts = Counts(len(reader.entities), reader.observations, len(reader.relations), _count_lines(data), len(data))
    return Inspection(counts, reader.findings + reader.of_the_graph())


class _Reader:
    """Reads a file's records, once, and remembers the line of each."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.entities: dict[str, list[int]] = {}
        self.relations: dict[tuple[str, str, str], list[int]] = {}
        self.observations = 0
        self._unknown_keys: dict[str, list[int]] = {}
        self._objects: list[int] = []

    def lines(self, data: bytes, tracker: Tracker) -> None:
        raws = data.split(b"\n")
        ended = not raws[-1]
        if ended:
            raws.pop()
        if data.startswith(codecs.BOM_UTF8):
            self.findings.append(Finding("byte-order-mark", "the file begins with one", (1,)))
            raws[0] = raws[0].removeprefix(codecs.BOM_UTF8)
        returns: list[int] = []
        blank: list[int] = []
        for number, raw in enumerate(tracker(raws, "Checking"), 1):
            if raw.endswith(b"\r"):
                returns.append(number)
            if not raw.strip(_BLANK):
                blank.append(number)
                continue
            self._line(number, raw, last=number == len(raws) and not ended)
        if returns:
            self.findings.append(Finding("line-ends", "CR LF at the end, as Windows programs write it", tuple(returns)))
        if blank:
            self.findings.append(Finding("line-ends", "blank", tuple(blank)))
        self._tell_keys()

    def foreign(self, data: bytes, contents: document.Contents, tracker: Tracker) -> None:
        wide = data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) or b"\0" in data[:4]
        what = "its characters are UTF-16 or UTF-32" if wide else "it is one JSON document, not a record a line"
        self.findings.append(Finding("foreign-shape", what))
        by_raw = [(line.raw, line) for line in contents.lines]
        for (_, line), _ in zip(by_raw, tracker([raw for raw, _ in by_raw], "Checking"), strict=True):
            self._record(0, line)
        kept = len(contents.head) + len(contents.tail)
        if kept:
            self.findings.append(Finding("unknown-record", f"{kept} items are neither entities nor relations"))
        self._tell_keys()

    def of_the_graph(self) -> list[Finding]:
        """Findings that only all records together show."""
        found = [
            Finding("repeated-name", name, _numbers(lines)) for name, lines in self.entities.items() if len(lines) > 1
        ]
        for (source, target, kind), lines in self.relations.items():
            text = f"{source} {kind or '-'} → {target}"
            if len(lines) > 1:
                found.append(Finding("repeated-relation", text, _numbers(lines)))
            missing = [name for name in dict.fromkeys((source, target)) if name not in self.entities]
            if missing:
                found.append(Finding("dangling-relation", f"{text}   (missing: {', '.join(missing)})", _numbers(lines)))
        for names in alike(list(self.entities)):
            at = _numbers([number for name in names for number in self.entities[name][:1]])
            found.append(Finding("near-duplicate", " ~ ".join(map(_visible, names)), at))
        for name, lines in self.entities.items():
            if not any(c.isprintable() and not c.isspace() for c in name):
                found.append(Finding("empty-name", "an entity", _numbers(lines)))
        return found

    def _line(self, number: int, raw: bytes, *, last: bool) -> None:
        pieces = read_line(raw)
        if len(pieces) > 1:
            self.findings.append(Finding("several-records", f"{len(pieces)} on this line", (number,)))
        for place, piece in enumerate(pieces):
            if isinstance(piece, bytes):
                self._other(number, piece, last=last and place == len(pieces) - 1)
            else:
                self._record(number, piece)

    def _other(self, number: int, raw: bytes, *, last: bool) -> None:
        """Record a piece that is not a record of ours."""
        kind, text = judge(raw)
        if kind == "unreadable" and last:
            kind, text = "torn", "it ends before the record does"
        if kind:
            self.findings.append(Finding(kind, text, (number,)))

    def _record(self, number: int, line: Line) -> None:
        if isinstance(line, EntityLine):
            self._entity(number, line)
        else:
            self._relation(number, line)

    def _entity(self, number: int, line: EntityLine) -> None:
        value = parse(line.raw.decode())[0]
        texts = line.own_observations()
        key = observations_key(value)
        items = None if key is None else listed(value[key])
        again = len(texts) - len(distinct(items))
        if again > 0:
            self._find("repeated-observation", f"{again} of {line.name}", number)
        self.observations += len(texts)
        if line.form is Form.PART:
            self._keys(number, value, _PART_KEYS)
            self._find("other-form", "observations in a record of their own", number)
            return
        self.entities.setdefault(line.name, []).append(number)
        if line.form is Form.OURS:
            return
        self._keys(number, value, _ENTITY_KEYS)
        if isinstance(items, list) and any(isinstance(item, dict) for item in items):
            self._objects.append(number)
        right = (
            isinstance(items, list)
            and None not in items
            and all(isinstance(item, str | dict) and observation_text(item) is not None for item in items)
        )
        if not right or value.get("type") != "entity" or not isinstance(value.get("entityType"), str):
            self._find("other-form", _form(value, "entity"), number)

    def _relation(self, number: int, line: RelationLine) -> None:
        self.relations.setdefault((line.source, line.target, line.relation_type), []).append(number)
        if line.raw == new_relation(line.source, line.target, line.relation_type).raw:
            return
        value = parse(line.raw.decode())[0]
        self._keys(number, value, _RELATION_KEYS)
        if value.get("type") != "relation" or not all(
            isinstance(value.get(key), str) for key in ("from", "to", "relationType")
        ):
            self._find("other-form", _form(value, "relation"), number)

    def _keys(self, number: int, value: dict[str, Any], ours: frozenset[str]) -> None:
        spelled = (SOURCE_KEYS, TARGET_KEYS, RELATION_KEYS) if ours is _RELATION_KEYS else (TYPE_KEYS,)
        understood = {first_key(value, keys) for keys in (KIND_KEYS, *spelled)}
        if ours is not _RELATION_KEYS:
            understood |= {observations_key(value), name_key(value)}
        for key in value:
            if key not in ours and key not in understood and key != OTHER_VALUES:
                self._unknown_keys.setdefault(key, []).append(number)

    def _tell_keys(self) -> None:
        for key, lines in self._unknown_keys.items():
            self.findings.append(Finding("unknown-keys", key, _numbers(lines)))
        if self._objects:
            self.findings.append(Finding("observation-objects", "{…} instead of a text", _numbers(self._objects)))

    def _find(self, kind: str, text: str, number: int) -> None:
        self.findings.append(Finding(kind, text, _numbers([number])))


def judge(raw: bytes) -> tuple[str, str]:
    """What a line without a record of ours is: its kind of finding, "" for a program's marker, and why."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        return "unreadable", f"not UTF-8 from byte {error.start + 1} on"
    text = text.lstrip("\ufeff \t\r,")
    try:
        value, end = parse(text)
    except NotTaken as error:
        return "unreadable", _reason(error)
    if text[end:].strip(" \t\r,"):
        return "unreadable", f"unexpected text after the record, from column {end + 1} on"
    kind = value.get("type", value.get("_type")) if isinstance(value, dict) else None
    if kind in _MARKERS:
        return "", ""
    if kind in ("entity", "relation"):
        return "unreadable", f"the {kind} lacks a name or an end, or is nested too deeply"
    return "unknown-record", f"of type {kind}" if isinstance(kind, str) else "without a type"


def holds_json(raw: bytes) -> bool:
    """Whether a line without a record of ours begins with a JSON value: another program may be able to read it."""
    try:
        parse(raw.decode().lstrip("\ufeff \t\r,"))
    except ValueError:
        return False
    return True


def _numbers(lines: Iterable[int]) -> tuple[int, ...]:
    """Line numbers, each once; 0 means that there is no line."""
    return tuple(number for number in dict.fromkeys(lines) if number)


def _form(value: dict[str, Any], kind: str) -> str:
    wanted = ("entityType", "observations") if kind == "entity" else ("from", "to", "relationType")
    missing = [key for key in wanted if key not in value]
    if missing:
        return f"{'an entity' if kind == 'entity' else 'a relation'} without {' and '.join(missing)}"
    if value.get("type") != kind:
        return "without the type as we write it"
    return "null, a number or the like instead of a text"


def _reason(error: NotTaken) -> str:
    return f"not JSON: {error.reason}" if error.position is None else f"not JSON from column {error.position + 1} on"


def _count_lines(data: bytes) -> int:
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


def _visible(name: str) -> str:
    """A name with visible blanks: in quotation marks if it begins or ends with a blank, or has two in a row."""
    return name if name == " ".join(name.split()) else f'"{name}"'
