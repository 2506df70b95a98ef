"""The environment variables of this program: their names, how a value is read, names that look like them.

Reads no environment itself: it is passed in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from memory_app.errors import UsageError
from memory_app.text import shown

FILE: Final = "MEMORY_FILE_PATH"
PROFILE: Final = "MEMORY_PROFILE"
HOME: Final = "MEMORY_SERVER_HOME"
"""The folder that counts as the server's own; the container image sets it."""

HISTORY: Final = "MEMORY_HISTORY"
"""How many days earlier states of the memory are kept, or `off`."""

HTTP_TOKEN: Final = "MEMORY_HTTP_TOKEN"
"""The bearer token that `serve --http` asks its clients for."""

ARCHIVE: Final = "MEMORY_SERVER_ARCHIVE"
"""The real path of the archive; the archive's own start sets it for the code that it unpacks."""

SET_BY_PEOPLE: Final = (FILE, PROFILE, HOME, HISTORY, HTTP_TOKEN)

_OFTEN_MEANT: Final = frozenset(
    f"MEMORY{end}"
    for end in (
        *("FILE", "PATH", "FILENAME", "LOCATION", "DIR", "FOLDER"),
        *("JSON", "JSONL", "JSONFILE", "JSONPATH", "JSONLPATH"),
    )
)
"""Names, without their underscores, that people set for MEMORY_FILE_PATH and that are not similar enough to find."""

_HISTORY_DAYS: Final = 30
"""What is kept if nobody says otherwise: long enough to notice a loss, short enough to forget."""

_SIMILAR: Final = 0.86
"""Of 1, as difflib counts: MEM_FILE_PATH (0.88) is found, and no other MEMORY_SERVER_… is taken for _HOME."""

_SHORTEST: Final = 6
_LONGEST: Final = 24
"""Letters of a name that can be similar enough; the others need not be compared."""


def value_of(name: str, environ: Mapping[str, str], platform: str) -> str | None:
    """The variable's value; None if it is unset or only white space. Names ignore case on Windows."""
    value = environ.get(name)
    if value is None and platform == "win32":
        value = next((held for key, held in environ.items() if key.upper() == name.upper()), None)
    return value if value is not None and value.strip() else None


def history_days(environ: Mapping[str, str], platform: str) -> int:
    """How many days earlier states are kept, 0 for none. UsageError if the variable is neither a number of days nor
    `off`.
    """
    written = (value_of(HISTORY, environ, platform) or "").strip().lower()
    if written in ("", "on"):
        return _HISTORY_DAYS
    if written == "off":
        return 0
    if not (written.isascii() and written.isdecimal() and len(written) <= 5):
        raise UsageError(f"{HISTORY} is {shown(written)}: it takes a number of days, or off. Example: {HISTORY}=90")
    return int(written)


def misspelt(environ: Mapping[str, str], platform: str) -> tuple[tuple[str, str], ...]:
    """Each set variable that was probably meant to be one of ours, with the one that was meant."""
    found = []
    for name in sorted(environ):
        plain = name.upper().replace("_", "").replace("-", "")
        if not (plain.startswith("M") and _SHORTEST <= len(plain) <= _LONGEST and value_of(name, environ, platform)):
            continue
        if (name.upper() if platform == "win32" else name) not in (*SET_BY_PEOPLE, ARCHIVE):
            meant = FILE if plain in _OFTEN_MEANT else _most_similar(plain)
            if meant is not None:
                found.append((name, meant))
    return tuple(found)


def _most_similar(plain: str) -> str | None:
    from difflib import get_close_matches  # few names come so far, and the start is to be fast

    ours = {name.replace("_", ""): name for name in SET_BY_PEOPLE}
    return next((ours[match] for match in get_close_matches(plain, ours, 1, _SIMILAR)), None)
