"""Find out why something does not work: which memory file is used and why, whether its folder is safe for locking and
renaming (this is tested), and what the clients on this machine are configured to start. Changes nothing; the files used
for testing are removed.

Exit status: 0 if all is well, 1 if there is a problem.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from typing import Any, Final, NamedTuple

from memory_app import __version__
from memory_app.commands.clients.catalogue import Machine
from memory_app.commands.clients.configured import Entry, entries, npm_memories
from memory_app.commands.frame import program
from memory_app.commands.memory import find_memory, read_whole
from memory_app.commands.screen.terminal import Terminal, output, safe, write_json
from memory_app.commands.upkeep import leftovers
from memory_app.commands.upkeep.trials import Trial, trials
from memory_app.errors import MemoryServerError, UsageError
from memory_app.jsonl.document import reads_as_memory
from memory_app.location import environment
from memory_app.location.choice import archive
from memory_app.text import counted

EXAMPLES: Final = (
    ("doctor", "check the memory that the server uses, and the clients"),
    ("doctor --file /mnt/share/memory.jsonl", "test whether a memory can be kept there"),
    ("doctor --json", "print all results, for a program or a bug report"),
)

_SIGNS: Final = {True: ("ok", "green"), None: ("note", "yellow"), False: ("bad", "red")}


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object")


class _Memory(NamedTuple):
    """What to report about the memory file. `path` is None if it cannot be determined."""

    path: str | None
    why: str
    folder: str | None
    state: Trial
    trials: list[Trial]
    beside: list[Trial]


def run(asked: argparse.Namespace) -> int:
    machine = Machine(sys.platform, os.environ)
    memory = _memory(asked)
    found, unreadable = entries(machine, archive(os.environ, sys.argv[0]), _current_folder())
    clients = [*_compare(found), *(Trial(f"{path} cannot be read", False, why) for path, why in unreadable)]
    used = os.path.realpath(memory.path) if memory.path else None
    old = [path for path in npm_memories(machine) if os.path.realpath(path) != used]
    python = _python()
    bad = [one for one in (*python, memory.state, *memory.trials, *memory.beside) if one.ok is False] + clients
    if asked.json:
        write_json(_as_json(memory, found, [*python, *clients], old))
        return int(bool(bad))
    out = output()
    _section(out, "This program", _program(), python)
    where = [f"{safe(memory.path)}  ({memory.why})"] if memory.path else []
    _section(out, "The memory file", where, [memory.state, *memory.beside])
    if memory.folder:
        _section(out, f"Its folder {safe(memory.folder)}", [], memory.trials)
    _clients(out, found, clients)
    if old:
        lines = [*map(safe, old), f"To import one: {program()} import PATH"]
        _section(out, "Memories that the npm server left in its own folder", lines)
    out.line(f"{counted(len(bad), 'thing')} to look at." if bad else out.styled("All is well.", "green"))
    return int(bool(bad))


def _memory(asked: argparse.Namespace) -> _Memory:
    try:
        location = find_memory(asked)
    except UsageError as error:
        return _Memory(None, "", None, Trial("which file it is", False, str(error)), [], [])
    path, why = location.path, location.why
    folder, tried = _test_folder(path)
    there = os.path.isdir(os.path.dirname(os.path.realpath(path)))
    around = [Trial(note, None) for note in location.notes]
    around += [Trial(one.text, None) for one in leftovers.findings(path)] if there else []
    return _Memory(path, why, folder, _state(path), tried, around)


def _program() -> list[str]:
    called = archive(os.environ, sys.argv[0])
    place = os.path.abspath(called) if called else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    lines = [
        f"memory-server {__version__}, {safe(place)}",
        f"Python {platform.python_version()}, {safe(sys.executable)}",
        f"{platform.platform()}, {platform.machine()}",
    ]
    choosing = (
        environment.FILE,
        environment.PROFILE,
        environment.HOME,
        environment.HISTORY,
    )  # not the token: this is pasted into reports
    variables = [name for name in choosing if os.environ.get(name)]
    return [*lines, *(f"{name} = {safe(os.environ[name])}" for name in variables)]


def _python() -> list[Trial]:
    """The features that this interpreter lacks."""
    try:
        import ssl  # noqa: F401 (whether it is there)
    except ImportError:
        return [Trial("Python's ssl module", False, "it is missing: stdio works, serve --http does not")]
    return []


def _state(path: str) -> Trial:
    """What is at the memory's path."""
    if not os.path.lexists(path):
        return Trial("it does not exist yet", True, "the first write creates it")
    try:
        data = read_whole(path)
    except MemoryServerError as error:
        return Trial("it can be read", False, str(error))
    if not reads_as_memory(data):
        return Trial("it is a memory", False, "it contains something else, and is neither served nor written")
    link = f", a link to {safe(os.path.realpath(path))}" if os.path.islink(path) else ""
    return Trial("it can be read", True, f"{len(data):,} bytes{link}")


def _test_folder(path: str) -> tuple[str, list[Trial]]:
    """Test the folder of the real file, or the nearest existing folder above it."""
    folder = kept = os.path.dirname(os.path.realpath(path))
    while not os.path.isdir(folder) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    return folder, trials(folder, path if folder == kept else os.path.join(folder, "memory.jsonl"), kept)


def _compare(found: list[Entry]) -> list[Trial]:
    """The problems of the entries, of each alone and of all together."""
    wrong = [Trial(f"{one.client}, {one.name}", False, trouble) for one in found for trouble in one.troubles]
    memories = dict.fromkeys(one.memory for one in found if one.kind == "this server" and one.known)
    if len(memories) > 1:
        text = "their clients do not see the same memory: " + ", ".join(map(safe, memories))
        wrong.append(Trial("several memories are in use", None, text))
    return wrong


def _section(out: Terminal, title: str, lines: list[str], tried: list[Trial] | None = None) -> None:
    out.line(out.styled(title, "bold"))
    for line in lines:
        out.line(f"  {line}")
    for one in tried or ():
        _show(out, one)
    out.line()


def _clients(out: Terminal, found: list[Entry], wrong: list[Trial]) -> None:
    out.line(out.styled("Memory servers in the clients' configurations", "bold"))
    for one in found:
        memory = f": {safe(one.memory)}" if one.memory else ""
        out.line(f"  {one.client}, {safe(one.name)}: {one.kind}{memory}")
        out.line(out.styled(f"    in {safe(one.file)}", "dim"))
    if not found:
        out.line(f"  none; `{program()} config` sets one up")
    for trial in wrong:
        _show(out, trial)
    out.line()


def _show(out: Terminal, one: Trial) -> None:
    sign, style = _SIGNS[one.ok]
    out.line(f"  {out.styled(f'{sign:<4}', style)}  {safe(one.what)}{': ' + safe(one.text) if one.text else ''}")


def _current_folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return None


def _as_json(memory: _Memory, found: list[Entry], wrong: list[Trial], old: list[str]) -> dict[str, Any]:
    return {
        "version": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "file": memory.path,
        "why": memory.why,
        "state": memory.state._asdict(),
        "folder": memory.folder,
        "trials": [one._asdict() for one in memory.trials],
        "beside": [one.what for one in memory.beside],
        "servers": [one._asdict() for one in found],
        "troubles": [one._asdict() for one in wrong],
        "npmMemories": old,
    }
