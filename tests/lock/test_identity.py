"""Who this process is, and when another is proven gone: on real processes where they can be had."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memory_app.lock import identity
from tests.gating import PATIENCE
from tests.locks import pid_that_is_gone

linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")

STAT = "{pid} ({name}) {state} 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 {threads} 0 {start} 1 2 3"


def start_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]


@linux_only
def test_this_process_is_named_by_all_that_linux_knows() -> None:
    me = identity.this_process()
    assert me.pid == os.getpid()
    assert me.boot == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert me.pidns == os.stat("/proc/self/ns/pid").st_ino
    assert me.start == start_of(os.getpid())
    assert me.hostname.partition("#")[0] == os.uname().nodename
    assert me.initial == (me.hostname == os.uname().nodename)


def test_a_forks_child_gets_an_identity_of_its_own() -> None:
    before = identity.this_process()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        me = identity.this_process()
        os.write(writer, b"own" if me.pid == os.getpid() != before.pid else b"its parent's")
        os._exit(0)
    os.close(writer)
    assert os.read(reader, 100) == b"own"
    os.close(reader)
    os.waitpid(child, 0)


def test_a_process_that_has_ended_is_gone_and_one_that_lives_is_not() -> None:
    assert identity.gone(pid_that_is_gone(), None)
    assert identity.gone(pid_that_is_gone(), "1")
    assert not identity.gone(os.getpid(), None)
    assert not identity.gone(os.getpid(), identity.this_process().start)


@linux_only
def test_a_pid_with_another_start_is_another_process() -> None:
    parent = os.getppid()
    assert not identity.gone(parent, start_of(parent))
    assert identity.gone(parent, start_of(parent) + "0")


@linux_only
def test_a_zombie_is_gone() -> None:
    process = subprocess.Popen([sys.executable, "-S", "-c", ""])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert start_of(process.pid)  # it can still be seen
    assert identity.gone(process.pid, None)
    process.wait(PATIENCE)


@linux_only
def test_a_process_whose_first_thread_has_ended_is_not_gone() -> None:
    code = """
import ctypes, threading, sys
def go_on():
    with open("/proc/self/stat") as file:
        while file.read().rpartition(")")[2].split()[0] != "Z":
            file.seek(0)
    print("Z", flush=True)
    sys.stdin.readline()
threading.Thread(target=go_on).start()
ctypes.CDLL(None).syscall(60, 0)  # exit of this thread alone
"""
    if os.uname().machine != "x86_64":
        pytest.skip("the number of the exit call is x86-64's")
    with subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"Z\n"
            assert not identity.gone(process.pid, None)
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("text", "zombie", "start"),
    [
        (STAT.format(pid=5, name="python3", state="S", threads=4, start=999), False, "999"),
        (STAT.format(pid=5, name=") Z 1 (x y)", state="R", threads=1, start=999), False, "999"),
        (STAT.format(pid=5, name="python3", state="Z", threads=1, start=999), True, "999"),
        (STAT.format(pid=5, name="python3", state="X", threads=0, start=999), True, "999"),
        (STAT.format(pid=5, name="python3", state="Z", threads=3, start=999), False, "999"),
    ],
    ids=["a common one", "a name with parentheses", "a zombie", "one being reaped", "first thread ended"],
)
def test_the_fields_of_a_process_are_read_behind_its_name(text: str, zombie: bool, start: str) -> None:
    assert identity._parse(text) == (zombie, start)


@pytest.mark.parametrize("text", [None, "", "5 (python3) S 1", "garbage"])
def test_what_cannot_be_read_proves_nothing(text: str | None) -> None:
    assert identity._parse(text) is None


def test_another_users_process_is_not_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(pid: int, number: int) -> None:
        raise PermissionError(1, "not yours")

    monkeypatch.setattr(os, "kill", refuse)
    monkeypatch.setattr(identity, "_status", lambda pid: None)
    assert not identity.gone(os.getppid(), "1")


def test_a_hidden_process_that_exists_is_not_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "_text", lambda path: None)  # /proc mounted with hidepid
    assert not identity.gone(os.getppid(), "1")


def test_a_proc_of_another_pid_namespace_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "readlink", lambda path: "4711")
    assert not identity.gone(os.getppid(), "1")


@linux_only
@pytest.mark.parametrize(
    ("inode", "release", "initial"),
    [
        (identity.INITIAL_PID_NAMESPACE, "6.1.0-18-amd64", True),
        (4026532999, "6.1.0-18-amd64", False),
        (None, "6.1.0-18-amd64", False),
        (identity.INITIAL_PID_NAMESPACE, "5.15.90.1-microsoft-standard-WSL2", False),
        (identity.INITIAL_PID_NAMESPACE, "4.4.0-19041-Microsoft", False),
    ],
    ids=["the machine", "a container", "no /proc", "WSL 2", "WSL 1"],
)
def test_pids_are_the_machines_own_only_in_its_initial_pid_namespace(
    monkeypatch: pytest.MonkeyPatch, inode: int | None, release: str, initial: bool
) -> None:
    system = os.uname()
    monkeypatch.setattr(identity, "_pid_namespace", lambda: inode)
    monkeypatch.setattr(os, "uname", lambda: os.uname_result((system[0], "attic", release, system[3], system[4])))
    assert identity.in_initial_pid_namespace() is initial
    identity._identity.cache_clear()
    try:
        wanted = "attic" if initial else f"attic#{inode or 'unknown'}"
        assert identity.this_process().hostname == wanted
    finally:
        identity._identity.cache_clear()


@linux_only
def test_the_proc_of_linux_is_not_asked_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "freebsd14")
    assert identity._boot() is None
    assert identity._pid_namespace() is None
    assert identity.in_initial_pid_namespace()


@linux_only
def test_a_process_whose_clock_is_shifted_neither_has_a_start_nor_asks_for_one() -> None:
    parent = os.getppid()
    code = f"""
from memory_app.lock import identity
print(identity.this_process().start, identity.gone({parent}, {start_of(parent)!r}), identity.gone({parent}, "1"))
"""
    command = ["unshare", "--time", "--boottime", "100000", "--fork", sys.executable, "-c", code]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, cwd=Path(__file__).parents[2], check=False
        )
    except OSError:
        pytest.skip("unshare is not installed")
    if done.returncode != 0:
        pytest.skip("this machine permits no time namespaces (unshare --time)")
    assert done.stdout.split() == ["None", "False", "False"]


@linux_only
def test_a_process_in_a_pid_namespace_of_its_own_names_it() -> None:
    shown = "print(m.hostname, m.pidns, m.initial, m.pid)"
    code = f"from memory_app.lock import identity; m = identity.this_process(); {shown}"
    command = ["unshare", "--pid", "--fork", sys.executable, "-c", code]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, cwd=Path(__file__).parent.parent
        )
    except OSError:
        pytest.skip("unshare is not installed")
    if done.returncode != 0:
        pytest.skip("this machine permits no pid namespaces (unshare --pid)")
    hostname, pidns, initial, pid = done.stdout.split()
    assert hostname == f"{os.uname().nodename}#{pidns}"
    assert (initial, pid) == ("False", "1")
    assert int(pidns) != os.stat("/proc/self/ns/pid").st_ino
