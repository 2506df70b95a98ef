"""A client's file: reading the servers in it, and putting ours there with nothing else touched.

Writing is these steps: the new text is made and read again, and has to hold what it should and all else that was
there; the old file is kept beside it as `<name>.<UTC time>.bak`; the new one is written whole beside it and renamed
onto it, if the file has not changed meanwhile. A link stays a link.
"""

from __future__ import annotations

import codecs
import importlib
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from memory_app.commands.clients import entry, jsonc, toml
from memory_app.commands.clients.catalogue import Client
from memory_app.commands.clients.entry import Found, Start
from memory_app.commands.memory import read_whole, write_new, write_over
from memory_app.commands.upkeep import states
from memory_app.disk.folders import make_folders, remove_folders
from memory_app.errors import StoreError, UsageError
from memory_app.text import shown

_BOM: Final = "\ufeff"


class Edit(NamedTuple):
    """`before` is None where there is no file. `there` is the entry that had the name, None if there was none."""

    path: str
    before: str | None
    after: str
    there: Found | None


def text_of(path: str) -> str | None:
    """The file's text, None if there is no file. UsageError if it is not UTF-8."""
    if not os.path.exists(path):
        return None
    data = read_whole(path)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UsageError(f"{shown(path)} is UTF-16. Save it as UTF-8 first, then try again.")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{shown(path)} is not UTF-8. Save it as UTF-8 first, then try again.") from error


def servers(client: Client, path: str, text: str) -> list[Found]:
    """All servers in the file that are started as a process. UsageError if it cannot be read."""
    held = _data(client, path, text)
    found = _in(held, client.keys)
    projects = held.get("projects") if isinstance(held, Mapping) else None  # Claude Code keeps those of folders there
    if client.style == "stdio" and isinstance(projects, Mapping):
        for folder, project in projects.items():
            found += [one._replace(name=f"{one.name} (in {folder})") for one in _in(project, client.keys)]
    return found


def edited(client: Client, path: str, name: str, start: Start) -> Edit:
    """The file with our server in it under this name. UsageError where that would touch anything else, or guess."""
    before = text_of(path)
    text = (before or "").removeprefix(_BOM)
    held = _data(client, path, text)
    entries = _at(held, client.keys)
    there = entries.get(name) if isinstance(entries, Mapping) else None
    known = entry.found(name, there)
    ours = known is not None and (known.kind != "other" or known.start[:2] == start[:2])  # whatever memory it has
    if there is not None and not ours:
        raise UsageError(f"{shown(path)} has another server under the name {shown(name)}. Give ours one with --name.")
    changes = entry.changes(client.style, start, there)
    try:
        if client.style == "codex":
            after = text
            for keys, value in changes:
                after = toml.put(after, (*client.keys, name, *keys[:-1]), {keys[-1]: value} if keys else value)
        else:
            after = text
            for keys, value in changes:
                after = jsonc.put(after, (*client.keys, name, *keys), value)
    except (jsonc.NotJson, toml.NotToml) as error:
        raise UsageError(f"{shown(path)} was not changed: {error}.") from error
    _verify(client, path, held, after, name, changes)
    bom = _BOM if before is not None and before.startswith(_BOM) else ""
    return Edit(path, before, bom + after, known)


def write(edit: Edit) -> str | None:
    """Put the edit on the disk; the path of the copy of the old file, None if there was none."""
    if edit.before is not None:
        before = edit.before.encode()
        backup = states.back_up(edit.path, before)[0]

        def check() -> None:
            if read_whole(edit.path) != before:
                raise StoreError(
                    f"{shown(edit.path)} was changed by another program just now; it was left as it is. Try again."
                )

        write_over(edit.path, [edit.after.encode()], check)
        return backup
    try:
        created = make_folders(os.path.dirname(os.path.realpath(edit.path)))
    except OSError as error:
        raise StoreError(f"{shown(edit.path)}: its folder cannot be made: {error.strerror or error}.") from error
    try:
        write_new(edit.path, [edit.after.encode()])
    except UsageError as error:
        raise StoreError(
            f"{shown(edit.path)} was made by another program just now; it was left as it is. Try again."
        ) from error
    except BaseException:
        remove_folders(created)
        raise
    return None


def _data(client: Client, path: str, text: str) -> Any:
    text = text.removeprefix(_BOM)
    if client.style == "codex":
        return _toml_data(path, text)
    if not text.strip():
        return {}
    try:
        document = jsonc.read(text)
    except jsonc.NotJson as error:
        raise UsageError(f"{shown(path)} cannot be read: {error}. Mend that first.") from error
    if document.lenient and not client.comments:
        raise UsageError(
            f"{shown(path)} holds comments or trailing commas, which {client.title} does not take. Remove them first."
        )
    if not isinstance(document.root.value, dict):
        raise UsageError(f"{shown(path)} does not hold an object. Mend that first.")
    return document.root.value


def _toml_data(path: str, text: str) -> Any:
    try:
        return importlib.import_module("tomllib").loads(text)
    except ImportError:  # Python 3.10
        return _tables(path, text)
    except ValueError as error:
        raise UsageError(f"{shown(path)} cannot be read: {error}. Mend that first.") from error


def _tables(path: str, text: str) -> dict[str, Any]:
    """What Python 3.10, which cannot read TOML, knows of it: strings and arrays of strings."""
    data: dict[str, Any] = {}
    try:
        found = toml.statements(text)
    except toml.NotToml as error:
        raise UsageError(f"{shown(path)} cannot be read: {error}. Mend that first.") from error
    for one in found:
        held = data
        for key in one.path if one.header else one.path[:-1]:
            inner = held.setdefault(key, {})
            held = inner if isinstance(inner, dict) else {}
        if not one.header:
            written = text[one.value : one.end]
            try:
                held[one.path[-1]] = jsonc.read(written).root.value
            except jsonc.NotJson:
                held[one.path[-1]] = written.strip("'")
    return data


def _at(held: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        held = held.get(key) if isinstance(held, Mapping) else None
    return held


def _in(held: Any, keys: Sequence[str]) -> list[Found]:
    entries = _at(held, keys)
    if not isinstance(entries, Mapping):
        return []
    return [one for name, value in entries.items() if (one := entry.found(str(name), value)) is not None]


def _verify(client: Client, path: str, before: Any, after: str, name: str, changes: Sequence[entry.Change]) -> None:
    """The new text has to hold all that the old one held, but for the changes; anything else is a mistake of ours."""
    expected = _copy(before)
    for keys, value in changes:
        held = expected
        way = [*client.keys, name, *keys]
        for key in way[:-1]:
            held = held.setdefault(key, {})
        held[way[-1]] = value
    if _data(client, path, after) != expected:
        raise UsageError(f"{shown(path)} was not changed: it cannot be edited in place. Put the entry there by hand.")


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value
