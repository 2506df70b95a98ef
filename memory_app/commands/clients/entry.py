"""One server's entry in a client's configuration, in each format: what is written into it, and what is read from it.

An existing entry keeps every key that is not about starting the server (`disabled`, `autoApprove`, further variables),
so that a move from the npm server keeps its memory file and the person's choices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from memory_app.commands.clients.catalogue import Style
from memory_app.commands.clients.recognition import Container, Kind, server_of
from memory_app.location.environment import FILE, PROFILE


class Start(NamedTuple):
    """How a server is started."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str]


class Found(NamedTuple):
    """A server in a client's file. `environ` are all variables that it gets, also from its command line (`env X=…
    npx`); for a container, those set inside. `plain`: another start can replace its command.
    """

    name: str
    kind: Kind
    start: Start
    environ: Mapping[str, str] = {}
    container: Container | None = None
    plain: bool = True


REMOVED: Final = object()
"""The value of a change that takes a key out."""

Change = tuple[tuple[str, ...], Any]


class _Form(NamedTuple):
    """The keys of one style. `args` None: the command is one array. `fixed` is in every entry; `new` is in a new one,
    and the person may have changed it in an existing one.
    """

    command: str = "command"
    args: str | None = "args"
    env: str = "env"
    fixed: Mapping[str, Any] = {}
    new: Mapping[str, Any] = {}


_PLAIN: Final = _Form()
_FORMS: Final[Mapping[str, _Form]] = {
    "stdio": _Form(fixed={"type": "stdio"}),
    "copilot": _Form(fixed={"type": "local"}, new={"tools": ["*"]}),
    "opencode": _Form(args=None, env="environment", fixed={"type": "local"}, new={"enabled": True}),
    "zed": _Form(fixed={"source": "custom"}),
    "goose": _Form("cmd", "args", "envs", {"type": "stdio"}, {"enabled": True, "timeout": 300}),
    "librechat": _Form(fixed={"type": "stdio"}),
}


def changes(style: Style, start: Start, there: Mapping[str, Any] | None, name: str = "") -> list[Change]:
    """The changes within the entry: paths of keys and values, or REMOVED. `there` is the present entry, or None.

    A memory that `start` names replaces any other. Otherwise the entry's own memory stays, in whatever way the entry
    gives it, unless the start is a container's, which sees no variable of the entry.
    """
    form = _FORMS.get(style, _PLAIN)
    if form.args is None:
        wanted: dict[str, Any] = {form.command: [start.command, *start.args]}
    else:
        wanted = {form.command: start.command, form.args: list(start.args)}
    if there is None:
        new = ({"name": name} if style == "goose" else {}) | dict(form.new)
        entry: dict[str, Any] = {**form.fixed, **wanted, **new}
        if start.env:
            entry[form.env] = dict(start.env)
        return [((), entry)]
    result: list[Change] = [
        ((key,), value) for key, value in form.fixed.items() if key in there and there[key] != value
    ]
    result += [((key,), value) for key, value in wanted.items() if there.get(key) != value]
    old = found(name, there)
    chosen = FILE in start.env or PROFILE in start.env
    in_container = server_of([start.command, *start.args], {}).container is not None
    dropped = {FILE, PROFILE} if chosen or in_container else set()
    kept = dict(old.environ) if old is not None and old.container is None else {}
    variables = {key: value for key, value in kept.items() if key not in dropped} | dict(start.env)
    held = there.get(form.env)
    if not isinstance(held, Mapping):
        return [*result, ((form.env,), variables)] if variables else result
    result += [((form.env, key), REMOVED) for key in held if key in dropped and key not in variables]
    result += [
        ((form.env, key), value) for key, value in variables.items() if key not in held or str(held[key]) != value
    ]
    return result


def whole(style: Style, start: Start, name: str) -> dict[str, Any]:
    """A new entry."""
    value: dict[str, Any] = changes(style, start, None, name)[0][1]
    return value


def found(name: str, entry: object) -> Found | None:
    """The server that an entry starts; None if it starts none (a remote one) or cannot be read."""
    if not isinstance(entry, Mapping):
        return None
    inner = entry.get("transport")  # an earlier form of Continue's
    if isinstance(inner, Mapping) and "command" in inner:
        entry = {**entry, **inner}
    command, args = entry.get("command", entry.get("cmd")), entry.get("args")
    env: dict[str, str] = {}
    if isinstance(command, Mapping):  # Zed's earlier form
        env = _texts(command.get("env"))
        args = command.get("args")
        command = command.get("path")
    parts = [*(command if isinstance(command, list) else [command]), *(args if isinstance(args, list) else [])]
    words = [part for part in parts if isinstance(part, str)]
    if not words or words != parts:
        return None
    env |= _texts(entry.get("env") or entry.get("environment") or entry.get("envs"))
    server = server_of(words, env)
    start = Start(words[0], tuple(words[1:]), env)
    return Found(name, server.kind, start, server.environ, server.container, server.plain)


def _texts(env: object) -> dict[str, str]:
    return {str(key): str(value) for key, value in env.items()} if isinstance(env, Mapping) else {}


def apply(entry: Any, path: Sequence[str], value: Any) -> None:
    """Make one change in a plain data structure."""
    for key in path[:-1]:
        entry = entry.setdefault(key, {})
    if value is REMOVED:
        entry.pop(path[-1], None)
    else:
        entry[path[-1]] = value
