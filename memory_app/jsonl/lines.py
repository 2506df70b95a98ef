"""Lines of the memory file and their records: reading, taking a record over from another shape, editing, writing.

Rules: a record keeps the bytes from its `{` to its `}`, and an edit splices only what it changes, so unknown keys and
untouched observations stay to the byte. A line that cannot be read comes back as bytes, to be kept.

No I/O, no clock, no thread.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from memory_app.jsonl.parser import parse, skip_space
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
    encode,
    first_key,
    listed,
    name_key,
    observation_text,
    observations_key,
    quote,
    record,
)

# Each line of a text, and what it says if it is in our own form with no escape in name, type and ends: several times
# as fast as the parser, and nothing that the parser would refuse. Groups: a letter for an entity, its name and type; a
# letter for a relation, its ends and type.
_WORD: Final = r'"([^"\\\x00-\x1f]*)"'
_ITEM: Final = r'"[^"\\\x00-\x1f]*(?:\\["\\/bfnrt][^"\\\x00-\x1f]*)*"'
_OWN_FORM: Final = re.compile(
    r'^(?:\{"type":"(?:'
    rf'(e)ntity","name":{_WORD},"entityType":{_WORD},"observations":\[(?:{_ITEM}(?:,{_ITEM})*)?\]'
    rf'|(r)elation","from":{_WORD},"to":{_WORD},"relationType":{_WORD})\}}|[^\n]*)$',
    re.MULTILINE,
)
# Our own marker, written only where nothing but lines of others is left: the file is still known as a memory.
OWN_MARKER: Final = b'{"type":"_memory"}'
L = TypeVar("L", EntityLine, RelationLine)

_PIECE: Final = 1 << 16  # bytes that are split into lines at once: some 20 microseconds
_BETWEEN_RECORDS: Final = re.compile(r"[ \t\r,\ufeff]*")
_scan_string: Final = json.decoder.scanstring  # type: ignore[attr-defined]


def split_lines(data: bytes) -> Iterator[list[bytes]]:
    """The lines of a file, as `split` gives them, in pieces: a split of all holds the interpreter for too long."""
    start = 0
    while (end := data.find(b"\n", start + _PIECE)) >= 0:
        yield data[start:end].split(b"\n")
        start = end + 1
    yield data[start:].split(b"\n")


def read_own_form(lines: Sequence[bytes], texts: dict[str, str]) -> list[Line | None]:
    """The record of each line that is in our own form, None for each other line.

    `texts` holds the names and types read so far, so that each is one object, however many lines say it.
    """
    try:
        found = _OWN_FORM.findall(b"\n".join(lines).decode())
    except UnicodeDecodeError:
        return [None] if len(lines) == 1 else [one for line in lines for one in read_own_form([line], texts)]
    one = texts.setdefault
    return [
        EntityLine(line, one(name, name), one(entity_type, entity_type), Form.OURS)
        if entity
        else RelationLine(line, one(source, source), one(target, target), one(relation_type, relation_type))
        if relation
        else None
        for line, (entity, name, entity_type, relation, source, target, relation_type) in zip(lines, found, strict=True)
    ]


def read_line(line: bytes) -> list[Line | bytes]:
    """The records on one line of a file, in order. Anything that is no record of ours is returned as its bytes. A blank
    line holds nothing.
    """
    [own] = read_own_form([line], {})
    return read_other_form(line) if own is None else [own]


def read_other_form(line: bytes) -> list[Line | bytes]:
    """The same, of a line that is not in our own form."""
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return [line]
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
    """A record in our form, made from a value of another shape. `kind` is the kind that its place in the document
    implies. The value's bytes if it is no record.
    """
    made = record(value, b"{}", kind)  # no escape in these bytes: lone surrogates stay, to be written as escapes
    if made is None:
        return encode(value)
    body: dict[str, Any]
    if isinstance(made, EntityLine) and made.form is Form.PART:
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
    """The record with these observations added at the end. Every other byte stays."""
    return with_items(line, [quote(text) for text in added])


def with_items(line: EntityLine, added: Sequence[str]) -> EntityLine:
    """As `with_observations`, for items that are given as JSON."""
    text = _in_our_keys(line)
    items = ",".join(added)
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
    """The record without any observation that has one of these texts. Every other item keeps its form."""
    held = items_of(line)
    kept = [raw for said, raw in held if said not in gone]
    return line if len(kept) == len(held) else _with_all_items(line, kept)


def with_observation_replaced(line: EntityLine, old: str, new: str) -> EntityLine:
    """The record with an observation's text replaced wherever it occurs. An object keeps its other keys."""
    held = items_of(line)
    if all(said != old for said, _ in held):
        return line
    return _with_all_items(line, [_said_anew(raw, old, new) if said == old else raw for said, raw in held])


def items_of(line: EntityLine) -> list[tuple[str | None, str]]:
    """The observations of this line alone: the text of each, and its JSON."""
    text = _editable(line)
    span = _observations_span(line, text)
    if span is None:
        return []
    start, end = span
    if text[start] != "[":
        said = observation_text(parse(text, start)[0])
        return [] if said is None else [(said, text[start:end])]
    found, position = [], skip_space(text, start + 1)
    while text[position] != "]":
        value, item_end = parse(text, position)
        found.append((observation_text(value), text[position:item_end]))
        position = skip_space(text, item_end)
        if text[position] == ",":
            position = skip_space(text, position + 1)
    return found


def with_name(line: EntityLine, name: str) -> EntityLine:
    """The record with another name. Every other byte stays."""
    keys = OWNER_KEYS if line.form is Form.PART else ("name",)
    return _edited(line, _with_value(_editable(line), keys, name))


def with_type(line: EntityLine, entity_type: str) -> EntityLine:
    """The record with another type. Every other byte stays."""
    return _edited(line, _with_value(_in_our_keys(line), TYPE_KEYS, entity_type))


def with_ends(line: RelationLine, source: str, target: str) -> RelationLine:
    """The relation between other ends, under our keys. Every other byte stays."""
    text = _with_value(_with_value(_relation_in_our_keys(line), SOURCE_KEYS, source), TARGET_KEYS, target)
    return _edited_relation(line, text)


def with_other_keys(line: L, other: Line, own: Collection[str], differing: str) -> L:
    """The record with the values that another record holds under keys that are not `own`.

    The record keeps its own value for a key that both have. A different value from the other record goes into an object
    under the key `differing`, as a list under its own key.
    """
    text, taken = (_editable(one) if isinstance(one, EntityLine) else one.raw.decode() for one in (line, other))
    have = {key: text[start:end] for key, _, start, end in _members(text)}
    added: list[str] = []
    apart: dict[str, list[Any]] = {}
    for key, _, start, end in _members(taken):
        if key in own or have.get(key) == taken[start:end]:
            continue
        if key in have:
            apart.setdefault(key, []).append(json.loads(taken[start:end]))
        else:
            added.append(f"{encode(key).decode()}:{taken[start:end]}")
    if apart:
        before = json.loads(have[differing]) if differing in have else {}
        kept: dict[str, Any] = before if isinstance(before, dict) else {differing: [before]}
        for key, others in apart.items():
            kept[key] = _with_each_once(kept.get(key, []), others)
        if differing in have:
            start, end = _span(text, differing) or (0, 0)
            text = f"{text[:start]}{encode(kept).decode()}{text[end:]}"
        else:
            added.append(f"{encode(differing).decode()}:{encode(kept).decode()}")
    if added:
        end = text.rindex("}")
        text = f"{text[:end].rstrip()},{','.join(added)}{text[end:]}"
    if not added and not apart:
        return line
    return _edited(line, text) if isinstance(line, EntityLine) else _edited_relation(line, text)


def chunks(head: Sequence[bytes], records: Iterable[bytes], tail: Sequence[bytes]) -> Iterator[bytes]:
    """The bytes of a file in our form, in pieces of whole lines: kept lines, records, kept lines."""
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


def _with_each_once(held: Any, others: Sequence[Any]) -> list[Any]:
    there = held if isinstance(held, list) else [held]
    return [*there, *(one for one in others if one not in there)]


class _Member(NamedTuple):
    """A key in a record's text and its value: the positions of both."""

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


def _span(text: str, key: str) -> tuple[int, int] | None:
    """The position of a key's value in a record's text."""
    return next(((start, end) for found, _, start, end in _members(text) if found == key), None)


def _in_our_keys(line: EntityLine) -> str:
    """The record's text with our keys in place of the spellings that we also read."""
    text = line.raw.decode()
    if line.form is Form.OURS:
        return text
    value = parse(text)[0]
    renamed: dict[str | None, str] = {
        name_key(value): "name",
        first_key(value, TYPE_KEYS): "entityType",
        observations_key(value): "observations",
    }
    return _with_keys(text, value, renamed, "entity", "entityType")


def _relation_in_our_keys(line: RelationLine) -> str:
    """As `_in_our_keys`, for a relation."""
    text = line.raw.decode()
    value = parse(text)[0]
    renamed: dict[str | None, str] = {
        first_key(value, SOURCE_KEYS): "from",
        first_key(value, TARGET_KEYS): "to",
        first_key(value, RELATION_KEYS): "relationType",
    }
    return _with_keys(text, value, renamed, "relation", "relationType")


def _with_keys(text: str, value: dict[str, Any], renamed: dict[str | None, str], kind: str, type_key: str) -> str:
    """A record's text with these keys renamed. A record that states its own type in place of its kind gets both,
    where neither key is taken.
    """
    stated = first_key(value, KIND_KEYS)
    named = any(ours == type_key for key, ours in renamed.items() if key is not None)
    taken = type_key in value or (stated != "type" and "type" in value)
    own_type = stated is not None and value[stated] != kind and not named and not taken
    if own_type:  # a fork that writes `_type` for `type` goes on reading its records
        renamed[stated] = type_key
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
        made = made[: made.index("{") + 1] + f'"type":"{kind}",' + made[made.index("{") + 1 :].lstrip()
    return made


def _editable(line: EntityLine) -> str:
    """The text in which a record is edited. A record of observations alone keeps its keys."""
    return line.raw.decode() if line.form is Form.PART else _in_our_keys(line)


def _observations_span(line: EntityLine, text: str) -> tuple[int, int] | None:
    key = observations_key(parse(text)[0]) if line.form is Form.PART else "observations"
    return None if key is None else _span(text, key)


def _with_value(text: str, keys: Sequence[str], value: str) -> str:
    """A record's text with a new string as the value of whichever of these keys is read, or of the first key if there
    is none.
    """
    key = first_key(parse(text)[0], keys)
    span = None if key is None else _span(text, key)
    if span is None:
        end = text.rindex("}")
        return f"{text[:end].rstrip()},{quote(keys[0])}:{quote(value)}{text[end:]}"
    start, end = span
    return f"{text[:start]}{quote(value)}{text[end:]}"


def _with_all_items(line: EntityLine, items: Sequence[str]) -> EntityLine:
    text = _editable(line)
    start, end = _observations_span(line, text) or (0, 0)
    return _edited(line, f"{text[:start]}[{','.join(items)}]{text[end:]}")


def _said_anew(raw: str, old: str, new: str) -> str:
    """An observation's JSON with another text."""
    if raw.startswith("{"):
        for _, _, start, end in _members(raw):
            value = parse(raw, start)[0]
            if isinstance(value, str) and observation_text(value) == old:
                return f"{raw[:start]}{quote(new)}{raw[end:]}"
    return quote(new)


def _edited(line: EntityLine, raw: str) -> EntityLine:
    made = record(parse(raw)[0], raw.encode(), "observation" if line.form is Form.PART else "entity")
    assert isinstance(made, EntityLine)
    return made.placed(line.order)


def _edited_relation(line: RelationLine, raw: str) -> RelationLine:
    made = record(parse(raw)[0], raw.encode(), "relation")
    assert isinstance(made, RelationLine)
    return made.placed(line.order)


def _between(text: str, position: int) -> int:
    match = _BETWEEN_RECORDS.match(text, position)
    return match.end() if match else position
