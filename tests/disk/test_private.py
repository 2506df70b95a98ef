"""The private file for another program: gone after use, and after a day if its process was killed."""

from __future__ import annotations

import os
import stat
import tempfile
import time
from pathlib import Path

import pytest

from memory_app.disk.private import private_file


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_it_is_there_for_the_block_alone_with_what_the_program_leaves_beside_it(temporary: Path) -> None:
    with private_file("facts.txt", b"a fact") as path:
        assert Path(path).read_bytes() == b"a fact"
        if os.name != "nt":
            assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
            assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700
        Path(path + "~").write_bytes(b"the editor's own copy")
    assert list(temporary.iterdir()) == []


def _left(temporary: Path, name: str, days: float) -> Path:
    folder = temporary / name
    folder.mkdir()
    (folder / "facts.txt").write_bytes(b"a fact")
    past = time.time() - days * 24 * 3600
    os.utime(folder, (past, past))
    return folder


def test_what_a_killed_process_left_goes_after_a_day(temporary: Path) -> None:
    old = _left(temporary, "memory-0123456789abcdef", 1.1)
    young = _left(temporary, "memory-fedcba9876543210", 0.9)
    others = [_left(temporary, name, 9) for name in ("memory-view-0123456789abcdef", "memory-0123")]
    linked = temporary / "memory-aaaaaaaaaaaaaaaa"
    if os.name != "nt":
        linked.symlink_to(others[0])
    with private_file("facts.txt", b""):
        assert not old.exists()
    assert all((folder / "facts.txt").exists() for folder in (young, *others))
