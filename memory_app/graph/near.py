"""Near names: what a misspelt name may mean, and what a new name may duplicate.

A name's key is its folded form without white space, so names with one key differ by case, spaces, marks or width alone.
The blocks keep the keys of their lines as one text. Marks tell which keys cannot be in any of them, so a new name costs
two looks at the marks, and no pass over the names or blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Final

from memory_app.graph.blocks import SEPARATOR, SPAN, Block
from memory_app.graph.graph import Graph
from memory_app.jsonl.records import EntityLine
from memory_app.text import fold

MOST_NEAR: Final = 3
"""Near names of one name: more of them are no longer near."""

_LONGEST: Final = 200
"""Characters of a name for which near ones are looked up: a longer one is a text."""

_MOST_CANDIDATES: Final = 200
"""Names that are compared letter by letter for one name; each costs about 20 microseconds."""

_MANY: Final = 64
"""Names from which on one pass over all keys costs less than a look at every block for each."""

_MARKS: Final = 16
"""Marks for each key, at least: of seventy keys that are in no block one is looked for in vain."""

_ALIKE: Final = 0.7
"""The part of the letters that two near names share: one wrong letter in four, or two in seven."""

_WORD: Final = re.compile(r"\w{3,}")


class _Keys:
    """The keys of a block's lines, each between two separators."""

    __slots__ = ("text",)

    def __init__(self, lines: Sequence[EntityLine]) -> None:
        names = [line.name for line in lines]
        joined = SEPARATOR.join(("", *names, ""))
        if joined.count(SEPARATOR) == len(names) + 1:
            self.text = "".join(fold(joined).split())  # the keys of all at once
        else:
            self.text = SEPARATOR.join(("", *map(key_of, names), ""))

    def all(self) -> list[str]:
        return self.text[1:-1].split(SEPARATOR)

    def places(self, part: str) -> Iterator[int]:
        """The places of the keys that, between their two separators, hold this part."""
        text = self.text
        at = text.find(part)
        while at >= 0:
            # A separator that begins the part ends the key before it.
            yield text.count(SEPARATOR, 0, at + part.startswith(SEPARATOR)) - 1
            at = text.find(part, text.index(SEPARATOR, at + 1))


class _Marks:
    """Marks of the keys in some blocks, and of keys that were there: a key without its two marks is in none of them.

    They belong to whoever has taken them out of the snapshot's `name_marks`, as the index of the loose search does.
    """

    def __init__(self) -> None:
        self._blocks: list[Block[EntityLine]] = []
        self._marks = bytearray(_MARKS * SPAN)
        self._marked = 0  # keys

    def follow(self, blocks: list[Block[EntityLine]]) -> None:
        """Mark the keys of these blocks, as far as they are new."""
        if blocks == self._blocks:  # the same ones: blocks that say the same are not equal
            return
        fresh = [block for block, known in zip_longest(blocks, self._blocks) if block not in (known, None)]
        self._blocks = blocks
        self._marked += sum(len(block.lines) for block in fresh)
        if self._marked * _MARKS > len(self._marks):
            fresh, self._marked = blocks, sum(len(block.lines) for block in blocks)
            self._marks = bytearray(1 << (_MARKS * self._marked).bit_length())
        marks, last = self._marks, len(self._marks) - 1
        for block in fresh:
            for key in _keys(block).all():
                code = hash(key)
                marks[code & last] = marks[code >> 32 & last] = 1

    def may_hold(self, key: str) -> bool:
        code, last = hash(key), len(self._marks) - 1
        return bool(self._marks[code & last] and self._marks[code >> 32 & last])


def key_of(name: str) -> str:
    """The folded name without white space; names with the same key are spelled alike."""
    return "".join(fold(name).replace(SEPARATOR, "").split())


def spelled_alike(graph: Graph, names: Sequence[str]) -> list[str]:
    """The stored names that differ from one of these by case, spaces, marks or width alone, in the order of these."""
    asked: dict[str, list[str]] = {}
    for name in names:
        asked.setdefault(key_of(name), []).append(name)
    blocks = graph.entity_lines.blocks
    stored: dict[str, list[str]] = {}
    if len(asked) > _MANY:
        for block in blocks:
            for line, key in zip(block.lines, _keys(block).all(), strict=True):
                if key in asked:
                    stored.setdefault(key, []).append(line.name)
    else:
        marks: _Marks = graph.name_marks.pop() if graph.name_marks else _Marks()
        marks.follow(blocks[:-1])  # the last one is as a rule new with every entity, too short-lived for marks
        for key in asked:
            worth = blocks if marks.may_hold(key) else blocks[-1:]
            stored[key] = [*_holding(worth, f"{SEPARATOR}{key}{SEPARATOR}")]
        graph.name_marks[:] = [marks]
    found = {other: None for key, own in asked.items() for other in stored.get(key, ()) if other not in own}
    return list(found)


def near_names(graph: Graph, name: str) -> list[str]:
    """The stored names that `name` may have meant, the nearest first, three at most."""
    key = key_of(name) if len(name) <= _LONGEST else ""
    if not key:
        return []
    from difflib import SequenceMatcher  # slow to load, and the start is to be fast

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
        for number, other in enumerate(_holding(graph.entity_lines.blocks, part)):
            if number == _MOST_CANDIDATES:
                break
            found[other] = None
    return found


def _holding(blocks: Iterable[Block[EntityLine]], part: str) -> Iterator[str]:
    """The names whose keys, between two separators, hold this part."""
    for block in blocks:
        for place in _keys(block).places(part):
            yield block.lines[place].name


def _keys(block: Block[EntityLine]) -> _Keys:
    return block.kept(_Keys)
