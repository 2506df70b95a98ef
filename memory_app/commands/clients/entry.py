"""What is written into a client's configuration for a server, and what is read out of it: one entry, in each form.

An entry that is there already keeps every key that is not about starting the server (`disabled`, `autoApprove`, further
variables), so that a move from the npm server keeps its memory file and the person's choices.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from memory_app.commands.clients.catalogue import Style

_OURS: Final = re.compile(r"memory-server(?:[-_.].*)?\.pyz|memory-server(?:\.exe)?|memory_app")
"""The last part of a word by which our server is started."""

_NPM: Final = re.compile(r"(?:.*/)?@modelcontextprotocol/server-memory(?:[@/].*)?|(?:.*/)?mcp-server-memory(?:\.cmd)?")
_DOCKER: Final = re.compile(r"(?:.*/)?mcp/memory(?:[:@].*)?")


class Start(NamedTuple):
    """How a server is started."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str]


class Found(NamedTuple):
    """A server in a client's file. `kind`: ours, npm, docker, or other."""

    name: str
    kind: str
    start: Start


_FIXED: Final[Mapping[str, dict[str, Any]]] = {
    "stdio": {"type": "stdio"},
    "copilot": {"type": "local"},
    "opencode": {"type": "local"},
    "zed": {"source": "custom"},
}
"""What the entry of each style has beside the start of the server."""

_NEW: Final[Mapping[str, dict[str, Any]]] = {"copilot": {"tools": ["*"]}, "opencode": {"enabled": True}}
"""What a new entry has as well, and the person may have changed in one that is there."""

Change = tuple[tuple[str, ...], Any]


def changes(style: Style, start: Start, there: Mapping[str, Any] | None) -> list[Change]:
    """What has to be put where within the entry: paths of keys and values. `there` is the entry as it is, or None."""
    fixed = _FIXED.get(style, {})
    environment = "environment" if style == "opencode" else "env"
    if style == "opencode":
        wanted: dict[str, Any] = {"command": [start.command, *start.args]}
    else:
        wanted = {"command": start.command, "args": list(start.args)}
    if there is None:
        entry: dict[str, Any] = fixed | wanted | _NEW.get(style, {})
        if start.env:
            entry[environment] = dict(start.env)
        return [((), entry)]
    result: list[Change] = [((key,), value) for key, value in fixed.items() if key in there and there[key] != value]
    result += [((key,), value) for key, value in wanted.items() if there.get(key) != value]
    held = there.get(environment)
    if not isinstance(held, Mapping):
        return [*result, ((environment,), dict(start.env))] if start.env else result
    result += [((environment, name), value) for name, value in start.env.items() if held.get(name) != value]
    return result


def whole(style: Style, start: Start) -> dict[str, Any]:
    """A new entry."""
    value: dict[str, Any] = changes(style, start, None)[0][1]
    return value


def found(name: str, entry: object) -> Found | None:
    """The server that an entry starts; None if it starts none (a remote one) or cannot be read."""
    if not isinstance(entry, Mapping):
        return None
    command, args = entry.get("command"), entry.get("args")
    if isinstance(command, Mapping):  # Zed's earlier form
        args = command.get("args")
        command = command.get("path")
    parts = [*(command if isinstance(command, list) else [command]), *(args if isinstance(args, list) else [])]
    words = [part for part in parts if isinstance(part, str)]
    if not words or words != parts:
        return None
    env = entry.get("env") or entry.get("environment")
    texts = {str(key): str(value) for key, value in env.items()} if isinstance(env, Mapping) else {}
    return Found(name, _kind(words), Start(words[0], tuple(words[1:]), texts))


def _kind(words: Sequence[str]) -> str:
    plain = [word.replace("\\", "/") for word in words]
    for kind, form in (("docker", _DOCKER), ("npm", _NPM)):
        if any(form.fullmatch(word) for word in plain):
            return kind
    return "ours" if any(_OURS.fullmatch(word.rpartition("/")[2]) for word in plain) else "other"
