"""Markdown: a page as `export` writes it, and notes with one entity each, as in Obsidian and basic-memory.

A page has a heading of the second level for each entity. A note is one entity. Its title and type are in the properties
at its beginning; without a title there, the file's name is the title. Its list items, paragraphs and other properties
are its observations, but `- type [[Target]]` is a relation. Other links stay in the text unchanged. Headings only
divide a note.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from memory_app.commands.exports.escapes import read_inline, read_item
from memory_app.commands.exports.markdown import FROM, MISSING, TO
from memory_app.commands.imports import Gathered, Read

_HEADING: Final = re.compile(r"(#{1,6})(?![^ \t])(.*)$")
_ITEM: Final = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+(.*)$")
_TYPE: Final = re.compile(r"\*(?!\*)(.+)\*$")
_RULE: Final = re.compile(r"([-*_])(?:[ \t]*\1)*$")
_LINK: Final = re.compile(r"(?:((?:\\.|[^\\\[])*)[ \t])?\[\[((?:\\.|[^\\\[\]])+)\]\]([ \t]+\(.*\))?$")
_TARGET: Final = re.compile(r"((?:\\.|&#\d+;|[^\\|#])*)")
_PROPERTY: Final = re.compile(r"([A-Za-z_][\w -]*):(?:[ \t]+(.*))?$")
_ENTRY: Final = re.compile(r"[ \t]*-[ \t]+(.*)$")
_IN_LIST: Final = re.compile(r"[ ]*\"(?:\\.|[^\"\\])*\"|[ ]*'(?:[^']|'')*'|[^,]+")
_TAKEN: Final = frozenset({"title", "type", "missing", "aliases", "permalink"})
"""Properties that are not observations: the last two repeat the title."""


class Block(NamedTuple):
    kind: str
    """"heading", "item", "paragraph" or "code"."""
    lines: list[str]
    level: int = 0

    def text(self) -> str:
        return "\n".join(self.lines) if self.kind == "code" else read_item(self.lines)


def page(text: str, name: str) -> Read:
    """All entities of a page. A text without a heading for one, or with properties, is a note with this name."""
    lines = _lines(text)
    empty = lines[0].startswith("# ") and not any(map(str.strip, lines[1:]))
    if lines[0] == "---" or not (empty or any(line.startswith("## ") for line in lines)):
        return notes([(name, text)])
    found = Gathered()
    entity: str | None = None
    fresh = False
    for block in _blocks(lines):
        first = block.lines[0]
        alone = first if len(block.lines) == 1 else ""
        kind = _TYPE.match(alone) if fresh and block.kind == "paragraph" else None
        if fresh and entity is not None and alone != f"*{MISSING}*":
            found.entity(entity, read_inline(kind[1]) if kind else "")
        fresh = block.level == 2
        if fresh:
            entity = read_inline(first)
        elif kind or block.level == 1:
            continue
        elif entity is None or block.kind != "item":
            found.left[f"{block.kind} in a page"] += 1
        elif (relation := _relation(alone)) is None:
            found.observation(entity, "", block.text())
        elif relation:
            found.relation(entity, *relation)
    if fresh and entity is not None:
        found.entity(entity, "")
    return found.read()


def _relation(line: str) -> tuple[str, str] | tuple[()] | None:
    """The target and the type of the relation in an item of a page; None if the item is not a relation. Empty for an
    incoming relation, which the page also shows where it starts.
    """
    between = f" {TO} **"
    if len(line) < len(between) or not line.endswith("**"):
        return None
    if line.startswith(f"{FROM} ") and " **" in line[:-2]:
        return ()
    relation_type, found, target = line[:-2].rpartition(between)
    return (read_inline(target), read_inline(relation_type)) if found else None


def notes(files: Iterable[tuple[str, str]]) -> Read:
    """The entities in notes, which are pairs of a file's name without its ending, and its text."""
    found = Gathered()
    titles: dict[str, str] = {}
    read = []
    for stem, text in files:
        properties, rest = _properties(_lines(text), found.left)
        title = next(iter(properties.get("title", ())), stem)
        if properties.get("aliases") != [title]:  # it is linked to by its title, in a folder that `export` wrote
            titles.setdefault(stem, title)
        for permalink in properties.get("permalink", []):
            titles.setdefault(permalink, title)
        read.append((title, properties, rest))
    known = {title for title, _, _ in read}
    for title, properties, rest in read:
        if properties.get("missing") != ["true"]:
            found.entity(title, next(iter(properties.get("type", ())), "note"))
        for key, values in properties.items():
            if key not in _TAKEN and any(values):
                found.observation(title, "note", f"{key}: {', '.join(values)}")
        for block in _blocks(rest):
            if block.kind == "heading":
                continue
            link = _LINK.match(block.lines[0]) if block.kind == "item" and len(block.lines) == 1 else None
            if link is None or link[2].startswith("#"):
                found.observation(title, "note", block.text())
                continue
            target = _target(link[2])
            if target not in known:
                target = titles.get(target, titles.get(target.rpartition("/")[2], target))
            found.relation(title, target, read_inline(_unquoted((link[1] or "").strip(" \t"))))
            if link[3]:  # a remark, which no relation can hold
                found.observation(title, "note", block.text())
    return found.read()


def _unquoted(kind: str) -> str:
    """The type of a relation without the quotes that basic-memory puts around several words."""
    return kind[1:-1] if len(kind) > 1 and kind[0] == kind[-1] and kind[0] in "\"'" else kind


def _target(link: str) -> str:
    """The target of a link, without its display text and its position within the note."""
    match = _TARGET.match(link)
    return read_inline((match[1] if match else link).strip())


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _properties(lines: list[str], left: Counter[str]) -> tuple[Mapping[str, list[str]], list[str]]:
    """The properties between the lines `---` at the beginning of a note, each a list of values, and the lines after
    them. Lines with more than a value or a list of values are counted in `left`.
    """
    if lines[:1] != ["---"] or "---" not in lines[1:]:
        return {}, lines
    end = lines.index("---", 1)
    found: dict[str, list[str]] = {}
    values: list[str] = []
    for line in lines[1:end]:
        match = _PROPERTY.match(line)
        if match:
            values = found.setdefault(match[1].casefold() if match[1].casefold() in _TAKEN else match[1], [])
            values += _values((match[2] or "").strip())
        elif entry := _ENTRY.match(line):
            values.append(_value(entry[1].strip()))
        elif line.strip() and not line.startswith("#"):
            left["line of a property"] += 1
    return found, lines[end + 1 :]


def _values(text: str) -> list[str]:
    if text.startswith("[") and text.endswith("]"):
        return [_value(one.strip()) for one in _IN_LIST.findall(text[1:-1]) if one.strip()]
    return [_value(text)] if text else []


def _value(text: str) -> str:
    if text.startswith('"'):
        try:
            return str(json.loads(text))
        except ValueError:
            return text.strip('"')
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return text


def _blocks(lines: list[str]) -> Iterator[Block]:
    """Headings, list items, paragraphs and fenced code. Text that follows an item without a blank line belongs to
    it.
    """
    block: Block | None = None
    for line in lines:
        stripped = line.strip(" \t")
        if block is not None and block.kind == "code":
            block.lines.append(line)
            if stripped == block.lines[0][:3]:
                yield block
                block = None
            continue
        new = _opened(line, stripped)
        if block is not None and (new is not None or not stripped or block.kind == "heading"):
            yield block
            block = None
        if new is not None:
            block = new
        elif block is not None:
            if _ends_hard(block.lines[-1]):
                block.lines[-1] = block.lines[-1][:-1]
            block.lines.append(stripped)
        elif stripped and not _RULE.match(stripped):
            block = Block("paragraph", [stripped])
    if block is not None:
        yield block


def _opened(line: str, stripped: str) -> Block | None:
    """The block that begins with this line, whatever the line above."""
    if heading := _HEADING.match(line):
        return Block("heading", [heading[2].strip(" \t")], len(heading[1]))
    if stripped.startswith(("```", "~~~")):
        return Block("code", [stripped])
    item = _ITEM.match(stripped)
    return None if item is None or _RULE.match(stripped) else Block("item", [item[1]])


def _ends_hard(line: str) -> bool:
    """Whether the line ends with an unescaped backslash: a line break."""
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1
