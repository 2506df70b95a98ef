"""Write the memory for people and for other programs. --format chooses the format, else the ending of --output; without
either it is JSON. import can read JSON, JSON Lines, Markdown and CSV back; GraphML and DOT are one-way.

In CSV, a cell that a spreadsheet would run as a formula (it begins with = + - @, a tab or a line end) gets a leading
apostrophe; --raw-cells leaves cells unchanged.
"""

from __future__ import annotations

import argparse
import os
from typing import Final

from memory_app.commands.exports import FORMS, NOTES, Memory, Options, form_of, writer
from memory_app.commands.exports.notes import notes
from memory_app.commands.memory import make_folder, open_store, require_memory, same_file, write_new
from memory_app.commands.screen.terminal import say, track, working, write_bytes
from memory_app.errors import UsageError
from memory_app.text import counted, shown

EXAMPLES: Final = (
    ("export --format markdown", "print the memory as a page to read"),
    ("export --output memory.csv --bom", "write a table that Excel opens correctly"),
    ("export --format notes --output vault/", "write a folder of notes for Obsidian"),
    ("export --format dot | dot -Tsvg > memory.svg", "draw it with Graphviz"),
)
_NOTES: Final = "a folder of Markdown notes, one for each entity, for Obsidian and basic-memory"


def register(parser: argparse.ArgumentParser) -> None:
    forms = "; ".join([*(f"{name}: {form.summary}" for name, form in FORMS.items()), f"{NOTES}: {_NOTES}"])
    parser.add_argument("--format", choices=(*FORMS, NOTES), metavar="FORM", help=forms)
    parser.add_argument("--output", "-o", metavar="PATH", help="the file or folder to write (default: stdout)")
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")
    parser.add_argument("--raw-cells", action="store_true", help="CSV: do not mark cells that look like formulas")
    parser.add_argument(
        "--bom", action="store_true", help="CSV: begin with a byte order mark, by which Excel recognizes UTF-8"
    )


def run(asked: argparse.Namespace) -> int:
    location = require_memory(asked)
    output = None if asked.output in (None, "-") else asked.output
    form = asked.format or (form_of(output) if output else None) or ("json" if output is None else None)
    if form is None:
        raise UsageError(
            f"{shown(output or '')}: the ending does not tell the format. Add --format {' or '.join(FORMS)}."
        )
    if output and same_file(output, location.path):
        raise UsageError("--output is the memory file itself. Name another file; to copy it, use backup.")
    if form == NOTES and output is None:
        raise UsageError("--format notes writes a folder. Add --output FOLDER.")
    with open_store(location.path) as store:
        memory = Memory.of(store.graph())
    counts = f"{counted(len(memory.entities), 'entity')} and {counted(len(memory.relations), 'relation')}"
    if form == NOTES and output is not None:
        _write_notes(memory, output, force=asked.force)
        say(f"Wrote {counts} to {shown(output)}")
        return 0
    total = len(memory.entities) + len(memory.relations)
    options = Options(asked.raw_cells, asked.bom, os.path.splitext(os.path.basename(location.path))[0].capitalize())
    chunks = track(writer(form)(memory, options), total, "Exporting")
    if output is None:
        write_bytes(chunks)
    else:
        write_new(output, chunks, force=asked.force)
        say(f"Wrote {counts} to {shown(output)}")
    return 0


def _write_notes(memory: Memory, folder: str, *, force: bool) -> None:
    """Write the notes, each whole or not at all. Only an empty folder is filled, unless `force` is set."""
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise UsageError(f"{shown(folder)} is a file. --format notes writes a folder.")
    make_folder(folder)
    if not force and os.listdir(folder):
        raise UsageError(f"{shown(folder)} is not empty. Name another folder, or add --force to replace notes in it.")
    with working("Exporting"):
        for name, text in notes(memory):
            write_new(os.path.join(folder, name), [text], force=force)
