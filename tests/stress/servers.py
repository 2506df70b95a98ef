"""Server processes for the long proofs: the archive where there is one, else the source; on one memory file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Final

from tests.driver import Driver, Message

ROOT: Final = Path(__file__).resolve().parents[2]


def command() -> list[str]:
    """How a server of ours is started."""
    archive = Path(os.environ.get("MEMORY_SERVER_PYZ") or ROOT / "dist" / "memory-server-host.pyz")
    return [sys.executable, str(archive.resolve())] if archive.is_file() else [sys.executable, "-m", "memory_app"]


def environment(memory: Path) -> dict[str, str]:
    return {**os.environ, "MEMORY_FILE_PATH": str(memory), "PYTHONPATH": str(ROOT)}


def started(memory: Path, argv: list[str] | None = None) -> Driver:
    """A server on the memory, greeted."""
    driver = Driver(argv or command(), env=environment(memory), cwd=memory.parent)
    try:
        driver.open()
    except BaseException:
        driver.kill()
        raise
    return driver


def is_stored(answer: Message) -> bool:
    """Whether the answer to a tools/call acknowledges the change."""
    return "result" in answer and not answer["result"].get("isError")


def data(answer: Message) -> Any:
    """The structured content of an answer to a tools/call; None for an error of the tool."""
    return answer["result"].get("structuredContent") if is_stored(answer) else None


def entity(name: str, *observations: str) -> dict[str, Any]:
    """The arguments that create one entity."""
    return {"entities": [{"name": name, "entityType": "test", "observations": list(observations)}]}


def started_together(memory: Path, count: int, argv: list[str] | None = None) -> list[Driver]:
    """So many servers on the memory, greeted; starting one does not wait for the other."""
    drivers = [Driver(argv or command(), env=environment(memory), cwd=memory.parent) for _ in range(count)]
    try:
        for driver in drivers:
            driver.open()
    except BaseException:
        for driver in drivers:
            driver.kill()
        raise
    return drivers
