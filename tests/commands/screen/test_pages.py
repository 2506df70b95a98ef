"""Pages in a terminal: code stands out where it is code, in whatever line it ends."""

from __future__ import annotations

import io
import re

import pytest

from memory_app.commands.screen.pages import render
from memory_app.commands.screen.terminal import Terminal, width

YELLOW = re.compile("\x1b\\[33m(.*?)\x1b\\[0m")


class _Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return Terminal(_Screen())


@pytest.mark.parametrize("columns", range(12, 60))
def test_code_that_goes_on_in_the_next_line_stands_out_in_both(
    columns: int, screen: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    text = "- Then `--output PATH` names the file, `--force it again` replaces it, and `--no-open` opens nothing."
    lines = list(render(text, screen))
    assert "`" not in "".join(lines)
    marked = " ".join(found for line in lines for found in YELLOW.findall(line))
    assert marked == "--output PATH --force it again --no-open"
    assert not any(re.match("\x1b\\[33m ", line) for line in lines), "the indent is not coloured"


def test_what_is_piped_keeps_its_backticks_and_wraps_at_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr("sys.__stdout__", io.StringIO())
    assert width() == 80
    assert list(render("Run `backup --keep 3`.", Terminal(io.StringIO()))) == ["Run `backup --keep 3`."]
