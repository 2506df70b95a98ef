"""Faults in the commands: a call on the disk fails, or the process is killed at it, the first, the second, the third,
until none is left.

A trial is a process of its own, forked from this one, whose calls on the disk go through the seam. What has to hold
after it:

1. every file under a final name is whole: it holds what it held before, or what it holds after a run without a fault;
2. no fact that was there before is gone from all of them;
3. the same command, run again without a fault, does its work.

A temporary file, a lock, and more copies than were meant may stay after a kill.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

from memory_app import cli
from memory_app.commands import COMMANDS
from memory_app.disk.whole import TEMPORARY
from tests.faults.command_scenes import Scene
from tests.faults.seam import Hook, through

_PATIENCE: Final = 30.0
"""Seconds after which a trial hangs."""

_TYPED: Final = "facts.txt"
_UNFINISHED: Final = re.compile(rf".*({TEMPORARY.pattern}|\.lock|\.lock\.break)|{_TYPED}")
_KILLED: Final = 77
_NOT_FIRED: Final = 78

for _command in COMMANDS.values():
    import_module(f"memory_app.commands.{_command.module}")  # once for all trials


class Fault(NamedTuple):
    """What happens at the `at`th call. `kind`: "kill", "kill in a write", or the name of an error; with `late` the call
    has its effect before it fails."""

    kind: str
    at: int
    late: bool = False


FAULTS: Final = (
    ("kill", False),
    ("kill in a write", False),
    ("EIO", False),
    ("EIO", True),
    ("ENOSPC", False),
)


class Trial(NamedTuple):
    status: int
    files: Mapping[str, bytes]
    out: str

    @property
    def fired(self) -> bool:
        return self.status != _NOT_FIRED


def prepare(inside: Path, scene: Scene) -> None:
    for entry in list(inside.iterdir()):
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    (inside / "home").mkdir()
    for name, text in scene.files.items():
        (inside / name).parent.mkdir(parents=True, exist_ok=True)
        (inside / name).write_text(text)
        (inside / name).chmod(0o600)


def attempt(inside: Path, scene: Scene, hook: Hook) -> Trial:
    """Run the scene's command in a child process, its calls going to the hook."""
    output = inside.with_name(inside.name + ".out")
    child = os.fork()
    if not child:
        _be_the_child(inside, output, scene, hook)
    deadline = time.monotonic() + _PATIENCE
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise AssertionError(f"{scene.name} hangs")
        time.sleep(0.001)
    text = output.read_text(errors="replace")
    output.unlink()
    return Trial(os.waitstatus_to_exitcode(status), finished(inside), text)


def finished(inside: Path) -> dict[str, bytes]:
    """The files under final names, by their names."""
    found = {}
    for where, _, names in os.walk(inside):
        for name in names:
            if not _UNFINISHED.fullmatch(name):
                path = Path(where, name)
                found[str(path.relative_to(inside))] = path.read_bytes()
    return found


def _be_the_child(inside: Path, output: Path, scene: Scene, hook: Hook) -> None:
    status = 1
    try:
        fd = os.open(output, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        sys.stdout = os.fdopen(os.dup(fd), "w", encoding="utf-8")
        sys.stderr = os.fdopen(fd, "w", encoding="utf-8")
        os.chdir(inside)
        tempfile.tempdir = str(inside / "home")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORY_", "XDG_"))}
        os.environ.clear()
        os.environ.update({**kept, "HOME": str(inside / "home"), "MEMORY_FILE_PATH": str(inside / "memory.jsonl")})
        os.environ.update(scene.variables)
        if "MEMORY_SERVER_HOME" in scene.variables:
            os.environ["MEMORY_SERVER_HOME"] = str(inside)
        sys.argv = ["memory-server.pyz"]
        with through(hook):
            status = cli.main(scene.arguments)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    finally:
        os._exit(status)


def injector(fault: Fault) -> Hook:
    """A hook that makes the fault."""
    count = 0

    def hook(name: str, arguments: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        nonlocal count
        count += 1
        if count != fault.at:
            return make()
        if fault.kind == "kill":
            os._exit(_KILLED)
        if fault.kind == "kill in a write":
            if name == "write":
                os.write(arguments[0], bytes(arguments[1])[: max(len(arguments[1]) // 2, 1)])
                os._exit(_KILLED)
            return make()
        if name == "close" or fault.late:
            make()
        number = getattr(errno, fault.kind)
        raise OSError(number, os.strerror(number))

    return hook


def calls_of(inside: Path, scene: Scene, alter: Callable[[Hook], Hook] = lambda hook: hook) -> tuple[list[str], Trial]:
    """The calls of a run without a fault, and what it left."""
    prepare(inside, scene)
    log = inside.with_name(inside.name + ".calls")
    fd = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)

    def hook(name: str, arguments: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        os.write(fd, f"{name}\n".encode())
        return make()

    trial = attempt(inside, scene, alter(hook))
    os.close(fd)
    names = log.read_text().split()
    log.unlink()
    return names, trial


def faults(names: list[str]) -> Iterator[Fault]:
    """Every fault of every call."""
    for at, name in enumerate(names, 1):
        for kind, late in FAULTS:
            if kind == "kill in a write" and name != "write":
                continue
            if late and name in ("read", "open", "stat", "lstat", "fstat", "listdir", "access", "close"):
                continue
            yield Fault(kind, at, late)


def wrong(
    inside: Path,
    scene: Scene,
    fault: Fault,
    after: Mapping[str, bytes],
    alter: Callable[[Hook], Hook] = lambda hook: hook,
) -> str:
    """What is wrong after the fault, "" for nothing. `after` are the files after a run without one."""
    prepare(inside, scene)
    before = finished(inside)
    allowed = {*before.values(), *after.values()}
    trial = attempt(inside, scene, alter(injector(fault)))
    for name, data in trial.files.items():
        if data not in allowed and not (name == scene.varies and scene.done(trial.files)):
            return f"{name} is not whole: {data[:80]!r}"
    facts = set(re.findall(rb"fact-\w+", b"".join(before.values())))
    facts -= {fact for fact in facts if fact.startswith(scene.forgets.encode())}
    if gone := facts - set(re.findall(rb"fact-\w+", b"".join(trial.files.values()))):
        return f"lost: {gone}"
    if "Traceback" in trial.out:
        return f"it ended with a traceback: {trial.out[-300:]}"
    if not fault.kind.startswith("kill") and (left := _left(inside)):
        return f"left behind: {left}"
    return wrong_again(inside, scene, trial, facts, alter)


def wrong_again(inside: Path, scene: Scene, first: Trial, facts: set[bytes], alter: Callable[[Hook], Hook]) -> str:
    """The same once more, without a fault."""
    if scene.once and scene.done(first.files):
        return ""
    _age_locks(inside)
    again = attempt(inside, scene, alter(lambda name, arguments, make: make()))
    if again.status != 0:
        return f"again: status {again.status}, {again.out[-200:]}"
    if not scene.done(again.files):
        return f"again: it is not done, {again.out[-200:]}"
    if gone := facts - set(re.findall(rb"fact-\w+", b"".join(again.files.values()))):
        return f"again: lost: {gone}"
    return ""


def _left(inside: Path) -> list[str]:
    found = [name for _, _, names in os.walk(inside) for name in names if _UNFINISHED.fullmatch(name)]
    return [name for name in found if name != _TYPED]  # which `edit` keeps where it could not store it


def _age_locks(inside: Path) -> None:
    """A lock whose record was not written yet is judged by its age alone: let that be an hour."""
    for where, _, names in os.walk(inside):
        for name in names:
            if name.endswith((".lock", ".lock.break")):
                long_ago = time.time() - 3600
                os.utime(Path(where, name), (long_ago, long_ago))
