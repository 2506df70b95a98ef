"""What people see: colours, bars and safe text. Colours and progress bars are written only to terminals; results are
written anywhere.

The contents of a memory may be hostile to a terminal: control characters, escape sequences and marks that change the
writing direction are printed as visible escapes.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import threading
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TextIO, TypeVar

T = TypeVar("T")

_STYLES: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_JOINERS: Final = "\u200c\u200d\u00a0\u3000\u00ad"
"""Called unprintable by Python, but parts of real words, emoji and names."""

_PATIENCE: Final = 0.4
"""Seconds before progress is shown: what is done by then needs none."""

_TICK: Final = 0.1
_BAR: Final = 24  # characters
_WIDEST: Final = 100  # columns of running text; longer lines are hard to read
_USUAL: Final = 80  # columns where there is no terminal to ask


class Terminal:
    """A text stream that may be a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.interactive = stream.isatty()
        self._colours = self.interactive and _wants_colours() and _knows_colours()

    def line(self, text: str = "") -> None:
        self._stream.write(text + "\n")

    def styled(self, text: str, *styles: str) -> str:
        """The text in these styles if colours are wanted, else unchanged."""
        if not self._colours or not text:
            return text
        return f"\x1b[{';'.join(_STYLES[style] for style in styles)}m{text}\x1b[0m"


def output() -> Terminal:
    return Terminal(sys.stdout)


def say(text: str) -> None:
    """Print a line for the person, apart from the results."""
    sys.stdout.flush()
    sys.stderr.write(text + "\n")


def width() -> int:
    return min(shutil.get_terminal_size((_USUAL, 24)).columns, _WIDEST)


def safe(text: str) -> str:
    """The text with everything that could control a terminal, including line ends and tabs, as a visible escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in _JOINERS else _escape(c) for c in text)


def paragraph(text: str, indent: str, first: str | None = None) -> str:
    """A text of the memory, made safe, with its own line ends kept and its lines wrapped to the terminal's width."""
    lines: list[str] = []
    for part in text.replace("\r\n", "\n").split("\n"):
        lines += _wrapped(safe(part), max(width() - len(indent), 20))
    return (indent if first is None else first) + f"\n{indent}".join(lines)


def columns(text: str) -> int:
    """The number of terminal columns that the text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) or c in "\u200c\u200d" else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def padded(text: str, size: int) -> str:
    return text + " " * max(size - columns(text), 0)


def cut(text: str, size: int) -> Iterator[str]:
    """The text in pieces of at most `size` columns. In one pass, because it may be a file that somebody pasted."""
    start = used = 0
    for place, character in enumerate(text):
        needed = columns(character)
        if used + needed > size and place > start:
            yield text[start:place]
            start, used = place, 0
        used += needed
    yield text[start:]


def write_json(value: Any) -> None:
    """Write one JSON document to stdout, always in UTF-8."""
    text = json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    write_bytes([text.encode("utf-8", "backslashreplace")])


def write_bytes(chunks: Iterable[bytes]) -> None:
    sys.stdout.flush()
    for chunk in chunks:
        sys.stdout.buffer.write(chunk)
    sys.stdout.buffer.flush()


def track(items: Iterable[T], total: int, what: str) -> Iterator[T]:
    """The items, with a progress bar on the terminal if the work takes long."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield from items
        return
    started = shown_at = time.monotonic()
    drawn = False
    try:
        for done, item in enumerate(items):
            if not done & 63:
                now = time.monotonic()
                if now - started > _PATIENCE and now - shown_at > _TICK:
                    _draw(what, done, max(total, 1))
                    shown_at, drawn = now, True
            yield item
    finally:
        if drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


@contextlib.contextmanager
def working(what: str) -> Iterator[Callable[[], None]]:
    """Show a moving bar on the terminal during work of unknown length, if it takes long.

    The yielded function removes the bar before the end of the work, so that a line can be printed.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda: None
        return
    done = threading.Event()
    mover = threading.Thread(target=_move, args=(what, done), daemon=True)

    def stop() -> None:
        done.set()
        mover.join()

    mover.start()
    try:
        yield stop
    finally:
        stop()


def _move(what: str, done: threading.Event) -> None:
    step = 0
    wait = _PATIENCE
    while not done.wait(wait):
        place = step % (_BAR - 2)
        sys.stderr.write(f"\r{what} [{'.' * place}###{'.' * (_BAR - 3 - place)}]\x1b[K")
        sys.stderr.flush()
        step, wait = step + 1, _TICK
    if step:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def _draw(what: str, done: int, total: int) -> None:
    part = min(done / total, 1.0)
    filled = round(part * _BAR)
    sys.stderr.write(f"\r{what} [{'#' * filled}{'.' * (_BAR - filled)}] {part:4.0%}\x1b[K")
    sys.stderr.flush()


def _escape(character: str) -> str:
    code = ord(character)
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(character)
    return named or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")


def _wrapped(text: str, size: int) -> list[str]:
    """Lines of at most `size` columns, broken at spaces, or anywhere in a word that is longer."""
    if columns(text) <= size:
        return [text]
    lines: list[str] = []
    line, used = "", 0
    for word in text.split(" "):
        needed = columns(word)
        if line and used + 1 + needed > size:
            lines.append(line)
            line, used = "", 0
        if needed > size:
            *whole, word = cut(word, size)
            lines += whole
            needed = columns(word)
        line, used = (f"{line} {word}", used + 1 + needed) if line else (word, needed)
    return [*lines, line] if line else lines


def _wants_colours() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _knows_colours() -> bool:
    """Whether the stream understands escape sequences; on a Windows console they are switched on first."""
    if sys.platform != "win32":
        return True
    import ctypes

    kernel = ctypes.windll.kernel32
    console = kernel.GetStdHandle(-11)  # STD_OUTPUT_HANDLE
    mode = ctypes.c_uint32()
    if not kernel.GetConsoleMode(console, ctypes.byref(mode)):
        return False
    return bool(kernel.SetConsoleMode(console, mode.value | 4))  # ENABLE_VIRTUAL_TERMINAL_PROCESSING
