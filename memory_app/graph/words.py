"""Words: how the loose search splits a text and a query.

A text gives its words, split at camelCase, `-` and `_`, and what a hyphen joins also as one (`wifi` of `Wi-Fi`). Where
a script writes no spaces it gives pieces instead: single characters and pairs of Chinese ones, pairs of hiragana,
threes of Thai, Lao, Khmer and Burmese. Everything is folded.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple

from memory_app.graph import stopwords
from memory_app.text import fold

_MOST_TERMS: Final = 32  # of one query: more words make no difference to what is meant
_CAMEL: Final = re.compile("(?<=[a-zß-öø-ÿа-яё])(?=[A-ZÀ-ÖØ-ÞА-ЯЁ])")
_HYPHENED: Final = re.compile("[^\\W\\d_][^\\W_]*(?:[-\u2010\u2011][^\\W_]+)+")
_HYPHENS: Final = re.compile("[-\u2010\u2011]")
# As _CAMEL, at a quarter of the time: of most texts only the capitals are looked at.
_HAS_CAMEL: Final = re.compile("[A-ZÀ-ÖØ-ÞА-ЯЁ](?<=[a-zß-öø-ÿа-яё].)")
_LATIN_WORD: Final = re.compile("[^\\W_]+")
_ASCII_WORDS: Final = "".join(character if character.isalnum() else " " for character in map(chr, range(128)))
_HAN: Final = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
_HIRAGANA: Final = "\u3041-\u3096\u309d\u309e"
_VOICING: Final = "\u3099\u309a"
_NO_SPACES: Final = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e80-\u0ece\u1000-\u1049\u1050-\u109f\u1780-\u17d3\ua9e0-\ua9fe\uaa60-\uaa7f"
)
_NO_WORD: Final = (
    "\\s\0-/:-@\\[-`{-\xa9\xab-\xb1\xb4\xb6-\xb8\xbb\xbf\xd7\xf7\u02b9-\u02df\u055a-\u055f\u0589\u058a\u05be\u05c0\u05c3\u05f3\u05f4"
    "\u060c\u061b\u061f\u066a-\u066d\u06d4\u0964\u0965\u0970\u0e2f\u0e3f\u0e4f\u0e5a\u0e5b\u0f0b-\u0f12\u104a-\u104f\u10fb"
    "\u1361-\u1368\u17d4-\u17db\u2000-\u209f\u20a0-\u20cf\u2190-\u2bff\u3000-\u3004\u3008-\u3020\u3030\u303d\u30a0\u30fb\ufe10-\ufe6f"
    "\ufffc\ufffd\U0001f000-\U0001faff"
)
_JOINERS: Final = re.compile("[\xad\u200c\u200d\u2060\ufeff]")
# One letter in two shapes: final letters of Hebrew, Arabic ones that keyboards of other languages write otherwise.
_SEMITIC: Final = str.maketrans("ךםןףץةىیکہھ", "כמנפצهييكهه")
_PREFIXES: Final = tuple(stopwords.PREFIXES.split())
_QUOTED: Final = re.compile('["“”„«»「」『』]([^"“”„«»「」『』]+)["“”„«»「」『』]')
_FILTER: Final = re.compile(
    "\\b(?:entity_?)?(?:type|kind)\\s*[:=]\\s*(?:\"([^\"]+)\"|'([^']+)'|([^\\s\"',;]+))", re.IGNORECASE
)
# "CI", "IT", "US": no stop words, as "ci", "it", "us" are; nor an operator between words.
_ABBREVIATION: Final = re.compile(r"\b(?!(?:AND|OR|NOT|THE)\b)[A-Z]{2,4}\b")
_CAPITALS: Final = re.compile(r"\b[A-Z]{2,}\b")
_APOSTROPHES: Final = re.compile("['\u2019\u02bc`]")


class Term(NamedTuple):
    """One thing that a query asks for: a word in each of its forms, or a piece of a text without spaces."""

    forms: tuple[str, ...]
    weight: float = 1.0
    weak: bool = False  # nobody misses it
    proper: bool = False  # a name, by its capital letter
    run: int = 0  # pieces of one number belong to one text without spaces; 0 for a word
    exact: bool = False  # stands for itself alone: no other ending, no misspelling
    abbreviation: bool = False  # in capitals
    attribute: bool = False  # what is asked about another word: hardly missed
    as_name: bool = False  # a stop word of some language, written as a name is


class Query(NamedTuple):
    """A query taken apart."""

    terms: tuple[Term, ...]
    types: tuple[str, ...]  # folded words, of which the entity's type has to have each
    phrases: tuple[str, ...]  # folded, as they were quoted
    is_sentence: bool  # and not words one after the other


def words_of(text: str) -> list[str]:
    """The words and pieces of a text, those in ASCII first: the others take ten times as long."""
    if text.isascii():
        found = _split(fold(text))
    else:
        parts = text.split()
        found = _split(fold(" ".join([part for part in parts if part.isascii()])))
        found += _split(fold(" ".join([part for part in parts if not part.isascii()])))
    if _HAS_CAMEL.search(text):
        found += _split(fold(_CAMEL.sub(" ", text)))
    return found


def words_of_folded(folded: str) -> list[str]:
    """As `words_of`, where no camelCase is to be split."""
    return _split(folded)


def _joined(folded: str) -> Iterator[tuple[list[str], str]]:
    """The parts of each hyphened word, and the word without its hyphens."""
    if "-" in folded or "\u2010" in folded or "\u2011" in folded:
        for whole in _HYPHENED.findall(folded):
            parts = _HYPHENS.split(whole)
            yield parts, "".join(parts)


@functools.cache
def _pieces() -> re.Pattern[str]:
    """Runs of Chinese, of hiragana, of scripts without spaces, and words. Compiling it would slow each start."""
    han, hiragana, spaceless = f"[{_HAN}]+", f"[{_HIRAGANA}][{_HIRAGANA}{_VOICING}]*", f"[{_NO_SPACES}]+"
    word = f"[^{_NO_WORD}{_HAN}{_HIRAGANA}{_NO_SPACES}]+"
    return re.compile(f"({han})|({hiragana})|({spaceless})|({word})")


@functools.cache
def _shortened() -> re.Pattern[str]:
    """Two Chinese characters with little hiragana between them."""
    return re.compile(f"([{_HAN}])[{_HIRAGANA}][{_HIRAGANA}{_VOICING}]?(?=([{_HAN}]))")


def _split(folded: str) -> list[str]:
    found = [whole for _, whole in _joined(folded)]
    if folded.isascii():
        found += folded.translate(_ASCII_WORDS).split()
        return found
    has_hiragana = False
    for han, hiragana, spaceless, word in _pieces().findall(_JOINERS.sub("", folded)):
        if word:
            found += _forms(word) if "\u0590" <= word[0] <= "\u06ff" else [word]
        elif han:
            found += [*han, *_grams(han, 2)]
        elif hiragana:
            found += _grams(unicodedata.normalize("NFC", hiragana), 2)
            has_hiragana = True
        else:
            found += _grams(spaceless, 3)
    if has_hiragana:  # which may be left out between two characters: 引っ越し and 引越し
        found += [one + other for one, other in _shortened().findall(folded)]
    return found


def _grams(run: str, size: int) -> list[str]:
    return [run[at : at + size] for at in range(max(1, len(run) - size + 1))]


def _forms(word: str) -> list[str]:
    """An Arabic or Hebrew word, and what is left of it without what is written together with it."""
    word = word.translate(_SEMITIC)
    found = [word]
    if not word.startswith(_PREFIXES):
        return found
    for prefix in _PREFIXES:
        if word.startswith(prefix) and len(word) - len(prefix) >= 3:
            found.append(word[len(prefix) :])
    return found


class _Word(NamedTuple):
    """A word or piece of a query, and the number of the run that it is a piece of; 0 for a word."""

    text: str
    run: int
    capital: bool  # as a name has one: not in a language whose nouns all have
    upper: bool  # it begins with a capital


class _Lists(NamedTuple):
    stop: frozenset[str]
    ambiguous: frozenset[str]
    weak: frozenset[str]
    attributes: frozenset[str]
    after_apostrophe: frozenset[str]
    nouns_have_capitals: frozenset[str]
    months: dict[str, int]


@functools.cache
def _lists() -> _Lists:
    ambiguous = frozenset(fold(stopwords.AMBIGUOUS).split())
    stop = fold(stopwords.STOP_WORDS).split()
    return _Lists(
        frozenset([*stop, *(word.translate(_SEMITIC) for word in stop)]) - ambiguous,
        ambiguous,
        frozenset(fold(stopwords.WEAK_WORDS).split()),
        frozenset(fold(stopwords.ATTRIBUTES).split()),
        frozenset(stopwords.AFTER_APOSTROPHE.split()),
        frozenset(stopwords.NOUNS_HAVE_CAPITALS.split()),
        {name: at for at, names in enumerate(stopwords.MONTHS, 1) for name in fold(names).split()},
    )


@functools.cache
def _phrases() -> re.Pattern[str]:
    """Stop words of scripts without spaces. Compiling them takes as long as all lists: it waits for a query in one."""
    phrases = sorted(fold(stopwords.PHRASES).split(), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, phrases)))


@functools.cache
def endings() -> frozenset[str]:
    """What may follow the stem of a word."""
    korean = fold(stopwords.KOREAN_ENDINGS).split()
    return frozenset([*fold(stopwords.ENDINGS).split(), *(word.translate(_SEMITIC) for word in korean), *korean])


def is_stop_word(word: str) -> bool:
    """Whether a folded word says nothing in any of the languages."""
    return word in _lists().stop


def is_number(word: str) -> bool:
    """Whether a word is a number of something, as those of tickets and versions are, and no year."""
    return word.isdigit() and not _is_year(word)


def read_query(query: str) -> Query:
    """A query taken apart. No terms and no types: it asks for nothing."""
    types = [next(filter(None, found)) for found in _FILTER.findall(query)]
    rest = _FILTER.sub(" ", query)
    phrases = [fold(found).strip() for found in _QUOTED.findall(rest)]
    lists = _lists()
    terms: dict[tuple[str, ...], Term] = {}
    leftover: dict[tuple[str, ...], Term] = {}
    is_sentence = re.search("[?\uff1f\u061f;]", rest) is not None
    stopped = False
    shouted = set() if rest.isupper() else {fold(found) for found in _CAPITALS.findall(rest)}
    abbreviations = set() if rest.isupper() else {fold(found) for found in _ABBREVIATION.findall(rest)}
    wholes = {part: whole for parts, whole in _joined(fold(rest)) for part in parts}
    words = list(_query_words(rest, lists))
    texts = [word.text for word in words]
    dates = {at: forms for at in range(len(words)) if (forms := _of_date(texts, at, lists))}
    for at, (word, run, capital, upper) in enumerate(words):
        if at in dates:
            terms.setdefault(dates[at], Term(dates[at], exact=True))
            continue
        forms = (word,) if run else tuple(_forms(word)) if "\u0590" <= word[0] <= "\u06ff" else (word,)
        if word in abbreviations:
            terms.setdefault(forms, Term(forms, proper=at > 0, abbreviation=True))
            continue
        if forms[0] in lists.stop or word in lists.stop:
            is_sentence = stopped = True
            continue  # a query of such words alone asks for nothing that the earlier stages would not have found
        if word in wholes:
            forms = (*forms, wholes[word])
        if not run and len(word) == 1 and not word.isdigit():
            leftover.setdefault(forms, Term(forms, 0.3, exact=True))
            continue
        if word in lists.ambiguous:
            term = Term(forms, 0.3, weak=True, exact=True, as_name=upper and (at > 0 or len(words) < 3))
            is_sentence = is_sentence or (len(word) == 2 and not upper and 0 < at < len(words) - 1)  # "de", "la"
        elif word in lists.weak:
            term = Term(forms, 0.5, weak=True)
        elif run:
            term = Term(forms, _weight(word), weak=_is_hiragana(word), run=run, exact=len(word) > 1)
        else:
            if word.isdigit() and len(word) == 1:
                terms.setdefault(forms, Term(forms, 0.5))
                continue
            term = Term(
                forms, proper=capital and at > 0, abbreviation=word in shouted, attribute=word in lists.attributes
            )
        terms.setdefault(forms, term)
    chosen = list(terms.values())[:_MOST_TERMS]
    # Words that are stop words elsewhere, among stop words, are a question of nothing, unless one of them is a name:
    # what the memory knows decides that.
    if all(term.weak for term in chosen) and (not stopped or any(not term.exact or term.run for term in chosen)):
        chosen = [term._replace(weak=False) for term in chosen]
    if not types and all(term.weak for term in chosen):
        chosen = [*chosen, *leftover.values()][:_MOST_TERMS]
    typed = tuple(word for text in types for word in words_of(text))
    return Query(tuple(chosen), typed, tuple(filter(None, phrases)), is_sentence)


def _of_date(words: list[str], at: int, lists: _Lists) -> tuple[str, ...]:
    """The forms of a word that is the month or the day of a date: "march" beside a number, "03" and "09" beside a year.

    Empty for any other word.
    """
    word = words[at]
    beside = [words[other] for other in (at - 1, at + 1) if 0 <= other < len(words)]
    if word in lists.months:
        month = lists.months[word]
        return (word, f"{month:02}", f"{month}") if any(other.isdigit() for other in beside) else ()
    if not word.isdigit() or len(word) > 2 or word == "0":
        return ()
    if any(other in lists.months for other in beside):
        return (word, f"{int(word):02}" if len(word) == 1 else word.lstrip("0"))
    if at and _is_year(words[at - 1]) and at + 1 < len(words) and words[at + 1].isdigit() and 0 < int(word) < 13:
        return (word, *fold(stopwords.MONTHS[int(word) - 1]).split())  # of 2024-03-09, as it is written by machines
    if at > 1 and _is_year(words[at - 2]) and words[at - 1].isdigit() and len(words[at - 1]) <= 2:
        return (word, word.lstrip("0") or word)
    return ()


def _is_year(word: str) -> bool:
    return len(word) == 4 and word.isdigit() and word[:2] in ("19", "20")


def _query_words(query: str, lists: _Lists) -> Iterator[_Word]:
    split = _LATIN_WORD.sub(_split_camel, query)
    capitals = {fold(word) for word in re.findall(r"[^\W\d_]+", split) if word[:1].isupper()}
    written = capitals if not query.isupper() else set()
    folded = _JOINERS.sub("", fold(split))
    if query.isupper() or not lists.nouns_have_capitals.isdisjoint(folded.split()):
        capitals = set()
    parts = _APOSTROPHES.split(folded)
    kept = [parts[0]]
    for part in parts[1:]:
        first = re.match(r"\w*", part)
        after = first[0] if first else ""
        kept.append(part[len(after) :] if after in lists.after_apostrophe else part)
    run = 0
    for han, hiragana, spaceless, word in _pieces().findall(" ".join(kept)):
        if word:
            yield _Word(word, 0, word in capitals, word in written)
            continue
        for part in _phrases().sub(" ", han or hiragana or spaceless).split():
            piece = unicodedata.normalize("NFC", part)  # as `words_of` takes hiragana with its voicing marks
            if hiragana and len(piece) < 2:
                continue
            run += 1
            for gram in _grams(piece, 3 if spaceless else 2):
                yield _Word(gram, run, False, False)


def _split_camel(found: re.Match[str]) -> str:
    """A word split at its capitals, unless a part is too short to be a word: `iOS` and `macOS` are asked for whole."""
    parts = _CAMEL.split(found[0])
    return " ".join(parts) if min(map(len, parts)) >= 3 else found[0]


def _is_hiragana(text: str) -> bool:
    return "\u3041" <= text[0] <= "\u309e"


def _weight(gram: str) -> float:
    """What a piece counts, beside a word of two Chinese or four Thai characters."""
    if _is_hiragana(gram):
        return 0.4
    if "\u0e00" <= gram[0] <= "\u17ff" or (gram[0] >= "\ua9e0" and gram[0] <= "\uaa7f"):
        return 0.5
    return 0.8 if len(gram) > 1 else 0.6
