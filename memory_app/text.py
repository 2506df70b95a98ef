# ruff: noqa: RUF001 (letters that look alike are the matter here)
"""Text: folding for search, lone surrogates, one safe line, and numbers with their nouns.

Folding maps `cafe`, `Café` in either normal form and `CAFÉ` to the same text.

1. NFKD, case folding, NFKD again: case folding can produce characters that decompose.
2. Marks that only modify a letter are removed: U+0300 to U+036F, the vowel and reading marks of Arabic and Hebrew, the
   Arabic tatweel. Marks of other scripts stay (Japanese, Indic), because there they distinguish words.
3. Latin letters without a decomposition become their base letters: `đ` is `d`, `ø` is `o`, `æ` is `ae`.

The time for any text is proportional to its length. The viewer's fold.js does the same.

Uses only the standard library and no other module of the program: every layer may import this one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

SURROGATE: Final = re.compile("[\ud800-\udfff]")

_MARKS: Final = (
    "\u0300-\u036f"
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # Hebrew
    "\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u08d3-\u08e1\u08e3-\u08ff"
)
# Small letters alone: capitals are folded by then.
_LETTERS: Final = {
    **dict.fromkeys("ƀɓƃ", "b"),
    **dict.fromkeys("ȼƈɕ", "c"),
    **dict.fromkeys("đðɖɗƌȡ", "d"),
    **dict.fromkeys("ɇəɛǝ", "e"),
    **dict.fromkeys("ƒ", "f"),
    **dict.fromkeys("ǥɠɣ", "g"),
    **dict.fromkeys("ħɦⱨ", "h"),
    **dict.fromkeys("ıɨɩ", "i"),
    **dict.fromkeys("ɉȷ", "j"),
    **dict.fromkeys("ƙĸⱪ", "k"),
    **dict.fromkeys("łƚɫɬⱡȴ", "l"),
    **dict.fromkeys("ɱ", "m"),
    **dict.fromkeys("ŋɲƞȵ", "n"),
    **dict.fromkeys("øɔɵ", "o"),
    **dict.fromkeys("ƥᵽ", "p"),
    **dict.fromkeys("ɋʠ", "q"),
    **dict.fromkeys("ɍɽ", "r"),
    **dict.fromkeys("ȿʂ", "s"),
    **dict.fromkeys("ŧƫƭʈⱦȶ", "t"),
    **dict.fromkeys("ʉ", "u"),
    **dict.fromkeys("ʋ", "v"),
    **dict.fromkeys("ⱳ", "w"),
    **dict.fromkeys("ɏƴ", "y"),
    **dict.fromkeys("ƶȥɀʐⱬ", "z"),
    "æ": "ae",
    "œ": "oe",
    "þ": "th",
}
_CHANGED: Final = re.compile(f"[{_MARKS}]+|[{''.join(_LETTERS)}]")

# Normalizing sorts each run of marks, in the square of its length, while no other thread runs. So a text is normalized
# in pieces. Of real text no piece begins with a mark: the longest runs that languages use have about ten, and UAX #15
# calls thirty enough.
_PIECE: Final = 256


def fold(text: str) -> str:
    """The folded form of a text. Folding a text of pieces joined by NUL gives their folded forms joined by NUL."""
    if text.isascii():
        return text.lower()
    if len(text) <= _PIECE:
        return _CHANGED.sub(_base, _decomposed(text))
    return _CHANGED.sub(_base, "".join(map(_decomposed, _pieces(text))))


def _decomposed(text: str) -> str:
    return unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())


def _base(found: re.Match[str]) -> str:
    return _LETTERS.get(found[0], "")


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces that do not begin with a mark, unless a run of marks is longer than a piece."""
    start, length = 0, len(text)
    while length - start > _PIECE:
        end = start + _PIECE
        while end > start and _is_mark(text[end]):
            end -= 1
        if end == start:
            end = start + _PIECE
        yield text[start:end]
        start = end
    yield text[start:]


def _is_mark(character: str) -> bool:
    """Whether normalizing may move a part of this character before the character in front of it."""
    return unicodedata.combining(unicodedata.normalize("NFKD", character)[0]) != 0


def without_lone_surrogates(text: str) -> str:
    """`text` with U+FFFD for each lone half of a surrogate pair; two matching halves are joined."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clean(text: str) -> str:
    """The text as it is served and looked up: U+FFFD for each lone surrogate."""
    return SURROGATE.sub("\ufffd", text)


def shown(text: str) -> str:
    """`text`, usually a path, as one safe line for a terminal: line ends and bytes that are not UTF-8 become ?"""
    return "".join(c if c.isprintable() or c == "\u3000" else "?" for c in text)  # the wide space occurs in real names


def counted(number: int, noun: str) -> str:
    """`1 entity`, `2,000 entities`."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun[:-1] + 'ies' if noun.endswith('y') else noun + 's'}"
