"""The index of the loose search: which entities hold a word, in their name, type or observations; which relations do.

Kept by blocks: `follow` brings it to another snapshot at the cost of the lines that are other objects there. Words
that went stay in the vocabulary without places; the next whole index drops them. One caller at a time, no lock: see
`loose`.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from itertools import zip_longest
from typing import Final, TypeVar

from memory_app.graph.blocks import Block
from memory_app.graph.graph import Graph
from memory_app.graph.words import words_of
from memory_app.jsonl.records import EntityLine, RelationLine

L = TypeVar("L", EntityLine, RelationLine)

_MOST_RECENT: Final = 1000  # words beside the sorted ones, which are gone through one by one
_AT_ONCE: Final = 20_000  # words that one call sorts, some milliseconds: other threads wait for it
_END: Final = "\U0010ffff"


class Postings:
    """Words and the orders of the lines that hold them, in file order."""

    def __init__(self) -> None:
        self.places: dict[str, array[int]] = {}

    def add(self, lines: Iterable[L], words_of_line: Callable[[L], Iterable[str]]) -> list[str]:
        """Add the words of lines in file order, each word of a line once; the words that no line held before."""
        # The places of one word are added at once: most words of a block stand in many of its lines.
        found: dict[str, list[int]] = {}
        for line in lines:
            order = line.order
            for word in words_of_line(line):
                if word in found:
                    found[word].append(order)
                else:
                    found[word] = [order]
        held, fresh = self.places, []
        for word, orders in found.items():
            places = held.get(word)
            if places is None:
                held[word] = array("I", orders)
                fresh.append(word)
            elif places[-1] < orders[0]:
                places.fromlist(orders)
            else:
                for order in orders:
                    insort(places, order)
        return fresh

    def remove(self, lines: Iterable[L], words_of_line: Callable[[L], Iterable[str]]) -> None:
        """Remove the words of lines that were added."""
        for line in lines:
            for word in words_of_line(line):
                places = self.places[word]
                del places[bisect_left(places, line.order)]
                if not places:
                    del self.places[word]

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

    def add(self, words: Sequence[str]) -> None:
        """Add words. They are sorted in when they have become many."""
        for part in _in_parts(words):
            new = [word for word in dict.fromkeys(part) if word not in self._all]
            self._all.update(new)
            self._recent += new
        if len(self._recent) > _MOST_RECENT or not self._sorted:
            parts = [sorted(part) for part in _in_parts(self._recent)]
            # Two sorted runs are sorted at next to no cost; more of them are merged word by word, not in one long call.
            self._sorted = sorted([*self._sorted, *parts[0]]) if len(parts) == 1 else list(merge(self._sorted, *parts))
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


def _in_parts(words: Sequence[str]) -> list[Sequence[str]]:
    return [words[start : start + _AT_ONCE] for start in range(0, len(words), _AT_ONCE)]


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
        self._known: dict[str, list[str]] = {}  # words of types and relation types

    def follow(self, graph: Graph) -> None:
        """Become the index of this snapshot."""
        fresh: list[str] = []
        fields = (
            (self.names, self._words_of_name),
            (self.types, self._words_of_type),
            (self.texts, self._words_of_texts),
        )
        for gone, new in _differences(self._entity_blocks, graph.entity_lines.blocks):
            for postings, words in fields:
                postings.remove(gone, words)
                fresh += postings.add(new, words)
        for old, others in _differences(self._relation_blocks, graph.relation_lines.blocks):
            self.relations.remove(old, self._words_of_relation)
            fresh += self.relations.add(others, self._words_of_relation)
        self._entity_blocks, self._relation_blocks = list(graph.entity_lines.blocks), list(graph.relation_lines.blocks)
        self.vocabulary.add(fresh)

    def _words_of_name(self, line: EntityLine) -> Iterable[str]:
        return self._only(set(words_of(line.name)))

    def _words_of_type(self, line: EntityLine) -> Iterable[str]:
        return self._words(line.entity_type)

    def _words_of_texts(self, line: EntityLine) -> Iterable[str]:
        # One text: nothing that is a word reaches over the NUL.
        return self._only(set(words_of("\0".join(line.own_observations()))))

    def _words_of_relation(self, line: RelationLine) -> Iterable[str]:
        return self._words(line.relation_type)

    def _only(self, words: set[str]) -> Iterable[str]:
        return words if self._wanted is None else filter(self._wanted, words)

    def _words(self, text: str) -> list[str]:
        if text not in self._known:
            if len(self._known) > 10_000:
                self._known.clear()
            self._known[text] = list(self._only(set(words_of(text))))
        return self._known[text]


def _differences(old: Sequence[Block[L]], new: Sequence[Block[L]]) -> Iterator[tuple[Iterable[L], Iterable[L]]]:
    """For each block that is another one now: its lines that went, and those that came."""
    for before, after in zip_longest(old, new):
        if before is after:
            continue
        gone = {} if before is None else {id(line): line for line in before.lines}
        came = {} if after is None else {id(line): line for line in after.lines}
        yield (
            [line for key, line in gone.items() if key not in came],
            [line for key, line in came.items() if key not in gone],
        )
