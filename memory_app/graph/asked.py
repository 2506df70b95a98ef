"""What a query asks for, answered by words of the memory: how much that is, and what is missed.

Words that the memory does not know weigh as much as the rarest that it knows; a name or a number that it does not know
weighs more, what is asked about another word ("dosage") less. Pure functions.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from memory_app.graph.words import Query, Term, is_number

_MISSED_ATTRIBUTE: Final = 0.7  # of what another word counts that the memory does not know
_TELLING: Final = 6  # letters of a word that seldom means two things; in a list of words of one kind, one less
_SURE: Final = 0.87  # likeness of a word that differs by a light ending


class Asked(NamedTuple):
    """A term, the words of the memory that answer it with their likeness, and how rare they are."""

    term: Term
    words: dict[str, float]
    rarity: float
    name_rarity: float
    is_kind: bool = False  # it is said in a type


class Demand(NamedTuple):
    """What is asked for. `needed`: the part of `total` that an entity has to have, unless it has a leading term."""

    asked: list[Asked]
    total: float
    needed: float
    leading: list[Asked]  # terms that are answer enough
    lead_needs: float  # how like a leading term has to be
    may_lack: int  # of the `wanted` terms, where a leading one is no name
    wanted: list[Asked]
    misses_name: bool
    misses_number: bool
    misses_any: bool  # then another ending is a reason to doubt


def demand_of(asked: list[Asked], query: Query, highest: float) -> Demand:
    """`highest`: the rarity of a word that no entity holds."""
    misses_name = any(map(_is_missed_name, asked))
    # Of a sentence half has to be there, and of two words more than one; of longer lists, whose words are tried at a
    # venture, more than one of three.
    count = sum(not one.term.weak and (one.term.weight == 1.0 or one.term.run > 0) for one in asked)
    needed = 0.5 if count <= 2 or query.is_sentence else 0.35
    return Demand(
        asked,
        _total(asked, highest),
        0.6 if misses_name else needed,
        _leads(asked, query, highest),
        0.95 if len(asked) > 2 and not query.is_sentence else _SURE,
        1 if query.is_sentence else len(asked),
        [one for one in asked if one.term.weight == 1.0 and not one.term.attribute],
        misses_name,
        any(is_number(one.term.forms[0]) and not one.words for one in asked),
        any(not one.words and not one.term.weak and not one.term.run for one in asked),
    )


def _is_missed_name(one: Asked) -> bool:
    return not one.words and (one.term.proper or is_number(one.term.forms[0]))


def _total(asked: list[Asked], highest: float) -> float:
    """What an entity that has all of it would be worth."""
    # What is asked about a thing that is known may stand elsewhere in the memory, too.
    is_known = any(one.words and not (one.term.weak or one.term.attribute) for one in asked)
    beside = _MISSED_ATTRIBUTE if is_known else 1.0
    known_runs = {one.term.run for one in asked if one.words}
    total = 0.0
    for one in asked:
        if one.words:
            total += one.rarity * one.term.weight * (0.3 if one.term.weak else beside if one.term.attribute else 1.0)
        elif one.term.weak:
            continue
        elif one.term.run:  # pieces over the border of two words are in no text
            total += highest * one.term.weight * (0.25 if one.term.run in known_runs else 1.0)
        else:
            is_name = one.term.proper or is_number(one.term.forms[0])
            total += highest * (1.5 if is_name else _MISSED_ATTRIBUTE if one.term.attribute else 1.0)
    return total or 1.0


def _leads(asked: list[Asked], query: Query, highest: float) -> list[Asked]:
    """The terms that few entities hold and that are answer enough, whatever unknown words stand beside them.

    In a sentence a name ("Does anybody drive a Peugeot to work?"), or a word that is long enough to mean one thing, if
    nearly all else is there. In other queries such a word: of two the first, since it is what the other asks about
    ("invoice template"); in a list of more, whose words are tried at a venture, any ("diet vegetarian allergy"). Where
    a name, or a number, is missed, none.
    """
    whole = [one for one in asked if one.term.weight == 1.0]
    missed = [one for one in whole if not one.words]
    has_runs = any(one.term.run for one in asked)
    if (not missed and not has_runs) or any(map(_is_missed_name, asked)):
        return []
    wanted = [one for one in whole if not one.term.attribute]
    rare = (one for one in wanted if one.rarity >= 0.7 * highest and not one.is_kind)
    if has_runs:  # beside Chinese, Japanese or Thai a word in another script is a name
        return [one for one in rare if one.term.proper]
    if query.is_sentence:
        return [one for one in rare if one.term.proper or len(one.term.forms[0]) >= _TELLING]
    candidates = wanted[:1] if len(whole) <= 2 else wanted
    least = _TELLING - (len(wanted) > 2)
    return [
        one
        for one in rare
        if one.term.proper or (one in candidates and (one.term.abbreviation or len(one.term.forms[0]) >= least))
    ]
