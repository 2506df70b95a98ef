"""An `os` for `memory_app.disk.calls`: something of a test's choice right before a call that changes the disk.

Put there with `monkeypatch.setattr(disk, "os", GatedOs())`. It forces a moment instead of waiting for it: what another
process does between two calls is either done in line, before the second of them (`before`), or by another thread while
the first one waits at a gate (`gate`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, Final

PATIENCE: Final = 20.0
"""Seconds that any wait in a test may take; reached only when the test fails."""

Match = Callable[[tuple[Any, ...]], bool]


class Gate:
    """Stops the first call that fits, until `open`."""

    def __init__(self) -> None:
        self._reached = threading.Event()
        self._open = threading.Event()

    def wait_until_reached(self) -> None:
        assert self._reached.wait(PATIENCE), "the call was never made"

    def open(self) -> None:
        self._open.set()

    def pass_through(self) -> None:
        self._reached.set()
        assert self._open.wait(PATIENCE), "the gate was never opened"


class GatedOs:
    """The `os` module, with steps that run before a call, and a record of all calls made.

    The heartbeats of other tests' locks, which may still run, are no part of it.
    """

    def __init__(self) -> None:
        self._others = {thread.ident for thread in threading.enumerate()} - {threading.get_ident()}
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self._steps: list[tuple[str, Match, Callable[[], object], bool]] = []
        self._mutex = threading.Lock()

    def names(self) -> list[str]:
        """The calls that were made, in their order."""
        return [name for name, _ in self.calls]

    def before(
        self, name: str, step: Callable[[], object], when: Match = lambda _arguments: True, *, always: bool = False
    ) -> None:
        """Run the step, in the caller's thread, before the next call of this name that fits, or before all."""
        self._steps.append((name, when, step, always))

    def gate(self, name: str, when: Match = lambda _arguments: True) -> Gate:
        gate = Gate()
        self.before(name, gate.pass_through, when)
        return gate

    def fail(
        self, name: str, error: BaseException, when: Match = lambda _arguments: True, *, always: bool = False
    ) -> None:
        """Let the next call of this name that fits, or all of them, raise the error, with nothing done."""

        def raise_it() -> None:
            raise error

        self.before(name, raise_it, when, always=always)

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if not callable(real) or isinstance(real, type):
            return real

        def call(*arguments: Any, **more: Any) -> Any:
            if threading.get_ident() in self._others:
                return real(*arguments, **more)
            with self._mutex:
                self.calls.append((name, arguments))
                step = self._take_step(name, arguments)
            if step is not None:
                step()
            return real(*arguments, **more)

        return call

    def _take_step(self, name: str, arguments: tuple[Any, ...]) -> Callable[[], object] | None:
        for number, (wanted, when, step, always) in enumerate(self._steps):
            if wanted == name and when(arguments):
                if not always:
                    del self._steps[number]
                return step
        return None


def on(path: object) -> Match:
    """Fits calls whose first argument is the path."""
    return lambda arguments: bool(arguments) and arguments[0] == str(path)


def in_thread(thread_name: str) -> Match:
    """Fits calls by the thread of this name."""
    return lambda _arguments: threading.current_thread().name == thread_name


def reading(arguments: tuple[Any, ...]) -> bool:
    """Fits calls of `open` that make nothing."""
    return not arguments[1] & os.O_CREAT
