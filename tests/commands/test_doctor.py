"""doctor: which file and why, whether its folder is safe, and what the clients say."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from memory_app.commands.clients.catalogue import CLIENTS, Machine, places
from memory_app.commands.upkeep.places import remote, sync_service
from memory_app.commands.upkeep.trials import trials
from memory_app.disk import calls as disk
from memory_app.disk.mounts import kind_of
from tests.commands.running import Result, environment, run


def doctor(*arguments: str | Path, home: Path, env: dict[str, str] | None = None) -> Result:
    return run("doctor", *arguments, home=home, env=env)


def put(name: str, home: Path, server: dict[str, Any], key: str = "memory") -> Path:
    path = Path(places(CLIENTS[name], Machine(sys.platform, environment(home)))[0])
    path.parent.mkdir(parents=True, exist_ok=True)
    held: Any = {key: server}
    for part in reversed(CLIENTS[name].keys):
        held = {part: held}
    path.write_text(json.dumps(held))
    return path


def runner(name: str, home: Path) -> str:
    """A program of this name that is there; doctor does not start it."""
    path = home / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("")
    path.chmod(0o755)
    return str(path)


OURS = {"command": sys.executable, "args": ["-m", "memory_app"]}


def test_a_healthy_place_is_called_so_and_left_as_it_was(memory: Path, home: Path) -> None:
    before = (memory.read_bytes(), memory.stat().st_mtime_ns, sorted(os.listdir(home)))
    result = doctor("--file", memory, home=home)
    assert result.status == 0
    assert str(memory) in result.out
    assert "from --file" in result.out
    assert "All is well." in result.out
    assert " bad " not in result.out
    assert before == (memory.read_bytes(), memory.stat().st_mtime_ns, sorted(os.listdir(home)))


def test_a_place_that_is_not_there_yet_is_not_made(home: Path) -> None:
    result = doctor("--file", home / "new" / "m.jsonl", "--json", home=home).json()
    assert result["state"]["what"] == "it does not exist yet"
    assert result["folder"] == str(home)
    assert list(home.iterdir()) == []


def test_a_file_that_is_no_memory_is_found(home: Path) -> None:
    path = home / "diary.txt"
    path.write_text("dear diary")
    result = doctor("--file", path, home=home)
    assert result.status == 1
    assert "it contains something else" in result.out


def test_a_path_that_cannot_be_meant_does_not_end_the_visit(home: Path) -> None:
    put("cursor", home, OURS)
    result = doctor(home=home, env={"MEMORY_FILE_PATH": "${workspaceFolder}/m.jsonl"})
    assert result.status == 1
    assert "only the client could have filled in" in result.out
    assert "cursor, memory: this server" in result.out


_WITHOUT_SSL = """
import sys
sys.modules["_ssl"] = None  # as built without OpenSSL
from memory_app.cli import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        pytest.param(["doctor"], 1, "Python's ssl module", id="doctor"),
        pytest.param(["doctor", "--json"], 1, "Python's ssl module", id="doctor as JSON"),
        pytest.param(["serve", "--http", "0"], 2, "was built without ssl", id="over HTTP"),
    ],
)
def test_a_python_without_ssl_is_told_of(
    memory: Path, home: Path, arguments: list[str], status: int, said: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_SSL, "--file", str(memory), *arguments],
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=60,
        cwd=home,
        check=False,
    )
    assert done.returncode == status, done.stderr
    assert said in done.stdout + done.stderr
    assert "All is well" not in done.stdout
    assert "Traceback" not in done.stderr


def test_a_lock_that_cannot_be_had_is_found(memory: Path, home: Path) -> None:
    (home / "memory.jsonl.lock").mkdir()
    result = doctor("--file", memory, home=home)
    assert result.status == 1
    assert "is a folder, not a lock file" in result.out


def found(result: Result) -> tuple[list[dict[str, Any]], list[str]]:
    held = result.json()
    return held["servers"], [one["text"] for one in held["troubles"]]


def test_servers_of_all_kinds_are_found(home: Path, memory: Path) -> None:
    put("cursor", home, {**OURS, "env": {"MEMORY_FILE_PATH": str(memory)}})
    put("windsurf", home, {"command": runner("node", home), "args": ["/npx/@modelcontextprotocol/server-memory"]})
    put("kiro", home, {"command": runner("docker", home), "args": ["run", "mcp/memory"]})
    put("zed", home, {"command": sys.executable, "args": ["other"]})
    servers, troubles = found(doctor("--file", memory, "--json", home=home))
    assert [(one["client"], one["kind"], one["memory"]) for one in servers] == [
        ("cursor", "this server", str(memory)),
        ("windsurf", "the npm server", "in its own folder"),
        (
            "kiro",
            "the container image",
            "/app/dist/memory.jsonl only in the container, so it is lost when the container ends",
        ),
    ]
    assert troubles == []


def test_clients_that_see_different_memories_are_told(home: Path, memory: Path) -> None:
    put("cursor", home, {**OURS, "env": {"MEMORY_FILE_PATH": str(memory)}})
    put("windsurf", home, {**OURS, "env": {"MEMORY_FILE_PATH": str(home / "other.jsonl")}})
    result = doctor("--file", memory, home=home)
    assert result.status == 1
    assert "several memories are in use" in result.out
    assert str(home / "other.jsonl") in result.out


@pytest.mark.parametrize(
    ("server", "trouble"),
    [
        ({"command": "no-such-python", "args": ["/x/memory-server.pyz"]}, "no-such-python does not exist"),
        (
            {"command": sys.executable, "args": ["/nowhere/memory-server.pyz"]},
            "/nowhere/memory-server.pyz does not exist",
        ),
        ({"command": sys.executable, "args": ["memory-server.pyz"]}, "relative path"),
        ({"command": "${HOME}/python", "args": ["/x/memory-server.pyz"]}, "contains a variable"),
        ({**OURS, "env": {"MEMORY_FILE_PATH": "${projectRoot}/m.jsonl"}}, "${projectRoot}"),
        ({**OURS, "env": {"MEMORY_FILE": "/m.jsonl"}}, "perhaps MEMORY_FILE_PATH is meant"),
        (
            {
                "command": "npx",
                "args": ["@modelcontextprotocol/server-memory"],
                "env": {"MEMORY_FILE_PATH": "~/m.jsonl"},
            },
            "begins with ~",
        ),
    ],
    ids=["command", "archive", "relative", "variable", "workspace", "misspelt", "npm and ~"],
)
def test_what_is_wrong_with_an_entry_is_told(server: dict[str, Any], trouble: str, home: Path, memory: Path) -> None:
    put("cursor", home, server)
    result = doctor("--file", memory, "--json", home=home)
    assert result.status == 1
    assert any(trouble in text for text in found(result)[1])


def test_a_client_s_file_that_cannot_be_read_is_named(home: Path, memory: Path) -> None:
    path = put("cursor", home, OURS)
    path.write_text('{"mcpServers": ')
    result = doctor("--file", memory, home=home)
    assert result.status == 1
    assert f"{path} cannot be read" in result.out


def test_servers_of_a_project_and_of_claude_code_s_folders_are_found(home: Path, memory: Path) -> None:
    (home / ".mcp.json").write_text(json.dumps({"mcpServers": {"mine": OURS}}))
    (home / ".claude.json").write_text(json.dumps({"projects": {"/p": {"mcpServers": {"memory": OURS}}}}))
    servers, _ = found(doctor("--file", memory, "--json", home=home))
    assert [one["name"] for one in servers] == ["memory (in /p)", "mine"]


def test_secrets_of_an_entry_are_not_shown(home: Path, memory: Path) -> None:
    put("cursor", home, {**OURS, "env": {"API_TOKEN": "hunter2", "MEMORY_FILE": "hunter2"}})
    for more in ([], ["--json"]):
        result = doctor("--file", memory, *more, home=home, env={"MEMORY_HTTP_TOKEN": "hunter2"})
        assert "hunter2" not in result.out + result.err


def test_memories_that_the_npm_server_left_are_found(home: Path, memory: Path) -> None:
    folder = home / ".npm" / "_npx" / "abc" / "node_modules" / "@modelcontextprotocol" / "server-memory" / "dist"
    folder.mkdir(parents=True)
    (folder / "memory.jsonl").write_bytes(memory.read_bytes())
    (folder / "memory.js").write_bytes(b"")
    result = doctor("--file", memory, home=home)
    assert result.status == 0
    assert str(folder / "memory.jsonl") in result.out
    assert "import PATH" in result.out


class _Faulty:
    """An `os` in which some calls are others."""

    def __init__(self, **calls: Any) -> None:
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        return self._calls.get(name, getattr(os, name))


def _twice(path: str, flags: int, mode: int = 0o777) -> int:
    return os.open(path, flags & ~os.O_EXCL, mode)


def _refused(*_: object, **__: object) -> None:
    raise OSError(95, "Operation not supported")


def _ahead(fd: int) -> Any:
    status = os.fstat(fd)
    return SimpleNamespace(
        st_dev=status.st_dev,
        st_ino=status.st_ino,
        st_size=status.st_size,
        st_mode=stat.S_IFREG,
        st_mtime_ns=status.st_mtime_ns + 100_000_000_000,
        st_ctime_ns=status.st_ctime_ns,
    )


@pytest.mark.parametrize(
    ("calls", "what", "ok"),
    [
        ({"open": _twice}, "exclusive creation", False),
        ({"replace": _refused}, "a rename replaces a file", False),
        ({"link": _refused, "supports_follow_symlinks": set()}, "hard links", None),
        ({"fstat": _ahead}, "clock", False),
    ],
    ids=["no exclusive creation", "no rename", "no links", "clock"],
)
def test_a_file_system_that_lacks_something_is_found_out(
    calls: dict[str, Callable[..., Any]], what: str, ok: bool | None, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "os", _Faulty(**calls))
    tried = trials(str(home), str(home / "m.jsonl"))
    monkeypatch.undo()
    assert [one.ok for one in tried if what in one.what] == [ok]
    assert os.listdir(home) == []


def test_a_good_file_system_passes_every_trial(home: Path) -> None:
    tried = trials(str(home), str(home / "m.jsonl"))
    assert len(tried) >= 7
    assert all(one.ok for one in tried)
    assert os.listdir(home) == []


@pytest.mark.parametrize(
    ("folder", "kind"),
    [("/mnt/share/x", "nfs4"), ("/mnt/shared", "ext4"), ("/mnt/share", "nfs4"), ("/", "ext4"), ("/c/x", "9p")],
)
def test_the_mount_of_a_folder_is_the_longest_that_holds_it(folder: str, kind: str) -> None:
    mounts = [("/", "rootfs"), ("/", "ext4"), ("/mnt/share", "nfs4"), ("/c", "9p")]
    assert kind_of(folder, mounts) == kind


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_local_folder_is_not_remote(home: Path) -> None:
    assert remote("/proc", sys.platform) == ""


def test_folders_of_sync_services_are_known(home: Path) -> None:
    assert sync_service(str(home)) == ""
    inside = home / "OneDrive - Acme" / "notes"
    inside.mkdir(parents=True)
    assert sync_service(str(inside)) == "OneDrive"
    (home / ".stfolder").mkdir()
    assert sync_service(str(home / "other")) == "Syncthing"


def test_a_sync_service_is_known_before_the_folder_is_there(home: Path) -> None:
    said = run("doctor", "--file", home / "Dropbox" / "notes" / "m.jsonl", home=home).out
    assert "Dropbox copies it" in said
    assert list(home.iterdir()) == []


SERVER = {"command": sys.executable, "args": ["-m", "memory_app"]}


def put_in_project(name: str, home: Path, server: dict[str, Any]) -> None:
    client = CLIENTS[name]
    assert client.project is not None
    path = home.joinpath(*client.project.split("/"))
    path.parent.mkdir(parents=True, exist_ok=True)
    held: Any = {"memory": server}
    for part in reversed(client.keys):
        held = {part: held}
    path.write_text(json.dumps(held))


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("vscode", "${workspaceFolder}/.memory/memory.jsonl"),
        ("vscode", "${input:memory}"),
        ("vscode", "${env:HOME}${/}m.jsonl"),
        ("cursor", "${workspaceFolder}/.memory/memory.jsonl"),
        ("cursor", "${userHome}/m.jsonl"),
        ("claude-code", "${CLAUDE_PROJECT_DIR:-.}/.memory/memory.jsonl"),
        ("gemini-cli", "$HOME/m.jsonl"),
        ("gemini-cli", "${DATA:-/d}/m.jsonl"),
        ("qwen-code", "$HOME/${NAME}.jsonl"),
        ("opencode", "{env:HOME}/m.jsonl"),
        ("kiro", "${HOME}/m.jsonl"),
        ("roo-code", "${env:HOME}/m.jsonl"),
    ],
)
@pytest.mark.parametrize("kind", ["ours", "npm"])
def test_what_a_client_fills_in_is_said_so_and_not_called_bad(name: str, written: str, kind: str, home: Path) -> None:
    words = (
        SERVER if kind == "ours" else {"command": runner("npx", home), "args": ["@modelcontextprotocol/server-memory"]}
    )
    key = "environment" if name == "opencode" else "env"
    put_in_project(name, home, {**words, key: {"MEMORY_FILE_PATH": written}})
    servers, troubles = found(doctor("--file", home / "m.jsonl", "--json", home=home))
    assert [one["memory"] for one in servers] == [f"{written} (filled in by {CLIENTS[name].title})"]
    assert troubles == []


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("claude-code", "$HOME/m.jsonl"),  # only ${HOME} is filled in there
        ("claude-desktop", "${HOME}/m.jsonl"),
        ("cursor", "${input:memory}"),
        ("vscode", "${HOME}/m.jsonl"),
        ("qwen-code", "${DATA:-/d}/m.jsonl"),  # it knows no default
        ("kiro", "${DATA:-/d}/m.jsonl"),
        ("copilot-cli", "$HOME/m.jsonl"),
        ("opencode", "${env:HOME}/m.jsonl"),  # the $ would stay
        ("windsurf", "${workspaceFolder}/m.jsonl"),
    ],
)
def test_what_a_client_does_not_fill_in_stays_bad_with_the_npm_server(name: str, written: str, home: Path) -> None:
    npm = {"command": runner("npx", home), "args": ["@modelcontextprotocol/server-memory"]}
    put(name, home, {**npm, "env": {"MEMORY_FILE_PATH": written}})
    assert "contains a variable" in found(doctor("--json", home=home))[1][0]


@pytest.mark.parametrize(
    ("server", "kind", "memory"),
    [
        (
            ["env", "MEMORY_FILE_PATH=/d/m.jsonl", "npx", "@modelcontextprotocol/server-memory"],
            "the npm server",
            "/d/m.jsonl",
        ),
        (
            ["docker", "run", "-v", "/d/mem:/data", "-e", "MEMORY_FILE_PATH=/data/m.json", "mcp/memory"],
            "the container image",
            "/d/mem/m.json",
        ),
        (
            ["docker", "run", "--mount", "type=volume,src=mine,dst=/app/dist", "mcp/memory"],
            "the container image",
            "/app/dist/memory.jsonl in the volume mine",
        ),
        (["mcp-knowledge-graph", "--memory-path", "/d/m.jsonl"], "another memory server", "/d/m.jsonl"),
        (
            ["wsl.exe", "bash", "-c", "MEMORY_FILE_PATH=/d/m.jsonl npx -y @modelcontextprotocol/server-memory"],
            "the npm server",
            "/d/m.jsonl",
        ),
        (
            ["npx", "-y", "supergateway", "--stdio", "npx -y @modelcontextprotocol/server-memory"],
            "the npm server",
            "in its own folder",
        ),
    ],
    ids=["env", "bind mount", "volume", "fork", "wsl", "gateway"],
)
def test_servers_are_recognised_under_any_name_with_their_memory(
    server: list[str], kind: str, memory: str, home: Path
) -> None:
    put("cursor", home, {"command": server[0], "args": server[1:]}, key="My Facts")
    servers, _ = found(doctor("--json", home=home))
    assert [(one["name"], one["kind"], one["memory"]) for one in servers] == [("My Facts", kind, memory)]
