"""The browser that the viewer's tests share, and pages in it that have to end without a complaint."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Protocol

import pytest

from memory_app import viewer
from tests.viewer import chromium, memories
from tests.viewer.serving import Served
from tests.viewer.steps import READY, STILL

# Where motion is no matter: the layout is at its end, and the camera at its place, in a frame instead of a second.
AT_ONCE: Final = {"prefers_reduced_motion": "reduce"}


Look = Callable[..., chromium.Page]


class Open(Protocol):
    """Open the page of a graph. Problems that the page had are asserted away at the end of the test."""

    def __call__(
        self, graph: str, *, title: str = ..., width: int = ..., height: int = ..., **media: str
    ) -> chromium.Page: ...


@pytest.fixture(scope="session")
def browser() -> Iterator[chromium.Browser]:
    path = chromium.program()
    if path is None:
        pytest.skip("no Chromium on this machine")
    with chromium.running(path) as found:
        yield found


@pytest.fixture
def open_page(browser: chromium.Browser, tmp_path: Path) -> Iterator[Open]:
    with contextlib.ExitStack() as stack:
        pages: list[chromium.Page] = []

        def opened(
            graph: str, *, title: str = "memory.jsonl", width: int = 1280, height: int = 800, **media: str
        ) -> chromium.Page:
            file = tmp_path / f"page{len(pages)}.html"
            source = viewer.Source(title, "/home/ada/memory.jsonl", "2026-03-01 09:30")
            file.write_text(viewer.page(graph, source), encoding="utf-8")
            pages.append(stack.enter_context(browser.page(file, width=width, height=height, **(AT_ONCE | media))))
            return pages[-1]

        yield opened
        for page in pages:
            page.evaluate("new Promise(requestAnimationFrame)")
            assert page.problems == []


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    path = tmp_path / "memory.jsonl"
    memories.write(path, memories.example())
    return path


@pytest.fixture
def look(browser: chromium.Browser) -> Iterator[Look]:
    with contextlib.ExitStack() as stack:
        pages: list[chromium.Page] = []

        def opened(served: Served, **options: Any) -> chromium.Page:
            pages.append(stack.enter_context(browser.page(served.address, **(AT_ONCE | options))))
            pages[-1].wait(READY)
            if pages[-1].is_hidden("#notice"):
                pages[-1].wait(STILL)
            return pages[-1]

        yield opened
        for page in pages:
            # The program has ended by now, and has refused what a test wanted refused: the browser notes both.
            assert [one for one in page.problems if "Failed to load resource" not in one] == []
