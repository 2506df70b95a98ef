"""JSON with comments and trailing commas: read it with the position of every value, and replace values in its text.

Everything except the new value stays byte for byte: comments, order, spaces, line ends. No I/O.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_COMMENT: Final = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_WORD: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null")
_DEEPEST: Final = 200
_UNIT: Final = "  "
_SHORT: Final = 100  # characters of an array that is written on one line
_scan_string: Final = json.decoder.scanstring  # type: ignore[attr-defined]


class NotJson(ValueError):
    """The text cannot be read, or not be changed without guessing. The error text says where."""


class Node(NamedTuple):
    """A value and its place. `members` are an object's, with the place of their keys."""

    start: int
    end: int
    value: Any
    members: tuple[tuple[str, int, Node], ...] = ()


class Document(NamedTuple):
    root: Node
    lenient: bool
    """Holds comments or trailing commas, which plain JSON has not."""


def read(text: str) -> Document:
    """The document in the text. NotJson if there is none, with the place."""
    reader = _Reader(text)
    start = reader.skip(0)
    root = reader.value(start, 0)
    end = reader.skip(root.end)
    if end != len(text):
        raise reader.error(end, "unexpected text after the document")
    return Document(root, reader.lenient)


def put(text: str, path: Sequence[str], value: Any) -> str:
    """The text with the value at the path of keys; missing objects on the way are made."""
    if not text.strip():
        text = "{}\n"
    node = read(text).root
    for depth, key in enumerate(path):
        if not isinstance(node.value, dict):
            raise NotJson(f"{' > '.join(path[:depth]) or 'the whole'} is not an object")
        same = [member for name, _, member in node.members if name == key]
        if len(same) > 1:
            raise NotJson(f'"{key}" occurs twice')
        if not same:
            for missing in reversed(path[depth + 1 :]):
                value = {missing: value}
            return _insert(text, node, key, value)
        node = same[0]
    if json.dumps(node.value) == json.dumps(value):
        return text
    return text[: node.start] + _written(text, value, _indent_at(text, node.start)) + text[node.end :]


def remove(text: str, path: Sequence[str]) -> str:
    """The text without the member at the path of keys; unchanged if there is none."""
    node = read(text).root
    for depth, key in enumerate(path):
        same = [place for place, (name, _, _) in enumerate(node.members) if name == key]
        if len(same) > 1:
            raise NotJson(f'"{key}" occurs twice')
        if not same:
            return text
        if depth == len(path) - 1:
            return _without(text, node, same[0])
        node = node.members[same[0]][2]
    return text


def written(value: Any, unit: str = _UNIT) -> str:
    """A value as JSON over several lines, with short arrays on one line, as people write them."""
    if isinstance(value, dict) and value:
        items = [f"{json.dumps(key, ensure_ascii=False)}: {written(item, unit)}" for key, item in value.items()]
        return "{\n" + ",\n".join(textwrap.indent(item, unit) for item in items) + "\n}"
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, list) or len(line) <= _SHORT:
        return line
    return "[\n" + ",\n".join(textwrap.indent(written(item, unit), unit) for item in value) + "\n]"


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self.lenient = False

    def error(self, position: int, what: str) -> NotJson:
        line = self._text.count("\n", 0, position) + 1
        return NotJson(f"line {line}, column {position - self._text.rfind(chr(10), 0, position)}: {what}")

    def skip(self, position: int) -> int:
        """The next place after white space and comments."""
        while True:
            match = _SPACE.match(self._text, position)
            position = match.end() if match else position
            comment = _COMMENT.match(self._text, position)
            if comment is None:
                return position
            self.lenient = True
            position = comment.end()

    def value(self, position: int, depth: int) -> Node:
        first = self._text[position : position + 1]
        if depth > _DEEPEST:
            raise self.error(position, "it is nested too deeply")
        if first == "{":
            return self._object(position, depth)
        if first == "[":
            return self._array(position, depth)
        if first == '"':
            text, end = self._string(position)
            return Node(position, end, text)
        match = _WORD.match(self._text, position)
        if match is None:
            raise self.error(position, "a value is expected" if first else "the file ends too early")
        return Node(position, match.end(), json.loads(match[0]))

    def _object(self, start: int, depth: int) -> Node:
        members: list[tuple[str, int, Node]] = []
        position = self.skip(start + 1)
        while self._text[position : position + 1] != "}":
            if self._text[position : position + 1] != '"':
                raise self.error(position, 'a key in "quotes" is expected')
            at = position
            key, position = self._string(position)
            position = self.skip(position)
            if self._text[position : position + 1] != ":":
                raise self.error(position, "a colon is expected")
            node = self.value(self.skip(position + 1), depth + 1)
            members.append((key, at, node))
            position = self._comma(node.end, "}")
        return Node(start, position + 1, {key: node.value for key, _, node in members}, tuple(members))

    def _array(self, start: int, depth: int) -> Node:
        items: list[Any] = []
        position = self.skip(start + 1)
        while self._text[position : position + 1] != "]":
            node = self.value(position, depth + 1)
            items.append(node.value)
            position = self._comma(node.end, "]")
        return Node(start, position + 1, items)

    def _comma(self, position: int, close: str) -> int:
        """The place after the comma that follows an item, or at the closing bracket."""
        position = self.skip(position)
        if self._text[position : position + 1] == ",":
            position = self.skip(position + 1)
            self.lenient = self.lenient or self._text[position : position + 1] == close
        elif self._text[position : position + 1] != close:
            raise self.error(position, f"a comma or {close} is expected")
        return position

    def _string(self, position: int) -> tuple[str, int]:
        try:
            text, end = _scan_string(self._text, position + 1)
            return str(text), int(end)
        except ValueError as error:
            raise self.error(position, "this string does not end, or is not valid") from error


def _insert(text: str, node: Node, key: str, value: Any) -> str:
    """The text with a new last member in an object."""
    close = node.end - 1
    inside = text[node.start + 1 : close]
    name = json.dumps(key, ensure_ascii=False) + ": "
    line_end = _line_end(text)
    if not node.members:
        outer = _indent_at(text, node.start)
        inner = outer + _unit(text)
        if not inside.strip():
            new = f"{line_end}{inner}{name}{_written(text, value, inner)}{line_end}{outer}"
            return text[: node.start + 1] + new + text[close:]
        at = node.start + 1 + len(inside.rstrip())  # after comments
        return text[:at] + f"{line_end}{inner}{name}{_written(text, value, inner)}{line_end}{outer}" + text[close:]
    last = node.members[-1][2]
    comma = "" if _has_comma(text, last.end, close) else ","
    if "\n" not in inside:
        at = len(text[:close].rstrip())
        new = f" {name}{json.dumps(value, ensure_ascii=False)}"
    else:
        first = node.members[0][1]
        inner = _indent_at(text, first) if _starts_line(text, first) else _indent_at(text, node.start) + _unit(text)
        at = len(text[:close].rstrip())
        new = f"{line_end}{inner}{name}{_written(text, value, inner)}"
    return text[: last.end] + comma + text[last.end : at] + new + text[at:]


def _without(text: str, node: Node, place: int) -> str:
    """The text without one member of an object, its comma and, if they contain nothing else, its lines."""
    _, start, value = node.members[place]
    close = node.end - 1
    comma = _comma_after(text, value.end, close)
    first, end = start, value.end if comma is None else comma + 1
    line_end = text.find("\n", end, close)
    rest = text[end : line_end if line_end >= 0 else close]
    if _starts_line(text, start) and line_end >= 0 and not _COMMENT.sub("", rest).strip():
        first, end = text.rfind("\n", 0, start) + 1, line_end + 1
    elif comma is None:
        first = len(text[:start].rstrip(" \t"))
    else:
        end += len(text[end:]) - len(text[end:].lstrip(" \t"))
    before = first
    if place and place == len(node.members) - 1 and comma is None:  # else a trailing comma, which not all clients take
        before = _comma_after(text, node.members[place - 1][2].end, start) or first
    return text[:before] + text[before + 1 : first] + text[end:] if before < first else text[:first] + text[end:]


def _comma_after(text: str, position: int, close: int) -> int | None:
    """The place of the comma between a value and what follows it, behind any comments; None if there is none."""
    while position < close:
        comment = _COMMENT.match(text, position)
        if comment is not None:
            position = comment.end()
        elif text[position] == ",":
            return position
        else:
            position += 1
    return None


def _has_comma(text: str, position: int, close: int) -> bool:
    return "," in _COMMENT.sub("", text[position:close])


def _written(text: str, value: Any, indent: str) -> str:
    return (_line_end(text) + indent).join(written(value, _unit(text)).split("\n"))


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    """The indentation of one level in this text."""
    match = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return match[1] if match and len(match[1]) <= 8 else _UNIT


def _indent_at(text: str, position: int) -> str:
    """The white space at the beginning of the line with this place."""
    start = text.rfind("\n", 0, position) + 1
    return text[start : start + len(text[start:position]) - len(text[start:position].lstrip(" \t"))]


def _starts_line(text: str, position: int) -> bool:
    return not text[text.rfind("\n", 0, position) + 1 : position].strip()
