"""How like the words of a memory are to a query's: by their stems, by one letter's difference, inside one another.

Each answer maps words of the vocabulary to a likeness between 0 and 1. Pure functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from memory_app.graph.wordindex import Vocabulary
from memory_app.graph.words import Query, Term, endings

_SURE_STEM: Final = 9  # letters: words that are so long and differ by one are seldom two words


def kin(vocabulary: Vocabulary, term: Term) -> dict[str, float]:
    """The words of the memory that are the term's or share its stem."""
    found: dict[str, float] = {}
    for form in term.forms:
        factor = 1.0 if form is term.forms[0] else 0.9
        if form in vocabulary:
            found[form] = max(found.get(form, 0.0), factor)
        if term.exact:
            continue
        least = _least_stem(form)
        if form.isdigit() or len(form) < least:
            continue
        for length in range(len(form), max(least, len(form) - 7) - 1, -1):
            if not _may_end(form, length):
                continue
            for word in vocabulary.beginning(form[:length]):
                likeness = factor * _likeness_at(form, word, length)
                if likeness > found.get(word, 0.0):
                    found[word] = likeness
    return found


def _least_stem(word: str) -> int:
    """The shortest beginning that can be a stem."""
    if word[0] < "\u0590":
        return 3
    return 2


def _may_end(word: str, at: int) -> bool:
    return at == len(word) or word[at:] in endings() or (at >= 6 and at >= 0.6 * len(word))


def _likeness_at(one: str, other: str, length: int) -> float:
    """How like two words are whose first `length` letters are the same."""
    rest, more = one[length:], other[length:]
    known = endings()
    if not rest and not more:
        return 1.0
    if rest == "s" and not more and length >= 4:  # "Annas", "invoices"
        return 0.92
    if not rest and (more in known or (length >= 4 and more)):
        return 0.9 - 0.02 * min(len(more), 5) if more in known else 0.75 if len(more) < 8 else 0.65
    if rest in known and length >= 6 and len(more) >= 4 and more not in known:
        return 0.6  # the first part of a compound
    if rest in known and (not more or more in known):
        if length == 3 and one[0] < "\u0370" and not _may_follow_short(one, rest, more):
            return 0.0
        short = 0.12 if length == 3 and one[0] < "\u0590" else 0.0
        return max(0.5, 0.9 - 0.03 * (len(rest) + len(more)) - short)
    if length >= 6 and length >= 0.6 * max(len(one), len(other)) and len(more) <= 5:
        return 0.6
    return 0.0


def _may_follow_short(word: str, rest: str, more: str) -> bool:
    """Whether endings are light enough for a stem of three Latin letters: "Boris" is not "born", nor "Peter" "pet"."""
    if more:
        if {rest, more} == {"oes", "ao"}:  # "aviões", "avião"
            return True
        return len(rest) + len(more) <= 2 or max(len(rest), len(more)) >= 4
    return len(rest) == 1 or rest in ("es", "ed") or rest[0] == word[2]  # "buses", "running"


def _shared(one: str, other: str) -> int:
    """How many letters the words have in common from the start."""
    length = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        length += 1
    return length


def alike(one: str, other: str) -> float:
    """How like two words are by their stems."""
    length = _shared(one, other)
    return (
        max((_likeness_at(one, other, at) for at in range(min(length, 3), length + 1)), default=0.0)
        if length >= 2
        else 0.0
    )


def less_like(vocabulary: Vocabulary, term: Term, has_kin: bool) -> dict[str, float]:
    """Words that differ by one letter, else those that hold the term, else parts that it is put together of."""
    word = term.forms[0]
    if len(word) < 4 or term.run or term.exact or any(letter.isdigit() for letter in word):
        return {}
    found = {} if has_kin else _misspelt(vocabulary, word)
    if not found:
        for stem in _stems(word):
            for other in vocabulary.holding(stem, at_end=False):
                if other.endswith(stem) or len(stem) >= 5:
                    found.setdefault(other, 0.5 if other.endswith(stem) else 0.45)
            if found:
                break
    elif 5 <= len(word) <= 6:  # a German word that is one letter from an English one may still end a compound
        for other in vocabulary.holding(word, at_end=True):
            found.setdefault(other, 0.5)
    if not found and not has_kin and len(word) >= 8:
        found = _parts(vocabulary, word)
    return found


def _stems(word: str) -> list[str]:
    """The word, and what it is without an ending, where that is long enough to tell."""
    least = 4 if "\u1100" <= word[0] <= "\u11ff" else 5  # parts of Korean syllables
    return [word, *(word[:at] for at in range(len(word) - 1, least, -1) if word[at:] in endings())]


def _misspelt(vocabulary: Vocabulary, word: str) -> dict[str, float]:
    """Words of the memory at one letter's difference: one more, one less, another, two exchanged."""
    found: dict[str, float] = {}
    like = 0.55 if len(word) == 4 else 0.65 if len(word) == 5 else 0.75
    half = len(word) // 2
    for at in range(3, len(word)):  # Finnish: "Mikon" of Mikko, "Matille" of Matti
        if word[at:] in endings() and (doubled := word[: at - 1] + word[at - 2] + word[at - 1]) in vocabulary:
            found[doubled] = like + 0.05
    for at in range(len(word) - 1):
        swapped = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        if swapped in vocabulary:
            found[swapped] = like + 0.05
    # A change in one half leaves the other as it is.
    for other in vocabulary.beginning(word[:half]):
        if _within_one(word, other):
            found.setdefault(other, like)
        elif len(word) >= 6 and _begins_within_one(word, other):
            found.setdefault(other, like - 0.1)
    for other in vocabulary.holding(word[half:], at_end=True):
        if _within_one(word, other):
            found.setdefault(other, like - 0.05)
    if len(word) == 4:  # another letter in so short a word is as a rule another word
        found = {other: value for other, value in found.items() if len(other) != 4 or sorted(other) == sorted(word)}
    return found


def _within_one(one: str, other: str) -> bool:
    if abs(len(one) - len(other)) > 1:
        return False
    start = _shared(one, other)
    return (
        one[start + 1 :] == other[start + 1 :] or one[start:] == other[start + 1 :] or one[start + 1 :] == other[start:]
    )


def _begins_within_one(word: str, other: str) -> bool:
    """Whether the words are at one letter's difference but for their endings."""
    known = endings()
    # Two doubts at once, the letter and the ending, need a longer stem; three, with the other word's, a very long one.
    for stem in [word, *(word[:at] for at in range(len(word) - 1, 6, -1) if word[at:] in known)]:
        for length in (len(stem), len(stem) - 1, len(stem) + 1):
            if (
                5 <= length <= len(other)
                and (length == len(other) or (other[length:] in known and (stem == word or len(stem) >= _SURE_STEM)))
                and _within_one(stem, other[:length])
            ):
                return True
    return False


def _parts(vocabulary: Vocabulary, word: str) -> dict[str, float]:
    """Words that a compound is made of: `erdnussallergie` of `erdnuss` and `allergie`."""
    found: dict[str, float] = {}
    for at in range(4, len(word) - 3):
        right = word[at:]
        lefts = [word[:at], *(word[: at - len(link)] for link in ("s", "n", "es", "en") if word[:at].endswith(link))]
        known = [part for part in (*lefts, right) if len(part) >= 4 and part in vocabulary]
        for part in known:
            # "port" alone says nothing of "passport"; a long part, or one beside another that is known, does.
            if len(part) >= 5 or (right in known and len(known) > 1):
                both = right in known and len(known) > 1
                found[part] = max(found.get(part, 0.0), 0.55 if both and len(part) >= 5 else 0.45)
        for stem in (right, lefts[0]):
            if len(stem) < 5:
                continue
            others = [one for one in vocabulary.beginning(stem[: max(5, len(stem) - 2)]) if alike(stem, one) >= 0.5]
            # Two halves, of which one has another ending: `kattenallergie` of `katten` and `allergisch`.
            halves = [part for part in known if part != right and len(part) >= 5] if others and stem is right else []
            for part in (*others, *halves):
                found[part] = max(found.get(part, 0.0), 0.55 if halves else 0.45)
    return found


def answer_filter(query: Query) -> Callable[[str], bool]:
    """Whether a word of the memory can answer one of the query's words at all."""
    forms = [form for term in query.terms for form in term.forms]
    starts = {form[:2] for form in forms} | {form[:1] + form[2:3] for form in forms}
    ends = tuple({form[-2:] for form in forms})
    stems = {stem for form in forms for stem in _stems(form)}

    def wanted(word: str) -> bool:
        if word[:2] in starts or word.endswith(ends):
            return True
        return any(stem in word for stem in stems) or any(word[:4] in form for form in forms)

    return wanted
