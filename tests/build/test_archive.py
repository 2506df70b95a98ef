"""The archive as a file: what it is made of, and that it starts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import memory_app


def test_the_archive_says_its_version_on_stdout_and_nothing_else(archive: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(archive), "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"memory-server {memory_app.__version__}\n", "")
