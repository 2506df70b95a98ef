"""Notices: what was tolerated in a memory file, or kept because of it, for one line on stderr. Pure."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, NamedTuple

_LINES_SHOWN: Final = 5


class Notice(NamedTuple):
    """Never holds contents of the file. `what` is said about each of the `lines`, or about the file if there are
    none.
    """

    what: str
    lines: tuple[int, ...] = ()
    """Line numbers, each once, in order."""
    where: str = ""
    """The name of a file that this is about; it differs each time."""

    @property
    def kind(self) -> Hashable:
        """Equal for notices of which one is enough. Lines that only moved are nothing new; additional lines are."""
        return self.what, len(self.lines)

    def __str__(self) -> str:
        if not self.lines:
            return f"{self.what} ({self.where})" if self.where else self.what
        shown = ", ".join(map(str, self.lines[:_LINES_SHOWN]))
        if len(self.lines) == 1:
            return f"line {shown} {self.what}"
        more = len(self.lines) - _LINES_SHOWN
        return f"{len(self.lines)} lines ({shown}{f' and {more} more' if more > 0 else ''}): each {self.what}"
