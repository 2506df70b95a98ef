"""Figures in the README and the guide: each is a constant of the program, or stands in a part that a command fills in.

Left out are generated regions (`<!-- NAME:begin -->`), fenced blocks (which other tests run or compare) and lines that
name the command which prints the figure. Any other figure has to be among the constants below, so that a figure which
was measured once and written down by hand is found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from memory_app.commands import brief
from memory_app.disk import whole
from memory_app.graph import loose
from memory_app.lock import heartbeat, lock, stale
from memory_app.server import lifetime, messages, service, updates
from memory_app.server.http import access, asgi, guard, limits, run, sessions, streams, transport
from memory_app.storage import history, inplace, memory_file, replaced
from memory_app.tools import arguments, plans
from memory_app.tools.table import TOOLS, reads

ROOT: Final = Path(__file__).resolve().parent.parent
PAGES: Final = (ROOT / "README.md", *sorted((ROOT / "memory_app" / "guide").glob("*.md")))

_KIB, _MIB, _GIB = 1 << 10, 1 << 20, 1 << 30
CONSTANTS: Final[Mapping[str, frozenset[float]]] = {
    "second": frozenset(
        {
            lock.WAIT,
            stale.UNREFRESHED,
            heartbeat.INTERVAL,
            lifetime.SAVE_SECONDS,
            limits.KEEP_ALIVE_SECONDS,
            limits.HEAD_SECONDS,
            limits.BODY_SECONDS,
            limits._UNTAKEN_SECONDS,
            asgi._BUDGET_SECONDS,
            updates._SLOW,
            inplace._LONGEST_WAIT,
            inplace.COARSEST,
            replaced._WATCH,
        }
    ),
    "millisecond": frozenset({service._QUICK_SECONDS * 1000}),
    "minute": frozenset({whole.TEMPORARY_SECONDS / 60, limits._PROBES + 1}),
    "day": frozenset({history.DAYS, sessions.LIFETIME_SECONDS / 86_400, 90}),  # 90: the example of MEMORY_HISTORY
    "KiB": frozenset({run._LARGEST_HEAD / _KIB, 96, 64}),  # 96, 64: stacks, see tests/faults/test_limits.py
    "MiB": frozenset(
        one / _MIB
        for one in (
            plans.LARGEST_ANSWER,
            messages.LINE_LIMIT,
            access.LARGEST_BODY,
            asgi._BUDGET,
            transport._MOST_UNSENT,
            history.LEAST_BYTES,
            history.LARGEST_COPY,
        )
    ),
    "GiB": frozenset({memory_file.LARGEST_FILE / _GIB}),
    "MB": frozenset({59, 17}),  # compared with the archives in test_docs.py
    "token": frozenset({brief.TOKENS, 25_000}),  # 25,000: Claude Code's limit for an answer
    "character": frozenset({arguments.LONGEST_QUERY}),
    "tool": frozenset({len(TOOLS), sum(map(reads, TOOLS))}),
    "entity": frozenset({loose.MOST}),
    "session": frozenset({streams._MOST_KEPT}),
    "subscription": frozenset({updates._MOST_SUBSCRIBERS}),
    "request": frozenset({guard._MOST_IN_FLIGHT}),
    "connection": frozenset({limits._MOST_CONNECTIONS}),
}
"""What each unit may stand behind."""

_WORDS: Final = {"two": 2, "three": 3, "four": 4, "five": 5, "nine": 9, "ten": 10, "twenty": 20, "thirty": 30}
_SHORT: Final = {"s": "second", "ms": "millisecond", "entities": "entity", "%": "percent", "\u00d7": "times"}
_FIGURE: Final = re.compile(
    rf"(?<![\w.,/:`-])(\d[\d,]*(?:\.\d+)?|{'|'.join(_WORDS)})[ -]?"
    "(%|\u00d7|"
    r"ms|s|milliseconds?|seconds?|minutes?|hours?|days?|[KMG]iB|[kMG]B|tokens?|characters|tools|entities|times"
    r"|sessions|subscriptions|requests|connections|platforms|commands)(?![\w/])"
)
_COUNTED: Final = re.compile(r"\b\d+ of \d+\b")
_OTHER: Final = re.compile(
    r"(?:two|three|five|ten) (?:entities|times|connections)"  # plain English
    r"|100,000 entities"  # scale.md's and the README's sizes of what was measured
    r"|10 ms"  # how coarse a file system's clock may be
)


def prose(text: str) -> Iterator[str]:
    """The lines of a page that people write."""
    for part in (r"<!-- (\w+):begin -->.*?<!-- \1:end -->", r"^```.*?^```$"):
        text = re.sub(part, "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"`[^`]*`", "``", text)  # some of them go over the end of a line
    yield from text.splitlines()


def strange(line: str) -> list[str]:
    """The figures of a line that no constant of the program has."""
    line = re.sub(r"`[^`]*`", "``", line)
    found = _COUNTED.findall(line)
    for match in _FIGURE.finditer(line):
        number, unit = match.groups()
        value = float(_WORDS.get(number) or number.replace(",", ""))
        name = _SHORT.get(unit) or unit.removesuffix("s")
        if value not in CONSTANTS.get(name, ()) and not _OTHER.fullmatch(match[0]):
            found.append(match[0])
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_figure_is_a_constant_of_the_program_or_filled_in_by_a_command(page: Path) -> None:
    if page.stem == "tools":  # written by `make tools-page`
        return
    found = {line: figures for line in prose(page.read_text("utf-8")) if (figures := strange(line))}
    assert not found


@pytest.mark.parametrize(
    "line",
    [
        "it starts in 80 ms",
        "searching takes 0.4 s for most",
        "the archive has 53.1 MB, and runs on 7 platforms",
        "37.4 % of the writes",
        "it is 40 times as fast",
        "eleven commands and 12 tools",
        "a lock is broken after 31 seconds",
        "an answer of 255 MiB",
        "of which 11 of 11 passed",
    ],
)
def test_a_figure_of_another_origin_is_found(line: str) -> None:
    assert strange(line)


def test_a_figure_of_the_program_is_not_found() -> None:
    assert not strange(f"nine tools, {lock.WAIT:.0f} seconds, two entities, `--tokens 5 tokens`, 2,048 characters")
