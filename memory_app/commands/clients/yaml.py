"""YAML: read and change the entries below one top-level key; every other byte stays. No I/O.

A small part of YAML is enough for that: block mappings and lists, simple and quoted values, lists in brackets. Only the
lines of the requested entry are changed. What is not supported there is refused, never guessed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

_KEY: Final = re.compile(
    r"""( *)("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#"'\[\]{},&*!|>%@`?:-][^#:]*?)[ ]*:(?:[ ]+(.*))?"""
)
_COMMENT: Final = re.compile(r"(?:^|[ ])#.*")
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")
_WORDS: Final = {"true": True, "false": False, "null": None, "~": None, "": None}
_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class NotYaml(ValueError):
    """The text cannot be read, or not be changed without guessing. The error text says where."""


class _Item(NamedTuple):
    """A key of a block mapping: its lines, from `start` up to `end`, and the text after its colon."""

    key: str
    start: int
    end: int
    inline: str


class Entry(NamedTuple):
    """One entry below the key. `value` is None if it uses unsupported YAML."""

    name: str
    start: int
    end: int
    value: Any


def entries(text: str, top: str) -> list[Entry]:
    """The entries below the key `top`: those of a mapping by their keys, those of a list by their `name`."""
    lines = _lines(text)
    block = _block(lines, top)
    if block is None:
        return []
    found = []
    for start, end in _parts(lines, block):
        part = _undashed(lines[start:end])
        items = _items(part, 0, len(part))
        if _is_list(lines, block):
            value = _values(part, items)
            name = value.get("name") if isinstance(value, dict) else None
            found.append(Entry(str(name or ""), start, end, value))
        else:
            try:
                value = _value(part, items[0])
            except NotYaml:
                value = None
            found.append(Entry(items[0].key, start, end, value))
    return found


def put(text: str, top: str, name: str, changes: Sequence[tuple[tuple[str, ...], Any]], *, as_list: bool) -> str:
    """The text with these changes in the entry `name` below the key `top`: paths of keys and values. The empty path is
    the whole entry; the value `...` removes a key.
    """
    lines = _lines(text)
    end_of_line = "\r\n" if "\r\n" in text else "\n"
    there = [one for one in entries(text, top) if one.name == name]
    if len(there) > 1:
        raise NotYaml(f"{name} occurs twice")
    if not there:
        return _with_new(text, lines, top, name, changes[0][1], as_list, end_of_line)
    one = there[0]
    if not isinstance(one.value, dict):
        raise NotYaml(f"line {one.start + 1}: the entry {name} is written in a way that is not supported here")
    part = _undashed(lines[one.start : one.end])
    for path, value in changes:
        way = path if as_list else (_items(part, 0, len(part))[0].key, *path)
        part = _change(part, 0, len(part), way, value, end_of_line)
    if as_list:
        dash = len(lines[one.start]) - len(lines[one.start].lstrip(" "))
        part[0] = f"{part[0][:dash]}-{part[0][dash + 1 :]}"
    return "".join([*lines[: one.start], *part, *lines[one.end :]])


def remove(text: str, top: str, name: str) -> str:
    """The text without the entry `name`. The key stays, empty if the entry was the last."""
    lines = _lines(text)
    found = entries(text, top)
    there = [one for one in found if one.name == name]
    if len(there) != 1:
        raise NotYaml(f"{name} {'occurs twice' if there else 'is missing'}")
    rest = [*lines[: there[0].start], *lines[there[0].end :]]
    if len(found) == 1:
        place = _block(lines, top)
        key = place[0] - 1 if place else 0
        empty = " []" if _is_list(lines, place or (0, 0)) else " {}"
        rest[key] = re.sub(r":[ ]*", lambda _: f":{empty}", rest[key], count=1)
    return "".join(rest)


def snippet(top: str, name: str, value: Any, *, as_list: bool) -> str:
    """An entry below its key, as text to paste."""
    return "".join([f"{top}:\n", *_entry(name, value, 2, as_list, "\n")])


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    lines = [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    for number, line in enumerate(lines, 1):
        if re.match(r" *\t", line) and line.strip():
            raise NotYaml(f"line {number}: it is indented by a tab")
        if number > 1 and re.match(r"---(?:\s|$)", line) and any(_content(one) for one in lines[: number - 1]):
            raise NotYaml(f"line {number}: a second document begins")
    return lines


def _block(lines: Sequence[str], top: str) -> tuple[int, int] | None:
    """The lines below the top-level key; None if it does not exist."""
    for number, line in enumerate(lines, 1):
        if _content(line) and not re.match(r"[ -]|\.\.\.\s*$", line) and not _KEY.fullmatch(line.rstrip()):
            raise NotYaml(f"line {number}: a key and a colon are expected")
    places = [i for i, line in enumerate(lines) if (match := _KEY.fullmatch(line.rstrip())) and _key_of(match) == top]
    places = [i for i in places if not lines[i].startswith(" ")]
    if not places:
        return None
    if len(places) > 1:
        raise NotYaml(f"{top} occurs twice")
    start = places[0] + 1
    match = _KEY.fullmatch(lines[places[0]].rstrip())
    inline = _without_comment(match[3] or "") if match else ""
    if inline not in ("", "{}", "[]", "null", "~"):
        raise NotYaml(f"line {start}: {top} is not written as a block: write its entries on lines of their own first")
    end = start
    for i in range(start, len(lines)):
        if not _content(lines[i]):
            continue
        if _indent(lines[i]) == 0 and not lines[i].startswith("-"):
            break
        end = i + 1
    return start, end


def _parts(lines: Sequence[str], block: tuple[int, int]) -> list[tuple[int, int]]:
    """The lines of each entry in a block."""
    contents = [i for i in range(*block) if _content(lines[i])]
    if not contents:
        return []
    indent = _indent(lines[contents[0]])
    starts = [i for i in contents if _indent(lines[i]) == indent]
    if _is_list(lines, block):
        starts = [i for i in starts if lines[i].lstrip(" ").startswith("- ")]
    if any(_indent(lines[i]) < indent for i in contents):
        raise NotYaml(f"line {contents[0] + 1}: its entries have different indentations")
    ends = [*starts[1:], block[1]]
    return [(start, _last_content(lines, start, end) + 1) for start, end in zip(starts, ends, strict=True)]


def _is_list(lines: Sequence[str], block: tuple[int, int]) -> bool:
    first = next((lines[i] for i in range(*block) if _content(lines[i])), "")
    return first.lstrip(" ").startswith("- ")


def _undashed(lines: Sequence[str]) -> list[str]:
    """An entry's lines with the dash of a list's item replaced by a space."""
    return [re.sub(r"^( *)-(?= )", r"\1 ", lines[0]), *lines[1:]]


def _items(lines: Sequence[str], start: int, end: int) -> list[_Item]:
    """The keys of the block mapping in these lines."""
    contents = [i for i in range(start, end) if _content(lines[i])]
    if not contents:
        return []
    indent = _indent(lines[contents[0]])
    found: list[tuple[str, int, str]] = []
    for i in contents:
        if _indent(lines[i]) > indent or (found and lines[i].lstrip(" ").startswith("- ")):
            continue
        match = _KEY.fullmatch(lines[i].rstrip())
        if match is None or _indent(lines[i]) < indent:
            raise NotYaml(f"{lines[i].strip()!r} is not supported here")
        found.append((_key_of(match), i, match[3] or ""))
    ends = [*(one[1] for one in found[1:]), end]
    return [
        _Item(key, i, _last_content(lines, i, after) + 1, inline)
        for (key, i, inline), after in zip(found, ends, strict=True)
    ]


def _values(lines: Sequence[str], items: Sequence[_Item]) -> Any:
    try:
        return {item.key: _value(lines, item) for item in items}
    except NotYaml:
        return None


def _value(lines: Sequence[str], item: _Item) -> Any:
    inline = _without_comment(item.inline)
    below = [i for i in range(item.start + 1, item.end) if _content(lines[i])]
    if inline.startswith(("|", ">")):
        return "\n".join(lines[i].strip() for i in below)
    if inline.startswith(("[", "{")):
        return _flow(" ".join([inline, *(_without_comment(lines[i].strip()) for i in below)]))
    if inline.startswith(("&", "*", "!")):
        raise NotYaml(f"{inline!r} is not supported here")
    if inline:
        return _scalar(" ".join([inline, *(lines[i].strip() for i in below)]))
    if not below:
        return None
    if lines[below[0]].lstrip(" ").startswith("- "):
        return [_list_item(lines[i]) for i in below]
    return {one.key: _value(lines, one) for one in _items(lines, below[0], item.end)}


def _list_item(line: str) -> Any:
    text = line.strip()
    if not text.startswith("- ") or _KEY.fullmatch(text[2:]):
        raise NotYaml(f"{text!r} is not supported here")
    return _scalar(_without_comment(text[2:].strip()))


def _scalar(text: str) -> Any:
    if text.startswith('"'):
        try:
            return json.loads(text)
        except ValueError as error:
            raise NotYaml(f"{text!r} is not supported here") from error
    if text.startswith("'"):
        if len(text) < 2 or not text.endswith("'"):
            raise NotYaml(f"{text!r} is not supported here")
        return text[1:-1].replace("''", "'")
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    return (float(text) if "." in text else int(text)) if _NUMBER.fullmatch(text) else text


def _flow(text: str) -> Any:
    """A list of simple values in brackets, or an empty mapping; JSON is accepted too."""
    try:
        return json.loads(text)
    except ValueError:
        pass
    if not (text.startswith("[") and text.endswith("]")) or re.search(r"[{}\[\]]", text[1:-1]):
        raise NotYaml(f"{text!r} is not supported here")
    parts = re.findall(r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,]+""", text[1:-1])
    return [_scalar(part.strip()) for part in parts if part.strip()]


def _change(lines: list[str], start: int, end: int, path: Sequence[str], value: Any, line_end: str) -> list[str]:
    """The lines with one value set or removed in the mapping between `start` and `end`."""
    items = _items(lines, start, end)
    item = next((one for one in items if one.key == path[0]), None)
    indent = _indent(lines[items[0].start]) if items else 0
    if item is None:
        if value is ...:
            return lines
        for key in reversed(path[1:]):
            value = {key: value}
        at = items[-1].end if items else end
        return [*_end_lines(lines[:at], line_end), *_render(path[0], value, indent, line_end), *lines[at:]]
    if len(path) == 1:
        new = [] if value is ... else _render(path[0], value, indent, line_end)
        return [*lines[: item.start], *new, *lines[item.end :]]
    if _without_comment(item.inline) in ("{}", "null", "~") or (not item.inline and item.end == item.start + 1):
        if value is ...:
            return lines
        for key in reversed(path[1:]):
            value = {key: value}
        return [*lines[: item.start], *_render(path[0], value, indent, line_end), *lines[item.end :]]
    if item.inline and not _without_comment(item.inline) == "":
        raise NotYaml(f"{path[0]} is not written as a block: write its entries on lines of their own first")
    below = next(i for i in range(item.start + 1, item.end) if _content(lines[i]))
    return _change(lines, below, item.end, path[1:], value, line_end)


def _with_new(text: str, lines: list[str], top: str, name: str, value: Any, as_list: bool, line_end: str) -> str:
    block = _block(lines, top)
    if block is None:
        begin = _end_lines(lines, line_end)
        gap = [line_end] if begin and begin[-1].strip() else []
        return "".join([*begin, *gap, f"{top}:{line_end}", *_entry(name, value, 2, as_list, line_end)])
    contents = [i for i in range(*block) if _content(lines[i])]
    key = block[0] - 1
    if not contents:
        lines[key] = re.sub(r":[ ]*(?:\{\}|\[\]|null|~)", ":", lines[key], count=1)
    elif _is_list(lines, block) != as_list:
        raise NotYaml(f"line {key + 1}: {top} is {'no list' if as_list else 'a list'}")
    indent = _indent(lines[contents[0]]) if contents else 2
    at = block[1] if contents else block[0]
    new = _entry(name, value, indent, as_list, line_end)
    return "".join([*_end_lines(lines[:at], line_end), *new, *lines[at:]])


def _entry(name: str, value: Any, indent: int, as_list: bool, line_end: str) -> list[str]:
    if not as_list:
        return _render(name, value, indent, line_end)
    lines = [line for key, item in value.items() for line in _render(key, item, indent + 2, line_end)]
    return [f"{' ' * indent}- {lines[0][indent + 2 :]}", *lines[1:]]


def _render(key: str, value: Any, indent: int, line_end: str) -> list[str]:
    name = key if _PLAIN_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False)
    margin = " " * indent
    if isinstance(value, dict) and value:
        inner = [line for one, item in value.items() for line in _render(one, item, indent + 2, line_end)]
        return [f"{margin}{name}:{line_end}", *inner]
    return [f"{margin}{name}: {json.dumps(value, ensure_ascii=False)}{line_end}"]


def _end_lines(lines: Sequence[str], line_end: str) -> list[str]:
    """The lines with a line end after the last."""
    return [*lines[:-1], lines[-1] if lines[-1].endswith("\n") else lines[-1] + line_end] if lines else []


def _key_of(match: re.Match[str]) -> str:
    return str(_scalar(match[2])) if match[2][0] in "\"'" else match[2]


def _without_comment(text: str) -> str:
    if text[:1] in ('"', "'"):
        quoted = re.match(r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'""", text)
        return quoted[0] if quoted else text.strip()
    return _COMMENT.sub("", text).strip()


def _content(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip(" ").startswith("#") and not re.match(r"---\s*$", line)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _last_content(lines: Sequence[str], start: int, end: int) -> int:
    """The last of these lines with content: comments and blank lines after it belong to what follows."""
    return max((i for i in range(start, end) if _content(lines[i])), default=start)
