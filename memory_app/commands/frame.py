"""The frame around every command: its parser, its help, and how it ends.

| end | exit status | stderr |
|---|---|---|
| done | as the command says: 0, or 1 for "found something" | nothing |
| wrong use, or a failure | 2 | one line |
| Ctrl-C | 130 | nothing |
| the reader of stdout has stopped | 0 | nothing |
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import importlib
import os
import signal
import sys
import textwrap
import traceback
from collections.abc import Iterator, Sequence
from typing import Any, Final, NoReturn, Protocol, cast

from memory_app.commands import COMMANDS
from memory_app.commands.screen.terminal import width
from memory_app.errors import MemoryServerError, UsageError
from memory_app.location.choice import archive
from memory_app.text import shown

_WITHOUT_MEMORY: Final = ("merge", "help")
"""They take --file as all do, for scripts that always give it, and have no use for it."""

_INTERRUPTED: Final = 130
"""128 and the number of SIGINT, as shells count."""


class _Module(Protocol):
    """A command's module. Each item of EXAMPLES is a command line without the program, and what it does."""

    __doc__: str | None
    EXAMPLES: Sequence[tuple[str, str]]

    def register(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, asked: argparse.Namespace) -> int: ...


class _Help(argparse.HelpFormatter):
    """Fill paragraphs to the terminal's width, and keep indented lines as they are."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=width())

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        parts = [part if part.startswith(" ") else textwrap.fill(part, width) for part in _paragraphs(text)]
        return "\n".join(parts)


class Parser(argparse.ArgumentParser):
    """A parser that reports wrong use as a UsageError of one line; argparse would print a usage text and exit."""

    def error(self, message: str) -> NoReturn:
        message = message[:1].lower() + message[1:]
        raise UsageError(f"{shown(message)}. Try: {self.prog} --help")


def run(name: str, arguments: Sequence[str], file: str | None, profile: str | None) -> int:
    """Run one command to its end; see the table above. UsageError if there is no such command."""
    if name not in COMMANDS:
        raise UsageError(f"there is no command {shown(name)}.{_suggestion(name)} Try: {program()} --help")
    closed = sys.stdout is None
    _prepare_streams()
    if closed:
        return _fail("stdout is closed, so nothing can be printed")
    try:
        status = _run(name, arguments, file, profile)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return _INTERRUPTED
    except MemoryServerError as error:
        return _fail(str(error))
    except OSError as error:
        nobody_reads = _reader_is_gone(error)
        _discard_stdout()
        return 0 if nobody_reads else _fail(f"{error.strerror or error}")
    except Exception:  # noqa: BLE001 (the edge: status 1 means something else here, so a mistake of ours ends with 2)
        traceback.print_exc()
        return _fail("this is a bug in the program; the lines above show where")


def parser_of(name: str) -> tuple[Parser, _Module]:
    """A command's parser, and its module."""
    module = cast(_Module, importlib.import_module(f"memory_app.commands.{COMMANDS[name].module}"))
    examples = "\n".join(f"  {program()} {line}\n      {what}" for line, what in module.EXAMPLES)
    parser = Parser(
        prog=f"{program()} {name}",
        description=(module.__doc__ or "").strip(),
        epilog=f"examples:\n{examples}",
        formatter_class=_Help,
        allow_abbrev=False,
        add_help=False,
    )
    module.register(parser)
    about = ("the memory file (default: the one that the server uses)", "a separate memory beside the default one")
    file, profile = about if name not in _WITHOUT_MEMORY else (argparse.SUPPRESS, argparse.SUPPRESS)
    common = parser.add_argument_group("which memory")
    common.add_argument("--file", metavar="PATH", help=file)
    common.add_argument("--profile", metavar="NAME", help=profile)
    parser.add_argument("-h", "--help", action="help", help="print this and exit")
    return parser, module


def program() -> str:
    """How this program was called, for texts that people copy."""
    called = sys.argv[0]
    python = os.path.basename(sys.orig_argv[0]) if sys.orig_argv else ""
    python = python if python.startswith("py") else "python"
    given = called if called.endswith(".pyz") else archive(os.environ, called)
    if given:
        return f'{python} "{given}"' if " " in given else f"{python} {given}"
    if os.path.basename(called) == "__main__.py":
        return f"{python} -m memory_app"
    return os.path.basename(called) or "memory-server"


def _run(name: str, arguments: Sequence[str], file: str | None, profile: str | None) -> int:
    parser, module = parser_of(name)
    try:
        # Options may be anywhere. After a `--`, which intermixed parsing drops, nothing is an option.
        asked = parser.parse_args(arguments) if "--" in arguments else parser.parse_intermixed_args(arguments)
    except SystemExit as end:  # --help
        return int(end.code or 0)
    if asked.file is None and asked.profile is None:
        asked.file, asked.profile = file, profile
    with _raising_interrupts():
        return module.run(asked)


@contextlib.contextmanager
def _raising_interrupts() -> Iterator[None]:
    """A context in which Ctrl-C is a KeyboardInterrupt, so that what a command has begun is ended or taken back. Before
    and after it the process ends at once (see `cli`).
    """
    before = signal.getsignal(signal.SIGINT)
    if callable(before) and before is not signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else a server has set its own
            signal.signal(signal.SIGINT, before)


def _paragraphs(text: str) -> list[str]:
    """The paragraphs of a text: blank lines, indented lines and headings are alone, other consecutive lines are
    joined.
    """
    found: list[str] = []
    for line in text.splitlines():
        joins = found and found[-1] and line and not line.startswith(" ") and not found[-1].startswith(" ")
        if joins and not found[-1].endswith(":"):
            found[-1] += f" {line}"
        else:
            found.append(line)
    return found


def _suggestion(name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, COMMANDS, 1)
    return f" Did you mean {close[0]}?" if close else ""


def _one_line(text: str) -> str:
    return shown(" ".join(text.split("\n")))


def _prepare_streams() -> None:
    """Prepare the standard streams. A terminal or pipe with a small character set shows escapes for missing characters
    instead of failing, and a closed descriptor gets a replacement to write to.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        cast(Any, stream).reconfigure(errors="backslashreplace")


def _fail(text: str) -> int:
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    sys.stderr.write(f"memory-server: {_one_line(text)}\n")
    return 2


def _reader_is_gone(error: OSError) -> bool:
    """Whether stdout's pipe was closed; Windows reports that as an invalid argument."""
    return isinstance(error, BrokenPipeError) or (sys.platform == "win32" and error.errno == errno.EINVAL)


def _discard_stdout() -> None:
    """Discard the text that is still buffered; otherwise the interpreter's last flush would report an error."""
    with contextlib.suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
