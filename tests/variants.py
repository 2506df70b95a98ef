"""What the tests of a serving process share: variants of the program, its lock held by us, what its file holds.

A variant is the source with one thing replaced before it starts: a save that waits for a sign, no way to watch pipes.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.driver import Driver, Message

ROOT = Path(__file__).resolve().parent.parent
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
ERAS = pytest.mark.parametrize("era", ["2025", "2026"])
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals and descriptors of POSIX")
SIGNALS = pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])


def entity(name: str) -> Message:
    return {"entities": [{"name": name, "entityType": "thing", "observations": []}]}


def variant(folder: Path, change: str, **options: Any) -> Driver:
    """The program from its source, after `change` has run."""
    code = f"import sys\nsys.argv[1:] = []\n{change}\nfrom memory_app.cli import main\nsys.exit(main())"
    env = {name: value for name, value in os.environ.items() if not name.startswith("MEMORY_")}
    env |= {"MEMORY_FILE_PATH": str(folder / "memory.jsonl"), "PYTHONPATH": str(ROOT)}
    return Driver([sys.executable, "-c", code], env=env, cwd=folder, **options)


def hold_lock(folder: Path) -> Path:
    """The lock, held by this process as the npm server writes it."""
    lock = folder / "memory.jsonl.lock"
    lock.write_text(json.dumps({"pid": os.getpid(), "hostname": socket.gethostname(), "token": "0" * 32}))
    return lock


def names(folder: Path) -> list[str]:
    file = folder / "memory.jsonl"
    return [json.loads(line)["name"] for line in file.read_text().splitlines()] if file.exists() else []


def until_exists(path: Path) -> None:
    end = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < end, f"{path} did not appear"
        time.sleep(0.005)


SLOW_SAVE = """
import os, time
from memory_app.disk import calls as disk
replace = disk.replace
def slow(source, target):
    open("started", "w").close()
    while not os.path.exists("go"):
        time.sleep(0.005)
    replace(source, target)
disk.replace = slow
"""

THREADS = """
import asyncio, select
from asyncio import selector_events, unix_events
def refuse(*_):
    raise NotImplementedError
selector_events.BaseSelectorEventLoop.add_reader = refuse
unix_events._UnixSelectorEventLoop.add_signal_handler = refuse
del select.poll
"""
