"""Words written as one in the query and apart in the memory, or the other way round.

`bookclub` asks for `book_club`, `NH107` for "NH 107", `15035550142` for "+1 503 555 0142"; "sun blade" for `Sunblade`,
and "Schlüssel für die Haustür" for `Haustürschlüssel`. Pure functions.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from typing import Final

from memory_app.graph.similarity import alike
from memory_app.graph.wordindex import Postings, Vocabulary, WordIndex
from memory_app.graph.words import Term

_SHORTEST: Final = 6  # letters of a word that is taken apart
_LONG_NUMBER: Final = 7  # digits: shorter numbers are seldom written in groups
_MOST_WAYS: Final = 20  # in which one number is taken apart
_MOST_PLACES: Final = 100  # of the rarest part, at which the others are looked for
_APART: Final = 0.9  # likeness of "sun" and "blade" to `Sunblade`
_OF_COMPOUND: Final = 0.85  # of each half to a compound, where both halves were asked for
_LETTERS_OR_DIGITS: Final = re.compile(r"\d+|[^\W\d_]+")


def take_apart(index: WordIndex, term: Term) -> list[Term]:
    """The term, or the parts of a word that the memory does not know, where one of its entities holds them all."""
    word = term.forms[0]
    if term.run or term.weak or term.exact or word in index.vocabulary:
        return [term]
    for parts in _ways_apart(index, word):
        shortest = min(map(len, parts))
        if _stand_together(index.names, parts) or (
            (shortest >= 4 or word[-1].isdigit()) and _stand_together(index.texts, parts)
        ):
            return [term._replace(forms=(part,), exact=True) for part in parts]
    return [term]


def put_together(index: WordIndex, terms: list[Term], answers: list[dict[str, float]]) -> None:
    """Add to the answers of terms the words that are put together of them."""
    for at in range(len(terms) - 1):
        pair = answers[at : at + 2]
        one, other = terms[at : at + 2]
        whole = one.forms[0] + other.forms[0]
        if not (one.run or other.run) and whole in index.vocabulary and not all(1.0 in one.values() for one in pair):
            for found in pair:
                found[whole] = max(found.get(whole, 0.0), _APART)
    for at, term in enumerate(terms):
        ending = term.forms[0]
        if term.run or term.exact or len(ending) < 4:
            continue
        for word in [word for word in answers[at] if word.endswith(ending) and len(word) >= len(ending) + 3]:
            for other, found in zip(terms, answers, strict=True):
                start = other.forms[0]
                if word.startswith(start[:3]) and other is not term and alike(start, word[: -len(ending)]) >= 0.6:
                    found[word] = max(found.get(word, 0.0), _OF_COMPOUND)
                    answers[at][word] = max(answers[at][word], _OF_COMPOUND)


def _ways_apart(index: WordIndex, word: str) -> Iterator[list[str]]:
    """How the word falls into words of the memory."""
    known = index.vocabulary
    if word.isdigit():
        if len(word) >= _LONG_NUMBER:
            yield from islice(_groups(known, word, 0, set()), _MOST_WAYS)
    elif any(letter.isdigit() for letter in word):
        parts = _LETTERS_OR_DIGITS.findall(word)
        if all(part in known for part in parts):
            yield parts
    elif len(word) >= _SHORTEST:
        halves = ([word[:at], word[at:]] for at in range(2, len(word) - 1))
        yield from (parts for parts in halves if all(part in known for part in parts))


def _groups(known: Vocabulary, number: str, start: int, in_vain: set[int]) -> Iterator[list[str]]:
    """The digits from `start` on in groups that the memory knows: two to four, at the front one to four."""
    found = start == len(number)
    if found:
        yield []
    for size in range(4, 1 if start else 0, -1):
        end = start + size
        if end <= len(number) and end not in in_vain and number[start:end] in known:
            for rest in _groups(known, number, end, in_vain):
                found = True
                yield [number[start:end], *rest]
    if not found:
        in_vain.add(start)


def _stand_together(postings: Postings, parts: list[str]) -> bool:
    rarest, *others = sorted((postings.of(part) for part in parts), key=len)
    return any(all(_holds(places, order) for places in others) for order in rarest[:_MOST_PLACES])


def _holds(places: array[int], order: int) -> bool:
    at = bisect_left(places, order)
    return at < len(places) and places[at] == order
