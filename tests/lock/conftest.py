"""What the tests of the lock share: a clock that the test moves, and the lock file's path."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_app.lock import heartbeat, lock, stale
from tests.locks import Clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Time for the lock. The heartbeat of this process, which goes by the real time, is silent meanwhile."""
    clock = Clock()
    monkeypatch.setattr(lock, "time", clock)
    monkeypatch.setattr(stale, "time", clock)
    monkeypatch.setattr(heartbeat.HEARTBEAT, "beat", lambda: None)
    return clock


@pytest.fixture
def at_lock(memory: Path) -> Path:
    return Path(f"{memory}.lock")
