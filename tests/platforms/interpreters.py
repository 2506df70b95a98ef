"""Every CPython that is found on this machine."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Final

from tests.platforms.fetching import CACHE
from tests.platforms.places import Place, clean
from tests.platforms.results import Job, Row, run_suite

_ASK: Final = (
    "import sys, sysconfig; free = sysconfig.get_config_var('Py_GIL_DISABLED') or 0; "
    "print(sys.implementation.name, free, sys.version.split()[0])"
)


def found() -> dict[str, str]:
    """Version and path of each, one of a version, those that the archive serves."""
    candidates = [*Path.home().glob(".pyenv/versions/*/bin/python"), Path("/usr/bin/python3")]
    candidates += [Path(f"/usr/{kind}bin/python3.{minor}") for kind in ("", "local/") for minor in range(10, 16)]
    return versions(map(str, candidates))


def versions(candidates: Iterable[str]) -> dict[str, str]:
    """The same of these programs; what does not run is passed over."""
    known: dict[str, str] = {}
    for path in candidates:
        try:
            asked = subprocess.run([path, "-c", _ASK], capture_output=True, text=True, timeout=20, check=True)
        except (OSError, subprocess.SubprocessError):
            continue
        name, free, version = asked.stdout.split()
        if name == "cpython" and free == "0" and tuple(map(int, version.split(".")[:2])) >= (3, 10):
            known.setdefault(version, path)
    return dict(sorted(known.items(), key=lambda item: [int(part) for part in item[0].split(".")]))


def jobs(archive: Path) -> list[Job]:
    name = f"Linux {platform.machine()}, {os.confstr('CS_GNU_LIBC_VERSION')}"
    return [
        Job(name, f"CPython {version}", partial(_row, archive, name, version, python))
        for version, python in found().items()
    ]


def _row(archive: Path, name: str, version: str, python: str) -> list[Row]:
    return [run_suite(place(archive, name, version, python))]


def place(archive: Path, platform_name: str, version: str, python: str) -> Place:
    folder = CACHE / "run" / f"here-{version}"
    home = folder / "home"
    return Place(
        platform_name,
        f"CPython {version}",
        (python,),
        clean(HOME=str(home)),
        archive,
        folder,
        (home / ".cache",),
    )
