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

from memory_app.commands.clients import yaml
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


WRITTEN = [name for name, client in CLIENTS.items() if client.places]
"""Clients that have a file of the user's."""


def read_yaml(text: str, top: str, name: str) -> Any:
    return next(one.value for one in yaml.entries(text, top) if one.name == name)


def ours(value: Any) -> Any:
    """The entry without what only a run from the source needs."""
    env = {key: item for key, item in value.pop("env", value.pop("environment", {})).items() if key != "PYTHONPATH"}
    return value | ({"env": env} if env else {})


@pytest.mark.parametrize("name", WRITTEN)
def test_the_snippet_names_this_python_and_this_program(name: str, home: Path) -> None:
    result = config(name, home=home)
    assert result.status == 0
    assert str(place(name, home)) in result.err
    assert list(home.iterdir()) == []
    if name == "codex":
        tomllib = pytest.importorskip("tomllib")
        held = tomllib.loads(result.out)["mcp_servers"]["memory"]
    elif CLIENTS[name].language == "yaml":
        held = read_yaml(result.out, CLIENTS[name].keys[0], CLIENTS[name].name)
    else:
        held = json.loads(result.out)
        for key in (*CLIENTS[name].keys, "memory"):
            held = held[key]
    command = held.get("command", held.get("cmd"))
    words = command if isinstance(command, list) else [command, *held["args"]]
    assert words[0] == sys.executable
    archive = os.environ.get("MEMORY_SERVER_PYZ")
    assert words[1:] == ([os.path.realpath(archive)] if archive else ["-m", "memory_app"])


@pytest.mark.parametrize("name", WRITTEN)
def test_a_new_file_is_written_and_the_second_time_left_alone(name: str, home: Path) -> None:
    snippet = config(name, home=home).out
    result = config(name, "--write", home=home)
    assert result.status == 0
    path = place(name, home)
    assert path.read_text() == snippet
    inode = path.stat().st_ino
    assert "already has it" in config(name, "--write", home=home).out
    assert (path.stat().st_ino, len(list(path.parent.iterdir()))) == (inode, 1)


@pytest.mark.parametrize("name", [name for name in WRITTEN if CLIENTS[name].language == "json"])
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
    command = held.get("command", held.get("cmd"))
    words = command if isinstance(command, list) else [command, *held["args"]]
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


def entry_of(path: Path, name: str = "memory", top: str = "mcpServers") -> Any:
    return ours(json.loads(path.read_text())[top][name])


@pytest.mark.parametrize(
    ("client", "top", "entry"),
    [
        (
            "zed",
            "context_servers",
            {
                "command": {
                    "path": "npx",
                    "args": ["-y", "@modelcontextprotocol/server-memory"],
                    "env": {"MEMORY_FILE_PATH": "/home/ann/memory.jsonl"},
                },
                "settings": {},
            },
        ),
        (
            "cursor",
            "mcpServers",
            {
                "command": "env",
                "args": ["MEMORY_FILE_PATH=/home/ann/memory.jsonl", "npx", "-y", "@modelcontextprotocol/server-memory"],
            },
        ),
        (
            "cursor",
            "mcpServers",
            {
                "command": "sh",
                "args": [
                    "-c",
                    "MEMORY_FILE_PATH=/home/ann/memory.jsonl exec npx -y @modelcontextprotocol/server-memory",
                ],
            },
        ),
        (
            "cursor",
            "mcpServers",
            {
                "command": "docker",
                "args": [
                    "run",
                    "-i",
                    "--rm",
                    "--pull=never",
                    "-v",
                    "/home/ann:/data",
                    "-e",
                    "MEMORY_FILE_PATH=/data/memory.jsonl",
                    "mcp/memory",
                ],
            },
        ),
        (
            "kiro",
            "mcpServers",
            {
                "command": "docker",
                "args": ["run", "--mount=type=bind,src=/home/ann,dst=/app/dist", "mcp/memory"],
                "disabled": False,
            },
        ),
        (
            "zed",
            "context_servers",
            {
                "command": {
                    "path": "env",
                    "args": ["MEMORY_FILE_PATH=/home/ann/memory.jsonl", "npx", "@modelcontextprotocol/server-memory"],
                }
            },
        ),
    ],
    ids=["zed's older form", "env", "shell", "bind mount", "bind mount of the image's folder", "older form and env"],
)
def test_every_form_of_an_entry_keeps_its_memory(client: str, top: str, entry: dict[str, Any], home: Path) -> None:
    path = put(client, home, json.dumps({top: {"memory": entry}}))
    assert config(client, "--write", home=home).status == 0
    after = entry_of(path, top=top)
    assert after["env"] == {"MEMORY_FILE_PATH": "/home/ann/memory.jsonl"}
    assert after["command"] == sys.executable
    assert "already has it" in config(client, "--write", home=home).out


@pytest.mark.parametrize("name", ["Memory", "knowledge-graph", "server-memory"])
def test_a_memory_server_under_another_name_is_the_one_that_is_meant(name: str, home: Path) -> None:
    path = put("cursor", home, json.dumps({"mcpServers": {name: json.loads(NPM)}}))
    result = config("cursor", "--write", home=home)
    assert result.status == 0
    assert f"is called {name}" in result.err
    assert list(json.loads(path.read_text())["mcpServers"]) == [name]
    assert entry_of(path, name)["env"] == {"MEMORY_FILE_PATH": "/d/m.jsonl"}


def test_a_second_memory_is_made_only_by_its_name_and_with_a_word(home: Path) -> None:
    path = put("cursor", home, json.dumps({"mcpServers": {"Memory": json.loads(NPM)}}))
    result = config("cursor", "--write", "--name", "work", "--profile", "work", home=home)
    assert result.status == 0
    assert "also has a memory server Memory: /d/m.jsonl" in result.err
    assert list(json.loads(path.read_text())["mcpServers"]) == ["Memory", "work"]
    two = config("cursor", "--write", home=home)
    assert (two.status, two.err.count("\n")) == (2, 1)
    assert "Memory, work" in two.err


def test_an_entry_in_the_clients_older_place_is_named(home: Path) -> None:
    path = place("vscode", home)
    path.parent.mkdir(parents=True)
    (path.parent / "settings.json").write_text('{"mcp": {"servers": {"memory": ' + NPM + "}}}")
    result = config("vscode", "--write", home=home)
    assert "settings.json also has a memory server memory: /d/m.jsonl" in result.err


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "uvx", "args": ["mcp-server-memory"]},
        {"command": "npx", "args": ["-y", "memory-server"]},
        {"command": "docker", "args": ["run", "ghcr.io/else/memory-server"]},
        {"command": "npx", "args": ["-y", "gateway", "--", "npx", "@modelcontextprotocol/server-memory"]},
        {"command": "wsl", "args": ["npx", "@modelcontextprotocol/server-memory"]},
        {"command": "wsl.exe", "args": ["bash", "-c", "A=b npx -y @modelcontextprotocol/server-memory"]},
        {"command": "npx", "args": ["supergateway", "--stdio", "npx -y @modelcontextprotocol/server-memory"]},
        {"command": "python", "args": ["-m", "memory_mcp"], "env": {"MEMORY_FILE_PATH": "/d/m.json"}},
    ],
    ids=lambda entry: " ".join(entry["args"]),
)
def test_another_programs_entry_is_never_taken_for_ours(entry: dict[str, Any], home: Path) -> None:
    path = put("cursor", home, json.dumps({"mcpServers": {"memory": entry}}))
    before = path.read_text()
    result = config("cursor", "--write", home=home)
    assert (result.status, path.read_text()) == (2, before)
    assert "--name" in result.err


@pytest.mark.skipif(sys.platform == "win32", reason="modes")
@pytest.mark.parametrize("option", ["--write", "--remove"])
def test_a_read_only_file_is_refused(option: str, home: Path) -> None:
    entry = {"command": "python3", "args": ["/x/memory-server.pyz"]}
    path = put("cursor", home, json.dumps({"mcpServers": {"memory": entry}}))
    path.chmod(0o444)
    result = config("cursor", option, home=home)
    assert result.status == 2
    assert "is read-only" in result.err
    assert os.listdir(path.parent) == [path.name]


def test_a_container_is_given_the_chosen_memory(home: Path) -> None:
    held = config("cursor", "--docker", "--profile", "work", "--json", home=home).json()["entry"]
    assert "MEMORY_PROFILE=work" in held["args"]
    held = config("cursor", "--docker", "--file", home / "a b" / "m.jsonl", "--json", home=home).json()["entry"]
    assert held["args"][4:8] == ["-v", f"{home}/a b:/data", "-e", "MEMORY_FILE_PATH=/data/m.jsonl"]
    assert "env" not in held


def test_from_a_program_to_a_container_and_back_the_memory_is_the_same(home: Path) -> None:
    path = place("cursor", home)
    config("cursor", "--file", home / "x.jsonl", "--write", home=home)
    assert config("cursor", "--docker", "--write", home=home).status == 0
    held = json.loads(path.read_text())["mcpServers"]["memory"]
    assert "MEMORY_FILE_PATH" not in held.get("env", {})
    assert f"{home}:/data" in held["args"]
    assert config("cursor", "--write", home=home).status == 0
    assert entry_of(path)["env"] == {"MEMORY_FILE_PATH": str(home / "x.jsonl")}
    assert config("cursor", "--profile", "work", "--write", home=home).status == 0
    assert entry_of(path)["env"] == {"MEMORY_PROFILE": "work"}
    config("cursor", "--docker", "--write", home=home)
    assert "MEMORY_PROFILE=work" in json.loads(path.read_text())["mcpServers"]["memory"]["args"]


@pytest.mark.parametrize("name", WRITTEN)
def test_what_was_written_can_be_removed_again(name: str, home: Path) -> None:
    path = place(name, home)
    config(name, "--write", home=home)
    result = config(name, "--remove", home=home)
    assert result.status == 0, result.err
    assert "The memory stays" in result.err
    assert "memory-server.pyz" not in path.read_text() and "memory_app" not in path.read_text()
    assert config(name, "--remove", home=home).status == 2


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"a": 1, "mcpServers": {"x": {}, %s}}', '{"a": 1, "mcpServers": {"x": {}}}'),
        ('{"a": 1, "mcpServers": {%s, "x": {}}}', '{"a": 1, "mcpServers": {"x": {}}}'),
        ('{"mcpServers": {\n  "x": {}, // x\n  %s // ours\n}}', '{"mcpServers": {\n  "x": {} // x\n}}'),
        ('{"mcpServers": {\n  // first\n  %s,\n  "x": {},\n}}', '{"mcpServers": {\n  // first\n  "x": {},\n}}'),
    ],
)
def test_removing_leaves_every_other_byte(before: str, after: str, home: Path) -> None:
    path = put("cursor", home, before.replace("%s", '"memory": {"command": "python3", "args": ["memory-server.pyz"]}'))
    assert config("cursor", "--remove", home=home).status == 0
    assert path.read_text() == after


def test_only_our_own_entry_is_removed(home: Path) -> None:
    path = put("cursor", home, '{"mcpServers": {"memory": ' + NPM + "}}")
    before = path.read_text()
    assert config("cursor", "--remove", home=home).status == 2
    assert path.read_text() == before


def test_all_sets_up_each_client_that_is_here_and_no_other(home: Path) -> None:
    put("cursor", home, "{}")
    put("zed", home, "{}")
    broken = put("kiro", home, "{")
    result = run("config", "--all", "--write", home=home, env=installed("other", home))
    assert result.status == 2
    assert "Kiro: " in result.err
    assert entry_of(place("cursor", home))
    assert broken.read_text() == "{"
    assert not place("windsurf", home).exists() and not place("claude-code", home).exists()
    assert config("--all", home=home).status == 2
    config("--all", "--remove", home=home)
    assert json.loads(place("cursor", home).read_text())["mcpServers"] == {}


def test_the_list_says_which_client_has_which_memory(home: Path) -> None:
    config("cursor", "--file", home / "x.jsonl", "--write", home=home)
    put("kiro", home, '{"mcpServers": {"memory": ' + NPM + "}}")
    put("zed", home, "{}")
    shown = config(home=home).out
    assert f"memory: this server, {home}/x.jsonl" in shown
    assert "memory: the npm server, /d/m.jsonl" in shown
    assert "no memory server yet" in shown


def test_the_copy_of_a_projects_file_stays_out_of_the_project(home: Path) -> None:
    project = home / "repository"
    (project / ".vscode").mkdir(parents=True)
    (project / ".vscode" / "mcp.json").write_text('{"servers": {}}')
    result = config("vscode", "--project", "--write", home=home, cwd=project)
    assert [path.name for path in (project / ".vscode").iterdir()] == ["mcp.json"]
    copy = Path(result.err.partition("is kept in ")[2].splitlines()[0])
    assert copy.read_text() == '{"servers": {}}'


def installed(program: str, home: Path) -> dict[str, str]:
    """Variables with which that client's own command, and no other, is found."""
    folder = home.parent / "bin"
    folder.mkdir(exist_ok=True)
    path = folder / (f"{program}.exe" if sys.platform == "win32" else program)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return {"PATH": str(folder)}


def test_a_client_whose_command_is_there_is_here(home: Path) -> None:
    env = installed("claude", home)
    assert "was not found" not in run("config", "claude-code", "--write", home=home, env=env).err
    assert "Codex was not found" in run("config", "codex", "--write", home=home, env=env).err
    place("claude-code", home).unlink()
    run("config", "--all", "--write", home=home, env=env)
    assert entry_of(place("claude-code", home))


@pytest.mark.parametrize(
    ("name", "written", "said"),
    [
        ("gemini-cli", "$SECRETS/memory.json", False),
        ("claude-code", "${HOME}/.mcp/memory.json", False),
        ("claude-desktop", "memory.json", True),
    ],
)
def test_a_path_that_the_client_fills_in_is_not_called_relative(
    name: str, written: str, said: bool, home: Path
) -> None:
    put(name, home, NPM.replace("/d/m.jsonl", written).join(('{"mcpServers":{"memory":', "}}")))
    assert ("is a relative path" in config(name, "--write", home=home).err) is said


def test_a_client_that_is_not_here_is_set_up_with_a_word(home: Path) -> None:
    assert "Cursor was not found" in config("cursor", "--write", home=home).err
    put("zed", home, "{}")
    assert "was not found" not in config("zed", "--write", home=home).err


GOOSE = """# mine
GOOSE_PROVIDER: "anthropic"
extensions:
  developer:
    bundled: true
    enabled: true   # always
    name: developer
    type: builtin

  memory:
    enabled: true
    name: memory
    type: builtin
# the end
GOOSE_MODE: "smart_approve"
"""


def test_yaml_gets_one_entry_and_keeps_every_other_line(home: Path) -> None:
    path = put("goose", home, GOOSE)
    assert config("goose", "--write", "--file", home / "m.jsonl", home=home).status == 0
    after = path.read_text()
    start, end = GOOSE.split("# the end")
    assert after.startswith(start) and after.endswith("# the end" + end)
    entry = read_yaml(after, "extensions", "memory-server")
    assert (entry["cmd"], entry["type"], entry["enabled"]) == (sys.executable, "stdio", True)
    assert entry["envs"]["MEMORY_FILE_PATH"] == str(home / "m.jsonl")
    assert "already has it" in config("goose", "--write", home=home).out
    assert config("goose", "--profile", "work", "--write", home=home).status == 0
    assert "MEMORY_FILE_PATH" not in read_yaml(path.read_text(), "extensions", "memory-server")["envs"]
    assert config("goose", "--remove", home=home).status == 0
    assert path.read_text() == GOOSE


def test_a_yaml_list_gets_one_item(home: Path) -> None:
    text = "name: mine\nmcpServers:\n  - name: git\n    command: uvx\n    args:\n      - mcp-server-git\nmodels: []\n"
    path = put("continue", home, text)
    assert config("continue", "--write", home=home).status == 0
    after = path.read_text()
    assert after.startswith(text.removesuffix("models: []\n") + '  - name: "memory"\n    command: ')
    assert after.endswith("models: []\n")
    assert config("continue", "--remove", home=home).status == 0
    assert path.read_text() == text


def test_an_npm_entry_in_yaml_becomes_ours_and_keeps_its_memory(home: Path) -> None:
    text = (
        "mcpServers:\n  memory:\n    # facts\n    command: npx\n    args:\n      - -y\n"
        "      - '@modelcontextprotocol/server-memory'\n    timeout: 60000\n    env:\n"
        "      MEMORY_FILE_PATH: /d/m.jsonl\n"
    )
    (home / "librechat.yaml").write_text(text)
    assert config("librechat", "--project", "--write", home=home).status == 0
    after = (home / "librechat.yaml").read_text()
    held = read_yaml(after, "mcpServers", "memory")
    assert (held["command"], held["timeout"], held["env"]["MEMORY_FILE_PATH"]) == (sys.executable, 60000, "/d/m.jsonl")
    assert "# facts" in after


@pytest.mark.parametrize(
    "text",
    [
        "extensions: {a: {cmd: x}}\n",
        "extensions:\n  a: &a\n    cmd: x\n  memory-server: *a\n",
        "{extensions: }\n",
        "extensions:\n\ta: 1\n",
        "a: 1\n---\nextensions:\n",
        "extensions:\n  a: 1\nextensions:\n  b: 1\n",
    ],
    ids=["flow", "alias", "root flow", "tab", "documents", "twice"],
)
def test_yaml_that_would_have_to_be_guessed_about_is_refused_and_left(text: str, home: Path) -> None:
    path = put("goose", home, text)
    result = config("goose", "--write", home=home)
    assert (result.status, result.err.count("\n"), path.read_text()) == (2, 1, text)


def test_a_client_without_a_file_is_told_by_hand(home: Path) -> None:
    shown = config("open-webui", home=home)
    assert shown.status == 0
    assert "mcpServers" in json.loads(shown.out)
    assert "mcpo" in shown.err
    assert config("n8n", "--write", home=home).status == 2
