"""The image's start reads the memory file's path as the server does, so that it hands over the right file."""

from __future__ import annotations

import pytest

from build.image.entry import meant
from memory_app.location.expansion import expanded

HOME = "/app/dist"


@pytest.mark.parametrize(
    "written",
    [
        "memory.jsonl",
        "~/m.jsonl",
        "$HOME/m.jsonl",
        "${HOME}/m.jsonl",
        "${NOPE_NOT_SET:-/app/dist}/m.jsonl",
        "${HOME:-/x}/m.jsonl",
        "file:///app/dist/m%20m.jsonl",
        "file://localhost/app/dist/m.jsonl",
        "file:/app/dist/m.jsonl",
        '"/app/dist/m.jsonl"',
        " '/app/dist/m.jsonl' \r\n",
        "a~/b",
        "$1/m.jsonl",
    ],
)
def test_the_image_and_the_server_read_one_path_alike(written: str) -> None:
    assert meant(written, HOME) == expanded(written, "MEMORY_FILE_PATH", {"HOME": HOME}, "linux")
