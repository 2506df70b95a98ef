"""Edit the facts of an entity in your editor, one per line. The memory is locked only after the editor has closed, and
only what you changed is changed: facts that others stored meanwhile stay. Nothing is changed if the file cannot be read
or is empty, or if the editor ends with an error. If your text cannot be stored, it is kept for a day in your temporary
folder, and a message says where.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Final

from memory_app.commands.memory import open_store, read_whole, refuse_read_only, require_memory
from memory_app.commands.screen.terminal import output, say
from memory_app.commands.upkeep import correction
from memory_app.disk.private import keep_private_file, private_file
from memory_app.errors import StoreError, UsageError
from memory_app.graph import changes
from memory_app.graph.changes import Addition, Deletion
from memory_app.graph.corrections import replace_observation
from memory_app.graph.graph import Graph
from memory_app.text import shown

EXAMPLES: Final = (
    ("edit Ann", "edit the facts about Ann"),
    ("edit Ann --dry-run", "edit them, and only show what would change"),
)

_FILE: Final = "facts.txt"
_ESCAPES: Final = {"\\": "\\\\", "\n": "\\n", "\r": "\\r"}
_MEANT: Final = {"\\": "\\", "n": "\n", "r": "\r", "#": "#"}
_ESCAPE: Final = re.compile(r"\\(.?)", re.DOTALL)


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", type=correction.stored_text, metavar="NAME", help="an entity's name")
    correction.register(parser)


def run(asked: argparse.Namespace) -> int:
    path = require_memory(asked, writes=not asked.dry_run).path
    if not asked.dry_run:
        refuse_read_only(path)
    with open_store(path) as store:
        graph = store.graph()
    line = graph.entities.get(asked.name)
    if line is None:
        text = f"Entity with name {asked.name} not found"
        say(f"memory-server: {shown(text)}.{correction.suggestion(graph, text)}")
        return 1
    old = [text for text in line.observations() if text.strip()]  # a blank one would be an empty line
    typed = _run_editor(asked.name, old)
    try:
        new = read(_decode(typed))
        if new is None or new == old:
            output().line("Nothing was changed.")
            return 0
        status = correction.correct(asked, "edit", lambda graph: apply_edit(graph, asked.name, old, new))
    except BaseException:
        _keep(typed)
        raise
    if status:
        _keep(typed)
    return status


def apply_edit(graph: Graph, name: str, old: list[str], new: list[str]) -> Graph:
    """Apply the difference between two lists of facts to the entity as it is now."""
    made = graph
    gone: list[str] = []
    kept = set(new)
    for kind, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        before = [text for text in old[i:j] if text not in kept]
        after = [text for text in new[k:m] if text not in old]
        for was, becomes in zip(before, after, strict=False):
            line = made.entities.get(name)
            if line is not None and was in line.observations():
                made = replace_observation(made, name, was, becomes)
        gone += before[len(after) :]
    made = changes.delete_observations(made, [Deletion(name, tuple(gone))])[0]
    return changes.add_observations(made, [Addition(name, tuple(text for text in new if text not in old))])[0]


def text_for_editor(name: str, facts: list[str]) -> str:
    """The text of the file for the editor."""
    title = " ".join(shown(name).split())
    head = f"# {title}: one fact a line. Lines that begin with # are ignored; \\n is a line end within a fact.\n"
    return head + "".join(_line(fact) + "\n" for fact in facts)


def read(text: str) -> list[str] | None:
    """The facts in such a file; None if the file is empty. UsageError if it is invalid."""
    if not text.strip():
        return None
    facts: dict[str, None] = {}
    for number, line in enumerate(text.split("\n"), 1):
        line = line.removesuffix("\r")
        if line.startswith("#") or not line.strip():
            continue
        wrong = [escape for escape in _ESCAPE.findall(line) if escape not in _MEANT]
        if wrong:
            raise UsageError(
                f"line {number} contains \\{shown(wrong[0])}, which has no meaning: write \\\\ for a backslash. "
                "Nothing was changed."
            )
        facts[_ESCAPE.sub(lambda match: _MEANT[match[1]], line)] = None
    return list(facts)


def _line(fact: str) -> str:
    text = "".join(_ESCAPES.get(character, character) for character in fact)
    return f"\\{text}" if text.startswith("#") else text


def _run_editor(name: str, facts: list[str]) -> bytes:
    """The bytes that the editor leaves in the file."""
    command = _editor()
    text = text_for_editor(name, facts).encode()
    with _told_of_the_end(), private_file(_FILE, text) as path:
        try:
            status = subprocess.run([*command, path], check=False).returncode
        except OSError as error:
            raise UsageError(f"{shown(command[0])} could not be started: {error.strerror}. Set EDITOR.") from error
        except BaseException:  # the terminal was closed, or the command stopped
            with contextlib.suppress(StoreError):
                typed = read_whole(path)
                if typed != text:
                    _keep(typed)
            raise
        if status:
            raise UsageError(f"{shown(command[0])} ended with status {status}. Nothing was changed.")
        return read_whole(path)


@contextlib.contextmanager
def _told_of_the_end() -> Iterator[None]:
    """Let the signals of a closed terminal and of a stopped process end the command with an exception, so that the
    editor's file is removed. What the starter ignores stays ignored.
    """

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    names = ("SIGTERM", "SIGHUP")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    for number, handler in before.items():
        if handler is signal.SIG_DFL:
            signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is signal.SIG_DFL:
                signal.signal(number, handler)


def _decode(typed: bytes) -> str:
    try:
        return typed.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError("the edited file is not UTF-8. Nothing was changed.") from None


def _keep(typed: bytes) -> None:
    """Save the text that could not be stored: it may be the work of an hour."""
    with contextlib.suppress(OSError):
        say(f"memory-server: what you wrote is in {shown(keep_private_file(_FILE, typed))} for a day.")


def _editor() -> list[str]:
    for name in ("VISUAL", "EDITOR"):
        words = os.environ.get(name, "").strip()
        if words:
            try:
                return shlex.split(words, posix=sys.platform != "win32")
            except ValueError as error:  # a quote that nothing closes
                raise UsageError(f"{name} is {shown(words)}: {str(error).lower()}. Set it anew.") from error
    return ["notepad"] if sys.platform == "win32" else ["vi"]
