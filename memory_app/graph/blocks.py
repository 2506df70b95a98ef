"""Lines of one kind in file order, in blocks of a fixed number of places, so that a change costs one block, not all.

A line's `order` determines its block: `order // SPAN`. A sequence never changes: `changed` makes a new one that shares
the unchanged blocks. Each block keeps the folded text of its lines once a search has needed it, and their joined bytes
once a save has: going through all lines again would cost several times as much as writing them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import compress, repeat
from operator import contains
from typing import Any, Final, Generic, TypeVar

from memory_app.jsonl.records import EntityLine, RelationLine

# Small enough that folding or copying one again is nothing, large enough that there are few of them.
SPAN: Final = 256

# Between two folded texts. A query that holds it is answered text by text instead.
SEPARATOR: Final = "\0"

_FEW: Final = SPAN // 8  # lines that are looked at one by one; for more than these all that hold a word are marked
_MOST_MARKED: Final = 4  # words in one search: it pays with the next one, and this one is to be quick as well
_MOST_KEPT: Final = 64  # words whose lines a block remembers, some 150 bytes each: common words are few, and come again

# Marks of lines, as bytes that are 0 or 1, as digits, and back.
_TO_DIGITS: Final = bytes.maketrans(b"\0\1", b"01")
_FROM_DIGITS: Final = bytes.maketrans(b"01", b"\0\1")

L = TypeVar("L", bound="EntityLine | RelationLine")
T = TypeVar("T")


class Block(Generic[L]):
    """The lines of one block, with their folded text and their joined bytes once these were needed."""

    __slots__ = ("_folded", "_holders", "_joined", "_starts", "lines", "made")

    def __init__(self, lines: tuple[L, ...]) -> None:
        self.lines = lines
        self._folded: str | None = None
        self._joined: bytes | None = None
        self.made: Any = None  # see `kept`
        self._starts: list[int] = []
        self._holders: dict[str, int] = {}

    def joined(self) -> bytes:
        """The lines as they are in the file, each with its line end."""
        if self._joined is None:
            self._joined = b"\n".join((*(line.raw for line in self.lines), b""))
        return self._joined

    def kept(self, made_of: Callable[[Sequence[L]], T]) -> T:
        """The result of `made_of` for the lines. It is computed once, so always pass the same function."""
        if self.made is None:
            self.made = made_of(self.lines)
        made: T = self.made
        return made

    def lines_with(self, query: str, folded: Callable[[L], str]) -> Iterable[L]:
        """The lines whose folded text contains the query, which does not span lines. `folded` gives a line's text."""
        text = self.text(folded)
        marks = self._holders.get(query)
        if marks is not None:
            return compress(self.lines, self._unpacked(marks))
        if query not in text:
            return ()
        ends = [*self._starts[1:], len(text)]
        places = self._few_holders(query, ends)
        if places is None:
            return compress(self.lines, self._mark_holders(query, self._texts(ends)))
        return [self.lines[place] for place in places]

    def lines_with_all(self, words: Sequence[str], folded: Callable[[L], str]) -> Iterable[L]:
        """The lines whose folded text contains each of the words, the rarest first; no word spans two texts."""
        text, known = self.text(folded), self._holders
        new = [word for word in words if word not in known]
        if any(word not in text for word in new):
            return ()
        places: Sequence[int] = range(len(self.lines))
        if len(new) < len(words):
            marks = -1
            for word in words:
                marks &= known.get(word, -1)
            places = list(compress(places, self._unpacked(marks)))
        starts = self._starts
        ends = [*starts[1:], len(text)]
        texts: list[str] = []
        marked = 0
        for word in new:
            few = self._few_holders(word, ends) if len(places) == len(starts) else None
            if few is not None:
                places = few
            elif len(places) > _FEW and marked < _MOST_MARKED:
                texts = texts or self._texts(ends)
                held = self._mark_holders(word, texts)
                places = [place for place in places if held[place]]
                marked += 1
            elif texts:
                places = [place for place in places if word in texts[place]]
            else:
                places = [place for place in places if text.find(word, starts[place], ends[place]) >= 0]
        return [self.lines[place] for place in places]

    def _few_holders(self, word: str, ends: Sequence[int]) -> list[int] | None:
        """The places of the lines that contain the word; None if there are more than a few."""
        text = self._folded or ""
        found: list[int] = []
        at = text.find(word)
        while at >= 0:
            if len(found) == _FEW:
                return None
            found.append(bisect_right(self._starts, at) - 1)
            at = text.find(word, ends[found[-1]])
        return found

    def _mark_holders(self, word: str, texts: Iterable[str]) -> bytes:
        """1 for each text that contains the word, 0 for the others; kept as a number for the next search."""
        marks = bytes(map(contains, texts, repeat(word)))
        if len(self._holders) >= _MOST_KEPT:
            self._holders = dict([*self._holders.items()][_MOST_KEPT // 2 :])  # another thread may read the old one
        self._holders[word] = int(marks.translate(_TO_DIGITS), 2)
        return marks

    def _unpacked(self, marks: int) -> bytes:
        return f"{marks:0{len(self.lines)}b}".encode().translate(_FROM_DIGITS)

    def _texts(self, ends: Sequence[int]) -> list[str]:
        text = self._folded or ""
        return [text[start:end] for start, end in zip(self._starts, ends, strict=True)]

    def text(self, folded: Callable[[L], str]) -> str:
        """The folded texts of all lines, joined."""
        if self._folded is None:
            texts = [folded(line) for line in self.lines]
            starts, position = [], 0
            for text in texts:
                starts.append(position)
                position += len(text) + 1
            self._starts, self._folded = starts, SEPARATOR.join(texts)
        return self._folded


class Blocks(Generic[L]):
    """All lines of one kind, in file order."""

    __slots__ = ("blocks", "end", "size")

    def __init__(self, blocks: list[Block[L]], size: int, end: int) -> None:
        self.blocks = blocks
        self.size = size  # lines
        self.end = end  # the place that the next line takes

    @classmethod
    def of(cls, lines: list[L]) -> Blocks[L]:
        """The sequence of lines with the orders 0, 1, 2, …"""
        blocks: list[Block[L]] = [Block(tuple(lines[start : start + SPAN])) for start in range(0, len(lines), SPAN)]
        return cls(blocks, len(lines), len(lines))

    def __iter__(self) -> Iterator[L]:
        for block in self.blocks:
            yield from block.lines

    def lines(self, first: int, last: int) -> list[L]:
        """The lines of the blocks from `first` up to, but not including, `last`."""
        return [line for block in self.blocks[first:last] for line in block.lines]

    def joined(self) -> Iterator[bytes]:
        """All lines as they are in the file, block by block."""
        return (block.joined() for block in self.blocks)

    def changed(self, replaced: Mapping[int, L | None], added: Iterable[L]) -> Blocks[L]:
        """A sequence in which the lines at some places are replaced (None: removed) and others are added at the end, in
        order.
        """
        blocks, size, end = list(self.blocks), self.size, self.end
        for number in {order // SPAN for order in replaced}:
            old = blocks[number].lines
            new = [replaced.get(line.order, line) for line in old]
            kept = tuple(line for line in new if line is not None)
            size += len(kept) - len(old)
            blocks[number] = Block(kept)
        fresh: list[L] = []
        for line in added:
            number = line.order // SPAN
            while len(blocks) <= number:
                if fresh:
                    blocks[-1] = Block(blocks[-1].lines + tuple(fresh))
                    fresh = []
                blocks.append(Block(()))
            fresh.append(line)
            size, end = size + 1, line.order + 1
        if fresh:
            blocks[-1] = Block(blocks[-1].lines + tuple(fresh))
        return Blocks(blocks, size, end)
