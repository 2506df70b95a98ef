"""A command's way to the memory: which file it is, its bytes, its graph, and changing it through the Store."""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from memory_app.commands.screen.terminal import say, working
from memory_app.disk import calls
from memory_app.errors import StoreError, UsageError
from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from memory_app.location.choice import Location, locate, move_old, surroundings
from memory_app.storage.store import Store
from memory_app.text import shown

T = TypeVar("T")

_TRIES: Final = 20
"""Readings of a file that changes meanwhile; a writer that never rests is told about."""

_SILENCE: Final = 1.0
"""Seconds of waiting for another writer before the person is told."""


def located(asked: argparse.Namespace, *, writes: bool = False) -> Location:
    """As `find`; what is to be said of it goes to stderr."""
    location = find(asked, writes=writes)
    for note in location.notes:
        say(f"memory-server: {note}")
    return location


def find(asked: argparse.Namespace, *, writes: bool = False) -> Location:
    """The memory that was asked for. A file of the old name is moved only by a command that `writes`."""
    package = os.path.dirname(os.path.dirname(__file__))
    location = locate(asked.file, asked.profile, surroundings(os.environ, sys.argv[0], package))
    old = location.old
    if old is not None and writes:
        location = move_old(location, document.reads_as_memory)
    elif old is not None:
        location = location._replace(path=old, why="under its old name", old=None)
    return location


def existing(asked: argparse.Namespace, *, writes: bool = False) -> Location:
    """The memory that was asked for, which has to be there."""
    location = located(asked, writes=writes)
    if not os.path.exists(location.path):
        raise UsageError(
            f"there is no memory at {shown(location.path)} ({location.why}) yet. "
            "Name another file with --file, or run doctor to see where memories are."
        )
    return location


@contextlib.contextmanager
def opened(path: str, *, quiet: bool = False) -> Iterator[Store]:
    """The store of a memory; what it tolerates in the file is said once, on stderr, unless `quiet`."""
    store = Store(path, lambda notice: None if quiet else say(f"memory-server: {notice}"))
    try:
        yield store
    finally:
        store.close(patience=0)


def graph_of(asked: argparse.Namespace) -> Graph:
    """The graph of the memory that was asked for, which has to be there."""
    with opened(existing(asked).path) as store:
        return store.graph()


def changed(store: Store, change: Callable[[Graph], tuple[Graph, T]]) -> T:
    """Have the store apply a change and wait until it is saved. The change may be applied more than once."""
    future = store.submit(change)
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
    return future.result().value


def refuse_read_only(path: str) -> None:
    """StoreError if the memory file may not be written: told before anything is copied for its sake."""
    real = os.path.realpath(path)
    if os.path.exists(real) and not (os.stat(real).st_mode & 0o222 and os.access(real, os.W_OK)):
        raise StoreError(f"{shown(path)} is read-only. Make it writable (chmod u+w) if it is to be changed.")


def whole(path: str) -> bytes:
    """All bytes of a file, as they were at one moment. StoreError if they cannot be had."""
    try:
        for _ in range(_TRIES):
            fd = calls.open_regular(path)
            try:
                before = calls.signature(fd)
                data = calls.read_all(fd)
                if calls.signature(fd) == before:
                    return data
            finally:
                calls.close_if_possible(fd)
    except OSError as error:
        raise StoreError(f"{shown(path)} could not be read: {error.strerror or error}.") from error
    raise StoreError(f"{shown(path)} keeps changing while it is read. Stop the program that writes it, then try again.")


def contents_of(path: str) -> document.Contents:
    """What a file that is not the store's holds; `-` is stdin. UsageError if it is no memory."""
    data = sys.stdin.buffer.read() if path == "-" else whole(path)
    try:
        return document.read(data)
    except document.NotAMemory as error:
        name = "what came on stdin" if path == "-" else shown(path)
        raise UsageError(f"{name} is not a memory: {error}.") from error


def same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def written_new(path: str, chunks: list[bytes] | Iterator[bytes], *, force: bool = False) -> None:
    """Write a new file, whole and synced or not at all; an existing one only with `force`. 0600, it holds a memory."""
    target = os.path.realpath(path)
    if os.path.lexists(target) and not force:
        raise UsageError(f"{shown(path)} exists already. Name another file, or add --force to replace it.")
    temporary = f"{target}.{os.urandom(16).hex()}.tmp"
    try:
        fd = calls.create(temporary)
        try:
            if os.path.exists(target):
                calls.set_owner_and_mode(fd, os.stat(target))
            calls.write_all(fd, chunks)
            calls.sync(fd)
        finally:
            calls.close(fd)
        calls.replace(temporary, target)
        calls.sync_folder(os.path.dirname(target))
    except OSError as error:
        calls.remove_if_possible(temporary)
        raise StoreError(f"{shown(path)} could not be written: {error.strerror or error}.") from error
    except BaseException:
        calls.remove_if_possible(temporary)
        raise
