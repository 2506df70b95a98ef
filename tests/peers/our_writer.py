"""A writer that has only our lock and our disk: appends entities NAME-0, NAME-1, ... to FILE, one save each.

python -m tests.peers.our_writer FILE COUNT NAME
"""

from __future__ import annotations

import json
import os
import sys
import time

from memory_app.disk import calls
from memory_app.lock.lock import WAIT, Lock


def append(lock: Lock, path: str, name: str) -> None:
    """Read, add a line, save; from the start if the lock was lost before the rename."""
    while True:
        lock.acquire(time.monotonic() + WAIT)
        try:
            temporary = _prepare(path, name)
            if lock.held():
                calls.replace(temporary, path)
                return
            calls.remove(temporary)
        finally:
            lock.release()


def _prepare(path: str, name: str) -> str:
    line = {"type": "entity", "name": name, "entityType": "test", "observations": []}
    temporary = f"{path}.{os.urandom(16).hex()}.tmp"
    fd = calls.create(temporary)
    calls.write_all(fd, [_read(path), json.dumps(line).encode(), b"\n"])
    calls.sync(fd)
    calls.close(fd)
    return temporary


def _read(path: str) -> bytes:
    try:
        fd = calls.open_regular(path)
    except FileNotFoundError:
        return b""
    try:
        return calls.read_all(fd)
    finally:
        calls.close(fd)


def main(path: str, count: str, name: str) -> None:
    lock = Lock(path)
    for number in range(int(count)):
        append(lock, path, f"{name}-{number}")
    print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
