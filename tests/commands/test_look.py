"""search, show, stats, view, call and help: what people and scripts look at."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from memory_app.commands.screen.pages import render
from memory_app.commands.screen.terminal import Terminal, columns, paragraph, safe, track, working
from tests.commands.running import entity, relation, run, write


def test_search_shows_what_holds_the_words_with_where_it_leads(memory: Path, home: Path) -> None:
    result = run("search", "green", "TEA", "--file", memory, home=home)
    assert (result.status, result.err) == (0, "")
    assert result.out.splitlines()[0] == "Ann  (person)"
    assert "  - Likes green tea" in result.out
    assert "  works at → Acme  (company)" in result.out
    assert "Acme  (company)\n" in result.out
    assert "1 entity found" in result.out


def test_search_puts_what_matches_first(home: Path) -> None:
    path = write(home / "m.jsonl", entity("Ann", "p", [*(f"fact {n}" for n in range(9)), "likes CAFÉ"]))
    lines = run("search", "cafe", "--file", path, home=home).out.splitlines()
    assert lines[1] == "  - likes CAFÉ"
    assert "and 5 more observations" in "\n".join(lines)


def test_search_json_is_the_data_of_the_tool(memory: Path, home: Path) -> None:
    found = run("search", "tea", "--json", "--file", memory, home=home).json()
    called = run("call", "search_nodes", '{"query":"tea"}', "--file", memory, home=home).json()
    assert found == called | {"total": 1}


def test_search_is_limited(home: Path) -> None:
    path = write(home / "m.jsonl", *(entity(f"tea {n}") for n in range(30)))
    assert "the first 20 are shown" in run("search", "tea", "--file", path, home=home).out
    assert len(run("search", "tea", "--limit", "0", "--json", "--file", path, home=home).json()["entities"]) == 30
    assert run("search", "tea", "--limit", "x", "--file", path, home=home).status == 2
    refused = run("search", "x" * 2049, "--file", path, home=home)
    assert (refused.status, refused.out) == (2, "")
    assert "at most 2048 characters" in refused.err


def test_nothing_found_is_said_on_stderr(memory: Path, home: Path) -> None:
    result = run("search", "zebra", "--file", memory, home=home)
    assert (result.status, result.out) == (1, "")
    assert "Nothing matches" in result.err


def test_show_has_all_and_both_directions(home: Path) -> None:
    path = write(
        home / "m.jsonl",
        entity("Ann", "person", [f"fact {n}" for n in range(30)]),
        entity("Ann", "ignored", ["one more"]),
        relation("Bo", "Ann", "knows"),
        relation("Ann", "Ann", "trusts"),
    )
    result = run("show", "ANN", "--file", path, home=home)
    assert result.out.count("  - ") == 31
    assert "  ← Bo knows  (missing)" in result.out
    assert "  trusts → itself" in result.out
    (shown,) = run("show", "Ann", "--json", "--file", path, home=home).json()
    assert len(shown["observations"]) == 31
    assert shown["missing"] == ["Bo"]


@pytest.mark.parametrize("name", ["cafe zurich", "CAFÉ ZÜRICH", "Cafe\u0301 Zu\u0308rich"])
def test_show_finds_a_name_in_another_form(name: str, memory: Path, home: Path) -> None:
    assert "Opens at 8" in run("show", name, "--file", memory, home=home).out


def test_show_asks_back_where_several_names_fit(home: Path) -> None:
    path = write(home / "m.jsonl", entity("Ann"), entity("ann"))
    assert run("show", "Ann", "--file", path, home=home).status == 0
    result = run("show", "ANN", "--file", path, home=home)
    assert result.status == 1
    assert "Ann or ann" in result.err


def test_stats_count_everything_once(home: Path) -> None:
    path = write(
        home / "m.jsonl",
        entity("Ann", "person", ["x", "y"]),
        entity("Bo", "person"),
        entity("Ann", "person", ["z"]),
        relation("Ann", "Bo", "knows"),
        relation("Ann", "Bo", "knows"),
        relation("Ann", "Zed", "knows"),
    )
    numbers = run("stats", "--json", "--file", path, home=home).json()
    assert {key: numbers[key] for key in ("entities", "observations", "relations", "entityTypes", "relationTypes")} == {
        "entities": 2,
        "observations": 3,
        "relations": 2,
        "entityTypes": {"person": 2},
        "relationTypes": {"knows": 2},
    }
    assert numbers["mostConnected"] == {"Ann": 2, "Bo": 1}
    assert (numbers["withoutObservations"], numbers["relationsToMissingEntities"]) == (1, 1)
    assert "person" in run("stats", "--file", path, home=home).out


def test_stats_of_an_empty_memory(home: Path) -> None:
    path = home / "m.jsonl"
    path.write_bytes(b"")
    assert "0 entities" in run("stats", "--file", path, home=home).out


def test_the_size_in_tokens_is_that_of_read_graph(memory: Path, home: Path) -> None:
    tokens = run("stats", "--json", "--file", memory, home=home).json()["tokensOfAll"]
    answer = run("call", "read_graph", "--file", memory, home=home).out
    assert tokens == pytest.approx(len(answer) / 4, rel=0.1)


def test_view_writes_a_private_page_that_holds_the_memory(memory: Path, home: Path) -> None:
    result = run("view", "--no-open", "--file", memory, home=home, env={"TMPDIR": str(home), "TEMP": str(home)})
    page = Path(result.out.strip())
    assert page.parent == home
    assert "Likes green tea" in page.read_text(encoding="utf-8")
    assert os.name == "nt" or page.stat().st_mode & 0o777 == 0o600
    old = time.time() - 2 * 86400
    os.utime(page, (old, old))
    run("view", "--no-open", "--file", memory, home=home, env={"TMPDIR": str(home), "TEMP": str(home)})
    assert not page.exists()
    assert len(list(home.glob("memory-view-*.html"))) == 1


def test_view_opens_the_page_where_there_is_a_browser(memory: Path, home: Path) -> None:
    seen = home / "seen"
    browser = home / "browser.sh"
    browser.write_text(f'#!/bin/sh\necho "$1" > {seen}\n')
    browser.chmod(0o755)
    result = run("view", "--output", "m.html", "--file", memory, home=home, env={"BROWSER": f"{browser} %s"})
    assert result.status == 0
    assert seen.read_text().strip() == (home / "m.html").as_uri()
    assert run("view", "--output", "m.html", "--file", memory, home=home).status == 2
    assert run("view", "--output", memory, "--force", "--file", memory, home=home).status == 2


def test_call_is_the_tool(memory: Path, home: Path) -> None:
    made = run("call", "create_entities", "-", "--file", memory, home=home, stdin=b"\xef\xbb\xbf" + MAKE)
    assert made.json() == {"entities": [], "skipped": ["Ann"]}
    assert "add_observations" in made.err
    deleted = run("call", "delete_entities", '{"entityNames":["Ann"]}', "--file", memory, home=home)
    assert deleted.json() == {"success": True, "message": "Entities deleted successfully"}
    failed = run("call", "add_observations", '{"observations":[{"entityName":"Zed","contents":["x"]}]}', home=home)
    assert (failed.status, failed.out) == (2, "")
    assert "Zed" in failed.err


MAKE = json.dumps({"entities": [{"name": "Ann", "entityType": "x", "observations": []}]}).encode()


def test_call_without_a_tool_lists_them(home: Path) -> None:
    out = run("call", home=home).out
    assert out.count(" call ") == 9
    assert "delete_relations" in out


def test_help_lists_topics_and_shows_them(home: Path) -> None:
    listed = run("help", home=home).out
    assert "index" in listed
    for topic in re.findall(r"^  (\S+)  ", listed, re.MULTILINE):
        page = run("help", topic, home=home)
        assert page.status == 0
        assert page.out.strip()
        lines = [line for line in page.out.splitlines() if not line.startswith("    ") and "://" not in line]
        assert max(map(columns, lines)) <= 100
        assert run("help", topic, "--markdown", home=home).out.startswith("#")


class Screen:
    """A text stream that says whether it is a terminal."""

    def __init__(self, terminal: bool) -> None:
        self.terminal = terminal
        self.text = ""

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        pass


PAGE = """# A *title*

A paragraph with **strong**, `code *x*`, a [link](other.md), [other](other.md) and
[another](https://example.org/x) that goes on.

- one item
  over two lines
- another

1. first

> a quote

```
code   stays | as it *is*
```

| name | what |
|---|---|
| `a` | the *first* |
| b \\| c | second |
"""


def test_markdown_becomes_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    out = Terminal(Screen(False))  # type: ignore[arg-type]
    assert "\n".join(render(PAGE, out)) == (
        "A title\n\n"
        "A paragraph with strong, `code *x*`, a link (`help other`),\n"
        "`help other` and another (https://example.org/x) that goes\non.\n\n"
        "- one item over two lines\n- another\n\n1. first\n\n  a quote\n\n"
        "    code   stays | as it *is*\n\n"
        "name   what\na      the first\nb | c  second\n"
    )


def test_a_table_too_wide_for_the_terminal_is_stacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    lines = list(render("| name | what |\n|---|---|\n| a | " + "word " * 12 + "|\n", Terminal(Screen(False))))  # type: ignore[arg-type]
    assert lines[0] == "a"
    assert lines[1].startswith("  word word")
    assert max(map(len, lines)) <= 30


def test_an_empty_cell_of_a_stacked_table_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "12")
    page = "| name | what | more |\n|---|---|---|\n| a | | some words |\n"
    assert list(render(page, Terminal(Screen(False)))) == ["a", "  more: some", "    words", ""]  # type: ignore[arg-type]


def test_wide_letters_are_wrapped_by_columns_and_signs_stay_with_what_they_close(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "6")
    lines = list(render("- 记忆\uff0c由你 abc d", Terminal(Screen(False))))  # type: ignore[arg-type]
    assert lines == ["- 记", "  忆\uff0c", "  由你", "  abc", "  d"]


def test_progress_is_shown_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory_app.commands.screen.terminal._PATIENCE", -1)
    monkeypatch.setattr("memory_app.commands.screen.terminal._TICK", -1)
    for terminal in (True, False):
        screen = Screen(terminal)
        monkeypatch.setattr("sys.stderr", screen)
        assert list(track(range(200), 200, "Reading")) == list(range(200))
        assert ("Reading [" in screen.text) is terminal
        assert screen.text.endswith("\r\x1b[K") is terminal


def test_a_bar_moves_beside_work_of_unknown_length_and_is_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory_app.commands.screen.terminal._PATIENCE", 0)
    for terminal in (True, False):
        moved = threading.Event()
        screen = Screen(terminal)
        monkeypatch.setattr(screen, "flush", moved.set)
        monkeypatch.setattr("sys.stderr", screen)
        with working("Comparing") as stop:
            assert moved.wait(10) is True if terminal else not moved.is_set()
            stop()
        assert ("Comparing [###" in screen.text) is terminal
        assert screen.text.endswith("\r\x1b[K") is terminal


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 東京", "plain é 東京"),
        ("a\nb\tc", "a\\nb\\tc"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\u202eabc", "\\u202eabc"),
        ("👩\u200d🔬 \u0645\u06cc\u200c\u062e", "👩\u200d🔬 \u0645\u06cc\u200c\u062e"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_text_is_made_safe_for_a_terminal(text: str, shown: str) -> None:
    assert safe(text) == shown


def test_long_texts_are_wrapped_and_keep_their_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    text = paragraph("first line\r\nsecond " + "x" * 50 + " 東京東京東京東京東京東京東京 end", "    ", "  - ")
    lines = text.split("\n")
    assert lines[0] == "  - first line"
    assert all(line.startswith("    ") for line in lines[1:])
    assert max(map(columns, lines)) <= 30
    assert "".join(line.strip() for line in lines[1:]).replace(" ", "") == "second" + "x" * 50 + "東京" * 7 + "end"


def test_a_pasted_file_without_spaces_is_shown_at_once(home: Path) -> None:
    path = write(home / "m.jsonl", entity("Blob", "type" * 200_000, ["QUJD" * 500_000, "e\u0301東" * 50_000]))
    assert len(run("stats", "--file", path, home=home).out) < 2000
    for command in ("show", "search"):
        lines = run(command, "Blob", "--file", path, home=home).out.splitlines()
        assert max(map(columns, lines[1:])) <= 100
        text = "".join(line.removeprefix("  - ").strip() for line in lines)
        assert "QUJD" * 500_000 in text
        assert "e\u0301東" * 50_000 in text


def test_bars_of_stats_fit_a_narrow_terminal(home: Path) -> None:
    path = write(home / "m.jsonl", entity("A", "a type of entity with a name that is rather long"), entity("B", "b"))
    out = run("stats", "--file", path, home=home, env={"COLUMNS": "60"}).out
    bars = [line for line in out.splitlines() if "#" in line]
    assert len(bars) == 2
    assert all(len(line) <= 60 for line in bars)


@pytest.mark.skipif(os.name != "posix", reason="a terminal of its own is had on POSIX systems alone")
@pytest.mark.parametrize("command", [("call", "search_nodes", "-"), ("import", "-")])
def test_who_writes_on_a_terminal_is_told_how_to_end_it(command: tuple[str, ...], memory: Path) -> None:
    ours, theirs = os.openpty()
    asked = [sys.executable, "-m", "memory_app", *command, "--file", str(memory)]
    root = Path(__file__).resolve().parent.parent.parent
    process = subprocess.Popen(
        asked,
        stdin=theirs,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    assert process.stderr is not None
    with process.stderr:
        assert b"Ctrl-D ends it" in process.stderr.readline()
        os.write(ours, b"\x04")
        process.stderr.read()
    process.wait(60)
    os.close(ours)
    os.close(theirs)
