"""The seam under test: what stands in for the module `os` in the modules that touch the disk.

Each call of `CALLS` goes to a hook, which gets its name, its arguments and a function that makes it; the hook may make
it, fail it, hold it up, or write it down. Everything else of `os` is the real one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from memory_app.disk import calls
from memory_app.storage import memory_file

CALLS: Final = frozenset(
    {"access", "close", "fchmod", "fchown", "fdatasync", "fstat", "fsync", "link", "listdir", "lstat", "mkdir", "open"}
    | {"read", "rename", "replace", "rmdir", "stat", "unlink", "utime", "write"}
)

Hook = Callable[[str, tuple[Any, ...], Callable[[], Any]], Any]


class Seam:
    """An `os` whose calls go to the hook."""

    def __init__(self, hook: Hook) -> None:
        self._hook = hook
        self.supports_follow_symlinks = os.supports_follow_symlinks | {self.__getattr__("link")}

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in CALLS:
            return real

        def call(*arguments: Any, **options: Any) -> Any:
            return self._hook(name, arguments, lambda: real(*arguments, **options))

        self.__dict__[name] = call
        return call


@contextmanager
def through(hook: Hook) -> Iterator[None]:
    """Until the end of the block, every call that the program makes on the disk goes to the hook."""
    stand_in = Seam(hook)
    modules: tuple[Any, ...] = (calls, memory_file)
    for module in modules:
        module.os = stand_in
    try:
        yield
    finally:
        for module in modules:
            module.os = os
