"""The end of a serving process: end of input, signals, cancelled calls, a client that is gone or does not read."""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.driver import Era, serve
from tests.variants import (
    ERAS,
    HELLO,
    POSIX,
    SIGNALS,
    SLOW_SAVE,
    THREADS,
    entity,
    hold_lock,
    names,
    until_exists,
    variant,
)


@ERAS
def test_at_the_end_of_input_everything_is_answered_also_a_last_line_without_its_end(
    archive: Path, tmp_path: Path, era: Era
) -> None:
    with serve(archive, tmp_path, era=era) as driver:
        first = driver.start("server/discover" if era == "2026" else "initialize", HELLO if era == "2025" else None)
        asked = [first, *(driver.start_call("create_entities", entity(str(number))) for number in range(30))]
        last = {"jsonrpc": "2.0", "id": "last", "method": "tools/call", "params": driver.params({"name": "read_graph"})}
        driver.send_bytes(json.dumps(last).encode())
        driver.close_stdin()
        answers = {message["id"]: message for message in driver.drain()}
        assert set(answers) == {*asked, "last"}
        assert all("result" in answer for answer in answers.values())
        assert driver.wait() == 0
        assert names(tmp_path) == [str(number) for number in range(30)]


@POSIX
@SIGNALS
def test_a_signal_ends_an_idle_server_at_once_without_a_word(archive: Path, tmp_path: Path, name: str) -> None:
    with serve(archive, tmp_path) as driver:
        driver.open()
        driver.call("read_graph")
        start = time.monotonic()
        driver.signal(getattr(signal, name))
        assert driver.wait() == 0
        assert time.monotonic() - start < 1.0  # nothing is waited for
        assert driver.drain() == []
        assert len(driver.stderr.splitlines()) == 1


@POSIX
@SIGNALS
def test_a_signal_during_the_start_ends_it_without_a_traceback(archive: Path, tmp_path: Path, name: str) -> None:
    with serve(archive, tmp_path) as driver:
        end = time.monotonic() + 20
        while "memory file" not in driver.stderr:  # it is about to load the SDK
            assert driver.process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.001)
        driver.signal(getattr(signal, name))
        assert driver.wait() == 0
        assert "Traceback" not in driver.stderr


@pytest.mark.parametrize(
    "how", ["end of input", pytest.param("SIGTERM", marks=POSIX), pytest.param("SIGINT", marks=POSIX)]
)
def test_a_call_that_waits_for_the_lock_at_the_end_gets_an_error_after_a_second(
    archive: Path, tmp_path: Path, how: str
) -> None:
    with serve(archive, tmp_path) as driver:
        driver.open()
        hold_lock(tmp_path)
        asked = driver.start_call("create_entities", entity("x"))
        driver.request("ping")
        start = time.monotonic()
        if how == "end of input":
            driver.close_stdin()
        else:
            driver.signal(getattr(signal, how))
        (answer,) = driver.drain()
        assert driver.wait() == 0
        assert 0.9 < time.monotonic() - start < 5.0
        text = "The memory server is stopping and could not get the lock. Nothing was stored."
        assert answer == {
            "jsonrpc": "2.0",
            "id": asked,
            "result": {"content": [{"type": "text", "text": text}], "isError": True},
        }
        assert names(tmp_path) == []
        assert "Traceback" not in driver.stderr


@pytest.mark.parametrize(
    "how", ["end of input", pytest.param("SIGTERM", marks=POSIX), pytest.param("SIGINT", marks=POSIX)]
)
def test_a_started_save_is_finished_and_answered(tmp_path: Path, how: str) -> None:
    with variant(tmp_path, SLOW_SAVE) as driver:
        driver.open()
        asked = driver.start_call("create_entities", entity("kept"))
        until_exists(tmp_path / "started")
        if how == "end of input":
            driver.close_stdin()
        else:
            for _ in range(2):  # a second signal is no reason to break what is being saved
                driver.signal(getattr(signal, how))
        time.sleep(1.3)  # beyond the grace of calls that wait; the save has started
        assert driver.process.poll() is None
        (tmp_path / "go").touch()
        (answer,) = driver.drain()
        assert answer["id"] == asked
        assert answer["result"]["isError"] is False
        assert driver.wait() == 0
        assert names(tmp_path) == ["kept"]
        assert "Traceback" not in driver.stderr


@POSIX
@pytest.mark.parametrize("how", ["SIGTERM", "end of input"])
def test_a_client_that_neither_reads_nor_closes_does_not_hold_up_the_end(
    archive: Path, tmp_path: Path, how: str
) -> None:
    big = {"type": "entity", "name": "big", "entityType": "t", "observations": ["x" * 2_000_000]}
    (tmp_path / "memory.jsonl").write_text(json.dumps(big, separators=(",", ":")) + "\n")
    with serve(archive, tmp_path, paused=True) as driver:
        driver.start("initialize", HELLO)
        for _ in range(100):
            driver.start_call("read_graph")
        driver.flush(101)
        for name in ("also", "later"):  # writes are not held up by answers that nobody reads
            driver.start_call("create_entities", entity(name))
            end = time.monotonic() + 20
            while name not in names(tmp_path):
                assert time.monotonic() < end
                time.sleep(0.01)
        if sys.platform == "linux":
            status = Path(f"/proc/{driver.process.pid}/status").read_text()
            (peak,) = (int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
            assert peak < 200_000  # kB; all answers at once would be 400 MB and more
        start = time.monotonic()
        if how == "SIGTERM":
            driver.signal(signal.SIGTERM)
        else:
            driver.close_stdin()
        assert driver.wait() == 0
        assert time.monotonic() - start < 10
        assert "Traceback" not in driver.stderr


FEW_UNREAD = """
from memory_app.server.stdio import faststart as quickstart
quickstart.load()
from memory_app.server.stdio import transport as wire
wire._UNREAD_LIMIT = 1000
"""


def test_requests_wait_while_too_much_is_unread_and_go_on_afterwards(tmp_path: Path) -> None:
    big = {"type": "entity", "name": "big", "entityType": "t", "observations": ["x" * 300_000]}
    (tmp_path / "memory.jsonl").write_text(json.dumps(big, separators=(",", ":")) + "\n")
    with variant(tmp_path, FEW_UNREAD, paused=True) as driver:
        driver.start("initialize", HELLO)
        driver.start_call("read_graph")
        driver.flush(2)
        driver.start_call("create_entities", entity("also"))
        end = time.monotonic() + 20
        while "also" not in names(tmp_path):  # by now the answer before it is queued
            assert time.monotonic() < end
            time.sleep(0.01)
        driver.send_bytes(b'{"jsonrpc":"2.0","id":"cut",')
        driver.flush(2)
        driver.resume()
        driver.send_bytes(b'"method":"ping"}\n')
        assert driver.answer("cut")["result"] == {}
        assert driver.finish() == 0


@pytest.mark.parametrize("calls", [1, 50])
def test_a_client_that_is_gone_ends_the_server_quietly(archive: Path, tmp_path: Path, calls: int) -> None:
    with serve(archive, tmp_path, paused=True) as driver:
        driver.start("initialize", HELLO)
        driver.flush()
        driver.close_stdout()
        for number in range(calls):
            driver.start_call("create_entities", entity(str(number)))
        assert driver.wait() == 0
        assert len(driver.stderr.splitlines()) == 1


@ERAS
def test_a_cancelled_call_that_waits_writes_nothing_and_is_not_answered(
    archive: Path, tmp_path: Path, era: Era
) -> None:
    with serve(archive, tmp_path, era=era) as driver:
        driver.open()
        lock = hold_lock(tmp_path)
        given_up = driver.start_call("create_entities", entity("given up"))
        kept = driver.start_call("create_entities", entity("kept"))
        driver.call("read_graph")
        driver.notify("notifications/cancelled", {"requestId": given_up})
        driver.call("read_graph")
        lock.unlink()
        assert driver.answer(kept)["result"]["isError"] is False
        assert driver.finish() == 0
        assert given_up not in [message.get("id") for message in driver.messages]
        assert names(tmp_path) == ["kept"]


def test_a_call_that_is_cancelled_during_its_save_is_stored_whole_and_not_answered(tmp_path: Path) -> None:
    with variant(tmp_path, SLOW_SAVE) as driver:
        driver.open()
        asked = driver.start_call("create_entities", entity("kept"))
        until_exists(tmp_path / "started")
        driver.notify("notifications/cancelled", {"requestId": asked})
        driver.request("ping")
        (tmp_path / "go").touch()
        assert driver.finish() == 0
        assert asked not in [message.get("id") for message in driver.messages]
        assert names(tmp_path) == ["kept"]


@POSIX
def test_by_threads_everything_is_answered_at_the_end_of_input(tmp_path: Path) -> None:
    with variant(tmp_path, THREADS, paused=True) as driver:
        asked = [driver.start("initialize", HELLO)]
        asked += [driver.start_call("create_entities", entity("x" * 5000 + str(number))) for number in range(300)]
        asked += [driver.start_call("read_graph") for _ in range(5)]
        driver.flush(len(asked))
        driver.resume()
        driver.close_stdin()
        answers = driver.drain()
        assert sorted(answer["id"] for answer in answers) == asked
        assert all("result" in answer for answer in answers)
        assert driver.wait() == 0
        assert len(names(tmp_path)) == 300


@POSIX
@SIGNALS
def test_by_threads_a_signal_ends_an_idle_server(tmp_path: Path, name: str) -> None:
    with variant(tmp_path, THREADS) as driver:
        driver.open()
        driver.signal(getattr(signal, name))
        assert driver.wait() == 0
        assert len(driver.stderr.splitlines()) == 1


@POSIX
def test_by_threads_a_client_that_does_not_read_does_not_hold_up_the_end(tmp_path: Path) -> None:
    with variant(tmp_path, THREADS, paused=True) as driver:
        driver.start("initialize", HELLO)
        for number in range(100):
            driver.start_call("create_entities", entity("x" * 5000 + str(number)))
        driver.flush(101)
        until_exists(tmp_path / "memory.jsonl")
        driver.signal(signal.SIGTERM)
        assert driver.wait() == 0
        assert "Traceback" not in driver.stderr


@POSIX
def test_by_threads_a_client_that_is_gone_ends_the_server_quietly(tmp_path: Path) -> None:
    with variant(tmp_path, THREADS, paused=True) as driver:
        driver.start("initialize", HELLO)
        driver.flush()
        driver.close_stdout()
        driver.start_call("read_graph")
        assert driver.wait() == 0
        assert len(driver.stderr.splitlines()) == 1


@POSIX
@pytest.mark.parametrize("name", ["SIGHUP", "SIGINT"])
def test_a_signal_that_the_starter_ignores_stays_ignored(archive: Path, tmp_path: Path, name: str) -> None:
    """`nohup` and background jobs of a shell start programs so."""
    number = getattr(signal, name)
    before = signal.signal(number, signal.SIG_IGN)  # the child inherits it
    try:
        driver = serve(archive, tmp_path)
    finally:
        signal.signal(number, before)
    with driver:
        driver.open()
        driver.signal(number)
        assert driver.call("create_entities", entity("kept"))["isError"] is False
        driver.signal(signal.SIGTERM)
        assert driver.wait() == 0


@POSIX
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_second_signal_after_a_second_ends_a_stuck_server_at_once(tmp_path: Path, name: str) -> None:
    number = getattr(signal, name)
    with variant(tmp_path, SLOW_SAVE) as driver:
        driver.open()
        driver.start_call("create_entities", entity("stuck"))
        until_exists(tmp_path / "started")
        driver.signal(number)
        driver.signal(number)
        time.sleep(1.2)  # what is under test is this second
        assert driver.process.poll() is None
        driver.signal(number)
        assert driver.wait() == 128 + number
        assert "Traceback" not in driver.stderr


@POSIX
def test_signals_up_to_the_very_end_change_neither_the_status_nor_stderr(archive: Path, tmp_path: Path) -> None:
    for _ in range(5):
        with serve(archive, tmp_path) as driver:
            driver.open()
            end = time.monotonic() + 20
            while driver.process.poll() is None:
                assert time.monotonic() < end
                driver.signal(signal.SIGTERM)
            assert driver.wait() == 0
            assert len(driver.stderr.splitlines()) == 1, driver.stderr


SLOW_LOAD = """
import os, time
from memory_app.storage.memory_file import MemoryFile
read = MemoryFile.read
def slow(self, before=None):
    open("started", "w").close()
    while not os.path.exists("go"):
        time.sleep(0.005)
    return read(self, before)
MemoryFile.read = slow
"""


def test_a_write_that_waits_for_the_load_at_the_end_of_input_is_served(tmp_path: Path) -> None:
    with variant(tmp_path, SLOW_LOAD) as driver:
        driver.open()
        asked = driver.start_call("create_entities", entity("kept"))
        until_exists(tmp_path / "started")
        driver.close_stdin()
        time.sleep(2.2)  # two graces of calls that wait for a lock, which this one does not
        (tmp_path / "go").touch()
        (answer,) = driver.drain()
        assert answer["id"] == asked and answer["result"]["isError"] is False
        assert driver.wait() == 0
        assert names(tmp_path) == ["kept"]


HUNG_STAT = """
import os, time
stat = os.stat
def hung(path, *args, **kwargs):
    while os.path.basename(str(path)) == "memory.jsonl" and os.access("hung", os.F_OK):
        time.sleep(0.01)
    return stat(path, *args, **kwargs)
os.stat = hung
from memory_app.disk import mounts
from memory_app.server import freshness, lifetime
mounts.is_local = lambda path: False
freshness._STAT_SECONDS = 0.5
lifetime.IN_FLIGHT_SECONDS = lifetime.SAVE_SECONDS = 1.0
"""


@ERAS
def test_a_file_system_that_hangs_stops_neither_pings_nor_the_end(tmp_path: Path, era: Era) -> None:
    with variant(tmp_path, HUNG_STAT, era=era) as driver:
        driver.open()
        driver.call("create_entities", entity("Ann"))
        assert driver.call("open_nodes", {"names": ["Ann"]})["isError"] is False
        (tmp_path / "hung").touch()
        asked = [driver.start_call("open_nodes", {"names": ["Ann"]}) for _ in range(5)]
        driver.request("tools/list")
        for request_id in asked:
            result = driver.answer(request_id)["result"]
            assert result["isError"] and "does not answer" in result["content"][0]["text"]
        (tmp_path / "hung").unlink()
        assert driver.call("open_nodes", {"names": ["Ann"]})["isError"] is False
        (tmp_path / "hung").touch()
        driver.start_call("open_nodes", {"names": ["Ann"]})
        driver.close_stdin()
        assert driver.wait() == 0
        assert "Traceback" not in driver.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_a_client_that_sends_without_end_and_never_reads_costs_bounded_memory(archive: Path, tmp_path: Path) -> None:
    big = {"type": "entity", "name": "big", "entityType": "t", "observations": ["x" * 100_000]}
    (tmp_path / "memory.jsonl").write_text(json.dumps(big, separators=(",", ":")) + "\n")
    with serve(archive, tmp_path, paused=True) as driver:
        driver.start("initialize", HELLO)
        call = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "read_graph", "arguments": {}}}
        lines = [json.dumps({**call, "id": number}).encode() + b"\n" for number in range(200, 60_200)]
        for start in range(0, len(lines), 1000):
            driver.send_bytes(b"".join(lines[start : start + 1000]))
        driver.patience = 3.0
        with pytest.raises(TimeoutError):  # at some point it takes no more
            driver.flush(62)
        driver.patience = 20.0
        status = Path(f"/proc/{driver.process.pid}/status").read_text()
        (size,) = (int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
        assert size < 300_000  # kB; 60,000 requests in flight would be 600 MB and more
        driver.signal(signal.SIGTERM)
        assert driver.wait() == 0
