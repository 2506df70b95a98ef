"""The life of a serving process: start, end of input, signals, cancelled calls, a client that is gone, a fast start.

Everything runs as a real process on real pipes. Variants of the program (a save that waits for a sign, the plain import
of the SDK) are the source with one thing replaced.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.driver import Driver, Era, Message, serve

ROOT = Path(__file__).resolve().parent.parent
URI = "memory://knowledge-graph"
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
ERAS = pytest.mark.parametrize("era", ["2025", "2026"])
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals and descriptors of POSIX")
SIGNALS = pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])


def entity(name: str) -> Message:
    return {"entities": [{"name": name, "entityType": "thing", "observations": []}]}


def variant(folder: Path, change: str, **options: Any) -> Driver:
    """The program from its source, after `change` has run."""
    code = f"import sys\nsys.argv[1:] = []\n{change}\nfrom memory_app.cli import main\nsys.exit(main())"
    env = {name: value for name, value in os.environ.items() if not name.startswith("MEMORY_")}
    env |= {"MEMORY_FILE_PATH": str(folder / "memory.jsonl"), "PYTHONPATH": str(ROOT)}
    return Driver([sys.executable, "-c", code], env=env, cwd=folder, **options)


def hold_lock(folder: Path) -> Path:
    """The lock, held by this process as the npm server writes it."""
    lock = folder / "memory.jsonl.lock"
    lock.write_text(json.dumps({"pid": os.getpid(), "hostname": socket.gethostname(), "token": "0" * 32}))
    return lock


def names(folder: Path) -> list[str]:
    file = folder / "memory.jsonl"
    return [json.loads(line)["name"] for line in file.read_text().splitlines()] if file.exists() else []


# -- the end ---------------------------------------------------------------------------------------------------------


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
        while "memory file" not in driver.stderr:  # it is about to load the SDK
            assert driver.process.poll() is None
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


SLOW_SAVE = """
import os, time
from memory_app import disk
replace = disk.replace
def slow(source, target):
    open("started", "w").close()
    while not os.path.exists("go"):
        time.sleep(0.005)
    replace(source, target)
disk.replace = slow
"""


def until_exists(path: Path) -> None:
    end = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < end, f"{path} did not appear"
        time.sleep(0.005)


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
from memory_app import quickstart
quickstart.load()
from memory_app import wire
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


# -- cancellation ----------------------------------------------------------------------------------------------------


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


# -- the start -------------------------------------------------------------------------------------------------------


def test_stdin_may_be_a_file_and_stdout_too(archive: Path, tmp_path: Path) -> None:
    calls = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}]
    for number in range(1, 40):
        params = {"name": "create_entities", "arguments": entity(str(number))}
        calls.append({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
    (tmp_path / "in").write_text("".join(json.dumps(call) + "\n" for call in calls))
    with open(tmp_path / "in") as source, open(tmp_path / "out", "wb") as sink:
        status = subprocess.run(
            [sys.executable, archive, "--file", tmp_path / "memory.jsonl"],
            stdin=source,
            stdout=sink,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert status.returncode == 0
    assert b"Traceback" not in status.stderr
    assert [json.loads(line)["id"] for line in (tmp_path / "out").read_bytes().splitlines()] == list(range(40))
    assert names(tmp_path) == [str(number) for number in range(1, 40)]


@POSIX
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"])
def test_closed_descriptors_harm_nothing(archive: Path, tmp_path: Path, closed: str) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_text('{"type":"entity","name":"a","entityType":"t","observations":[]}\n')
    lines = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}]
    lines += [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "create_entities", "arguments": a}}
        for number, a in enumerate((entity("b"), entity("c")), 1)
    ]
    ended = subprocess.run(
        ["sh", "-c", f'exec "$0" "$@" {closed}', sys.executable, str(archive), "--file", str(file)],
        input="".join(json.dumps(line) + "\n" for line in lines).encode(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0
    assert b"Traceback" not in ended.stderr
    if closed == "2>&-":
        assert [json.loads(line)["id"] for line in ended.stdout.splitlines()] == [0, 1, 2]
        assert names(tmp_path) == ["a", "b", "c"]
    else:
        assert ended.stdout == b""


@POSIX
def test_closed_standard_descriptors_are_taken_before_a_file_of_ours_gets_their_numbers() -> None:
    code = """
import os, stat
from memory_app.pipes import fill_standard
fill_standard()
assert all(stat.S_ISCHR(os.fstat(number).st_mode) for number in (0, 2))
assert os.open("/dev/null", os.O_RDONLY) > 2
print("fine")
"""
    command = ["sh", "-c", 'exec "$0" -c "$1" <&- 2>&-', sys.executable, code]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=60, check=False)
    assert ended.stdout == b"fine\n"


@POSIX
def test_in_a_terminal_it_says_what_it_is_and_how_to_go_on(archive: Path, tmp_path: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    try:
        with serve(archive, tmp_path, stdin=theirs) as driver:
            os.close(theirs)
            end = time.monotonic() + 20
            while "Ctrl-C" not in driver.stderr:
                assert time.monotonic() < end, driver.stderr
                time.sleep(0.01)
            for part in ("a memory for AI assistants", str(tmp_path / "memory.jsonl"), str(archive), "mcpServers"):
                assert part in driver.stderr
            os.write(ours, b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
            assert driver.receive() == {"jsonrpc": "2.0", "id": 1, "result": {}}
            driver.signal(signal.SIGINT)
            assert driver.wait() == 0
    finally:
        os.close(ours)


def test_elsewhere_one_line_names_the_file(archive: Path, tmp_path: Path) -> None:
    with serve(archive, tmp_path) as driver:
        driver.open()
        assert driver.finish() == 0
        assert driver.stderr == f"memory-server: memory file: {tmp_path / 'memory.jsonl'} (from MEMORY_FILE_PATH)\n"


@pytest.mark.parametrize("arguments", [["--nope"], ["--file"], ["--file", "a", "--profile", "b"]], ids=" ".join)
def test_wrong_usage_is_one_line_and_status_2(archive: Path, tmp_path: Path, arguments: list[str]) -> None:
    with serve(archive, tmp_path, *arguments) as driver:
        assert driver.wait() == 2
        assert len(driver.stderr.splitlines()) == 1
        assert driver.drain() == []


# -- trouble inside --------------------------------------------------------------------------------------------------

BROKEN = """
from memory_app import tools
def broken(name, arguments):
    raise RuntimeError("Ada lives in Oslo")
tools.plan = broken
"""


@ERAS
def test_an_error_of_our_own_is_told_without_a_traceback_or_what_the_memory_holds(tmp_path: Path, era: Era) -> None:
    with variant(tmp_path, BROKEN, era=era) as driver:
        driver.open()
        result = driver.call("read_graph")
        text = "The memory server failed (RuntimeError). Read before you try again: the change may have been stored."
        assert result["isError"] is True
        assert result["content"] == [{"type": "text", "text": text}]
        driver.request("tools/list")
        assert driver.finish() == 0
        assert "RuntimeError" in driver.stderr
        assert "Ada" not in driver.stderr
        assert "Traceback" not in driver.stderr


def test_what_is_printed_inside_never_reaches_the_client(tmp_path: Path) -> None:
    noisy = """
from memory_app import tools
plan = tools.plan
def noisy(name, arguments):
    import os
    print("a library prints")
    os.write(1, b"and writes")
    os.system("echo so do children")
    assert not sys.stdin.read()
    return plan(name, arguments)
tools.plan = noisy
"""
    with variant(tmp_path, noisy) as driver:
        driver.open()
        assert driver.call("read_graph")["isError"] is False
        assert driver.finish() == 0
        assert driver.drain() == []
        for text in ("and writes", "so do children"):
            assert text in driver.stderr


def test_a_load_does_not_hold_up_other_requests(tmp_path: Path) -> None:
    slow = """
import os, time
from memory_app.store import Store
graph = Store.graph
def slow(self):
    open("started", "w").close()
    while not os.path.exists("go"):
        time.sleep(0.005)
    return graph(self)
Store.graph = slow
"""
    with variant(tmp_path, slow) as driver:
        driver.open()
        asked = [driver.start_call("read_graph") for _ in range(20)]
        until_exists(tmp_path / "started")
        assert driver.request("ping") == {}
        assert len(driver.request("tools/list")["tools"]) == 9
        (tmp_path / "go").touch()
        for one in asked:
            assert driver.answer(one)["result"]["isError"] is False


# -- the way of platforms where the loop cannot watch pipes, here -----------------------------------------------------

THREADS = """
import asyncio, select
from asyncio import selector_events, unix_events
def refuse(*_):
    raise NotImplementedError
selector_events.BaseSelectorEventLoop.add_reader = refuse
unix_events._UnixSelectorEventLoop.add_signal_handler = refuse
del select.poll
"""


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


# -- the fast start and the finished answers -------------------------------------------------------------------------

WAYS = {
    "fast": "",
    "by threads": THREADS,
    "plain import": "from memory_app import quickstart; quickstart.CARRIED['mcp'] = '0.0.0'",
    "plain handlers": (
        "import memory_app.quickstart as q; q.load(); q.is_carried = lambda: False; q.load = lambda: False"
    ),
    "failing fast import": (
        "import memory_app.quickstart as q\ndef fail(name): raise RuntimeError\nq._run_init_on_demand = fail"
    ),
}


def session(folder: Path, era: Era, way: str) -> list[Message]:
    """Every kind of message once, in a fixed order."""
    with variant(folder, WAYS[way], era=era) as driver:
        driver.open()
        driver.request("tools/list")
        driver.subscribe(URI)
        driver.call("create_entities", entity('é"\\\n\u2028\U0001f600\ud83d'))
        for tool, arguments in (
            ("create_entities", entity("Ann")),
            ("create_entities", entity("Ann")),
            ("create_entities", {"entities": 1}),
            ("delete_entities", {"entityNames": ["Ann", "Zed"]}),
            ("read_graph", None),
            ("read_graph", {}),
            ("search_nodes", {"query": "e"}),
        ):
            driver.call(tool, arguments)
        for method, params in (
            ("tools/call", {"name": "none"}),
            ("tools/call", {"name": 1}),
            ("tools/call", {"arguments": {}}),
            ("tools/call", {"name": "read_graph", "arguments": []}),
            ("tools/call", {"name": "read_graph", "arguments": {}, "_meta": 5}),
            ("resources/list", {}),
            ("resources/read", {"uri": URI}),
            ("resources/read", {"uri": "x:y"}),
            ("resources/read", {"uri": 1}),
            ("resources/read", {}),
            ("prompts/list", {}),
            ("prompts/get", {"name": "tidy_memory"}),
            ("resources/templates/list", {}),
            ("none", {}),
        ):
            driver.answer(driver.start(method, params))
        driver.close_stdin()
        driver.drain()
        assert driver.wait() == 0
        assert driver.stderr.count("\n") == 1
        return driver.messages


@ERAS
@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=POSIX if way == "by threads" else ()) for way in WAYS if way != "fast"]
)
def test_every_way_of_importing_and_answering_says_the_same(tmp_path: Path, era: Era, way: str) -> None:
    told = []
    for each in ("fast", way):
        folder = tmp_path / each
        folder.mkdir()
        told.append(session(folder, era, each))
    assert told[0] == told[1]


AFTERWARDS = """
from memory_app import quickstart
assert quickstart.load() is {fast}
import sys
import mcp.server.lowlevel
assert ("mcp.client" not in sys.modules) is {fast}
assert ("starlette" not in sys.modules) is {fast}
import pydantic
assert "defer_build" not in pydantic.BaseModel.model_config
assert pydantic.TypeAdapter.__name__ == "TypeAdapter" and pydantic.TypeAdapter(int).validate_python("1") == 1
from mcp.server import streamable_http_manager, transport_security
for name, value in quickstart.CONSTANTS.items():
    real = [getattr(m, name) for m in (streamable_http_manager, transport_security) if hasattr(m, name)]
    assert real and set(real) == {{value}}, name
import mcp, mcp.server
assert mcp.Client.__name__ == "Client" and mcp.server.MCPServer.__name__ == "MCPServer"
from mcp.server.lowlevel import Server
assert mcp.server.Server is Server
import starlette.applications
assert isinstance(Server("x").streamable_http_app(), starlette.applications.Starlette)
import asyncio
async def talk():
    async with mcp.Client(mcp.server.MCPServer("x")) as client:
        await client.list_tools()
asyncio.run(talk())
print("fine")
"""


@pytest.mark.parametrize("way", ["fast", "plain import", "failing fast import"])
def test_after_the_fast_import_the_sdk_is_whole(way: str) -> None:
    code = WAYS[way] + AFTERWARDS.format(fast=way == "fast")
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.stdout, ended.stderr) == ("fine\n", "")


def test_the_archive_starts_the_fast_way(archive: Path, tmp_path: Path) -> None:
    """Seen from outside: the SDK's client was not imported, and of HTTP nothing real."""
    with serve(archive, tmp_path, env={"PYTHONPROFILEIMPORTTIME": "1"}) as driver:
        driver.open()
        assert driver.finish() == 0
    assert "mcp.server.lowlevel" in driver.stderr
    assert "mcp.client" not in driver.stderr
    assert "starlette.datastructures" not in driver.stderr
