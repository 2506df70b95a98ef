"""Near names: what a misspelt name may mean, and what a new name may duplicate.

A name's key is its folded form without white space, so names with one key differ by case, spaces, marks or width alone.
The blocks keep the keys of their lines as one text, which finds among 100,000 names in a few passes over it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final

from memory_app.graph.blocks import SEPARATOR, Block
from memory_app.graph.graph import Graph
from memory_app.jsonl.records import EntityLine
from memory_app.text import fold

MOST_NEAR: Final = 3
"""Near names of one name: more of them are no longer near."""

_LONGEST: Final = 200
"""Characters of a name for which near ones are looked up: a longer one is a text."""

_MOST_CANDIDATES: Final = 200
"""Names that are compared letter by letter for one name; each costs about 20 microseconds."""

_MANY: Final = 8
"""Names from which on one index of all keys costs less than a pass over the blocks for each."""

_ALIKE: Final = 0.7
"""The part of the letters that two near names share: one wrong letter in four, or two in seven."""

_WORD: Final = re.compile(r"\w{3,}")


def key_of(name: str) -> str:
    """The folded name without white space; names with the same key are spelled alike."""
    return "".join(fold(name).replace(SEPARATOR, "").split())


def spelled_alike(graph: Graph, names: Sequence[str]) -> list[str]:
    """The stored names that differ from one of these by case, spaces, marks or width alone, in the order of these."""
    found: dict[str, None] = {}
    if len(names) <= _MANY:
        for name in names:
            for other in _with(graph, f"{SEPARATOR}{key_of(name)}{SEPARATOR}"):
                if other != name:
                    found[other] = None
        return list(found)
    wanted: dict[str, list[str]] = {}
    for name in names:
        wanted.setdefault(key_of(name), []).append(name)
    by_key: dict[str, list[str]] = {}
    for block in graph.entity_lines.blocks:
        for line, key in zip(block.lines, _keys(block)[1:-1].split(SEPARATOR), strict=False):
            if key in wanted:
                by_key.setdefault(key, []).append(line.name)
    for key, asked in wanted.items():
        found.update((other, None) for other in by_key.get(key, ()) if other not in asked)
    return list(found)


def near_names(graph: Graph, name: str) -> list[str]:
    """The stored names that `name` may have meant, the nearest first, three at most."""
    key = key_of(name) if len(name) <= _LONGEST else ""
    if not key:
        return []
    scored: dict[str, float] = {}
    for candidate in _candidates(graph, name, key):
        other = key_of(candidate)
        share = SequenceMatcher(None, key, other).ratio()
        if len(min(key, other, key=len)) >= _least(key) and (other.startswith(key) or key.startswith(other)):
            share = max(share, 0.9)
        elif len(key) >= _least(key) and key in other:
            share = max(share, 0.8)
        elif set(_WORD.findall(fold(name))) & set(_WORD.findall(fold(candidate))):
            share = max(share, _ALIKE)
        if other == key:
            share = 2.0
        if share >= _ALIKE:
            scored[candidate] = share
    return sorted(scored, key=lambda one: -scored[one])[:MOST_NEAR]


def _least(key: str) -> int:
    """Letters from which on a name within another says something: one in scripts that write words with few."""
    return 3 if key.isascii() else 1


def _candidates(graph: Graph, name: str, key: str) -> Iterable[str]:
    """Names worth a comparison: the same key, one within the other, a half or a word in common."""
    half = len(key) // 2
    parts = [f"{SEPARATOR}{key}{SEPARATOR}", key]
    if half >= 2 or not key.isascii():
        parts += [f"{SEPARATOR}{key[:half]}", f"{key[half:]}{SEPARATOR}"]
    if len(key) >= 4:
        parts += [f"{SEPARATOR}{key[:3]}", f"{key[-3:]}{SEPARATOR}"]
    parts += [word for word in _WORD.findall(fold(name)) if word != key]
    found: dict[str, None] = {}
    for part in parts:
        if not part.strip(SEPARATOR):
            continue
        for number, other in enumerate(_with(graph, part)):
            if number == _MOST_CANDIDATES:
                break
            found[other] = None
    return found


def _with(graph: Graph, part: str) -> Iterator[str]:
    """The names whose keys, between two separators, hold this part."""
    for block in graph.entity_lines.blocks:
        keys = _keys(block)
        at = keys.find(part)
        while at >= 0:
            # A separator that begins the part ends the key before it.
            place = keys.count(SEPARATOR, 0, at + part.startswith(SEPARATOR)) - 1
            yield block.lines[place].name
            at = keys.find(part, keys.index(SEPARATOR, at + 1))


def _keys(block: Block[EntityLine]) -> str:
    return block.kept(_joined_keys)


def _joined_keys(lines: Sequence[EntityLine]) -> str:
    return SEPARATOR.join(("", *(key_of(line.name) for line in lines), ""))
