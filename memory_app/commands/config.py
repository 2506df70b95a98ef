"""Set a client up. Without a client the clients are listed. With one, what belongs into its configuration file is
printed, with this machine's Python and this program's path. --write puts it there: the old file is kept beside it, and
nothing but the entry is touched; comments and the order of things stay. An entry of the npm server under the same name
becomes ours and keeps its memory file.

--file and --profile choose the memory that the client gets."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from typing import Any, Final

from memory_app.commands.clients import editing, entry, jsonc, toml
from memory_app.commands.clients.catalogue import CLIENTS, Client, Machine, places
from memory_app.commands.clients.entry import Found, Start
from memory_app.commands.clients.link import link
from memory_app.commands.frame import program
from memory_app.commands.screen.terminal import Terminal, output, safe, say, write_json
from memory_app.errors import UsageError
from memory_app.location import environment
from memory_app.location.choice import archive
from memory_app.location.expansion import expanded, file_path
from memory_app.text import shown

EXAMPLES: Final = (
    ("config", "list the clients, and which of them are here"),
    ("config claude-desktop", "print what belongs into its file"),
    ("config claude-desktop --write --dry-run", "show what --write would change"),
    ("config vscode --write --project", "set up VS Code for the project in this folder"),
    ("config cursor --docker", "print the entry that starts the container image"),
    ("config vscode --link", "print a link that, opened in a browser, installs it"),
)

_DOCKER: Final = Start(
    "docker", ("run", "-i", "--rm", "--pull=never", "-v", "claude-memory:/app/dist", "mcp/memory"), {}
)


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("client", nargs="?", metavar="CLIENT", help=", ".join(CLIENTS))
    parser.add_argument("--write", action="store_true", help="put the entry into the client's file")
    parser.add_argument("--dry-run", action="store_true", help="with --write: show the change, make none")
    parser.add_argument("--docker", action="store_true", help="an entry that starts the container image in its place")
    parser.add_argument("--link", action="store_true", help="a link that installs it, for vscode and cursor")
    parser.add_argument("--project", action="store_true", help="the file of the project in this folder, not the user's")
    parser.add_argument("--name", default="memory", metavar="NAME", help="the server's name there (default: memory)")
    parser.add_argument("--json", action="store_true", help="print one JSON object: the client's file and the entry")


def run(asked: argparse.Namespace) -> int:
    machine = Machine(sys.platform, os.environ)
    if asked.client is None:
        _list(machine, as_json=asked.json)
        return 0
    if asked.client not in CLIENTS:
        raise UsageError(f"{shown(asked.client)} is no client that is known here. Known are {', '.join(CLIENTS)}.")
    client = CLIENTS[asked.client]
    path = _project_file(asked.client, client) if asked.project else _user_file(client, machine)
    start = _DOCKER if asked.docker else _start(asked)
    if asked.link:
        output().line(link(asked.client, asked.name, _entry(client, start)))
    elif asked.write or asked.dry_run:
        _write(client, path, asked, start)
    elif asked.json:
        write_json(
            {"client": asked.client, "file": path, "keys": [*client.keys, asked.name], "entry": _entry(client, start)}
        )
    else:
        _print(asked, client, path, start)
    return 0


def this_start(environ: dict[str, str]) -> Start:
    """How this very program is started as a server."""
    called = archive(os.environ, sys.argv[0])
    if called:
        return Start(sys.executable, (os.path.abspath(called),), environ)
    folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    installed = {"site-packages", "dist-packages"} & set(folder.replace("\\", "/").split("/"))
    return Start(sys.executable, ("-m", "memory_app"), environ if installed else {"PYTHONPATH": folder} | environ)


def _start(asked: argparse.Namespace) -> Start:
    chosen: dict[str, str] = {}
    if asked.file is not None:
        written = expanded(asked.file, "--file", os.environ, sys.platform)
        chosen[environment.FILE] = file_path(written, os.getcwd(), sys.platform)
    if asked.profile is not None:
        if chosen:
            raise UsageError("--file and --profile are both given: a profile has its file beside the default one.")
        chosen[environment.PROFILE] = asked.profile
    return this_start(chosen)


def _entry(client: Client, start: Start) -> dict[str, Any]:
    return entry.whole(client.style, start)


def _snippet(client: Client, name: str, start: Start) -> str:
    value = _entry(client, start)
    if client.style == "codex":
        return toml.block((*client.keys, name), value).rstrip("\n")
    whole: Any = {name: value}
    for key in reversed(client.keys):
        whole = {key: whole}
    return jsonc.written(whole)


def _print(asked: argparse.Namespace, client: Client, path: str, start: Start) -> None:
    say(f"This belongs into {safe(path)}{'' if os.path.exists(path) else ' (which is not there yet)'}:\n")
    output().line(_snippet(client, asked.name, start))
    options = [f"--{option}" for option in ("docker", "project") if getattr(asked, option)]
    for option, value in (("--name", asked.name), ("--file", asked.file), ("--profile", asked.profile)):
        if value is not None and value != "memory":
            options += [option, f'"{safe(value)}"' if " " in value else safe(value)]
    say(f"\nTo have it put there: {' '.join([program(), 'config', asked.client, *options, '--write'])}")
    say(client.after)


def _write(client: Client, path: str, asked: argparse.Namespace, start: Start) -> None:
    edit = editing.edited(client, path, asked.name, start)
    out = output()
    unchanged = edit.before == edit.after
    backup = None
    if not asked.dry_run and not unchanged:
        backup = editing.write(edit)
    if asked.json:
        write_json({"file": path, "changed": not unchanged, "dryRun": asked.dry_run, "backup": backup})
    elif unchanged:
        out.line(f"{safe(path)} has it already.")
    elif asked.dry_run:
        _show_difference(out, edit)
    else:
        out.line(f"Wrote {shown(asked.name)} to {safe(path)}")
        if backup:
            say(f"The file as it was is kept in {safe(backup)}")
        say(client.after)
    if edit.there is not None and edit.there.kind in ("npm", "docker") and not asked.docker:
        _tell_where_the_memory_was(edit.there)


def _show_difference(out: Terminal, edit: editing.Edit) -> None:
    lines = difflib.unified_diff(
        (edit.before or "").splitlines(), edit.after.splitlines(), safe(edit.path), "with the entry", lineterm="", n=0
    )  # no lines around the change: they may hold other servers' keys
    for line in lines:
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        text = safe(line.expandtabs(4))
        out.line(out.styled(text, style) if style else text)


def _tell_where_the_memory_was(old: Found) -> None:
    written = old.start.env.get(environment.FILE)
    if old.kind == "docker":
        say("The memory of the container is in its volume: help has a page on how to bring it over.")
    elif written is None:
        say(f"The npm server kept its memory in its own folder: `{program()} doctor` shows where; import adds it here.")
    elif not os.path.isabs(os.path.expanduser(written)):
        say(f"{environment.FILE} is relative there: the npm server saw it from its own folder, we see it from ours.")


def _user_file(client: Client, machine: Machine) -> str:
    """The file that exists, else the first whose folder does, else the first."""
    candidates = places(client, machine)
    if not candidates:
        raise UsageError("no home folder is known here. Set HOME, or use --project.")
    for exists in (os.path.exists, lambda path: os.path.isdir(os.path.dirname(path))):
        for path in candidates:
            if exists(path):
                return path
    return candidates[0]


def _project_file(name: str, client: Client) -> str:
    if client.project is None:
        raise UsageError(f"{name} has no file for a project. Leave --project out.")
    return os.path.join(os.getcwd(), *client.project.split("/"))


def _list(machine: Machine, *, as_json: bool) -> None:
    rows = [(name, client, places(client, machine)) for name, client in CLIENTS.items()]
    if as_json:
        write_json(
            [
                {"client": name, "title": client.title, "files": files, "here": any(map(os.path.exists, files))}
                for name, client, files in rows
            ]
        )
        return
    out = output()
    size = max(map(len, CLIENTS))
    for name, client, files in rows:
        there = next((path for path in files if os.path.exists(path)), None)
        mark = out.styled(safe(there), "green") if there else out.styled("no file here", "dim")
        out.line(f"  {name:<{size}}  {client.title:<20}  {mark}")
    out.line()
    out.line(f"{program()} config CLIENT shows what belongs into its file, --write puts it there.")
