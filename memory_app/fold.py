"""Folding of text for search: what `cafe`, `Café` in either normal form and `CAFÉ` have in common.

NFKD, case folding, NFKD again (case folding can make characters that decompose), the combining marks U+0300 to U+036F
dropped, and the dotless i taken as i. Marks of other scripts stay, since there they tell words apart.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

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
