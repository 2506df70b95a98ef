"""Lines of the memory file and their records: reading, taking a record over from another shape, editing, writing.

Rules: a record keeps the bytes from its `{` to its `}`, and an edit splices only what it changes, so unknown keys and
untouched observations stay to the byte. A line that cannot be read comes back as bytes, to be kept.

No I/O, no clock, no thread.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from memory_app.jsonl.parser import parse, skip_space
from memory_app.jsonl.records import (
    KIND_KEYS,
    RELATION_KEYS,
    SOURCE_KEYS,
    TARGET_KEYS,
    TYPE_KEYS,
    EntityLine,
    Line,
    RelationLine,
    encode,
    first_key,
    listed,
    name_key,
    observation_text,
    observations_key,
    quote,
    record,
)

# A line in our own form whose name, type and ends hold no escape: read several times as fast as by the parser, and
# nothing that the parser would refuse. Groups: name, type; from, to, relation type.
_WORD: Final = r'"([^"\\\x00-\x1f]*)"'
_ITEM: Final = r'"[^"\\\x00-\x1f]*(?:\\["\\/bfnrt][^"\\\x00-\x1f]*)*"'
_OWN_FORM: Final = re.compile(
    rf'\{{"type":"(?:entity","name":{_WORD},"entityType":{_WORD},"observations":\[(?:{_ITEM}(?:,{_ITEM})*)?\]\}}'
    rf'|relation","from":{_WORD},"to":{_WORD},"relationType":{_WORD}\}})'
)
# Our own marker, written only where nothing but lines of others is left: the file is still known as a memory.
OWN_MARKER: Final = b'{"type":"_memory"}'
_BETWEEN_RECORDS: Final = re.compile(r"[ \t\r,\ufeff]*")
_scan_string: Final = json.decoder.scanstring  # type: ignore[attr-defined]


def read_line(line: bytes) -> list[Line | bytes]:
    """The records of one line of a file, in order; what is not a record of ours comes as its bytes. Blank: nothing."""
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return [line]
    own = _OWN_FORM.fullmatch(text)
    if own is not None:
        name, entity_type, source, target, relation_type = own.groups()
        if name is None:
            return [RelationLine(line, source, target, relation_type)]
        return [EntityLine(line, name, entity_type, True)]
    found: list[Line | bytes] = []
    position = _between(text, 0)
    whole = len(line) == len(text)  # ASCII: a place in the text is a place in the bytes
    while position < len(text):
        try:
            value, end = parse(text, position)
        except ValueError:
            found.append(text[position:].encode() if found else line)
            break
        raw = line[position:end] if whole else text[position:end].encode()
        found.append(record(value, raw) or raw)
        position = _between(text, end)
    if all(isinstance(piece, bytes) for piece in found):
        return [line] if found else []
    return found


def from_value(value: Any, kind: str | None) -> Line | bytes:
    """A record in our form from a value of another shape; `kind` is what the place says it is. Bytes if it is none."""
    made = record(value, b"{}", kind)  # no escape in these bytes: lone surrogates stay, to be written as escapes
    if made is None:
        return encode(value)
    body: dict[str, Any]
    if isinstance(made, EntityLine) and made.part:
        raw = encode(value)
        return record(value, raw) or raw
    if isinstance(made, EntityLine):
        key, named = observations_key(value), name_key(value)
        items = None if key is None else listed(value[key])
        kept = items if isinstance(items, list) else [] if items is None else [items]
        name = made.name if named is None else value[named]
        body = {"type": "entity", "name": name, "entityType": made.entity_type, "observations": kept}
        taken = {first_key(value, TYPE_KEYS), key, named}
    else:
        body = {"type": "relation", "from": made.source, "to": made.target, "relationType": made.relation_type}
        taken = {first_key(value, keys) for keys in (SOURCE_KEYS, TARGET_KEYS, RELATION_KEYS)}
    taken.update(KIND_KEYS)
    body |= {key: item for key, item in value.items() if key not in taken and key not in body}
    raw = encode(body)
    return record(body, raw) or encode(value)


def with_observations(line: EntityLine, added: Sequence[str]) -> EntityLine:
    """The record with observations put at its end; every other byte stays."""
    text = _in_our_keys(line)
    items = ",".join(map(quote, added))
    span = _span(text, "observations")
    if span is None:
        end = text.rindex("}")
        raw = f'{text[:end].rstrip()},"observations":[{items}]{text[end:]}'
    else:
        start, end = span
        old = text[start:end]
        if not old.startswith("["):
            raw = f"{text[:start]}[{'' if old == 'null' else old + ','}{items}]{text[end:]}"
        else:
            inside = old[1:-1].rstrip()
            raw = f"{text[:start]}[{inside}{',' if inside.strip() else ''}{items}]{text[end:]}"
    return _edited(line, raw)


def without_observations(line: EntityLine, gone: Collection[str]) -> EntityLine:
    """The record without each observation of these texts; every other item keeps its form."""
    text = line.raw.decode() if line.part else _in_our_keys(line)
    key = observations_key(parse(text)[0]) if line.part else "observations"
    span = _span(text, key)
    if span is None:
        return line
    start, end = span
    if text[start] != "[":
        if observation_text(parse(text, start)[0]) not in gone:
            return line
        return _edited(line, f"{text[:start]}[]{text[end:]}")
    kept, count, position = [], 0, skip_space(text, start + 1)
    while text[position] != "]":
        value, item_end = parse(text, position)
        count += 1
        if observation_text(value) not in gone:
            kept.append(text[position:item_end])
        position = skip_space(text, item_end)
        if text[position] == ",":
            position = skip_space(text, position + 1)
    if len(kept) == count:
        return line
    return _edited(line, f"{text[:start]}[{','.join(kept)}]{text[end:]}")


def chunks(head: Sequence[bytes], records: Iterable[bytes], tail: Sequence[bytes]) -> Iterator[bytes]:
    """The bytes of a file in our form, piece by piece: kept lines, records as pieces of whole lines, kept lines."""
    empty = True
    if head:
        yield _joined(head)
    for piece in records:
        empty = empty and not piece
        yield piece
    kept = (OWN_MARKER, *tail) if empty and (head or tail) else tail
    if kept:
        yield _joined(kept)


def _joined(lines: Iterable[bytes]) -> bytes:
    """The lines, each with its line end."""
    return b"\n".join((*lines, b""))


class _Member(NamedTuple):
    """A key of a record's text and its value: where both stand."""

    key: str
    start: int
    value: int
    end: int


def _members(text: str) -> Iterator[_Member]:
    position = skip_space(text, 1)
    while text[position] == '"':
        start = position
        key, position = _scan_string(text, position + 1)
        value = skip_space(text, skip_space(text, position) + 1)  # over the colon
        _, end = parse(text, value)
        yield _Member(key, start, value, end)
        position = skip_space(text, end)
        if text[position] == ",":
            position = skip_space(text, position + 1)


def _span(text: str, key: str | None) -> tuple[int, int] | None:
    """Where the value of a key stands in a record's text."""
    return next(((member.value, member.end) for member in _members(text) if member.key == key), None)


def _in_our_keys(line: EntityLine) -> str:
    """The record's text with our keys in place of the spellings that are read for them."""
    text = line.raw.decode()
    if line.plain:
        return text
    value = parse(text)[0]
    renamed: dict[str | None, str] = {
        name_key(value): "name",
        first_key(value, TYPE_KEYS): "entityType",
        observations_key(value): "observations",
    }
    stated = first_key(value, KIND_KEYS)
    own_type = stated is not None and value[stated] != "entity" and first_key(value, TYPE_KEYS) is None
    if own_type:  # a fork that writes `_type` for `type` goes on reading its records
        renamed[stated] = "entityType"
    made = text
    for member in reversed(list(_members(text))):
        if member.key not in renamed:
            continue
        ours, held = renamed[member.key], value[member.key]
        if ours == "observations" and listed(held) is not held:  # a list in an object of its own
            start, end = _span(text[member.value : member.end], next(iter(held))) or (0, member.end - member.value)
            made = made[: member.value] + text[member.value :][start:end] + made[member.end :]
        if ours != member.key and ours not in value:
            made = made[: member.start] + quote(ours) + made[text.index(":", member.start + len(member.key)) :]
    if own_type:
        made = made[: made.index("{") + 1] + '"type":"entity",' + made[made.index("{") + 1 :].lstrip()
    return made


def _edited(line: EntityLine, raw: str) -> EntityLine:
    made = record(parse(raw)[0], raw.encode(), "observation" if line.part else "entity")
    assert isinstance(made, EntityLine)
    return made.placed(line.order)


def _between(text: str, position: int) -> int:
    match = _BETWEEN_RECORDS.match(text, position)
    return match.end() if match else position
