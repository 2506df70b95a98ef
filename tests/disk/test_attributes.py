"""Access control lists and extended attributes over a save: kept, or nobody gets more than before."""

from __future__ import annotations

import errno
import os
import stat
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from memory_app.disk import attributes, copies, whole
from memory_app.disk.attributes import ACL
from memory_app.graph.changes import NewEntity, create_entities
from memory_app.jsonl.records import new_entity
from memory_app.storage.store import Store
from tests.placing import put

if sys.platform != "linux":
    pytest.skip("the standard library has calls for attributes on Linux alone", allow_module_level=True)

ANN: Final = new_entity("Ann", "t", ("secret",)).raw + b"\n"
LISTED: Final = 61001
MEMBER: Final = 61002
GROUP: Final = 61003
PATIENCE: Final = 20.0
_NOBODY: Final = 0xFFFFFFFF


def acl(group: int, mask: int = 6) -> bytes:
    """The owner reads and writes, as does `LISTED`, within the mask; the group has its own rights, others none."""
    entries = [(1, 6, _NOBODY), (2, 6, LISTED), (4, group, _NOBODY), (0x10, mask, _NOBODY), (0x20, 0, _NOBODY)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    """A memory that its group may not read, and a user on its list may: the mode shows 0660."""
    path = tmp_path / "memory.jsonl"
    put(path, ANN)
    path.chmod(0o600)
    try:
        os.setxattr(path, ACL, acl(group=0))
        os.setxattr(path, "user.tag", b"mine")
    except OSError:
        pytest.skip("this file system has no lists and no attributes")
    assert stat.S_IMODE(path.stat().st_mode) == 0o660
    return path


def save(memory: Path) -> None:
    store = Store(str(memory), print, history_days=0)
    store.submit(lambda graph: (create_entities(graph, [NewEntity("New", "t", ())])[0], None)).result(PATIENCE)
    store.close(0)
    assert b"New" in memory.read_bytes()


def test_a_list_and_attributes_are_kept_over_a_save(memory: Path) -> None:
    before = memory.stat().st_ino
    save(memory)
    assert memory.stat().st_ino != before
    assert os.getxattr(memory, ACL) == acl(group=0) and os.getxattr(memory, "user.tag") == b"mine"
    assert stat.S_IMODE(memory.stat().st_mode) == 0o660


def test_a_file_that_a_command_writes_over_keeps_them_too(memory: Path) -> None:
    whole.write_over(str(memory), [b"x\n"])
    assert memory.read_bytes() == b"x\n"
    assert os.getxattr(memory, ACL) == acl(group=0) and os.getxattr(memory, "user.tag") == b"mine"


@pytest.mark.parametrize("number", [errno.ENOTSUP, errno.EPERM, errno.ENOSPC], ids=errno.errorcode.get)
def test_where_a_list_cannot_be_kept_the_group_gets_no_more_than_it_had(
    memory: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*arguments: Any, **options: Any) -> None:
        raise OSError(number, os.strerror(number))

    os.setxattr(memory, ACL, acl(group=4, mask=6))
    monkeypatch.setattr(os, "setxattr", refuse)
    save(memory)
    assert ACL not in os.listxattr(memory)
    assert stat.S_IMODE(memory.stat().st_mode) == 0o640
    monkeypatch.undo()
    os.setxattr(memory, ACL, acl(group=6, mask=0))
    monkeypatch.setattr(os, "setxattr", refuse)
    save(memory)
    assert stat.S_IMODE(memory.stat().st_mode) == 0o600


def test_a_backup_gives_the_group_no_more_than_the_memory_did(memory: Path) -> None:
    status, _ = attributes.read(str(memory), memory.stat())
    made, _ = copies.back_up(copies.backups_of(str(memory)), b"x", status)
    assert stat.S_IMODE(os.stat(made).st_mode) == 0o600


def test_a_list_that_the_folder_gives_to_new_files_does_not_open_an_old_one(tmp_path: Path, memory: Path) -> None:
    os.removexattr(memory, ACL)
    memory.chmod(0o640)
    os.setxattr(tmp_path, "system.posix_acl_default", acl(group=6))
    save(memory)
    assert ACL not in os.listxattr(memory)
    assert stat.S_IMODE(memory.stat().st_mode) == 0o640


def test_a_memory_without_any_costs_one_call_for_its_own_and_one_for_the_new_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    real = os.listxattr

    def listed(path: Any, **options: Any) -> list[str]:
        calls.append(path)
        return real(path, **options)

    monkeypatch.setattr(os, "listxattr", listed)
    for name in ("getxattr", "setxattr", "removexattr"):
        monkeypatch.delattr(os, name)
    path = tmp_path / "plain.jsonl"
    put(path, ANN)
    save(path)
    assert len(calls) == 2


@pytest.fixture
def shared(memory: Path) -> Iterator[Path]:
    """The memory belongs to the group of `MEMBER`; both users may enter its folder."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to act as two other users")
    os.chown(memory, 0, GROUP)
    opened = [path for path in memory.parents if not path.stat().st_mode & stat.S_IXOTH]
    before = [path.stat().st_mode for path in opened]
    for path in opened:
        path.chmod(path.stat().st_mode | stat.S_IXOTH)
    yield memory
    for path, mode in zip(opened, before, strict=True):
        path.chmod(stat.S_IMODE(mode))


def may_read(path: Path, user: int, *groups: int) -> bool:
    cat = ["/bin/cat", str(path)]
    done = subprocess.run(
        cat, user=user, group=user, extra_groups=groups, capture_output=True, timeout=PATIENCE, check=False
    )
    return b"secret" in done.stdout


def test_a_member_of_the_group_cannot_read_after_a_save_what_it_could_not_before(shared: Path) -> None:
    for _ in range(2):
        assert may_read(shared, LISTED) and not may_read(shared, MEMBER, GROUP)
        save(shared)
    assert may_read(shared, LISTED) and not may_read(shared, MEMBER, GROUP)
