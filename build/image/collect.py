"""`python3 build/image/collect.py ARCHIVE FOLDER`: collects the image's whole file system.

It contains this interpreter with the compiled part of its standard library that a server can use, the shared libraries
that these need, and the archive, already unpacked so that every container starts fast. It contains nothing else: no
shell, no package manager. Runs in the first stage of the Dockerfile, on any Linux that has ldd.
"""

from __future__ import annotations

import compileall
import os
import py_compile
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Final

HOME: Final = "opt/memory-server"
# Of the standard library: what needs a screen, a terminal, a compiler or pip, and the interpreter's own tests.
_LEFT_OUT: Final = {
    "__pycache__", "ensurepip", "idlelib", "lib2to3", "pydoc_data", "site-packages", "dist-packages", "test", "tests",
    "tkinter", "turtledemo", "venv",
}  # fmt: skip
_LEFT_OUT_FILES: Final = re.compile(r"config-.*|_tkinter.*|_test.*|_ctypes_test.*|xxlimited.*|turtle\.py|.*\.a|.*\.exe")


def collect(archive: Path, root: Path) -> None:
    """Fill `root`."""
    standard = Path(sysconfig.get_path("stdlib"))
    shutil.copytree(standard, root / standard.relative_to("/"), ignore=_ignored, dirs_exist_ok=True)
    compileall.compile_dir(
        str(root / standard.relative_to("/")),
        quiet=2,
        stripdir=str(root),
        prependdir="/",
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    interpreter = Path(sys.executable).resolve()
    _copy(interpreter, root)
    (root / "python3").symlink_to(interpreter)
    home = root / HOME
    home.mkdir(parents=True)
    shutil.copy(archive, home / "memory-server.pyz")
    shutil.copy(Path(__file__).with_name("entry.py"), home / "entry.py")
    shutil.copy(Path(__file__).parents[2] / "LICENSE", home / "LICENSE")
    for made in (".cdx.json", ".sha256"):  # what is in it, and its hash
        shutil.copy(archive.with_name(archive.name + made), home / f"memory-server.pyz{made}")
    unpacked = {**os.environ, "MEMORY_SERVER_CACHE": str(home / "cache")}
    subprocess.run([str(interpreter), "-I", str(archive), "--version"], check=True, env=unpacked, stdout=sys.stderr)
    for path in [home, *home.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    for library in _libraries([interpreter, *root.rglob("*.so"), *root.rglob("*.so.*")]):
        _copy(library, root)
    if os.path.exists("/etc/ld.so.cache"):  # where libraries outside the usual folders are
        _copy(Path("/etc/ld.so.cache"), root)
    (root / "app" / "dist").mkdir(parents=True)
    (root / "tmp").mkdir()
    (root / "tmp").chmod(0o1777)


def _ignored(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name in _LEFT_OUT or _LEFT_OUT_FILES.fullmatch(name)]


def _libraries(programs: list[Path]) -> set[Path]:
    found: set[Path] = set()
    for program in programs:
        said = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False).stdout
        found |= {Path(path) for path in re.findall(r"(?:=> |^\s*)(/\S+) \(0x", said, re.MULTILINE)}
    return {path for path in found if path.is_file()}


def _copy(path: Path, root: Path) -> None:
    target = root / path.relative_to("/")
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)  # follows links: the loader looks for that name


if __name__ == "__main__":
    collect(Path(sys.argv[1]), Path(sys.argv[2]))
