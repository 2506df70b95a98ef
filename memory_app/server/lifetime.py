"""The signals that ask for the end, and having a loop told of them; the same for every front, on every platform."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:  # whoever asks for the signals alone needs no loop yet
    from asyncio import AbstractEventLoop
    from collections.abc import Callable

_NAMES: Final = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")

ASKING_FOR_THE_END: Final = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))
"""Those that the platform has."""


def on_signals(loop: AbstractEventLoop, stop: Callable[[], None]) -> None:
    """Each of them asks for the same gentle end, however often it comes. Main thread only."""
    for number in ASKING_FOR_THE_END:
        try:
            loop.add_signal_handler(number, stop)
        except NotImplementedError:  # Windows: the handler runs in this thread, the loop has to be woken
            signal.signal(number, lambda *_: _wake(loop, stop))


def _wake(loop: AbstractEventLoop, stop: Callable[[], None]) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(stop)
