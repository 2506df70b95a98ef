"""The index of the loose search: which entities hold a word, in their name, type or observations; which relations do.

Kept by blocks: `follow` brings it to another snapshot at the cost of the blocks that are other objects there. Words
that went stay in the vocabulary without places; the next whole index drops them. One caller at a time, no lock: see
`loose`.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

from memory_app.graph.blocks import SPAN, Block
from memory_app.graph.graph import Graph
from memory_app.graph.words import words_of
from memory_app.jsonl.records import EntityLine, RelationLine

T = TypeVar("T")

_MOST_RECENT: Final = 1000  # words beside the sorted ones, which are gone through one by one
_END: Final = "\U0010ffff"


class Postings:
    """Words and the orders of the lines that hold them, in file order."""

    def __init__(self) -> None:
        self.places: dict[str, array[int]] = {}

    def put(self, number: int, old: Iterable[str], new: dict[str, list[int]]) -> None:
        """Replace what block `number` holds: before, these words; now these, with their places."""
        low, high = number * SPAN, (number + 1) * SPAN
        for word in old:
            if word not in new and (places := self.places.get(word)) is not None:
                del places[bisect_left(places, low) : bisect_left(places, high)]
        for word, orders in new.items():
            places = self.places.get(word)
            if places is None:
                self.places[word] = array("I", orders)
            elif not places or places[-1] < low:
                places.extend(orders)
            else:
                places[bisect_left(places, low) : bisect_left(places, high)] = array("I", orders)

    def of(self, word: str) -> array[int]:
        return self.places.get(word) or _NOWHERE


_NOWHERE: Final = array("I")


class Vocabulary:
    """All words, to be found by their beginning, end or middle."""

    def __init__(self) -> None:
        self._all: set[str] = set()
        self._sorted: list[str] = []
        self._joined = "\n"
        self._recent: list[str] = []

    def __contains__(self, word: str) -> bool:
        return word in self._all

    def add(self, words: Iterable[str]) -> None:
        new = [word for word in words if word not in self._all]
        self._all.update(new)
        self._recent += new

    def settle(self) -> None:
        """Sort the new words in, if they have become many. `add` may be called many times before."""
        if len(self._recent) > _MOST_RECENT or not self._sorted:
            self._sorted = sorted(self._all)
            self._joined = "\n".join(("", *self._sorted, ""))
            self._recent = []

    def beginning(self, start: str) -> Iterator[str]:
        words = self._sorted
        yield from words[bisect_left(words, start) : bisect_left(words, start + _END)]
        if self._recent:
            yield from [word for word in self._recent if word.startswith(start)]

    def holding(self, part: str, *, at_end: bool) -> Iterator[str]:
        """Words with `part` in them, or at their end."""
        joined, needle = self._joined, part + "\n" if at_end else part
        found = joined.find(needle)
        while found >= 0:
            end = joined.index("\n", found)
            yield joined[
                joined.rindex("\n", 0, found + 1) + 1
                if joined[found] == "\n"
                else joined.rfind("\n", 0, found) + 1 : end
            ]
            found = joined.find(needle, end)
        if self._recent:
            yield from [word for word in self._recent if (word.endswith(part) if at_end else part in word)]


class WordIndex:
    """The index of one snapshot at a time. `wanted` None: of all words, else of those that it is true for."""

    def __init__(self, wanted: Callable[[str], bool] | None = None) -> None:
        self.names = Postings()
        self.types = Postings()
        self.texts = Postings()
        self.relations = Postings()
        self.vocabulary = Vocabulary()
        self._wanted = wanted
        self._entity_blocks: list[Block[EntityLine]] = []
        self._relation_blocks: list[Block[RelationLine]] = []
        self._entity_words: list[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = []
        self._relation_words: list[tuple[str, ...]] = []
        self._known: dict[str, list[str]] = {}  # words of types and relation types

    def follow(self, graph: Graph) -> None:
        """Become the index of this snapshot."""
        blocks = graph.entity_lines.blocks
        for number in range(max(len(blocks), len(self._entity_blocks))):
            block = blocks[number] if number < len(blocks) else _EMPTY_ENTITIES
            if number < len(self._entity_blocks) and self._entity_blocks[number] is block:
                continue
            self._put_entities(number, block)
        relations = graph.relation_lines.blocks
        for number in range(max(len(relations), len(self._relation_blocks))):
            other = relations[number] if number < len(relations) else _EMPTY_RELATIONS
            if number < len(self._relation_blocks) and self._relation_blocks[number] is other:
                continue
            self._put_relations(number, other)
        self.vocabulary.settle()

    def _put_entities(self, number: int, block: Block[EntityLine]) -> None:
        names: dict[str, list[int]] = {}
        types: dict[str, list[int]] = {}
        texts: dict[str, list[int]] = {}
        for line in block.lines:
            for word in set(words_of(line.name)):
                names.setdefault(word, []).append(line.order)
            for word in self._words(line.entity_type):
                types.setdefault(word, []).append(line.order)
            # One text: nothing that is a word reaches over the NUL.
            for word in set(words_of("\0".join(line.own_observations()))):
                texts.setdefault(word, []).append(line.order)
        if self._wanted is not None:
            names, types, texts = (self._only(words) for words in (names, types, texts))
        old = self._entity_words[number] if number < len(self._entity_words) else ((), (), ())
        self.names.put(number, old[0], names)
        self.types.put(number, old[1], types)
        self.texts.put(number, old[2], texts)
        self.vocabulary.add({**names, **types, **texts})
        _set(self._entity_blocks, number, block)
        _set(self._entity_words, number, (tuple(names), tuple(types), tuple(texts)))

    def _put_relations(self, number: int, block: Block[RelationLine]) -> None:
        words: dict[str, list[int]] = {}
        for line in block.lines:
            for word in self._words(line.relation_type):
                words.setdefault(word, []).append(line.order)
        if self._wanted is not None:
            words = self._only(words)
        self.relations.put(number, self._relation_words[number] if number < len(self._relation_words) else (), words)
        self.vocabulary.add(words)
        _set(self._relation_blocks, number, block)
        _set(self._relation_words, number, tuple(words))

    def _only(self, words: dict[str, list[int]]) -> dict[str, list[int]]:
        return {word: places for word, places in words.items() if self._wanted is None or self._wanted(word)}

    def _words(self, text: str) -> list[str]:
        if text not in self._known:
            if len(self._known) > 10_000:
                self._known.clear()
            self._known[text] = list(dict.fromkeys(words_of(text)))
        return self._known[text]


_EMPTY_ENTITIES: Final[Block[EntityLine]] = Block(())
_EMPTY_RELATIONS: Final[Block[RelationLine]] = Block(())


def _set(items: list[T], at: int, item: T) -> None:
    if at < len(items):
        items[at] = item
    else:
        items.append(item)
