"""The archive's libraries for musl, judged by musl's own loader: Debian has that, but no Python for it."""

from __future__ import annotations

import re
import subprocess
import tempfile
import zipfile
from pathlib import Path
from typing import Final

from build.launcher import parts
from build.platforms import PYTHONS
from tests.platforms.debian import SID, tree
from tests.platforms.results import Row, run_checks

_LOADER: Final = "usr/lib/x86_64-linux-musl/libc.so"
_PYTHONS_OWN: Final = re.compile(r"Error relocating \S+: _?Py\w+: symbol not found")


def rows(archive: Path) -> list[Row]:
    loader = tree(SID) / _LOADER
    said = subprocess.run([loader], capture_output=True, text=True, timeout=20, check=False)
    version = re.search(r"^Version (\S+)", said.stderr, re.MULTILINE)

    def musl_finds_every_library_and_symbol_but_pythons_own() -> None:
        for python in PYTHONS:
            _load_all(archive, loader, "cp" + python.replace(".", ""))

    return [
        run_checks(
            f"Linux x86-64, musl {version[1] if version else ''}",
            f"CPython {PYTHONS[0]} to {PYTHONS[-1]}",
            [musl_finds_every_library_and_symbol_but_pythons_own],
            "loaded by musl, no Python started",
        )
    ]


def _load_all(archive: Path, loader: Path, abi: str) -> None:
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(archive) as opened:
        libraries = []
        for name, content in parts.read(opened, abi, "musl-x86_64"):
            if name.endswith(".so") or ".libs/" in name:
                libraries.append(Path(folder, name))
                libraries[-1].parent.mkdir(parents=True, exist_ok=True)
                libraries[-1].write_bytes(content)
        assert len(libraries) > 2, libraries
        for library in libraries:
            done = subprocess.run([loader, "--list", library], capture_output=True, text=True, timeout=60, check=False)
            others = [line for line in done.stderr.splitlines() if not _PYTHONS_OWN.fullmatch(line)]
            assert done.returncode in (0, 127) and not others, (library.name, done.returncode, others[:3])
