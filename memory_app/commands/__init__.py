"""The commands: their names, their purposes, and how one is run.

Each command is a module with `EXAMPLES`, `register(parser)` and `run(asked) -> int`; only the requested one is
imported. Rules for all of them: results go to stdout, everything else to stderr. The exit status is 0 for success, 1
for "found something" (`check`, `doctor`) or "not found", and 2 with one line on stderr for wrong use and for failures.
A memory file is changed only through the Store, the rest of the file system only through `disk`. No command knows the
MCP SDK.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class Command(NamedTuple):
    """`module` is in this package; `summary` is the line shown in lists of commands."""

    module: str
    group: str
    summary: str


_LOOK, _CORRECT, _KEEP, _MOVE, _SET_UP = "Look", "Correct", "Look after", "Move and combine", "Set up"

COMMANDS: Final[Mapping[str, Command]] = {
    "search": Command("search", _LOOK, "find entities by words in their name, type or observations"),
    "show": Command("show", _LOOK, "show one entity with everything that it is connected to"),
    "stats": Command("stats", _LOOK, "count what is in the memory"),
    "brief": Command("brief", _LOOK, "print a short summary of the memory for a model"),
    "view": Command("view", _LOOK, "see the memory in the browser as it changes, and correct it"),
    "history": Command("history", _LOOK, "list earlier states and what changed between them"),
    "diff": Command("diff", _LOOK, "show the differences between two states of the memory"),
    "add": Command("add", _CORRECT, "add facts to an entity, or create one"),
    "edit": Command("edit", _CORRECT, "edit an entity's facts in your editor"),
    "rename": Command("rename", _CORRECT, "give an entity another name; its relations follow"),
    "merge-entities": Command("merge_entities", _CORRECT, "merge two entities into one"),
    "forget": Command("forget", _CORRECT, "remove entities; on request from history and backups too"),
    "undo": Command("undo", _CORRECT, "bring back what a change removed"),
    "check": Command("check", _KEEP, "look for everything odd in the memory file; change nothing"),
    "repair": Command("repair", _KEEP, "mend what check found, after a backup"),
    "backup": Command("backup", _KEEP, "make a dated copy of the memory file"),
    "restore": Command("restore", _KEEP, "restore a backup or an earlier state of the whole memory"),
    "export": Command("export", _MOVE, "write it as JSON, JSON Lines, Markdown, CSV, GraphML or DOT"),
    "import": Command("importing", _MOVE, "add the contents of another memory file"),
    "merge": Command("merge", _MOVE, "unite two copies of one memory and show the differences"),
    "call": Command("call", _MOVE, "call one of the nine tools from a script"),
    "serve": Command("serve", _SET_UP, "serve over HTTP to several computers, or read-only"),
    "token": Command("token", _SET_UP, "make, list and revoke the tokens of serve --http"),
    "config": Command("config", _SET_UP, "set up Claude, VS Code, Cursor and other clients"),
    "doctor": Command("doctor", _SET_UP, "find out why something does not work on this machine"),
    "completion": Command("completion", _SET_UP, "complete commands and options in your shell"),
    "help": Command("help", _SET_UP, "read the guide, or about one command"),
}


def overview(program: str) -> str:
    """All commands in their groups, for --help."""
    lines: list[str] = []
    for group in dict.fromkeys(command.group for command in COMMANDS.values()):
        lines += ["", f"{group}:"]
        lines += [f"  {name:<15}{one.summary}" for name, one in COMMANDS.items() if one.group == group]
    return "\n".join([*lines, "", f"{program} COMMAND --help shows more, with examples."])
