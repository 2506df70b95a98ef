"""What the clients on this machine are configured to start: memory servers, ours and others', and their problems.

Only reads. Values of variables are not shown, except paths of memory files, which are needed here.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
from collections.abc import Mapping
from typing import Final, NamedTuple

from memory_app.commands.clients import editing
from memory_app.commands.clients.catalogue import CLIENTS, Client, Machine, older_places, places
from memory_app.commands.clients.containers import describe_memory
from memory_app.commands.clients.entry import Found
from memory_app.commands.clients.recognition import file_option
from memory_app.errors import MemoryServerError
from memory_app.location import choice, environment
from memory_app.location.environment import value_of
from memory_app.location.expansion import flavour, home_folder
from memory_app.text import shown

_VARIABLE: Final = re.compile(r"\$\{\{[^}]*\}\}|\$\{[^}]*\}|\{(?:env|file):[^}]*\}|%[^%\s]+%|\$[A-Za-z_][A-Za-z0-9_]*")
_KINDS: Final = {
    "ours": "this server",
    "npm": "the npm server",
    "docker": "the container image",
    "fork": "another memory server",
}


class Entry(NamedTuple):
    """A memory server that a client starts. `memory` is its file as far as it can be determined, `known` whether that
    is the exact path; `troubles` are problems that a person should look at.
    """

    client: str
    file: str
    name: str
    kind: str
    memory: str
    troubles: tuple[str, ...]
    known: bool = True


def entries(
    machine: Machine, archive: str | None, current_folder: str | None
) -> tuple[list[Entry], list[tuple[str, str]]]:
    """The memory servers in the clients' files, and the files that cannot be read, each with the reason. `archive` is
    this program's, which may have been renamed.
    """
    found: list[Entry] = []
    unreadable: list[tuple[str, str]] = []
    for name, client in CLIENTS.items():
        files = places(client, machine)
        if client.project and current_folder is not None:
            files.append(os.path.join(current_folder, *client.project.split("/")))
        places_and_keys = [(path, client.keys) for path in dict.fromkeys(files)] + older_places(client, machine)
        for path, keys in places_and_keys:
            try:
                text = editing.text_of(path)
                if text is not None:
                    servers = editing.servers(client, path, text, keys)
                    known = [one._replace(kind="ours") if _is_this(one, archive) else one for one in servers]
                    found += [_entry(name, path, one, machine) for one in known if one.kind != "other"]
            except MemoryServerError as error:
                unreadable.append((path, str(error)))
    return found, unreadable


def npm_memories(machine: Machine) -> list[str]:
    """Memory files that the npm server may have left in its own folder, which is in npx's cache."""
    home = home_folder(machine.environ, machine.platform)
    if home is None:
        return []
    join = flavour(machine.platform).join
    caches = [value_of("npm_config_cache", machine.environ, machine.platform), join(home, ".npm")]
    local = value_of("LOCALAPPDATA", machine.environ, machine.platform)
    caches.append(join(local, "npm-cache") if local else None)
    found: list[str] = []
    inside = ("node_modules", "@modelcontextprotocol", "server-memory", "dist", "memory.json*")
    for cache in dict.fromkeys(cache for cache in caches if cache):
        pattern = os.path.join(glob.escape(cache), "_npx", "*", *inside)
        found += [path for path in sorted(glob.glob(pattern)) if path.endswith((".json", ".jsonl"))]
    return found


def _is_this(one: Found, archive: str | None) -> bool:
    return archive is not None and any(os.path.realpath(word) == archive for word in one.start.args)


def memory_in_words(one: Found) -> str:
    """The memory that an entry names, as it is written there."""
    if one.container is not None:
        return describe_memory(one.container)
    profile = one.environ.get(environment.PROFILE)
    own = "in the npm server's own folder" if one.kind == "npm" else "the default one"
    return one.environ.get(environment.FILE) or (f"the profile {profile}" if profile else own)


def _entry(client_name: str, path: str, one: Found, machine: Machine) -> Entry:
    client = CLIENTS[client_name]
    troubles = _troubles(one, client, machine)
    written = one.environ.get(environment.FILE) or _options(one).get("--file") or file_option(one.start.args) or ""
    if one.container is not None:
        memory, known = describe_memory(one.container), False
    elif written and is_filled_in(written, client):
        memory, known = f"{written} (filled in by {client.title})", False
    elif one.kind == "fork":
        memory, known = written, True
    else:
        memory = _memory(one, machine, troubles)
        known = bool(memory) and one.kind == "ours"
    return Entry(client_name, path, one.name, _KINDS[one.kind], memory, tuple(troubles), known)


def is_filled_in(text: str, client: Client) -> bool:
    """Whether the text contains variables and the client substitutes all of them."""
    found = _VARIABLE.findall(text)
    return bool(found) and bool(client.fills) and all(re.fullmatch(client.fills, variable) for variable in found)


def _options(one: Found) -> dict[str, str]:
    return dict(zip(one.start.args, one.start.args[1:], strict=False))


def _troubles(one: Found, client: Client, machine: Machine) -> list[str]:
    """The problems of the command. Variables that are not expanded are reported only if they choose the file."""
    troubles: list[str] = []
    command = one.start.command
    if _VARIABLE.search(command):
        if not is_filled_in(command, client):
            troubles.append(f"its command contains a variable that {client.title} does not fill in: {shown(command)}")
    elif shutil.which(os.path.expanduser(command)) is None:
        troubles.append(f"its command {shown(command)} does not exist")
    archive = next((word for word in one.start.args if word.endswith(".pyz")), None)
    if one.kind == "ours" and archive is not None and not is_filled_in(archive, client):
        if not flavour(machine.platform).isabs(archive):
            troubles.append(f"{shown(archive)} is a relative path: the client may start it in any folder")
        elif not os.path.exists(archive):
            troubles.append(f"{shown(archive)} does not exist")
    for name, meant in environment.misspelt(one.start.env, machine.platform):
        troubles.append(f"it sets {shown(name)}, which nothing reads; perhaps {meant} is meant")
    return troubles


def _memory(one: Found, machine: Machine, troubles: list[str]) -> str:
    """The memory file of a server; "" if it cannot be determined, with the reason among the troubles."""
    environ: Mapping[str, str] = {**machine.environ, **one.environ}
    if one.kind == "npm":
        written = one.environ.get(environment.FILE)
        if written and _VARIABLE.search(written):
            troubles.append(f"{environment.FILE} contains a variable, which the npm server does not expand")
        if written and written.startswith("~"):
            troubles.append(f"{environment.FILE} begins with ~, which the npm server does not expand")
        if written and not flavour(machine.platform).isabs(written):
            return f"{written} (relative to the npm server's own folder)"
        return written or "in its own folder"
    options = _options(one)
    archive = next((word for word in one.start.args if word.endswith(".pyz")), None)
    folder = os.path.dirname(os.path.realpath(archive)) if archive else None
    around = choice.Surroundings(environ, machine.platform, folder, None)
    try:
        return choice.locate(options.get("--file"), options.get("--profile"), around).path
    except MemoryServerError as error:
        troubles.append(str(error))
        return ""
