"""Set up a client. Without a client, lists the clients. With a client, prints the text for its configuration file, with
this machine's Python and this program's path. --write puts the entry into the file: it keeps a copy of the old file
beside it and changes only the entry; comments and order stay. An entry of the npm server, under the same name or
another one, becomes ours and keeps its memory file. --remove removes our entry; the memory stays.

--file and --profile choose the memory for the client. --all means every client found on this machine.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import os
import shutil
import sys
from typing import Any, Final

from memory_app.commands import brief
from memory_app.commands.clients import configured, editing, entry, hooks, jsonc
from memory_app.commands.clients.catalogue import CLIENTS, Client, Machine, older_places, places
from memory_app.commands.clients.containers import container_start, describe_memory, memory_here
from memory_app.commands.clients.entry import Found, Start
from memory_app.commands.clients.link import link
from memory_app.commands.frame import program
from memory_app.commands.memory import find_memory
from memory_app.commands.screen.terminal import Terminal, output, safe, say, write_json
from memory_app.errors import MemoryServerError, UsageError
from memory_app.location import environment
from memory_app.location.choice import archive
from memory_app.location.expansion import data_folder
from memory_app.text import shown

EXAMPLES: Final = (
    ("config", "list the clients, which of them are set up, and with which memory"),
    ("config claude-desktop", "print the text for its file"),
    ("config claude-desktop --write --dry-run", "show what --write would change"),
    ("config vscode --write --project", "set up VS Code for the project in this folder"),
    ("config cursor --docker", "print the entry that starts the container image"),
    ("config cursor --remove", "remove our entry; the memory stays"),
    ("config claude-code --hooks --write", "begin each session of Claude Code with a brief of the memory"),
    ("config --all --write", "set up every client found on this machine"),
    ("config vscode --link", "print a link that installs it when opened in a browser"),
)

_NO_FILE_COUNTS: Final = ("claude-code",)
"""Clients whose file is in the home folder itself: that folder says nothing about the client."""


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("client", nargs="?", metavar="CLIENT", help=", ".join(CLIENTS))
    parser.add_argument("--write", action="store_true", help="put the entry into the client's file")
    parser.add_argument("--remove", action="store_true", help="remove our entry from the client's file")
    parser.add_argument(
        "--all", action="store_true", help="with --write or --remove: every client found on this machine"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="with --write or --remove: show the change without making it"
    )
    parser.add_argument("--docker", action="store_true", help="use an entry that starts the container image instead")
    parser.add_argument("--link", action="store_true", help="print a link that installs it, for vscode and cursor")
    parser.add_argument(
        "--hooks", action="store_true", help="claude-code: begin each session with a brief of the memory"
    )
    parser.add_argument(
        "--project", action="store_true", help="use the file of the project in this folder, not the user's"
    )
    parser.add_argument(
        "--name", metavar="NAME", help="the server's name in the file (default: its present name, else memory)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object: the client's file and the entry")


def run(asked: argparse.Namespace) -> int:
    machine = Machine(sys.platform, os.environ)
    if asked.all:
        return _all(asked, machine)
    if asked.client is None:
        _list(machine, as_json=asked.json)
        return 0
    if asked.client not in CLIENTS:
        raise UsageError(f"there is no client {shown(asked.client)}. The clients are {', '.join(CLIENTS)}.")
    client = CLIENTS[asked.client]
    if asked.hooks:
        _hooks(asked, client, machine)
        return 0
    if client.by_hand or (not client.places and not asked.project):
        return _by_hand(asked, client)
    path = _project_file(asked.client, client) if asked.project else _user_file(client, machine)
    if asked.remove:
        _remove(client, path, asked)
        return 0
    start = _start(asked)
    name = asked.name or client.name
    if asked.link:
        output().line(link(asked.client, name, _entry(client, start, name)))
    elif asked.write or asked.dry_run:
        _write(asked.client, path, asked, start)
    elif asked.json:
        held = _entry(client, start, name)
        write_json({"client": asked.client, "file": path, "keys": [*client.keys, name], "entry": held})
    else:
        _print(asked, client, path, start)
    return 0


def this_start(environ: dict[str, str]) -> Start:
    """How this program is started as a server."""
    called = archive(os.environ, sys.argv[0])
    if called:
        return Start(sys.executable, (os.path.abspath(called),), environ)
    folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    installed = {"site-packages", "dist-packages"} & set(folder.replace("\\", "/").split("/"))
    return Start(sys.executable, ("-m", "memory_app"), environ if installed else {"PYTHONPATH": folder} | environ)


def _start(asked: argparse.Namespace) -> Start:
    file = None
    if asked.file is not None or asked.profile is not None:
        location = find_memory(asked)  # checks the profile's name, too
        for note in location.notes if asked.file is not None else ():
            say(f"memory-server: {note}")
        file = location.path if asked.file is not None else None
    return _started_with(file, asked.profile, docker=asked.docker)


def _started_with(file: str | None, profile: str | None, *, docker: bool) -> Start:
    if docker:
        return container_start(file, profile)
    if file is not None:
        return this_start({environment.FILE: file})
    return this_start({environment.PROFILE: profile} if profile is not None else {})


def _entry(client: Client, start: Start, name: str) -> dict[str, Any]:
    return entry.whole(client.style, start, name)


def _print(asked: argparse.Namespace, client: Client, path: str, start: Start) -> None:
    name = asked.name or client.name
    say(f"Put this into {safe(path)}{'' if os.path.exists(path) else ' (which does not exist yet)'}:\n")
    output().line(editing.snippet(client, name, _entry(client, start, name)))
    say(f"\nOr run: {' '.join([program(), 'config', asked.client, *_options(asked), '--write'])}")
    say(client.after)


def _options(asked: argparse.Namespace) -> list[str]:
    options = [f"--{option}" for option in ("docker", "project") if getattr(asked, option)]
    for option, value in (("--name", asked.name), ("--file", asked.file), ("--profile", asked.profile)):
        if value is not None:
            options += [option, f'"{safe(value)}"' if " " in value else safe(value)]
    return options


def _by_hand(asked: argparse.Namespace, client: Client) -> int:
    """Print what to enter by hand, and where, for a client without a file that we can write."""
    if asked.write or asked.remove or asked.dry_run:
        raise UsageError(
            client.by_hand or f"{client.title} has no user file on this system: use --project in the project's folder."
        )
    name = asked.name or client.name
    value = _entry(client, _start(asked), name)
    if asked.json:
        write_json({"client": asked.client, "file": None, "keys": [*client.keys, name], "entry": value})
        return 0
    output().line(editing.snippet(client, name, value))
    say("\n" + (client.by_hand or f"With --project it goes into {client.project} in the current folder."))
    return 0


def _write(client_name: str, path: str, asked: argparse.Namespace, start: Start) -> None:
    client = CLIENTS[client_name]
    there = _servers_in(client, path)
    name = asked.name or _name_for(client, path, there)
    old = next((one for one in there if one.name == name), None)
    start = _keep_memory(asked, old, start)
    edit = editing.with_server(client, path, name, start)
    out = output()
    unchanged = edit.before == edit.after
    strange = edit.before is None and not _is_here(client_name, client, path)
    backup = None
    if not asked.dry_run and not unchanged:
        backup = editing.write(edit, _backup_folder(path) if asked.project else None)
    if asked.json:
        write_json({"file": path, "changed": not unchanged, "dryRun": asked.dry_run, "backup": backup})
    elif unchanged:
        out.line(f"{safe(path)} already has it.")
    elif asked.dry_run:
        _show_difference(out, edit)
    else:
        out.line(f"Wrote {shown(name)} to {safe(path)}")
        if backup:
            say(f"The old file is kept in {safe(backup)}")
        if strange and not asked.project:
            say(f"{client.title} was not found on this machine; the file was created anyway.")
        say(client.after)
    _report_other_servers(client, path, name, there)
    if edit.there is not None and not unchanged and not asked.docker:
        _report_old_memory(client, edit.there, start)


def _servers_in(client: Client, path: str) -> list[Found]:
    """The memory servers already in the file."""
    text = editing.text_of(path)
    found = editing.servers(client, path, text) if text is not None else []
    return [one for one in found if one.kind in ("ours", "npm", "docker")]


def _name_for(client: Client, path: str, there: list[Found]) -> str:
    """The name of our entry in the file: the client's usual name, or the name of an existing memory server, so that the
    client does not get a second memory beside it.
    """
    names = [one.name for one in there if " (in " not in one.name]
    if client.name in names or not names:
        return client.name
    if len(names) == 1:
        say(f"The memory server in {safe(path)} is called {safe(names[0])}; that entry is used.")
        return names[0]
    listed = ", ".join(map(shown, names))
    raise UsageError(
        f"{shown(path)} has several memory servers: {listed}. Choose one of them or a new name with --name."
    )


def _keep_memory(asked: argparse.Namespace, old: Found | None, start: Start) -> Start:
    """The start, with the memory of the present entry if no memory was asked for and a change between a container and a
    program of this machine would lose it.
    """
    if old is None or asked.file is not None or asked.profile is not None:
        return start
    if not asked.docker:
        here = memory_here(old.container) if old.container is not None else None
        return _started_with(here, None, docker=False) if here is not None else start
    if old.kind == "docker":
        here = memory_here(old.container) if old.container is not None else None
        return _started_with(here, None, docker=True) if here is not None else start
    file, profile = old.environ.get(environment.FILE), old.environ.get(environment.PROFILE)
    if file and not (os.path.isabs(file) and "$" not in file):
        raise UsageError(
            f"its memory is {shown(file)}, which cannot be passed to a container in this form: add --file or --profile."
        )
    return _started_with(file, profile, docker=True) if file or profile else start


def _report_other_servers(client: Client, path: str, name: str, there: list[Found]) -> None:
    """Report other memory servers that this client also starts: it would use two memories at once."""
    others = [(one, path) for one in there if one.name != name]
    machine = Machine(sys.platform, os.environ)
    for place, keys in older_places(client, machine):
        text = editing.text_of(place)
        if text is not None:
            found = editing.servers(client, place, text, keys)
            others += [(one, place) for one in found if one.kind in ("ours", "npm", "docker")]
    for one, where in others:
        say(f"{safe(where)} also has a memory server {safe(one.name)}: {configured.memory_in_words(one)}")


def _backup_folder(path: str) -> str | None:
    """The folder for the copy of a project's file. It is outside the project, which may be a repository."""
    data = data_folder(os.environ, sys.platform)
    if data is None:
        return None
    project = os.getcwd()
    digest = hashlib.sha256(os.fsencode(project)).hexdigest()[:8]
    return os.path.join(data, "config-backups", f"{os.path.basename(project) or 'root'}-{digest}")


def _remove(client: Client, path: str, asked: argparse.Namespace) -> None:
    there = _servers_in(client, path)
    name = asked.name or _name_for(client, path, there)
    edit = editing.without_server(client, path, name)
    out = output()
    backup = None
    if not asked.dry_run:
        backup = editing.write(edit, _backup_folder(path) if asked.project else None)
    if asked.json:
        write_json({"file": path, "changed": True, "dryRun": asked.dry_run, "backup": backup})
        return
    if asked.dry_run:
        _show_difference(out, edit)
        return
    out.line(f"Removed {shown(name)} from {safe(path)}")
    if backup:
        say(f"The old file is kept in {safe(backup)}")
    if edit.there is not None:
        say(f"The memory stays where it is: {configured.memory_in_words(edit.there)}")


def _hooks(asked: argparse.Namespace, client: Client, machine: Machine) -> None:
    """Put the hook into Claude Code's settings, remove it, or show it."""
    if asked.client != "claude-code" or asked.docker or asked.link:
        raise UsageError("--hooks is only for claude-code, without --docker and --link.")
    path = hooks.settings_file(machine, asked.project)
    start = _start(asked)
    if asked.file is None and asked.profile is None:  # the memory that its server has
        servers = _servers_in(
            client, _project_file(asked.client, client) if asked.project else _user_file(client, machine)
        )
        ours = next((one for one in servers if one.kind == "ours" and one.name == (asked.name or client.name)), None)
        known = ours.environ if ours is not None else {}
        start = _started_with(known.get(environment.FILE), known.get(environment.PROFILE), docker=False)
    command = hooks.command_line(start, brief.TOKENS, sys.platform)
    if not (asked.write or asked.remove or asked.dry_run):
        value: Any = hooks.with_hook(None, command)
        for key in reversed(hooks.KEYS):
            value = {key: value}
        say(f"Put this into {safe(path)}:\n")
        output().line(jsonc.written(value))
        return
    edit = editing.with_value(path, hooks.KEYS, lambda held: hooks.with_hook(held, None if asked.remove else command))
    unchanged = (edit.before or "") == edit.after
    if asked.dry_run and not unchanged:
        _show_difference(output(), edit)
    elif unchanged:
        output().line(f"{safe(path)} has no such hook." if asked.remove else f"{safe(path)} already has it.")
    else:
        backup = editing.write(edit, _backup_folder(path) if asked.project else None)
        output().line(f"{'Removed the hook from' if asked.remove else 'Wrote the hook to'} {safe(path)}")
        if backup:
            say(f"The old file is kept in {safe(backup)}")


def _all(asked: argparse.Namespace, machine: Machine) -> int:
    """Set up every client found on this machine, one after the other. If one is refused, the others are still set
    up.
    """
    if asked.client is not None or asked.project or asked.link or not (asked.write or asked.remove or asked.dry_run):
        raise UsageError("--all needs --write, --remove or --dry-run, and no client, --project or --link.")
    status = 0
    for name, client in CLIENTS.items():
        if client.by_hand or not places(client, machine):
            continue
        path = _user_file(client, machine)
        if not _is_here(name, client, path):
            continue
        try:
            if asked.remove:
                if any(one.kind in ("ours", "docker") for one in _servers_in(client, path)):
                    _remove(client, path, asked)
            else:
                _write(name, path, asked, _start(asked))
        except MemoryServerError as error:
            say(f"{client.title}: {safe(str(error))}")
            status = 2
    return status


def _is_here(name: str, client: Client, path: str) -> bool:
    """Whether there is a sign of the client: its file, its folder, or its own program."""
    folder = name not in _NO_FILE_COUNTS and os.path.isdir(os.path.dirname(path))
    return folder or os.path.exists(path) or bool(client.program and shutil.which(client.program))


def _show_difference(out: Terminal, edit: editing.Edit) -> None:
    lines = difflib.unified_diff(
        (edit.before or "").splitlines(), edit.after.splitlines(), safe(edit.path), "with the entry", lineterm="", n=0
    )  # no lines around the change: they may hold other servers' keys
    for line in lines:
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        text = safe(line.expandtabs(4))
        out.line(out.styled(text, style) if style else text)


def _report_old_memory(client: Client, old: Found, start: Start) -> None:
    """Say where the memory of the old entry is, if that is not obvious."""
    written = old.environ.get(environment.FILE)
    chosen = {environment.FILE, environment.PROFILE} & set(start.env)
    if old.container is not None and memory_here(old.container) is None:
        say(
            f"The container has its memory at {safe(describe_memory(old.container))}: "
            "`help docker` shows how to move it."
        )
    elif old.container is not None:
        return
    elif chosen and (written or old.environ.get(environment.PROFILE)):
        say(f"Until now it used another memory: {configured.memory_in_words(old)}")
    elif old.kind == "npm" and written is None:
        say(f"The npm server kept its memory in its own folder: `{program()} doctor` shows where; import adds it here.")
    elif old.kind != "npm" or not written or configured.is_filled_in(written, client):
        return
    elif not os.path.isabs(os.path.expanduser(written)):
        say(
            f"{environment.FILE} is a relative path: the npm server resolved it from its own folder, we "
            "resolve it from ours."
        )


def _user_file(client: Client, machine: Machine) -> str:
    """The first file that exists, else the first whose folder exists, else the first."""
    candidates = places(client, machine)
    if not candidates:
        raise UsageError("the home folder is unknown. Set HOME, or use --project.")
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
    found, _ = configured.entries(machine, archive(os.environ, sys.argv[0]), None)
    rows = []
    for name, client in CLIENTS.items():
        files = places(client, machine)
        servers = [one for one in found if one.client == name]
        rows.append((name, client, files, servers))
    if as_json:
        write_json(
            [
                {
                    "client": name,
                    "title": client.title,
                    "files": files,
                    "here": any(map(os.path.exists, files)),
                    "servers": [{"name": one.name, "kind": one.kind, "memory": one.memory} for one in servers],
                }
                for name, client, files, servers in rows
            ]
        )
        return
    out = output()
    size = max(map(len, CLIENTS))
    for name, client, files, servers in rows:
        there = next((path for path in files if os.path.exists(path)), None)
        mark = out.styled(safe(there), "green") if there else out.styled("no file here", "dim")
        out.line(f"  {name:<{size}}  {client.title:<20}  {mark}")
        for one in servers:
            out.line(f"  {'':<{size}}  {safe(one.name)}: {one.kind}{f', {safe(one.memory)}' if one.memory else ''}")
        if there and not servers:
            out.line(out.styled(f"  {'':<{size}}  no memory server yet", "dim"))
    out.line()
    out.line(f"{program()} config CLIENT prints the text for its file; --write puts it there.")
