"""A umask keeps others out, never the owner."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from tests.commands.running import PATIENCE, command, environment


@pytest.mark.skipif(os.name == "nt", reason="a umask of POSIX")
@pytest.mark.parametrize("mask", [0o777, 0o277, 0o027])
def test_what_is_created_can_be_read_and_written_by_its_owner(tmp_path: Path, mask: int) -> None:
    for name in ("Ann", "Bob"):
        done = subprocess.run(
            [*command(), "add", name, "a fact", "--file", str(tmp_path / "memory.jsonl")],
            env=environment(tmp_path),
            cwd=tmp_path,
            umask=mask,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    for path in (tmp_path / "memory.jsonl", *tmp_path.glob("memory.jsonl.history/*.jsonl")):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
