"""Crash states of a few sessions, and the ways to save that must not survive the model."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from memory_app.disk import calls
from tests.faults import crashes
from tests.faults.crashes import IN_PLACE, SESSIONS, Session
from tests.faults.folders import folder
from tests.faults.power import Recorder, cuts
from tests.faults.seam import through

_STARTS: Final = 60  # every so many distinct states a program is started on
_BY_NAME: Final = {session.name: session for session in (*SESSIONS, IN_PLACE)}


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.name)
def test_whatever_a_power_cut_leaves_holds_every_acknowledged_change(session: Session) -> None:
    figures = crashes.run((session,), start_on=lambda number: number % _STARTS == 0)
    assert figures.losses == []
    assert figures.counts["states"] > 100


def _first_temporary() -> Callable[[str, str], bool]:
    """Leaves out the sync of the first temporary file: in a save of another shape that is the backup's."""
    first: list[str] = []

    def skip(name: str, path: str) -> bool:
        if name != "fsync" or not path.endswith(".tmp"):
            return False
        first.append(path)
        return path == first[0]

    return skip


def _folder_sync(name: str, path: str) -> bool:
    return name == "fsync" and os.path.isdir(path)


@pytest.mark.parametrize(
    ("session", "skip", "seen"),
    [
        pytest.param(
            "add_observations", lambda name, path: path.endswith(".tmp") and name == "fsync", "the memory is", id="file"
        ),
        pytest.param("add_observations", _folder_sync, "the memory is", id="folder"),
        pytest.param(
            "first-write-in-new-folders",
            lambda name, path: _folder_sync(name, path) and not path.endswith("/b"),
            "the memory is None",
            id="parents of a new folder",
        ),
        pytest.param(
            "other-shape-with-backup",
            _first_temporary(),
            "its backup is not there",
            id="backup",
        ),
        pytest.param("written-in-place", lambda name, path: False, "the memory is", id="written in place"),
    ],
)
def test_a_save_that_leaves_out_a_sync_is_caught(session: str, skip: Callable[[str, str], bool], seen: str) -> None:
    losses = crashes.run((_BY_NAME[session],), skip=skip, enough=20).losses
    assert any(seen in loss for loss in losses)


def _after(work: Callable[[Path], None]) -> list[dict[str, bytes]]:
    """The states after the work, by the names alone."""
    with folder() as inside:
        (inside / "old").write_bytes(b"old")
        recorder = Recorder(inside)
        with through(recorder):
            work(inside)
        last = list(cuts(recorder))[-1]
        return [{os.path.basename(path): data for path, data in state.items()} for state in last.states]


def _new_file(inside: Path) -> int:
    fd = calls.create(str(inside / "new"))
    calls.write_all(fd, [b"new!"])
    return fd


def test_the_model_lets_unsynced_bytes_be_torn_and_unsynced_names_be_missing() -> None:
    states = _after(lambda inside: calls.close(_new_file(inside)))
    assert {state.get("new") for state in states} == {None, b"", b"ne", b"new!", b"\0\0\0\0", b"\0\0w!"}
    assert all(state["old"] == b"old" for state in states)


def test_the_model_lets_a_rename_be_there_before_the_bytes() -> None:
    def work(inside: Path) -> None:
        calls.close(_new_file(inside))
        calls.replace(str(inside / "new"), str(inside / "old"))

    states = _after(work)
    assert {"old": b""} in states and {"old": b"old"} in states and {"old": b"new!", "new": b"new!"} in states


def test_the_model_keeps_what_was_synced() -> None:
    def work(inside: Path) -> None:
        fd = _new_file(inside)
        calls.sync(fd)
        calls.close(fd)
        calls.replace(str(inside / "new"), str(inside / "old"))
        calls.sync_folder(str(inside))

    assert _after(work) == [{"old": b"new!"}]
