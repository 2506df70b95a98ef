"""What the platforms need and this machine may lack: Debian packages, sources from PyPI, packages from npm.

Rules: everything is pinned and comes by its registry's ordinary client, as this machine has it set up. Everything but
Debian's packages goes below `.cache/platforms` and is kept there. What cannot be had is `Missing`, in one line.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
CACHE: Final = ROOT / ".cache" / "platforms"
_LONG: Final = 3600.0  # seconds that one download, installation or compilation may take
_INSTALLING: Final = threading.Lock()
_WAIT: Final = "-oDPkg::Lock::Timeout=600"  # seconds, for another program that installs something


class Missing(Exception):
    """A platform cannot be run here; the text says why, in a few words."""


def call(command: list[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
    """Run a command that prepares something; what it printed. `Missing` with its last line when it fails."""
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=None if env is None else dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_LONG,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise Missing(f"{command[0]}: {problem}") from problem
    if done.returncode:
        last = (done.stdout.strip().splitlines() or [f"status {done.returncode}"])[-1]
        raise Missing(f"{os.path.basename(command[0])} failed: {last}")
    return done.stdout


def need_root() -> None:
    if os.geteuid() != 0:
        raise Missing("needs root")


def need_programs(packages: Mapping[str, str]) -> None:
    """See that these programs are here; where we may, their Debian packages are installed."""
    with _INSTALLING:
        missing = {program: package for program, package in packages.items() if shutil.which(program) is None}
        if not missing:
            return
        wanted = sorted(set(missing.values()))
        if os.geteuid() == 0 and shutil.which("apt-get"):
            call(["apt-get", _WAIT, "update"])
            call(["apt-get", _WAIT, "install", "-y", "--no-install-recommends", *wanted])
    if any(shutil.which(program) is None for program in missing):
        raise Missing(f"needs {', '.join(missing)} (Debian packages {', '.join(wanted)})")


def source(name: str, version: str, sha256: str) -> Path:
    """The unpacked sdist of this version."""
    folder = CACHE / "sources" / f"{name}-{version}"
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        wish = Path(place, "wish.txt")
        wish.write_text(f"{name}=={version} --hash=sha256:{sha256}\n", "utf-8")
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        options = ["--no-deps", "--no-binary=:all:", "--require-hashes", "--requirement", str(wish), "--dest", place]
        call([*pip, *options])
        (archive,) = Path(place).glob("*.tar.gz")
        with tarfile.open(archive) as tar:
            tar.extractall(place)
        (unpacked,) = (path for path in Path(place).iterdir() if path.is_dir())
        os.replace(unpacked, folder)
    return folder


def node_packages(folder: str, packages: Mapping[str, str]) -> Path:
    """A folder with these npm packages installed. Their install scripts do not run: nothing here needs one."""
    need_programs({"npm": "npm"})
    place = CACHE / folder
    wanted = json.dumps({"private": True, "dependencies": dict(packages)}, indent=2)
    stamp = place / "installed.json"
    if not stamp.is_file() or stamp.read_text("utf-8") != wanted:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        (place / "package.json").write_text(wanted, "utf-8")
        call(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], cwd=place)
        stamp.write_text(wanted, "utf-8")
    return place
