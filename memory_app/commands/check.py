"""Look for everything odd in the memory file and print its line numbers: unreadable lines, duplicates, relations to
missing entities, names that may mean the same, locks and leftovers of a crash. Changes nothing.

Exit status: 0 if nothing was found, 1 if something was found, 2 if the file could not be checked.
"""

from __future__ import annotations

import argparse
from typing import Any, Final

from memory_app.commands.frame import program
from memory_app.commands.memory import read_whole, require_memory
from memory_app.commands.screen.terminal import Terminal, output, padded, safe, track, write_json
from memory_app.commands.upkeep import leftovers
from memory_app.commands.upkeep.findings import KINDS, Finding, in_order, lines_text
from memory_app.commands.upkeep.inspection import Counts, inspect
from memory_app.errors import UsageError
from memory_app.text import counted

EXAMPLES: Final = (
    ("check", "check the memory that the server uses"),
    ("check --file old.jsonl --json", "check another file, with output for a program"),
    ("check --ignore near-duplicate,unknown-keys", "skip two kinds of findings"),
)

_SHOWN: Final = 8
"""Findings of one kind that are listed without --all."""

_LINES_COLUMN: Final = 16


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="list every finding, not only the first of each kind")
    parser.add_argument(
        "--ignore",
        type=_kinds,
        default=(),
        metavar="KINDS",
        help="kinds to skip, separated by commas; --json names them",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(asked: argparse.Namespace) -> int:
    location = require_memory(asked)
    inspection = inspect(read_whole(location.path), lambda lines, what: track(lines, len(lines), what))
    found = [one for one in inspection.findings + leftovers.findings(location.path) if one.kind not in asked.ignore]
    if asked.json:
        write_json(_as_json(location.path, inspection.counts, found))
    else:
        out = output()
        out.line(out.styled(safe(location.path), "bold") + f"  ({location.why})")
        out.line(counts_text(inspection.counts))
        _show(out, found, everything=asked.all)
    return 1 if found else 0


def counts_text(counts: Counts) -> str:
    texts = (
        counted(counts.entities, "entity"),
        counted(counts.observations, "observation"),
        counted(counts.relations, "relation"),
        counted(counts.lines, "line"),
        counted(counts.bytes, "byte"),
    )
    return ", ".join(texts)


def _show(out: Terminal, found: list[Finding], *, everything: bool) -> None:
    if not found:
        out.line(out.styled("Nothing odd was found.", "green"))
        return
    by_kind = in_order(found)
    for kind, findings in by_kind.items():
        title, note, mended = KINDS[kind]
        note = f"{note}; repair mends it" if mended else note
        out.line()
        out.line(f"{out.styled(title, 'bold')} ({len(findings):,}){out.styled(f'  {note}', 'dim') if note else ''}")
        shown = findings if everything else findings[:_SHOWN]
        for one in shown:
            lines = lines_text(one.lines)
            out.line(f"  {padded(lines, _LINES_COLUMN) + '  ' if lines else ''}{safe(one.text)}")
        if len(shown) < len(findings):
            out.line(out.styled(f"  and {len(findings) - len(shown):,} more (--all lists them)", "dim"))
    out.line()
    mendable = sum(len(findings) for kind, findings in by_kind.items() if KINDS[kind].mended)
    rest = f", {mendable:,} of which `{program()} repair` mends" if mendable else ""
    out.line(f"{counted(len(found), 'finding')}{rest}.")


def _as_json(path: str, counts: Counts, found: list[Finding]) -> dict[str, Any]:
    return {
        "file": path,
        "counts": counts._asdict(),
        "findings": [
            {"kind": one.kind, "lines": list(one.lines), "text": one.text, "mendable": KINDS[one.kind].mended}
            for findings in in_order(found).values()
            for one in findings
        ],
    }


def _kinds(text: str) -> tuple[str, ...]:
    kinds = tuple(part.strip() for part in text.split(",") if part.strip())
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise UsageError(f"--ignore: there is no kind {unknown[0]}. The kinds are {', '.join(KINDS)}.")
    return kinds
