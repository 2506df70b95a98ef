"""config: the snippet, and writing it into clients' files with every other byte as it was."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

import pytest

from memory_app.commands.clients.catalogue import CLIENTS, Machine, places
from tests.commands.running import Result, environment, run

NPM = '{"command":"npx", "args":["-y","@modelcontextprotocol/server-memory"], "env":{"MEMORY_FILE_PATH":"/d/m.jsonl"}}'


def config(*arguments: str | Path, home: Path, cwd: Path | None = None) -> Result:
    return run("config", *arguments, home=home, cwd=cwd)


def place(name: str, home: Path) -> Path:
    return Path(places(CLIENTS[name], Machine(sys.platform, environment(home)))[0])


def put(name: str, home: Path, text: str) -> Path:
    path = place(name, home)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def ours(value: Any) -> Any:
    """The entry without what only a run from the source needs."""
    env = {key: item for key, item in value.pop("env", value.pop("environment", {})).items() if key != "PYTHONPATH"}
    return value | ({"env": env} if env else {})


@pytest.mark.parametrize("name", CLIENTS)
def test_the_snippet_names_this_python_and_this_program(name: str, home: Path) -> None:
    result = config(name, home=home)
    assert result.status == 0
    assert str(place(name, home)) in result.err
    assert list(home.iterdir()) == []
    if name == "codex":
        tomllib = pytest.importorskip("tomllib")
        held = tomllib.loads(result.out)["mcp_servers"]["memory"]
    else:
        held = json.loads(result.out)
        for key in (*CLIENTS[name].keys, "memory"):
            held = held[key]
    words = held["command"] if isinstance(held["command"], list) else [held["command"], *held["args"]]
    assert words[0] == sys.executable
    archive = os.environ.get("MEMORY_SERVER_PYZ")
    assert words[1:] == ([os.path.realpath(archive)] if archive else ["-m", "memory_app"])


@pytest.mark.parametrize("name", CLIENTS)
def test_a_new_file_is_written_and_the_second_time_left_alone(name: str, home: Path) -> None:
    snippet = config(name, home=home).out
    result = config(name, "--write", home=home)
    assert result.status == 0
    path = place(name, home)
    assert path.read_text() == snippet
    inode = path.stat().st_ino
    assert "has it already" in config(name, "--write", home=home).out
    assert (path.stat().st_ino, len(list(path.parent.iterdir()))) == (inode, 1)


@pytest.mark.parametrize("name", [name for name, client in CLIENTS.items() if client.style != "codex"])
def test_nothing_but_the_entry_is_touched(name: str, home: Path) -> None:
    keys = CLIENTS[name].keys
    comment = "// mine\r\n  " if CLIENTS[name].comments else ""
    start = "{\r\n  " + comment + '"é": [1,2 ,3],\r\n  "' + keys[0] + '": {\r\n    "git": {"command":"uvx"}'
    end = '\r\n  },\r\n  "last"  :  1e3\r\n}'
    path = put(name, home, start + end)
    path.chmod(0o640)
    assert config(name, "--write", home=home).status == 0
    after = path.read_bytes().decode()
    assert after.startswith(start + ',\r\n    "memory": {\r\n      ')
    assert after.endswith("\r\n    }" + end)
    assert "\n" not in after.replace("\r\n", "")
    backups = [one for one in path.parent.iterdir() if one.suffix == ".bak"]
    assert [one.read_bytes().decode() for one in backups] == [start + end]
    assert path.stat().st_mode & 0o777 == 0o640 or os.name == "nt"


def test_an_entry_of_the_npm_server_becomes_ours_and_keeps_its_memory(home: Path) -> None:
    path = put(
        "cursor",
        home,
        '{"mcpServers": {"memory": ' + NPM.replace("{", '{"disabled": true, ', 1) + ', "z": {"command": "z"}}}\n',
    )
    result = config("cursor", "--write", home=home)
    assert result.status == 0
    held = json.loads(path.read_text())["mcpServers"]
    assert held["z"] == {"command": "z"}
    memory = ours(held["memory"])
    assert memory["env"] == {"MEMORY_FILE_PATH": "/d/m.jsonl"}
    assert memory["disabled"] is True
    assert memory["command"] == sys.executable
    assert list(memory) == ["disabled", "command", "args", "env"]


def test_comments_within_the_entry_stay(home: Path) -> None:
    text = (
        '{\n  "servers": {\n    "memory": {\n      // starts it\n      "type": "stdio",\n'
        '      "command": "npx", // npm\n'
        '      "args": ["@modelcontextprotocol/server-memory"],\n    },\n  },\n}\n'
    )
    path = put("vscode", home, text)
    assert config("vscode", "--write", home=home).status == 0
    after = path.read_text()
    assert "// starts it" in after
    assert f'"command": {json.dumps(sys.executable)}, // npm' in after


def test_where_the_npm_memory_was_is_told(home: Path) -> None:
    put("cursor", home, '{"mcpServers":{"memory":{"command":"npx","args":["@modelcontextprotocol/server-memory"]}}}')
    assert "doctor" in config("cursor", "--write", home=home).err


def test_another_server_of_the_name_is_not_replaced(home: Path) -> None:
    text = '{"mcpServers": {"memory": {"command": "uvx", "args": ["my-notes"]}}}'
    path = put("cursor", home, text)
    result = config("cursor", "--write", home=home)
    assert (result.status, path.read_text()) == (2, text)
    assert "--name" in result.err
    assert config("cursor", "--write", "--name", "graph", home=home).status == 0
    held = json.loads(path.read_text())["mcpServers"]
    assert held["memory"] == {"command": "uvx", "args": ["my-notes"]}
    assert "graph" in held


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("cursor", '{"mcpServers": ', "line 1"),
        ("claude-desktop", '{\n// mine\n"mcpServers": {}}', "comments"),
        ("claude-desktop", '{"mcpServers": {},}', "trailing commas"),
        ("cursor", "[]", "object"),
        ("cursor", '{"mcpServers": []}', "object"),
        ("cursor", '{"mcpServers": {"memory": {"url": "http://x"}}}', "--name"),
        ("cursor", '{"mcpServers": {}, "mcpServers": {}}', "twice"),
        ("codex", 'mcp_servers = { a = { command = "x" } }', "[table]"),
        ("codex", 'x = "', "codex"),
    ],
    ids=["torn", "comments", "comma", "array", "servers array", "remote", "repeated", "inline", "torn TOML"],
)
def test_what_cannot_be_edited_is_refused_and_left(name: str, text: str, says: str, home: Path) -> None:
    path = put(name, home, text)
    result = config(name, "--write", home=home)
    assert (result.status, result.err.count("\n")) == (2, 1)
    assert says in result.err
    assert path.read_text() == text
    assert os.listdir(path.parent) == [path.name]


def test_a_dry_run_shows_the_change_without_what_stands_around_it(home: Path) -> None:
    text = '{\n  "mcpServers": {\n    "git": {\n      "env": {"TOKEN": "secret"}\n    }\n  }\n}\n'
    path = put("cursor", home, text)
    result = config("cursor", "--write", "--dry-run", home=home)
    assert result.status == 0
    assert "+" in result.out
    assert "memory" in result.out
    assert "secret" not in result.out
    assert path.read_text() == text
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("name", CLIENTS)
def test_docker_is_started_as_its_readers_know_it(name: str, home: Path) -> None:
    held = config(name, "--docker", "--json", home=home).json()["entry"]
    words = held["command"] if isinstance(held["command"], list) else [held["command"], *held["args"]]
    assert words == ["docker", "run", "-i", "--rm", "--pull=never", "-v", "claude-memory:/app/dist", "mcp/memory"]
    assert "env" not in held


def test_the_chosen_memory_goes_along(home: Path) -> None:
    held = ours(config("cursor", "--json", "--file", "my memory.jsonl", home=home).json()["entry"])
    assert held["env"] == {"MEMORY_FILE_PATH": str(home / "my memory.jsonl")}
    held = ours(config("cursor", "--json", "--profile", "work", home=home).json()["entry"])
    assert held["env"] == {"MEMORY_PROFILE": "work"}


def test_a_project_has_its_own_file(home: Path) -> None:
    project = home / "project"
    project.mkdir()
    assert config("vscode", "--write", "--project", home=home, cwd=project).status == 0
    assert "memory" in json.loads((project / ".vscode" / "mcp.json").read_text())["servers"]
    assert config("claude-desktop", "--project", home=home, cwd=project).status == 2


def test_a_byte_order_mark_stays(home: Path) -> None:
    path = put("cursor", home, '\ufeff{"mcpServers": {}}')
    assert config("cursor", "--write", home=home).status == 0
    assert path.read_bytes().startswith(b"\xef\xbb\xbf{")
    path.write_bytes('{"mcpServers": {}}'.encode("utf-16"))
    assert "UTF-16" in config("cursor", "--write", home=home).err


def test_an_empty_file_is_filled(home: Path) -> None:
    path = put("cursor", home, "\n")
    assert config("cursor", "--write", home=home).status == 0
    assert "memory" in json.loads(path.read_text())["mcpServers"]


@pytest.mark.skipif(sys.platform == "win32", reason="links")
def test_a_link_stays_a_link(home: Path) -> None:
    real = home / "dotfiles" / "mcp.json"
    real.parent.mkdir()
    real.write_text('{"mcpServers": {}}')
    link = place("cursor", home)
    link.parent.mkdir()
    link.symlink_to(real)
    assert config("cursor", "--write", home=home).status == 0
    assert link.is_symlink()
    assert "memory" in json.loads(real.read_text())["mcpServers"]


def test_the_file_that_exists_is_the_one(home: Path) -> None:
    paths = places(CLIENTS["cline"], Machine(sys.platform, environment(home)))
    second = Path(paths[1])
    second.parent.mkdir(parents=True)
    second.write_text("{}")
    assert config("cline", "--write", "--json", home=home).json()["file"] == str(second)


def test_the_list_shows_which_clients_are_here(home: Path) -> None:
    put("zed", home, "{}")
    listed = {one["client"]: one["here"] for one in config("--json", home=home).json()}
    assert [name for name, here in listed.items() if here] == ["zed"]
    assert set(listed) == set(CLIENTS)
    assert str(place("zed", home)) in config(home=home).out


def test_the_written_entry_starts_this_server(home: Path, memory: Path) -> None:
    import subprocess

    held = config("cursor", "--json", "--file", memory, home=home).json()["entry"]
    request = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
    done = subprocess.run(
        [held["command"], *held["args"]],
        input=json.dumps(request).encode() + b"\n",
        capture_output=True,
        env=environment(home) | held["env"],
        timeout=60,
        check=True,
    )
    assert json.loads(done.stdout.splitlines()[0])["result"]["serverInfo"]["name"]
    assert str(memory) in done.stderr.decode()


def test_a_link_holds_the_whole_entry(home: Path) -> None:
    entries = {name: json.loads(config(name, "--json", home=home).out)["entry"] for name in ("vscode", "cursor")}
    scheme, _, query = config("vscode", "--link", home=home).out.strip().partition("?")
    assert (scheme, json.loads(unquote(query))) == ("vscode:mcp/install", {"name": "memory", **entries["vscode"]})
    scheme, _, query = config("cursor", "--link", "--name", "my memory", home=home).out.strip().partition("?")
    held = parse_qs(query)
    assert (scheme, held["name"]) == ("cursor://anysphere.cursor-deeplink/mcp/install", ["my memory"])
    assert json.loads(base64.b64decode(held["config"][0])) == entries["cursor"]
    refused = config("windsurf", "--link", home=home)
    assert (refused.status, refused.out) == (2, "")
    assert "--write" in refused.err


def test_the_command_that_is_offered_keeps_the_chosen_memory(home: Path) -> None:
    offered = config("cursor", "--profile", "work", "--name", "at work", home=home).err
    assert 'config cursor --name "at work" --profile work --write' in offered
    assert (
        f"config cursor --project --file {home}/m.jsonl --write"
        in config("cursor", "--project", "--file", home / "m.jsonl", home=home).err
    )


def test_an_archive_under_any_name_is_what_clients_are_given(home: Path) -> None:
    archive = os.environ.get("MEMORY_SERVER_PYZ")
    if archive is None:
        pytest.skip("MEMORY_SERVER_PYZ names no archive")
    renamed = home / "my memory"
    renamed.write_bytes(Path(archive).read_bytes())
    for command, part in (("config", f'"args": ["{renamed}"]'), ("doctor", f", {renamed}\n")):
        done = subprocess.run(
            [sys.executable, str(renamed), command, *(["cursor"] if command == "config" else [])],
            capture_output=True, text=True, env=environment(home), cwd=home, timeout=60, check=False,
        )  # fmt: skip
        assert part in done.stdout, done


def test_an_archive_under_any_name_knows_its_own_entry_whatever_memory_it_has(home: Path) -> None:
    archive = os.environ.get("MEMORY_SERVER_PYZ")
    if not archive:
        pytest.skip("needs an archive: MEMORY_SERVER_PYZ")
    renamed = home / "graph.zip"
    renamed.write_bytes(Path(archive).read_bytes())
    file = home / ".cursor" / "mcp.json"
    for memory in ("one.jsonl", "two.jsonl"):
        command = [sys.executable, str(renamed), "config", "cursor", "--write", "--file", str(home / memory)]
        done = subprocess.run(command, env=environment(home), capture_output=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        entries = json.loads(file.read_text())["mcpServers"]
        assert entries["memory"]["env"]["MEMORY_FILE_PATH"] == str(home / memory)
