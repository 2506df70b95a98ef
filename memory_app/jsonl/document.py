"""A whole memory file: its records, the lines that are kept as they are, and what had to be tolerated.

Rules:

- Lines that are no records of ours stay byte for byte: those before the first record in front, the others at the end.
- A file whose shape as a whole is another one (one JSON document, an array of records, UTF-16) is understood; it comes
  back as `foreign`, so that it is copied before the first write turns it into lines of ours.
- A file with content but without one readable record, the beginning of one, or a known marker line is something else.

No I/O. What is said of a file holds line numbers and counts, never contents.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

from memory_app.errors import MemoryServerError
from memory_app.jsonl.lines import OWN_MARKER, from_value, read_other_form, read_own_form, split_lines
from memory_app.jsonl.notices import Notice
from memory_app.jsonl.parser import parse, parse_all, skip_space
from memory_app.jsonl.records import SOURCE_KEYS, TARGET_KEYS, EntityLine, Form, Line, observations_key

# First lines by which programs know their own memory files; they hold no facts and stay where they are.
_MARKER: Final = re.compile(rb'\s*\{\s*"_?type"\s*:\s*"_aim"')
_RECORD_START: Final = re.compile(rb'[\s,\xef\xbb\xbf]*\{\s*"_?type"\s*:\s*"(entity|relation)"')
_AROUND: Final = b" \t\r,\xef\xbb\xbf"
_TORN_STARTS: Final = (b'{"type":"entity"', b'{"type":"relation"')
# The lists of a document, and the kind of record that each holds; under which keys programs wrap a document.
_PARTS: Final = {
    "entities": "entity",
    "nodes": "entity",
    "relations": "relation",
    "relationships": "relation",
    "edges": "relation",
}
_WRAPPERS: Final = ("graph", "memory", "knowledgeGraph", "knowledge_graph", "data")
# How a line begins that may hold a document, and how the first of the lines over which one is spread.
_SPREAD_START: Final = re.compile(rb"[\s,\xef\xbb\xbf]*[\[{]\s*$")
_DOCUMENT_START: Final = re.compile(
    rb'[\s,\xef\xbb\xbf]*(?:\[|\{\s*"(?:entities|nodes|relations|relationships|edges|version|'
    + "|".join(_WRAPPERS).encode()
    + rb')"\s*:)'
)

# A key as it stands in UTF-8; in UTF-16 and UTF-32 there is a zero byte beside each of these characters.
_NARROW: Final = re.compile(rb'"[A-Za-z_]{2,}" ?:')
_UTF16_AND_32: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (b"{\0\0\0", "utf-32-le"),
    (b"{\0", "utf-16-le"),
    (b"[\0", "utf-16-le"),
    (b"\0{", "utf-16-be"),
    (b"\0[", "utf-16-be"),
)
_WIDE_STARTS: Final = tuple(start for start, _ in _UTF16_AND_32)


_NULS: Final = bytes(1 << 16)  # a file of nothing else is often a large one: it is told before it is searched


class NotAMemory(MemoryServerError):
    """The file is something else: it is neither served nor written. The store names the file in its error."""


class Contents(NamedTuple):
    """What a file holds: kept lines at the start, records in order, kept lines at the end, and notices of what was
    tolerated.
    """

    head: tuple[bytes, ...]
    lines: tuple[Line, ...]
    tail: tuple[bytes, ...]
    foreign: bool
    notices: tuple[Notice, ...]


def read(data: bytes, known: Mapping[bytes, Line] | None = None) -> Contents:
    """Read all that a file's bytes hold. `known` maps the bytes of lines that were read before to their records: these
    lines are not parsed again.

    NotAMemory if the file is something else.
    """
    if data and all(_NULS.startswith(data[at : at + len(_NULS)]) for at in range(0, len(data), len(_NULS))):
        raise NotAMemory("it holds nothing but NUL bytes, as a file may after a power cut")
    wide = _recoded(data)
    if wide is not None:
        try:
            return read(wide)._replace(foreign=True)
        except NotAMemory:
            pass  # or lines of ours, of which the first is damaged
    contents = _read_lines(data, known or {})
    kept = (*contents.head, *contents.tail)
    spread = any(map(_SPREAD_START.match, kept))
    whole = (spread or bool(contents.head) or contents.foreign) and _is_one_value(data)
    if contents.lines and not spread and not whole:
        return contents
    if not data.strip(_AROUND + b"\n"):
        return contents
    other = _read_document(data)
    # Records that stand in lines keep their bytes, unless a document over several lines has more beside them.
    if other is not None and len(other.lines) >= len(contents.lines) + (bool(contents.lines) and not whole):
        return other
    if contents.lines or any(map(_is_ours, kept)) or (len(kept) == 1 and _is_torn(kept[0])):
        return contents
    if any(line.strip(_AROUND) == OWN_MARKER for line in data.split(b"\n")):
        return contents
    raise NotAMemory("it holds something, but no entity and no relation that could be read")


def reads_as_memory(data: bytes) -> bool:
    """Whether a file with these bytes is a memory, in any of the shapes that are understood."""
    try:
        read(data)
    except NotAMemory:
        return False
    return True


def _recoded(data: bytes) -> bytes | None:
    if not data.startswith(_WIDE_STARTS):
        return None
    if _NARROW.search(data):
        return None  # lines of ours below UTF-16 ones: read as a whole, they would come out as nonsense
    for start, encoding in _UTF16_AND_32:
        if data.startswith(start):
            try:
                return data.decode(encoding).encode()
            except UnicodeError:
                return None
    return None


def _read_lines(data: bytes, known: Mapping[bytes, Line]) -> Contents:
    head: list[bytes] = []
    tail: list[bytes] = []
    lines: list[Line] = []
    kept_at: list[int] = []
    several_at: list[int] = []
    divided = False
    documents_at: list[int] = []
    has_other_forms = bool(known)
    for number, (raw, line) in enumerate(chain.from_iterable(_in_pieces(data, known)), 1):
        if line is not None:
            lines.append(line)
            continue
        found = read_other_form(raw)
        has_other_forms = has_other_forms or bool(found)
        if len(found) > 1:
            several_at.append(number)
        for piece in found:
            if not isinstance(piece, bytes):
                lines.append(piece)
            elif piece.strip(_AROUND) == OWN_MARKER:
                divided = True
            elif _DOCUMENT_START.match(piece) and (records := _records_of(piece)):
                lines += [one for one in records if not isinstance(one, bytes)]
                tail += [one for one in records if isinstance(one, bytes)]
                documents_at.append(number)
            else:
                (tail if lines or divided else head).append(piece)
                if not _MARKER.match(piece):  # it is in its place
                    kept_at.append(number)
    lines, orphans = _without_orphans(lines) if has_other_forms else (lines, [])
    tail += orphans
    while head and head[0].startswith(codecs.BOM_UTF8):
        head[0] = head[0].removeprefix(codecs.BOM_UTF8)
    notices = []
    if kept_at:
        notices.append(Notice("is no record that can be read; it is kept as it is", _distinct(kept_at)))
    if orphans:
        what = f"observations without their entity: {len(orphans)} records; they are kept as they are"
        notices.append(Notice(what))
    if documents_at:
        notices.append(Notice("holds a document of several records; each is read", _distinct(documents_at)))
    if several_at:
        notices.append(Notice("holds more than one record; each is read", _distinct(several_at)))
    return Contents(tuple(head), tuple(lines), tuple(tail), bool(documents_at), tuple(notices))


def _in_pieces(data: bytes, known: Mapping[bytes, Line]) -> Iterator[Iterable[tuple[bytes, Line | None]]]:
    """Each line with its record, if it is known or in our own form."""
    texts: dict[str, str] = {}
    for piece in split_lines(data):
        if known:
            yield [(line, known.get(line) or read_own_form([line], texts)[0]) for line in piece]
        else:
            yield zip(piece, read_own_form(piece, texts), strict=True)


def _without_orphans(lines: list[Line]) -> tuple[list[Line], list[bytes]]:
    """Split off the observation lines whose entity no line defines. They are returned as they are in the file."""
    parts = {line.name for line in lines if isinstance(line, EntityLine) and line.form is Form.PART}
    if not parts:
        return lines, []
    parts.difference_update(line.name for line in lines if isinstance(line, EntityLine) and line.form is not Form.PART)
    kept: list[Line] = []
    orphans: list[bytes] = []
    for line in lines:
        if isinstance(line, EntityLine) and line.form is Form.PART and line.name in parts:
            orphans.append(line.raw)
        else:
            kept.append(line)
    return kept, orphans


def _records_of(line: bytes) -> list[Line | bytes] | None:
    """The records of a document that is on one line; None if it is no document or has no record."""
    try:
        value = parse_all(line.decode().lstrip("\ufeff").strip(" \t\r,"))
        found = list(_expand(value)) if isinstance(value, list) or _is_document(value) or _inside(value) else []
    except (ValueError, RecursionError):
        return None
    records = [one for one in found if not isinstance(one, bytes)]
    return found if records and not _is_of_another_program([value], records) else None


def _distinct(numbers: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(set(numbers)))


def _is_ours(line: bytes) -> bool:
    """Whether this is a known marker, or a record that cannot be read."""
    return bool(_MARKER.match(line) or _RECORD_START.match(line))


def _is_torn(line: bytes) -> bool:
    """Whether this is the beginning of a record."""
    stripped = line.strip(_AROUND)
    return len(stripped) > len(b'{"type"') and any(start.startswith(stripped) for start in _TORN_STARTS)


def _is_one_value(data: bytes) -> bool:
    """Whether the whole file is one JSON array or object, although some of its lines can be read as records."""
    try:
        return isinstance(parse_all(data.decode().lstrip("\ufeff")), dict | list)
    except ValueError:
        return False


def _read_document(data: bytes) -> Contents | None:
    """The records of a file that is one JSON document, an array, or objects over several lines; None if it is none of
    these.
    """
    try:
        values = list(_values(data.decode().lstrip("\ufeff")))
        pieces = [piece for value in values for piece in _expand(value)]
    except (ValueError, RecursionError):
        return None
    records, orphans = _without_orphans([piece for piece in pieces if not isinstance(piece, bytes)])
    lines = tuple(records)
    if lines and _is_of_another_program(values, lines):
        return None
    if not lines and not all(map(_is_empty, values)):
        return None
    kept = (*(piece for piece in pieces if isinstance(piece, bytes)), *orphans)
    if not pieces and all(value in ({}, []) for value in values):
        return Contents((), (), (), False, ())
    what = f"it is not in lines; records read from its other shape: {len(lines)}"
    if kept:
        what += f"; items that are no records and are kept: {len(kept)}"
    return Contents((), lines, kept, True, (Notice(what),))


def _values(text: str) -> Iterator[Any]:
    if text.lstrip(" \t\r\n")[:1] not in ("{", "["):
        raise ValueError("not an object or array")
    try:
        yield parse_all(text)
        return
    except ValueError:
        position = skip_space(text, 0)
    while position < len(text):
        value, end = parse(text, position)
        yield value
        position = skip_space(text, end)
        if text[position : position + 1] == ",":
            position = skip_space(text, position + 1)


def _is_of_another_program(values: Sequence[Any], lines: Sequence[Line]) -> bool:
    """Whether a document only looks like ours: its entities have no observation, type or relation, but other keys."""
    if any(not isinstance(line, EntityLine) or line.entity_type or line.own_observations() for line in lines):
        return False
    ours = {*_PARTS, *_WRAPPERS, "name", "type", "entityType", "observations"}
    return any(isinstance(value, dict) and (set(value) - ours or _has_other_keys(value, ours)) for value in values)


def _has_other_keys(document: dict[str, Any], ours: Collection[str]) -> bool:
    items = document.get("entities", document.get("nodes"))
    return isinstance(items, list) and any(isinstance(item, dict) and set(item) - set(ours) for item in items)


def _is_document(value: Any) -> bool:
    return isinstance(value, dict) and any(isinstance(value.get(key), list | dict) for key in _PARTS)


def _inside(value: Any) -> str | None:
    """The key of the wrapper that contains the document."""
    if not isinstance(value, dict) or _is_document(value):
        return None
    return next((key for key in _WRAPPERS if _is_document(value.get(key))), None)


def _is_empty(value: Any) -> bool:
    """Whether this is a document of our kind without any item. If it has other keys, it must have lists of both
    kinds.
    """
    if value in ({}, []):
        return True
    inside = _inside(value)
    if inside is not None:
        return len(value) == 1 and _is_empty(value[inside])
    if not _is_document(value) or any(value.get(key) for key in _PARTS):
        return False
    return len(value) == 1 or {kind for key, kind in _PARTS.items() if key in value} == set(_PARTS.values())


def _expand(value: Any) -> Iterator[Line | bytes]:
    """The records of a value, and the other things that it holds."""
    inside = _inside(value)
    if isinstance(value, list):
        for item in value:
            yield from _expand(item) if isinstance(item, list) or _is_document(item) else (from_value(item, None),)
    elif inside is not None:
        yield from _expand(value[inside])
        yield from _rest(value, (inside,))
    elif _is_document(value):
        parts = {key: kind for key, kind in _PARTS.items() if key in value}
        names = _names_by_id(value)
        for key, kind in parts.items():
            for item in _items(value[key]):
                yield from_value(_with_names(item, names) if kind == "relation" else _flat(item), kind)
        yield from _rest(value, parts)
    elif value:
        yield from_value(value, None)


def _items(part: Any) -> list[Any]:
    """The items of one part of a document: a list, an object keyed by name, or one keyed by type and name."""
    if isinstance(part, list):
        return part
    if not isinstance(part, dict):
        return [] if part is None else [part]
    if part and all(isinstance(group, dict) and _is_group(group) for group in part.values()):
        return [
            {"name": name, "entityType": kind, **item} for kind, group in part.items() for name, item in group.items()
        ]
    return [{"name": name, **item} if isinstance(item, dict) else item for name, item in part.items()]


def _is_group(group: dict[str, Any]) -> bool:
    """Whether these are entities keyed by name, and not one entity."""
    return bool(group) and all(isinstance(item, dict) for item in group.values()) and "properties" not in group


def _flat(item: Any) -> Any:
    """An entity with the observations from its properties, if it has none elsewhere."""
    if isinstance(item, dict) and observations_key(item) is None and isinstance(item.get("properties"), dict):
        key = observations_key(item["properties"])
        if key is not None:
            return {**item, "observations": item["properties"][key]}
    return item


def _names_by_id(document: dict[str, Any]) -> dict[Any, str]:
    """The names of a document's entities, by the ids that its relations may use."""
    found: dict[Any, str] = {}
    for part in ("entities", "nodes"):
        for item in _items(document.get(part)):
            name = item.get("name", item.get("label")) if isinstance(item, dict) else None
            if isinstance(name, str) and isinstance(item.get("id"), (str, int)):
                found[item["id"]] = name
    return found


def _with_names(item: Any, names: Mapping[Any, str]) -> Any:
    """A relation with names in place of ids."""
    if not isinstance(item, dict) or not names:
        return item
    ends = {
        key: names[item[key]]
        for key in (*SOURCE_KEYS, *TARGET_KEYS)
        if isinstance(item.get(key), (str, int)) and item[key] in names
    }
    return {**item, **ends}


def _rest(value: dict[str, Any], taken: Collection[str]) -> Iterator[Line | bytes]:
    rest = {key: item for key, item in value.items() if key not in taken}
    if rest:
        yield from_value(rest, None)  # a record, if it would be read as one once it is a line
