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
    for text in (
        "Only",
        "Acme, Café Zürich",
        "would be removed",
        "would come back",
        "2 observations of 1 entity: Ann (2)",
    ):
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


def copy_of(home: Path, stamp: str, *lines: str) -> Path:
    return write(home / f"memory.jsonl.{stamp}.bak", *lines)


def test_keep_never_removes_the_copy_of_the_present_state(home: Path, memory: Path) -> None:
    old = copy_of(home, "20260101T000000Z")
    old.write_bytes(memory.read_bytes())
    copy_of(home, "20260102T000000Z", entity("Newer"))
    result = backup(memory, "--keep", "1", "--json", home=home).json()
    assert result["new"]
    assert [(home / name).read_bytes() for name in copies(home)] == [memory.read_bytes()]


def test_nothing_new_is_said_only_if_the_newest_copy_is_the_same(home: Path, memory: Path) -> None:
    copy_of(home, "20260101T000000Z").write_bytes(memory.read_bytes())
    copy_of(home, "20260102T000000Z", entity("Newer"))
    assert "Backed up" in backup(memory, home=home).out
    assert "Nothing new" in backup(memory, home=home).out


def test_a_new_copy_is_the_newest_also_after_the_clock_was_set_back(home: Path, memory: Path) -> None:
    copy_of(home, "20991231T235959Z", entity("Later"))
    assert os.path.basename(backup(memory, "--json", home=home).json()["backup"]) == "memory.jsonl.21000101T000000Z.bak"


def test_keep_counts_whole_copies_alone(home: Path, memory: Path) -> None:
    copy_of(home, "20260101T000000Z", entity("Whole"))
    (home / "memory.jsonl.20260102T000000Z.bak").write_text(entity("Cut") + '\n{"type":"ent')
    (home / "memory.jsonl.20260103T000000Z.bak").write_text("")
    assert backup(memory, "--keep", "2", "--json", home=home).json()["removed"] == []
    assert "empty" in backup(memory, "--list", home=home).out
    assert [one["whole"] for one in backup(memory, "--list", "--json", home=home).json()] == [True, False, False, True]


@pytest.mark.parametrize("command", ["import", "merge", "repair", "restore"])
def test_a_plain_restore_takes_the_last_command_back(command: str, home: Path, memory: Path) -> None:
    memory.write_text(f'{entity("Ann")}\n{entity("Ann", observations=["again"])}\n{{"torn')
    before = memory.read_bytes()
    copy_of(home, "20260101T000000Z").write_bytes(before)
    copy_of(home, "20260102T000000Z", entity("Newer"))
    other = write(home / "other.jsonl", entity("Other"))
    asked: dict[str, tuple[str | Path, ...]] = {
        "import": (other,),
        "merge": (memory, other),
        "repair": ("--drop-unreadable",),
        "restore": ("memory.jsonl.20260102T000000Z.bak",),
    }
    assert run(command, *asked[command], "--file", memory, home=home).status == 0
    assert memory.read_bytes() != before
    assert run("restore", "--file", memory, home=home).status == 0
    assert memory.read_bytes().rstrip(b"\n") == before


def test_a_plain_restore_after_an_import_into_nothing_gives_the_empty_memory(home: Path) -> None:
    path = home / "memory.jsonl"
    copy_of(home, "20260101T000000Z", entity("Older"))
    assert run("import", write(home / "other.jsonl", entity("Other")), "--file", path, home=home).status == 0
    assert run("restore", "--file", path, home=home).status == 0
    assert path.read_bytes() == b""


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (entity("Cut").encode() + b'\n{"type":"entity","name":"Bo', "cut"),
        (b'{"entities":[{"name":"Cut","entityType":"t","obs', "cut"),
        (b"dear diary\n", "not a memory"),
    ],
)
def test_restore_passes_over_what_is_not_whole_and_says_so(
    content: bytes, reason: str, home: Path, memory: Path
) -> None:
    copy_of(home, "20260101T000000Z", entity("Whole"))
    (home / "memory.jsonl.20260102T000000Z.bak").write_bytes(content)
    result = run("restore", "--file", memory, home=home)
    assert (result.status, memory.read_text()) == (0, entity("Whole") + "\n")
    assert f"memory.jsonl.20260102T000000Z.bak is skipped: it is {reason}" in result.err


def test_restore_says_if_no_backup_is_whole(home: Path, memory: Path) -> None:
    (home / "memory.jsonl.20260102T000000Z.bak").write_bytes(b"")
    before = memory.read_bytes()
    result = run("restore", "--file", memory, home=home)
    assert (result.status, memory.read_bytes()) == (2, before)
    assert "no backup" in result.err


def test_a_second_restore_over_something_else_changes_nothing(home: Path, memory: Path) -> None:
    copy_of(home, "20260101T000000Z", entity("Whole"))
    memory.write_bytes(b"garbage\n" * 9)
    for _ in range(2):
        assert run("restore", "--file", memory, home=home).status == 0
        assert memory.read_text() == entity("Whole") + "\n"


@pytest.mark.parametrize(
    "which",
    [
        "2026-01-01 13:00:00",
        "2026-01-01T13:00:00",
        "2026-01-01 13:00",
        "2026-01-01 12:00:00Z",
        "2026-01-01T12:00:00+00:00",
        "2026-01-01 12:00 UTC",
        "20260101T120000Z",
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="TZ")
def test_a_backup_is_chosen_by_the_time_that_the_list_shows_and_in_utc(which: str, home: Path, memory: Path) -> None:
    copy_of(home, "20260101T120000Z", entity("First"))
    copy_of(home, "20260102T120000Z", entity("Second"))
    zone = {"TZ": "XXX-1"}
    assert "2026-01-01 13:00:00" in run("restore", "--list", "--file", memory, home=home, env=zone).out
    assert run("restore", which, "--file", memory, home=home, env=zone).status == 0
    assert memory.read_text() == entity("First") + "\n"


def test_a_time_that_fits_several_backups_is_refused_with_their_names(home: Path, memory: Path) -> None:
    for second in (1, 2):
        copy_of(home, f"20260101T12000{second}Z", entity("One"))
    result = run("restore", "2026-01-01 12:00Z", "--file", memory, home=home)
    assert (result.status, "20260101T120001Z" in result.err) == (2, True)
