"""backup and restore: exact copies, a rule for how many are kept, and a way back from each restore."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.commands.running import Result, entity, run, write

NAME = re.compile(r"memory\.jsonl\.\d{8}T\d{6}Z\.bak")


def backup(path: Path, *more: str, home: Path) -> Result:
    return run("backup", "--file", path, *more, home=home)


def copies(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if NAME.fullmatch(name))


def test_a_backup_is_the_file_to_the_byte(home: Path) -> None:
    path = home / "memory.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + entity("Ann").encode() + b"\r\n\r\nnot json")
    path.chmod(0o640)
    result = backup(path, "--json", home=home).json()
    copy = Path(result["backup"])
    assert result["new"]
    assert NAME.fullmatch(copy.name)
    assert copy.parent == home
    assert copy.read_bytes() == path.read_bytes()
    assert copy.stat().st_mode == path.stat().st_mode


def test_the_same_bytes_are_not_backed_up_twice(home: Path, memory: Path) -> None:
    backup(memory, home=home)
    result = backup(memory, home=home)
    assert "Nothing new" in result.out
    assert len(copies(home)) == 1


def test_the_keep_rule_removes_the_oldest_copies_and_nothing_else(home: Path, memory: Path) -> None:
    others = ["memory.jsonl.bak", "memory.jsonl.20260101T000000Z.bak.old", "other.jsonl.20200101T000000Z.bak"]
    for name in others:
        (home / name).write_bytes(b"mine")
    old = [f"memory.jsonl.2026010{n}T000000Z.bak" for n in range(1, 6)]
    for name in old:
        write(home / name, entity(name))
    result = backup(memory, "--keep", "3", "--json", home=home).json()
    assert sorted(os.path.basename(path) for path in result["removed"]) == old[:3]
    assert copies(home) == [*old[3:], os.path.basename(result["backup"])]
    assert all((home / name).exists() for name in others)


def test_copies_can_be_kept_in_another_folder(home: Path, memory: Path) -> None:
    assert backup(memory, "--to", str(home / "safe" / "place"), home=home).status == 0
    assert copies(home) == []
    assert len(copies(home / "safe" / "place")) == 1
    memory.write_bytes(b"")
    assert run("restore", "--from", home / "safe" / "place", "--file", memory, home=home).status == 0
    assert b"Ann" in memory.read_bytes()


def test_the_list_has_the_newest_first(home: Path, memory: Path) -> None:
    for day in (1, 3, 2):
        (home / f"memory.jsonl.2026010{day}T000000Z.bak").write_bytes(b"x" * day)
    listed = run("restore", "--list", "--json", "--file", memory, home=home).json()
    assert [one["time"] for one in listed] == [f"2026010{day}T000000Z" for day in (3, 2, 1)]
    assert listed == backup(memory, "--list", "--json", home=home).json()
    assert len(backup(memory, "--list", home=home).out.splitlines()) == 4
    assert memory.exists()


def test_a_restore_can_be_taken_back(home: Path, memory: Path) -> None:
    first = memory.read_bytes()
    backup(memory, home=home)
    second = write(memory, entity("Only", observations=["this"])).read_bytes()
    result = run("restore", "--file", memory, "--json", home=home).json()
    assert memory.read_bytes() == first
    assert Path(result["presentBackedUpTo"]).read_bytes() == second
    assert run("restore", result["presentBackedUpTo"], "--file", memory, home=home).status == 0
    assert memory.read_bytes() == second


def test_a_dry_run_says_what_would_change(home: Path, memory: Path) -> None:
    backup(memory, home=home)
    write(memory, entity("Only"), entity("Ann", "person", ["Sings"]))
    before = (memory.read_bytes(), sorted(os.listdir(home)))
    out = run("restore", "--dry-run", "--file", memory, home=home).out
    for text in ("Only", "Acme, Café Zürich", "would go", "would come back", "2 observations of 1 entity: Ann (2)"):
        assert text in out
    assert before == (memory.read_bytes(), sorted(os.listdir(home)))


@pytest.mark.parametrize("which", ["2", "20260101T000000Z", "memory.jsonl.20260101T000000Z.bak"])
def test_a_backup_is_chosen_by_number_time_or_name(which: str, home: Path, memory: Path) -> None:
    (home / "memory.jsonl.20260101T000000Z.bak").write_text(entity("First") + "\n")
    (home / "memory.jsonl.20260102T000000Z.bak").write_text(entity("Second") + "\n")
    assert run("restore", which, "--file", memory, home=home).status == 0
    assert memory.read_text() == entity("First") + "\n"


def test_a_memory_that_is_gone_comes_back(home: Path, memory: Path) -> None:
    before = memory.read_bytes()
    backup(memory, home=home)
    memory.unlink()
    assert run("restore", "--file", memory, home=home).status == 0
    assert memory.read_bytes() == before


def test_a_file_that_was_overwritten_by_something_else_is_put_aside(home: Path, memory: Path) -> None:
    before = memory.read_bytes()
    backup(memory, home=home)
    memory.write_bytes(b"\0" * 100)
    result = run("restore", "--file", memory, "--json", home=home).json()
    assert memory.read_bytes() == before
    assert Path(result["presentBackedUpTo"]).read_bytes() == b"\0" * 100
    assert not (home / "memory.jsonl.lock").exists()


def test_what_is_no_memory_is_not_restored(home: Path, memory: Path) -> None:
    before = memory.read_bytes()
    (home / "memory.jsonl.20260101T000000Z.bak").write_text("dear diary")
    result = run("restore", "--file", memory, home=home)
    assert (result.status, memory.read_bytes()) == (2, before)


def test_the_same_content_is_not_written_again(home: Path, memory: Path) -> None:
    backup(memory, home=home)
    inode = memory.stat().st_ino
    assert "same" in run("restore", "--file", memory, home=home).out
    assert (memory.stat().st_ino, len(copies(home))) == (inode, 1)


@pytest.mark.skipif(os.name == "nt", reason="modes")
def test_a_folder_that_takes_no_files_is_told(home: Path, memory: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    home.chmod(0o500)
    try:
        result = backup(memory, home=home)
    finally:
        home.chmod(0o700)
    assert (result.status, result.err.count("\n")) == (2, 1)
