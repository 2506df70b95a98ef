"""Kill loops: SIGKILL to a server with a queue of calls in flight, at random moments and at the N-th system call.

After each kill:

1. every change that was acknowledged is in the file, nothing is there that was not asked for, every line can be read;
2. what the dead server left, a lock, a guard, a temporary file, is cleared as the rules say;
3. another server's next write goes on within a second.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from tests.driver import PATIENCE, Driver
from tests.faults.folders import folder
from tests.stress import servers
from tests.stress.figures import Figures

_QUEUE: Final = 12  # calls in flight
_MOST_QUEUES: Final = 100  # after which the victim is not killed by what it does
_SOON: Final = 1.0  # seconds
_LONG_AGO: Final = 700.0  # seconds; older than any lock, guard or temporary file that is left alone
_TEMPORARY: Final = re.compile(r"memory\.jsonl\.[0-9a-f]{32}\.tmp")
_SAVING: Final = (
    "?openat,?write,?fsync,?fdatasync,?rename,?renameat,?renameat2,?unlink,?unlinkat,?link,?linkat,?fchmod,?fstat"
    ",?newfstatat,?close"
)
"""System calls of a save and of the answers; the count is kept for each thread."""


class Loop:
    """One memory, a survivor that writes after every kill, and what has to be in the file by now."""

    def __init__(self, inside: Path, figures: Figures, seed: int, command: list[str] | None = None) -> None:
        self.memory = inside / "memory.jsonl"
        self._command = command
        self.figures = figures
        self.random = random.Random(seed)
        self.survivor = servers.started(self.memory, figures=figures)
        self._number = 0
        self._must: set[str] = set()
        self._may: set[str] = set()

    def victim(self) -> Driver:
        return servers.started(self.memory, self._command, self.figures)

    def warm(self, victim: Driver) -> None:
        """One write before anything is counted: what is done once in a process is done then."""
        asked = self.fill(victim, 1)
        if not all(servers.is_stored(victim.answer(number)) for number in asked):
            self.figures.lost("a server could not write")
        self._must.update(asked.values())

    def fill(self, victim: Driver, count: int = _QUEUE) -> dict[object, str]:
        """Put calls into the victim's queue; the names that they create, by request."""
        asked: dict[object, str] = {}
        for _ in range(count):
            self._number += 1
            name = f"n{self._number}"
            asked[victim.start_call("create_entities", servers.entity(name, name))] = name
        self._may.update(asked.values())
        return asked

    def keep_busy(self, victim: Driver) -> dict[object, str]:
        """Fill the queue again and again until the victim is dead, since the call that kills it may be far away."""
        asked: dict[object, str] = {}
        for _ in range(_MOST_QUEUES):
            queue = self.fill(victim)
            asked |= queue
            try:
                for request in queue:
                    victim.answer(request)
            except AssertionError:  # its output has ended
                break
        return asked

    def check(self, how: str, victim: Driver, asked: dict[object, str]) -> None:
        """The victim is dead: look at what it acknowledged, at the file, and at the next write."""
        victim.wait()
        victim.drain()
        for message in victim.messages:
            name = asked.get(message.get("id"))
            if name is not None and servers.is_stored(message):
                self._must.add(name)
                self.figures.count("acknowledged writes")
        self.figures.count("kills")
        self._look(how, "before the next write")
        self._let_time_pass()
        began = time.monotonic()
        name = f"after{self.figures.counts['kills']}"
        answer = self.survivor.answer(self.survivor.start_call("create_entities", servers.entity(name, name)))
        took = time.monotonic() - began
        if not servers.is_stored(answer):
            self.figures.lost(f"{how}: the next write failed: {answer}")
        elif took > _SOON:
            self.figures.lost(f"{how}: the next write took {took:.1f} s")
        self._must.add(name)
        self._may.add(name)
        self._look(how, "after the next write")
        self._clear(how)

    def _look(self, how: str, when: str) -> None:
        contents = document.read(self.memory.read_bytes() if self.memory.exists() else b"")
        there = {line.name: line.observations() for line in Graph.of(contents).entity_lines}
        if contents.notices or contents.head or contents.tail:
            self.figures.lost(f"{how}: {when} a line cannot be read")
        if len(there) != len(contents.lines):
            self.figures.lost(f"{how}: {when} an entity is there twice")
        for name in sorted(self._must - there.keys()):
            self.figures.lost(f"{how}: {when} {name} is missing, though it was acknowledged")
        for name, observations in there.items():
            if name not in self._may or observations != [name]:
                self.figures.lost(f"{how}: {when} {name} is there, and was not asked for so")

    def _let_time_pass(self) -> None:
        """A guard that a crash left counts for 30 s, and so does a lock without a whole record: here they are over."""
        lock = self.memory.with_name("memory.jsonl.lock")
        guard = self.memory.with_name("memory.jsonl.lock.break")
        if lock.exists():
            if lock.read_bytes().endswith(b"}"):
                self.figures.count("locks left")
            else:
                self.figures.count("half-written locks left")
                _set_back(lock)
        if guard.exists():
            self.figures.count("guards left")
            _set_back(guard)

    def _clear(self, how: str) -> None:
        """Only temporary files may be left; a server that starts ten minutes later removes them."""
        left = set(os.listdir(self.memory.parent)) - {"memory.jsonl", "memory.jsonl.history"}
        guard = "memory.jsonl.lock.break"
        if guard in left and not (left & {"memory.jsonl.lock"}):
            left.discard(guard)  # it is in nobody's way until a lock has to be broken
            (self.memory.parent / guard).unlink()
        for name in sorted(left):
            if _TEMPORARY.fullmatch(name):
                self.figures.count("temporary files left")
                _set_back(self.memory.parent / name)
            else:
                self.figures.lost(f"{how}: {name} was left")

    def finish(self) -> None:
        """A server that starts now clears the old temporary files with its first write."""
        with self.victim() as last:
            asked = self.fill(last)
            if not all(servers.is_stored(last.answer(number)) for number in asked):
                self.figures.lost("the last server could not write")
            self._must.update(asked.values())
            last.finish()
        self._look("at the end", "in all")
        left = set(os.listdir(self.memory.parent)) - {"memory.jsonl", "memory.jsonl.history"}
        if left:
            self.figures.lost(f"at the end there is {sorted(left)}")
        with self.survivor:
            self.survivor.finish()


def _set_back(path: Path) -> None:
    moment = time.time() - _LONG_AGO
    os.utime(path, (moment, moment))


def at_random(figures: Figures, seed: int, kills: int, command: list[str] | None = None) -> None:
    """Kill after a random number of answers and a random moment more. `command` starts another program to be killed."""
    with folder(on_disk=True) as inside:
        loop = Loop(inside, figures, seed, command)
        for number in range(kills):
            how = f"seed {seed}, kill {number}"
            with loop.victim() as victim:
                asked = loop.fill(victim)
                for _ in range(loop.random.randrange(3)):
                    victim.receive()
                time.sleep(loop.random.uniform(0, 0.006))  # the random moment itself: nothing is waited for
                victim.signal(signal.SIGKILL)
                loop.check(how, victim, asked)
        loop.finish()


def at_system_calls(figures: Figures, seed: int, numbers: Sequence[int], *, broken_lock: bool = False) -> None:
    """Kill at the N-th of the calls that a save makes, in whichever thread gets there first.

    With `broken_lock` a dead process's lock is in the way at first, so that the victim dies while it breaks that.
    """
    why_not = _strace_missing()
    if why_not:
        figures.remark(f"no kills at system calls: {why_not}")
        return
    with folder(on_disk=True) as inside:
        loop = Loop(inside, figures, seed)
        for number in numbers:
            how = f"seed {seed}, system call {number}{', breaking a lock' if broken_lock else ''}"
            with loop.victim() as victim:
                loop.warm(victim)
                if broken_lock:
                    _leave_lock(loop.memory)
                with _traced(victim.process.pid, number):
                    loop.check(how, victim, loop.keep_busy(victim))
        loop.finish()


def _leave_lock(memory: Path) -> None:
    """The lock of a process of ours that is gone."""
    code = f"""
import os, time
from memory_app.lock.lock import Lock
Lock({str(memory)!r}).acquire(time.monotonic() + 20)
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", code], env=servers.environment(memory), check=True, stdin=subprocess.DEVNULL)


def _strace_missing() -> str:
    strace = shutil.which("strace")
    if strace is None:
        return "there is no strace"
    said = subprocess.run([strace, "-qq", "-o", os.devnull, "true"], capture_output=True, check=False)
    return "" if said.returncode == 0 else "processes may not be traced here"


@contextmanager
def _traced(pid: int, number: int) -> Iterator[None]:
    """Have the process killed at the number-th of its calls, counted for each thread from now on."""
    inject = f"inject={_SAVING}:signal=KILL:when={number}+"
    tracer = subprocess.Popen(
        ["strace", "-f", "-p", str(pid), "-o", os.devnull, "-e", f"trace={_SAVING}", "-e", inject],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert tracer.stderr is not None
    late = threading.Timer(PATIENCE, tracer.kill)
    late.start()
    try:
        said = tracer.stderr.readline()  # "Process 123 attached with 4 threads"
        assert b"attached" in said, said
        yield
    finally:
        late.cancel()
        tracer.kill()
        tracer.wait()
        tracer.stderr.close()


def run(seed: int, *, kills: int, calls: int, breaking: int) -> Figures:
    """All of it: so many kills at random, at each of the first system calls of a save, and of breaking a lock."""
    figures = Figures("kills")
    at_random(figures, seed, kills)
    at_system_calls(figures, seed, range(1, calls + 1))
    at_system_calls(figures, seed, range(1, breaking + 1), broken_lock=True)
    return figures
