"""Whole files: what stands under a final name is complete, and nothing is replaced that should not be."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memory_app.disk import calls, whole
from tests.faults.seam import through
from tests.gating import GatedOs

POSIX = pytest.mark.skipif(os.name == "nt", reason="modes and links of POSIX")


def no_links(gated: GatedOs) -> None:
    gated.fail("link", OSError(errno.EPERM, os.strerror(errno.EPERM)), always=True)


def test_a_new_file_is_complete_and_private_and_alone(tmp_path: Path) -> None:
    whole.write_new(str(tmp_path / "new"), [b"one ", b"two"])
    assert (tmp_path / "new").read_bytes() == b"one two"
    assert os.listdir(tmp_path) == ["new"]
    if os.name != "nt":
        assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o600


@pytest.mark.parametrize("links", [True, False], ids=["hard links", "no hard links"])
def test_a_name_that_is_taken_while_the_file_is_written_stays_as_it_is(
    links: bool, tmp_path: Path, gated: GatedOs
) -> None:
    path = tmp_path / "new"
    if not links:
        no_links(gated)
    gated.before("fsync", lambda: path.write_text("theirs"))
    with pytest.raises(FileExistsError):
        whole.write_new(str(path), [b"ours"])
    assert (path.read_text(), os.listdir(tmp_path)) == ("theirs", ["new"])


@POSIX
def test_a_dangling_link_has_the_name(tmp_path: Path) -> None:
    (tmp_path / "new").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError):
        whole.write_new(str(tmp_path / "new"), [b"ours"])
    assert os.listdir(tmp_path) == ["new"]


@pytest.mark.parametrize(
    "given",
    [lambda data: b"", lambda data: data[:9], lambda data: bytes(len(data)), lambda data: data[:9] + bytes(9)],
    ids=["nothing", "cut", "zeros", "zeros at the end"],
)
def test_what_a_file_system_gives_too_early_is_not_taken_for_the_file(
    tmp_path: Path, given: Callable[[bytes], bytes]
) -> None:
    """As FUSE does right after a rename, with the same time stamps before and after."""
    path = tmp_path / "file"
    path.write_bytes(b"the whole content!")
    opened = 0

    def read(name: str, arguments: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        nonlocal opened
        opened += name == "open"
        made = make()
        return given(made) if name == "read" and made and opened == 1 else made

    with through(read):
        assert whole.read_whole(str(path)) == b"the whole content!"
    assert opened == 2


@pytest.mark.parametrize("content", [b"", b"\0" * 20, b"a\0b"])
def test_a_file_that_holds_nul_bytes_or_nothing_is_read_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert whole.read_whole(str(path)) == content


def test_without_hard_links_a_new_file_is_whole_too(tmp_path: Path, gated: GatedOs) -> None:
    no_links(gated)
    whole.write_new(str(tmp_path / "new"), [b"ours"])
    assert ((tmp_path / "new").read_bytes(), os.listdir(tmp_path)) == (b"ours", ["new"])


@POSIX
@pytest.mark.parametrize("call", ["link", "unlink", "replace", "fsync", "write"])
def test_a_new_file_that_failed_leaves_nothing(call: str, tmp_path: Path, gated: GatedOs) -> None:
    if call == "replace":
        no_links(gated)
    gated.fail(call, OSError(errno.EIO, os.strerror(errno.EIO)))
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        whole.write_new(str(tmp_path / "new"), [b"ours"])
    assert os.listdir(tmp_path) == []


@POSIX
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "old"
    path.write_text("old")
    path.chmod(0o640)
    whole.write_over(str(path), [b"new"])
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o640)


@POSIX
def test_what_is_no_regular_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(OSError, match="not a regular file"):
        whole.write_over(str(tmp_path / "fifo"), [b"new"])
    assert stat.S_ISFIFO((tmp_path / "fifo").stat().st_mode)


def test_a_check_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "old"
    path.write_text("old")

    def check() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        whole.write_over(str(path), [b"new"], check)
    assert (path.read_text(), os.listdir(tmp_path)) == ("old", ["old"])


def test_what_a_crash_left_of_a_file_is_removed_by_the_next_write_once_it_is_old(tmp_path: Path) -> None:
    old, young, other = (tmp_path / f"{name}.{number:032x}.tmp" for number, name in enumerate(("new", "new", "x")))
    for path in (old, young, other):
        path.write_text("left")
    for path in (old, other):
        os.utime(path, (time.time() - 601,) * 2)
    whole.write_new(str(tmp_path / "new"), [b"ours"])
    assert sorted(os.listdir(tmp_path)) == sorted(["new", young.name, other.name])


@pytest.mark.parametrize("trouble", ["none", "link", "fsync"])
def test_a_file_is_moved_only_to_a_free_name(trouble: str, tmp_path: Path, gated: GatedOs) -> None:
    (tmp_path / "old").write_text("content")
    if trouble == "link":
        no_links(gated)
    elif trouble == "fsync":
        gated.fail("fsync", OSError(errno.EIO, os.strerror(errno.EIO)))
    (tmp_path / "taken").write_text("theirs")
    with pytest.raises(FileExistsError):
        whole.move_to_new_name(str(tmp_path / "old"), str(tmp_path / "taken"))
    whole.move_to_new_name(str(tmp_path / "old"), str(tmp_path / "new"))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"new": "content", "taken": "theirs"}


@pytest.mark.parametrize(
    ("chunks", "same"),
    [
        ([b"one", b"", b"two"], True),
        ([b"onetwo"], True),
        ([b"one"], False),
        ([b"onetwo", b"!"], False),
        ([b"oneTwo"], False),
        ([], False),
    ],
)
def test_a_file_holds_just_the_bytes_that_it_holds(tmp_path: Path, chunks: list[bytes], same: bool) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"onetwo")
    signature = calls.signature_at(str(path))
    assert whole.holds(str(path), signature, chunks) is same
    assert not whole.holds(str(path), signature._replace(mtime_ns=1), chunks)
