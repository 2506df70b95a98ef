"""A client's configuration file: read its servers, and add ours without changing anything else.

Steps of a write: the new text is made and read again, and must contain the intended entry and everything else from
before; the old file is kept beside it as `<name>.<UTC time>.bak`; the new file is written whole beside it and renamed
onto it, unless the file has changed meanwhile. A link stays a link.
"""

from __future__ import annotations

import codecs
import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from memory_app.commands.clients import entry, jsonc, toml, yaml
from memory_app.commands.clients.catalogue import Client
from memory_app.commands.clients.entry import Found, Start
from memory_app.commands.memory import read_whole, refuse_read_only, write_new, write_over
from memory_app.commands.upkeep import states
from memory_app.disk.folders import make_folders, remove_folders
from memory_app.errors import StoreError, UsageError
from memory_app.location import environment
from memory_app.text import shown

_BOM: Final = "\ufeff"


class Edit(NamedTuple):
    """`before` is None if there is no file. `there` is the entry that had the name, None if there was none."""

    path: str
    before: str | None
    after: str
    there: Found | None


def text_of(path: str) -> str | None:
    """The file's text; None if there is no file. UsageError if it is not UTF-8."""
    if not os.path.exists(path):
        return None
    data = read_whole(path)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UsageError(f"{shown(path)} is UTF-16. Save it as UTF-8 first, then try again.")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{shown(path)} is not UTF-8. Save it as UTF-8 first, then try again.") from error


def servers(client: Client, path: str, text: str, keys: Sequence[str] | None = None) -> list[Found]:
    """All servers in the file that are started as a process. UsageError if it cannot be read. `keys` lead to them if
    the place is not the client's own.
    """
    held = _data(client, path, text)
    found = _in(held, keys or client.keys)
    projects = held.get("projects") if isinstance(held, Mapping) else None  # Claude Code keeps those of folders there
    if client.style == "stdio" and isinstance(projects, Mapping):
        for folder, project in projects.items():
            found += [one._replace(name=f"{one.name} (in {folder})") for one in _in(project, client.keys)]
    return found


def with_server(client: Client, path: str, name: str, start: Start) -> Edit:
    """The file with our server under this name. UsageError if the edit would change anything else, or have to guess."""
    before, text, held, there = _entry_of(client, path, name)
    known = entry.found(name, there)
    same = known is not None and known.start[:2] == start[:2]  # an archive under another name
    if there is not None and not same and (known is None or known.kind in ("other", "fork")):
        memory = known.environ.get(environment.FILE) if known else None
        shared = f", which has its memory in {shown(memory)}" if memory else ""
        raise UsageError(
            f"{shown(path)} has another server under the name {shown(name)}{shared}. Choose a name for ours "
            "with --name."
        )
    if known is not None and not known.plain:
        raise UsageError(
            f"{shown(path)} starts the server {shown(name)} through another program. Change that entry by hand, or "
            "choose a name for ours with --name."
        )
    return _edit(client, path, before, text, held, name, entry.changes(client.style, start, there, name), known)


def without_server(client: Client, path: str, name: str) -> Edit:
    """The file without the entry with this name. UsageError if the entry is missing or not ours, or if the edit would
    have to guess.
    """
    before, text, held, there = _entry_of(client, path, name)
    known = entry.found(name, there)
    if there is None:
        raise UsageError(f"{shown(path)} has no server under the name {shown(name)}.")
    if known is None or known.kind not in ("ours", "docker"):
        raise UsageError(f"{shown(path)} has another server under the name {shown(name)}. Remove that by hand.")
    return _edit(client, path, before, text, held, name, [((), entry.REMOVED)], known)


def snippet(client: Client, name: str, value: Mapping[str, Any]) -> str:
    """An entry with the keys that lead to it, as text to paste."""
    if client.language == "toml":
        return toml.block((*client.keys, name), value).rstrip("\n")
    if client.language == "yaml":
        return yaml.snippet(client.keys[0], name, _with_name(client, name, value), as_list=client.as_list).rstrip("\n")
    whole_value: Any = {name: value}
    for key in reversed(client.keys):
        whole_value = {key: whole_value}
    return jsonc.written(whole_value)


def write(edit: Edit, backup_folder: str | None = None) -> str | None:
    """Write the edit to disk, and return the path of the copy of the old file; None if there was none."""
    if edit.before is not None:
        refuse_read_only(edit.path)
        before = edit.before.encode()
        backup = states.back_up(edit.path, before, backup_folder)[0]

        def check() -> None:
            if read_whole(edit.path) != before:
                raise StoreError(
                    f"{shown(edit.path)} was changed by another program just now, so it was left unchanged. Try again."
                )

        write_over(edit.path, [edit.after.encode()], check)
        return backup
    try:
        created = make_folders(os.path.dirname(os.path.realpath(edit.path)))
    except OSError as error:
        raise StoreError(f"{shown(edit.path)}: its folder could not be created: {error.strerror or error}.") from error
    try:
        write_new(edit.path, [edit.after.encode()])
    except UsageError as error:
        raise StoreError(
            f"{shown(edit.path)} was created by another program just now, so it was left unchanged. Try again."
        ) from error
    except BaseException:
        remove_folders(created)
        raise
    return None


def with_value(path: str, keys: Sequence[str], change: Callable[[Any], Any]) -> Edit:
    """A JSON file with another value at these keys and everything else unchanged. `change` receives the present
    value.
    """
    before = text_of(path)
    text = (before or "").removeprefix(_BOM)
    try:
        held = jsonc.read(text).root.value if text.strip() else {}
        value, there = change(_at(held, keys)), _at(held, keys)
        after = text if value == there or (not value and there is None) else jsonc.put(text, keys, value)
    except jsonc.NotJson as error:
        raise UsageError(f"{shown(path)} was not changed: {error}. Fix that first.") from error
    bom = _BOM if before is not None and before.startswith(_BOM) else ""
    return Edit(path, before, bom + after, None)


def _entry_of(client: Client, path: str, name: str) -> tuple[str | None, str, Any, Any]:
    """The file's text as it is, and without a byte order mark; its data; the entry with this name."""
    before = text_of(path)
    text = (before or "").removeprefix(_BOM)
    held = _data(client, path, text)
    entries = _at(held, client.keys)
    return before, text, held, entries.get(name) if isinstance(entries, Mapping) else None


def _edit(
    client: Client,
    path: str,
    before: str | None,
    text: str,
    held: Any,
    name: str,
    changes: Sequence[entry.Change],
    there: Found | None,
) -> Edit:
    try:
        after = _EDITORS[client.language](client, text, name, changes)
    except (jsonc.NotJson, toml.NotToml, yaml.NotYaml) as error:
        raise UsageError(f"{shown(path)} was not changed: {error}.") from error
    expected = _copy(held)
    for keys, value in changes:
        entry.apply(expected, [*client.keys, name, *keys], value)
    if not _alike(_data(client, path, after), expected, client.keys):
        raise UsageError(f"{shown(path)} was not changed: it cannot be edited in place. Add the entry by hand.")
    bom = _BOM if before is not None and before.startswith(_BOM) else ""
    return Edit(path, before, bom + after, there)


def _edit_json(client: Client, text: str, name: str, changes: Sequence[entry.Change]) -> str:
    for keys, value in changes:
        way = (*client.keys, name, *keys)
        text = jsonc.remove(text, way) if value is entry.REMOVED else jsonc.put(text, way, value)
    return text


def _edit_toml(client: Client, text: str, name: str, changes: Sequence[entry.Change]) -> str:
    for keys, value in changes:
        way = (*client.keys, name, *keys)
        if value is entry.REMOVED:
            text = toml.remove(text, way)
        else:
            text = toml.put(text, way[:-1] if keys else way, {way[-1]: value} if keys else value)
    return text


def _edit_yaml(client: Client, text: str, name: str, changes: Sequence[entry.Change]) -> str:
    if changes and changes[0] == ((), entry.REMOVED):
        return yaml.remove(text, client.keys[0], name)
    done = [
        (keys, ... if value is entry.REMOVED else value if keys else _with_name(client, name, value))
        for keys, value in changes
    ]
    return yaml.put(text, client.keys[0], name, done, as_list=client.as_list) if done else text


_EDITORS: Final = {"json": _edit_json, "toml": _edit_toml, "yaml": _edit_yaml}


def _with_name(client: Client, name: str, value: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, **value} if client.as_list else dict(value)


def _data(client: Client, path: str, text: str) -> Any:
    text = text.removeprefix(_BOM)
    if client.language == "toml":
        return _toml_data(path, text)
    if client.language == "yaml":
        try:
            held = {one.name: one.value for one in yaml.entries(text, client.keys[0])}
        except yaml.NotYaml as error:
            raise UsageError(f"{shown(path)} cannot be read: {error}. Add the entry by hand.") from error
        if client.as_list:
            held = {name: {k: v for k, v in value.items() if k != "name"} if isinstance(value, dict) else value
                    for name, value in held.items()}  # fmt: skip
        return {client.keys[0]: held} if held else {}
    if not text.strip():
        return {}
    try:
        document = jsonc.read(text)
    except jsonc.NotJson as error:
        raise UsageError(f"{shown(path)} cannot be read: {error}. Fix that first.") from error
    if document.lenient and not client.comments:
        raise UsageError(
            f"{shown(path)} contains comments or trailing commas, which {client.title} does not accept. "
            "Remove them first."
        )
    if not isinstance(document.root.value, dict):
        raise UsageError(f"{shown(path)} does not contain an object. Fix that first.")
    return document.root.value


def _toml_data(path: str, text: str) -> Any:
    try:
        return importlib.import_module("tomllib").loads(text)
    except ImportError:  # Python 3.10
        return _tables(path, text)
    except ValueError as error:
        raise UsageError(f"{shown(path)} cannot be read: {error}. Fix that first.") from error


def _tables(path: str, text: str) -> dict[str, Any]:
    """The parts that Python 3.10, which cannot read TOML, understands: strings and arrays of strings."""
    data: dict[str, Any] = {}
    try:
        found = toml.statements(text)
    except toml.NotToml as error:
        raise UsageError(f"{shown(path)} cannot be read: {error}. Fix that first.") from error
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


def _alike(one: Any, other: Any, keys: Sequence[str]) -> bool:
    """Whether both have the same content. An object on the way to the servers that became empty may be missing in
    one.
    """
    if one == other:
        return True
    if not keys or not isinstance(one, Mapping) or not isinstance(other, Mapping):
        return not one and not other
    rest = {key: value for key, value in one.items() if key != keys[0]}
    return rest == {key: value for key, value in other.items() if key != keys[0]} and _alike(
        one.get(keys[0]) or {}, other.get(keys[0]) or {}, keys[1:]
    )


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value
