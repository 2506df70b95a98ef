"""What a command line in a client's file starts: our server, the npm server, a container of it, or something else.

A package or image counts only if the command line runs it: if npx, docker or Python is told to start it. The mere name,
as an argument of another program, does not count. No I/O.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

from memory_app.location.environment import FILE

Kind = Literal["ours", "npm", "docker", "fork", "other"]
"""`fork`: another program that is given a memory file of this kind."""

_ARCHIVE: Final = re.compile(r"memory-server(?:[-_.].*)?\.pyz")
_PACKAGE: Final = re.compile(r"(?:npm:|.*/)?@modelcontextprotocol/server-memory(?:[@/].*)?")
_SOURCE: Final = re.compile(r"(?:.*/)?(?:servers/)?src/memory/dist/index\.js|(?:.*/)?mcp-server-memory")
"""The npm server run by node from a checkout, or from where npm puts commands."""

_IMAGE: Final = re.compile(r"(?:docker\.io/)?mcp/memory(?:[:@].*)?")

_RUNNERS: Final = frozenset({"npx", "bunx", "pnpx", "npm", "pnpm", "yarn", "bun", "deno", "node", "volta", "mise"})
_RUNNERS_WORDS: Final = frozenset({"exec", "dlx", "x", "run", "--", "npx", "node"})
_PYTHONS: Final = re.compile(r"(?:python|pythonw|pypy)[\d.]*|pyw?|uv|pipx")
_SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash", "ash"})
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_OPERATORS: Final = re.compile(r"[;&|<>`\n]|\$\(")
_FILE_OPTIONS: Final = ("--memory-path", "--memory-file", "--memory-file-path")

_WITHOUT_VALUE: Final = re.compile(
    r"-[itdPq]+|--(?:rm|init|interactive|tty|detach|privileged|read-only|publish-all|quiet|no-healthcheck"
    r"|oom-kill-disable|sig-proxy)(?:=.*)?"
)
"""Options of `docker run` that take no word after them; every other one does, unless it holds a `=`."""

HOME_IN_IMAGE: Final = "/app/dist"
"""Where the image keeps its memory, the npm server's image as ours."""


class Mount(NamedTuple):
    """`source` is a folder of this machine if `bind`, else a volume's name; "" if it has none."""

    source: str
    target: str
    bind: bool


class Container(NamedTuple):
    image: str
    environ: Mapping[str, str]
    mounts: tuple[Mount, ...]


class Server(NamedTuple):
    """`environ` is what the command line itself sets; for a container, inside it. `plain`: the command line runs
    nothing else, so that another start can replace it.
    """

    kind: Kind
    environ: Mapping[str, str]
    container: Container | None = None
    plain: bool = True


def server_of(words: Sequence[str], environ: Mapping[str, str]) -> Server:
    """The server that these words start, given the variables of the entry."""
    rest, more, plain = _unwrapped(list(words))
    kind, container = _kind(rest)
    if kind == "other" and any(_PACKAGE.fullmatch(_slashes(part)) for word in words for part in word.split()):
        kind, plain = "npm", False  # a gateway starts it, by its words or by a whole command line
    known = {**environ, **more}
    if kind == "other" and (known.get(FILE) or file_option(rest)):
        kind = "fork"
    return Server(kind, known if container is None else container.environ, container, plain)


def file_option(words: Sequence[str]) -> str | None:
    """The memory file that a fork gets as an argument."""
    for word, after in zip(words, [*words[1:], ""], strict=True):
        name, equals, value = word.partition("=")
        if name in _FILE_OPTIONS:
            return (value if equals else after) or None
    return None


def in_container(container: Container) -> tuple[str, Mount | None, str]:
    """The memory's path inside, the mount that contains it, and the rest of the path below that."""
    written = container.environ.get(FILE) or f"{HOME_IN_IMAGE}/memory.jsonl"
    path = written if written.startswith("/") else f"{HOME_IN_IMAGE}/{written}"
    fitting = [one for one in container.mounts if path == one.target or path.startswith(one.target.rstrip("/") + "/")]
    if not fitting:
        return path, None, ""
    mount = max(fitting, key=lambda one: len(one.target))
    return path, mount, path[len(mount.target.rstrip("/")) :].lstrip("/")


def _unwrapped(words: list[str]) -> tuple[list[str], dict[str, str], bool]:
    """The words without `env NAME=value`, `cmd /c` and `sh -c`; the variables that they set; whether there is nothing
    else.
    """
    environ: dict[str, str] = {}
    plain = True
    while words:
        name = _base(words[0])
        if name == "env":
            words = words[1:]
            while words and words[0].startswith("-"):
                words = words[2:] if words[0] in ("-u", "-C", "--unset", "--chdir") else words[1:]
        elif name == "cmd" and len(words) > 2 and words[1].lower() in ("/c", "/s", "/d", "/q"):
            words = words[1:]
            while words and words[0].startswith("/") and len(words[0]) == 2:
                words = words[1:]
        elif name in _SHELLS and len(words) == 3 and re.fullmatch(r"-[a-z]*c", words[1]):
            inside = _split(words[2])
            if inside is None:
                return words, environ, False
            words = inside
        elif name == "wsl":  # another system with its own folders
            words, plain = _without_options(words[1:]), False
        elif len(words) == 1 and " " in words[0] and _base(words[0].split()[0]) in (*_RUNNERS, "env"):
            words = _split(words[0]) or words  # a whole command line instead of the command
            if len(words) == 1:
                return words, environ, False
        else:
            break
        while words and (match := _ASSIGNMENT.fullmatch(words[0])):
            environ[match[1]] = match[2]
            words = words[1:]
        if words[:1] == ["exec"]:
            words = words[1:]
    return words, environ, plain


def _kind(words: Sequence[str]) -> tuple[Kind, Container | None]:
    if not words:
        return "other", None
    name, args = _base(words[0]), words[1:]
    if name in ("docker", "podman", "nerdctl"):
        container = _container(args)
        return ("docker", container) if container and _IMAGE.fullmatch(container.image) else ("other", None)
    if name == "mcp-server-memory" or (name in _RUNNERS and _runs_npm_server(args)):
        return "npm", None
    if name == "memory-server" or _ARCHIVE.fullmatch(_last(words[0])):
        return "ours", None
    script = next((word for word in args if not word.startswith("-")), "")
    if _ARCHIVE.fullmatch(_last(script)):  # a Python under any name
        return "ours", None
    if _PYTHONS.fullmatch(name):
        module = any(pair == ("-m", "memory_app") for pair in itertools.pairwise(args))
        if module or any(_ARCHIVE.fullmatch(_last(word)) or _last(word) == "memory_app" for word in args):
            return "ours", None
    return "other", None


def _runs_npm_server(args: Sequence[str]) -> bool:
    """Whether the first argument of npx, node and the like is the npm server."""
    for word, after in zip(args, [*args[1:], ""], strict=True):
        if word in ("-p", "--package"):
            return bool(_PACKAGE.fullmatch(_slashes(after)))
        if word.startswith("--package="):
            return bool(_PACKAGE.fullmatch(_slashes(word.partition("=")[2])))
        if not word.startswith("-") and word not in _RUNNERS_WORDS:
            plain = _slashes(word)
            path = "/" in plain and not plain.startswith("@")
            return bool(_PACKAGE.fullmatch(plain) or (path and _SOURCE.fullmatch(plain)))
    return False


def _container(args: Sequence[str]) -> Container | None:
    """The arguments of `docker run`; None for other commands."""
    rest = list(args)
    if rest[:1] == ["container"]:
        rest = rest[1:]
    if rest[:1] != ["run"]:
        return None
    rest = rest[1:]
    environ: dict[str, str] = {}
    mounts: list[Mount] = []
    while rest and rest[0].startswith("-"):
        option, equals, value = rest.pop(0).partition("=")
        if not equals and not _WITHOUT_VALUE.fullmatch(option):
            value = rest.pop(0) if rest else ""
        if option in ("-e", "--env"):
            name, given, text = value.partition("=")
            environ.update({name: text} if given else {})
        elif option in ("-v", "--volume"):
            mounts += _volume(value)
        elif option == "--mount":
            mounts += _mount(value)
    return Container(rest[0], environ, tuple(mounts)) if rest else None


def _volume(value: str) -> list[Mount]:
    match = re.fullmatch(r"((?:[A-Za-z]:[\\/])?(?:\$\{[^}]*\}|[^:$]|\$)*):(/[^:]*)(?::[a-zA-Z,]+)?", value)
    if match is None:
        return [Mount("", value, False)] if value.startswith("/") else []
    source = match[1]
    return [Mount(source, match[2], bool(re.match(r"[/.~$%]|[A-Za-z]:[\\/]", source)))]


def _mount(value: str) -> list[Mount]:
    fields = {key.strip(): text for key, _, text in (part.partition("=") for part in value.split(","))}
    target = next((fields[key] for key in ("target", "destination", "dst") if key in fields), "")
    source = fields.get("source") or fields.get("src") or ""
    return [Mount(source, target, fields.get("type") == "bind")] if target else []


def _split(line: str) -> list[str] | None:
    """A shell's command line as words; None if a shell would do more than start one program."""
    if _OPERATORS.search(line):
        return None
    try:
        return shlex.split(line)
    except ValueError:
        return None


def _without_options(words: list[str]) -> list[str]:
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in ("-d", "--distribution", "-u", "--user", "--cd", "--shell-type") else words[1:]
    return words


def _base(word: str) -> str:
    return re.sub(r"\.(?:exe|cmd|bat|ps1)$", "", _last(word).lower())


def _last(word: str) -> str:
    return _slashes(word).rpartition("/")[2]


def _slashes(word: str) -> str:
    return word.replace("\\", "/")
