"""The loose search: what comes near a query of which no entity holds all words. Ranked, at most twenty, or nothing.

1. The query is taken apart: see words. Each term answers with words of the memory: itself and what shares its stem,
   else what differs by one letter, else longer words that hold it; written as one or apart: see compounds.
2. An entity's score is the sum over the terms of rarity times likeness, more in the name, some in the type; the types
   of its relations count, and its neighbours' names where something of its own is asked for too.
3. Nothing is an answer unless a name was asked for, or half of what was asked for is there, of a list of three words
   or more a third, or a word that says enough by itself: see asked.

The index belongs to whoever has taken it out of the snapshot's `word_index`; another caller meanwhile makes his own.
With too little memory for it a smaller one is made, of what looks like the query's words alone, and dropped again.
Pure but for that: no I/O, no clock, no thread.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import islice
from math import log
from typing import Final, TypeVar

from memory_app.graph.asked import Asked, Demand, demand_of
from memory_app.graph.blocks import SPAN, Block
from memory_app.graph.compounds import put_together, take_apart
from memory_app.graph.graph import Graph
from memory_app.graph.similarity import alike, answer_filter, kin, less_like
from memory_app.graph.wordindex import Postings, WordIndex
from memory_app.graph.words import Query, Term, is_number, is_stop_word, read_query, words_of
from memory_app.jsonl.records import EntityLine, RelationLine
from memory_app.text import fold

L = TypeVar("L", EntityLine, RelationLine)

MOST: Final = 20  # entities of one answer
_NEAR: Final = 0.4  # part of the best score that the others need
_MANY: Final = 800  # entities that are scored; a common word alone names no more
_LOOKED_AT: Final = 40  # the best of them, whose relations and texts are looked at
_RELATIONS: Final = 50  # of one entity that are looked at
_LONG_TEXT: Final = 20_000  # characters of an entity's observations that are looked at
_LONG_SEARCHES: Final = 6  # words of one query that are looked for as misspelt or inside others

_IN_NAME: Final = 1.5
_IN_TYPE: Final = 0.7
_IN_RELATION: Final = 0.6
_AT_NEIGHBOUR: Final = 0.5
_WHOLE_RELATION: Final = 1.7  # times the score where a relation's type is all that was asked for
_MANY_STRONG: Final = 3  # rare words of a long query that cannot be together by chance
_TOLD: Final = 0.6  # added to what the relation's type counts where its other end is asked for, too


def search(graph: Graph, query: str) -> list[EntityLine]:
    """The entities that come near the query, best first."""
    wanted = read_query(query)
    if not wanted.terms and not wanted.types:
        return []
    index: WordIndex = graph.word_index.pop() if graph.word_index else WordIndex()
    try:
        index.follow(graph)
    except MemoryError:
        del index
        index = WordIndex(answer_filter(wanted))
        index.follow(graph)
        return _Search(graph, index, wanted).run()
    found = _Search(graph, index, wanted).run()
    graph.word_index[:] = [index]
    return found


class _Search:
    def __init__(self, graph: Graph, index: WordIndex, query: Query) -> None:
        self._graph = graph
        self._index = index
        self._query = query
        self._size = max(1, graph.entity_lines.size)
        self._highest = log(1 + self._size / 0.5)
        self._lines: dict[int, EntityLine | None] = {}
        self._right_types: dict[str, bool] = {}

    def run(self) -> list[EntityLine]:
        asked = self._answered()
        if all(one.term.weak for one in asked):
            return self._of_type() if self._query.types else []
        rough = self._rough(asked)
        if self._query.types:
            rough = {order: score for order, score in rough.items() if self._has_type(order)}
        best = sorted(rough, key=lambda order: (-rough[order], order))[:_LOOKED_AT]
        best += [order for order in self._neighbours(best, asked) if order not in rough and self._has_type(order)]
        demand = demand_of(asked, self._query, self._highest)
        scored: dict[int, tuple[float, EntityLine]] = {}
        for order in best:
            line = self._line(order)
            if line is None:
                continue
            score, fits = self._score(line, demand)
            if fits and score > scored.get(line.order, (0.0, line))[0]:
                scored[line.order] = (score, line)
        ranked = sorted(scored.values(), key=lambda one: (-one[0], one[1].order))
        return [line for score, line in ranked[:MOST] if score >= _NEAR * ranked[0][0]]

    def _answered(self) -> list[Asked]:
        vocabulary, index = self._index.vocabulary, self._index
        terms = [part for term in self._query.terms for part in take_apart(index, self._as_name(term))]
        answers = [kin(vocabulary, term) for term in terms]
        unknown = [at for at, found in enumerate(answers) if max(found.values(), default=0.0) < 0.9]
        for at in sorted(unknown, key=lambda at: -len(terms[at].forms[0]))[:_LONG_SEARCHES]:
            has_kin = max(answers[at].values(), default=0.0) >= 0.65
            for word, likeness in less_like(vocabulary, terms[at], has_kin).items():
                answers[at].setdefault(word, likeness)
        put_together(index, terms, answers)
        asked = []
        for term, words in zip(terms, answers, strict=True):
            words = dict(sorted(words.items(), key=lambda one: -one[1])[:200])
            good = [word for word, likeness in words.items() if likeness >= 0.5] or list(words)
            in_names = sum(len(index.names.of(word)) for word in good)
            in_all = in_names + sum(
                len(postings.of(word)) for word in good for postings in (index.texts, index.types, index.relations)
            )
            is_kind = bool(index.types.of(term.forms[0]))
            asked.append(Asked(term, words if in_all else {}, self._rarity(in_all), self._rarity(in_names), is_kind))
        return asked

    def _as_name(self, term: Term) -> Term:
        """A stop word of some language that is a name in this memory counts as one: "Kim", "Mia", "cat"."""
        if not (term.weak and term.exact):
            return term
        word = term.forms[0]
        lines = [self._line(order) for order in self._index.names.of(word)[:_LOOKED_AT]]
        if any(line is not None and (term.as_name or set(words_of(line.name)) == {word}) for line in lines):
            return term._replace(weight=1.0, weak=False)
        return term

    def _rarity(self, holding: int) -> float:
        return log(1 + self._size / max(0.5, min(holding, self._size)))

    def _of_type(self) -> list[EntityLine]:
        found = (line for line in self._graph.first_entities() if self._is_of_type(line))
        return [line for _, line in zip(range(MOST), found, strict=False)]

    def _has_type(self, order: int) -> bool:
        line = self._line(order)
        return line is not None and self._is_of_type(line)

    def _is_of_type(self, line: EntityLine) -> bool:
        if line.entity_type not in self._right_types:
            held = words_of(line.entity_type)
            self._right_types[line.entity_type] = all(
                any(alike(word, other) >= 0.5 for other in held) for word in self._query.types
            )
        return self._right_types[line.entity_type]

    def _rough(self, asked: list[Asked]) -> dict[int, float]:
        """Scores by the index alone, of those entities that can be among the best."""
        scores: dict[int, float] = {}
        for one in sorted(asked, key=lambda one: (one.term.weak, -one.rarity)):
            gain: dict[int, float] = {}
            for word, likeness in one.words.items():
                for postings, factor, rarity in self._fields(one):
                    places = postings.of(word)
                    if not places:
                        continue
                    value = likeness * factor * rarity * one.term.weight
                    for order in self._chosen(places, scores):
                        if value > gain.get(order, 0.0):
                            gain[order] = value
                for order in self._ends(self._index.relations.of(word)):
                    value = likeness * _IN_RELATION * one.rarity * one.term.weight
                    if (order in scores or len(scores) < _MANY) and value > gain.get(order, 0.0):
                        gain[order] = value
            for order, value in gain.items():
                scores[order] = scores.get(order, 0.0) + value
        return scores

    def _fields(self, one: Asked) -> Iterator[tuple[Postings, float, float]]:
        yield self._index.names, _IN_NAME, one.name_rarity
        yield self._index.types, _IN_TYPE, one.rarity
        yield self._index.texts, 1.0, one.rarity

    def _chosen(self, places: array[int], scores: dict[int, float]) -> Iterable[int]:
        """The places that are scored: all of a few; of many those that were found already, and some of the others."""
        if len(places) <= _MANY:
            return places if len(scores) < 2 * _MANY else [order for order in places if order in scores]
        last = len(places) - 1
        found = islice(scores, _MANY // 2)
        known = [order for order in found if places[min(bisect_left(places, order), last)] == order]
        return known if len(known) > 50 else [*known, *places[: _MANY // 2]]

    def _ends(self, places: array[int]) -> Iterator[int]:
        for order in places[: _MANY // 2]:
            relation = _line_at(self._graph.relation_lines.blocks, order)
            if relation is not None:
                for name in (relation.source, relation.target):
                    entity = self._graph.entities.get(name)
                    if entity is not None:
                        yield entity.order

    def _neighbours(self, orders: list[int], asked: list[Asked]) -> list[int]:
        """Entities beside those whose name was asked for."""
        found: dict[int, None] = {}
        for order in orders[:10]:
            line = self._line(order)
            if line is None or not any(_best(one.words, words_of(line.name)) >= 0.6 for one in asked):
                continue
            for relation in self._graph.touching.get(line.name, ())[:_RELATIONS]:
                other = self._graph.entities.get(relation.target if relation.source == line.name else relation.source)
                if other is not None:
                    found.setdefault(other.order)
        return [order for order in found if order not in orders][:_LOOKED_AT]

    def _score(self, line: EntityLine, demand: Demand) -> tuple[float, bool]:
        asked = demand.asked
        name, kind = words_of(line.name), words_of(line.entity_type)
        texts = [words_of(text) for text in _some(line.observations())]
        relations, neighbours = self._around(line)
        told_type, told_name = self._told(line, asked)
        score = held = named = beside = 0.0
        strong, beside_it, told_whole, has = 0, False, 0, 0
        led: list[Asked] = []
        single = [0.0] * len(texts)
        # All that a term is compared with: most terms have nothing in common with an entity.
        everything = {*name, *kind, *relations[0], *relations[1], *neighbours, *told_name}.union(*texts)
        for one in asked:
            if one.words.keys().isdisjoint(everything):
                continue
            likes = [_best(one.words, words) for words in texts]
            in_name, in_type, in_texts = _best(one.words, name), _best(one.words, kind), max(likes, default=0.0)
            as_source, as_target = (_best(one.words, words) for words in relations)
            weight = one.term.weight * (0.4 if one.term.weak else 1.0)
            in_told = _best(one.words, told_name)
            own = max(
                in_name * _IN_NAME * one.name_rarity,
                in_type * _IN_TYPE * one.rarity,
                in_texts * one.rarity,
                as_source * _IN_RELATION * one.rarity,
                as_target * (_IN_RELATION - 0.1) * one.rarity,
                in_told * _IN_NAME * one.name_rarity,
            )
            score += own * weight
            if told_type:
                score += _best(one.words, told_type) * _TOLD * one.rarity * one.term.weight
            if in_name >= 0.6 and (in_texts or in_type):
                score += 0.1 * one.rarity * weight
            like = max(in_name, in_type, in_texts, as_source, as_target, in_told)
            if not like:
                beside += _best(one.words, neighbours) * _AT_NEIGHBOUR * one.name_rarity * weight
                like = 0.7 * _best(one.words, neighbours)
            sure = like**2 if demand.misses_any and like < 0.95 else 1.0 if like >= 0.7 else like
            held += sure * one.rarity * one.term.weight * (0.3 if one.term.weak else 1.0)
            if like >= 0.7 and one.rarity > 0.25 * self._highest and not one.term.run:
                strong += not one.term.weak and one.term.weight == 1.0
                beside_it |= one.term.weak and not one.term.exact  # "number" says something beside "frame", "is" not
            told_whole += as_source >= 0.95
            if one in demand.leading and max(in_name, in_type, in_texts) >= demand.lead_needs:
                led.append(one)
            has += one in demand.wanted and like >= 0.6
            as_name = max(in_name, in_told)
            sure_name = 0.9 if demand.misses_name else 0.6
            if as_name >= sure_name and not one.term.weak and one.name_rarity >= 0.4 * self._highest:
                # "code" is not the name of "Coding Style" where nothing else that was asked for is there, still less
                # what was asked about something else: "electricity bill" is not "Billing".
                is_doubtful = demand.misses_any and as_name < 0.95
                sureness = (0.0 if one.term.attribute else as_name**2) if is_doubtful else 1.0
                named += sureness * max(self._share(one, name, kind), self._share(one, told_name, []))
            for at, likeness in enumerate(likes):
                single[at] += likeness * one.rarity * weight
        if demand.misses_number and any(map(is_number, name)):
            named = 0.0  # "PR #2099" is not "PR #1456"
        if score:
            score += beside
        score += 0.15 * max(single, default=0.0)
        share = held / demand.total
        lacks = len(demand.wanted) - has
        score *= 0.5 + 0.5 * min(1.0, share)
        if named >= 0.95:
            score *= 1.15
        if told_whole == len(asked):
            score *= _WHOLE_RELATION
        if self._query.phrases:
            whole = fold("\n".join((line.name, line.entity_type, *line.observations())))
            score *= 1.0 + sum(phrase in whole for phrase in self._query.phrases)
        fits = (
            share >= demand.needed
            or (bool(led) and (lacks <= demand.may_lack or any(one.term.proper for one in led)))
            or (named >= 0.4 and share >= (0.12 if named >= 0.95 or _is_title(line.name) else 0.4))
            or (strong >= _MANY_STRONG and share >= 0.12)
            or (strong >= 1 and strong + beside_it >= 2 and share >= (0.6 if demand.misses_name else 0.25))
        )
        return score, bool(score) and fits

    def _told(self, line: EntityLine, asked: list[Asked]) -> tuple[list[str], list[str]]:
        """Of a relation that says what is asked of another ("who manages Acme"): words of its type, and of that name.

        Who is asked for is the source, unless the query names it.
        """
        name = words_of(line.name)
        others = [one for one in asked if not _best(one.words, name)]
        best: tuple[float, list[str], list[str]] = (0.0, [], [])
        for relation in self._graph.touching.get(line.name, ())[:_RELATIONS]:
            if relation.source != line.name or relation.target == line.name:
                continue
            kind = words_of(relation.relation_type)
            of_kind = [one for one in others if _best(one.words, kind) >= 0.6]
            if not of_kind:
                continue
            target = words_of(relation.target)
            found = sum(_best(one.words, target) * one.name_rarity for one in others if one not in of_kind)
            if found > best[0]:
                best = (found, kind, target)
        return best[1], best[2]

    def _share(self, one: Asked, name: list[str], kind: list[str]) -> float:
        """How much of what the name says the term asks for. What the type says, too, or every name, is left out, and
        numbers where a word is asked for."""
        if not name or (len(name) > 1 and self._index.types.of(one.term.forms[0])):  # "insurance" names no insurance
            return 0.0
        weights = {
            word: self._rarity(len(self._index.names.of(word)) + len(self._index.texts.of(word)) // 4)
            for word in name
            if len(word) > 1 or not word.isascii()  # the "O" of "O'Neill" is nothing that a name can be missed by
        }
        by_word = not one.term.forms[0].isdigit()
        telling = {
            word: weight
            for word, weight in weights.items()
            if word in one.words or not (word in kind or (by_word and word.isdigit()) or is_stop_word(word))
        }
        weights = telling or weights
        whole = sum(weights.values()) or 1.0
        asked_for = [word for word in weights if one.words.get(word, 0.0) >= 0.6]
        # Who asks for a pair of characters asks for each of them, and for both parts with "wifi" of "Wi-Fi".
        return sum(weight for word, weight in weights.items() if any(word in found for found in asked_for)) / whole

    def _around(self, line: EntityLine) -> tuple[tuple[list[str], list[str]], list[str]]:
        """Words of the types of relations that go out, of those that come in, and of the neighbours' names."""
        out: dict[str, None] = {}
        into: dict[str, None] = {}
        names: dict[str, None] = {}
        for relation in self._graph.touching.get(line.name, ())[:_RELATIONS]:
            source = relation.source == line.name
            (out if source else into).setdefault(relation.relation_type)
            names.setdefault(relation.target if source else relation.source)
        words = ([word for text in texts for word in words_of(text)] for texts in (out, into))
        return (next(words), next(words)), [word for text in names for word in words_of(text)]

    def _line(self, order: int) -> EntityLine | None:
        """The entity whose line, or further line, has this place."""
        if order not in self._lines:
            line = _line_at(self._graph.entity_lines.blocks, order)
            self._lines[order] = None if line is None else self._graph.entities.get(line.name)
        return self._lines[order]


def _line_at(blocks: list[Block[L]], order: int) -> L | None:
    if order // SPAN >= len(blocks):
        return None
    lines = blocks[order // SPAN].lines
    at = bisect_left(lines, order, key=_order)
    return lines[at] if at < len(lines) and lines[at].order == order else None


def _order(line: EntityLine | RelationLine) -> int:
    return line.order


def _is_title(name: str) -> bool:
    """Whether a name has capitals throughout, as those of people have, and no digits: "Ann Lee", not "Book club"."""
    return not any(word[0].isdigit() or (len(word) > 3 and word[0].islower()) for word in re.findall(r"[^\W_]+", name))


def _some(texts: list[str]) -> Iterator[str]:
    left = _LONG_TEXT
    for text in texts:
        yield text[:left]
        left -= len(text)
        if left <= 0:
            return


def _best(words: dict[str, float], held: list[str]) -> float:
    best = 0.0
    for word in held:
        likeness = words.get(word, 0.0)
        if likeness > best:
            best = likeness
    return best
