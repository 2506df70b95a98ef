"""Findings: the kinds of oddity in a memory file, in the order of the report, and what `repair` does with each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class Kind(NamedTuple):
    """`title` is the heading of the findings of a kind, `note` says what it means, and `mended` says whether repair
    removes it.
    """

    title: str
    note: str
    mended: bool


class Finding(NamedTuple):
    """One oddity. `lines` are numbers from 1; empty if it concerns the whole file or its folder."""

    kind: str
    text: str
    lines: tuple[int, ...] = ()


KINDS: Final[Mapping[str, Kind]] = {
    "not-a-memory": Kind("Not a memory", "it is neither served nor written", False),
    "foreign-shape": Kind("Another shape", "served; the first write turns it into lines, after a copy", True),
    "unreadable": Kind("Unreadable lines", "kept; repair --drop-unreadable moves them out", False),
    "torn": Kind("Cut off last line", "kept; repair --drop-unreadable moves it out", False),
    "unknown-record": Kind("Records of other programs", "kept as they are, not served", False),
    "unknown-keys": Kind("Unknown keys", "kept, not served", False),
    "several-records": Kind("Several records on one line", "each is served", True),
    "other-form": Kind("Records in another form", "served in ours", True),
    "observation-objects": Kind("Observations that are objects", "served by their text, kept as they are", False),
    "repeated-name": Kind("Names on several lines", "served as one entity", True),
    "repeated-relation": Kind("Repeated relations", "served once", True),
    "repeated-observation": Kind("Repeated observations", "each is served", True),
    "dangling-relation": Kind("Relations to missing entities", "served; repair --add-missing makes them", False),
    "near-duplicate": Kind("Names that may mean the same", "only you can tell", False),
    "empty-name": Kind("Names without a letter", "served; hard to see, and to ask for", False),
    "line-ends": Kind("Line ends and blank lines", "served anyway", True),
    "byte-order-mark": Kind("Byte order mark", "served anyway", True),
    "lock": Kind("Locks", "", False),
    "leftover": Kind("Leftovers beside the file", "", False),
    "replaced": Kind(
        "Files that another program was writing in place", "merge recovers late writes; otherwise remove", False
    ),
    "conflict-copy": Kind("Copies by a sync service", "merge unites them with the memory", False),
    "file": Kind("The file itself", "", False),
}


def in_order(found: list[Finding]) -> dict[str, list[Finding]]:
    """The findings by kind."""
    return {kind: of_kind for kind in KINDS if (of_kind := [one for one in found if one.kind == kind])}


def lines_text(lines: tuple[int, ...], most: int = 6) -> str:
    """`line 4`, `lines 1, 3 and 20 more`; the empty string for none."""
    if not lines:
        return ""
    shown = ", ".join(f"{number:,}" for number in lines[:most])
    more = f" and {len(lines) - most:,} more" if len(lines) > most else ""
    return f"line{'s' if len(lines) > 1 else ''} {shown}{more}"
