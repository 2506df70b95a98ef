"""`make bench`: every cost of this program beside the npm server's, in turn, several rounds, over real stdio.

Prints the tables, and writes `results.md`, `growth.svg` and the marked region of the README. A look (--quick, or other
sizes) only prints.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

from tests.bench import cases, graphs, million, over_http, servers
from tests.bench.cases import BURST, PROCESSES, Figures
from tests.bench.client import Server
from tests.bench.plot import Panel, draw
from tests.bench.report import Row, marked, table
from tests.platforms import interpreters

_HERE: Final = Path(__file__).parent
_SIZES: Final = (10, 1_000, 10_000, 100_000)
_MILLION_ROUNDS: Final = 3
_SHOWN: Final = (10, 10_000)  # in the README: the others stand in results.md and in the picture
_LOOSE_SECONDS: Final = 0.015  # that the third stage of a search may take
_LARGE: Final = 10_000  # entities from which on a figure is a matter of the graph's size

# What is compared with the npm server: the figure's name in `cases`, words for it, the ratio wanted at each size.
_WANTED: Final[Sequence[tuple[str, str, Mapping[int, float]]]] = (
    ("start", "start to first answer", {10: 1.5}),
    ("start, tool", "start to the first tool's answer", {}),
    ("open", "open_nodes, one name", {10: 0.8, 10_000: 0.03, 100_000: 0.005}),
    ("search, rare", "search_nodes, one hit", {10_000: 0.15, 100_000: 0.1}),
    ("search, none", "search_nodes, no hit", {10_000: 0.15, 100_000: 0.1}),
    ("search, words", "search_nodes, five common words that some entities hold", {}),
    ("search, misspelt", "search_nodes, loose: one misspelt word", {10_000: 0.15, 100_000: 0.1}),
    ("search, loose", "search_nodes, loose: common words in other forms", {10_000: 0.25, 100_000: 0.15}),
    ("read", "read_graph", {10: 0.8, 10_000: 0.3}),
    ("add", "add_observations", {10: 0.8, 1_000: 0.5, 10_000: 0.25, 100_000: 0.2}),
    ("create", "create_entities", {10: 0.8, 1_000: 0.5, 10_000: 0.25, 100_000: 0.2}),
    ("delete", "delete_entities", {10: 0.8, 1_000: 0.5, 10_000: 0.25, 100_000: 0.2}),
    ("saves", f"saves for {BURST} writes sent at once", {10: 3 / BURST}),
    ("peak", "peak memory of the session", {10_000: 0.6, 100_000: 0.5}),
    ("first call", "the first call, which loads", {}),
    ("first search", "the first search", {}),
    ("first loose search", "the first loose search, which makes the index of words", {}),
)
_STARTS: Final = 3  # in each round, of which the median counts
_START_ROUNDS: Final = 10  # they vary more than calls, and take a second
_STARTS_WANTED: Final = {True: 1.25, False: 1.45}
"""The ratio for the first tool's answer, by whether the interpreter was compiled with optimisation."""
_UNITS: Final = {"saves": "count", "peak": "memory"}
_NO_DISK: Final = Path("/dev/shm")  # where there is one: a file system on which a sync costs nothing
_PANELS: Final = (
    ("add", "A write: add_observations"),
    ("search, none", "A search: search_nodes"),
    ("open", "One entity: open_nodes"),
    ("read", "The whole graph: read_graph"),
)


class Bench:
    """Runs cases round by round; `figures[size, rival, name]` has one figure for each round."""

    def __init__(self, folder: Path, rounds: int) -> None:
        self._folder = folder
        self._rounds = rounds
        self.figures: dict[tuple[int, str, str], list[float]] = defaultdict(list)

    def run(
        self, size: int, rivals: Mapping[str, Callable[[Path], Figures]], rounds: int = 0, folder: Path | None = None
    ) -> None:
        """Each rival once a round, on a fresh memory; in every other round in the opposite order."""
        names = list(rivals)
        for number in range(rounds or self._rounds):
            for name in names if number % 2 == 0 else reversed(names):
                began = time.perf_counter()
                found = rivals[name](cases.copy(size, folder or self._folder))
                for key, value in found.items():
                    self.figures[size, name, key].append(value)
                print(f"{size:,} {name} {'/'.join(found)}: {time.perf_counter() - began:.1f} s", file=sys.stderr)

    def against_npm(self, sizes: Sequence[int]) -> list[Row]:
        pick = self.figures
        free = [
            Row(f"{words}, file in {_NO_DISK}", 10, pick[10, "ours, no disk", name], pick[10, "npm, no disk", name])
            for name, words, _ in _WANTED
            if name in ("add", "create", "delete") and (10, "ours, no disk", name) in pick
        ]
        rows = [
            Row(words, size, ours, pick.get((size, "npm", name), ()), wanted.get(size), unit)
            for name, words, wanted in _WANTED
            for size in sizes
            for unit in [_UNITS.get(name, "time")]
            if (ours := pick.get((size, "ours", name)))
        ]
        return rows + free

    def starts_against_npm(self, pythons: Mapping[str, str]) -> list[Row]:
        npm = self.figures[10, "npm", "start, tool"]
        rows = []
        for version, python in pythons.items():
            kind = servers.is_optimised(python)
            words = f"start to the first tool's answer, CPython {version}" + ("" if kind else ", not optimised")
            rows.append(Row(words, 10, self.figures[10, _on(version), "start, tool"], npm, _STARTS_WANTED[kind]))
        return rows

    def against_the_limit(self, sizes: Sequence[int]) -> list[Row]:
        pick = self.figures
        rows = []
        for size in sizes:
            if size >= _LARGE:
                beside = "add_observations, beside writing, syncing and renaming the same bytes"
                rows.append(Row(beside, size, pick[size, "ours", "add"], pick[size, "raw", "raw"], 2.0))
        for size in sizes:
            if (size, "ours", "history") in pick:
                beside = "delete_entities, beside the same without the history"
                rows.append(Row(beside, size, pick[size, "ours", "history"], pick[size, "ours", "no history"], 1.1))
        for size in sizes:
            if (size, "ours", "load") in pick:
                beside = "reload after another process's change of one line, beside the first load"
                rows.append(Row(beside, size, pick[size, "ours", "reload"], pick[size, "ours", "load"], 0.25))
        for size in sizes:
            if beyond := pick.get((size, "ours", "beyond")):
                dearest = f"the third stage of search beyond the first two, dearest of {len(graphs.DEAR)} queries"
                rows.append(Row(dearest, size, beyond, (), _LOOSE_SECONDS))
                rows.append(Row("making its index, in a thread", size, pick[size, "ours", "index"], ()))
        beside = "beside the same with waits of 10 to 20 ms for the lock"
        for name, words, target in (("crowd", "a write", 1 / 3), ("crowd, late", "95 of 100 calls take at most", None)):
            ours, others = pick[10, "ours", name], pick[10, "waits", name]
            rows.append(Row(f"{PROCESSES} processes write at once: {words}, {beside}", 10, ours, others, target))
        return rows

    def plot(self, sizes: Sequence[int], caption: Sequence[str]) -> str:
        panels = []
        for name, title in _PANELS:
            rivals = [("memory-server", "ours", name), ("npm", "npm", name)]
            rivals += [("write + fsync + rename", "raw", "raw")] if name == "add" else []
            lines = {
                label: [(size, median(found)) for size in sizes if (found := self.figures.get((size, rival, key)))]
                for label, rival, key in rivals
            }
            panels.append(Panel(title, lines))
        return draw(panels, caption)


def main() -> int:
    options = _options()
    if options.what == "million":
        return _million(options)
    ours = servers.source() if options.source else servers.archive()
    npm = servers.npm()
    if options.http:
        print(over_http.report(ours, npm, options.seconds))
        return 0
    began, busy = time.time(), _busy()
    servers.CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=servers.CACHE) as folder:
        bench = Bench(Path(folder), options.rounds)
        _measure_starts(bench, ours, npm, options.pythons)
        if not options.starts:
            _measure(bench, ours, npm, options.sizes)
    done = f"{time.strftime('%Y-%m-%d', time.gmtime(began))}, {options.rounds} rounds in turn{busy}"
    compared = f"memory-server {ours.version}, npm {servers.NPM_PACKAGE} {npm.version}"
    starts = bench.starts_against_npm(options.pythons)
    if options.starts:
        print(f"{compared}. {_machine()}. {done}.\n\n{table(starts, 'npm')}")
        return 0
    first, second = [*starts, *bench.against_npm(options.sizes)], bench.against_the_limit(options.sizes)
    text = _text(bench, first, second, f"{compared}. {_machine()}. {done}, {(time.time() - began) / 60:.0f} minutes.")
    if not options.quick:
        with tempfile.TemporaryDirectory(dir=servers.CACHE) as folder:
            text += "\n" + million.report(ours, npm, Path(folder), _MILLION_ROUNDS)
        text += f"\n{over_http.report(ours, npm)}"
    print(text)
    if options.sizes == _SIZES and not options.quick:
        (_HERE / "results.md").write_text(text, "utf-8")
        (_HERE / "growth.svg").write_text(bench.plot(options.sizes, (compared, f"{_machine()}. {done}.")), "utf-8")
        readme = servers.ROOT / "README.md"
        short = _short(first[len(starts) :], f"{compared}. {_machine()}. {done}")
        readme.write_text(marked(readme.read_text("utf-8"), "bench", short), "utf-8")
    return 0


def _million(options: argparse.Namespace) -> int:
    """A million entities alone, or with --sizes another number of them; nothing is written."""
    ours = servers.source() if options.source else servers.archive()
    servers.CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=servers.CACHE) as folder:
        print(million.report(ours, servers.npm(), Path(folder), options.rounds, options.sizes[0]))
    return 0


def _on(version: str) -> str:
    return f"ours on {version}"


def _measure_starts(bench: Bench, ours: Server, npm: Server, pythons: Mapping[str, str]) -> None:
    """Of every interpreter, in turn with the npm server's."""
    rivals = {"ours": ours, "npm": npm} | {_on(version): servers.archive(path) for version, path in pythons.items()}
    for server in rivals.values():  # unpacked, compiled and in the page cache before anything is timed
        bench.run(10, {"warm": partial(cases.starts, server, count=2)}, 1)
    bench.run(
        10, {name: partial(cases.starts, server, count=_STARTS) for name, server in rivals.items()}, _START_ROUNDS
    )


def _measure(bench: Bench, ours: Server, npm: Server, sizes: Sequence[int]) -> None:
    rivals = {"ours": ours, "npm": npm}
    bench.run(10, {name: partial(cases.burst, server) for name, server in rivals.items()})
    waits = servers.source("tests.bench.fixed_waits")
    bench.run(10, {"ours": partial(cases.crowd, servers.source()), "waits": partial(cases.crowd, waits)})
    both: dict[str, Callable[[Path], Figures]]
    if _NO_DISK.is_dir():
        both = {f"{name}, no disk": partial(cases.session, server, size=10) for name, server in rivals.items()}
        with tempfile.TemporaryDirectory(dir=_NO_DISK) as folder:
            bench.run(10, both, folder=Path(folder))
    for size in sizes:
        both = {"raw": partial(cases.raw_save, size=size)}
        for name, server in rivals.items():
            both[name] = partial(cases.session, server, size=size)
        bench.run(size, both)
        bench.run(size, {"ours": partial(cases.history, ours, size=size)})
        if size >= _LARGE:
            bench.run(size, {"ours": partial(cases.reload, ours, size=size)})
        bench.run(size, {"ours": cases.third_stage})


def _text(bench: Bench, first: Sequence[Row], second: Sequence[Row], compared: str) -> str:
    stored = bench.figures[10, "npm", "stored"]
    return f"""# Measured

{compared}

A graph of n entities has n relations and three observations for each entity. Each server is a process of its own on its
own copy of the file and is asked over its stdin and stdout, one call at a time. A figure is the median of all rounds, a
ratio the median of the rounds' own ratios; lower is better in every row. We sync every write to the disk before we
answer, the npm server syncs none. Of {BURST} writes sent at once the npm server's file holds {median(stored):.0f}
afterwards, ours all.

{table(first, "npm")}
Not beside the npm server, but beside what the work needs at least:

{table(second, "compared with")}
![Cost and size of the graph](growth.svg)
"""


def _short(rows: Sequence[Row], compared: str) -> str:
    shown = [row for row in rows if row.target is not None and row.size in _SHOWN]
    return f"""
{table(shown, "npm server", short=True)}
![Cost and size of the graph](tests/bench/growth.svg)

Lower is better. {compared}. Medians, measured by `make bench`; [all rows](tests/bench/results.md) with their spread
and the start on each Python found. We sync each write to disk before answering; the npm server does not sync.
"""


def _machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30 if hasattr(os, "sysconf") else 0
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {memory} GiB"


def _busy() -> str:
    """What else the machine does, in words; on a busy one figures are larger and ratios vary."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return f", with a load average of {load:.1f} from other programs" if load >= 0.5 else ""


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("what", nargs="?", choices=["all", "million"], default="all", help="a million entities alone")
    parser.add_argument("--quick", action="store_true", help="up to 10,000 entities, 2 rounds, nothing is written")
    parser.add_argument("--rounds", type=int, default=0, help="how often each is measured (default: 5)")
    parser.add_argument("--sizes", type=int, nargs="+", default=None, help=f"numbers of entities (default: {_SIZES})")
    parser.add_argument("--starts", action="store_true", help="measure only starts, nothing is written")
    parser.add_argument(
        "--pythons", nargs="*", default=None, help="interpreters whose starts are measured (default: all)"
    )
    parser.add_argument("--http", action="store_true", help="only the part over HTTP; nothing is written")
    parser.add_argument("--seconds", type=float, default=10.0, help="of --http: for each row (default: 10)")
    parser.add_argument("--source", action="store_true", help="measure the source in place of the archive")
    options = parser.parse_args()
    if options.what == "million":
        options.rounds, options.sizes = options.rounds or _MILLION_ROUNDS, options.sizes or [million.SIZE]
        return options
    options.rounds = options.rounds or (2 if options.quick else 5)
    options.pythons = interpreters.versions(options.pythons) if options.pythons is not None else interpreters.found()
    options.sizes = tuple(options.sizes or (_SIZES[:3] if options.quick else _SIZES))
    return options


if __name__ == "__main__":
    sys.exit(main())
