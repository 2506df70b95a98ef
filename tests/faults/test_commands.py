"""Every command that writes, with a fault or a kill at each of its calls; and that the check sees a broken writer."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import pytest

from memory_app.disk import calls, copies, whole
from tests.faults import commands
from tests.faults.command_scenes import READING, SCENES, Scene
from tests.faults.commands import Fault, faults, wrong
from tests.faults.folders import folder
from tests.faults.seam import Hook

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="a trial is a forked process")

_STEP: Final = 53
"""Every so many faults are tried: prime to the number of faults of a call, so that every kind comes to its turn."""

_BY_NAME: Final = {scene.name: scene for scene in SCENES}


def _losses(
    scene: Scene, *, alter: Callable[[Hook], Hook] = lambda hook: hook, enough: int = 3, step: int = 1
) -> list[tuple[Fault, str]]:
    found: list[tuple[Fault, str]] = []
    with folder() as around:
        inside = Path(around, "in")
        inside.mkdir()
        names, clean = commands.calls_of(inside, scene, alter)
        assert clean.status == 0, clean.out
        assert scene.done(clean.files), clean
        for fault in list(faults(names))[::step]:
            text = wrong(inside, scene, fault, clean.files, alter)
            if text:
                found.append((fault, f"{names[fault.at - 1]}: {text}"))
                if len(found) >= enough:
                    break
    return found


@pytest.mark.parametrize("scene", [*SCENES, *READING], ids=lambda scene: scene.name)
def test_a_fault_in_a_command_leaves_whole_files_and_loses_nothing(scene: Scene) -> None:
    assert _losses(scene, step=_STEP) == []


def _without_links(hook: Hook) -> Hook:
    """A file system that has no hard links."""

    def without(name: str, arguments: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        def refuse() -> Any:
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))

        return hook(name, arguments, refuse if name == "link" else make)

    return without


def test_without_hard_links_a_kill_leaves_an_empty_copy_at_worst() -> None:
    losses = _losses(_BY_NAME["backup --keep"], alter=_without_links, enough=99)
    assert losses
    assert {(fault.kind, text.split(" ")[0]) for fault, text in losses} == {("kill", "close:"), ("kill", "replace:")}
    assert all(re.search(r"\.bak is not whole: b''$", text) for _, text in losses)


def _write_under_the_final_name(
    path: str, chunks: Iterable[bytes], like: os.stat_result | None, extended: object, give_it_its_name: object
) -> None:
    del extended, give_it_its_name
    calls.close(whole.write_temporary(path, chunks, like))


def _copy_under_the_final_name(
    series: copies.Series, data: bytes, like: os.stat_result | None, seconds: int, discard: object
) -> str:
    del discard
    path = series.path(f"{seconds % 10**8:08}T000000Z")
    calls.close(whole.write_temporary(path, [data], like))
    return path


@pytest.mark.parametrize(
    ("module", "name", "broken", "scene"),
    [
        pytest.param(whole, "_write", _write_under_the_final_name, "serve --new-token", id="a new file"),
        pytest.param(copies, "_written", _copy_under_the_final_name, "import", id="a copy"),
    ],
)
def test_a_writer_that_fills_a_file_under_its_final_name_is_seen(
    monkeypatch: pytest.MonkeyPatch, module: object, name: str, broken: object, scene: str
) -> None:
    monkeypatch.setattr(module, name, broken)
    assert any("is not whole" in text for _, text in _losses(_BY_NAME[scene], step=3))
