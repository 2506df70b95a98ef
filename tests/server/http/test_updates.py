"""Updates over HTTP: from whomever the change comes, to every subscriber, and no longer than the session lasts."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from tests.driver import Driver, Era
from tests.server.http.raw import PATIENCE, Client, ask, opened
from tests.server.http.serving import Serving, environment, serving

ERAS = pytest.mark.parametrize("era", ["2025", "2026"])


def entity(name: str) -> dict[str, object]:
    return {"entities": [{"name": name, "entityType": "thing", "observations": []}]}


@ERAS
def test_each_subscriber_gets_one_update_for_each_save_of_any_client(tmp_path: Path, era: Era) -> None:
    async def work(port: int) -> None:
        async with Client(port, era) as one, Client(port, "2025") as two, Client(port, "2026") as three:
            everybody = (one, two, three)
            for client in everybody:
                await client.subscribe()
            for number, client in enumerate(everybody):
                await client.call("create_entities", entity(f"By {number}"))
                for hearing in everybody:
                    await hearing.updated(number + 1)
            await one.call("create_entities", entity("By 0"))  # changes nothing
            await one.call("create_entities", entity("Last"))
            for hearing in everybody:
                await hearing.updated(4)
                assert hearing.updates == 4

    with serving(tmp_path) as server:
        asyncio.run(work(server.port))


@ERAS
def test_a_change_by_another_process_reaches_the_subscriber(tmp_path: Path, era: Era) -> None:
    async def work(port: int) -> None:
        async with Client(port, era) as client:
            await client.subscribe()
            with Driver([sys.executable, "-m", "memory_app"], env=environment(tmp_path / "memory.jsonl")) as other:
                other.open()
                other.call("create_entities", entity("Foreign"))
                await client.updated(1)
                found = await client.call("open_nodes", {"names": ["Foreign"]})
                assert len(found["structuredContent"]["entities"]) == 1
                await client.call("create_entities", entity("Ours"))
                await client.updated(2)
                assert client.updates == 2

    with serving(tmp_path) as server:
        asyncio.run(work(server.port))


def test_a_deleted_session_is_gone_with_its_stream_and_its_subscription(plain: Serving) -> None:
    async def work() -> None:
        client = Client(plain.port, "2025")
        await client.__aenter__()
        await client.subscribe()
        session = client.headers["Mcp-Session-Id"]
        deleted = await opened(plain.port, "DELETE", client.headers)
        await client.stream_ended()
        client.vanish()
        gone = await opened(plain.port, "GET", {"Mcp-Session-Id": session, "Accept": "text/event-stream"})
        assert gone.status == 404
        for answer in (deleted, gone):
            answer.close()
        async with Client(plain.port) as writing:  # nobody is waited for
            await asyncio.wait_for(writing.call("create_entities", entity("After")), PATIENCE)

    asyncio.run(work())


@ERAS
def test_a_client_that_vanishes_leaves_the_others_as_they_were(plain: Serving, era: Era) -> None:
    async def work() -> None:
        async with Client(plain.port, era) as stays:
            leaves = await Client(plain.port, era).__aenter__()
            await stays.subscribe()
            await leaves.subscribe()
            leaves.vanish()
            for number in range(5):
                await stays.call("create_entities", entity(f"{era} {number}"))
            await stays.updated(5)

    asyncio.run(work())


def test_a_stream_that_broke_and_is_opened_again_brings_what_was_missed_once(plain: Serving) -> None:
    async def work() -> None:
        async with Client(plain.port, "2025") as client, Client(plain.port) as other:
            await client.subscribe()
            await other.call("create_entities", entity("Before the break"))
            await client.updated(1)
            await client.break_stream()
            for number in range(3):
                await other.call("create_entities", entity(f"In the break {number}"))
            await client.open_stream()
            await client.updated(2)
            await client.break_stream()
            await client.open_stream()  # nothing was missed
            await other.call("create_entities", entity("After the break"))
            await client.updated(3)
            assert client.updates == 3

    asyncio.run(work())


def test_an_unsubscribed_client_hears_nothing_more(plain: Serving) -> None:
    async def work() -> None:
        async with Client(plain.port, "2025") as leaves, Client(plain.port) as stays:
            await leaves.subscribe()
            await stays.subscribe()
            await leaves.request("resources/unsubscribe", {"uri": "memory://knowledge-graph"})
            await stays.call("create_entities", entity("Unheard"))
            await stays.updated(1)
            await leaves.request("ping")
            assert leaves.updates == 0

    asyncio.run(work())


def test_only_a_post_opens_a_session(plain: Serving) -> None:
    answer = ask(plain.port, "GET", "/mcp", [("Accept", "text/event-stream")])
    assert answer.status == 400
