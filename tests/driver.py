"""A raw-wire client: starts a server as a process and speaks MCP over its real pipes, byte for byte.

It hides nothing that a client library hides: broken lines, order, cancellation, end of input, signals. Rules: every
wait is bounded (`TimeoutError` names what was waited for and shows the server's stderr), the process is always killed
at the end, and whatever the server prints on stdout has to be one JSON object a line, ended by exactly one `\\n`.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, cast

if TYPE_CHECKING:
    from typing_extensions import Self

Message = dict[str, Any]
Era = Literal["2025", "2026"]

PATIENCE: Final = 20.0  # seconds; a busy two-core machine needs far less, a hang is still found soon
_PING: Final = "the driver's ping"
VERSIONS: Final[Mapping[Era, str]] = {"2025": "2025-06-18", "2026": "2026-07-28"}
ENVELOPE: Final[Mapping[str, Any]] = {
    "io.modelcontextprotocol/protocolVersion": VERSIONS["2026"],
    "io.modelcontextprotocol/clientInfo": {"name": "driver", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class WireError(Exception):
    """The server answered a request with a JSON-RPC error: `.error` is that object."""

    def __init__(self, error: Message) -> None:
        super().__init__(json.dumps(error))
        self.error = error


class Driver:
    """One server process and its pipes. `era` decides how `request` dresses its params and how `open` begins.

    `paused` starts with nobody reading the server's stdout, until `resume()`.
    """

    def __init__(
        self,
        argv: Sequence[str | os.PathLike[str]],
        *,
        era: Era = "2025",
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        paused: bool = False,
        patience: float = PATIENCE,
        stdin: int = subprocess.PIPE,
        creationflags: int = 0,
    ) -> None:
        self.era: Era = era
        self.patience = patience
        self.notifications: list[Message] = []
        self.messages: list[Message] = []  # everything received, in order
        self._answers: deque[Message] = deque()  # received, not yet asked for
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._unsent = threading.Semaphore(0)
        self._stderr: list[bytes] = []
        self._reading = threading.Event()
        self.pings: list[float] = []  # seconds that each waited for its answer, see `keep_pinging`
        self._ping_sent: float | None = None
        self._next_id = 0
        self.process = subprocess.Popen(
            [os.fspath(part) for part in argv],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=None if env is None else dict(env),
            cwd=cwd,
            creationflags=creationflags,
        )
        if not paused:
            self._reading.set()
        self._threads = [
            threading.Thread(target=work, daemon=True) for work in (self._read_stdout, self._read_stderr, self._write)
        ]
        for thread in self._threads:
            thread.start()

    # -- the pipes ---------------------------------------------------------------------------------------------------

    def _read_stdout(self) -> None:
        self._reading.wait()
        if self.process.stdout is None or self.process.stdout.closed:
            return
        pending: list[bytes] = []
        while piece := self.process.stdout.read(1 << 20):
            *ended, rest = piece.split(b"\n")
            for end in ended:
                line = b"".join([*pending, end, b"\n"])
                pending.clear()
                if self._ping_sent is None or not self._is_pong(line):
                    self._lines.put(line)
            if rest:
                pending.append(rest)
        if pending:
            self._lines.put(b"".join(pending))  # an unfinished line: `receive` complains
        self._lines.put(b"")

    def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        while piece := self.process.stderr.read(1 << 16):
            self._stderr.append(piece)

    def _write(self) -> None:
        stdin = self.process.stdin
        while stdin is not None and (data := self._outgoing.get()) is not None:
            try:
                view = memoryview(data)
                while view:
                    view = view[stdin.write(view) :]
            except OSError:
                pass  # the server closed its stdin or is gone: what the test sees is the missing answer
            self._unsent.release()
        if stdin is not None:
            try:
                stdin.close()
            except OSError:
                pass

    def send_bytes(self, data: bytes) -> None:
        """Queue these bytes for the server's stdin; never blocks."""
        self._outgoing.put(data)

    def send(self, message: object) -> None:
        """Queue one line: the JSON of `message`."""
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def flush(self, count: int = 1) -> None:
        """Wait until `count` more queued pieces were taken by the server (for a server that might stop reading)."""
        for _ in range(count):
            if not self._unsent.acquire(timeout=self.patience):
                raise self._late("the server to take its input")

    def resume(self) -> None:
        """Begin to read the server's stdout."""
        self._reading.set()

    def close_stdin(self) -> None:
        """End the server's input, after everything that is queued."""
        self._outgoing.put(None)

    def close_stdout(self) -> None:
        """Close our end of the server's stdout. Only with `paused=True`, when no thread reads it."""
        assert self.process.stdout is not None
        self.process.stdout.close()

    # -- what comes back ---------------------------------------------------------------------------------------------

    def receive_line(self, timeout: float | None = None) -> bytes:
        """The next line as it came, with its line end; b"" at the end of stdout."""
        try:
            return self._lines.get(timeout=self.patience if timeout is None else timeout)
        except queue.Empty:
            raise self._late("a line") from None

    def receive(self, timeout: float | None = None) -> Message | None:
        """The next message; None at the end of stdout."""
        line = self.receive_line(timeout)
        if line == b"":
            self._lines.put(b"")
            return None
        if not line.endswith(b"\n") or line.endswith(b"\r\n"):
            raise AssertionError(f"stdout line without a plain newline: {line[-80:]!r}")
        message = json.loads(line)
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            raise AssertionError(f"not a JSON-RPC message on stdout: {line[:200]!r}")
        self.messages.append(message)
        if "id" not in message:
            self.notifications.append(message)
        return message

    def _until(self, what: str, wanted: Callable[[Message], bool]) -> Message:
        end = time.monotonic() + self.patience
        while (left := end - time.monotonic()) > 0:
            message = self.receive(left)
            if message is None:
                raise AssertionError(f"stdout ended before {what}; stderr: {self.stderr}")
            if wanted(message):
                return message
            if "id" in message:
                self._answers.append(message)
        raise self._late(what)

    def answer(self, request_id: object) -> Message:
        """The response to `request_id`, whole; others that come first are kept for later."""
        for message in self._answers:
            if message["id"] == request_id and type(message["id"]) is type(request_id):
                self._answers.remove(message)
                return message
        return self._until(f"the answer to {request_id!r}", lambda m: "id" in m and m["id"] == request_id)

    def notification(self, method: str, count: int = 1) -> Message:
        """The `count`th notification of this method since the start, waiting for it if need be."""

        def found() -> list[Message]:
            return [m for m in self.notifications if m["method"] == method]

        while len(found()) < count:
            self._until(f"notification {count} of {method}", lambda m: m.get("method") == method)
        return found()[count - 1]

    def drain(self) -> list[Message]:
        """All messages up to the end of stdout that were not asked for yet, notifications included."""
        rest = list(self._answers)
        self._answers.clear()
        while (message := self.receive()) is not None:
            rest.append(message)
        return rest

    # -- MCP ---------------------------------------------------------------------------------------------------------

    def params(self, params: Mapping[str, Any] | None = None) -> Message:
        """`params` as this era has them: with the envelope at 2026."""
        return {**(params or {}), "_meta": dict(ENVELOPE)} if self.era == "2026" else dict(params or {})

    def start(self, method: str, params: Mapping[str, Any] | None = None, request_id: object = None) -> Any:
        """Send a request without waiting; its id comes back."""
        if request_id is None:
            self._next_id += 1
            request_id = self._next_id
        self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": self.params(params)})
        return request_id

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> Message:
        """Send a request and return its result object; `WireError` for an error."""
        message = self.answer(self.start(method, params))
        if "error" in message:
            raise WireError(message["error"])
        return cast(Message, message["result"])

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": dict(params or {})})

    def open(self) -> Message:
        """Begin as the era does: the handshake (2025) or `server/discover` (2026). Returns that result."""
        if self.era == "2026":
            return self.request("server/discover")
        hello = {
            "protocolVersion": VERSIONS["2025"],
            "capabilities": {},
            "clientInfo": {"name": "driver", "version": "1"},
        }
        result = self.request("initialize", hello)
        self.notify("notifications/initialized")
        return result

    def start_call(self, tool: str, arguments: object = None, request_id: object = None) -> Any:
        """Send a tools/call without waiting; its id comes back."""
        params = {"name": tool} if arguments is None else {"name": tool, "arguments": arguments}
        return self.start("tools/call", params, request_id)

    def call(self, tool: str, arguments: object = None) -> Message:
        """Call a tool; the whole result object (also one with isError). At 2026 the serverInfo stamp is left out."""
        message = self.answer(self.start_call(tool, arguments))
        if "error" in message:
            raise WireError(message["error"])
        result = cast(Message, message["result"])
        result.pop("_meta", None)
        return result

    def subscribe(self, uri: str) -> Any:
        """Ask for updates of `uri` as the era does and wait for the acknowledgement; the request's id."""
        if self.era == "2025":
            self.request("resources/subscribe", {"uri": uri})
            return None
        before = sum(m["method"] == "notifications/subscriptions/acknowledged" for m in self.notifications)
        request_id = self.start("subscriptions/listen", {"notifications": {"resourceSubscriptions": [uri]}})
        self.notification("notifications/subscriptions/acknowledged", before + 1)
        return request_id

    def keep_pinging(self, every: float = 0.05) -> None:
        """From now on ping the server beside everything else, this many seconds after each answer; see `pings`."""

        def go_on() -> None:
            while self.process.poll() is None:
                if self._ping_sent is None:
                    self._ping_sent = time.monotonic()
                    self.send({"jsonrpc": "2.0", "id": _PING, "method": "ping"})
                time.sleep(every)  # the distance itself: nothing is waited for

        threading.Thread(target=go_on, daemon=True).start()

    def _is_pong(self, line: bytes) -> bool:
        if len(line) > 200 or _PING.encode() not in line or json.loads(line).get("id") != _PING:
            return False
        assert self._ping_sent is not None
        self.pings.append(time.monotonic() - self._ping_sent)
        self._ping_sent = None
        return True

    # -- the process -------------------------------------------------------------------------------------------------

    @property
    def stderr(self) -> str:
        """What the server has said on stderr so far."""
        return b"".join(self._stderr).decode("utf-8", "replace")

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def wait(self, timeout: float | None = None) -> int:
        """The exit status; `TimeoutError` if the process does not end. Afterwards `stderr` is complete."""
        try:
            status = self.process.wait(self.patience if timeout is None else timeout)
        except subprocess.TimeoutExpired:
            raise self._late("the process to end") from None
        self._threads[1].join(self.patience)
        return status

    def finish(self) -> int:
        """End the input, wait for the end, return the exit status."""
        self.close_stdin()
        return self.wait()

    def kill(self) -> None:
        """SIGKILL, now. Harmless when it has ended."""
        if self.process.poll() is None:
            self.process.kill()
        self._reading.set()
        self._outgoing.put(None)
        self.process.wait(self.patience)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        for thread in self._threads:
            thread.join(self.patience)
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None and not pipe.closed:
                pipe.close()

    def _late(self, what: str) -> TimeoutError:
        return TimeoutError(f"waited {self.patience} s for {what}; stderr: {self.stderr}")


def serve(archive: Path, folder: Path, *arguments: str, env: Mapping[str, str] | None = None, **options: Any) -> Driver:
    """The archive under test, serving `memory.jsonl` in `folder`, with no other setting of this machine's user."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORY_", "PYTHONPATH"))}
    clean["MEMORY_FILE_PATH"] = str(folder / "memory.jsonl")
    return Driver([sys.executable, archive, *arguments], env={**clean, **(env or {})}, cwd=folder, **options)
