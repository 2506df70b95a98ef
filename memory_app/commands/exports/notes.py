"""Notes: a Markdown file for each entity, as in Obsidian and basic-memory; `import` reads the folder back.

A note begins with its title and type, followed by the observations and, as links, the relations that start there. An
end that is not an entity has a note only if relations start there; that note says `missing: true`.

A file is named after the entity as far as every system allows it: without the characters that Windows or Obsidian
refuse, at most 120 bytes long, and different from the others without regard to case. If the two names differ, the
entity's name is an alias, by which Obsidian finds the note.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from memory_app.commands.exports import Memory
from memory_app.commands.exports.escapes import inline, item, target
from memory_app.jsonl.records import RelationLine

_REFUSED: Final = re.compile(r'[\x00-\x20\x7f-\xa0\u2028\u2029\ufeff<>:"/\\|?*#^\[\]]+')
_RESERVED: Final = re.compile(
    r"(?i)(con|prn|aux|nul|conin\$|conout\$|com[0-9\u00b9\u00b2\u00b3]|lpt[0-9\u00b9\u00b2\u00b3])(\.|$)"
)
_QUOTED: Final = re.compile(r"\s|^[\"']")
_LONGEST: Final = 120
_UNPRINTED: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def notes(memory: Memory) -> Iterator[tuple[str, bytes]]:
    """The name and content of each file."""
    outgoing: dict[str, list[RelationLine]] = {}
    for relation in memory.relations:
        outgoing.setdefault(relation.source, []).append(relation)
    taken: set[str] = set()
    for entity in memory.entities:
        head = [f"title: {_quoted(entity.name)}", f"type: {_quoted(entity.entity_type)}"]
        yield _note(entity.name, head, entity.observations(), outgoing.get(entity.name, []), taken)
    for name in memory.missing:
        if name in outgoing:
            yield _note(name, [f"title: {_quoted(name)}", "missing: true"], [], outgoing[name], taken)


def _note(
    name: str, head: list[str], observations: list[str], relations: list[RelationLine], taken: set[str]
) -> tuple[str, bytes]:
    stem = _free(_safe(name), taken)
    if stem != name:
        head = [*head, f"aliases: [{_quoted(name)}]"]
    lines = ["---", *head, "---", "", f"# {inline(name)}"]
    if observations:
        lines += ["", "## Observations", "", *(f"- {item(text)}" for text in observations)]
    if relations:
        lines += ["", "## Relations", "", *map(_link, relations)]
    return f"{stem}.md", ("\n".join(lines) + "\n").encode()


def _link(relation: RelationLine) -> str:
    """A relation as a link. A type that is not a single word is quoted, so that basic-memory reads it as one type."""
    kind = relation.relation_type
    if kind:
        kind = inline(kind)
        kind = f'"{kind}" ' if _QUOTED.search(kind) else f"{kind} "
    return f"- {kind}[[{target(relation.target)}]]"


def _safe(name: str) -> str:
    stem = _REFUSED.sub(" ", unicodedata.normalize("NFC", name)).strip(" .")
    stem = stem.encode()[:_LONGEST].decode(errors="ignore").strip(" .")
    return f"_{stem}" if not stem or _RESERVED.match(stem) else stem


def _free(stem: str, taken: set[str]) -> str:
    number, found = 1, stem
    while (key := unicodedata.normalize("NFKC", found).casefold()) in taken:
        number += 1
        found = f"{stem} {number}"
    taken.add(key)
    return found


def _quoted(text: str) -> str:
    """A text in a form that both YAML and JSON read, on one line."""
    return _UNPRINTED.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(text, ensure_ascii=False))
