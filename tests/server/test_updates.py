"""Updates of the resource over real stdio, in both eras: each change is told once, and before its answer."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from memory_app import __version__
from memory_app.server.updates import Updates
from tests.driver import Driver, Era, Message, serve
from tests.variants import until_exists, variant

URI = "memory://knowledge-graph"
UPDATED = "notifications/resources/updated"
STAMP = {"io.modelcontextprotocol/serverInfo": {"name": "memory-server", "title": "Memory", "version": __version__}}
ERAS = pytest.mark.parametrize("era", ["2025", "2026"])


def entity(name: str, *observations: str) -> Message:
    return {"name": name, "entityType": "thing", "observations": list(observations)}


def updates(driver: Driver) -> int:
    return sum(message["method"] == UPDATED for message in driver.notifications)


def append(folder: Path, name: str) -> None:
    """What another program does: a new file in place of the old one."""
    file = folder / "memory.jsonl"
    line = json.dumps({"type": "entity", "name": name, "entityType": "t", "observations": []}) + "\n"
    (folder / "new").write_text((file.read_text() if file.exists() else "") + line)
    os.replace(folder / "new", file)


@ERAS
def test_each_change_is_told_once_and_before_the_answer(archive: Path, tmp_path: Path, era: Era) -> None:
    with serve(archive, tmp_path, era=era) as driver:
        driver.open()
        driver.call("create_entities", {"entities": [entity("before")]})
        listening = driver.subscribe(URI)
        params: Message = {"uri": URI}
        if era == "2026":
            params["_meta"] = {"io.modelcontextprotocol/subscriptionId": listening}
            acknowledged = driver.notification("notifications/subscriptions/acknowledged")["params"]
            assert acknowledged == {"_meta": params["_meta"], "notifications": {"resourceSubscriptions": [URI]}}
        assert updates(driver) == 0
        for count in (1, 2, 3):
            asked = driver.start_call("create_entities", {"entities": [entity(f"own {count}")]})
            answer = driver.answer(asked)
            assert updates(driver) == count
            told = driver.notification(UPDATED, count)
            assert told == {"jsonrpc": "2.0", "method": UPDATED, "params": params}
            assert driver.messages.index(told) < driver.messages.index(answer)
        # what changes nothing is not told; neither is our own save told again when the file is looked at
        driver.call("create_entities", {"entities": [entity("own 1")]})
        append(tmp_path, "foreign 1")
        driver.notification(UPDATED, 4)
        append(tmp_path, "foreign 2")
        driver.notification(UPDATED, 5)
        driver.call("create_entities", {"entities": [entity("last")]})
        assert updates(driver) == 6
        # at 2025 a subscription ends with unsubscribe, at 2026 with the cancelled request
        if era == "2025":
            driver.request("resources/unsubscribe", {"uri": URI})
        else:
            driver.notify("notifications/cancelled", {"requestId": listening})
        driver.call("create_entities", {"entities": [entity("unheard")]})
        assert updates(driver) == 6
        assert driver.finish() == 0


@ERAS
def test_what_happened_before_the_subscription_is_not_told(archive: Path, tmp_path: Path, era: Era) -> None:
    with serve(archive, tmp_path, era=era) as driver:
        driver.open()
        driver.call("create_entities", {"entities": [entity("own")]})
        append(tmp_path, "foreign")  # and nobody has looked since
        driver.subscribe(URI)
        driver.call("create_entities", {"entities": [entity("more")]})
        assert updates(driver) == 1


@ERAS
def test_one_notification_for_calls_that_share_a_save(archive: Path, tmp_path: Path, era: Era) -> None:
    with serve(archive, tmp_path, era=era) as driver:
        driver.open()
        driver.subscribe(URI)
        asked = [driver.start_call("create_entities", {"entities": [entity(str(number))]}) for number in range(40)]
        for one in asked:
            driver.answer(one)
        saves = updates(driver)
        assert 1 <= saves < 40
        told = [index for index, message in enumerate(driver.messages) if message.get("method") == UPDATED]
        answered = [index for index, message in enumerate(driver.messages) if message.get("id") in asked]
        assert max(told) < max(answered)
        assert min(told) < min(answered)


def test_two_listeners_are_told_each_with_its_own_id(archive: Path, tmp_path: Path) -> None:
    with serve(archive, tmp_path, era="2026") as driver:
        driver.open()
        ids = [driver.subscribe(URI), driver.subscribe(URI)]
        driver.call("create_entities", {"entities": [entity("x")]})
        heard = [
            message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"]
            for message in driver.notifications
            if message["method"] == UPDATED
        ]
        assert heard == ids


def test_only_what_will_be_delivered_is_acknowledged(archive: Path, tmp_path: Path) -> None:
    with serve(archive, tmp_path, era="2026") as driver:
        driver.open()
        wanted = {
            "toolsListChanged": True,
            "promptsListChanged": True,
            "resourceSubscriptions": ["memory://other", URI],
        }
        listening = driver.start("subscriptions/listen", {"notifications": wanted})
        told = driver.notification("notifications/subscriptions/acknowledged")["params"]["notifications"]
        assert told == {"resourceSubscriptions": [URI]}
        driver.start("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        told = driver.notification("notifications/subscriptions/acknowledged", 2)["params"]["notifications"]
        assert told == {}
        # the end of the server ends the streams with a result
        driver.close_stdin()
        results = {message["id"]: message.get("result") for message in driver.drain()}
        assert results[listening] == {
            "resultType": "complete",
            "_meta": {**STAMP, "io.modelcontextprotocol/subscriptionId": listening},
        }
        assert driver.wait() == 0


def test_the_file_is_looked_at_once_a_second_while_somebody_is_subscribed_and_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = 0
    waits: list[float] = []
    pause = asyncio.sleep

    async def look() -> int:
        nonlocal looks
        looks += 1
        return 0

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        await pause(0)

    async def tell() -> None:
        raise AssertionError("nothing has changed")

    async def work() -> None:
        updates = Updates(look)
        await updates.subscribe("somebody", tell)
        while looks < 5:
            await pause(0)
        assert max(waits) <= 1
        updates.unsubscribe("somebody")
        before = looks
        for _ in range(20):
            await pause(0)
        assert looks == before

    monkeypatch.setattr(asyncio, "sleep", sleep)
    asyncio.run(asyncio.wait_for(work(), 20))


@pytest.mark.parametrize(
    "where", ["concurrent.futures.ThreadPoolExecutor.submit", "memory_app.storage.store.Store.graph"]
)
def test_a_look_that_fails_for_want_of_a_thread_or_of_memory_does_not_end_the_looking(
    tmp_path: Path, where: str
) -> None:
    owner, method = where.rsplit(".", 1)
    failing = f"""
import os, concurrent.futures, memory_app.storage.store
from concurrent.futures import ThreadPoolExecutor
real = {where}
def failing(self, *arguments):
    if os.path.exists("fail"):
        open("failed", "w").close()
        raise {"RuntimeError" if method == "submit" else "MemoryError"}
    return real(self, *arguments)
{owner}.{method} = failing
"""
    with variant(tmp_path, failing) as driver:
        driver.open()
        driver.subscribe(URI)
        (tmp_path / "fail").touch()
        append(tmp_path, "foreign")
        until_exists(tmp_path / "failed")
        (tmp_path / "fail").unlink()
        driver.notification(UPDATED)
        assert driver.finish() == 0
