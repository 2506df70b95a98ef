"""brief: what a model is told of the memory before it asks, and the hook that tells it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memory_app.commands.brief import cost
from memory_app.commands.clients.hooks import with_hook
from tests.commands.running import entity, environment, relation, run, write


def test_the_most_connected_and_the_latest_come_first(home: Path) -> None:
    lines = [entity(f"E{n}", "thing", ["old"]) for n in range(50)]
    hub = entity("Hub", "thing", ["first", "second", "third", "fourth"])
    path = write(
        home / "m.jsonl", *lines[:25], hub, *lines[25:], *(relation(f"E{n}", "Hub", "knows") for n in range(9))
    )
    shown = run("brief", "--file", path, home=home).out.splitlines()
    assert "51 entities and 9 relations" in shown[0]
    assert shown[1].startswith("- Hub (thing): second; third; fourth; E6 knows Hub")
    assert shown[2].startswith("- E49 (thing): old")


@pytest.mark.parametrize("tokens", [50, 100, 333, 1000])
def test_it_stays_within_its_tokens(tokens: int, home: Path) -> None:
    lines = [entity(f"名前{n}", "人", [f"お茶が好き{n}" * 20, "x" * 5000]) for n in range(200)]
    path = write(home / "m.jsonl", *lines)
    out = run("brief", "--file", path, "--tokens", str(tokens), home=home).out
    assert sum(map(cost, out.splitlines())) <= tokens
    assert out.startswith("The memory holds 200 entities")


def test_an_empty_memory_is_no_error(home: Path) -> None:
    result = run("brief", "--file", home / "none.jsonl", home=home)
    assert (result.status, result.out.count("\n")) == (0, 1)
    assert run("brief", "--tokens", "5", home=home).status == 2


def test_a_text_stays_on_its_line(home: Path) -> None:
    path = write(home / "m.jsonl", entity("A\nB", "x", ["one\n\ntwo\x1b[0m"]).replace("[0m", "[0m \\ud800"))
    out = run("brief", "--file", path, home=home).out
    assert out.count("\n") == 2
    assert "A B (x): one two" in out
    assert "\x1b" not in out


def settings(home: Path) -> Any:
    return json.loads((home / ".claude" / "settings.json").read_text())


@pytest.mark.skipif(sys.platform == "win32", reason="a shell")
def test_the_hook_prints_the_memory_that_the_server_has(home: Path, memory: Path) -> None:
    run("config", "claude-code", "--write", "--file", memory, home=home)
    mine = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "true"}]}]}, "model": "x"}
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text(json.dumps(mine))
    assert "Wrote the hook" in run("config", "claude-code", "--hooks", "--write", home=home).out
    first, ours = settings(home)["hooks"]["SessionStart"]
    assert first == mine["hooks"]["SessionStart"][0]  # type: ignore[index]
    command = ours["hooks"][0]["command"]
    done = subprocess.run(["sh", "-c", command], env=environment(home), capture_output=True, timeout=60, check=True)
    assert "- Ann (person)" in done.stdout.decode()
    assert "already has it" in run("config", "claude-code", "--hooks", "--write", home=home).out
    run("config", "claude-code", "--hooks", "--remove", home=home)
    assert settings(home) == mine


@pytest.mark.parametrize(
    "command",
    [
        "/usr/bin/python3 /home/ann/mem.pyz brief --tokens 1000",
        "/usr/bin/python3 '/home/ann/my tools/memory' brief --tokens 1000 --file '/home/ann/my memory.jsonl'",
        "/usr/bin/python3 /home/ann/memory-server-2.pyz brief --tokens 200 --profile work",
        'C:/Python313/python.exe "C:/Users/Ann Lee/mem.pyz" brief --tokens 1000',
        "/usr/bin/python3 /home/ann/mem.pyz brief --tokens 1000 2>/dev/null || true",
        "PYTHONPATH=/src /usr/bin/python3 -m memory_app brief",
    ],
)
def test_a_hook_of_an_archive_that_was_renamed_is_ours_still(command: str) -> None:
    group = {"matcher": "startup", "hooks": [{"type": "command", "command": command}]}
    others = [
        {"hooks": [{"type": "command", "command": text}]}
        for text in ("git brief", "brief --tokens 5", "./brief.sh --tokens 5", "make brief N=5", "/opt/x.pyz brief")
    ]
    assert with_hook([others[0], group, *others[1:]], None) == others


def test_hooks_are_for_claude_code_alone(home: Path) -> None:
    assert run("config", "cursor", "--hooks", home=home).status == 2
    assert "SessionStart" in run("config", "claude-code", "--hooks", home=home).out
    assert list(home.iterdir()) == []
