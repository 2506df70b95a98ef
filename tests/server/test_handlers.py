"""The start of a serving process and trouble inside it: descriptors, what stderr says, errors of our own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.driver import Era, serve
from tests.variants import (
    ERAS,
    HELLO,
    POSIX,
    ROOT,
    entity,
    names,
    until_exists,
    variant,
)


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
from memory_app.server.stdio.pipes import fill_standard
fill_standard()
assert all(stat.S_ISCHR(os.fstat(number).st_mode) for number in (0, 2))
assert os.open("/dev/null", os.O_RDONLY) > 2
print("fine")
"""
    command = ["sh", "-c", 'exec "$0" -c "$1" <&- 2>&-', sys.executable, code]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=60, check=False)
    assert ended.stdout == b"fine\n"


@POSIX
def test_a_full_stderr_that_nobody_reads_stops_nothing(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "memory.jsonl").write_text('{"type":"entity","name":"x","entityType":"t","observations":[]}\njunk\n')
    unread, full = os.pipe()
    os.set_blocking(full, False)
    for piece in (b"x" * 4096, b"x"):
        try:
            while True:
                os.write(full, piece)
        except BlockingIOError:
            pass
    os.set_blocking(full, True)
    calls = [
        {"id": 1, "method": "initialize", "params": HELLO},
        {"id": 2, "method": "tools/call", "params": {"name": "read_graph"}},
    ]
    try:
        done = subprocess.run(
            [sys.executable, archive],
            input="".join(json.dumps({"jsonrpc": "2.0", **call}) + "\n" for call in calls).encode(),
            stdout=subprocess.PIPE,
            stderr=full,
            env={**os.environ, "MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")},
            timeout=20,
            check=False,
        )
    finally:
        os.close(unread)
        os.close(full)
    assert done.returncode == 0
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, 2]


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


BROKEN = """
from memory_app.tools import table as tools
def broken(name, arguments):
    raise RuntimeError("Ada lives in Oslo")
tools.plan = broken
"""


@ERAS
def test_an_error_of_our_own_is_told_without_a_traceback_or_what_the_memory_holds(tmp_path: Path, era: Era) -> None:
    with variant(tmp_path, BROKEN, era=era) as driver:
        driver.open()
        for tool, advice in (
            ("read_graph", "Nothing was changed. Ask for less, or try again."),
            ("create_entities", "Read before you try again: the change may have been stored."),
        ):
            result = driver.call(tool, entity("Ada"))
            assert result["isError"] is True
            text = f"The memory server failed (RuntimeError). {advice}"
            assert result["content"] == [{"type": "text", "text": text}]
        driver.request("tools/list")
        assert driver.finish() == 0
        assert "RuntimeError" in driver.stderr
        assert "Ada" not in driver.stderr
        assert "Traceback" not in driver.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits another process")
def test_where_the_system_gives_no_thread_calls_fail_at_once_and_later_ones_are_served(
    archive: Path, tmp_path: Path
) -> None:
    import resource

    with serve(archive, tmp_path) as driver:
        driver.open()
        status = Path(f"/proc/{driver.process.pid}/status").read_text()
        size = int(status.split("VmSize:")[1].split()[0]) << 10
        _, hard = resource.prlimit(driver.process.pid, resource.RLIMIT_AS)
        resource.prlimit(driver.process.pid, resource.RLIMIT_AS, (size + (1 << 20), hard))  # less than a stack needs
        for name in ("Ann", "Bo"):
            refused = driver.call("create_entities", entity(name))
            assert refused["isError"] is True and "nothing was changed" in refused["content"][0]["text"]
        assert driver.call("read_graph")["isError"] is False  # by the thread that looked at the size of the file
        resource.prlimit(driver.process.pid, resource.RLIMIT_AS, (hard, hard))
        assert driver.call("create_entities", entity("Cy"))["isError"] is False
        assert names(tmp_path) == ["Cy"]
        assert driver.finish() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits another process")
def test_wherever_the_descriptors_run_out_a_call_is_answered_soon_and_truly(archive: Path, tmp_path: Path) -> None:
    import resource

    stored = ["first"]
    with serve(archive, tmp_path) as driver:
        driver.open()
        driver.call("create_entities", entity("first"))
        pid = driver.process.pid
        before, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        highest = max(map(int, os.listdir(f"/proc/{pid}/fd")))
        for limit in range(highest - 1, highest + 6):
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, hard))
            answer = driver.call("create_entities", entity(f"with {limit}"))
            text = answer["content"][0]["text"]
            if answer["isError"]:
                assert "too many" in text.lower() and "open" in text
            if not answer["isError"] or "The change is stored" in text:
                stored.append(f"with {limit}")
            assert names(tmp_path) == stored
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (before, hard))
        assert driver.call("create_entities", entity("last"))["isError"] is False
        assert {path.name for path in tmp_path.iterdir()} <= {"memory.jsonl", "memory.jsonl.history"}
        assert driver.finish() == 0
    assert names(tmp_path) == [*stored, "last"]


def test_what_is_printed_inside_never_reaches_the_client(tmp_path: Path) -> None:
    noisy = """
from memory_app.tools import table as tools
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
from memory_app.storage.store import Store
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
