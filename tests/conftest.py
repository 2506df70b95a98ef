"""What all tests share: the archive that they test."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Final

import hypothesis
import pytest

from memory_app.disk import calls
from tests.gating import GatedOs

# The same examples in each run, and no file left behind; `HYPOTHESIS_PROFILE=new` looks for new ones.
hypothesis.settings.register_profile("new", deadline=None, database=None)
hypothesis.settings.register_profile("same", derandomize=True, deadline=None, database=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

# A shell starts background jobs with these ignored, and the programs under test would leave them so.
for _number, _plain in ((signal.SIGINT, signal.default_int_handler), (getattr(signal, "SIGHUP", None), signal.SIG_DFL)):
    if _number is not None and signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _plain)

ROOT = Path(__file__).resolve().parent.parent


# Files that take half a minute or more. They begin first, so that no process is left alone with one of them at the end.
_LONG: Final = (
    "faults/test_commands.py",
    "viewer/test_accessible.py",
    "server/stdio/test_run.py",
    "server/http/test_operation.py",
    "commands/test_config.py",
    "viewer/test_living.py",
    "stress/test_many.py",
    "stress/test_command_faults.py",
    "server/http/test_connections.py",
    "server/test_protocol.py",
    "server/stdio/test_faststart.py",
    "server/http/test_clients.py",
    "server/http/test_stop.py",
    "viewer/test_memories.py",
    "commands/test_look.py",
    "commands/test_correcting.py",
    "graph/test_reload.py",
    "test_reports.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The long files first; else in the order in which they were collected."""
    rank = {ROOT / "tests" / name: place for place, name in enumerate(_LONG)}
    items.sort(key=lambda item: rank.get(item.path, len(rank)))


@pytest.fixture(scope="session")
def archive() -> Path:
    """The archive under test: MEMORY_SERVER_PYZ, else what `make pyz-host` makes."""
    path = Path(os.environ.get("MEMORY_SERVER_PYZ") or ROOT / "dist" / "memory-server-host.pyz").resolve()
    if not path.is_file():
        pytest.fail(f"no archive at {path}: run `make pyz-host`, or set MEMORY_SERVER_PYZ", pytrace=False)
    return path


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    """Where the memory is to be; no file yet."""
    return tmp_path / "memory.jsonl"


@pytest.fixture
def gated(monkeypatch: pytest.MonkeyPatch) -> GatedOs:
    """Every call of the program that changes the disk goes through it."""
    gated = GatedOs()
    monkeypatch.setattr(calls, "os", gated)
    return gated
