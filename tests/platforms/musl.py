"""A CPython linked with musl, in roots that hold nothing but it: musl old and new, laid out as Debian and as Alpine do.

The loader of the newest one is asked as well whether it finds all that the libraries for each interpreter need.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from build.launcher import parts
from build.platforms import by_name
from tests.platforms import smoke
from tests.platforms.compiled import PREFIX, linked_with_musl
from tests.platforms.debian import make_devices, package
from tests.platforms.fetching import CACHE, call, need_programs, need_root
from tests.platforms.places import Place
from tests.platforms.results import Job, Row, rows_of, run_checks, run_suite

_NEWEST: Final = "sid"
_OLD: Final = "bullseye"
_LOADER: Final = "ld-musl-x86_64.so.1"
_DEBIANS: Final = "usr/lib/x86_64-linux-musl"
_PYTHON: Final = "python3.13"
_PYTHONS_OWN: Final = re.compile(r"Error relocating \S+: _?Py\w+: symbol not found")


class _Root(NamedTuple):
    """What a root is made of."""

    name: str
    suite: str
    is_alpines: bool
    without: tuple[str, ...] = ()  # modules of Python's that are left out
    note: str = ""


_ROOTS: Final = (
    _Root("debian", _NEWEST, is_alpines=False),
    _Root("alpine", _NEWEST, is_alpines=True),
    _Root("old", _OLD, is_alpines=True),
    _Root(
        "no-ssl",
        _NEWEST,
        is_alpines=True,
        without=("_ssl", "_hashlib"),
        note="without _ssl, HTTP is refused",
    ),
)


def jobs(archive: Path) -> list[Job]:
    return [Job("Linux x86-64, musl", "CPython", lambda: _rows(archive))]


def _rows(archive: Path) -> list[Row]:
    need_root()
    need_programs({"chroot": "coreutils"})
    found = [*rows_of(Job("Linux x86-64, musl", "CPython 3.10 to 3.15", lambda: [_loaded(archive)]))]
    for root in _ROOTS:
        name = f"Linux x86-64, musl of {root.suite}{_layout(root)}"
        found += rows_of(Job(name, "CPython 3.13", partial(_row, archive, root)))
    return found


def _row(archive: Path, wanted: _Root) -> list[Row]:
    root = _made(wanted)
    folder = root / "srv"
    copy = folder / "memory-server.pyz"
    shutil.copyfile(archive, copy)
    command = ("chroot", str(root), f"/{PREFIX}/bin/{_PYTHON}")
    environ = {"PATH": os.environ["PATH"], "HOME": "/srv/home"}
    version = call([*command, "-c", "import sys; print(sys.version.split()[0])"], env=environ).strip()
    place = Place(
        f"Linux x86-64, musl {_version(wanted.suite)}{_layout(wanted)}",
        f"CPython {version}",
        command,
        environ,
        copy,
        folder,
        (folder / "home" / ".cache",),
        lambda path: "/" + str(path.relative_to(root)),
    )
    scenes = [one for one in smoke.ALL if not (wanted.without and one is smoke.it_serves_over_http_too)]
    return [run_suite(place, scenes, "; ".join(filter(None, ["compiled here", wanted.note])))]


def _made(wanted: _Root) -> Path:
    """The root, made anew: it takes a second."""
    root = CACHE / "run" / f"musl-{wanted.name}"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(linked_with_musl(), root, symlinks=True)
    for name in ("lib", "tmp", "srv/home"):
        (root / name).mkdir(parents=True)
    library = _library(wanted.suite)
    if wanted.is_alpines:
        shutil.copy(library, root / "lib" / _LOADER)
        (root / "lib" / "libc.musl-x86_64.so.1").symlink_to(_LOADER)
    else:
        (root / _DEBIANS).mkdir(parents=True)
        shutil.copy(library, root / _DEBIANS / "libc.so")
        (root / "lib" / _LOADER).symlink_to(f"/{_DEBIANS}/libc.so")
    for module in wanted.without:
        for file in (root / PREFIX).glob(f"lib/python3.*/lib-dynload/{module}.*.so"):
            file.unlink()
    make_devices(root)
    return root


def _layout(root: _Root) -> str:
    return ", Alpine's layout" if root.is_alpines else ""


def _library(suite: str) -> Path:
    (found,) = (path for path in package(suite, "musl").rglob("libc.so") if not path.is_symlink())
    return found


def _version(suite: str) -> str:
    said = subprocess.run([_library(suite)], capture_output=True, text=True, timeout=20, check=False)
    version = re.search(r"^Version (\S+)", said.stderr, re.MULTILINE)
    return version[1] if version else ""


def _loaded(archive: Path) -> Row:
    loader = _library(_NEWEST)
    platform = by_name("musl-x86_64")

    def musl_finds_every_library_and_symbol_but_pythons_own() -> None:
        for python in platform.pythons:
            _load_all(archive, loader, "cp" + python.replace(".", ""))

    return run_checks(
        f"Linux x86-64, musl {_version(_NEWEST)}",
        f"CPython {platform.pythons[0]} to {platform.pythons[-1]}",
        [musl_finds_every_library_and_symbol_but_pythons_own],
        "loaded by musl, no Python started",
    )


def _load_all(archive: Path, loader: Path, abi: str) -> None:
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(archive) as opened:
        libraries = []
        for name, content in parts.read(opened, abi, "musl-x86_64"):
            if name.endswith(".so") or ".libs/" in name:
                libraries.append(Path(folder, name))
                libraries[-1].parent.mkdir(parents=True, exist_ok=True)
                libraries[-1].write_bytes(content)
        assert len(libraries) > 1, libraries
        for library in libraries:
            done = subprocess.run([loader, "--list", library], capture_output=True, text=True, timeout=60, check=False)
            others = [line for line in done.stderr.splitlines() if not _PYTHONS_OWN.fullmatch(line)]
            assert done.returncode in (0, 127) and not others, (library.name, done.returncode, others[:3])
