"""A part of the fault loop, and that it sees a program which does not keep its promises."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

import pytest

from memory_app.disk import calls
from memory_app.errors import StoreError
from memory_app.lock import lock
from memory_app.storage import store
from memory_app.storage.memory_file import MemoryFile
from memory_app.storage.temporaries import SideFiles
from tests.faults import loop
from tests.faults.loop import Fault, calls_of, faults_at, trial
from tests.faults.scenes import SCENES, Scene, outcome

_STEP: Final = 97  # prime to the number of faults of a call, so that every kind comes to its turn
_BY_NAME: Final = {scene.name: scene for scene in SCENES}


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_a_fault_loses_nothing_leaves_nothing_and_is_told_truly(scene: Scene) -> None:
    wanted, names = outcome(scene), calls_of(scene)
    faults = [fault for at, name in enumerate(names, 1) for fault in faults_at(at, name)]
    for fault in faults[len(names) % 7 :: _STEP]:
        assert trial(scene, wanted, fault) == (True, []), fault


def test_a_second_fault_in_clearing_up_is_told_by_the_first() -> None:
    scene = _BY_NAME["add_observations"]
    at = calls_of(scene).index("replace") + 1
    for late in (False, True):
        assert trial(scene, outcome(scene), Fault("KeyboardInterrupt", at, "every call", late)) == (True, [])


def test_a_half_written_lock_that_could_not_be_removed_is_removed_by_the_next_change() -> None:
    scene = _BY_NAME["first-write"]
    at = calls_of(scene).index("write") + 1
    assert trial(scene, outcome(scene), Fault("EIO", at, "every call")) == (True, [])


def test_both_locks_of_a_link_are_given_back_when_giving_back_the_first_fails() -> None:
    scene = _BY_NAME["through-a-link"]
    names = calls_of(scene)
    at = len(names) - 1 - names[::-1].index("unlink") + 1
    for fault in (Fault("MemoryError", at, "once"), Fault("MemoryError", at - 4, "once", late=True)):
        assert trial(scene, outcome(scene), fault)[1] == []


def test_the_writer_outlives_a_fault_in_what_it_does_after_its_answers() -> None:
    scene = _BY_NAME["add_observations"]
    names = calls_of(scene)
    at = len(names) - names[::-1].index("close")
    assert trial(scene, outcome(scene), Fault("KeyboardInterrupt", at, "once")) == (True, [])


def _losses(scene: Scene, kinds: tuple[str, ...] = ("EIO",)) -> str:
    wanted, names = outcome(scene), calls_of(scene)
    faults = [fault for at, name in enumerate(names, 1) for fault in faults_at(at, name, kinds)]
    return "\n".join(what for fault in faults if fault.lasting == "once" for what in trial(scene, wanted, fault)[1])


def _never(*arguments: object) -> None:
    del arguments


def _in_place(self: MemoryFile, temporary: str, target: str, written: object) -> None:
    with open(temporary, "rb") as new:
        data = new.read()
    fd = os.open(target, os.O_WRONLY | os.O_TRUNC)
    calls.write_all(fd, [data])
    os.close(fd)
    os.unlink(temporary)


def _always_stored(error: BaseException, path: str, *, stored: bool) -> Any:
    return StoreError(f"The change is stored in {path}.", stored=True)


@pytest.mark.parametrize(
    ("module", "name", "broken", "seen"),
    [
        pytest.param(SideFiles, "discard", _never, "left behind", id="temporary files stay"),
        pytest.param(lock.Lock, "release", _never, "left behind", id="locks stay"),
        pytest.param(MemoryFile, "_replace", _in_place, "neither the old nor the new", id="written in place"),
        pytest.param(store, "_as_store_error", _always_stored, "says stored=True", id="a wrong answer"),
        pytest.param(store, "refuse", _never, "there is no answer", id="no answer"),
    ],
)
def test_a_program_that_breaks_a_promise_is_seen(
    monkeypatch: pytest.MonkeyPatch, module: object, name: str, broken: Callable[..., Any], seen: str
) -> None:
    monkeypatch.setattr(loop, "_ANSWER", 0.05)
    monkeypatch.setattr(loop, "_LOCK_WAIT", 0.01)
    monkeypatch.setattr(module, name, broken)
    assert seen in _losses(_BY_NAME["first-write" if name == "release" else "add_observations"])
