"""TOML: set the keys of one table in its text; every other byte stays. No I/O, no TOML writer.

The text is cut into statements (headers, pairs, the rest). For that it is enough to know where strings, brackets and
comments end. What cannot be changed without guessing is refused: inline tables and dotted keys in the way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

_KEY: Final = re.compile(r"[ \t]*(?:([A-Za-z0-9_-]+)|\"((?:[^\"\\\n]|\\.)*)\"|'([^'\n]*)')[ \t]*")
_STRING: Final = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|' + r"'''.*?'{3,5}|" + r'"(?:[^"\\\n]|\\.)*"|' + r"'[^'\n]*'", re.DOTALL
)
_COMMENT: Final = re.compile(r"#[^\n]*")

Path = tuple[str, ...]


class NotToml(ValueError):
    """The text cannot be read, or not be changed without guessing."""


class Statement(NamedTuple):
    """A header (`value` is its end) or a pair. `path` is the whole path of keys, `table` that of the header above."""

    header: bool
    path: Path
    table: Path
    value: int
    end: int  # of the value or header, without comment and line end
    next: int  # where the next line begins
    many: bool = False  # a header in double brackets


def put(text: str, table: Path, values: Mapping[str, Any]) -> str:
    """The text with these keys in the table; a mapping as a value is a table below it."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            text = _put_below(text, (*table, key), value)
        else:
            text = _put_one(text, table, key, value)
    return text


def remove(text: str, path: Path) -> str:
    """The text without this key or table and everything below it. NotToml if it is written in another table's value."""
    found = [one for one in statements(text) if one.path[: len(path)] == path]
    if not found:
        raise NotToml(f"{'.'.join(path)} is not written as a separate [table] or key: remove it by hand")
    for one in reversed(found):
        start = text.rfind("\n", 0, one.value) + 1
        if one.header and text[:start].endswith(("\n\n", "\n\r\n")):  # the blank line that set it apart
            start = text.rfind("\n", 0, start - 1) + 1
        text = text[:start] + text[one.next :]
    return text


def block(table: Path, values: Mapping[str, Any]) -> str:
    """A table as text."""
    lines = [f"[{'.'.join(map(_key, table))}]"]
    lines += [f"{_key(key)} = {_value(value)}" for key, value in values.items() if not isinstance(value, Mapping)]
    text = "\n".join(lines) + "\n"
    for key, value in values.items():
        if isinstance(value, Mapping):
            text += "\n" + block((*table, key), value)
    return text


def statements(text: str) -> list[Statement]:
    """All headers and pairs of the text, in order."""
    found: list[Statement] = []
    table: Path = ()
    position = 0
    while position < len(text):
        start = position + len(text[position:]) - len(text[position:].lstrip(" \t\r\n"))
        if start >= len(text):
            break
        if text[start] == "#":
            position = _next_line(text, start)
            continue
        if text[start] == "[":
            many = text.startswith("[[", start)
            path, end = _path(text, start + 1 + many)
            if not text.startswith("]]" if many else "]", end):
                raise _error(text, end, "a header does not end")
            end += 1 + many
            table = path
            found.append(Statement(True, path, path, end, end, _line_after(text, end), many))
        else:
            path, end = _path(text, start)
            if text[end : end + 1] != "=":
                raise _error(text, end, "an equals sign is expected")
            value = end + 1 + len(text[end + 1 :]) - len(text[end + 1 :].lstrip(" \t"))
            end = _end_of_value(text, value)
            found.append(Statement(False, (*table, *path), table, value, end, _line_after(text, end)))
        position = found[-1].next
    return found


def _put_one(text: str, table: Path, key: str, value: Any) -> str:
    header, pairs = _table(text, table)
    if header is None:
        return _append(text, block(table, {key: value}))
    for pair in pairs:
        if pair.path == (*table, key):
            return text[: pair.value] + _value(value) + text[pair.end :]
    last = pairs[-1] if pairs else header
    return _with_line(text, last.next, f"{_key(key)} = {_value(value)}")


def _put_below(text: str, table: Path, values: Mapping[str, Any]) -> str:
    """Put a table below another one: under its own header if it has one, else into the existing inline table, else
    under a new header.
    """
    if not values:
        return text
    inline = next((one for one in statements(text) if not one.header and one.path == table), None)
    if inline is not None:
        held = text[inline.value : inline.end]
        if held.replace(" ", "") != "{}":
            raise NotToml(f"{'.'.join(table)} is an inline table: write it as [{'.'.join(table)}] first")
        new = "{ " + ", ".join(f"{_key(key)} = {_value(value)}" for key, value in values.items()) + " }"
        return text[: inline.value] + new + text[inline.end :]
    header, _ = _table(text, table)
    if header is None:
        parent, pairs = _table(text, table[:-1])
        if parent is None:
            return _append(text, block(table, values))
        at = (pairs[-1] if pairs else parent).next
        before = text[:at] if text[:at].endswith("\n") else text[:at] + "\n"
        rest = text[at:]
        gap = "" if not rest or rest.startswith(("\n", "\r\n")) else "\n"
        return before + "\n" + _ends(text, block(table, values)) + gap + rest
    for key, value in values.items():
        text = _put_one(text, table, key, value)
    return text


def _table(text: str, table: Path) -> tuple[Statement | None, list[Statement]]:
    """The table's header and the pairs under it. NotToml if it is written in another way."""
    all_of_it = statements(text)
    headers = [one for one in all_of_it if one.header and one.path == table]
    if len(headers) > 1 or any(one.many for one in headers):
        raise NotToml(f"[{'.'.join(table)}] occurs more than once")
    for one in all_of_it:
        on_the_way = one.path == table[: len(one.path)]
        within = one.path[: len(table)] == table and len(one.table) < len(table)
        if not one.header and one.table != table and (on_the_way or within):
            raise NotToml(f"{'.'.join(one.path)} is not written as a [table]: rewrite it as one first")
    return (headers[0] if headers else None), [one for one in all_of_it if not one.header and one.table == table]


def _append(text: str, new: str) -> str:
    if text and not text.endswith("\n"):
        text += _line_end(text)
    gap = _line_end(text) if text.strip() and not text.endswith(("\n\n", "\n\r\n")) else ""
    return text + gap + _ends(text, new)


def _with_line(text: str, at: int, line: str) -> str:
    before = text[:at] if not at or text[:at].endswith("\n") else text[:at] + _line_end(text)
    return before + line + _line_end(text) + text[at:]


def _ends(text: str, new: str) -> str:
    return new.replace("\n", _line_end(text))


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _path(text: str, position: int) -> tuple[Path, int]:
    parts: list[str] = []
    while True:
        match = _KEY.match(text, position)
        if match is None:
            raise _error(text, position, "a key is expected")
        bare, quoted, literal = match.groups()
        parts.append(bare if bare is not None else literal if literal is not None else _unquoted(quoted))
        position = match.end()
        if text[position : position + 1] != ".":
            return tuple(parts), position
        position += 1


def _end_of_value(text: str, position: int) -> int:
    depth = 0
    end = position
    while position < len(text):
        character = text[position]
        if character in "\"'":
            match = _STRING.match(text, position)
            if match is None:
                raise _error(text, position, "a string does not end")
            position = end = match.end()
            continue
        if character == "#":
            match = _COMMENT.match(text, position)
            position = match.end() if match else len(text)
            continue
        if character == "\n" and depth == 0:
            break
        depth += (character in "[{") - (character in "]}")
        position += 1
        if not character.isspace():
            end = position
    if depth:
        raise _error(text, position, "a bracket does not close")
    return end


def _line_after(text: str, position: int) -> int:
    rest = text[position : _next_line(text, position)].strip()
    if rest and not rest.startswith("#"):
        raise _error(text, position, "unexpected text at the end of this line")
    return _next_line(text, position)


def _next_line(text: str, position: int) -> int:
    found = text.find("\n", position)
    return len(text) if found < 0 else found + 1


def _error(text: str, position: int, what: str) -> NotToml:
    line = text.count("\n", 0, position) + 1
    return NotToml(f"line {line}: {what}")


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: Any) -> str:
    """A string, array of strings or truth value. JSON's escapes are also TOML's, except for DEL."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _unquoted(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:  # an escape that JSON lacks
        return text
