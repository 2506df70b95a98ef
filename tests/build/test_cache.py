"""The cache over time: what a cleaner took comes back, what nobody uses goes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.build.starting import another_version, environment, serve, unpacked

DAY = 86_400
_LEFT = "1.0.0-0123456789abcdef-cp311-linux-x86_64.abcdefgh.tmp"


slow = pytest.mark.slow


@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param("program", id="program", marks=slow),
        pytest.param("**/_pydantic_core*", id="compiled part"),
        pytest.param("mcp-*.dist-info/METADATA", id="metadata", marks=slow),
        pytest.param("*", id="everything"),
    ],
)
def test_what_a_cleaner_took_comes_back(archive: Path, cache: Path, tmp_path: Path, pattern: str) -> None:
    (folder,) = unpacked(cache)
    before = sorted(path.relative_to(folder) for path in folder.rglob("*"))
    taken = list(folder.glob(pattern))
    assert taken
    for path in taken:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    serve(archive, tmp_path, environment(cache))
    assert unpacked(cache) == [folder]
    assert sorted(path.relative_to(folder) for path in folder.rglob("*")) == before


@pytest.mark.parametrize("name", ["program", "_pydantic_core"])
def test_a_file_that_was_cut_short_is_written_anew(archive: Path, cache: Path, tmp_path: Path, name: str) -> None:
    (path,) = unpacked(cache)[0].rglob(name + "*.so" if name.startswith("_") else name)
    size = path.stat().st_size
    os.truncate(path, size // 2)
    serve(archive, tmp_path, environment(cache))
    assert path.stat().st_size == size


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(b"", id="empty", marks=slow),
        pytest.param(b"nonsense", id="text", marks=slow),
        pytest.param(b"\0" * 4096, id="zeros", marks=slow),
        pytest.param(b"\xff" * 64, id="a head that cannot be read"),
    ],
)
def test_a_program_file_that_is_none_is_written_anew(archive: Path, cache: Path, tmp_path: Path, damage: bytes) -> None:
    program = unpacked(cache)[0] / "program"
    size = program.stat().st_size
    program.write_bytes(program.read_bytes()[:8] + damage if damage[:1] == b"\xff" else damage)
    serve(archive, tmp_path, environment(cache))
    assert program.stat().st_size == size


def test_another_build_has_a_folder_of_its_own(archive: Path, cache: Path, tmp_path: Path) -> None:
    serve(another_version(archive, tmp_path / "other.pyz"), tmp_path, environment(cache))
    assert len(unpacked(cache)) == 2
    serve(archive, tmp_path, environment(cache))
    assert len(unpacked(cache)) == 2


@pytest.fixture
def two(archive: Path, cache: Path) -> tuple[Path, Path]:
    """The folder of the archive, last used two days ago, and one that looks like another version's."""
    (own,) = unpacked(cache)
    _, build, rest = own.name.split("-", 2)
    other = shutil.copytree(own, cache / f"0.9.0-{build[::-1]}-{rest}")
    _age(own, 2)
    return own, other


def _age(folder: Path, days: float) -> None:
    then = time.time() - days * DAY
    os.utime(folder / "program", (then, then))


def test_what_was_not_started_for_a_month_goes(archive: Path, two: tuple[Path, Path], tmp_path: Path) -> None:
    own, other = two
    _age(other, 31)
    serve(archive, tmp_path, environment(own.parent))
    assert unpacked(own.parent) == [own]
    assert time.time() - (own / "program").stat().st_mtime < DAY


def test_what_was_started_within_a_month_stays(archive: Path, two: tuple[Path, Path], tmp_path: Path) -> None:
    own, other = two
    _age(other, 29)
    serve(archive, tmp_path, environment(own.parent))
    assert unpacked(own.parent) == sorted([own, other])


def test_the_look_around_is_made_once_a_day(archive: Path, two: tuple[Path, Path], tmp_path: Path) -> None:
    own, other = two
    _age(own, 0.5)
    _age(other, 31)
    serve(archive, tmp_path, environment(own.parent))
    assert unpacked(own.parent) == sorted([own, other])


def test_a_version_in_use_never_goes(archive: Path, cache: Path, tmp_path: Path) -> None:
    old = another_version(archive, tmp_path / "old.pyz")
    with subprocess.Popen(
        [sys.executable, str(old), "--file", str(tmp_path / "memory.jsonl")],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(cache),
    ) as running:
        assert running.stdin is not None
        assert running.stderr is not None
        assert b"memory file" in running.stderr.readline()  # it is up
        (own, used) = sorted(unpacked(cache), key=lambda path: "0123456789abcdef" in path.name)
        _age(used, 400)
        _age(own, 2)
        serve(archive, tmp_path, environment(cache))
        assert used in unpacked(cache)
        running.stdin.close()
        assert running.wait(30) == 0
    _age(own, 2)
    serve(archive, tmp_path, environment(cache))
    assert unpacked(cache) == [own]


def test_other_peoples_files_are_left_alone(archive: Path, two: tuple[Path, Path], tmp_path: Path) -> None:
    own, other = two
    shutil.rmtree(other)
    theirs = [own.parent / name for name in ("notes", "1.0.0-cp311-linux", "0.1-zz", "x.tmp")]
    for folder in theirs:
        folder.mkdir()
        (folder / "program").write_text("mine")
        _age(folder, 400)
        os.utime(folder, (0, 0))
    serve(archive, tmp_path, environment(own.parent))
    assert all((folder / "program").read_text() == "mine" for folder in theirs)


@pytest.mark.parametrize(("hours", "stays"), [(1, True), (30, False)])
def test_what_a_killed_start_left_goes_after_a_day(
    archive: Path, two: tuple[Path, Path], tmp_path: Path, hours: int, stays: bool
) -> None:
    own, _ = two
    left = own.parent / _LEFT
    left.mkdir()
    then = time.time() - hours * 3600
    os.utime(left, (then, then))
    serve(archive, tmp_path, environment(own.parent))
    assert left.exists() is stays


def test_bits_that_a_disk_loses_in_the_program_file_never_fail_a_start(
    archive: Path, cache: Path, tmp_path: Path
) -> None:
    """The size stays: nothing but the contents tell. In the head, then in every module, then here and there: often
    enough that a start reads one of the places, however long the modules are.
    """
    program = unpacked(cache)[0] / "program"
    whole = program.read_bytes()
    modules = 16 + int.from_bytes(whole[4:8], "little")
    for begin, step in ((0, 60_000), (modules, 2_000), (modules + 5_000, 30_000)):
        damaged = bytearray(whole)
        for place in range(begin, len(whole) - 512, step):
            damaged[place : place + 512] = os.urandom(512)
        program.write_bytes(damaged)
        serve(archive, tmp_path, environment(cache))
        assert not program.exists() or program.read_bytes() == whole  # the next start writes what this one missed
        serve(archive, tmp_path, environment(cache))
        assert program.read_bytes() == whole


@pytest.mark.parametrize("when", ["it cannot be loaded", "a day has passed"])
def test_a_damaged_library_is_replaced_as_soon_as(archive: Path, cache: Path, tmp_path: Path, when: str) -> None:
    folder = unpacked(cache)[0]
    (library,) = folder.rglob("_pydantic_core*")
    whole = library.read_bytes()
    place = 0 if when == "it cannot be loaded" else len(whole) - 100  # the head; what is never looked at
    library.write_bytes(whole[:place] + b"damaged" + whole[place + 7 :])
    if when == "a day has passed":
        _age(folder, 2)
    serve(archive, tmp_path, environment(cache))
    assert library.read_bytes() == whole
