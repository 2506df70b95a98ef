"""Putting an entry into a client's text: what is asked for is there afterwards, and every other byte is as it was."""

from __future__ import annotations

import copy
import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_app.commands.clients import entry, jsonc, toml
from memory_app.commands.clients.catalogue import CLIENTS, Client, Machine, places
from memory_app.commands.clients.entry import Start

KEYS = st.text(alphabet='ab"\\ é/*', max_size=3)
VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=5)
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)


@given(OBJECTS, st.sampled_from([None, 1, 2, "\t"]), st.booleans())
def test_json_is_read_as_python_reads_it(value: dict[str, Any], indent: int | str | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    document = jsonc.read(text)
    assert document.root.value == value
    assert not document.lenient


@given(OBJECTS, st.lists(KEYS, min_size=1, max_size=3), VALUES, st.sampled_from([None, 1, 2, "\t"]), st.booleans())
def test_what_is_put_is_there_and_all_else_stays(
    value: dict[str, Any], path: list[str], new: Any, indent: int | str | None, windows: bool
) -> None:
    text = json.dumps(value, indent=indent)
    if windows:
        text = text.replace("\n", "\r\n")
    expected = copy.deepcopy(value)
    held: Any = expected
    for key in path[:-1]:
        held = held.setdefault(key, {}) if isinstance(held, dict) else None
    if not isinstance(held, dict):
        with pytest.raises(jsonc.NotJson):
            jsonc.put(text, path, new)
        return
    held[path[-1]] = new
    changed = jsonc.put(text, path, new)
    assert json.loads(changed) == expected
    assert "\n" not in changed.replace("\r\n", "") if windows and "\r\n" in text else True
    kept = len(text) - len(common_start(text, changed)) - len(common_end(text, changed))
    assert jsonc.put(changed, path, new) == changed
    if at(value, path) is None and path[0] not in value:
        assert kept <= 0  # an insertion leaves every old byte


def common_start(one: str, other: str) -> str:
    size = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[:size]


def common_end(one: str, other: str) -> str:
    return common_start(one[::-1], other[::-1])[::-1]


def at(value: Any, path: list[str]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


LENIENT = """{
    // the servers
    "servers": { /* none */ },
    "list": [1, 2, /* three */],
    "other": {
        "a": 1, // one
        "url": "http://x//y", /* two */
    }, // end
}
"""


def test_comments_and_trailing_commas_are_read_and_stay() -> None:
    document = jsonc.read(LENIENT)
    assert document.lenient
    assert document.root.value == {"servers": {}, "list": [1, 2], "other": {"a": 1, "url": "http://x//y"}}
    changed = jsonc.put(LENIENT, ("other", "b"), {"c": []})
    assert changed == LENIENT.replace("/* two */\n", '/* two */\n        "b": {\n            "c": []\n        }\n')
    assert jsonc.put(LENIENT, ("new",), 1) == LENIENT.replace("// end\n", '// end\n    "new": 1\n')
    inside = jsonc.put(LENIENT, ("servers", "memory"), 1)
    assert inside == LENIENT.replace("/* none */ }", '/* none */\n        "memory": 1\n    }')


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{"a": }', "line 1, column 7"),
        ('{\n"a": 1\n"b": 2}', "line 3, column 1"),
        ('{"a": "x', "line 1, column 7"),
        ("{'a': 1}", "line 1, column 2"),
        ('{"a": 1} x', "line 1, column 10"),
        ('{"a": 1', "line 1, column 8"),
        ("", "line 1, column 1"),
        ("[" * 300, "nested"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(text: str, where: str) -> None:
    with pytest.raises(jsonc.NotJson, match=where):
        jsonc.read(text)


def test_a_repeated_key_is_not_guessed_about() -> None:
    with pytest.raises(jsonc.NotJson, match="twice"):
        jsonc.put('{"a": {}, "a": {}}', ("a", "b"), 1)


START = {"command": "/usr/bin/python", "args": ["/x y/memory-server.pyz"]}
TABLE = ("mcp_servers", "memory")
NEW = '\n[mcp_servers.memory]\ncommand = "/usr/bin/python"\nargs = ["/x y/memory-server.pyz"]\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", NEW[1:]),
        (
            'model = "x"  # keep',
            'model = "x"  # keep\n' + NEW,
        ),
        (
            (
                "[mcp_servers . 'memory'] # ours\nargs = [ # old\n  '[x]', \"]\"] # end\n"
                "x = 1\ncommand = '''npx'''\n\n[z]\n"
            ),
            (
                "[mcp_servers . 'memory'] # ours\nargs = [\"/x y/memory-server.pyz\"] # end\nx = 1\n"
                'command = "/usr/bin/python"\n\n[z]\n'
            ),
        ),
        (
            '[mcp_servers.memory]\r\ncommand = "npx"\r\n[z]\r\ny = """\n[mcp_servers.memory]\n"""\r\n',
            (
                '[mcp_servers.memory]\r\ncommand = "/usr/bin/python"\r\nargs = ["/x y/memory-server.pyz"]\r\n'
                '[z]\r\ny = """\n[mcp_servers.memory]\n"""\r\n'
            ),
        ),
        (
            "[mcp_servers.memory.env]\nA = '1'\n",
            "[mcp_servers.memory.env]\nA = '1'\n" + NEW,
        ),
    ],
    ids=["empty", "other", "there", "CR LF", "env alone"],
)
def test_a_toml_table_is_set_in_place(before: str, after: str) -> None:
    assert toml.put(before, TABLE, START) == after
    assert toml.put(after, TABLE, START) == after
    if sys.version_info >= (3, 11):
        import tomllib

        old, new = tomllib.loads(before), tomllib.loads(after)
        memory = new["mcp_servers"]["memory"]
        assert {key: memory[key] for key in START} == START
        old.get("mcp_servers", {}).pop("memory", None)
        new["mcp_servers"].pop("memory")
        assert {key: value for key, value in new.items() if value} == {
            key: value for key, value in old.items() if value
        }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "[mcp_servers.memory]\nx = 1\n\n[z]\n",
            '[mcp_servers.memory]\nx = 1\n\n[mcp_servers.memory.env]\nA = "b"\n\n[z]\n',
        ),
        ("[mcp_servers.memory]\nenv = {}\n", '[mcp_servers.memory]\nenv = { A = "b" }\n'),
        ("[mcp_servers.memory.env]\nB = '1'", "[mcp_servers.memory.env]\nB = '1'\nA = \"b\"\n"),
    ],
    ids=["new", "inline", "there"],
)
def test_a_table_below_is_set_too(before: str, after: str) -> None:
    assert toml.put(before, TABLE, {"env": {"A": "b"}}) == after


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { memory = { command = "x" } }',
        'mcp_servers.memory.command = "x"',
        "[mcp_servers]\nmemory = {}",
        "[[mcp_servers.memory]]\n",
        '[mcp_servers.memory]\nenv = { B = "1" }\n',
        "[mcp_servers.memory]\nenv.B = '1'\n",
        "[mcp_servers.memory\n",
        'x = "no end\n',
        "x = [1,\n",
        "x y\n",
    ],
)
def test_toml_that_would_have_to_be_guessed_about_is_refused(text: str) -> None:
    with pytest.raises(toml.NotToml):
        toml.put(text, TABLE, {**START, "env": {"A": "b"}})


@given(st.text(max_size=20), st.lists(st.text(max_size=10), max_size=4))
def test_any_text_survives_toml(command: str, args: list[str]) -> None:
    tomllib = pytest.importorskip("tomllib")
    if any("\ud800" <= c <= "\udfff" for c in command + "".join(args)):
        return
    text = toml.block(TABLE, {"command": command, "args": args, "env": {command or "x": command}})
    memory = tomllib.loads(text)["mcp_servers"]["memory"]
    assert memory == {"command": command, "args": args, "env": {command or "x": command}}
    assert toml.put(text, TABLE, {"command": command, "args": args}) == text


@pytest.mark.parametrize("name", CLIENTS)
def test_what_is_written_is_read_as_ours(name: str) -> None:
    start = Start("/usr/bin/python3", ("/opt/memory-server.pyz",), {"MEMORY_FILE_PATH": "/m.jsonl"})
    value = entry.whole(CLIENTS[name].style, start, "memory")
    found = entry.found("memory", value)
    assert found is not None
    assert found[:3] == ("memory", "ours", start)
    assert entry.changes(CLIENTS[name].style, start, value) == []


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["npx", "-y", "@modelcontextprotocol/server-memory"], "npm"),
        (["npx", "-y", "@modelcontextprotocol/server-memory@latest"], "npm"),
        (["cmd", "/c", "npx", "@modelcontextprotocol/server-memory"], "npm"),
        (["node", "/x/node_modules/@modelcontextprotocol/server-memory/dist/index.js"], "npm"),
        (["mcp-server-memory"], "npm"),
        (["docker", "run", "-i", "-v", "claude-memory:/app/dist", "--rm", "mcp/memory"], "docker"),
        (["docker", "run", "mcp/memory:1.0"], "docker"),
        (["python", "C:\\Users\\ann\\memory-server.pyz"], "ours"),
        (["python", "/x/memory-server-1.0-linux.pyz", "--file", "m"], "ours"),
        (["python", "-m", "memory_app"], "ours"),
        (["npx", "-y", "@modelcontextprotocol/server-filesystem", "/memory"], "other"),
        (["uvx", "agent-memory-server"], "other"),
        (["docker", "run", "other/mcp/memory-x"], "other"),
        (["env", "-u", "X", "A=b", "npx", "-y", "@modelcontextprotocol/server-memory"], "npm"),
        (["npx.cmd", "--yes", "--package", "@modelcontextprotocol/server-memory@1", "mcp-server-memory"], "npm"),
        (["bash", "-lc", "exec npx -y @modelcontextprotocol/server-memory"], "npm"),
        (["pnpm", "dlx", "@modelcontextprotocol/server-memory"], "npm"),
        (["node", "/src/servers/src/memory/dist/index.js"], "npm"),
        (["podman", "run", "--rm", "-i", "-e", "A=b", "docker.io/mcp/memory:latest"], "docker"),
        (["uv", "run", "python", "/x/memory-server.pyz"], "ours"),
        (["uvx", "mcp-server-memory"], "other"),
        (["npx", "mcp-server-memory"], "other"),
        (["uvx", "memory-server"], "other"),
        (["docker", "run", "ghcr.io/else/memory-server"], "other"),
        (["npx", "-y", "some-files", "--root", "/home/ann/memory-server"], "other"),
        (["docker", "exec", "box", "mcp/memory"], "other"),
        (["mcp-knowledge-graph", "--memory-path", "/m.jsonl"], "fork"),
    ],
)
def test_servers_are_told_by_how_they_are_started(words: list[str], kind: str) -> None:
    found = entry.found("memory", {"command": words[0], "args": words[1:]})
    assert found is not None
    assert found.kind == kind
    together = entry.found("memory", {"command": words})
    assert together is not None
    assert together.kind == kind


@pytest.mark.parametrize("value", [None, 1, [], {}, {"url": "http://x"}, {"command": 1}, {"command": "x", "args": [1]}])
def test_what_starts_no_process_is_passed_over(value: object) -> None:
    assert entry.found("memory", value) is None


HOMES = {
    "linux": {"HOME": "/home/ann"},
    "darwin": {"HOME": "/Users/ann"},
    "win32": {
        "USERPROFILE": r"C:\Users\ann",
        "APPDATA": r"C:\Users\ann\AppData\Roaming",
        "LOCALAPPDATA": r"C:\Users\ann\AppData\Local",
    },
}
PLACES = {
    ("claude-desktop", "linux"): "/home/ann/.config/Claude/claude_desktop_config.json",
    ("claude-desktop", "darwin"): "/Users/ann/Library/Application Support/Claude/claude_desktop_config.json",
    ("claude-desktop", "win32"): r"C:\Users\ann\AppData\Roaming\Claude\claude_desktop_config.json",
    ("claude-code", "linux"): "/home/ann/.claude.json",
    ("claude-code", "win32"): r"C:\Users\ann\.claude.json",
    ("vscode", "linux"): "/home/ann/.config/Code/User/mcp.json",
    ("vscode", "darwin"): "/Users/ann/Library/Application Support/Code/User/mcp.json",
    ("vscode", "win32"): r"C:\Users\ann\AppData\Roaming\Code\User\mcp.json",
    ("cursor", "darwin"): "/Users/ann/.cursor/mcp.json",
    ("windsurf", "win32"): r"C:\Users\ann\.codeium\windsurf\mcp_config.json",
    ("gemini-cli", "linux"): "/home/ann/.gemini/settings.json",
    ("codex", "linux"): "/home/ann/.codex/config.toml",
    ("zed", "linux"): "/home/ann/.config/zed/settings.json",
    ("zed", "darwin"): "/Users/ann/.config/zed/settings.json",
    ("zed", "win32"): r"C:\Users\ann\AppData\Roaming\Zed\settings.json",
    ("cline", "linux"): "/home/ann/.cline/data/settings/cline_mcp_settings.json",
}


@pytest.mark.parametrize(("name", "platform"), PLACES)
def test_each_client_has_its_place_on_each_system(name: str, platform: str) -> None:
    assert places(CLIENTS[name], Machine(platform, HOMES[platform]))[0] == PLACES[name, platform]


@pytest.mark.parametrize(
    ("name", "variable", "place"),
    [
        ("vscode", "XDG_CONFIG_HOME", "/c/Code/User/mcp.json"),
        ("codex", "CODEX_HOME", "/c/config.toml"),
        ("claude-code", "CLAUDE_CONFIG_DIR", "/c/.claude.json"),
        ("copilot-cli", "COPILOT_HOME", "/c/mcp-config.json"),
    ],
)
def test_variables_move_the_place(name: str, variable: str, place: str) -> None:
    assert places(CLIENTS[name], Machine("linux", {**HOMES["linux"], variable: "/c"}))[0] == place


@pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)
@pytest.mark.parametrize("platform", HOMES)
def test_no_place_is_left_with_a_placeholder(client: Client, platform: str) -> None:
    found = places(client, Machine(platform, HOMES[platform]))
    assert bool(found) == bool(client.places)
    assert not any("{" in path for path in found)
    assert not any(("/" if platform == "win32" else "\\") in path for path in found)
