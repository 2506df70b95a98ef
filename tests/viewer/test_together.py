"""Two pages, an assistant over stdio and one over HTTP, each a program of its own from the archive, on one memory."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import pytest

from tests import driver
from tests.server.http import raw
from tests.server.http.serving import serving as serving_http
from tests.viewer import chromium, memories, serving
from tests.viewer.conftest import AT_ONCE
from tests.viewer.memories import stored, write
from tests.viewer.steps import READY, go_to

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a terminal of its own is had on POSIX systems alone")

EACH: Final = 8  # edits of each of the four
WRITERS: Final = ("page one", "page two", "stdio", "http")
FACTS: Final = "[...document.querySelectorAll('.fact')].map(e => e.textContent)"


def fact(writer: str, number: int) -> str:
    return f"{writer} says {number}"


def add_in(page: chromium.Page, text: str) -> None:
    page.evaluate("[...document.querySelectorAll('button')].find(b => b.textContent === 'Add an observation').click()")
    page.type(text)
    page.press("Enter")


def additions(writer: str, number: int) -> dict[str, Any]:
    return {"observations": [{"entityName": "Mei Lin", "contents": [fact(writer, number)]}]}


def by_stdio(server: driver.Driver, begin: threading.Barrier) -> None:
    begin.wait(driver.PATIENCE)
    for number in range(EACH):
        server.call("add_observations", additions("stdio", number))


def by_http(port: int, begin: threading.Barrier) -> None:
    async def edit() -> None:
        async with raw.Client(port) as client:
            begin.wait(driver.PATIENCE)
            for number in range(EACH):
                await client.call("add_observations", additions("http", number))

    asyncio.run(edit())


async def asked(port: int, opened: dict[str, Any]) -> Any:
    async with raw.Client(port) as client:
        return (await client.call("open_nodes", opened))["structuredContent"]


def test_four_that_edit_at_once_lose_nothing_and_agree(
    archive: Path, browser: chromium.Browser, tmp_path: Path
) -> None:
    memory = tmp_path / "memory.jsonl"
    write(memory, memories.example())
    program = [sys.executable, str(archive)]
    view = [*program, "view", "--no-open", "--file", str(memory)]
    with (
        serving.running(view) as first,
        serving.running(view) as second,
        driver.serve(archive, tmp_path) as server,
        serving_http(tmp_path, program=program) as http,
        browser.page(first.address, width=1280, height=800, **AT_ONCE) as one,
        browser.page(second.address, width=1280, height=800, **AT_ONCE) as two,
    ):
        server.open()
        for page in (one, two):
            page.wait(READY)
            go_to(page, "mei")
        begin = threading.Barrier(3)
        with ThreadPoolExecutor(2) as pool:
            running = [pool.submit(by_stdio, server, begin), pool.submit(by_http, http.port, begin)]
            begin.wait(driver.PATIENCE)
            for number in range(EACH):
                for page, writer in ((one, "page one"), (two, "page two")):
                    add_in(page, fact(writer, number))
                for page, writer in ((one, "page one"), (two, "page two")):
                    page.wait(f"{FACTS}.includes({chromium.quoted(fact(writer, number))})")
                    page.wait("document.querySelector('textarea') === null")
            for other in running:
                other.result(timeout=driver.PATIENCE)
        wanted = {fact(writer, number) for writer in WRITERS for number in range(EACH)}
        [mei] = [line for line in stored(memory) if line.get("name") == "Mei Lin"]
        order = mei["observations"]
        assert sorted(order[2:]) == sorted(wanted), "each once, none lost"
        for page in (one, two):
            page.wait(f"{FACTS}.length === {len(order)}")
            assert page.evaluate(FACTS) == order
        opened = {"names": ["Mei Lin"]}
        assert server.call("open_nodes", opened)["structuredContent"]["entities"][0]["observations"] == order
        assert asyncio.run(asked(http.port, opened))["entities"][0]["observations"] == order
        assert page.problems == []
