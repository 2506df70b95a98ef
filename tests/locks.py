"""What the tests of the lock share: a clock that moves only when told, records of other holders, other processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from memory_app.lock import identity
from tests.gating import PATIENCE

ROOT: Final = Path(__file__).resolve().parent.parent
NODE_PEER: Final = ROOT / "tests" / "peers" / "locking_writer.mjs"
FOREVER: Final = 1e9
"""A deadline that no clock of a test reaches."""


class Clock:
    """Stands for the module `time`. A sleep takes no time of ours, but moves both clocks on."""

    def __init__(self) -> None:
        self.wall = time.time()
        self.now = 1000.0
        self._planned: list[tuple[float, Callable[[], object]]] = []

    def time(self) -> float:
        return self.wall

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.wall += seconds
        self.now += seconds
        for moment, step in list(self._planned):
            if self.now >= moment:
                self._planned.remove((moment, step))
                step()

    def after(self, seconds: float, step: Callable[[], object]) -> None:
        """Do something as soon as the clock has moved on by so many seconds."""
        self._planned.append((self.now + seconds, step))


def write_record(path: Path, age: float = 0.0, wall: float | None = None, **fields: object) -> bytes:
    """A lock file of somebody else, refreshed `age` seconds ago. Without fields for the process: of the npm kind."""
    record = {"pid": 1, "hostname": "elsewhere", "token": "0" * 32} | fields
    present = {name: value for name, value in record.items() if value is not None}
    return write_bytes(path, json.dumps(present), age, wall)


def write_bytes(path: Path, text: str, age: float = 0.0, wall: float | None = None) -> bytes:
    path.write_text(text)
    moment = (time.time() if wall is None else wall) - age
    os.utime(path, (moment, moment))
    return text.encode()


def our_fields(**changed: object) -> dict[str, Any]:
    """The fields of a record that this process would write."""
    me = identity.this_process()
    fields: dict[str, Any] = {"pid": me.pid, "hostname": me.hostname, "start": me.start}
    return fields | {"boot": me.boot, "pidns": me.pidns} | changed


def pid_that_is_gone() -> int:
    """The pid of a process that has just ended and was waited for."""
    process = subprocess.Popen([sys.executable, "-S", "-c", ""])
    process.wait(PATIENCE)
    return process.pid


def python(code: str, *arguments: str, before: tuple[str, ...] = (), env: Mapping[str, str] = os.environ) -> Child:
    """A Python of its own that runs the code, with this tree importable."""
    return Child([*before, sys.executable, "-c", code, *arguments], env)


class Child:
    """Another process, spoken to line by line. It is always ended."""

    def __init__(self, command: list[str], env: Mapping[str, str] = os.environ) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=dict(env)
        )

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_error: object) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)  # first, or the end of its input might let it go on for a moment
        self.process.communicate(timeout=PATIENCE)

    def expect(self, line: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline().strip() == line

    def read(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def go_on(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self) -> int:
        """Wait for it to end by itself."""
        return self.process.wait(PATIENCE)
