"""Who is refused, and with which answer; and that nothing of what was asked is told to anybody."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

from memory_app.server.messages import Malformed, parse_batch
from tests.server.http.raw import PATIENCE, Reply, ask, message, post
from tests.server.http.serving import TOKEN, Serving

LIST = message("tools/list")
BEARER = ("Authorization", f"Bearer {TOKEN}")


def refused(answer: Any, status: int) -> None:
    """The status, and one JSON-RPC error that carries the request's id."""
    assert answer.status == status, answer
    error = answer.json()["error"]
    assert error["data"]["requestId"] == answer.headers["x-request-id"]


# -- tokens ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param((), id="none"),
        pytest.param((("Authorization", ""),), id="empty"),
        pytest.param((("Authorization", "Bearer"),), id="scheme-alone"),
        pytest.param((("Authorization", "Bearer "),), id="no-token"),
        pytest.param((("Authorization", TOKEN),), id="token-alone"),
        pytest.param((("Authorization", f"Bearer {TOKEN[:-1]}"),), id="shorter"),
        pytest.param((("Authorization", f"Bearer {TOKEN}0"),), id="longer"),
        pytest.param((("Authorization", f"Bearer {TOKEN.upper()}"),), id="other-case"),
        pytest.param((("Authorization", f"Bearer {TOKEN} {TOKEN}"),), id="twice-in-one"),
        pytest.param((("Authorization", f"Bearer,{TOKEN}"),), id="comma"),
        pytest.param((("Authorization", f"Basic {TOKEN}"),), id="other-scheme"),
        pytest.param((("Authorization", f"Bearer t\xf6ken{TOKEN}"),), id="not-ascii"),
        pytest.param((BEARER, BEARER), id="repeated"),
        pytest.param((BEARER, ("Authorization", "Bearer wrong")), id="right-then-wrong"),
        pytest.param((("Authorization", "Bearer wrong"), BEARER), id="wrong-then-right"),
        pytest.param((("X-Authorization", f"Bearer {TOKEN}"),), id="other-header"),
    ],
)
def test_without_the_one_right_token_nothing_is_answered(
    guarded: Serving, headers: tuple[tuple[str, str], ...]
) -> None:
    answer = post(guarded.port, LIST, *headers)
    refused(answer, 401)
    assert answer.headers["www-authenticate"].startswith('Bearer realm="memory"')
    assert ("invalid_token" in answer.headers["www-authenticate"]) == any(n == "Authorization" for n, _ in headers)


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_is_read_in_any_case(guarded: Serving, scheme: str) -> None:
    assert post(guarded.port, LIST, ("Authorization", f"{scheme} {TOKEN}")).status == 200


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "PUT", "OPTIONS", "HEAD"])
def test_no_method_goes_past_the_token(guarded: Serving, method: str) -> None:
    answer = ask(guarded.port, method, "/mcp", [("Access-Control-Request-Method", "POST")])
    assert answer.status == 401
    assert not any(name.startswith("access-control") for name in answer.headers)


def test_a_token_in_the_query_counts_for_nothing(guarded: Serving) -> None:
    refused(ask(guarded.port, "POST", f"/mcp?access_token={TOKEN}&token={TOKEN}"), 401)


# -- names of hosts and origins --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:8765", "memory.example", "Memory.Example:443"]
)
def test_a_request_to_a_known_name_is_served(guarded: Serving, host: str) -> None:
    assert post(guarded.port, LIST, BEARER, ("Host", host)).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "",
        "localhost.evil.example",
        "memory.example.evil",
        "127.0.0.1.nip.io",
        "[",
        "0.0.0.0",
        "a@b@localhost.x",
        "evil.example@localhost",
        "localhost/evil",
        "localhost?x",
        "127.0.0.1:abc",
        "127.0.0.1:",
    ],
)
def test_a_request_to_another_name_is_refused(guarded: Serving, plain: Serving, host: str) -> None:
    refused(post(guarded.port, LIST, BEARER, ("Host", host)), 421)
    refused(post(plain.port, LIST, ("Host", host)), 421)
    refused(ask(plain.port, "GET", "/health", [("Host", host)]), 421)


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:3000", 200),
        ("http://127.0.0.1", 200),
        ("https://memory.example", 200),
        ("https://evil.example", 403),
        ("https://localhost.evil.example", 403),
        ("null", 403),
        ("", 403),
        ("file://", 403),
        ("localhost", 403),
        ("file://localhost", 403),
        ("javascript://localhost", 403),
        ("http://evil.example\\@localhost", 403),
        ("http://evil.example@localhost", 403),
        ("http://localhost/", 403),
    ],
)
def test_a_page_of_another_machine_is_refused(guarded: Serving, origin: str, status: int) -> None:
    assert post(guarded.port, LIST, BEARER, ("Origin", origin)).status == status


def test_two_origins_are_none(plain: Serving) -> None:
    refused(post(plain.port, LIST, ("Origin", "http://localhost"), ("Origin", "http://localhost")), 403)


@pytest.mark.parametrize(
    "path",
    ["/", "//mcp", "/mcp//", "/mcp/../mcp", "/..", "/mcp%2f..%2f", "/%6dcp", "/MCP", "/health/", "/%00", "*", "/x/mcp"],
)
def test_a_path_counts_as_it_is_written_and_there_are_no_others(plain: Serving, path: str) -> None:
    refused(ask(plain.port, "POST", path, body=b"{}"), 404)


# -- what is sent ----------------------------------------------------------------------------------------------------


def test_a_body_that_is_too_large_is_refused_before_it_is_read(plain: Serving) -> None:
    head = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {5 << 20}\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", plain.port), PATIENCE) as connection:
        connection.sendall(head)
        answer = connection.recv(4096)
        while not answer.endswith(b"}}"):
            answer += connection.recv(4096)
        assert answer.startswith(b"HTTP/1.1 413 ") and b"--max-body" in answer


def test_a_body_of_some_megabytes_is_taken(plain: Serving) -> None:
    fact = "x" * (3 << 20)
    arguments = {"entities": [{"name": "Large", "entityType": "thing", "observations": [fact]}]}
    assert post(plain.port, message("tools/call", {"name": "create_entities", "arguments": arguments})).status == 200
    answer = post(
        plain.port, message("tools/call", {"name": "delete_entities", "arguments": {"entityNames": ["Large"]}})
    )
    assert not answer.json()["result"].get("isError")


@pytest.mark.parametrize(
    ("head", "status"),
    [
        pytest.param(b"GARBAGE\r\n\r\n", 400, id="no-http"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400, id="tls"),
        pytest.param(b"GET /mcp HTTP/1.1\r\n\r\n", 400, id="no-host"),
        pytest.param(b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400, id="two-hosts"),
        pytest.param(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", 400, id="negative"),
        pytest.param(
            b"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, id="two-lengths"
        ),
        pytest.param(b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 70_000, 400, id="large-head"),
    ],
)
def test_what_is_not_http_gets_one_answer_and_the_end(plain: Serving, head: bytes, status: int) -> None:
    with socket.create_connection(("127.0.0.1", plain.port), PATIENCE) as connection:
        connection.sendall(head)
        with connection.makefile("rb") as answer:
            assert answer.readline().split()[1] == str(status).encode()
            while answer.read(65536):
                pass


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"[" * 5000, -32700),
        (b"[]", -32600),
        (b"1", -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"x"}', -32600),
    ],
)
def test_what_is_no_request_gets_the_error_of_the_protocol(plain: Serving, body: bytes, code: int) -> None:
    headers = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")]
    answer = ask(plain.port, "POST", "/mcp", [*headers, ("MCP-Protocol-Version", "2026-07-28")], body)
    assert answer.status == 400 and answer.json()["error"]["code"] == code
    assert len(answer.headers["x-request-id"]) == 16


@pytest.mark.parametrize(
    ("more", "status"),
    [
        pytest.param(("Accept", "text/html"), 406, id="accept"),
        pytest.param(("Mcp-Session-Id", "0" * 32), 404, id="unknown-session"),
        pytest.param(("Mcp-Session-Id", "../../etc/passwd"), 404, id="path-as-session"),
    ],
)
def test_what_the_transport_asks_for_is_needed(plain: Serving, more: tuple[str, str], status: int) -> None:
    hello = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"} | dict([more])
    assert ask(plain.port, "POST", "/mcp", list(headers.items()), json.dumps(hello).encode()).status == status


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(plain: Serving, method: str) -> None:
    answer = ask(plain.port, method, "/mcp", [("MCP-Protocol-Version", "2026-07-28")])
    assert answer.status == 405 and answer.headers["allow"] == "POST"
    assert ask(plain.port, method, "/mcp").status == 405


def test_a_lone_surrogate_is_answered(plain: Serving) -> None:
    body = (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_entities","arguments":{"entities":'
        b'[{"name":"\\ud800","entityType":"odd","observations":["\\udc00"]}]},"_meta":'
        + json.dumps(message("x")["params"]["_meta"]).encode()
        + b"}}"
    )
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    headers |= {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "create_entities"}
    answer = ask(plain.port, "POST", "/mcp", list(headers.items()), body)
    assert answer.status == 200
    assert answer.json()["result"]["structuredContent"]["entities"][0]["name"] == "\ufffd"


# -- health and what is told -----------------------------------------------------------------------------------------


def test_health_needs_no_token_and_tells_nothing(guarded: Serving) -> None:
    answer = ask(guarded.port, "GET", "/health")
    assert (answer.status, answer.json()) == (200, {"status": "ok"})
    assert ask(guarded.port, "HEAD", "/health").status == 200
    refused(ask(guarded.port, "POST", "/health", body=b"{}"), 405)
    assert "server" not in answer.headers


def test_every_answer_has_an_id_of_its_own(guarded: Serving) -> None:
    answers = [post(guarded.port, LIST, BEARER) for _ in range(3)] + [post(guarded.port, LIST) for _ in range(3)]
    assert len({answer.headers["x-request-id"] for answer in answers}) == 6


def test_the_log_has_ids_and_no_token_path_or_fact(guarded: Serving) -> None:
    fact = "Ann-keeps-the-key-under-the-mat"
    arguments = {"entities": [{"name": "Ann", "entityType": "person", "observations": [fact]}]}
    call = message("tools/call", {"name": "create_entities", "arguments": arguments})
    answers = [
        post(guarded.port, call, BEARER),
        post(guarded.port, call, ("Authorization", f"Bearer {TOKEN}-wrong")),
        ask(guarded.port, "GET", f"/secret-path?{fact}"),
        post(guarded.port, message("tools/call", {"name": fact, "arguments": {}}), BEARER),
    ]
    assert [answer.status for answer in answers] == [200, 401, 404, 400]
    for answer in answers:
        guarded.wait_until_said(answer.headers["x-request-id"])
    said = guarded.stderr
    for answer in answers:
        (line,) = [line for line in said.splitlines() if answer.headers["x-request-id"] in line]
        assert f" {answer.status} " in line
    for secret in (TOKEN, fact, "secret-path", "Ann", "Traceback"):
        assert secret not in said


def test_without_an_access_log_requests_are_not_told(plain: Serving) -> None:
    before = len(plain.stderr)
    post(plain.port, LIST)
    ask(plain.port, "GET", "/nothing")
    assert plain.stderr[before:] == ""


# -- batches ---------------------------------------------------------------------------------------------------------


def _request(number: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def _batch(server: Serving, messages: list[dict[str, Any]], version: str = "2025-03-26") -> Reply:
    headers = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")]
    body = json.dumps(messages).encode()
    return ask(server.port, "POST", "/mcp", [*headers, ("MCP-Protocol-Version", version)], body)


def test_a_batch_of_the_revision_that_has_them_is_answered_by_one_array(plain: Serving) -> None:
    notification = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    messages = [
        _request(1, "tools/call", name="open_nodes", arguments={"names": ["Nobody"]}),
        notification,
        _request(2, "tools/list"),
        {"jsonrpc": "2.0", "id": 3},
        _request(4, "initialize"),
        _request(5, "tools/call", name="no_such_tool"),
    ]
    answers = _batch(plain, messages).json()
    assert [one["id"] for one in answers] == [1, 2, 3, 4, 5]
    assert answers[0]["result"]["structuredContent"]["notFound"] == [{"name": "Nobody", "near": []}]
    assert len(answers[1]["result"]["tools"]) == 9
    assert [one["error"]["code"] for one in answers[2:]] == [-32600, -32600, -32602]
    assert (_batch(plain, [notification]).status, _batch(plain, []).status) == (202, 400)


def test_a_batch_of_another_revision_or_a_very_long_one_is_refused_as_a_whole(plain: Serving) -> None:
    for version in ("2025-06-18", "2025-11-25", "2026-07-28"):
        answer = _batch(plain, [_request(1, "ping")], version)
        assert (answer.status, answer.json()["error"]["code"]) == (400, -32600)
    assert _batch(plain, [_request(number, "ping") for number in range(1001)]).status == 400


def test_a_batch_that_is_too_long_is_refused_before_its_messages_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory_app.server.messages._message", None)
    with pytest.raises(Malformed, match="a batch has 1,000 messages at most"):
        parse_batch(b"[" + b"1," * 1000 + b"1]", 1000)
