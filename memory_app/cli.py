"""The command line. Without a command it serves one client over stdin and stdout, starting as fast as possible.

Every command is run through `memory_app.commands`, which a server does not even import.

Exit status: 0 after a normal end, 2 with one line on stderr for wrong use, 130 after Ctrl-C; commands define more.

Ctrl-C ends the process at once, without a word, where nothing has to be ended or taken back: while modules are imported
and when a command is over. While a command runs it is a KeyboardInterrupt, and a server has handlers of its own.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import sys
from collections.abc import Sequence
from typing import Final, NamedTuple

from memory_app import __version__

_OPTIONS: Final = ("--file", "--profile")
_TEXTS: Final = ("--help", "-h", "--version")
_HELP: Final = """A memory for AI assistants: a knowledge graph in one file, served over the Model
Context Protocol. Without a command it serves one client over stdin and stdout;
with one it helps you to look after the memory.

usage: {program} [--file PATH | --profile NAME] [COMMAND ...]

options:
  --file PATH      the memory file (default: MEMORY_FILE_PATH, else memory.jsonl
                   beside the program or in your data folder)
  --profile NAME   a separate memory beside the default one
  --version        print the version and exit
  --help           print this and exit
{commands}
"""


_STACK: Final = 8 << 20
"""Bytes; what glibc gives a thread, unless `ulimit -s` is lower, where musl gives 128 KiB: too little for the parser of
some interpreters. Only what is touched of it takes memory."""


class Asked(NamedTuple):
    """What the command line asks for: `command` and its arguments are run instead of serving."""

    file: str | None = None
    profile: str | None = None
    command: str | None = None
    arguments: tuple[str, ...] = ()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return the exit status. With `arguments` the process and its signals are the caller's."""
    if arguments is None:
        _end_at_once_on_interrupt()
    from memory_app.errors import UsageError

    _give_threads_room()
    _let_owner_in()
    try:
        asked = read_arguments(sys.argv[1:] if arguments is None else arguments)
        if asked.command is None:
            from memory_app.server.start import serve

            return serve(asked.file, asked.profile)
        if asked.command in _TEXTS:
            return _print(asked.command)
        from memory_app.commands import frame

        return frame.run(asked.command, asked.arguments, asked.file, asked.profile)
    except UsageError as error:
        if sys.stderr is not None:
            sys.stderr.write(f"memory-server: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130


def read_arguments(arguments: Sequence[str]) -> Asked:
    """The meaning of these arguments. UsageError if they are invalid.

    Parsed by hand, because loading argparse takes longer than everything else between the start and the first answer.
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


def _end_at_once_on_interrupt() -> None:
    import _signal as signal  # type: ignore[import-not-found]  # built in

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        with contextlib.suppress(ValueError):  # not the main thread: Ctrl-C is not for us
            signal.signal(signal.SIGINT, lambda number, _: os._exit(128 + number))


def _give_threads_room() -> None:
    """Give every thread a stack for the deepest JSON that the interpreter's parser accepts."""
    if sys.platform == "linux":
        try:
            _thread.stack_size(_STACK)
        except (ValueError, RuntimeError):  # no such stack here: the system's own must do
            pass


def _let_owner_in() -> None:
    """Let the owner read and write what this process creates: a umask may keep others out, but not us."""
    if os.name != "nt":
        mask = os.umask(0o077)
        os.umask(mask & ~0o700)


def _print(what: str) -> int:
    if what == "--version":
        text = f"memory-server {__version__}\n"
    else:
        from memory_app.commands import frame, overview

        text = _HELP.format(program=frame.program(), commands=overview(frame.program()))
    from memory_app.errors import UsageError

    if sys.stdout is None:  # its descriptor is closed
        raise UsageError("stdout is closed, so nothing can be printed.")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has stopped
        os._exit(0)
    except OSError as error:
        if sys.stderr is not None:
            sys.stderr.write(f"memory-server: stdout could not be written: {error.strerror or error}\n")
            sys.stderr.flush()
        os._exit(2)
    return 0
