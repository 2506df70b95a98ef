"""A server process over HTTP: started at a free port, and always ended."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[3]
PATIENCE: Final = 30.0  # seconds; a busy machine starts a server in two
TOKEN: Final = "a-token-that-is-only-for-tests-0123456789"
SOURCE: Final = (sys.executable, "-m", "tests.lean")  # without the packages that the archive leaves out


class Serving:
    """`port` is where it serves; `stderr` what it has said so far."""

    def __init__(self, process: subprocess.Popen[bytes], memory: Path) -> None:
        self.process = process
        self.memory = memory
        self.port = 0
        self._said: list[bytes] = []
        self._news = threading.Condition()
        self._over = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    @property
    def stderr(self) -> str:
        return b"".join(self._said).decode()

    @property
    def said(self) -> list[str]:
        """The lines on stderr, without the one about other users, which depends on the machine."""
        return [line for line in self.stderr.splitlines() if "every user of this machine" not in line]

    def wait_until_up(self) -> None:
        self.wait_until_said("serving at ")
        found = re.search(r"serving at http://\S+:(\d+)/", self.stderr)
        self.port = int(found[1]) if found is not None else 0  # a Unix socket has none

    def wait_until_said(self, text: str) -> None:
        """Wait until a whole line with the text is on stderr."""
        with self._news:
            self._news.wait_for(lambda: self._over or text in self.stderr, PATIENCE)
        assert text in self.stderr, f"it never said {text!r}, but: {self.stderr}"

    def ended(self, timeout: float = PATIENCE) -> int:
        """Wait for its end: the exit status. Then `stderr` is complete."""
        status = self.process.wait(timeout)
        self._reader.join(timeout)
        return status

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._news:
                self._said.append(line)
                self._news.notify_all()
        with self._news:
            self._over = True
            self._news.notify_all()


@contextlib.contextmanager
def serving(
    folder: Path,
    *options: str,
    env: Mapping[str, str] | None = None,
    program: Sequence[str | Path] = SOURCE,
    at: str = "0",
    **more: Any,
) -> Iterator[Serving]:
    """`serve --http 0` (or `at`) with these options, on `memory.jsonl` in the folder. `more` is for Popen."""
    memory = folder / "memory.jsonl"
    with subprocess.Popen(
        [*map(str, program), "serve", "--http", at, *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment(memory, env),
        cwd=ROOT,
        **more,
    ) as process:
        server = Serving(process, memory)
        try:
            server.wait_until_up()
            yield server
        finally:
            process.kill()


def environment(memory: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """This one, without what would choose another memory or a token."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMORY_")}
    if "MEMORY_SERVER_CACHE" in os.environ:
        kept["MEMORY_SERVER_CACHE"] = os.environ["MEMORY_SERVER_CACHE"]
    data = {"XDG_DATA_HOME": str(memory.parent / "data"), "LOCALAPPDATA": str(memory.parent / "data")}
    return kept | data | {"MEMORY_FILE_PATH": str(memory), "PYTHONPATH": str(ROOT)} | dict(more or {})
