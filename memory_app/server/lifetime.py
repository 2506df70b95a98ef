"""The life of a serving process: its termination signals, its run skeleton, and every wait during shutdown.

The same for every transport, on every platform:

1. Before the loop runs there is nothing to finish: a termination signal ends the process at once.
2. While it runs, the first signal stops the transport gently. A second one within a second counts as the same request
   (clients and supervisors send several); a later one ends the process at once with status 128 + its number.
3. After the loop has ended, further signals are ignored: only the interpreter's own shutdown is left.

A signal that was ignored when the process started stays ignored, as `nohup` and job control require.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import signal
import socket
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from memory_app.disk.advice import explain

if TYPE_CHECKING:  # a start that only sets its signals needs no loop yet
    from asyncio import AbstractEventLoop
    from collections.abc import Callable, Coroutine, Iterator, Sequence

TERMINATION_SIGNALS: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)
)
"""Those that the platform has."""

SAME_WISH_SECONDS: Final = 1.0
"""A further signal within this time after the first is no new wish: a terminal's Ctrl-C reaches us twice."""

# Every wait at the end of the process, in the order in which they begin. Together they stay below a minute, since a
# supervisor kills after 90 seconds at most; without a file system that hangs none of them is felt.
LOCK_GRACE_SECONDS: Final = 1.0
"""For calls that wait for another program's lock (the contract, section 8)."""

IN_FLIGHT_SECONDS: Final = 30.0
"""Without one request in flight being answered: a started save or a load that needs longer is not coming back."""

SAVE_SECONDS: Final = 30.0
"""For the writer to finish a started save, counted from the stop; a second for it is left in any case."""

LEAST_SAVE_SECONDS: Final = 1.0
"""What the writer gets if waiting for requests took all of that."""

UNREAD_SECONDS: Final = 2.0
"""Without the client on stdio taking one byte of what is queued for it, after which it is not waited for."""

HTTP_DRAIN_SECONDS: Final = 4
"""For open HTTP connections; streams end at once, so only answers under way are left."""


def end_at_once_on_signals() -> None:
    """Make each termination signal end the process, without a traceback. Main thread only."""
    _handle(lambda number: os._exit(0))


def run(serve: Callable[[], Coroutine[Any, Any, bool]], report: Callable[[str], None], loggers: Sequence[str]) -> int:
    """Run a transport's loop until it ends, and return the exit status. Main thread only.

    `serve` returns False if a thread hangs in the file system. `loggers` are those of packages that would print
    tracebacks and clients' texts.
    """
    import asyncio

    for name in loggers:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    serving = serve()
    try:
        clean = asyncio.run(serving)
    except Exception as error:  # noqa: BLE001 (the edge of the process)
        if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
            reason, step = explain(error, "")
            report(f"cannot serve: {reason}. {step}")
            os._exit(1)  # a loop that was made in part is reported by the interpreter when it is taken down
        report(f"ended by an error of its own: {_described(error)}")
        return 1
    finally:
        serving.close()
        _ignore_signals()
    if not clean:
        os._exit(0)  # the interpreter would wait for the thread that hangs, for ever
    return 0


@contextlib.contextmanager
def stopping_on_signals(loop: AbstractEventLoop, stop: Callable[[], None]) -> Iterator[None]:
    """A context in which the first termination signal calls `stop` on the loop. Main thread only.

    It does not use `loop.add_signal_handler`: closing the loop would restore the signals' deadly default while the
    interpreter still has to shut down.
    """
    first: list[float] = []

    def handle(number: int) -> None:
        if not first:
            first.append(time.monotonic())
            if not loop.is_closed():
                loop.call_soon_threadsafe(stop)
        elif time.monotonic() - first[0] >= SAME_WISH_SECONDS:
            os._exit(128 + number)

    _handle(handle)
    with _waking_on_signals(loop):
        yield


def _ignore_signals() -> None:
    """Ignore termination signals until the process ends.

    The interpreter reports a signal that arrives while its handler changes ("ignored due to race condition", an
    OSError). It is ignored as it should be, so the report is dropped.
    """

    def report_others(unraisable: sys.UnraisableHookArgs) -> None:
        if not issubclass(unraisable.exc_type, OSError):
            sys.__unraisablehook__(unraisable)

    sys.unraisablehook = report_others
    _handle(signal.SIG_IGN)


def _handle(action: Callable[[int], None] | signal.Handlers) -> None:
    handler = action if isinstance(action, signal.Handlers) else lambda number, frame: action(number)
    for number in TERMINATION_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


@contextlib.contextmanager
def _waking_on_signals(loop: AbstractEventLoop) -> Iterator[None]:
    """A context in which a signal that arrives right before the loop waits ends that wait. The Windows loop needs no
    help.
    """
    try:
        ours, theirs = socket.socketpair()
    except OSError:  # no descriptor is left: the signal is handled when the loop wakes for another reason
        yield
        return
    with ours, theirs:
        ours.setblocking(False)
        theirs.setblocking(False)
        try:
            loop.add_reader(ours, lambda: ours.recv(64))
        except NotImplementedError:
            yield
            return
        before = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            loop.remove_reader(ours)


def _described(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{type(error).__name__}, {error.strerror}"
    return type(error).__name__
