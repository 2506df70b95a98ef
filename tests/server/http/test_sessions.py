"""Ids of sessions: whose they are, how long they are good, and what of them survives a restart."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from memory_app.server.http.sessions import KEY_BYTES, LIFETIME_SECONDS, Sessions, load_key
from memory_app.server.http.streams import Streams
from memory_app.server.http.tokens import Token
from memory_app.server.updates import Updates
from tests.server.http import raw
from tests.server.http.raw import Client, ask, opened
from tests.server.http.serving import TOKEN, Serving, serving

KEY = bytes(KEY_BYTES)
VERSION = "2025-06-18"
URI = "memory://knowledge-graph"


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_an_id_is_good_for_its_holder_and_its_memory_alone() -> None:
    sessions = Sessions(KEY)
    one = sessions.begin("ann", "work", VERSION)
    assert sessions.check(one, "ann", "work") == (VERSION, True)
    assert [sessions.check(one, *other) for other in (("bo", "work"), ("ann", "home"), ("", ""))] == [None] * 3


def test_an_id_is_good_in_a_later_process_with_the_same_key() -> None:
    one = Sessions(KEY).begin("ann", "", VERSION)
    assert Sessions(KEY).check(one, "ann", "") == (VERSION, False)
    assert Sessions(bytes(range(32))).check(one, "ann", "") is None


def test_no_letter_of_an_id_can_be_another() -> None:
    sessions = Sessions(KEY)
    one = sessions.begin("ann", "", VERSION)
    for at, letter in enumerate(one):
        other = one[:at] + ("A" if letter != "A" else "B") + one[at + 1 :]
        assert sessions.check(other, "ann", "") is None, at
    for other in (one[:-1], one + "=", one + "A", "", "\u00e9" * len(one), one.replace(one[0], " ", 1)):
        assert sessions.check(other, "ann", "") is None


def test_an_id_expires_and_an_ended_one_stays_ended() -> None:
    clock = Clock()
    sessions = Sessions(KEY, clock)
    one, two = (sessions.begin("", "", VERSION) for _ in range(2))
    sessions.end(one)
    assert sessions.check(one, "", "") is None and sessions.check(two, "", "") is not None
    clock.now += LIFETIME_SECONDS - 1
    assert sessions.check(two, "", "") is not None
    clock.now += 1
    assert sessions.check(two, "", "") is None


def test_the_key_is_made_once_and_private(tmp_path: Path) -> None:
    path = tmp_path / "key"
    key = load_key(str(path))
    assert len(key) == KEY_BYTES and load_key(str(path)) == key and os.listdir(tmp_path) == ["key"]
    if sys.platform != "win32":
        assert path.stat().st_mode & 0o777 == 0o600
        path.chmod(0o644)
        with pytest.raises(OSError, match="other users"):
            load_key(str(path))
    path.write_text("nonsense")
    path.chmod(0o600)
    with pytest.raises(OSError, match="no key"):
        load_key(str(path))


async def unchanged() -> int:
    return 0


def test_sessions_that_keep_nothing_are_not_kept_and_the_others_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory_app.server.http.streams._MOST_KEPT", 3)

    async def work() -> None:
        changes = Updates(unchanged)
        streams = Streams(changes, URI, 10)
        for name in "abcd":
            await streams.subscribe(name, None)
        assert streams.kept == len(changes) == 3
        streams.unsubscribe("d")
        assert streams.kept == len(changes) == 2
        streams.end("b")
        streams.end("c")
        assert streams.kept == len(changes) == 0
        changes.close()

    asyncio.run(work())


def test_each_token_has_its_share_of_subscriptions_and_a_revoked_one_none() -> None:
    ann, bo = (Token(name, may_write=True, digest=name.encode()) for name in ("ann", "bo"))

    async def work() -> None:
        changes = Updates(unchanged)
        streams = Streams(changes, URI, 2)
        assert [await streams.subscribe(name, ann) for name in "abcb"] == [True, True, False, True]
        assert await streams.subscribe("d", bo)
        assert streams.kept == len(changes) == 3
        streams.revoke(lambda token: token == bo)
        assert streams.kept == len(changes) == 1
        changes.close()

    asyncio.run(work())


@pytest.mark.skipif(sys.platform == "win32", reason="there is no signal that can be caught")
@pytest.mark.parametrize("token", [None, TOKEN], ids=["open", "token"])
def test_a_session_goes_on_after_a_restart_and_its_stream_too(tmp_path: Path, token: str | None) -> None:
    env = {"MEMORY_HTTP_TOKEN": token} if token else None

    async def before(server: Serving) -> Client:
        client = await Client(server.port, "2025", token).__aenter__()
        await client.subscribe()
        await client.break_stream()
        return client

    async def after(client: Client) -> None:
        await client.call("read_graph", {})
        await client.open_stream()
        await client.updated(1)  # what happened meanwhile
        entity = {"name": "After", "entityType": "thing", "observations": []}
        await client.call("create_entities", {"entities": [entity]})
        await client.updated(2)
        for method, status in (("DELETE", 200), ("GET", 404)):
            answer = await opened(client.port, method, {**client.headers, "Accept": "text/event-stream"})
            assert answer.status == status
            answer.close()
        client.vanish()

    with serving(tmp_path, env=env) as server:
        client = asyncio.run(before(server))
        server.process.send_signal(signal.SIGTERM)
        assert server.ended() == 0
    with serving(tmp_path, env=env) as server:
        client.port = server.port
        asyncio.run(after(client))


def test_a_call_needs_no_session_and_an_invented_one_is_refused(plain: Serving) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    headers = [("Content-Type", "application/json")]
    assert len(ask(plain.port, "POST", "/mcp", headers, body).json()["result"]["tools"]) == 9
    for invented in ("0" * 32, "A" * 64, "x"):
        refused = ask(plain.port, "POST", "/mcp", [*headers, ("Mcp-Session-Id", invented)], body)
        assert refused.status == 404 and "mcp-session-id" not in refused.headers


def test_a_newer_stream_takes_the_place_of_the_older_one(plain: Serving) -> None:
    async def work() -> None:
        async with Client(plain.port, "2025") as client:
            await client.subscribe()
            older, listening = client._stream, client._listening
            assert older is not None and listening is not None
            await client.open_stream()
            await asyncio.wait_for(listening, raw.PATIENCE)
            assert older.is_whole
            older.close()
            entity = {"name": "Newer stream", "entityType": "thing", "observations": []}
            await client.call("create_entities", {"entities": [entity]})
            await client.updated(1)

    asyncio.run(work())


def test_a_last_event_id_is_passed_over(plain: Serving) -> None:
    async def work() -> None:
        async with Client(plain.port, "2025") as client:
            headers = {**client.headers, "Accept": "text/event-stream", "Last-Event-ID": "5"}
            stream = await opened(plain.port, "GET", headers)
            assert stream.status == 200 and len(stream.headers["x-request-id"]) == 16
            stream.close()

    asyncio.run(work())
