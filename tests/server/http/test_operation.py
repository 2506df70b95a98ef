"""What whoever runs the server needs: readiness, metrics, an audit log, several memories, sockets of other kinds."""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import re
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import pytest

from memory_app.commands.serve import _other_users, register
from memory_app.server.http.access import Access, parse_address
from memory_app.server.http.asgi import Bodies
from memory_app.server.http.audit import Audit, counts
from memory_app.server.http.metrics import Metrics
from memory_app.server.http.served import Served, conceal
from memory_app.server.http.sessions import Sessions
from memory_app.server.stderr import Notices
from tests.locks import our_fields, write_record
from tests.server.http.raw import PATIENCE, Client, ask, message, post
from tests.server.http.serving import ROOT, SOURCE, TOKEN, Serving, serving

BEARER: Final = ("Authorization", f"Bearer {TOKEN}")
READ: Final = message("tools/call", {"name": "read_graph", "arguments": {}})
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="there are no Unix sockets in Python there")


def created(name: str) -> dict[str, Any]:
    entity = {"name": name, "entityType": "thing", "observations": ["a secret"]}
    return message("tools/call", {"name": "create_entities", "arguments": {"entities": [entity]}})


def test_a_memory_that_cannot_be_used_is_told_to_the_operator_and_not_to_clients(tmp_path: Path) -> None:
    (tmp_path / "memory.jsonl").write_text("my diary\n")
    with serving(tmp_path) as server:
        assert ask(server.port, "GET", "/health").status == 200
        assert ask(server.port, "GET", "/ready").status == 503
        for _ in range(3):
            result = post(server.port, READ).json()["result"]
            assert result["isError"]
            text = result["content"][0]["text"]
            assert "memory file" in text and str(tmp_path) not in text
        assert len([line for line in server.said if "is not a memory file" in line]) == 1
        assert str(tmp_path) in server.stderr
        (tmp_path / "memory.jsonl").write_text("")
        until = time.monotonic() + PATIENCE  # the answer holds for a second
        while ask(server.port, "GET", "/ready").status != 200:
            assert time.monotonic() < until, "it never became ready"


@pytest.mark.skipif(sys.platform == "win32", reason="no modes")
def test_a_read_only_file_is_not_ready_unless_it_is_only_read(tmp_path: Path) -> None:
    memory = tmp_path / "memory.jsonl"
    memory.write_text('{"type":"entity","name":"Ann","entityType":"person","observations":[]}\n')
    memory.chmod(0o444)
    with serving(tmp_path) as server:
        assert ask(server.port, "GET", "/ready").status == 503
    with serving(tmp_path, "--read-only") as server:
        assert ask(server.port, "GET", "/ready").status == 200


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/srv/m.jsonl is read-only; change it.", "The memory file is read-only; change it."),
        ("The lock /srv/m.jsonl.lock is held.", "The lock is held."),
        ("Could not create the lock /srv/m.jsonl.lock.", "Could not create the lock."),
        ("Nothing of it here.", "Nothing of it here."),
        ("Make /srv writable.", "Make its folder writable."),
    ],
)
def test_no_path_is_told_to_clients(text: str, shown: str) -> None:
    assert conceal(text, "/srv/m.jsonl") == shown


def test_metrics_need_the_token_and_count_calls(tmp_path: Path) -> None:
    with serving(tmp_path, env={"MEMORY_HTTP_TOKEN": TOKEN}) as server:
        assert post(server.port, created("Ann"), BEARER).status == 200
        assert post(server.port, message("tools/call", {"name": "nonsense", "arguments": {}}), BEARER).status == 400
        assert ask(server.port, "GET", "/metrics").status == 401
        answer = ask(server.port, "GET", "/metrics", [BEARER])
        assert answer.headers["content-type"].startswith("text/plain")
        text = answer.body.decode()
        assert 'memory_calls_total{memory="",call="create_entities",outcome="ok"} 1' in text
        assert 'memory_calls_total{memory="",call="other",outcome="error"} 1' in text
        assert 'memory_saves_total{memory=""} 1' in text and 'memory_entities{memory=""} 1' in text
        assert "Ann" not in text and "nonsense" not in text
        for line in text.splitlines():
            assert line.startswith("# TYPE ") or float(line.rpartition(" ")[2]) >= 0


def test_waits_for_the_lock_are_counted_with_their_time(tmp_path: Path) -> None:
    lock = tmp_path / "memory.jsonl.lock"
    write_record(lock, **our_fields())  # as a process that lives would hold it

    def told(port: int, name: str) -> float:
        line = re.search(rf'memory_{name}{{memory=""}} (\S+)', ask(port, "GET", "/metrics").body.decode())
        assert line is not None
        return float(line[1])

    with serving(tmp_path) as server, ThreadPoolExecutor(1) as other:
        assert told(server.port, "lock_wait_seconds_count") == 0
        call = other.submit(post, server.port, created("Ann"))
        until = time.monotonic() + PATIENCE
        while not told(server.port, "waits_for_lock"):
            assert time.monotonic() < until, "it never waited"
        lock.unlink()
        assert call.result(PATIENCE).status == 200
        assert told(server.port, "lock_wait_seconds_count") == 1
        assert 0 < told(server.port, "lock_wait_seconds_sum") < PATIENCE
        assert told(server.port, "save_seconds_count") == told(server.port, "saves_total") == 1
        assert told(server.port, "file_bytes") == server.memory.stat().st_size


def test_many_who_ask_for_readiness_of_a_file_that_does_not_answer_share_one_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_app.server.http.served._LOAD_SECONDS", 0.01)
    looks, answers = [], asyncio.Event()

    async def look() -> bool:
        looks.append(1)
        await answers.wait()
        return True

    async def work() -> None:
        access = Access(parse_address("0"), None)
        budget = Bodies(1, 1)
        notices = Notices()
        sessions = Sessions(bytes(32))
        served = Served(
            "", str(tmp_path / "m.jsonl"), notices, access, sessions, budget, Audit(None, notices), Metrics()
        )
        monkeypatch.setattr(served, "_look", look)
        assert await asyncio.gather(*(served.is_ready() for _ in range(20))) == [False] * 20
        assert looks == [1]
        await served.close()

    asyncio.run(work())


def test_the_audit_log_says_who_did_what_and_nothing_of_the_facts(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    with serving(tmp_path, "--audit-log", str(log), env={"MEMORY_HTTP_TOKEN": TOKEN}) as server:
        answers = [
            post(server.port, created("Ann"), BEARER),
            post(server.port, message("tools/call", {"name": "Bob", "arguments": {"Cat": [1]}}), BEARER),
            post(server.port, READ, BEARER),
        ]
        post(server.port, READ)  # refused: nobody did anything
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["request"] for line in lines] == [answer.headers["x-request-id"] for answer in answers]
    assert [(line["tool"], line["items"], line["ok"]) for line in lines] == [
        ("create_entities", {"entities": 1}, True),
        (None, {}, False),
        ("read_graph", {}, True),
    ]
    assert {line["token"] for line in lines} == {"token"}
    for word in ("Ann", "Bob", "Cat", "secret", TOKEN):
        assert word not in log.read_text()
    if sys.platform != "win32":
        assert log.stat().st_mode & 0o777 == 0o600


def test_a_moved_audit_log_begins_anew_and_one_that_cannot_be_written_is_reported_once(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    said: list[str] = []
    audit = Audit(str(path), said.append)

    def tell() -> None:
        audit.tell(
            request="1", token="", memory="", method="ping", tool=None, arguments=None, status=200, failed=False,
            milliseconds=1,
        )  # fmt: skip

    tell()
    path.rename(tmp_path / "audit.log.1")
    tell()
    assert len(path.read_text().splitlines()) == len((tmp_path / "audit.log.1").read_text().splitlines()) == 1
    path.unlink()
    path.mkdir()  # stands for whatever keeps the line from being written
    tell()
    tell()
    assert len(said) == 1 and str(path) in said[0]
    path.rmdir()
    tell()
    audit.close()
    assert path.read_text().count('"ping"') == len(said) == 1


def test_counts_are_of_arguments_that_tools_have() -> None:
    assert counts({"entities": [1, 2], "names": ["a"], "query": "x", "Ann": [1]}) == {"entities": 2, "names": 1}
    assert counts(None) == counts([1]) == {}


def test_several_memories_are_kept_apart(tmp_path: Path) -> None:
    options = [f"--memory={name}={tmp_path / name}.jsonl" for name in ("work", "home")]

    async def work(port: int) -> None:
        one, two = Client(port, "2025", path="/work/mcp"), Client(port, "2025", path="/home/mcp")
        async with one, two:
            await one.subscribe()
            await two.subscribe()
            entity = {"name": "At work", "entityType": "thing", "observations": []}
            await one.call("create_entities", {"entities": [entity]})
            await one.updated(1)
            assert (await two.call("read_graph", {}))["structuredContent"]["entities"] == []
            assert two.updates == 0
            stranger = Client(port, "2025", path="/home/mcp")
            stranger.headers = dict(one.headers)
            assert (await stranger.request("ping"))["error"]["message"] == "Session not found"

    with serving(tmp_path, *options) as server:
        asyncio.run(work(server.port))
        assert ask(server.port, "POST", "/mcp").status == 404
        assert ask(server.port, "GET", "/ready").status == 200
        assert server.stderr.count("serving at ") == 2
    assert "At work" in (tmp_path / "work.jsonl").read_text() and not (tmp_path / "home.jsonl").exists()


def test_a_prefix_stands_before_every_path(tmp_path: Path) -> None:
    with serving(tmp_path, "--path", "/office/") as server:
        paths = ("/office/health", "/office/ready", "/office/mcp", "/health", "/mcp")
        assert [ask(server.port, "GET", path).status for path in paths] == [200, 200, 400, 404, 404]


def test_a_token_has_its_share_of_requests(tmp_path: Path) -> None:
    with serving(tmp_path, "--rate", "1") as server:
        answers = [ask(server.port, "DELETE", "/mcp") for _ in range(30)]
        assert {answer.status for answer in answers} == {400, 429}
        assert {answer.headers.get("retry-after") for answer in answers if answer.status == 429} == {"1"}


def test_each_message_of_a_batch_counts_against_the_share(tmp_path: Path) -> None:
    headers = [("Content-Type", "application/json"), ("MCP-Protocol-Version", "2025-03-26")]
    batch = [{"jsonrpc": "2.0", "id": number, "method": "ping"} for number in range(300)]
    with serving(tmp_path, "--rate", "1") as server:
        answers = ask(server.port, "POST", "/mcp", headers, json.dumps(batch).encode()).json()
        assert [one["id"] for one in answers] == list(range(300))
        refused = [one["error"]["message"] for one in answers if "error" in one]
        assert "result" in answers[0] and len(refused) > 100 and "Too many requests" in refused[0]


def test_an_origin_that_was_named_may_use_the_server_and_no_other(tmp_path: Path) -> None:
    page, other = "https://notes.example.org", "http://localhost:3000"
    asks = ("Access-Control-Request-Method", "POST")
    with serving(tmp_path, "--allow-origin", page, env={"MEMORY_HTTP_TOKEN": TOKEN}) as server:
        before = ask(server.port, "OPTIONS", "/mcp", [("Origin", page), asks])
        assert before.status == 204 and before.headers["access-control-allow-origin"] == page
        answer = post(server.port, READ, BEARER, ("Origin", page))
        assert answer.status == 200 and answer.headers["access-control-allow-origin"] == page
        assert post(server.port, READ, ("Origin", page)).status == 401
        assert ask(server.port, "OPTIONS", "/mcp", [("Origin", other), asks]).status == 401
        assert post(server.port, READ, BEARER, ("Origin", "https://evil.example")).status == 403


def test_on_a_network_an_origin_has_to_be_the_host_itself(tmp_path: Path) -> None:
    with serving(tmp_path, at="0.0.0.0:0", env={"MEMORY_HTTP_TOKEN": TOKEN}) as server:
        for origin, status in (("http://memory.example", 200), ("http://evil.example", 403), ("null", 403)):
            assert post(server.port, READ, BEARER, ("Host", "memory.example"), ("Origin", origin)).status == status


def test_the_address_that_is_printed_is_served(tmp_path: Path) -> None:
    with serving(tmp_path, at="127.0.0.5:0") as server:
        connection = http.client.HTTPConnection("127.0.0.5", server.port, timeout=PATIENCE)
        connection.request("GET", "/health")
        assert connection.getresponse().status == 200
        connection.close()


def test_all_addresses_are_those_of_both_families(tmp_path: Path) -> None:
    if not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    with serving(tmp_path, at="[::]:0", env={"MEMORY_HTTP_TOKEN": TOKEN}) as server:
        assert ask(server.port, "GET", "/health").status == 200


class Unix(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=PATIENCE)
        self._at = str(path)

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(self._at)


def status_at(path: Path, target: str = "/ready") -> int:
    connection = Unix(path)
    connection.request("GET", target, headers={"Host": "anything.example"})
    try:
        return connection.getresponse().status
    finally:
        connection.close()


@POSIX
def test_a_unix_socket_is_private_and_gone_after_the_end(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with serving(tmp_path, at=f"unix:{path}") as server:
        assert path.stat().st_mode & 0o777 == 0o600
        assert status_at(path) == status_at(path, "/metrics") == 200
        server.process.terminate()
        assert server.ended() == 0
    assert not path.exists()


@POSIX
def test_an_abandoned_socket_is_replaced_and_anything_else_is_not(tmp_path: Path) -> None:
    path = tmp_path / "s"
    abandoned = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    abandoned.bind(str(path))
    abandoned.close()
    with serving(tmp_path, at=f"unix:{path}") as server:
        assert status_at(path) == 200
        for taken in (path, tmp_path / "memory.txt"):
            taken.touch()
            result = started(tmp_path, f"unix:{taken}")
            assert result == 2
        assert status_at(path) == 200
        assert server.process.poll() is None


def started(folder: Path, at: str) -> int:
    """The exit status of a server that cannot start."""
    import subprocess

    from tests.server.http.serving import ROOT, environment

    command = [*SOURCE, "serve", "--http", at]
    env = environment(folder / "memory.jsonl")
    return subprocess.run(command, env=env, cwd=ROOT, capture_output=True, timeout=PATIENCE, check=False).returncode


AS_SYSTEMD: Final = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execv(sys.argv[2], sys.argv[2:])
"""


@POSIX
def test_a_socket_of_systemds_is_served_and_it_is_told_when_the_server_is_ready(tmp_path: Path) -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        notified.bind(str(tmp_path / "notify"))
        notified.settimeout(PATIENCE)
        program = (sys.executable, "-c", AS_SYSTEMD, str(listening.fileno()), *SOURCE)
        env = {"NOTIFY_SOCKET": str(tmp_path / "notify")}
        with serving(tmp_path, at="systemd", program=program, env=env, pass_fds=[listening.fileno()]) as server:
            assert notified.recv(100) == b"READY=1"
            assert server.port == listening.getsockname()[1]
            assert ask(server.port, "GET", "/ready").status == 200
    listening.close()


@POSIX
def test_other_people_on_the_machine_are_told_of_once(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        post(server.port, READ)
        assert server.stderr.count("every user of this machine") == bool(_other_users())


def test_the_log_names_the_client_behind_a_proxy_that_is_trusted(tmp_path: Path) -> None:
    forwarded = ("X-Forwarded-For", "6.6.6.6, 203.0.113.9, 127.0.0.1")

    def told(server: Serving) -> str:
        answer = post(server.port, READ, forwarded)
        server.wait_until_said(answer.headers["x-request-id"])
        return next(line for line in server.stderr.splitlines() if answer.headers["x-request-id"] in line)

    with serving(tmp_path, "--access-log", "--trusted-proxy", "127.0.0.1") as server:
        assert told(server).endswith(" 203.0.113.9")
    with serving(tmp_path, "--access-log", "--trusted-proxy", "10.0.0.1") as server:
        assert told(server).endswith(" 127.0.0.1")


# -- in a container ----------------------------------------------------------------------------------------------------


def test_the_compose_file_of_the_guide_is_hardened_and_its_options_exist() -> None:
    """It was parsed by `docker-compose config`; this holds what it promises, line by line, without a YAML parser."""
    block = (ROOT / "memory_app" / "guide" / "http.md").read_text("utf-8").partition("```yaml\n")[2].partition("```")[0]
    hardened = {"read_only: true", 'cap_drop: ["ALL"]', 'security_opt: ["no-new-privileges:true"]'}
    service, _, rest = block.partition("\nsecrets:\n")
    lines = {line.strip() for line in service.splitlines()}
    assert hardened <= lines and 'secrets: ["tokens"]' in lines
    assert '- "127.0.0.1:8765:8765"' in lines and "environment:" not in lines
    assert rest.startswith("  tokens:\n    file: ") and "/ready" in service
    words = json.loads(next(line for line in lines if line.startswith("command: ")).partition(" ")[2])
    parser = argparse.ArgumentParser(exit_on_error=False)
    register(parser)
    asked = parser.parse_args(words[1:])
    assert (words[0], asked.token_file, asked.http) == ("serve", "/run/secrets/tokens", "0.0.0.0:8765")
    healthcheck = json.loads(re.search(r"test: (\[.*\])", service)[1])  # type: ignore[index]
    compile(healthcheck[-1], "healthcheck", "exec")
