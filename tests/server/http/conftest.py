"""Two servers that the quick tests share: one that asks for nothing, and one that wants a token and has a name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.http.serving import TOKEN, Serving, serving


@pytest.fixture(scope="package")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("plain")) as server:
        yield server


@pytest.fixture(scope="package")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """Asks for TOKEN, is known as memory.example, tells each request."""
    folder = tmp_path_factory.mktemp("guarded")
    options = ("--allow-host", "memory.example", "--access-log")
    with serving(folder, *options, env={"MEMORY_HTTP_TOKEN": TOKEN}) as server:
        yield server
