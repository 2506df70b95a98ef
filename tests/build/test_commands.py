"""The commands of the Makefile: what they print where, and that they do nothing twice."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from build import inputs, platforms
from tests.build.starting import environment

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")


@pytest.fixture
def tree(archive: Path, tmp_path: Path) -> Path:
    """A copy of the tree with an archive that is up to date, so that nothing has to be built."""
    copy = tmp_path / "the tree"
    for name in ("build", "memory_app", "Makefile"):
        source = inputs.ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy / name)
    (copy / "dist").mkdir()
    return copy


def put_archive(tree: Path, name: str, archive: Path) -> Path:
    """That archive, marked as made from the tree's own files."""
    command = [sys.executable, "-c", "from build import inputs; print(inputs.digest())"]
    digest = subprocess.run(command, capture_output=True, text=True, cwd=tree, check=True).stdout.strip()
    content = archive.read_bytes()
    place = content.index(b'\nBUILD = "') + len(b'\nBUILD = "')
    target = tree / "dist" / name
    target.write_bytes(content[:place] + digest.encode() + content[place + 16 :])
    return target


def make(tree: Path, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "-s", f"PYTHON={sys.executable}", *arguments],
        input=given,
        capture_output=True,
        text=True,
        timeout=100,
        cwd=tree,
        env=environment(tree / "cache", {"MEMORY_FILE_PATH": str(tree / "memory.jsonl")}),
        check=False,
    )


HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "make", "version": "1"}}
LINE = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}) + "\n"


@pytest.mark.parametrize("name", ["memory-server.pyz", "memory-server-host.pyz"])
def test_run_serves_an_archive_that_is_up_to_date_and_builds_nothing(archive: Path, tree: Path, name: str) -> None:
    put_archive(tree, name, archive)
    done = make(tree, "run", given=LINE)
    assert done.returncode == 0, done.stderr
    (answer,) = done.stdout.splitlines()
    assert json.loads(answer)["id"] == 1
    assert "memory-server build:" not in done.stderr
    assert (tree / "dist" / "memory-server.pyz").is_file()


def test_a_build_that_is_up_to_date_prints_its_hash_alone(archive: Path, tree: Path) -> None:
    put_archive(tree, "memory-server-host.pyz", archive)
    done = make(tree, "pyz-host")
    digest, name = done.stdout.split()
    assert (len(digest), name, done.stderr) == (64, "dist/memory-server-host.pyz", "")


def test_an_unknown_platform_is_told_which_there_are(tree: Path) -> None:
    done = make(tree, "pyz-amiga")
    assert done.returncode == 2
    assert all(platform.name in done.stderr for platform in platforms.PLATFORMS)


@pytest.mark.parametrize("memories", [[], ["memory.jsonl", "memory-work.jsonl", "memory.jsonl.20260131T180000Z.bak"]])
def test_clean_removes_what_was_built_and_no_memory(archive: Path, tree: Path, memories: list[str]) -> None:
    for name in ("memory-server.pyz", "memory-server-host.pyz"):
        put_archive(tree, name, archive)
        for ending in (".sha256", ".cdx.json", ".123.part"):
            (tree / "dist" / (name + ending)).write_text("made")
    (tree / "dist" / "memory-server.mcpb").write_text("made")
    for name in memories:
        (tree / "dist" / name).write_text("facts")
    assert make(tree, "clean").returncode == 0
    left = sorted(path.name for path in (tree / "dist").iterdir()) if memories else []
    assert (tree / "dist").exists() is bool(memories)
    assert left == sorted(memories)


def test_help_names_every_command(tree: Path) -> None:
    done = make(tree, "help")
    for command in ("run", "test", "pyz", "pyz-host", "stress", "bench", "platforms", "clean"):
        assert f"make {command}" in done.stdout
