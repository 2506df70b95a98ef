"""Markdown: a page for people, which `import` reads back. Every character with a meaning in Markdown or HTML is
escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from memory_app.commands.exports import Memory, Options
from memory_app.commands.exports.escapes import inline, item, reference
from memory_app.jsonl.records import RelationLine

MISSING: Final = "not in the memory"
"""Replaces the type below the name of a relation's end that is not an entity."""

TO: Final = "\u2192"
FROM: Final = "\u2190"


def page(memory: Memory, options: Options) -> Iterator[bytes]:
    """A heading for each entity, its observations as a list, its relations in both directions."""
    outgoing: dict[str, list[RelationLine]] = {}
    incoming: dict[str, list[RelationLine]] = {}
    for relation in memory.relations:
        outgoing.setdefault(relation.source, []).append(relation)
        incoming.setdefault(relation.target, []).append(relation)
    yield f"# {inline(options.title)}\n".encode()
    named = [(line.name, _type(line.entity_type), line.observations()) for line in memory.entities]
    for name, entity_type, observations in [*named, *((name, MISSING, []) for name in memory.missing)]:
        lines = ["", f"## {inline(name)}", "", f"*{entity_type}*" if entity_type else "", ""]
        lines += [f"- {item(text)}" for text in observations]
        lines += [f"- {_relation(one.relation_type)} {TO} **{inline(one.target)}**" for one in outgoing.get(name, ())]
        lines += [f"- {FROM} {inline(one.relation_type)} **{inline(one.source)}**" for one in incoming.get(name, ())]
        text = "\n".join(lines).rstrip() + "\n"
        yield re.sub(r"\n{3,}", "\n\n", text).encode()


def _type(text: str) -> str:
    if text == MISSING:
        return reference(text[0]) + text[1:]
    return inline(text) if text else ""


def _relation(text: str) -> str:
    """A relation's type. One that begins with our arrow is escaped, or it would be read as a relation in the other
    direction.
    """
    if text.startswith(FROM):
        return reference(FROM) + (inline(text[1:]) if text[1:] else "")
    return inline(text)
