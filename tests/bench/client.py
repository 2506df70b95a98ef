"""A client that adds next to nothing to what it measures: blocking pipes, one system call for a request, no threads.

Every answer is checked after its time was taken: an error is no measurement.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from typing_extensions import Self

_PATIENCE: Final = 300.0  # seconds for one answer: the slowest write of a large graph takes a few
_PIECE: Final = 1 << 20  # bytes a read takes at most
_BETWEEN_PINGS: Final = 0.005  # seconds: one after the other would be work of its own
_HELLO: Final = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


class Server(NamedTuple):
    """A program that is measured: what it is called, its version, how it is started."""

    name: str
    version: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = {}


class Client:
    """One server process on one memory file; `started` is the time from its start to its first answer."""

    def __init__(self, server: Server, memory: Path) -> None:
        began = time.perf_counter()
        self.process = subprocess.Popen(
            server.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env=_environment(server, memory),
            cwd=memory.parent,
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self._stdin = self.process.stdin.fileno()
        self.stdout = self.process.stdout.fileno()
        self._rest = b""
        self._next_id = 0
        self.updates = 0  # notifications of a change that have come
        self.finish(self.send("initialize", _HELLO))
        self.started = time.perf_counter() - began
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, method: str, params: Mapping[str, Any]) -> int:
        """Send a request without waiting for its answer."""
        self._next_id += 1
        self._write({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params})
        return self._next_id

    def send_calls(self, tool: str, many: Sequence[Mapping[str, Any]]) -> list[int]:
        """Send calls of a tool in one piece, without waiting for their answers."""
        ids = [self._next_id + number for number in range(1, len(many) + 1)]
        self._next_id += len(many)
        self._write(*(_call(id, tool, arguments) for id, arguments in zip(ids, many, strict=True)))
        return ids

    def pipeline(self, tool: str, many: Sequence[Mapping[str, Any]]) -> None:
        """Send calls of a tool without a pause, and read their answers meanwhile, however many they are."""
        first = self._next_id + 1
        sender = threading.Thread(target=self.send_calls, args=(tool, many))
        sender.start()
        self.finish(*range(first, first + len(many)))
        sender.join(_PATIENCE)

    def timed(self, tool: str, arguments: Mapping[str, Any]) -> float:
        """Call a tool and wait for its answer; the seconds from the request's first byte to the answer's last."""
        self._next_id += 1
        line = json.dumps(_call(self._next_id, tool, arguments)).encode()
        began = time.perf_counter()
        os.write(self._stdin, line + b"\n")
        answer = self.line()
        took = time.perf_counter() - began
        _check(json.loads(answer), self._next_id)
        return took

    def finish(self, *requests: int) -> Mapping[str, Any]:
        """The last of these requests' results, in whatever order they come; notifications between them are counted."""
        waiting = set(requests)
        while True:
            message = json.loads(self.line())
            if "id" in message:
                result = _check(message, message["id"])
                waiting.remove(message["id"])
                if not waiting:
                    return result
            self.updates += message.get("method") == "notifications/resources/updated"

    def line(self) -> bytes:
        """The next line of the server."""
        pieces = [self._rest]
        while b"\n" not in pieces[-1]:
            if not select.select([self.stdout], [], [], _PATIENCE)[0]:
                raise TimeoutError(f"no answer within {_PATIENCE:.0f} s")
            piece = os.read(self.stdout, _PIECE)
            if not piece:
                raise EOFError(f"the server has ended with status {self.process.wait()}")
            pieces.append(piece)
        last, self._rest = pieces[-1].split(b"\n", 1)
        return b"".join([*pieces[:-1], last])

    def longest_ping(self, tool: str, arguments: Mapping[str, Any]) -> float:
        """Seconds that the slowest ping took while the call was worked on.

        A ping that waits behind the call's own answer in the pipe counts from the end of that answer.
        """
        work = self.send("tools/call", {"name": tool, "arguments": arguments})
        longest, working = 0.0, True
        while working:
            began = time.perf_counter()
            ping = self.send("ping", {})
            answered = 0
            while answered != ping:
                line = self.line()
                answered = json.loads(line).get("id", 0) if len(line) < _PIECE else work
                if answered == work:
                    working = False
                    began = max(began, time.perf_counter())
            longest = max(longest, time.perf_counter() - began)
            time.sleep(_BETWEEN_PINGS)
        return longest

    def memory(self, figure: str = "VmRSS") -> int:
        """The memory of the process in bytes, or another figure of its status. Linux only."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split(f"{figure}:")[1].split()[0]) << 10

    def peak(self) -> int:
        """The most memory that the process has had so far, in bytes. Linux only."""
        return self.memory("VmHWM")

    def _write(self, *messages: Mapping[str, Any]) -> None:
        data = memoryview(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
        while data:
            data = data[os.write(self._stdin, data) :]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self.process.wait(_PATIENCE if kind is None else 1)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _environment(server: Server, memory: Path) -> dict[str, str]:
    """What a server gets from a user's client: compiled modules are kept, nothing of ours decides but the file."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORY_", "PYTHON"))}
    return kept | dict(server.environment) | {"MEMORY_FILE_PATH": str(memory)}


def _call(request_id: int, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}


def _check(message: Mapping[str, Any], request_id: int) -> Mapping[str, Any]:
    result: Mapping[str, Any] | None = message.get("result")
    if message.get("id") != request_id or result is None or result.get("isError"):
        raise AssertionError(f"not the answer to request {request_id}: {str(message)[:300]}")
    return result
