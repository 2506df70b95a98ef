"""The calls that change the file system, each against a real one; faults where only a fault shows the rule."""

from __future__ import annotations

import errno
import os
import resource
import signal
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from memory_app.disk import calls as disk
from tests.files import descriptors, make_fifo, make_folder, make_socket, mode
from tests.gating import GatedOs
from tests.locks import Clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(disk, "time", clock)
    return clock


def error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def put(path: Path, *chunks: bytes) -> None:
    fd = disk.create(str(path))
    disk.write_all(fd, chunks)
    disk.close(fd)


# Making and writing


def test_a_new_file_is_for_its_owner_alone_and_not_inherited(tmp_path: Path) -> None:
    fd = disk.create(str(tmp_path / "new"))
    assert mode(tmp_path / "new") == 0o600
    assert not os.get_inheritable(fd)
    disk.close(fd)


def make_file(path: Path) -> None:
    path.write_text("theirs")


def make_dangling_link(path: Path) -> None:
    path.symlink_to("nothing")


@pytest.mark.parametrize("make", [make_file, make_dangling_link, make_folder, make_fifo])
def test_a_name_that_is_taken_by_anything_is_not_made(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "taken")
    before = os.lstat(tmp_path / "taken")
    with pytest.raises(FileExistsError):
        disk.create(str(tmp_path / "taken"))
    assert os.lstat(tmp_path / "taken") == before
    assert os.listdir(tmp_path) == ["taken"]


@pytest.mark.parametrize(
    "chunks",
    [[], [b""], [b"a"], [b"a", b"", b"bc"], [b"x" * 999] * 5000, [b"y" * (3 << 20), b"z"]],
    ids=["none", "empty", "one", "few", "many", "large"],
)
def test_chunks_are_written_one_after_the_other(tmp_path: Path, chunks: list[bytes]) -> None:
    put(tmp_path / "file", *chunks)
    assert (tmp_path / "file").read_bytes() == b"".join(chunks)


def test_many_small_chunks_need_few_calls(tmp_path: Path, gated: GatedOs) -> None:
    put(tmp_path / "file", *([b"x" * 100] * 50_000))
    assert gated.names().count("write") == 5


def test_what_the_system_does_not_take_at_once_is_written_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: whole(fd, data[:7]))
    put(tmp_path / "file", b"0123456789" * 10, b"abc")
    assert (tmp_path / "file").read_bytes() == b"0123456789" * 10 + b"abc"


def test_a_system_that_takes_nothing_is_an_error_not_a_hang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "write", lambda fd, data: 0)
    fd = disk.create(str(tmp_path / "file"))
    with pytest.raises(OSError, match="wrote nothing"):
        disk.write_all(fd, [b"abc"])
    disk.close(fd)


def test_a_limit_on_the_size_of_files_is_an_error(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    fd = disk.create(str(tmp_path / "file"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            disk.write_all(fd, [b"x" * 20_000])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
        disk.close(fd)


# Reading


def test_a_file_is_read_whole_whatever_its_size(tmp_path: Path) -> None:
    for size in (0, 1, 65_535, 65_536, 3_000_000):
        (tmp_path / "file").write_bytes(b"x" * size)
        fd = disk.open_regular(str(tmp_path / "file"))
        assert disk.read_all(fd) == b"x" * size
        disk.close(fd)


def test_a_file_that_grows_while_it_is_read_is_read_to_its_end(tmp_path: Path, gated: GatedOs) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a" * 100_000)

    def grow() -> None:
        with path.open("ab") as file:
            file.write(b"b" * 300_000)

    gated.before("read", grow)
    fd = disk.open_regular(str(path))
    assert disk.read_all(fd) == b"a" * 100_000 + b"b" * 300_000
    disk.close(fd)


@pytest.mark.parametrize("make", [make_folder, make_fifo, make_socket])
@pytest.mark.parametrize("by_link", [False, True], ids=["itself", "by a link"])
def test_what_is_no_regular_file_is_refused_without_opening_it(
    tmp_path: Path, gated: GatedOs, make: Callable[[Path], None], by_link: bool
) -> None:
    make(tmp_path / "strange")
    (tmp_path / "link").symlink_to("strange")
    with pytest.raises(IsADirectoryError if make is make_folder else OSError):
        disk.open_regular(str(tmp_path / ("link" if by_link else "strange")))
    assert "open" not in gated.names()


def test_a_fifo_that_takes_the_place_of_a_file_neither_hangs_nor_stays_open(tmp_path: Path, gated: GatedOs) -> None:
    path = tmp_path / "file"
    path.write_text("x")

    def exchange() -> None:
        path.unlink()
        os.mkfifo(path)

    gated.before("open", exchange)
    before = descriptors()
    with pytest.raises(OSError, match="not a regular file"):
        disk.open_regular(str(path))
    assert descriptors() == before


def test_a_link_is_followed_or_refused_as_asked(tmp_path: Path, gated: GatedOs) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("file")
    disk.close(disk.open_regular(str(tmp_path / "link")))
    with pytest.raises(OSError, match="not a regular file"):
        disk.open_regular(str(tmp_path / "link"), follow=False)

    def exchange() -> None:
        (tmp_path / "file").unlink()
        (tmp_path / "file").symlink_to("/etc/passwd")

    gated.before("open", exchange)
    with pytest.raises(OSError, match="symbolic links"):
        disk.open_regular(str(tmp_path / "file"), follow=False)


def test_a_signature_changes_with_the_file_and_is_the_same_by_descriptor_and_by_path(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("one")
    fd = disk.open_regular(str(path))
    first = disk.signature(fd)
    assert first == disk.signature_at(str(path)) == disk.signature_of(os.lstat(path))
    os.utime(path, ns=(1, 1))
    assert disk.signature(fd) != first
    (tmp_path / "other").write_text("one")
    os.replace(tmp_path / "other", path)
    assert disk.signature_at(str(path)).inode != first.inode
    disk.close(fd)


# Making durable


def test_a_file_is_synced_as_the_platform_can(tmp_path: Path, gated: GatedOs) -> None:
    fd = disk.create(str(tmp_path / "file"))
    disk.sync(fd)
    disk.close(fd)
    assert gated.names() == ["open", "fsync", "close"]


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP, errno.ENOSYS])
def test_a_file_system_that_knows_no_sync_gets_the_next_weaker_one(tmp_path: Path, gated: GatedOs, number: int) -> None:
    fd = disk.create(str(tmp_path / "file"))
    gated.fail("fsync", error(number))
    disk.sync(fd)
    gated.fail("fsync", error(number))
    gated.fail("fdatasync", error(number))
    disk.sync(fd)
    disk.close(fd)
    assert gated.names() == ["open", "fsync", "fdatasync", "fsync", "fdatasync", "close"]


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EDQUOT])
def test_a_sync_that_fails_is_an_error(tmp_path: Path, gated: GatedOs, number: int) -> None:
    fd = disk.create(str(tmp_path / "file"))
    gated.fail("fsync", error(number))
    with pytest.raises(OSError, match=os.strerror(number)):
        disk.sync(fd)
    disk.close(fd)
    gated.fail("fsync", error(number))
    before = descriptors()
    with pytest.raises(OSError, match=os.strerror(number)):
        disk.sync_folder(str(tmp_path))
    assert descriptors() == before


def test_macos_is_asked_to_empty_the_drives_cache_and_falls_back_to_fsync(
    tmp_path: Path, gated: GatedOs, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    answers: list[int] = [0, errno.ENOTSUP, errno.EIO]

    def fcntl(fd: int, command: int) -> int:
        asked.append(command)
        if answer := answers.pop(0):
            raise error(answer)
        return 0

    monkeypatch.setattr(disk, "fcntl", SimpleNamespace(fcntl=fcntl))
    monkeypatch.setattr(disk, "_FULL_SYNC", 51)
    fd = disk.create(str(tmp_path / "file"))
    disk.sync(fd)
    assert "fsync" not in gated.names()
    disk.sync(fd)
    assert gated.names().count("fsync") == 1
    with pytest.raises(OSError, match="Input/output"):
        disk.sync(fd)
    assert gated.names().count("fsync") == 1
    assert asked == [51, 51, 51]
    disk.close(fd)


def test_a_folder_is_synced_and_what_is_none_is_refused(tmp_path: Path, gated: GatedOs) -> None:
    disk.sync_folder(str(tmp_path))
    assert gated.names() == ["open", "fsync", "close"]
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        disk.sync_folder(str(tmp_path / "file"))


# Names


def test_a_second_name_never_overwrites_and_is_the_links_own(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("1")
    (tmp_path / "two").write_text("2")
    with pytest.raises(FileExistsError):
        disk.link(str(tmp_path / "one"), str(tmp_path / "two"))
    (tmp_path / "link").symlink_to("one")
    disk.link(str(tmp_path / "link"), str(tmp_path / "three"))
    assert os.readlink(tmp_path / "three") == "one"


def test_a_removal_that_fails_once_is_tried_again(tmp_path: Path, gated: GatedOs) -> None:
    path = tmp_path / "file"
    path.write_text("")
    gated.fail("unlink", error(errno.EIO))
    assert disk.remove_if_possible(str(path))
    assert not path.exists()
    assert disk.remove_if_possible(str(path)), "what is not there is gone"


def test_a_removal_that_never_works_is_told(tmp_path: Path, gated: GatedOs) -> None:
    path = tmp_path / "file"
    path.write_text("")
    gated.fail("unlink", error(errno.EIO), always=True)
    assert not disk.remove_if_possible(str(path))


def test_an_interrupt_goes_on_after_what_can_be_removed_is_removed(tmp_path: Path, gated: GatedOs) -> None:
    path = tmp_path / "file"
    path.write_text("")
    gated.fail("unlink", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        disk.remove_if_possible(str(path))
    assert not path.exists()


# Owner and mode


def test_a_new_file_takes_over_owner_and_mode(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("")
    if os.getuid() == 0:
        os.chown(old, 12345, 12346)
    old.chmod(0o640)
    fd = disk.create(str(new))
    disk.set_owner_and_mode(fd, old.stat())
    disk.close(fd)
    assert mode(new) == 0o640
    assert (new.stat().st_uid, new.stat().st_gid) == (old.stat().st_uid, old.stat().st_gid)


def wanted(path: Path, **changed: int) -> Any:
    status = path.stat()
    fields = {"st_uid": status.st_uid, "st_gid": status.st_gid, "st_mode": status.st_mode}
    return SimpleNamespace(**(fields | changed))


def test_where_the_owner_cannot_be_given_the_group_is_and_the_mode_always(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int]] = []

    def refuse(fd: int, uid: int, gid: int) -> None:
        asked.append((uid, gid))
        raise error(errno.EPERM)

    fd = disk.create(str(tmp_path / "new"))
    monkeypatch.setattr(os, "fchown", refuse)
    disk.set_owner_and_mode(fd, wanted(tmp_path / "new", st_uid=4711, st_gid=4712, st_mode=stat.S_IFREG | 0o664))
    disk.close(fd)
    assert asked == [(4711, 4712), (-1, 4712)]
    assert mode(tmp_path / "new") == 0o664


def test_a_mode_that_is_right_already_is_not_set(tmp_path: Path, gated: GatedOs) -> None:
    """FAT refuses every mode but its own, also that which the old file has as well."""
    fd = disk.create(str(tmp_path / "new"))
    gated.fail("fchmod", error(errno.EPERM), always=True)
    disk.set_owner_and_mode(fd, wanted(tmp_path / "new"))
    with pytest.raises(PermissionError):
        disk.set_owner_and_mode(fd, wanted(tmp_path / "new", st_mode=stat.S_IFREG | 0o644))
    disk.close(fd)


# Windows


class SharingViolation(PermissionError):
    """What Windows raises while another process has the file open."""

    def __init__(self, code: int | None) -> None:
        super().__init__(errno.EACCES, "The process cannot access the file")
        if code is not None:
            self.winerror = code


def to(step: Callable[[str], object], *calls: str) -> Any:
    return pytest.param(step, calls, id=calls[0])


STEPS = [
    to(lambda path: disk.replace(path, path + ".new"), "replace"),
    to(lambda path: disk.rename(path, path + ".new"), "rename"),
    to(lambda path: disk.remove(path), "unlink"),
    to(lambda path: disk.close(disk.open_regular(path)), "open"),
    to(lambda path: disk.close(disk.create(path + ".new")), "open"),
    to(lambda path: disk.touch_at(path), "utime"),
]


@pytest.mark.parametrize(("step", "calls"), STEPS)
@pytest.mark.parametrize("code", [5, 32, 33, None])
def test_on_windows_a_sharing_violation_is_waited_out(
    tmp_path: Path,
    gated: GatedOs,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    step: Callable[[str], object],
    calls: tuple[str, ...],
    code: int | None,
) -> None:
    monkeypatch.setattr(disk, "WINDOWS", True)
    (tmp_path / "file").write_text("")
    for _ in range(5):
        gated.fail(calls[0], SharingViolation(code))
    step(str(tmp_path / "file"))
    assert gated.names().count(calls[0]) == 6
    assert 0 < clock.now - 1000 < 0.5


@pytest.mark.parametrize(("step", "calls"), STEPS)
def test_on_windows_a_sharing_violation_that_stays_is_an_error_after_two_seconds(
    tmp_path: Path,
    gated: GatedOs,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    step: Callable[[str], object],
    calls: tuple[str, ...],
) -> None:
    monkeypatch.setattr(disk, "WINDOWS", True)
    (tmp_path / "file").write_text("")
    gated.fail(calls[0], SharingViolation(32), always=True)
    with pytest.raises(SharingViolation):
        step(str(tmp_path / "file"))
    assert 2 <= clock.now - 1000 < 2.1


@pytest.mark.parametrize(("step", "calls"), STEPS)
@pytest.mark.parametrize("windows", [False, True])
def test_other_errors_are_never_waited_out(
    tmp_path: Path,
    gated: GatedOs,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    step: Callable[[str], object],
    calls: tuple[str, ...],
    windows: bool,
) -> None:
    monkeypatch.setattr(disk, "WINDOWS", windows)
    (tmp_path / "file").write_text("")
    fault = error(errno.EIO) if windows else SharingViolation(None)
    gated.fail(calls[0], fault)
    with pytest.raises(type(fault)):
        step(str(tmp_path / "file"))
    assert clock.now == 1000


def test_on_windows_asking_whether_a_file_can_be_made_takes_no_time(
    tmp_path: Path, gated: GatedOs, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "WINDOWS", True)
    gated.fail("open", SharingViolation(None))
    with pytest.raises(SharingViolation):
        disk.create(str(tmp_path / "file"), patient=False)
    assert clock.now == 1000


def test_on_windows_a_signature_has_nothing_that_stat_and_fstat_give_differently(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    facts = {"st_ino": 7, "st_size": 3, "st_mtime_ns": 5}
    by_path: Any = SimpleNamespace(**facts, st_dev=1, st_ctime_ns=10)
    by_descriptor: Any = SimpleNamespace(**facts, st_dev=2, st_ctime_ns=11)
    assert disk.signature_of(by_path) != disk.signature_of(by_descriptor)
    monkeypatch.setattr(disk, "WINDOWS", True)
    assert disk.signature_of(by_path) == disk.signature_of(by_descriptor)


def test_on_windows_no_folder_is_synced_and_no_owner_set(
    tmp_path: Path, gated: GatedOs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "WINDOWS", True)
    fd = disk.create(str(tmp_path / "file"))
    disk.sync_folder(str(tmp_path))
    disk.set_owner_and_mode(fd, wanted(tmp_path / "file", st_uid=4711, st_mode=stat.S_IFREG | 0o644))
    disk.close(fd)
    assert gated.names() == ["open", "close"]


@pytest.mark.skipif(sys.platform != "linux", reason="counts on Linux's flags")
def test_no_call_of_the_disk_is_made_but_through_its_os(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault at any of them can be forced only if all of them can be replaced."""
    used: set[str] = set()

    class Recorder:
        def __getattr__(self, name: str) -> Any:
            used.add(name)
            return getattr(os, name)

    monkeypatch.setattr(disk, "os", Recorder())
    fd = disk.create(str(tmp_path / "file"))
    disk.write_all(fd, [b"x"])
    disk.sync(fd)
    disk.touch(fd)
    disk.touch_at(str(tmp_path / "file"))
    disk.close(fd)
    disk.rename(str(tmp_path / "file"), str(tmp_path / "two"))
    disk.link(str(tmp_path / "two"), str(tmp_path / "three"))
    disk.replace(str(tmp_path / "three"), str(tmp_path / "two"))
    disk.remove(str(tmp_path / "two"))
    disk.make_folder(str(tmp_path / "folder"))
    disk.remove_folder(str(tmp_path / "folder"))
    disk.sync_folder(str(tmp_path))
    changing = {"open", "write", "fsync", "utime", "close", "rename", "link", "replace", "unlink", "mkdir", "rmdir"}
    assert changing <= used
