"""The image's start with less than all of root's capabilities, as containers are hardened: it always serves.

`setpriv` takes the capabilities away, as `docker run --cap-drop` does; what is started prints who it is and whether the
memory can be written.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from build import inputs

ENTRY: Final = inputs.ROOT / "build" / "image" / "entry.py"
PYTHON: Final = "/usr/bin/python3"  # every user can run it
OTHER: Final = 1234

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs Linux and root"),
    pytest.mark.skipif(shutil.which("setpriv") is None or not os.path.exists(PYTHON), reason="needs setpriv"),
]

_SERVER: Final = """
import json, os
memory = os.environ["MEMORY_SERVER_HOME"] + "/memory.jsonl"
try:
    open(memory, "r+").close()
    open(memory + ".lock", "x").close()
    works = True
except OSError:
    works = False
print(json.dumps({"user": os.getuid(), "group": os.getgid(), "groups": os.getgroups(), "works": works}))
"""


@pytest.fixture
def volume() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        volume = Path(folder, "volume")
        volume.mkdir(0o755)
        (volume / "memory.jsonl").write_text("")
        (volume / "memory.jsonl").chmod(0o600)
        yield volume


def _start(volume: Path, *dropped: str, user: int = 0) -> tuple[dict[str, Any], str]:
    """What was started, and what was said on stderr."""
    server = volume.parent / "server.py"
    server.write_text(_SERVER)
    code = (
        f"import runpy; entry = runpy.run_path({str(volume.parent / 'entry.py')!r});"
        f"entry['main'].__globals__['ARCHIVE'] = {str(server)!r}; entry['main']([])"
    )
    shutil.copy(ENTRY, volume.parent / "entry.py")
    bounds = ["--bounding-set", ",".join(f"-{name}" for name in dropped)] if dropped else []
    users = ["--reuid", str(user), "--regid", str(user), "--clear-groups"] if user else []
    done = subprocess.run(
        ["setpriv", *bounds, *users, PYTHON, "-c", code],
        env={"PATH": os.environ["PATH"], "MEMORY_SERVER_HOME": str(volume)},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.mark.parametrize(
    ("dropped", "user"),
    [
        pytest.param([], 65532, id="none"),
        pytest.param(["all"], 0, id="all"),
        pytest.param(["chown"], 0, id="CHOWN"),
        pytest.param(["setuid"], 0, id="SETUID"),
        pytest.param(["setgid"], 0, id="SETGID"),
        pytest.param(["dac_override", "fowner", "dac_read_search"], 65532, id="DAC_OVERRIDE"),
    ],
)
def test_roots_folder_works_whatever_is_dropped(volume: Path, dropped: list[str], user: int) -> None:
    started, said = _start(volume, *dropped)
    assert (started["user"], started["works"], said) == (user, True, "")
    assert volume.stat().st_uid == user
    if user:
        assert (started["group"], started["groups"]) == (user, [])


@pytest.mark.parametrize("dropped", [["chown"], ["dac_override", "dac_read_search"]], ids=["CHOWN", "DAC_OVERRIDE"])
def test_a_folder_of_somebodys_own_works_whatever_is_dropped(volume: Path, dropped: list[str]) -> None:
    for path in (volume, volume / "memory.jsonl"):
        os.chown(path, OTHER, OTHER)
    volume.chmod(0o700)
    assert _start(volume, *dropped)[0] == {"user": OTHER, "group": OTHER, "groups": [], "works": True}


def test_what_an_earlier_start_handed_over_works_without_capabilities_as_that_user(volume: Path) -> None:
    """And says so, where it was started as root."""
    _start(volume)
    (volume / "memory.jsonl.lock").unlink()
    volume.chmod(0o700)
    said = _start(volume, "all")[1]
    assert said.count("\n") == 1
    assert "start it with --user 65532" in said
    assert _start(volume, "all", user=65532)[0]["works"]


def test_another_user_is_left_alone(volume: Path) -> None:
    started, said = _start(volume, user=OTHER)
    assert (started["user"], started["works"], said) == (OTHER, False, "")
    assert volume.stat().st_uid == 0


def test_the_side_files_and_the_history_are_handed_over_and_nothing_else(volume: Path) -> None:
    history = volume / "memory.jsonl.history"
    other = volume / "memory-2.jsonl.history"
    for folder in (history, volume / "other.history"):
        folder.mkdir()
    ours = ["memory.jsonl.20260101T000000Z.replaced", "memory.jsonl.20260101T000000Z.bak"]
    ours += [
        f"{history.name}/{name}"
        for name in (".gitignore", "20260101T000000.123Z.jsonl", "20260101T000000.124Z.undo.jsonl")
    ]
    others = [f"{history.name}/note.txt", "other.history/20260101T000000.123Z.jsonl"]
    for name in ours + others:
        (volume / name).write_text("")
    other.symlink_to("other.history")
    _start(volume)
    owners = {name: (volume / name).lstat().st_uid for name in [*ours, *others, history.name, "other.history"]}
    assert {name for name, owner in owners.items() if owner} == {*ours, history.name}
