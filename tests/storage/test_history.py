"""Generations: which saves keep one, that it costs no copy and no sync, and what is left when something goes wrong."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_app.disk import calls
from memory_app.jsonl.records import new_entity
from memory_app.storage import comparison, history
from memory_app.storage import store as store_module
from memory_app.storage.history import Generation, generations, surplus
from memory_app.storage.memory_file import MemoryFile
from memory_app.storage.store import Store
from tests.faults.scenes import LINES, change
from tests.faults.seam import through
from tests.placing import put

_ANSWER = 20.0
_DAY = 86_400
DELETE = ("delete_entities", {"entityNames": ["Engine"]})
ADD = ("add_observations", {"observations": [{"entityName": "Ada", "contents": ["more"]}]})


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    path = tmp_path / "memory.jsonl"
    put(path, LINES)
    path.chmod(0o600)
    return path


@pytest.fixture
def opened(memory: Path) -> Iterator[Callable[..., Store]]:
    made: list[Store] = []

    def make(report: Callable[[str], None] = lambda _: None, **options: Any) -> Store:
        made.append(Store(str(memory), report, **options))
        return made[-1]

    yield make
    for store in made:
        store.close()


def do(store: Store, tool: str, arguments: dict[str, Any]) -> None:
    change(store, tool, arguments).result(_ANSWER)


def kept(memory: Path) -> list[bytes]:
    """What the generations hold, oldest first."""
    return [Path(one.path).read_bytes() for one in reversed(generations(str(memory)))]


def no_links(name: str, arguments: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    if name == "link":
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))
    return make()


def test_what_a_save_takes_away_from_is_kept_as_it_was(memory: Path, opened: Callable[..., Store]) -> None:
    before = memory.stat()
    do(opened(), *DELETE)
    assert kept(memory) == [LINES]
    (one,) = generations(str(memory))
    assert os.stat(one.path).st_ino == before.st_ino
    assert os.stat(one.path).st_mode == before.st_mode
    assert one.written == before.st_mtime


def test_the_first_save_of_a_day_keeps_one_and_later_additions_do_not(
    memory: Path, opened: Callable[..., Store]
) -> None:
    store = opened()
    do(store, *ADD)
    for number in range(3):
        do(store, "add_observations", {"observations": [{"entityName": "Ada", "contents": [f"n{number}"]}]})
    assert kept(memory) == [LINES]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        pytest.param("delete_entities", {"entityNames": ["Engine"]}, id="entity"),
        pytest.param(
            "delete_observations", {"deletions": [{"entityName": "Ada", "observations": ["counts"]}]}, id="observation"
        ),
        pytest.param(
            "delete_relations",
            {"relations": [{"from": "Ada", "to": "Engine", "relationType": "programs"}]},
            id="relation",
        ),
    ],
)
def test_each_kind_of_loss_keeps_a_generation(
    tool: str, arguments: dict[str, Any], memory: Path, opened: Callable[..., Store]
) -> None:
    store = opened()
    do(store, *ADD)
    before = memory.read_bytes()
    do(store, tool, arguments)
    assert kept(memory) == [LINES, before]


def test_a_command_that_asks_for_a_generation_gets_one_and_so_does_the_next_save(
    memory: Path, opened: Callable[..., Store]
) -> None:
    store = opened()
    do(store, *ADD)
    store.submit(lambda graph: (graph.adding(kept=[b"x"]), None), "undo").result(_ANSWER)
    do(store, "add_observations", {"observations": [{"entityName": "Ada", "contents": ["even more"]}]})
    do(store, "add_observations", {"observations": [{"entityName": "Ada", "contents": ["and more"]}]})
    assert [one.reason for one in generations(str(memory))] == ["", "undo", ""]


def test_no_history_is_kept_where_nobody_wants_one(memory: Path, opened: Callable[..., Store]) -> None:
    do(opened(history_days=0), *DELETE)
    assert os.listdir(memory.parent) == ["memory.jsonl"]


@pytest.mark.parametrize(
    ("mode", "folder"), [(0o600, 0o700), (0o640, 0o750), (0o660, 0o770), (0o644, 0o750), (0o400 | 0o200, 0o700)]
)
def test_the_folder_is_open_to_whom_the_memory_is_but_never_to_all(
    mode: int, folder: int, memory: Path, opened: Callable[..., Store]
) -> None:
    memory.chmod(mode)
    do(opened(), *DELETE)
    inside = Path(history.folder_of(str(memory)))
    assert stat.S_IMODE(inside.stat().st_mode) == folder
    assert (inside / ".gitignore").read_bytes() == b"*\n"


def test_a_generation_costs_one_link_and_no_sync(memory: Path, opened: Callable[..., Store]) -> None:
    names: list[str] = []

    def record(name: str, arguments: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        names.append(name)
        return make()

    store = opened()
    do(store, "delete_observations", {"deletions": [{"entityName": "Ada", "observations": ["counts"]}]})
    with through(record):
        do(store, *DELETE)
        plain = opened(history_days=0)
        count = (names.count("fsync"), names.count("link"))
        do(plain, *ADD)
    assert count == (names.count("fsync") - count[0], 1 + names.count("link") - count[1])


def test_where_no_link_can_be_made_a_small_file_is_copied(memory: Path, opened: Callable[..., Store]) -> None:
    with through(no_links):
        do(opened(), *DELETE)
    assert kept(memory) == [LINES]
    assert [name for name in os.listdir(history.folder_of(str(memory))) if name.endswith(".tmp")] == []


def test_where_no_link_can_be_made_a_large_file_is_not_kept_and_that_is_said_once(
    memory: Path, opened: Callable[..., Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "LARGEST_COPY", 10)
    said: list[str] = []
    with through(no_links):
        store = opened(said.append)
        do(store, *DELETE)
        do(store, "delete_entities", {"entityNames": ["Ada"]})
    assert kept(memory) == []
    assert len([text for text in said if "earlier states cannot be kept" in text]) == 1


def test_a_folder_that_is_something_else_fails_no_save(memory: Path, opened: Callable[..., Store]) -> None:
    elsewhere = memory.parent / "elsewhere"
    elsewhere.mkdir()
    os.symlink(elsewhere, history.folder_of(str(memory)))
    said: list[str] = []
    do(opened(said.append), *DELETE)
    assert b"Engine" not in memory.read_bytes().split(b"\n")[1]
    assert os.listdir(elsewhere) == []
    assert any("earlier states cannot be kept in memory.jsonl.history: it is not a folder" in text for text in said)


def test_the_link_goes_if_the_save_fails(memory: Path, opened: Callable[..., Store]) -> None:
    def fail(name: str, arguments: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        if name == "replace":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return make()

    with through(fail), pytest.raises(Exception, match="nothing was changed"):
        do(opened(), *DELETE)
    assert memory.stat().st_nlink == 1
    assert os.listdir(history.folder_of(str(memory))) == [".gitignore"]


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_a_failure_right_after_the_link_leaves_no_second_name_of_the_memory(
    memory: Path, opened: Callable[..., Store], error: type[BaseException]
) -> None:
    linked: list[str] = []

    def fail(name: str, arguments: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        if name == "link" and str(arguments[1]).endswith("Z.jsonl"):
            linked.append(str(arguments[1]))
        if name == "lstat" and linked and str(arguments[0]) == history.folder_of(str(memory)):
            raise error
        return make()

    with through(fail), contextlib.suppress(BaseException):
        do(opened(), *DELETE)
    assert linked
    assert memory.stat().st_nlink == 1


KILLED = """
import os, sys
from memory_app.disk import calls
from memory_app.storage.memory_file import MemoryFile
from memory_app.storage.store import Store
from tests.faults.scenes import change
calls.replace = lambda *_: os._exit(77)
change(Store(sys.argv[1], print), "delete_entities", {"entityNames": ["Engine"]}).result(20)
"""


def test_a_generation_that_is_the_memory_itself_is_none_and_goes_with_the_next_save(
    memory: Path, opened: Callable[..., Store]
) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(memory)], timeout=60, check=False)
    assert killed.returncode == 77
    assert memory.stat().st_nlink == 2
    assert generations(str(memory)) == []
    do(opened(), "create_entities", {"entities": [{"name": "Next", "entityType": "t", "observations": []}]})
    assert kept(memory) == [LINES]
    assert len(os.listdir(history.folder_of(str(memory)))) == 2


def test_a_foreign_change_between_the_link_and_the_rename_is_seen(memory: Path, opened: Callable[..., Store]) -> None:
    changed = LINES.replace(b"brass", b"steel")
    done: list[bool] = []

    def interfere(name: str, arguments: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        result = make()
        if name == "link" and not done:
            done.append(True)
            other = memory.with_name("other")
            put(other, changed)
            os.replace(other, memory)
        return result

    with through(interfere):
        do(opened(), "delete_observations", {"deletions": [{"entityName": "Ada", "observations": ["counts"]}]})
    assert b"steel" in memory.read_bytes()
    assert kept(memory) == [changed]


@pytest.mark.parametrize("fill", [0, 3 * comparison.WORTH_A_THREAD], ids=["a small file", "a large one"])
def test_a_write_in_place_whose_time_was_set_back_is_seen_between_the_link_and_the_rename(
    memory: Path, opened: Callable[..., Store], fill: int
) -> None:
    more = new_entity("Filler", "note", ["x" * fill]).raw + b"\n"
    put(memory, LINES + more)
    before = memory.stat()
    done: list[bool] = []

    def interfere(name: str, arguments: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        if name == "link" and arguments[1].endswith("Z.jsonl") and not done:
            done.append(True)  # its change time is that of the link, as far as a stat shows
            with memory.open("r+b") as file:
                file.write((LINES + more).replace(b"brass", b"steel"))
            os.utime(memory, ns=(before.st_atime_ns, before.st_mtime_ns))
        return make()

    with through(interfere):
        do(opened(), "delete_observations", {"deletions": [{"entityName": "Ada", "observations": ["counts"]}]})
    assert b"steel" in memory.read_bytes()
    assert b"counts" not in memory.read_bytes()


def test_times_go_up_also_when_the_clock_was_set_back(
    memory: Path, opened: Callable[..., Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened()
    do(store, *DELETE)
    past = time.time() - 1000 * _DAY
    monkeypatch.setattr(store._file._history, "_now", lambda: past)
    do(store, "delete_entities", {"entityNames": ["Ada"]})
    first, second = reversed(generations(str(memory)))
    assert second.milliseconds == first.milliseconds + 1


def generation(days_ago: float, size: int = 1, now: float = 1_000 * _DAY) -> Generation:
    moment = int((now - days_ago * _DAY) * 1000)
    return Generation(str(moment), "", moment, "", size, 0.0)


def left(found: list[Generation], size: int = 1, days: int = 30) -> list[int]:
    gone = surplus(found, size, 1_000.0 * _DAY, days)
    return [place for place, one in enumerate(found) if one not in gone]


def test_a_clock_that_was_a_day_ahead_does_not_make_each_later_save_the_first_of_a_day(
    memory: Path, opened: Callable[..., Store]
) -> None:
    folder = Path(history.folder_of(str(memory)))
    folder.mkdir()
    put(folder / time.strftime("%Y%m%dT%H%M%S.000Z.jsonl", time.gmtime(time.time() + 2 * _DAY)), LINES)
    store = opened()
    for number in range(3):
        do(store, "add_observations", {"observations": [{"entityName": "Ada", "contents": [f"more {number}"]}]})
    assert len(kept(memory)) == 1
    do(store, *DELETE)
    assert len(kept(memory)) == 2


def test_the_newest_fifty_stay_and_of_each_older_day_the_last() -> None:
    found = [generation(0.001 * number) for number in range(1, 60)]
    found += [generation(day + part) for day in range(2, 40) for part in (0.1, 0.5, 0.9)]
    stay = left(found)
    assert stay[:50] == list(range(50))
    days = [found[place].milliseconds // (_DAY * 1000) for place in stay[50:]]
    assert len(days) == len(set(days)) == 28


def test_the_newest_stays_however_old_and_large_it_is() -> None:
    assert left([generation(400, 1 << 40), generation(401, 1)]) == [0]


def test_all_together_take_no_more_space_than_is_allowed() -> None:
    found = [generation(0.001 * number, 20 << 20) for number in range(1, 20)]
    assert left(found) == [0, 1, 2]
    assert len(left(found, size=20 << 20)) == 10


def test_what_is_too_much_is_removed_after_a_save(memory: Path, opened: Callable[..., Store]) -> None:
    store = opened()
    for number in range(history.NEWEST + 5):
        do(store, "create_entities", {"entities": [{"name": f"n{number}", "entityType": "t", "observations": []}]})
        do(store, "delete_entities", {"entityNames": [f"n{number}"]})
    store.close()
    assert len(generations(str(memory))) == history.NEWEST


@pytest.mark.parametrize(("quiet", "turns"), [(0.01, 1_000), (60.0, 1)], ids=["nobody calls", "calls in a row"])
def test_what_is_too_much_goes_when_nobody_calls_and_at_the_latest_after_some_turns(
    memory: Path, opened: Callable[..., Store], monkeypatch: pytest.MonkeyPatch, quiet: float, turns: int
) -> None:
    tidied = threading.Event()
    tidy = MemoryFile.tidy

    def told(file: MemoryFile) -> None:
        tidy(file)
        tidied.set()

    monkeypatch.setattr(store_module, "_QUIET", quiet)
    monkeypatch.setattr(store_module, "_MOST_UNTIDY", turns)
    monkeypatch.setattr(MemoryFile, "tidy", told)
    do(opened(), *DELETE)
    assert tidied.wait(_ANSWER)


def test_saves_in_a_row_list_the_history_once(
    memory: Path, opened: Callable[..., Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "_QUIET", 60.0)
    store = opened()
    do(store, *ADD)
    listed: list[str] = []
    names = history._names

    def told(folder: str) -> list[tuple[int, str, str]]:
        listed.append(folder)
        return names(folder)

    monkeypatch.setattr(history, "_names", told)
    for _ in range(5):
        do(store, "delete_observations", {"deletions": [{"entityName": "Ada", "observations": ["more"]}]})
        do(store, *ADD)
    assert len(listed) <= 1
    assert len(kept(memory)) == 6


def test_calls_of_disk_change_no_link(tmp_path: Path) -> None:
    os.symlink(tmp_path, tmp_path / "link")
    with pytest.raises(OSError, match=r"directory|symbolic"):
        calls.set_folder_owner_and_mode(str(tmp_path / "link"), os.stat(tmp_path), 0o777)
