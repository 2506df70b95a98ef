"""Names that may mean the same thing: cheap to find, and always left to a person to decide.

Two names are alike if they differ only in case, accents, spaces and punctuation, or in a single letter. Names that
contain different numbers ("Step 1", "Step 2") are meant to be different.
"""

from __future__ import annotations

import re
from typing import Final

from memory_app.text import fold

_NO_LETTER: Final = re.compile(r"[\W_]+")
_DIGITS: Final = re.compile(r"\d+")
_SHORTEST: Final = 6
"""Letters from which on one other letter is more likely a slip than another word."""

_LONGEST: Final = 80
"""Letters: longer names are sentences, and each letter costs an entry."""

_MOST: Final = 30_000
"""Names among which single letters are compared; beyond it that would take longer than all else together."""


def alike(names: list[str]) -> list[tuple[str, ...]]:
    """Groups of names that may mean the same, in the order of their first names."""
    by_key: dict[str, list[str]] = {}
    for name in names:
        by_key.setdefault(_NO_LETTER.sub("", fold(name)) or name, []).append(name)
    groups = [tuple(group) for group in by_key.values() if len(group) > 1]
    if len(by_key) <= _MOST:
        groups += [(by_key[one][0], by_key[other][0]) for one, other in _one_letter_apart(list(by_key))]
    place = {name: number for number, name in enumerate(names)}
    return sorted(groups, key=lambda group: place[group[0]])


def _one_letter_apart(keys: list[str]) -> list[tuple[str, str]]:
    """Pairs of keys that become equal when at most one letter of each is removed."""
    found: dict[tuple[str, str], None] = {}
    seen: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for key in keys:
        digits = tuple(_DIGITS.findall(key))
        letters = _DIGITS.sub("", key)
        if not _SHORTEST <= len(letters) <= _LONGEST:
            continue
        for shorter in {letters} | {letters[:n] + letters[n + 1 :] for n in range(len(letters))}:
            others = seen.setdefault((digits, shorter), [])
            for other in others:
                if abs(len(other) - len(key)) <= 1:
                    found[other, key] = None
            others.append(key)
    return list(found)
