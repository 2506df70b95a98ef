"""Starting the archive in surroundings of a test's own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "start", "version": "1"}},
}
Environment = Mapping[str, str]


def environment(cache: Path | None, extra: Environment | None = None) -> dict[str, str]:
    """Nothing of this machine's but what starts a process; `cache` is where MEMORY_SERVER_CACHE points."""
    kept = ("PATH", "SYSTEMROOT", "LANG", "LC_ALL")
    found = {name: os.environ[name] for name in kept if name in os.environ}
    if cache is not None:
        found["MEMORY_SERVER_CACHE"] = str(cache)
    return {**found, **(extra or {})}


def serve(
    archive: Path | str,
    folder: Path,
    environ: Environment,
    *options: str,
    python: str = sys.executable,
    cwd: Path | None = None,
) -> str:
    """Start it, shake hands, end its input; returns what it wrote on stderr. AssertionError unless it served well."""
    done = subprocess.run(
        [python, *options, str(archive), "--file", str(folder / "memory.jsonl")],
        input=json.dumps(HELLO) + "\n",
        capture_output=True,
        text=True,
        timeout=100,
        env=environ,
        cwd=cwd,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["result"]["serverInfo"]["name"], answer
    assert "Traceback" not in done.stderr
    return done.stderr


def refused(
    archive: Path, environ: Environment, python: str = sys.executable, *options: str
) -> tuple[int, str, list[str]]:
    """Start it where it cannot run: status, stdout, lines of stderr."""
    done = subprocess.run(
        [python, *options, str(archive)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        env=environ,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr.splitlines()


def unpacked(cache: Path) -> list[Path]:
    """The unpacked folders there; AssertionError if anything unfinished lies beside them."""
    found = sorted(path for path in cache.iterdir() if path.is_dir())
    assert not [path for path in found if path.name.endswith(".tmp")]
    return found


def another_version(archive: Path, target: Path, build: str = "0123456789abcdef") -> Path:
    """A copy that takes itself for another build."""
    shebang = archive.read_bytes().partition(b"\n")[0] + b"\n"
    with zipfile.ZipFile(archive) as source, target.open("wb") as file:
        file.write(shebang)
        with zipfile.ZipFile(file, "w") as copy:
            for entry in source.infolist():
                content = source.read(entry)
                if entry.filename == "__main__.py":
                    lines = content.decode("utf-8").splitlines(keepends=True)
                    lines = [f'BUILD = "{build}"\n' if line.startswith("BUILD = ") else line for line in lines]
                    content = "".join(lines).encode("utf-8")
                copy.writestr(entry, content, compress_type=zipfile.ZIP_STORED)
    return target


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[Path]:
    """A small file system of its own there; skips where this cannot be had."""
    folder.mkdir(exist_ok=True)
    if shutil.which("mount") is None:
        pytest.skip("needs mount")
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    made = subprocess.run(command, capture_output=True, check=False)
    if made.returncode:
        pytest.skip(f"needs the right to mount: {made.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)
