"""Runs the program as people do: as a process, from the archive if MEMORY_SERVER_PYZ names one, else from source."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.placing import put

ROOT: Final = Path(__file__).resolve().parents[2]
PATIENCE: Final = 60.0  # seconds; a busy machine starts a process in two


class Result(NamedTuple):
    status: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


def command() -> list[str]:
    """The program's command line. An archive is under test where MEMORY_SERVER_PYZ is set."""
    archive = os.environ.get("MEMORY_SERVER_PYZ")
    return [sys.executable, archive] if archive else [sys.executable, "-m", "memory_app"]


def environment(home: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """A bare environment whose home is `home`."""
    kept = ("PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "MEMORY_SERVER_CACHE")
    base = {name: os.environ[name] for name in kept if name in os.environ}
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    homes = {"HOME": str(home), "USERPROFILE": str(home), "XDG_CACHE_HOME": cache, "PYTHONPATH": str(ROOT)}
    return base | homes | {"COLUMNS": "100"} | dict(more or {})


def run(
    *arguments: str | Path,
    home: Path,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    cwd: Path | None = None,
) -> Result:
    """Run the program to its end. Its output has to be UTF-8."""
    done = subprocess.run(
        [*command(), *map(str, arguments)],
        input=stdin,
        capture_output=True,
        env=environment(home, env),
        cwd=cwd or home,
        timeout=PATIENCE,
        check=False,
    )
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def entity(name: str, kind: str = "person", observations: Sequence[object] = (), **more: object) -> str:
    """A line of a memory file."""
    record = {"type": "entity", "name": name, "entityType": kind, "observations": list(observations), **more}
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def relation(source: str, target: str, kind: str, **more: object) -> str:
    record = {"type": "relation", "from": source, "to": target, "relationType": kind, **more}
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def write(path: Path, *lines: str) -> Path:
    put(path, "".join(line + "\n" for line in lines))
    return path
