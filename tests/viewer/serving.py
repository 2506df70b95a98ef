"""`view` as a person runs it: a real process in a terminal of its own, whose page real browsers open."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs, urlsplit

ROOT: Final = Path(__file__).resolve().parent.parent.parent
PATIENCE: Final = 60.0


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Served:
    """`address` is the one that was printed, with its fragment."""

    def __init__(self, process: subprocess.Popen[bytes], address: str) -> None:
        self.process = process
        self.address = address
        parts = urlsplit(address)
        self.host = parts.netloc
        self.token = parse_qs(parts.fragment)["token"][0]

    def ask(self, path: str, *, method: str = "GET", body: object = None, **headers: str | None) -> Answer:
        """One request, with the token unless `headers` say otherwise; None leaves a header out."""
        given: dict[str, str | None] = {"host": self.host, "authorization": f"Bearer {self.token}"}
        if body is not None:
            given["content-type"] = "application/json"
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection = http.client.HTTPConnection(self.host, timeout=PATIENCE)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                if value is not None:
                    connection.putheader(name, value)
            if data is not None:
                connection.putheader("content-length", str(len(data)))
            connection.endheaders(data)
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def edit(self, **edit: object) -> Answer:
        return self.ask("/edit?memory=memory.jsonl", method="POST", body=edit)

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)


@contextlib.contextmanager
def serving(memory: Path, *options: str) -> Iterator[Served]:
    """Run `view --no-open` for a memory file and wait for its address."""
    with running(view_command("--file", str(memory), *options)) as served:
        yield served


def view_command(*options: str) -> list[str]:
    return [sys.executable, "-m", "memory_app", "view", "--no-open", *options]


@contextlib.contextmanager
def running(command: list[str], env: Mapping[str, str] | None = None) -> Iterator[Served]:
    """Run a program in a terminal of its own and wait for the address that it prints."""
    ours, theirs = os.openpty()
    environ = {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE, env=environ)
    os.close(theirs)
    try:
        yield Served(process, _line(ours))
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE)
        assert process.stderr is not None
        process.stderr.close()
        os.close(ours)


def _line(terminal: int) -> str:
    text, end = b"", time.monotonic() + PATIENCE
    while not text.endswith(b"\n"):
        if not select.select([terminal], [], [], max(0.0, end - time.monotonic()))[0]:
            raise TimeoutError(f"no address; so far: {text!r}")
        text += os.read(terminal, 4096)
    return text.decode().strip()
