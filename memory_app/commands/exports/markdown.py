"""Markdown: a page for people. Every character with a meaning in Markdown or HTML is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from memory_app.commands.exports import Memory, Options
from memory_app.jsonl.records import RelationLine

_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>#|~&!$@^=:])")
"""Anywhere in a text: emphasis, code, links, HTML, tables, entities, mathematics, mentions and bare addresses."""

_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""A page is often shown in a terminal, which these would command."""

_AT_START: Final = re.compile(r"^(\s*)([-+.)]|\d+[.)])")
"""What begins a list where a line begins."""


def page(memory: Memory, options: Options) -> Iterator[bytes]:
    """A heading for each entity, its observations as a list, its relations in both directions."""
    outgoing: dict[str, list[RelationLine]] = {}
    incoming: dict[str, list[RelationLine]] = {}
    for relation in memory.relations:
        outgoing.setdefault(relation.source, []).append(relation)
        incoming.setdefault(relation.target, []).append(relation)
    yield f"# {_inline(options.title)}\n".encode()
    named = [(line.name, line.entity_type, line.observations()) for line in memory.entities]
    for name, entity_type, observations in [*named, *((name, "not in the memory", []) for name in memory.missing)]:
        lines = ["", f"## {_inline(name)}", "", f"*{_inline(entity_type)}*" if entity_type.strip() else "", ""]
        lines += [f"- {_item(text)}" for text in observations]
        lines += [f"- {_inline(one.relation_type)} → **{_inline(one.target)}**" for one in outgoing.get(name, ())]
        lines += [f"- ← {_inline(one.relation_type)} **{_inline(one.source)}**" for one in incoming.get(name, ())]
        text = "\n".join(lines).rstrip() + "\n"
        yield re.sub(r"\n{3,}", "\n\n", text).encode()


def _inline(text: str) -> str:
    """One line of text."""
    return _escaped(" ".join(text.split())) or "(no name)"


def _item(text: str) -> str:
    """A list item, which may have several lines."""
    lines = [_escaped(line.strip()) for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    return "\\\n  ".join(line or "&nbsp;" for line in lines)


def _escaped(text: str) -> str:
    text = _SPECIAL.sub(r"\\\1", _CONTROL.sub("\ufffd", text))
    return _AT_START.sub(lambda match: f"{match[1]}{match[2][:-1]}\\{match[2][-1]}", text)
