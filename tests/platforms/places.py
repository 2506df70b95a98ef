"""A place: an interpreter somewhere, how to start it, and what its programs call the files that we see here."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.driver import Driver

_CARRIED: Final = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "SYSTEMROOT")


class Place(NamedTuple):
    """One row of the table. `folder` is where the suite keeps every file, `inside` what a path is called in there."""

    platform: str
    interpreter: str
    command: tuple[str, ...]
    environ: Mapping[str, str]
    archive: Path
    folder: Path
    caches: tuple[Path, ...]  # where a first start unpacks
    inside: Callable[[Path], str] = str
    patience: float = 60.0  # seconds for any answer

    def argv(self, *arguments: str) -> list[str]:
        """The command that runs the archive."""
        return [*self.command, self.inside(self.archive), *arguments]

    def serve(self, folder: Path, *arguments: str, env: Mapping[str, str] | None = None, **options: Any) -> Driver:
        """A server whose memory is `memory.jsonl` in that folder, unless `env` or the arguments say otherwise."""
        given = {"MEMORY_FILE_PATH": self.inside(folder / "memory.jsonl")} if env is None else env
        environ = {**self.environ, **given}
        return Driver(self.argv(*arguments), env=environ, cwd=folder, patience=self.patience, **options)

    def run(self, folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        """A command of the program, to its end."""
        return subprocess.run(
            self.argv(*arguments),
            env=dict(self.environ),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=self.patience * 2,
            check=False,
        )

    def forget(self) -> None:
        """Remove what was unpacked, so that the next start is a first one."""
        for cache in self.caches:
            shutil.rmtree(cache, ignore_errors=True)


def clean(**more: str) -> dict[str, str]:
    """An environment with nothing of this machine's user."""
    return {name: os.environ[name] for name in _CARRIED if name in os.environ} | more
