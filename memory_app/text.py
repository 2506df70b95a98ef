"""Text: folding for search, lone surrogates, one safe line, and numbers with their nouns.

Folding gives what `cafe`, `Café` in either normal form and `CAFÉ` have in common: NFKD, case folding, NFKD again (case
folding can make characters that decompose), the combining marks U+0300 to U+036F dropped, and the dotless i taken as i.
Marks of other scripts stay, since there they tell words apart. Standard library only, and no other module of the
program: every layer may import this one.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

SURROGATE: Final = re.compile("[\ud800-\udfff]")
_MARKS: Final = re.compile("[\u0300-\u036f]+")
# Those of them that can go before anything else without a difference to the rest: not the iota below, which folds to a
# letter, and not the joiner that keeps marks apart. Normalizing a long run of marks takes the square of its length.
_LOOSE_MARKS: Final = re.compile("[\u0300-\u0344\u0346-\u034e\u0350-\u036f]+")


def fold(text: str) -> str:
    """The folded form of a text. Folding pieces that are joined by a NUL gives the pieces' folded forms so joined."""
    if text.isascii():
        return text.lower()
    loose = _LOOSE_MARKS.sub("", text)
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", loose).casefold())
    return _MARKS.sub("", decomposed).replace("\u0131", "i")


def without_lone_surrogates(text: str) -> str:
    """`text` with U+FFFD for each half of a surrogate pair that stands alone; two halves that belong together join."""
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
    """`text`, as a rule a path, fit for one line of a terminal: line ends and bytes that are no UTF-8 become ?"""
    return "".join(c if c.isprintable() or c == "\u3000" else "?" for c in text)  # the wide space stands in real names


def counted(number: int, noun: str) -> str:
    """`1 entity`, `2,000 entities`."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun[:-1] + 'ies' if noun.endswith('y') else noun + 's'}"
