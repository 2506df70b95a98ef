"""The program's errors: one small tree, split by who has to act.

Every text names the path or the entity concerned and the next step, because it is shown unchanged: to a model, in a
client's log, or in a terminal.
"""

from __future__ import annotations


class MemoryServerError(Exception):
    """An error with a text of this program's own. Each transport catches it at its edge and shows the text."""


class GraphError(MemoryServerError):
    """A rule of the graph or of a tool's arguments is broken: the tool's `isError` text. Nothing was changed."""


class StoreError(MemoryServerError):
    """The file or its lock failed: the tool's `isError` text.

    `stored` says whether the change is in the file nevertheless (possible only if the failure came after the rename).
    It is None if that is unknown, because the disk failed in the rename and did not answer when the file was checked.
    """

    def __init__(self, text: str, *, stored: bool | None = False) -> None:
        super().__init__(text)
        self.stored = stored


class UsageError(MemoryServerError):
    """The command line or the environment is wrong: one line on stderr, exit status 2."""
