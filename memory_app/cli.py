"""The command line. Without a command it serves one client over stdin and stdout, and starts doing so at once.

Every command comes by way of `memory_app.commands`, which is not even imported by a server.

Exit status: 0 after a normal end, 2 with one line on stderr when what was asked for cannot be meant; commands say more.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from memory_app import __version__

if TYPE_CHECKING:
    from memory_app.location.choice import Location

_OPTIONS: Final = ("--file", "--profile")
_TEXTS: Final = ("--help", "-h", "--version")
_HELP: Final = """A memory for AI assistants: a knowledge graph in one file, served over the Model
Context Protocol. Without a command it serves one client over stdin and stdout;
with one it helps you to look after the memory.

usage: {program} [--file PATH | --profile NAME] [COMMAND ...]

options:
  --file PATH      the memory file (default: MEMORY_FILE_PATH, else memory.jsonl
                   beside the program or in your data folder)
  --profile NAME   a memory of its own beside the default one
  --version        print the version and exit
  --help           print this and exit
{commands}
"""


class Asked(NamedTuple):
    """What the command line asks for: `command` and its arguments are run in place of serving."""

    file: str | None = None
    profile: str | None = None
    command: str | None = None
    arguments: tuple[str, ...] = ()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; returns the exit status."""
    from memory_app.errors import UsageError

    try:
        asked = read_arguments(sys.argv[1:] if arguments is None else arguments)
        if asked.command is None:
            return serve(asked)
        if asked.command in _TEXTS:
            return _print(asked.command)
        from memory_app import commands

        return commands.run(asked.command, asked.arguments, asked.file, asked.profile)
    except UsageError as error:
        if sys.stderr is not None:
            sys.stderr.write(f"memory-server: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130


def read_arguments(arguments: Sequence[str]) -> Asked:
    """What these arguments ask for. UsageError if they cannot be read.

    By hand, because argparse takes longer to load than everything else between the start and the first answer.
    """
    from memory_app.errors import UsageError

    asked = Asked()
    rest = list(arguments)
    while rest:
        written = rest.pop(0)
        if written in _TEXTS:
            return Asked(command=written)
        if written and not written.startswith("-"):
            return asked._replace(command=written, arguments=tuple(rest))
        name, equals, value = written.partition("=")
        if name not in _OPTIONS:
            raise UsageError(f"{name} is not known. Try --help.")
        if not equals:
            if not rest:
                raise UsageError(f"{name} needs a value. Try --help.")
            value = rest.pop(0)
        asked = asked._replace(file=value) if name == "--file" else asked._replace(profile=value)
    return asked


def commands() -> tuple[str, ...]:
    """The names of all commands."""
    from memory_app.commands import COMMANDS

    return tuple(COMMANDS)


def variables() -> tuple[str, ...]:
    """The names of all environment variables that people may set for this program."""
    from memory_app.location.environment import SET_BY_PEOPLE

    return (*SET_BY_PEOPLE, "MEMORY_SERVER_CACHE", "NO_COLOR")


def _print(what: str) -> int:
    if what == "--version":
        text = f"memory-server {__version__}\n"
    else:
        from memory_app.commands import frame, overview

        text = _HELP.format(program=frame.program(), commands=overview(frame.program()))
    if sys.stdout is None:  # its descriptor is closed
        return 0
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError:  # whoever reads has stopped
        os._exit(0)
    return 0


def serve(asked: Asked, *, read_only: bool = False) -> int:
    """Serve one client over stdin and stdout until the end comes; the exit status."""
    from memory_app.server.lifetime import ASKING_FOR_THE_END
    from memory_app.server.stdio.pipes import fill_standard

    fill_standard()
    for number in ASKING_FOR_THE_END:  # there is nothing to finish before the server is up; Python prints tracebacks
        signal.signal(number, lambda *_: os._exit(0))
    location = _locate(asked, moves=not read_only)
    from memory_app.server.stderr import Notices

    report = Notices()
    for note in location.notes:
        report(note)
    if sys.stdin is not None and sys.stdin.isatty():
        report(_introduction(location))
    else:
        report(f"memory file: {_shown(location.path)} ({location.why})")
    from memory_app.server.stdio import faststart

    faststart.load()
    from memory_app.server.stdio.run import run

    return run(location.path, report, read_only=read_only)


def _locate(asked: Asked, *, moves: bool) -> Location:
    from memory_app.location.choice import locate, move_old, surroundings

    location = locate(asked.file, asked.profile, surroundings(os.environ, sys.argv[0], os.path.dirname(__file__)))
    if location.old is None:
        return location
    if not moves:
        return location._replace(path=location.old, why="under its old name", old=None)
    from memory_app.jsonl.document import reads_as_memory

    return move_old(location, reads_as_memory)


def _shown(path: str) -> str:
    from memory_app.text import shown

    return shown(path)


def _introduction(location: Location) -> str:
    """What a person is told who starts the server in a terminal."""
    import json

    words = [_shown(sys.executable), _shown(os.path.abspath(sys.argv[0]))]
    server = {"command": words[0], "args": words[1:]}
    entry = json.dumps({"mcpServers": {"memory": server}}, ensure_ascii=False)
    return f"""version {__version__}, a memory for AI assistants, is running and waits for a client on stdin.
  memory file: {_shown(location.path)} ({location.why})
  A client starts the server itself. Give it this command:
    {" ".join(f'"{word}"' if " " in word else word for word in words)}
  as in {entry}
  The command config puts that into a client's configuration; --help lists all commands.
  Stop it here with Ctrl-C."""
