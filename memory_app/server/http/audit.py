"""The audit log: who did what, one JSON object a line, appended to a file of mode 0600.

It holds the time, the request's id, the token's name, the memory, the method, the tool, how many items the call named,
the status, and the milliseconds. Never a name, an observation or a token. A line that cannot be written is lost, which
is reported once until one is written again; the call it is about is not. After a rotation (the file was moved away) the
next line begins a new file.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
from collections.abc import Callable
from typing import Any, Final

from memory_app.disk import calls
from memory_app.errors import UsageError
from memory_app.tools.table import LISTED, TOOLS

_COUNTED: Final = frozenset(key for tool in LISTED for key in tool["inputSchema"].get("properties", {}))


class Audit:
    """`path` None: nothing is logged. UsageError if the file cannot be written."""

    def __init__(self, path: str | None, report: Callable[[str], None]) -> None:
        self._path = path
        self._report = report
        self._fd = -1
        self._is_failing = False
        if path is not None:
            try:
                self._open()
            except OSError as error:
                raise UsageError(f"--audit-log {path} cannot be written: {error.strerror}.") from None

    def tell(
        self, *, request: str, token: str, memory: str, method: str, tool: str | None, arguments: Any, status: int,
        failed: bool, milliseconds: float,
    ) -> None:  # fmt: skip
        """Append one line."""
        if self._path is None:
            return
        line: dict[str, Any] = {
            "time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds"),
            "request": request,
            "token": token or None,
            "memory": memory or None,
            "method": method,
        }
        if method == "tools/call":
            line["tool"] = tool if tool in TOOLS else None
            line["items"] = counts(arguments)
        line |= {"status": status, "ok": not failed, "ms": round(milliseconds)}
        begun = b"\n" if self._is_failing else b""  # a part of the line before may have been written
        try:
            self._open()
            calls.write_all(self._fd, (begun + json.dumps(line, separators=(",", ":")).encode() + b"\n",))
        except OSError as error:
            if not self._is_failing:
                self._report(
                    f"the audit log {self._path} cannot be written: {error.strerror}. Calls are served meanwhile"
                )
            self._is_failing = True
        else:
            self._is_failing = False

    def close(self) -> None:
        if self._fd >= 0:
            calls.close_if_possible(self._fd)
            self._fd = -1

    def _open(self) -> None:
        assert self._path is not None
        if self._fd >= 0:
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.stat(self._path), os.fstat(self._fd)):
                    return
            self.close()
        self._fd = calls.open_to_append(self._path, 0o600)


def counts(arguments: Any) -> dict[str, int]:
    """How many items each argument of a tool names, by argument."""
    if not isinstance(arguments, dict):
        return {}
    return {key: len(value) for key, value in arguments.items() if key in _COUNTED and isinstance(value, list)}
