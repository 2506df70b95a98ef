"""Limits that the system sets: a file that may not grow, a full disk, what is read-only, a file mounted by itself.

Each in a child process, since some of these cannot be taken back.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from memory_app.storage.store import Store
from tests.faults.scenes import LINES, NAME, NEXT, applied, change
from tests.placing import put

ROOT: Final = Path(__file__).resolve().parents[2]
_PATIENCE: Final = 30.0

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows sets other limits")

_CHILD: Final = """
import json, os, sys
from pathlib import Path
from memory_app.errors import StoreError
from memory_app.storage.store import Store
from tests.faults.scenes import LINES, NEXT, change
from tests.faults.folders import beside, descriptors
from tests.placing import put

def attempt(tool, arguments):
    try:
        change(store, tool, arguments).result(20)
        return ""
    except StoreError as error:
        return f"stored={error.stored}: {error}"

folder = Path(sys.argv[1])
long = {"entities": [{"name": "Long", "entityType": "test", "observations": ["x" * 100_000]}]}
before = descriptors()
store = Store(str(folder / "memory.jsonl"), lambda text: None, lock_wait=2)
"""


def child(code: str, inside: Path, around: tuple[str, ...] = ()) -> Any:
    """Run the code after what all have in common, and give back what it prints as JSON."""
    ended = subprocess.run(
        [*around, sys.executable, "-c", _CHILD + code, str(inside)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_PATIENCE,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr.decode()
    return json.loads(ended.stdout)


def _memory(folder: Path) -> Path:
    path = folder / NAME
    put(path, LINES)
    path.chmod(0o600)
    return path


def _can(*command: str) -> bool:
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0


def test_a_file_that_may_not_grow_is_told_and_left_as_it_was(tmp_path: Path) -> None:
    memory = _memory(tmp_path)
    said, left, same_open = child(
        """
import resource
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
said = [attempt("create_entities", long)]
left = beside(folder)
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
said.append(attempt(*NEXT))
store.close()
print(json.dumps([said, left, descriptors() == before]))
""",
        tmp_path,
    )
    assert said[0].startswith("stored=False: ") and "nothing was changed" in said[0] and "raise the limit" in said[0]
    assert said[1] == "" and left == [NAME] and same_open
    assert memory.read_bytes() == applied(LINES, *NEXT)


def test_a_full_disk_is_told_and_served_again_once_there_is_room(tmp_path: Path) -> None:
    if not _can("unshare", "-m", "mount", "-t", "tmpfs", "-o", "size=64k", "none", str(tmp_path)):
        pytest.skip("no disk of one's own can be mounted here")
    said, left, kept, after = child(
        """
memory = folder / "memory.jsonl"
put(memory, LINES)
said = [attempt("create_entities", long)]
(folder / "filler").write_bytes(bytes(os.statvfs(folder).f_bavail * os.statvfs(folder).f_bsize))
said.append(attempt(*NEXT))
left, kept = beside(folder), memory.read_bytes() == LINES
(folder / "filler").unlink()
said.append(attempt(*NEXT))
store.close()
print(json.dumps([said, left, kept, beside(folder)]))
""",
        tmp_path,
        ("unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=64k none "$0" && exec "$@"', str(tmp_path)),
    )
    for text in said[:2]:
        assert text.startswith("stored=False: ") and "nothing was " in text.lower() and "Free some space" in text
    assert said[2] == "" and kept and left == ["filler", NAME] and after == [NAME]


_UNPRIVILEGED: Final = """
import _strptime, calendar  # that user may not be able to read them
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
print(json.dumps([attempt(*NEXT), beside(folder)]))
"""


@pytest.mark.parametrize(
    ("make", "says"),
    [
        pytest.param(lambda folder: folder.chmod(0o555), "permission denied", id="folder"),
        pytest.param(lambda folder: (folder.chmod(0o777), (folder / NAME).chmod(0o444)), "is read-only", id="file"),
        pytest.param(
            lambda folder: (folder.chmod(0o1777), (folder / NAME).chmod(0o666)),
            "sticky bit",
            id="sticky folder",
            marks=pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs a second user"),
        ),
    ],
)
def test_what_is_read_only_is_refused_and_left(make: Callable[[Path], object], says: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        memory = _memory(folder)
        memory.chmod(0o644)
        make(folder)
        try:
            said, left = child(_UNPRIVILEGED, folder)
        finally:
            folder.chmod(0o700)
        assert said.startswith("stored=False: ") and says in said.lower() and "nothing was" in said.lower()
        assert left == [NAME] and memory.read_bytes() == LINES


def test_a_file_mounted_by_itself_is_told_to_mount_its_folder(tmp_path: Path) -> None:
    memory = _memory(tmp_path)
    if not _can("unshare", "-m", "mount", "--bind", str(memory), str(memory)):
        pytest.skip("no file can be mounted here")
    said, left = child(
        "print(json.dumps([attempt(*NEXT), beside(folder)]))",
        tmp_path,
        ("unshare", "-m", "sh", "-c", 'mount --bind "$0" "$0" && exec "$@"', str(memory)),
    )
    assert said.startswith("stored=False: ") and "nothing was changed" in said and "mount its folder" in said
    assert left == [NAME] and memory.read_bytes() == LINES


_INITIALIZE: Final = (
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
    '"clientInfo":{"name":"test","version":"1"}}}\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
)
_READ: Final = '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_graph","arguments":{}}}\n'


def _limited(archive: Path, memory: Path, limit: str, said: str) -> subprocess.CompletedProcess[str]:
    """A server that a shell's `ulimit` has limited, given all its input at once."""
    command = ("sh", "-c", f'ulimit {limit} && exec "$@"', "sh", sys.executable, str(archive), "--file", str(memory))
    return subprocess.run(command, input=said, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.skipif(sys.platform != "linux", reason="how many descriptors a start needs is the platform's matter")
@pytest.mark.parametrize("descriptors", [6, 7, 8, 9])
def test_a_start_with_too_few_descriptors_ends_with_one_clear_line(
    archive: Path, tmp_path: Path, descriptors: int
) -> None:
    assert _limited(archive, tmp_path / NAME, "-n 64", _INITIALIZE).returncode == 0  # what it unpacks is there
    done = _limited(archive, tmp_path / NAME, f"-n {descriptors}", _INITIALIZE)
    lines = done.stderr.splitlines()
    assert done.returncode == 1 and done.stdout == ""
    assert lines[-1] == (
        "memory-server: cannot serve: too many files are open. Raise this process's limit of open files (ulimit -n), "
        "then try again."
    )
    assert all(line.startswith("memory-server: ") for line in lines) and len(lines) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the limit says nothing of the stacks of threads")
@pytest.mark.parametrize("kibibytes", [96, 128])  # at 64 no CPython starts: `python -c pass` ends in the same way
def test_deep_json_in_a_file_is_kept_also_where_stacks_are_small(archive: Path, tmp_path: Path, kibibytes: int) -> None:
    memory = tmp_path / NAME
    deep = b'{"type":"entity","name":"Deep","entityType":"t","observations":' + b"[" * 900 + b"]" * 900 + b"}\n"
    put(memory, deep + LINES)
    done = _limited(archive, memory, f"-s {kibibytes}", _INITIALIZE + _READ)
    assert done.returncode == 0, done.stderr
    assert '"id":2' in done.stdout and "Ada" in done.stdout


@pytest.mark.parametrize("length", [219, 235, 250])
def test_a_name_that_leaves_no_room_for_the_files_beside_it_is_told_as_too_long(tmp_path: Path, length: int) -> None:
    memory = tmp_path / ("m" * length)
    put(memory, LINES)
    store = Store(str(memory), print)
    error = change(store, *NEXT).exception(_PATIENCE)
    store.close(0)
    assert "the name is too long. Choose a shorter name" in str(error) and "othing was" in str(error)
    assert memory.read_bytes() == LINES and os.listdir(tmp_path) == [memory.name]
