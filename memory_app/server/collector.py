"""Garbage collection in a serving process: long-lived objects are left alone.

Objects built by a load stay alive and form no cycles, so a collection during a load finds nothing and takes as long as
parsing. Therefore the collector is off during a load, and a large graph is excluded from later collections. Calls leave
no cycles either, so a pass is made seldom. Process-wide switches are set only here and, for the start, in `faststart`.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Final

from memory_app.storage.memory_file import Snapshot

_LARGE: Final = 2000
"""Lines: passes over fewer cost nothing that could be measured."""

_SELDOM: Final = 10_000
"""Objects that are made and not yet freed when a pass begins. Python's own 700 are those of a few calls in flight: of
many creates sent at once, the passes took a third of the time, and the more the larger the graph grew.
"""


def settle() -> None:
    """Call it once all that serves is made, which will never be garbage."""
    gc.freeze()
    gc.set_threshold(_SELDOM)


class Collector:
    """The loader of one store."""

    def __init__(self) -> None:
        self._frozen = 0  # lines of the graph that the collector was told to leave alone

    def load(self, read: Callable[[], Snapshot]) -> Snapshot:
        """Read a snapshot with the collector off."""
        collecting = gc.isenabled()
        gc.disable()
        try:
            snapshot = read()
            size = snapshot.graph.entity_lines.size + snapshot.graph.relation_lines.size
            if size > max(_LARGE, 2 * self._frozen):
                # Not at each load: of the calls in flight too, all that is in cycles stays for ever.
                self._frozen = size
                gc.freeze()
            return snapshot
        finally:
            if collecting:
                gc.enable()  # after the freeze: the next allocation would begin a pass over all that is new
