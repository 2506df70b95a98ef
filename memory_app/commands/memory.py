"""How commands reach the memory: its path, its bytes, its graph, and changes through the Store."""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

from memory_app.commands.screen.terminal import say, working
from memory_app.disk import calls, folders, whole
from memory_app.errors import StoreError, UsageError
from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from memory_app.location.choice import Location, surroundings
from memory_app.location.environment import history_days
from memory_app.location.migration import find
from memory_app.storage import history
from memory_app.storage.history import NOT_KEPT
from memory_app.storage.store import Store
from memory_app.text import shown

T = TypeVar("T")

_SILENCE: Final = 1.0
"""Seconds to wait for another writer before a message is printed."""


def locate(asked: argparse.Namespace, *, writes: bool = False) -> Location:
    """As `find_memory`, with its notes printed to stderr."""
    location = find_memory(asked, writes=writes)
    for note in location.notes:
        say(f"memory-server: {note}")
    return location


def find_memory(asked: argparse.Namespace, *, writes: bool = False) -> Location:
    """The requested memory. Only a command that `writes` moves a file with the old name."""
    return find(asked.file, asked.profile, surroundings(os.environ, sys.argv[0]), moves=writes)


def require_memory(asked: argparse.Namespace, *, writes: bool = False) -> Location:
    """The requested memory. UsageError if it does not exist."""
    location = locate(asked, writes=writes)
    if not os.path.exists(location.path):
        raise no_memory(location)
    return location


def require_past(asked: argparse.Namespace, *, writes: bool = False) -> Location:
    """The requested memory, or what its history has of it. UsageError if there is neither."""
    location = locate(asked, writes=writes)
    if not os.path.exists(location.path) and not history.generations(os.path.realpath(location.path)):
        raise no_memory(location)
    return location


def no_memory(location: Location) -> UsageError:
    """What to say where no memory is: most often the client's memory is another file."""
    return UsageError(
        f"there is no memory at {shown(location.path)} ({location.why}) yet. "
        "Name another file with --file, or run doctor to see where memories are."
    )


@contextlib.contextmanager
def open_store(path: str, *, quiet: bool = False) -> Iterator[Store]:
    """The store of a memory. What it tolerates in the file is reported once, on stderr, unless `quiet` is set; a
    missing earlier state is always reported.
    """
    days = history_days(os.environ, sys.platform)

    def report(notice: str) -> None:
        if not quiet or NOT_KEPT in notice:
            say(f"memory-server: {notice}")

    store = Store(path, report, history_days=days)
    try:
        yield store
    finally:
        store.close(patience=0)


def graph_of(asked: argparse.Namespace) -> Graph:
    """The graph of the requested memory. UsageError if it does not exist."""
    with open_store(require_memory(asked).path) as store:
        return store.graph()


def apply_change(store: Store, change: Callable[[Graph], tuple[Graph, T]], reason: str = "") -> T:
    """Apply a change through the store, and wait until it is saved. The change may be called more than once.

    `reason`, the name of the command, makes the store keep the present state in the history.
    """
    future = store.submit(change, reason)
    told = False
    try:
        with working("Working") as stop:
            while not concurrent.futures.wait([future], _SILENCE).done:
                if store.waits() and not told:
                    stop()
                    say("memory-server: another program is writing this memory; waiting for it ...")
                    told = True
    except KeyboardInterrupt:
        future.cancel()
        raise
    return future.result()


def refuse_read_only(path: str) -> None:
    """StoreError if the memory file may not be written. Called before anything is copied for the change."""
    real = os.path.realpath(path)
    if os.path.exists(real) and not calls.may_write(real, os.stat(real).st_mode):
        raise StoreError(f"{shown(path)} is read-only. Make it writable (chmod u+w) to change it.")


def read_whole(path: str) -> bytes:
    """All bytes of a file, as they were at one moment. StoreError if they cannot be read."""
    try:
        return whole.read_whole(path)
    except whole.KeepsChanging as error:
        raise StoreError(
            f"{shown(path)} keeps changing while it is read. Stop the program that writes it, then try again."
        ) from error
    except OSError as error:
        raise StoreError(f"{shown(path)} could not be read: {error.strerror or error}.") from error


def contents_of(path: str) -> document.Contents:
    """The contents of a file that is not the store's; `-` is stdin. UsageError if it is not a memory."""
    return contents_in(bytes_of(path), path)


def bytes_of(path: str) -> bytes:
    """All bytes of a file; `-` is stdin."""
    return from_stdin() if path == "-" else read_whole(path)


def from_stdin() -> bytes:
    """All bytes of stdin. A person at a terminal gets a line that says how to end the input."""
    if sys.stdin.isatty():
        say("Write or paste it here. " + ("Ctrl-Z and Enter end it." if os.name == "nt" else "Ctrl-D ends it."))
    return sys.stdin.buffer.read()


def contents_in(data: bytes, path: str) -> document.Contents:
    """The contents of these bytes of a file. UsageError if they are not a memory."""
    try:
        return document.read(data)
    except document.NotAMemory as error:
        name = "the input from stdin" if path == "-" else shown(path)
        raise UsageError(f"{name} is not a memory: {error}.") from error


def same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def write_new(path: str, chunks: Iterable[bytes], *, force: bool = False) -> None:
    """Write a new file, whole and synced or not at all; `force` allows replacing an existing one. 0600, as it holds a
    memory.
    """
    with _report_write_errors(path):
        try:
            (whole.write_over if force else whole.write_new)(os.path.realpath(path), chunks)
        except FileExistsError as error:
            raise UsageError(
                f"{shown(path)} exists already. Name another file, or add --force to replace it."
            ) from error


def make_folder(path: str) -> None:
    """Make a folder with its missing parents, 0700 each, if it does not exist."""
    with _report_write_errors(path):
        folders.make_folders(path)


def write_over(path: str, chunks: Iterable[bytes], check: Callable[[], None]) -> None:
    """Replace a file, or the one that a link leads to, as a whole; `check` may raise right before."""
    with _report_write_errors(path):
        whole.write_over(os.path.realpath(path), chunks, check)


@contextlib.contextmanager
def _report_write_errors(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"{shown(path)} could not be written: {error.strerror or error}.") from error
    except UnicodeEncodeError as error:
        raise StoreError(
            f"{shown(path)} could not be written: names of files here are {sys.getfilesystemencoding()} only. "
            "Set PYTHONUTF8=1."
        ) from error
