"""Connections that are kept, half closed or broken off, and bodies of all kinds: what each costs and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from memory_app.server.http import asgi, limits
from memory_app.server.http.asgi import Bodies, Disconnected, Headers, Refused
from tests.server.http import keeping
from tests.server.http.raw import PATIENCE, Client, ask, asyncio_timeout, headers_of, message, opened, post
from tests.server.http.serving import Serving, serving

LIST: Final = message("tools/list")
PING: Final = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
JSON: Final = ("Content-Type", "application/json")


@contextlib.contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as one:
        yield one


def sent(body: bytes, *more: str) -> bytes:
    lines = ["POST /mcp HTTP/1.1", "Host: localhost", "Content-Type: application/json", *more]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


def answered(one: socket.socket) -> bytes:
    """One answer with a length."""
    got = b""
    while b"\r\n\r\n" not in got:
        piece = one.recv(65536)
        assert piece, got
        got += piece
    head, _, body = got.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head)
    assert length is not None, head
    while len(body) < int(length[1]):
        body += one.recv(65536)
    return head + b"\r\n\r\n" + body


def rest(one: socket.socket) -> bytes:
    got = b""
    with contextlib.suppress(ConnectionError):
        while piece := one.recv(65536):
            got += piece
    return got


def test_calls_on_a_kept_connection_do_not_wait_for_delayed_acknowledgements(plain: Serving) -> None:
    with connected(plain.port) as one:
        took = []
        for _ in range(30):
            began = time.monotonic()
            one.sendall(sent(PING))
            assert answered(one).startswith(b"HTTP/1.1 200 ")
            took.append(time.monotonic() - began)
    assert statistics.median(took) < 0.03, took  # a delayed acknowledgement takes 40 ms


def test_connections_are_kept_for_longer_than_proxies_keep_theirs() -> None:
    assert limits.KEEP_ALIVE_SECONDS > 120  # Caddy's default, twice nginx's


def test_a_client_that_vanished_without_a_word_is_probed_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as one:
        limits._tune(one)
        assert one.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        if sys.platform == "linux":
            assert one.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 60
            assert one.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 240_000


def test_an_idle_connection_makes_room_for_a_new_one(tmp_path: Path) -> None:
    pytest.importorskip("resource")
    limited = ("sh", "-c", 'ulimit -n 130; exec "$0" "$@"', sys.executable, "-m", "memory_app")
    with serving(tmp_path, program=limited) as server, contextlib.ExitStack() as stack:
        kept = [stack.enter_context(connected(server.port)) for _ in range(2)]
        for one in kept:
            one.sendall(sent(PING))
            assert answered(one).startswith(b"HTTP/1.1 200 ")
        new = stack.enter_context(connected(server.port))  # the third of two
        new.sendall(sent(PING))
        assert answered(new).startswith(b"HTTP/1.1 200 ")


def test_a_client_that_closes_its_sending_side_is_served_and_answered(plain: Serving) -> None:
    entity = {"name": "Half closed", "entityType": "thing", "observations": []}
    call = {"name": "create_entities", "arguments": {"entities": [entity]}}
    for body in (PING, json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode()):
        with connected(plain.port) as one:
            one.sendall(sent(body))
            one.shutdown(socket.SHUT_WR)
            assert rest(one).startswith(b"HTTP/1.1 200 ")
    assert "Half closed" in plain.memory.read_text()


def test_a_body_whose_length_is_told_twice_closes_the_connection(plain: Serving) -> None:
    head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n"
    with connected(plain.port) as one:
        one.sendall(head + b"0\r\n\r\n" + sent(PING))
        answer = rest(one)
    assert answer.startswith(b"HTTP/1.1 400 ") and answer.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize("head", [b"GARBAGE\r\n\r\n", b"GET /mcp HTTP/1.1\r\n\r\n"])
def test_what_is_no_http_is_answered_with_an_id_and_told_in_the_log(guarded: Serving, head: bytes) -> None:
    with connected(guarded.port) as one:
        one.sendall(head)
        found = re.search(rb"x-request-id: ([0-9a-f]{16})", rest(one))
    assert found is not None
    guarded.wait_until_said(f"{found[1].decode()} - 400")


def test_a_broken_chunk_is_told_as_the_400_that_it_got(guarded: Serving) -> None:
    head = (
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n"
        "Authorization: Bearer a-token-that-is-only-for-tests-0123456789\r\n\r\n"
    )
    with connected(guarded.port) as one:
        one.sendall(head.encode() + b"nonsense\r\n")
        answer = rest(one)
    found = re.search(rb"x-request-id: ([0-9a-f]{16})", answer)
    assert answer.startswith(b"HTTP/1.1 400 ") and found is not None
    guarded.wait_until_said(f"{found[1].decode()} POST 400")


def test_of_a_long_method_the_log_has_the_beginning(guarded: Serving) -> None:
    answer = ask(guarded.port, "M" * 30_000, "/mcp")
    guarded.wait_until_said(answer.headers["x-request-id"])
    (line,) = [line for line in guarded.stderr.splitlines() if answer.headers["x-request-id"] in line]
    assert len(line) < 80


def test_the_target_may_hold_the_host(plain: Serving) -> None:
    assert ask(plain.port, "GET", f"http://localhost:{plain.port}/health").status == 200
    assert ask(plain.port, "GET", "http://evil.example/health").status == 421


# -- what is accepted, and in which form -------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        pytest.param(None, "application/json", id="none"),
        pytest.param("*/*", "application/json", id="any"),
        pytest.param("application/json", "application/json", id="json"),
        pytest.param("text/event-stream", "text/event-stream", id="stream"),
        pytest.param("text/event-stream, application/json", "application/json", id="both"),
    ],
)
def test_an_answer_has_a_form_that_the_client_accepts(plain: Serving, path: str, accept: str | None, kind: str) -> None:
    headers = [JSON, *([("Accept", accept)] if accept is not None else [])]
    answer = ask(plain.port, "POST", path, headers, PING)
    assert answer.status == 200 and answer.headers["content-type"] == kind
    body = answer.body if kind != "text/event-stream" else answer.body.partition(b"data: ")[2]
    assert json.loads(body) == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param([("Content-Type", "text/plain")], id="text"),
        pytest.param([JSON, ("Content-Encoding", "gzip")], id="gzip"),
    ],
)
def test_another_kind_of_body_is_refused(plain: Serving, headers: list[tuple[str, str]]) -> None:
    answer = ask(plain.port, "POST", "/mcp", headers, PING)
    assert answer.status == 415 and "mcp-session-id" not in answer.headers


@pytest.mark.parametrize("era", ["2025", "2026"])
@pytest.mark.parametrize(
    ("name", "stored"),
    [
        pytest.param(b'"smile \\ud83d"', "smile \ufffd", id="lone-surrogate"),
        pytest.param(b'"byte \xff"', "byte \ufffd", id="broken-utf-8"),
        pytest.param(b"[" * 300 + b"]" * 300, None, id="nested"),
    ],
)
def test_http_takes_what_stdio_takes(plain: Serving, era: str, name: bytes, stored: str | None) -> None:
    whole = message("tools/call", {"name": "create_entities", "arguments": {"entities": "HERE"}})
    entity = b'[{"name":%s,"entityType":"odd","observations":[]}]' % name
    body = json.dumps(whole).encode().replace(b'"HERE"', entity)
    headers = {k: v for k, v in headers_of("2026", whole).items() if era == "2026" or not k.startswith("M")}
    result = ask(plain.port, "POST", "/mcp", list(headers.items()), body).json()["result"]
    if stored is None:
        assert result["isError"]
    else:
        created = result["structuredContent"]
        names = [one["name"] for one in created["entities"]] + created.get("skipped", [])
        assert names == [stored]


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
        b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
    ],
)
def test_what_is_no_request_gets_one_short_line(plain: Serving, body: bytes) -> None:
    answer = ask(plain.port, "POST", "/mcp", [JSON], body)
    assert answer.status == 400 and answer.json()["error"]["code"] == -32600
    assert len(answer.body) < 250 and b"pydantic" not in answer.body


def test_a_cancelled_call_of_a_session_is_answered_as_cancelled(tmp_path: Path) -> None:
    from tests.locks import our_fields, write_record

    write_record(tmp_path / "memory.jsonl.lock", **our_fields())
    entity = {"name": "Never", "entityType": "thing", "observations": []}
    call = {"name": "create_entities", "arguments": {"entities": [entity]}}

    async def work(port: int) -> None:
        async with Client(port, "2025") as client:
            waiting = asyncio.ensure_future(client.request("tools/call", call))
            await asyncio.sleep(0)
            number = client._number
            async with asyncio_timeout():
                while not waiting.done():  # the first ones may come before it
                    (await client._send("notifications/cancelled", {"requestId": number})).close()
            assert (await waiting)["error"]["code"] == -32800

    with serving(tmp_path) as server:
        asyncio.run(work(server.port))
        assert not server.memory.exists()


# -- bodies ----------------------------------------------------------------------------------------------------------


def headers(length: int | None) -> Headers:
    return Headers([] if length is None else [(b"content-length", str(length).encode())])


async def never() -> Any:
    await asyncio.Event().wait()


async def whole() -> Any:
    return {"type": "http.request", "body": b"x", "more_body": False}


def test_all_bodies_together_have_a_budget_and_small_ones_a_share_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(asgi, "_BUDGET_SECONDS", 0.05)
    mebibyte = 1 << 20

    async def work() -> None:
        bodies = Bodies(4 * mebibyte, seconds=PATIENCE)
        large = [asyncio.ensure_future(bodies.read(headers(None), never)) for _ in range(14)]
        await asyncio.sleep(0)
        with pytest.raises(Refused) as found:
            await bodies.read(headers(4 * mebibyte), whole)
        assert found.value.status == 503
        assert await bodies.read(headers(1), whole) == (b"x", 1)
        waiting = asyncio.ensure_future(bodies.read(headers(4 * mebibyte), whole))
        await asyncio.sleep(0)
        bodies.give_back(1)
        large.pop().cancel()
        assert await asyncio.wait_for(waiting, PATIENCE) == (b"x", 1)
        bodies.give_back(1)
        for one in large:
            one.cancel()
        await asyncio.gather(*large, return_exceptions=True)
        assert bodies._held == 0

    asyncio.run(work())


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param([(b"ab", True), (b"c", False)], b"abc", id="two-pieces"),
        pytest.param([(b"abcde", True)], Refused, id="too-long"),
        pytest.param([(b"a", True), None], Disconnected, id="broken-off"),
    ],
)
def test_a_body_is_whole_or_none(messages: list[tuple[bytes, bool] | None], expected: Any) -> None:
    async def work() -> None:
        left = list(messages)

        async def receive() -> Any:
            one = left.pop(0)
            return (
                {"type": "http.disconnect"}
                if one is None
                else dict(zip(("type", "body", "more_body"), ("http.request", *one), strict=True))
            )

        bodies = Bodies(4, seconds=PATIENCE)
        if isinstance(expected, bytes):
            assert await bodies.read(headers(None), receive) == (expected, len(expected))
            bodies.give_back(len(expected))
        else:
            with pytest.raises(expected):
                await bodies.read(headers(None), receive)
        assert bodies._held == 0

    asyncio.run(work())


def resident(server: Serving) -> int:
    """MiB."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) // 1024


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(("waves", "count"), [(3, 10), pytest.param(4, 50, marks=pytest.mark.slow)])
def test_uploads_that_are_broken_off_leave_nothing(tmp_path: Path, waves: int, count: int) -> None:
    body = b" " * (15 << 20)
    lines = ["POST /mcp HTTP/1.1", "Host: localhost", f"Content-Length: {len(body) + 1}"]
    head = "\r\n".join([*lines, "Content-Type: application/json", "", ""])

    def wave(port: int) -> None:
        with contextlib.ExitStack() as stack:
            made = [stack.enter_context(connected(port)) for _ in range(count)]
            for one in made:
                one.settimeout(0.5)
                with contextlib.suppress(TimeoutError, ConnectionError):
                    one.sendall(head.encode() + body)
        assert ask(port, "GET", "/health").status == 200

    with serving(tmp_path, "--max-body", "16") as server:
        post(server.port, LIST)
        before = resident(server)
        after = []
        for _ in range(waves):
            wave(server.port)
            after.append(resident(server))
        print(f"{waves} waves of {count} uploads: {before} MiB before, then {after}")
        assert after[-1] < before + 100


@pytest.mark.parametrize("count", [1100])
def test_subscriptions_that_come_at_once_have_a_bound_all_the_same(tmp_path: Path, count: int) -> None:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 3 * count:
        pytest.skip("too few descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 3 * count), hard))
    wanted = message("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["memory://knowledge-graph"]}})

    async def work(port: int) -> None:
        made = await asyncio.gather(
            *(opened(port, "POST", headers_of("2026", wanted), json.dumps(wanted).encode()) for _ in range(count))
        )
        streams = [one for one in made if one.headers["content-type"] == "text/event-stream"]
        assert len(streams) == 1024
        for one in made:
            one.close()

    with serving(tmp_path) as server:
        asyncio.run(work(server.port))


def test_subscribers_whose_requests_told_no_length_keep_no_uploads_waiting(plain: Serving) -> None:
    wanted = message("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["memory://knowledge-graph"]}})
    lines = ["POST /mcp HTTP/1.1", "Host: localhost", "Transfer-Encoding: chunked"]
    lines += [f"{name}: {value}" for name, value in headers_of("2026", wanted).items()]
    body = json.dumps(wanted).encode()
    whole = "\r\n".join([*lines, "", ""]).encode() + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    with contextlib.ExitStack() as stack:
        for one in [stack.enter_context(connected(plain.port)) for _ in range(20)]:
            one.sendall(whole)
            assert b" 200 " in one.recv(1 << 16).partition(b"\r\n")[0]
        large = message("tools/call", {"name": "open_nodes", "arguments": {"names": ["x" * (3 << 20)]}})
        assert post(plain.port, large).status == 200


def test_answers_that_nobody_reads_have_a_bound_whichever_tool_made_them(tmp_path: Path) -> None:
    line = {"type": "entity", "name": "Ann", "entityType": "person", "observations": ["x" * (20 << 20)]}
    (tmp_path / "memory.jsonl").write_text(json.dumps(line) + "\n")
    wanted = message("tools/call", {"name": "search_nodes", "arguments": {"query": "Ann"}})

    async def work(port: int) -> None:
        async with Client(port) as small:
            streams = []
            for _ in range(6):
                streams.append(
                    await opened(
                        port, "POST", headers_of("2026", wanted), json.dumps(wanted).encode(), receive_buffer=4096
                    )
                )
            assert [one.status for one in streams] == [200, 200, 200, 200, 503, 503]
            assert streams[-1].headers["retry-after"] == "5"
            assert (await small.call("open_nodes", {"names": ["Nobody"]}))["structuredContent"]["entities"] == []
            await small.call("create_entities", {"entities": [{"name": "Bo", "entityType": "x", "observations": []}]})
            for one in streams:
                one.close()

    with serving(tmp_path) as server:
        asyncio.run(work(server.port))


def test_a_whole_graph_keeps_nobody_waiting_for_as_long_as_it_takes(tmp_path: Path) -> None:
    lines = (
        {"type": "entity", "name": f"Entity {n}", "entityType": "thing", "observations": ["x" * 100, "y" * 100]}
        for n in range(40_000)
    )
    (tmp_path / "memory.jsonl").write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))

    async def work(port: int) -> None:
        large, small = await keeping.opened(port, 2)
        await large.call("read_graph", {})
        shares = []
        for _ in range(5):
            began = time.monotonic()
            whole = asyncio.ensure_future(large.call("read_graph", {}))
            waits = []
            while not whole.done():
                asked = time.monotonic()
                await small.call("open_nodes", {"names": ["Entity 1"]})
                waits.append(time.monotonic() - asked)
            await whole
            shares.append(max(waits) / (time.monotonic() - began))
        large.close()
        small.close()
        assert statistics.median(shares) < 0.6, shares  # where answers pass through models it is nearly all of it

    with serving(tmp_path) as server:
        asyncio.run(work(server.port))


def test_large_answers_in_a_batch_have_the_bound_too_though_another_call_of_it_wrote(tmp_path: Path) -> None:
    line = {"type": "entity", "name": "Ann", "entityType": "person", "observations": ["x" * (2 << 20)]}
    (tmp_path / "memory.jsonl").write_text(json.dumps(line) + "\n")
    wanted = {"name": "search_nodes", "arguments": {"query": "Ann"}}
    batch: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": wanted} for number in range(2)
    ]
    arguments = {"entities": [{"name": "Bo", "entityType": "person", "observations": []}]}
    batch.append({**batch[0], "id": 2, "params": {"name": "create_entities", "arguments": arguments}})
    headers = {"Content-Type": "application/json", "MCP-Protocol-Version": "2025-03-26"}

    async def work(port: int) -> None:
        sent = (opened(port, "POST", headers, json.dumps(batch).encode(), receive_buffer=4096) for _ in range(6))
        streams = await asyncio.gather(*sent)
        held = [int(one.headers["content-length"]) for one in streams]
        assert sum(held) < 24 << 20, held  # the bound and what was under way, of 48
        for one in streams:
            one.close()

    lower = "import sys; from memory_app.server.http import transport as t; t._MOST_UNSENT = 4 << 20\n"
    program = (sys.executable, "-c", lower + "from memory_app.cli import main; sys.exit(main())")
    with serving(tmp_path, program=program) as server:
        asyncio.run(work(server.port))
