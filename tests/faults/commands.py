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
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from memory_app import cli
from memory_app.disk.whole import TEMPORARY
from tests.faults.seam import Hook, through

_PATIENCE: Final = 30.0
"""Seconds after which a trial hangs."""

_UNFINISHED: Final = re.compile(rf".*({TEMPORARY.pattern}|\.lock|\.lock\.break)")
_KILLED: Final = 77
_NOT_FIRED: Final = 78

_ANN: Final = '{"type":"entity","name":"Ann","entityType":"t","observations":["fact-a"]}\n'
_BOB: Final = '{"type":"entity","name":"Bob","entityType":"t","observations":["fact-b"]}\n'
_AGAIN: Final = '{"type":"entity","name":"Ann","entityType":"u","observations":["fact-a2"],"k":"fact-key"}\n'
_TORN: Final = '{"type":"entity","name":"fact-torn\n'
_DOCUMENT: Final = '{"entities":[{"name":"Ann","entityType":"t","observations":["fact-a"]}],"x":"fact-x"}'
_CREATE: Final = '{"entities":[{"name":"New","entityType":"t","observations":["fact-new"]}]}'
_CONFIGURATION: Final = '{"mcpServers":{"other":{"command":"fact-other"}},"z":1}'
_STATE: Final = "memory.jsonl.history/2026010{}T000000.000Z.jsonl"
_PAST: Final = "memory.jsonl.2026010{}T000000Z.bak"


class Scene(NamedTuple):
    """A command, the files that it finds, and whether it did its work, told from the files by their names."""

    name: str
    files: Mapping[str, str]
    arguments: tuple[str, ...]
    done: Callable[[Mapping[str, bytes]], bool]
    variables: Mapping[str, str] = {}


def _memory(*texts: str, without: str = "\0") -> Callable[[Mapping[str, bytes]], bool]:
    def holds(files: Mapping[str, bytes]) -> bool:
        data = files.get("memory.jsonl", b"").decode()
        return all(text in data for text in texts) and without not in data

    return holds


def _file(name: str, text: str) -> Callable[[Mapping[str, bytes]], bool]:
    return lambda files: text in files.get(name, b"").decode()


def _copies(files: Mapping[str, bytes]) -> list[bytes]:
    """The backups' contents, oldest first."""
    return [data for name, data in sorted(files.items()) if name.endswith(".bak")]


SCENES: Final = (
    Scene(
        "backup --keep",
        {"memory.jsonl": _ANN, **{_PAST.format(n): _BOB.replace("fact-b", f"old-{n}") for n in (1, 2, 3)}},
        ("backup", "--keep", "2"),
        lambda files: len(_copies(files)) == 2 and _copies(files)[-1] == _ANN.encode(),
    ),
    Scene(
        "backup --to",
        {"memory.jsonl": _ANN},
        ("backup", "--to", "safe/place"),
        lambda files: [data for name, data in files.items() if name.startswith("safe/place/")] == [_ANN.encode()],
    ),
    Scene("restore", {"memory.jsonl": _ANN, _PAST.format(1): _BOB}, ("restore", _PAST.format(1)), _memory("fact-b")),
    Scene(
        "restore over something else",
        {"memory.jsonl": "fact-else, no memory\n" * 3, _PAST.format(1): _BOB},
        ("restore",),
        _memory("fact-b", without="fact-else"),
    ),
    Scene("restore of a lost file", {_PAST.format(1): _BOB}, ("restore",), _memory("fact-b")),
    Scene("import", {"memory.jsonl": _ANN, "b.jsonl": _BOB}, ("import", "b.jsonl"), _memory("fact-a", "fact-b")),
    Scene("import into nothing", {"b.jsonl": _BOB}, ("import", "b.jsonl"), _memory("fact-b")),
    Scene(
        "merge",
        {"memory.jsonl": _ANN, "b.jsonl": _BOB},
        ("merge", "memory.jsonl", "b.jsonl"),
        _memory("fact-a", "fact-b"),
    ),
    Scene(
        "merge --output",
        {"memory.jsonl": _ANN, "b.jsonl": _BOB},
        ("merge", "memory.jsonl", "b.jsonl", "--output", "both.jsonl", "--force"),
        _file("both.jsonl", "fact-b"),
    ),
    Scene(
        "repair",
        {"memory.jsonl": _ANN + _AGAIN + _TORN},
        ("repair", "--drop-unreadable"),
        _memory("fact-a2", "fact-key", without="fact-torn"),
    ),
    Scene(
        "export --force",
        {"memory.jsonl": _ANN, "out.json": '{"old":1}'},
        ("export", "--output", "out.json", "--force"),
        _file("out.json", "fact-a"),
    ),
    Scene(
        "view",
        {"memory.jsonl": _ANN},
        ("view", "--output", "page.html", "--no-open", "--force"),
        _file("page.html", "</html>"),
    ),
    Scene(
        "config --write",
        {"memory.jsonl": _ANN, "home/.cursor/mcp.json": _CONFIGURATION},
        ("config", "cursor", "--write"),
        _file("home/.cursor/mcp.json", '"memory"'),
    ),
    Scene(
        "config --write, the first",
        {"memory.jsonl": _ANN},
        ("config", "cursor", "--write"),
        _file("home/.cursor/mcp.json", '"memory"'),
    ),
    Scene(
        "serve --new-token",
        {},
        ("serve", "--new-token", "--token-file", "token"),
        lambda files: re.fullmatch(rb"[\w-]{43}\n", files.get("token", b"")) is not None,
    ),
    Scene(
        "undo",
        {"memory.jsonl": _BOB, _STATE.format(1): _ANN + _BOB, _STATE.format(2): _BOB},
        ("undo", "20260101T000000.000Z"),
        _memory("fact-a", "fact-b"),
        {"MEMORY_HISTORY": "9999"},
    ),
    Scene("add", {"memory.jsonl": _ANN}, ("add", "Ann", "fact-added"), _memory("fact-a", "fact-added")),
    Scene(
        "another shape",
        {"memory.jsonl": _DOCUMENT},
        ("call", "create_entities", _CREATE),
        lambda files: _memory("fact-a", "fact-new")(files) and _DOCUMENT.encode() in _copies(files),
    ),
    Scene(
        "the old name",
        {"memory.json": _ANN},
        ("call", "create_entities", _CREATE),
        _memory("fact-a", "fact-new"),
        {"MEMORY_SERVER_HOME": ".", "MEMORY_FILE_PATH": ""},
    ),
)


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
        if data not in allowed and not (name == "token" and scene.done(trial.files)):
            return f"{name} is not whole: {data[:80]!r}"
    facts = set(re.findall(rb"fact-\w+", b"".join(before.values())))
    if gone := facts - set(re.findall(rb"fact-\w+", b"".join(trial.files.values()))):
        return f"lost: {gone}"
    if "Traceback" in trial.out:
        return f"it ended with a traceback: {trial.out[-300:]}"
    if not fault.kind.startswith("kill") and (left := _left(inside)):
        return f"left behind: {left}"
    return wrong_again(inside, scene, trial, facts, alter)


def wrong_again(inside: Path, scene: Scene, first: Trial, facts: set[bytes], alter: Callable[[Hook], Hook]) -> str:
    """The same once more, without a fault."""
    if scene.name == "serve --new-token" and "token" in first.files:
        return ""  # there is one now: it is not made again
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
    return [name for _, _, names in os.walk(inside) for name in names if _UNFINISHED.fullmatch(name)]


def _age_locks(inside: Path) -> None:
    """A lock whose record was not written yet is judged by its age alone: let that be an hour."""
    for where, _, names in os.walk(inside):
        for name in names:
            if name.endswith((".lock", ".lock.break")):
                long_ago = time.time() - 3600
                os.utime(Path(where, name), (long_ago, long_ago))
