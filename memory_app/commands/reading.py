"""The input of `import`: files and folders, in the format that their names or contents show."""

from __future__ import annotations

import os
from collections import Counter
from typing import Final

from memory_app.commands.imports import MARKDOWN, NotRead, Read, decoded, form_of
from memory_app.commands.imports.csv_table import table
from memory_app.commands.imports.markdown import notes, page
from memory_app.commands.imports.mem0 import memories
from memory_app.commands.memory import bytes_of, contents_in, read_whole
from memory_app.errors import StoreError, UsageError
from memory_app.text import shown

_ONE_WAY: Final = {".graphml": "GraphML", ".dot": "DOT", ".gv": "DOT"}


def read_source(path: str) -> Read:
    """The whole contents of a file, a folder of notes, or stdin (`-`). UsageError if the format is not supported."""
    try:
        if path != "-" and os.path.isdir(path):
            return _folder(path)
        stem, ending = ("", "") if path == "-" else os.path.splitext(os.path.basename(path))
        if ending.lower() in _ONE_WAY:
            form = _ONE_WAY[ending.lower()]
            raise UsageError(f"{shown(path)}: {form} is one-way: export writes it, import does not read it.")
        data = bytes_of(path)
        form_told = form_of(ending, data)
        if form_told == "csv":
            return table(decoded(data))
        if form_told == "markdown":
            return page(decoded(data), stem or "note")
        return memories(data) or Read(contents_in(data, path), Counter())
    except NotRead as error:
        raise UsageError(f"{'stdin' if path == '-' else shown(path)} cannot be read: {error}.") from error


def _folder(folder: str) -> Read:
    """The notes in a folder and in its subfolders. Names that begin with a dot, such as `.obsidian`, belong to programs
    and are skipped.
    """
    found: list[tuple[str, str]] = []
    left: Counter[str] = Counter()
    for here, folders, names in os.walk(folder, onerror=_refuse_unlisted):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(name for name in names if not name.startswith(".")):
            stem, ending = os.path.splitext(name)
            if ending.lower() not in MARKDOWN:
                left["file that is not a note"] += 1
                continue
            try:
                found.append((stem, decoded(read_whole(os.path.join(here, name)))))
            except NotRead:
                left["note that is not in UTF-8"] += 1
    if not found:
        raise UsageError(f"{shown(folder)} is a folder without a note: no file in it ends with .md.")
    read = notes(found)
    read.left.update(left)
    return read


def _refuse_unlisted(error: OSError) -> None:
    raise StoreError(f"{shown(str(error.filename))} could not be read: {error.strerror or error}.") from error
