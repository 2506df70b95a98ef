"""Folders on the way to a new file: made in order, synced, and taken back if what they were for failed."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memory_app.disk.folders import make_folders, remove_folders
from tests.files import descriptors, mode
from tests.gating import GatedOs, on


def make_file(path: Path) -> None:
    path.write_text("theirs")


def make_dangling_link(path: Path) -> None:
    path.symlink_to("nothing")


def test_missing_folders_are_made_for_their_owner_alone_and_each_is_synced_into_its_parent(
    tmp_path: Path, gated: GatedOs
) -> None:
    deep = tmp_path / "a" / "b" / "c"
    assert make_folders(str(deep)) == [str(tmp_path / "a"), str(tmp_path / "a" / "b"), str(deep)]
    assert [mode(path) for path in (deep, deep.parent, deep.parent.parent)] == [0o700] * 3
    made = [(name, arguments[0]) for name, arguments in gated.calls if name in ("mkdir", "open")]
    assert made == [
        ("mkdir", str(tmp_path / "a")),
        ("open", str(tmp_path)),
        ("mkdir", str(tmp_path / "a" / "b")),
        ("open", str(tmp_path / "a")),
        ("mkdir", str(deep)),
        ("open", str(tmp_path / "a" / "b")),
    ]
    assert gated.names().count("fsync") == 3


def test_folders_that_exist_are_left_as_they_are(tmp_path: Path, gated: GatedOs) -> None:
    tmp_path.chmod(0o755)
    assert make_folders(str(tmp_path)) == []
    assert mode(tmp_path) == 0o755
    assert gated.names().count("mkdir") == 0


def test_a_folder_that_another_process_makes_first_is_taken_as_it_is(tmp_path: Path, gated: GatedOs) -> None:
    gated.before("mkdir", (tmp_path / "a").mkdir, on(tmp_path / "a"))
    assert make_folders(str(tmp_path / "a" / "b")) == [str(tmp_path / "a" / "b")]


@pytest.mark.parametrize("make", [make_file, make_dangling_link])
def test_what_is_no_folder_on_the_way_is_an_error_that_names_it(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "a")
    with pytest.raises(NotADirectoryError, match=str(tmp_path / "a")):
        make_folders(str(tmp_path / "a" / "b"))
    with pytest.raises(NotADirectoryError):
        make_folders(str(tmp_path / "a"))


@pytest.mark.parametrize("call", ["mkdir", "open", "fsync"])
@pytest.mark.parametrize("turn", [0, 1, 2])
def test_folders_that_were_made_in_vain_are_taken_back(tmp_path: Path, gated: GatedOs, call: str, turn: int) -> None:
    for _ in range(turn):
        gated.before(call, lambda: None)
    gated.fail(call, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    before = descriptors()
    with pytest.raises(OSError, match="No space"):
        make_folders(str(tmp_path / "a" / "b" / "c"))
    assert os.listdir(tmp_path) == []
    assert descriptors() == before


def test_only_empty_folders_are_taken_back(tmp_path: Path) -> None:
    created = make_folders(str(tmp_path / "a" / "b"))
    (tmp_path / "a" / "file").write_text("")
    remove_folders(created)
    assert sorted(os.listdir(tmp_path / "a")) == ["file"]
