"""The long proofs: `python -m tests.stress.run [--seed N] [--write] [PART ...]`; what `make stress` runs.

Prints the seed, and for each part one line of figures with the number of losses, which has to be 0. The exit status is
1 if it is not, with the first losses below the line and what to run to see them again. A part that hangs ends the run,
and the stacks of its threads are printed. With `--write` the lines are put into the guide.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import sys
import time
import traceback
from collections.abc import Callable
from typing import Final

from tests.faults import crashes, loop
from tests.stress import (
    checkers,
    command_faults,
    crowd,
    histories,
    inputs,
    kills,
    mounted,
    power_cuts,
    printed,
    recovery,
    unlocked,
    writers,
)
from tests.stress.figures import Figures

_STARTS: Final = 8  # of the distinct crash states, every so many is also started on

_LONGEST: Final = 1800.0
"""Seconds for one part. The longest takes a few minutes; a machine that is busy with other work may need many more."""

PARTS: Final[dict[str, Callable[[int], Figures]]] = {
    "faults": lambda seed: loop.run("faults", lambda number: (number + seed) % 2 == 0),
    "commands": lambda seed: command_faults.run(seed, step=4),
    "crashes": lambda seed: crashes.run(crashes.LONG_SESSIONS, start_on=lambda number: number % _STARTS == 0),
    "kills": lambda seed: kills.run(seed, kills=100, calls=80, breaking=40),
    "writers": lambda seed: writers.run(seed, ours=8, peers=2, calls=400, each_peer=400),
    "histories": lambda seed: histories.run(range(seed, seed + 200), processes=6, calls=15),
    "files": lambda seed: inputs.files(seed, 45),
    "lines": lambda seed: inputs.lines(seed, 45),
    "unlocked": lambda seed: unlocked.run(seed, 2000),
    "unlocked-slow": lambda seed: unlocked.run(seed, 400, pause=0.1),
    "in-place": lambda seed: unlocked.run_in_place(seed, 120),
    "npm-in-place": lambda seed: unlocked.run_npm_in_place(seed, 2000, seconds=20),
    "file-systems": lambda seed: mounted.run(seed, 60),
    "power": lambda seed: power_cuts.run(seed, 100),
    "recovery": lambda seed: recovery.run(seed, rounds=20),
    "http": lambda seed: crowd.run(clients=500, seconds=30),
    "checkers": lambda seed: checkers.run(),
}
"""By name, in the order in which they run. Together they take about half an hour on a quiet machine with two cores."""


def main(arguments: list[str]) -> int:
    """Run the parts; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.stress.run", description="Prove that nothing is lost.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3), "big"))
    parser.add_argument("--write", action="store_true", help="put the lines into the guide, unless something was lost")
    asked = parser.parse_args(arguments)
    unknown = set(asked.parts) - PARTS.keys()
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    print(f"seed {asked.seed}", flush=True)
    lost = []
    lines = []
    for name in asked.parts or PARTS:
        began = time.monotonic()
        faulthandler.dump_traceback_later(_LONGEST, exit=True, file=sys.__stderr__ or sys.stderr)
        try:
            figures = PARTS[name](asked.seed)
        except Exception as error:  # noqa: BLE001 (a proof that could not be ended proves nothing, the others still do)
            traceback.print_exc()
            figures = Figures(name)
            figures.lost(f"the proof broke off: {type(error).__name__}: {error}")
        finally:
            faulthandler.cancel_dump_traceback_later()
        took = f" ({time.monotonic() - began:.0f} s)"
        lines.append(figures.line() + took)
        print(figures.report(took), flush=True)
        if figures.losses:
            lost.append(name)
    if asked.write and not lost:
        printed.write(lines, is_whole=not asked.parts)
    if lost:
        print(f"to see it again: python -m tests.stress.run --seed {asked.seed} {' '.join(lost)}", flush=True)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
