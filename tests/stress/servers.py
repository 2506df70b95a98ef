"""Server processes for the long proofs: the archive where there is one, else the source; on one memory file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Final

from tests.driver import Driver, Message
from tests.stress.figures import Figures

ROOT: Final = Path(__file__).resolve().parents[2]

_PATIENCE: Final = 60.0  # seconds for an answer: several servers start at once, on a machine that may be busy


def command(fault: str = "") -> list[str]:
    """How a server of ours is started: one with a fault of `broken_server` if that is given."""
    if fault:
        return [sys.executable, "-m", "tests.stress.broken_server", fault]
    archive = Path(os.environ.get("MEMORY_SERVER_PYZ") or ROOT / "dist" / "memory-server-host.pyz")
    return [sys.executable, str(archive.resolve())] if archive.is_file() else [sys.executable, "-m", "memory_app"]


def environment(memory: Path) -> dict[str, str]:
    return {**os.environ, "MEMORY_FILE_PATH": str(memory), "PYTHONPATH": str(ROOT)}


def started(memory: Path, argv: list[str] | None = None, figures: Figures | None = None) -> Driver:
    """A server on the memory, greeted. With `figures` it is pinged beside everything else, and they tell the waits."""
    return started_together(memory, 1, argv, figures)[0]


def is_stored(answer: Message) -> bool:
    """Whether the answer to a tools/call acknowledges the change."""
    return "result" in answer and not answer["result"].get("isError")


def data(answer: Message) -> Any:
    """The structured content of an answer to a tools/call; None for an error of the tool."""
    return answer["result"].get("structuredContent") if is_stored(answer) else None


def entity(name: str, *observations: str) -> dict[str, Any]:
    """The arguments that create one entity."""
    return {"entities": [{"name": name, "entityType": "test", "observations": list(observations)}]}


def started_together(
    memory: Path,
    count: int,
    argv: list[str] | None = None,
    figures: Figures | None = None,
    cwd: Path | None = None,
) -> list[Driver]:
    """So many servers on the memory, greeted; starting one does not wait for the other."""
    folder = cwd or memory.parent
    drivers = [Driver(argv or command(), env=environment(memory), cwd=folder, patience=_PATIENCE) for _ in range(count)]
    try:
        for driver in drivers:
            driver.open()
            if figures is not None:
                driver.keep_pinging()
                figures.pings.append(driver.pings)
    except BaseException:
        for driver in drivers:
            driver.kill()
        raise
    return drivers
