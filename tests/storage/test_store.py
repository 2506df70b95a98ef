"""The store: snapshots for readers, one writer that gathers what waits, and what other processes do meanwhile."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any

import pytest

from memory_app.errors import GraphError, StoreError
from memory_app.graph import changes
from memory_app.graph.changes import Addition, NewEntity, RelationKey
from memory_app.graph.graph import Graph
from memory_app.jsonl.records import new_entity
from memory_app.lock.lock import Lock
from memory_app.storage.history import History
from memory_app.storage.pending import Call
from memory_app.storage.store import Store
from tests.gating import PATIENCE, GatedOs, in_thread
from tests.locks import FOREVER
from tests.placing import put

ANN = new_entity("Ann", "t", ()).raw.decode() + "\n"
BO, CY = ANN.replace("Ann", "Bo"), ANN.replace("Ann", "Cy")


@pytest.fixture(autouse=True)
def without_history(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests say which calls a save makes and what it leaves; what the history adds is in its own tests."""
    monkeypatch.setattr(History, "wants", lambda *_: False)


@pytest.fixture
def stores(memory: Path) -> Iterator[Callable[..., Store]]:
    """Makes stores of the memory, and closes them."""
    made: list[Store] = []

    def make(**options: Any) -> Store:
        reports: list[str] = []
        made.append(Store(str(memory), reports.append, **options))
        made[-1].reports = reports  # type: ignore[attr-defined]
        return made[-1]

    yield make
    for store in made:
        store.close(0)


@pytest.fixture
def store(stores: Callable[..., Store]) -> Store:
    return stores()


def create(*names: str) -> Callable[[Graph], tuple[Graph, list[str]]]:
    """A change that makes entities; its result are the names of those that were new."""

    def change(graph: Graph) -> tuple[Graph, list[str]]:
        after, made, _ = changes.create_entities(graph, [NewEntity(name, "t", ()) for name in names])
        return after, [line.name for line in made]

    return change


def relate(source: str, target: str) -> Callable[[Graph], tuple[Graph, int]]:
    def change(graph: Graph) -> tuple[Graph, int]:
        after, made = changes.create_relations(graph, [RelationKey(source, target, "r")])
        return after, len(made)

    return change


def done(future: Future[Any]) -> Any:
    return future.result(PATIENCE)


def error_of(future: Future[Any]) -> BaseException:
    error = future.exception(PATIENCE)
    assert error is not None
    return error


def names(graph: Graph) -> list[str]:
    return list(graph.entities)


def beside(memory: Path) -> list[str]:
    return sorted(path.name for path in memory.parent.iterdir())


def replace_with(memory: Path, text: str) -> None:
    """What another process does: a new file under the name."""
    other = memory.parent / "other"
    put(other, text)
    os.replace(other, memory)


def calls_of(gated: GatedOs, name: str) -> int:
    return sum(called == name for called, _ in gated.calls)


def test_a_graph_is_loaded_once_until_the_file_changes(memory: Path, store: Store, gated: GatedOs) -> None:
    put(memory, ANN)
    assert store.peek() is None
    first = store.graph()
    assert store.graph() is first and store.peek() is first
    assert calls_of(gated, "open") == 1
    replace_with(memory, ANN + BO)
    assert store.peek() is None
    assert names(store.graph()) == ["Ann", "Bo"]
    memory.unlink()
    assert store.peek() is None
    assert names(store.graph()) == []


def test_a_change_is_on_the_disk_when_it_is_answered(memory: Path, store: Store) -> None:
    assert done(store.submit(create("Ann"))) == ["Ann"]
    assert store.saves == 1
    assert memory.read_text() == ANN
    assert beside(memory) == ["memory.jsonl"]
    after = store.peek()
    assert after is not None and names(after) == ["Ann"]
    assert store.foreign_changes == 0


def test_a_change_that_changes_nothing_takes_no_lock_and_writes_nothing(
    memory: Path, store: Store, gated: GatedOs
) -> None:
    put(memory, ANN)
    store.graph()
    gated.calls.clear()
    assert done(store.submit(create("Ann"))) == []
    with pytest.raises(GraphError, match="Entity with name Zed not found"):
        done(store.submit(relate("Ann", "Zed")))
    assert {name for name, _ in gated.calls} <= {"stat"}
    assert store.saves == 0


def test_the_file_of_a_memory_that_is_only_looked_at_is_not_made(memory: Path, store: Store) -> None:
    assert names(store.graph()) == []
    assert done(store.submit(create())) == []
    assert store.saves == 0
    assert beside(memory) == []


def test_forty_calls_at_once_share_saves_and_each_has_its_own_outcome(
    memory: Path, store: Store, gated: GatedOs
) -> None:
    gate = gated.gate("replace")
    futures: list[Future[Any]] = [store.submit(create("first"))]
    gate.wait_until_reached()
    for n in range(39):
        change: Callable[[Graph], tuple[Graph, Any]] = (
            relate("first", "nobody") if n % 10 == 9 else create(f"N{n % 30}")
        )
        futures.append(store.submit(change))
    gate.open()
    made = [done(future) for n, future in enumerate(futures) if n % 10 or not n]
    assert made[:3] == [["first"], ["N0"], ["N1"]]
    assert made[-1] == []  # came earlier in the same batch
    assert all(isinstance(error_of(futures[n]), GraphError) for n in (10, 20, 30))
    assert store.saves == 2
    assert len(names(store.graph())) == len(memory.read_text().splitlines()) == 28
    assert store.foreign_changes == 0


def test_taking_many_calls_compares_none_with_another(
    store: Store, gated: GatedOs, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = []

    def equal(one: object, other: object) -> bool:
        compared.append(other)
        return one is other

    monkeypatch.setattr(Call, "__eq__", equal)
    gate = gated.gate("replace")
    first = store.submit(create("Ann"))
    gate.wait_until_reached()
    waiting = [store.submit(create(f"n{number}")) for number in range(40)]
    gate.open()
    assert done(first) == ["Ann"] and all(done(future) for future in waiting)
    assert store.saves == 2
    assert not compared


def test_calls_are_applied_in_the_order_of_their_arrival(memory: Path, store: Store, gated: GatedOs) -> None:
    gate = gated.gate("replace")
    futures: list[Future[Any]] = [store.submit(create("Ann"))]
    gate.wait_until_reached()

    def add(text: str) -> Callable[[Graph], tuple[Graph, Any]]:
        return lambda graph: changes.add_observations(graph, [Addition("Ann", (text,))])

    futures += [store.submit(add(str(n))) for n in range(20)]
    gate.open()
    for future in futures:
        done(future)
    assert store.graph().entities["Ann"].observations() == [str(n) for n in range(20)]


def test_a_mistake_of_ours_in_one_call_fails_that_call_alone(memory: Path, store: Store, gated: GatedOs) -> None:
    gate = gated.gate("replace")
    first = store.submit(create("Ann"))
    gate.wait_until_reached()

    def broken(graph: Graph) -> tuple[Graph, None]:
        raise ZeroDivisionError

    futures: list[Future[Any]] = [store.submit(create("Bo")), store.submit(broken), store.submit(create("Cy"))]
    gate.open()
    done(first)
    assert done(futures[0]) == ["Bo"] and done(futures[2]) == ["Cy"]
    assert isinstance(error_of(futures[1]), ZeroDivisionError)
    assert memory.read_text() == ANN + BO + CY


def test_a_call_that_was_cancelled_before_its_batch_took_it_writes_nothing(
    memory: Path, store: Store, gated: GatedOs
) -> None:
    gate = gated.gate("replace")
    first = store.submit(create("Ann"))
    gate.wait_until_reached()
    cancelled, after = store.submit(create("Bo")), store.submit(create("Cy"))
    assert cancelled.cancel()
    assert not first.cancel()  # it is being stored
    gate.open()
    done(first)
    done(after)
    with pytest.raises(CancelledError):
        done(cancelled)
    assert memory.read_text() == ANN + CY


def test_when_all_that_wait_for_the_lock_are_cancelled_the_waiting_ends(
    memory: Path, stores: Callable[..., Store], gated: GatedOs
) -> None:
    holder, waiter = stores(), stores()
    gate = gated.gate("replace")
    first = holder.submit(create("Ann"))
    gate.wait_until_reached()
    seen = gated.gate("open", lambda arguments: str(arguments[0]).endswith(".lock"))
    cancelled = waiter.submit(create("Bo"))
    seen.wait_until_reached()
    assert cancelled.cancel()
    seen.open()
    later = waiter.submit(create("Cy"))
    gate.open()
    done(first)
    assert done(later) == ["Cy"]
    assert memory.read_text() == ANN + CY


def test_calls_that_come_and_go_while_the_lock_is_waited_for_are_stored_as_they_are_then(
    memory: Path, store: Store, gated: GatedOs
) -> None:
    put(memory, ANN)
    store.graph()
    other = Lock(str(memory))
    other.acquire(FOREVER)
    seen = gated.gate("open", lambda arguments: str(arguments[0]).endswith(".lock"))
    first = store.submit(create("Bo"))
    seen.wait_until_reached()  # it has been applied to the graph by now, but not been taken
    later = store.submit(create("Cy"))
    assert first.cancel()
    seen.open()
    other.release()
    assert done(later) == ["Cy"]
    assert memory.read_text() == ANN + CY


def test_calls_that_come_while_the_lock_is_taken_are_applied_after_those_that_were(memory: Path, store: Store) -> None:
    applied: list[str] = []
    later: list[Future[Any]] = []

    def ann(graph: Graph) -> tuple[Graph, list[str]]:
        applied.append("Ann")
        if not later:
            later.append(store.submit(bo))
        return create("Ann")(graph)

    def bo(graph: Graph) -> tuple[Graph, list[str]]:
        applied.append("Bo")
        return create("Bo")(graph)

    assert done(store.submit(ann)) == ["Ann"]
    assert done(later[0]) == ["Bo"]
    assert applied == ["Ann", "Bo"]
    assert store.saves == 1


@pytest.mark.parametrize("moment", ["fsync", "write", "stat"])
def test_what_another_process_stored_before_the_last_check_is_kept(
    memory: Path, store: Store, gated: GatedOs, moment: str
) -> None:
    put(memory, ANN)
    store.graph()
    writer = in_thread("memory-writer")
    gated.before(moment, lambda: replace_with(memory, ANN + BO), writer)
    assert done(store.submit(create("Cy"))) == ["Cy"]
    assert memory.read_text() == ANN + BO + CY
    assert store.foreign_changes == 1
    assert beside(memory) == ["memory.jsonl"]


def test_a_call_is_judged_by_the_file_as_it_was_stored_in(memory: Path, store: Store, gated: GatedOs) -> None:
    put(memory, ANN + BO)
    store.graph()
    gated.before("fsync", lambda: replace_with(memory, ANN + CY), in_thread("memory-writer"))
    gate = gated.gate("write", lambda arguments: in_thread("memory-writer")(arguments))
    future = store.submit(create("Cy", "Dee"))
    gate.wait_until_reached()
    failing = store.submit(relate("Ann", "Bo"))
    gate.open()
    assert done(future) == ["Dee"]
    assert str(error_of(failing)) == "Entity with name Bo not found"
    assert names(store.graph()) == ["Ann", "Cy", "Dee"]


def test_a_lock_that_was_lost_is_taken_again_and_the_change_redone(memory: Path, store: Store, gated: GatedOs) -> None:
    lock = memory.with_name("memory.jsonl.lock")

    def steal() -> None:
        lock.unlink()
        replace_with(memory, BO)

    put(memory, ANN)
    # The lock's record is the first thing that is written, the temporary file the second.
    gated.before("fsync", steal, in_thread("memory-writer"))
    assert done(store.submit(create("Cy"))) == ["Cy"]
    assert memory.read_text() == BO + CY
    assert calls_of(gated, "replace") == 1
    assert beside(memory) == ["memory.jsonl"]


def test_a_stop_while_a_lost_lock_is_waited_for_is_told_as_such(memory: Path, store: Store, gated: GatedOs) -> None:
    lock = memory.with_name("memory.jsonl.lock")

    def steal() -> None:
        lock.unlink()
        lock.write_text('{"pid":1,"hostname":"another","token":""}')
        closing.start()

    closing = threading.Thread(target=store.close, args=(0,))
    gated.before("fsync", steal, in_thread("memory-writer"))
    assert "is stopping; this change was not stored" in str(error_of(store.submit(create("Ann"))))
    closing.join(PATIENCE)
    assert beside(memory) == [lock.name]


def test_changes_by_others_are_counted_and_own_saves_are_not(memory: Path, store: Store) -> None:
    put(memory, ANN)
    store.graph()
    assert store.foreign_changes == 0
    for n in range(3):
        done(store.submit(create(f"N{n}")))
        assert store.check() == 0
    replace_with(memory, ANN)
    assert store.check() == store.check() == 1
    os.utime(memory, (1, 1))  # the same graph
    replace_with(memory, ANN.replace("\n", "\r\n"))
    assert store.check() == 1
    memory.unlink()
    assert store.check() == 2


def test_two_stores_on_one_file_keep_each_others_changes(memory: Path, stores: Callable[..., Store]) -> None:
    one, other = stores(), stores()
    futures = [store.submit(create(f"{n} {id(store)}")) for n in range(30) for store in (one, other)]
    for future in futures:
        done(future)
    assert len(memory.read_text().splitlines()) == 60
    assert names(one.graph()) == names(other.graph())
    assert beside(memory) == ["memory.jsonl"]


def test_a_store_error_goes_to_each_call_and_the_next_change_works(memory: Path, store: Store, gated: GatedOs) -> None:
    put(memory, ANN)
    gate = gated.gate("write", in_thread("memory-writer"))
    first = store.submit(create("Bo"))
    gate.wait_until_reached()
    gated.fail("replace", OSError(5, "input/output error"))
    gate.open()
    error = error_of(first)
    assert isinstance(error, StoreError) and not error.stored
    assert memory.read_text() == ANN
    assert beside(memory) == ["memory.jsonl"]
    assert done(store.submit(create("Bo"))) == ["Bo"]


def test_an_error_after_the_rename_says_that_the_change_is_stored_and_the_store_goes_on(
    memory: Path, store: Store, gated: GatedOs
) -> None:
    put(memory, ANN)
    gated.before("replace", lambda: gated.fail("fsync", OSError(5, "input/output error")))
    error = error_of(store.submit(create("Bo")))
    assert isinstance(error, StoreError) and error.stored
    assert "The change is stored" in str(error)
    assert memory.read_text() == ANN + BO
    assert done(store.submit(create("Bo"))) == []
    assert store.foreign_changes == 0


def test_something_else_is_told_to_every_call_and_never_written(memory: Path, store: Store) -> None:
    put(memory, "a diary\n")
    for _ in range(2):
        with pytest.raises(StoreError, match="is not a memory file"):
            store.graph()
        assert isinstance(error_of(store.submit(create("Ann"))), StoreError)
    assert memory.read_text() == "a diary\n"
    put(memory, ANN)
    assert names(store.graph()) == ["Ann"]


def test_a_file_that_becomes_something_else_during_a_save_is_not_replaced(
    memory: Path, store: Store, gated: GatedOs
) -> None:
    put(memory, ANN)
    store.graph()
    gated.before("fsync", lambda: replace_with(memory, "a diary\n"), in_thread("memory-writer"))
    assert "is not a memory file" in str(error_of(store.submit(create("Bo"))))
    assert memory.read_text() == "a diary\n"
    assert beside(memory) == ["memory.jsonl"]


def test_what_was_tolerated_is_reported_once(memory: Path, store: Store) -> None:
    put(memory, "secret\n" + ANN)
    store.graph()
    put(memory, "secret\n" + ANN + BO)
    store.graph()
    assert store.reports == [  # type: ignore[attr-defined]
        f"{memory}: line 1 is no record that can be read; it is kept as it is"
    ]


def test_lines_that_moved_are_not_reported_again_and_further_ones_are(memory: Path, store: Store) -> None:
    for lines in (
        ["secret\n", ANN],
        [ANN, BO, "secret\n"],
        ["secret\n", ANN, BO, "secret\n"],
        ["\n", "secret\n", ANN, "?\n"],
    ):
        memory.write_text("".join(lines))
        store.graph()
    assert store.reports == [  # type: ignore[attr-defined]
        f"{memory}: line 1 is no record that can be read; it is kept as it is",
        f"{memory}: 2 lines (1, 4): each is no record that can be read; it is kept as it is",
    ]


def test_a_lock_that_is_not_had_in_time_is_an_error_that_stored_nothing(
    memory: Path, stores: Callable[..., Store], gated: GatedOs
) -> None:
    holder, waiter = stores(), stores(lock_wait=0.05)
    gate = gated.gate("replace")
    first = holder.submit(create("Ann"))
    gate.wait_until_reached()
    error = error_of(waiter.submit(create("Bo")))
    assert isinstance(error, StoreError) and not error.stored
    assert "memory.jsonl.lock is held by process" in str(error)
    gate.open()
    done(first)
    assert memory.read_text() == ANN


def test_a_missing_folder_is_made_by_the_first_write_and_by_no_read(tmp_path: Path) -> None:
    memory = tmp_path / "a" / "b" / "memory.jsonl"
    store = Store(str(memory), print)
    assert names(store.graph()) == []
    done(store.submit(create()))
    assert not memory.parent.exists()
    done(store.submit(create("Ann")))
    assert memory.read_text() == ANN
    store.close(0)


def test_where_no_thread_can_be_started_a_change_fails_at_once_and_a_later_one_is_stored(
    memory: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        refused = error_of(store.submit(create("Ann")))
        assert isinstance(refused, StoreError) and not refused.stored and "no thread" in str(refused)
    assert done(store.submit(create("Bo"))) == ["Bo"]
    assert memory.read_text() == BO


def test_close_finishes_a_started_save_and_refuses_what_comes_later(memory: Path, store: Store, gated: GatedOs) -> None:
    gate = gated.gate("replace")
    started = store.submit(create("Ann"))
    gate.wait_until_reached()
    waiting = store.submit(create("Bo"))
    closing = threading.Thread(target=store.close)
    closing.start()
    gate.open()
    closing.join(PATIENCE)
    assert not closing.is_alive() and started.done() and waiting.done()
    assert beside(memory) == ["memory.jsonl"]
    assert done(started) == ["Ann"]
    assert done(waiting) == ["Bo"]
    assert "is stopping" in str(error_of(store.submit(create("Cy"))))
    assert memory.read_text() == ANN + BO


def test_close_gives_up_calls_that_wait_for_the_lock(
    memory: Path, stores: Callable[..., Store], gated: GatedOs
) -> None:
    holder, waiter = stores(), stores()
    gate = gated.gate("replace")
    first = holder.submit(create("Ann"))
    gate.wait_until_reached()
    seen = gated.gate("open", lambda arguments: str(arguments[0]).endswith(".lock"))
    waiting = waiter.submit(create("Bo"))
    seen.wait_until_reached()
    seen.open()
    waiter.close(0)
    error = error_of(waiting)
    assert isinstance(error, StoreError) and not error.stored
    gate.open()
    done(first)
    assert memory.read_text() == ANN


def test_close_lets_go_of_the_file(memory: Path, stores: Callable[..., Store]) -> None:
    put(memory, ANN)
    store = stores()
    store.graph()
    done(store.submit(create("Bo")))
    store.close(0)
    store.close(0)
    if os.path.isdir("/proc/self/fd"):
        open_now = [os.readlink(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd") if exists(number)]
        assert not [path for path in open_now if path.startswith(str(memory.parent))]


def exists(number: str) -> bool:
    return os.path.lexists(f"/proc/self/fd/{number}")


def test_many_readers_while_the_file_changes_see_whole_states_and_no_error(memory: Path, store: Store) -> None:
    put(memory, ANN)
    wrong: list[object] = []
    end = threading.Event()

    def read() -> None:
        while not end.is_set():
            try:
                graph = store.graph()
                if names(graph)[0] != "Ann" or names(graph)[1:] != [f"N{n}" for n in range(len(names(graph)) - 1)]:
                    wrong.append(names(graph))
            except Exception as error:  # noqa: BLE001 (whatever it is, the test shows it)
                wrong.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for n in range(60):
        if n % 2:
            done(store.submit(create(f"N{n}")))
        else:
            replace_with(memory, memory.read_text() + ANN.replace("Ann", f"N{n}"))
    end.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert wrong == []
