"""A CPython without the global interpreter lock."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from tests.platforms.compiled import PREFIX, free_threaded
from tests.platforms.fetching import Missing, call
from tests.platforms.interpreters import place
from tests.platforms.results import Job, Row, run_suite


def jobs(archive: Path) -> list[Job]:
    return [Job("Linux, free-threaded", "CPython 3.14t", lambda: _rows(archive))]


def _rows(archive: Path) -> list[Row]:
    python = str(free_threaded() / PREFIX / "bin" / "python3.14t")
    said = call([python, "-c", "import sys; print(sys.version.split()[0], sys._is_gil_enabled())"]).split()
    if said[1:] != ["False"]:
        raise Missing(f"{python} has the lock")
    name = f"Linux {platform.machine()}, {os.confstr('CS_GNU_LIBC_VERSION')}"
    where = place(archive, name, f"{said[0]}t", python)
    return [run_suite(where, note="compiled here, without optimisation")]
