"""Matches of a search by relevance: what a page of a few shows first.

Most of many matches cannot be among the first few. A look at the names of a group of them tells that, which costs a
tenth of ranking each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from memory_app.graph.blocks import SEPARATOR
from memory_app.jsonl.records import EntityLine
from memory_app.text import fold

_EXACT, _BEGINS, _ALL, _SOME, _TYPE, _OBSERVATION = range(6)  # where a query stands in an entity, best first
_GROUP: Final = 256  # matches


def ranked(matches: Sequence[EntityLine], query: str, most: int | None = None) -> list[EntityLine]:
    """The matches with the most relevant first, equals in the order in which they come.

    Exact name, name that begins with the query, name that holds it or all of its words, name that holds some of them,
    type, observation. `most`: only so many are wanted; the others follow as they come, which costs much less.
    """
    folded = fold(query).strip()
    if not folded:
        return list(matches)
    ranks = _Ranks(folded)
    wanted = len(matches) if most is None else min(most, len(matches))
    best: list[tuple[int, int]] = []  # rank and place
    for start in range(0, len(matches), _GROUP):
        lines = matches[start : start + _GROUP]
        if len(best) < wanted or (best and ranks.may_be_below(best[-1][0], lines)):
            best += zip(map(ranks.of, lines), range(start, start + len(lines)), strict=True)
            if len(best) >= wanted:
                best.sort()
                del best[wanted:]
    found = [matches[place] for _, place in sorted(best)]
    last = 0
    for place in sorted(place for _, place in best):
        found += matches[last:place]
        last = place + 1
    return [*found, *matches[last:]]


class _Ranks:
    """How relevant matches are for a folded query: 0 is best."""

    def __init__(self, folded: str) -> None:
        self._folded = folded
        self._words = list(dict.fromkeys(folded.split()))
        self._exact = re.compile(rf"{SEPARATOR}\s*{re.escape(folded)}\s*{SEPARATOR}")
        self._types: dict[str, bool] = {}

    def of(self, line: EntityLine) -> int:
        name = fold(line.name)
        if name.strip() == self._folded:
            return _EXACT
        if name.startswith(self._folded):
            return _BEGINS
        held = sum(word in name for word in self._words)
        if held:
            return _ALL if held == len(self._words) or self._folded in name else _SOME
        return _TYPE if self._in_type(line.entity_type) else _OBSERVATION

    def may_be_below(self, rank: int, lines: Sequence[EntityLine]) -> bool:
        """Whether one of the lines may have a lower rank: false only if none has."""
        names = fold(SEPARATOR.join(("", *(line.name for line in lines), "")))
        if rank == _EXACT:
            return False
        if rank == _BEGINS:
            return self._exact.search(names) is not None
        if rank == _ALL:
            return SEPARATOR + self._folded in names or self._exact.search(names) is not None
        if rank == _SOME:
            return all(word in names for word in self._words)
        if any(word in names for word in self._words):
            return True
        return rank == _OBSERVATION and any(map(self._in_type, {line.entity_type for line in lines}))

    def _in_type(self, entity_type: str) -> bool:
        if entity_type not in self._types:
            self._types[entity_type] = self._folded in fold(entity_type)
        return self._types[entity_type]
