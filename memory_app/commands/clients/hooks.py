"""The hook that Claude Code runs at the start of a session: a command that prints a brief of the memory for the model.

Claude Code keeps hooks in its settings, not in the file of its servers, as lists of groups by event.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

from memory_app.commands.clients.catalogue import Machine
from memory_app.commands.clients.entry import Start
from memory_app.errors import UsageError
from memory_app.location.environment import FILE, PROFILE, value_of
from memory_app.location.expansion import flavour, home_folder

KEYS: Final = ("hooks", "SessionStart")
_EVENTS: Final = "startup|resume|clear|compact"
_SECONDS: Final = 30
_OURS: Final = re.compile(
    r"(?:memory-server[^/\\]*\.pyz|memory_app|memory-server)[\"']?\s+brief\b"
    r"|\.pyz[\"']?\s+brief\s+--tokens\s+\d+\b"
    r"|\sbrief --tokens \d+(?: --(?:file|profile) .+)?$"
)
"""A command of ours, also where the archive has another name: the words after it tell."""


def settings_file(machine: Machine, project: bool) -> str:
    """Claude Code's settings: the user's, or those of the project in the current folder."""
    join = flavour(machine.platform).join
    if project:
        return os.path.join(os.getcwd(), ".claude", "settings.json")
    moved, home = (
        value_of("CLAUDE_CONFIG_DIR", machine.environ, machine.platform),
        home_folder(machine.environ, machine.platform),
    )
    if moved is None and home is None:
        raise UsageError("the home folder is unknown. Set HOME, or use --project.")
    return str(join(moved or join(home or "", ".claude"), "settings.json"))


def command_line(start: Start, tokens: int, platform: str) -> str:
    """The command that prints the brief of the memory that the server has."""
    words = [start.command, *start.args, "brief", "--tokens", str(tokens)]
    for name, option in ((FILE, "--file"), (PROFILE, "--profile")):
        if name in start.env:
            words += [option, start.env[name]]
    rest = {name: value for name, value in start.env.items() if name not in (FILE, PROFILE)}
    if platform == "win32":  # a shell like that of Git for Windows, where a backslash does not separate folders
        return " ".join(f'"{word.replace(chr(92), "/")}"' if re.search(r"[\s\\]", word) else word for word in words)
    assignments = [f"{name}={shlex.quote(value)}" for name, value in rest.items()]
    return " ".join([*assignments, shlex.join(words)])


def with_hook(held: object, command: str | None) -> list[Any]:
    """The groups of the event with ours in it, once; without ours if there is no command."""
    groups = held if isinstance(held, list) else []
    rest = [group for group in groups if not _is_ours(group)]
    if command is None:
        return rest
    hook = {"type": "command", "command": command, "timeout": _SECONDS}
    return [*rest, {"matcher": _EVENTS, "hooks": [hook]}]


def _is_ours(group: object) -> bool:
    """Whether a group contains our command and no other."""
    hooks: Sequence[Any] = group.get("hooks") or () if isinstance(group, Mapping) else ()
    commands = [one.get("command") if isinstance(one, Mapping) else None for one in hooks]
    return bool(commands) and all(isinstance(text, str) and _OURS.search(text) for text in commands)
