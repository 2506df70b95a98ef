"""Runs the suite in a place and keeps what came out: a row of the table.

Rules: what cannot be had, and what goes wrong without being foreseen, is a row of its own and never the run's end.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tests.driver import WireError
from tests.platforms import smoke
from tests.platforms.fetching import Missing
from tests.platforms.places import Place
from tests.platforms.smoke import Scene

_NEXT_STARTS: Final = 3  # the best of them is shown: the others tell of this machine's other work
_FAILURES: Final = (AssertionError, WireError, OSError, ValueError, LookupError, subprocess.SubprocessError)


class Row(NamedTuple):
    """One line of the table; `note` says why something did not run, or what failed."""

    platform: str
    interpreter: str
    first: str = ""
    later: str = ""
    passed: int = 0
    run: int = 0
    note: str = ""

    @property
    def failed(self) -> bool:
        return self.passed < self.run

    @property
    def outcome(self) -> str:
        if not self.run:
            return f"not run: {self.note}"
        return f"{self.passed} of {self.run}" + (f" ({self.note})" if self.note else "")


class Job(NamedTuple):
    """What makes rows, alone or beside other jobs; named as its one row is if it comes to nothing."""

    platform: str
    interpreter: str
    make: Callable[[], list[Row]]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def attempt(what: str, action: Callable[[], object]) -> str:
    """Do it; "" or what went wrong, in one line."""
    try:
        action()
    except _FAILURES as problem:
        return f"{what}: {type(problem).__name__}: {problem}".replace("\n", " ")[:2000]
    return ""


def run_suite(
    place: Place, scenes: Sequence[Scene] = smoke.ALL, note: str = "", next_starts: int = _NEXT_STARTS
) -> Row:
    """Every scene in that place, after a first start and some next ones."""
    place.folder.mkdir(parents=True, exist_ok=True)
    place.forget()
    times: list[float] = []

    def start(_: Place, folder: Path) -> None:
        times.append(smoke.seconds_to_answer(place, folder))

    problems = []
    for name, scene in [("starts", start)] * (1 + next_starts) + [(sentence(scene), scene) for scene in scenes]:
        with tempfile.TemporaryDirectory(dir=place.folder, ignore_cleanup_errors=True) as folder:
            problem = attempt(name, lambda scene=scene, folder=folder: scene(place, Path(folder)))  # type: ignore[misc]
        say(f"{place.platform}, {place.interpreter}: " + (f"FAILED: {problem}" if problem else name))
        problems += [name] if problem else []
    started = min(problems.count("starts"), 1)
    failed = len([name for name in problems if name != "starts"]) + started
    return Row(
        place.platform,
        place.interpreter,
        f"{times[0]:.1f} s" if times else "",
        f"{min(times[1:]):.2f} s" if times[1:] else "",
        len(scenes) + 1 - failed,
        len(scenes) + 1,
        "; ".join(filter(None, [note, *(f"FAILED: {name}" for name in dict.fromkeys(problems))])),
    )


def run_checks(platform: str, interpreter: str, checks: Iterable[Callable[[], object]], note: str = "") -> Row:
    """Checks that are functions without arguments, named by what they show."""
    passed, failed = 0, []
    for check in checks:
        problem = attempt(sentence(check), check)
        say(f"{platform}, {interpreter}: " + (f"FAILED: {problem}" if problem else sentence(check)))
        passed += not problem
        failed += [sentence(check)] if problem else []
    notes = "; ".join(filter(None, [note, *(f"FAILED: {name}" for name in failed)]))
    return Row(platform, interpreter, "", "", passed, passed + len(failed), notes)


def rows_of(job: Job) -> list[Row]:
    """Its rows, or one that says why there are none."""
    try:
        return job.make()
    except Missing as reason:
        say(f"{job.platform}, {job.interpreter}: not run: {reason}")
        return [Row(job.platform, job.interpreter, note=str(reason))]
    except Exception as problem:  # noqa: BLE001 (the edge of a job: the others go on, and this one has failed)
        said = f"stopped by {type(problem).__name__}: {problem}".replace("\n", " ").replace("|", "/")[:300]
        say(f"{job.platform}, {job.interpreter}: {said}")
        return [Row(job.platform, job.interpreter, run=1, note=said)]


def sentence(function: Callable[..., object]) -> str:
    """A check's name in words."""
    return str(getattr(function, "__name__", "check")).replace("_", " ")


def table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    lines = ["| platform | interpreter or client | first start | next start | passed |", "|---|---|---|---|---|"]
    lines += [f"| {row.platform} | {row.interpreter} | {row.first} | {row.later} | {row.outcome} |" for row in rows]
    return "\n".join(lines) + "\n"


def short_table(rows: Sequence[Row]) -> str:
    """The same for the guide: one line for each platform and outcome, without times and counts."""
    lines: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        lines.setdefault((row.platform, _in_short(row)), []).append(row.interpreter)
    shown = ["| platform | interpreters or clients | result |", "|---|---|---|"]
    for (platform, outcome), names in lines.items():
        first, *others = dict.fromkeys(names)
        listed = ", ".join([first, *(name.removeprefix("CPython ") for name in others)])
        shown.append(f"| {platform} | {listed} | {outcome} |")
    return "\n".join(shown) + "\n"


def _in_short(row: Row) -> str:
    if not row.run:
        return f"not run: {row.note}"
    if row.failed:
        return f"{row.passed} of {row.run} passed: {row.note}"
    return f"all passed: {row.note}" if row.note else "all passed"
