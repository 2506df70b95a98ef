"""Expansion of paths: variables, the home folder, quotes, URLs, both slashes. Does not touch the file system.

A path comes from a configuration file, a container's options or a script, and no shell may have seen it. Rules:

- White space and one pair of quotes around it go. `file://` URLs are taken, other URLs refused.
- A leading `~`, `$NAME`, `${NAME}`, `${NAME:-default}` and on Windows `%NAME%` are expanded once; what they stand for
  is taken as it is. A variable with an empty value counts as not set.
- What is not set, or only a client or a shell could have filled in, is an error, never a file with a strange name.
- A relative path is joined to its base and its dots are resolved, as the npm server does; an absolute one stays as it
  is, since the dots of a path through a link mean something else. Windows itself resolves dots by their text.
- Windows paths are treated as such on every platform, by `platform`, so that their rules can be tested anywhere.
"""

from __future__ import annotations

import ntpath
import os
import posixpath
import re
from collections.abc import Mapping
from types import ModuleType
from typing import Final

from memory_app.errors import UsageError
from memory_app.location.environment import value_of
from memory_app.text import shown

FILE_NAME: Final = "memory.jsonl"
_FOLDER_NAME: Final = "memory-server"

_NAME: Final = r"\$([A-Za-z_][A-Za-z0-9_]*)"
_VARIABLE: Final = re.compile(rf"\$\{{|{_NAME}")
_VARIABLE_ON_WINDOWS: Final = re.compile(rf"\$\{{|{_NAME}|%([^%]+)%")
"""`${`, whose end is looked for separately since a default may hold variables of its own, or one with its name."""

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?=//)|(file):(?=/)", re.IGNORECASE)
"""Two letters or more: one is a drive of Windows. `file:/x` is a URL too, by RFC 8089."""

_OF_WINDOWS: Final = re.compile(r"%[A-Za-z_][A-Za-z0-9_()]*%(?=[/\\]|$)")
"""A variable of Windows at the beginning of a path, which no other system expands."""

_CLIENT_VARIABLE: Final = re.compile(r"workspace\w*|userHome|cwd|file\w*|pathSeparator|__dirname|.*[:./].*", re.DOTALL)
"""What VS Code, Cursor, Windsurf and bundles name like that (`${workspaceFolder}`, `${env:HOME}`, `${user_config.x}`);
no environment has such names."""


def flavour(platform: str) -> ModuleType:
    return ntpath if platform == "win32" else posixpath


def unquoted(written: str) -> str:
    """`written` without the white space and the one pair of quotes around it."""
    text = written.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1].strip()
    return text


def expanded(written: str, source: str, environ: Mapping[str, str], platform: str) -> str:
    """The path that `written` means. `source` is the option or variable that errors name."""
    text = unquoted(written)
    if not text:
        raise UsageError(f"{source} is empty. Write the path out.")
    if "\0" in text:
        raise UsageError(f"{source} holds a NUL character: no file can have such a name.")
    path = _Expansion(source, environ, platform).path(_without_scheme(text, source, platform))
    try:
        os.fsencode(path)
    except UnicodeEncodeError as error:
        raise UsageError(f"{source} holds characters that this system cannot have in a file's name.") from error
    return path


def file_path(path: str, base: str, platform: str) -> str:
    """The file that an expanded `path` names, relative to the folder `base`. A path that ends in a slash is a
    folder.
    """
    paths = flavour(platform)
    names_folder = path.endswith(("/", "\\") if platform == "win32" else "/")
    if platform == "win32" or not posixpath.isabs(path):
        path = paths.normpath(paths.join(base, path))
    return str(paths.join(path, FILE_NAME)) if names_folder else path


def home_folder(environ: Mapping[str, str], platform: str) -> str | None:
    """The user's home folder; None if the system knows none, as in a container that runs under a bare user number."""
    if platform != "win32":
        return value_of("HOME", environ, platform) or _home_of_user(None, platform)
    profile = value_of("USERPROFILE", environ, platform)
    if profile is None:
        drive, path = (value_of(name, environ, platform) for name in ("HOMEDRIVE", "HOMEPATH"))
        profile = drive + path if drive and path else None
    return profile


def data_folder(environ: Mapping[str, str], platform: str) -> str | None:
    """The folder for this program's data in the user's data folder. None without a home folder."""
    paths = flavour(platform)
    home = home_folder(environ, platform)
    if platform == "win32":
        base = value_of("LOCALAPPDATA", environ, platform) or (home and paths.join(home, "AppData", "Local"))
    elif platform == "darwin":
        base = home and paths.join(home, "Library", "Application Support")
    else:
        base = value_of("XDG_DATA_HOME", environ, platform)
        if base is None or not paths.isabs(base):  # the XDG specification has relative ones ignored
            base = home and paths.join(home, ".local", "share")
    return str(paths.join(base, _FOLDER_NAME)) if base else None


class _Expansion:
    """Expands the home folder and the variables of one path."""

    def __init__(self, source: str, environ: Mapping[str, str], platform: str) -> None:
        self._source = source
        self._environ = environ
        self._platform = platform

    def path(self, written: str) -> str:
        home, rest = self._split_home(written)
        if self._platform != "win32" and (match := _OF_WINDOWS.match(rest)):
            raise UsageError(
                f"{self._source} holds {shown(match[0])}, which is a variable on Windows alone. Write the path out."
            )
        if "$(" in rest:
            raise UsageError(f"{self._source} holds $(...), which only a shell could have run. Write the path out.")
        return home + self._variables(rest, begins=not home)

    def _variables(self, text: str, *, begins: bool) -> str:
        """`text` with its variables expanded. `begins`: it is the beginning of the path, where `~` is the home
        folder.
        """
        pattern = _VARIABLE_ON_WINDOWS if self._platform == "win32" else _VARIABLE
        done: list[str] = []
        position = 0
        while match := pattern.search(text, position):
            done.append(text[position : match.start()])
            if match.lastindex:
                position = match.end()
                done.append(self._value(match[0], match[match.lastindex]))
            elif (end := _closing(text, match.end())) is None:  # no variable: "${" is a part of the name
                done.append(match[0])
                position = match.end()
            else:
                position = end + 1
                inside = text[match.end() : end]
                done.append(self._braced(text[match.start() : position], inside, begins and not match.start()))
        return "".join([*done, text[position:]])

    def _braced(self, written: str, inside: str, begins: bool) -> str:
        name, has_default, default = inside.partition(":-")
        if not has_default:
            return self._value(written, inside)
        value = value_of(name, self._environ, self._platform)
        if value is not None:
            return value
        home, rest = self._split_home(default) if begins else ("", default)
        return home + self._variables(rest, begins=begins and not home)

    def _value(self, written: str, name: str) -> str:
        value = value_of(name, self._environ, self._platform)
        if value is None:
            raise UsageError(_not_set(self._source, written, name))
        return value

    def _split_home(self, written: str) -> tuple[str, str]:
        """The home folder that a leading `~` stands for, or "", and the rest."""
        if not written.startswith("~"):
            return "", written
        slashes = "/\\" if self._platform == "win32" else "/"
        end = next((i for i, c in enumerate(written) if c in slashes), len(written))
        user, rest = written[1:end], written[end:]
        if user and not rest:
            return "", written  # a file whose name begins with ~
        home = _home_of_user(user, self._platform) if user else home_folder(self._environ, self._platform)
        if home is None:
            whose = f"of {shown(user)} " if user else ""
            raise UsageError(
                f"{self._source}: the home folder {whose}that ~{shown(user)} stands for is not known. "
                "Write the path out."
            )
        return home.rstrip(slashes), rest or "/"  # `~` alone is a folder, and a home folder may be the root


def _closing(text: str, position: int) -> int | None:
    """The position at which the brace that opens at `position` is closed; None if it is not."""
    depth = 1
    for place in range(position, len(text)):
        if text[place] == "}":
            depth -= 1
            if not depth:
                return place
        elif text.startswith("${", place):
            depth += 1
    return None


def _without_scheme(text: str, source: str, platform: str) -> str:
    """The path in a `file://` URL; any other path unchanged."""
    match = _SCHEME.match(text)
    if match is None:
        return text
    if (match[1] or match[2]).lower() != "file":
        raise UsageError(f"{source} is a URL, {shown(text)}. The memory is a file: write its path.")
    rest = text[match.end() :]
    host, path = "", rest
    if rest.startswith("//"):
        after = rest[2:]
        host, slash, path = after.partition("/")
        path = slash + path
        if host[:1] in ("~", "$", "%", "."):  # no host, but the path itself, as people write it
            host, path = "", after
    from urllib.parse import unquote_to_bytes  # slow to load, and hardly ever needed

    path = os.fsdecode(unquote_to_bytes(path.encode("utf-8", "surrogateescape")))
    if "\0" in path:
        raise UsageError(f"{source} holds a NUL character: no file can have such a name.")
    if platform == "win32" and re.match(r"/[A-Za-z][:|]", path):
        path = f"{path[1]}:{path[3:]}"
    if host.lower() in ("", "localhost"):
        return path
    if platform == "win32":
        return f"//{host}{path}"
    raise UsageError(f"{source} is a URL of the computer {shown(host)}. Write file:/// and the path on this one.")


def _home_of_user(user: str | None, platform: str) -> str | None:
    """The user's home folder from the system's list of users, which Windows does not have. None means the current
    user.
    """
    if platform == "win32":
        return None
    try:
        import pwd

        return (pwd.getpwuid(os.getuid()) if user is None else pwd.getpwnam(user)).pw_dir or None
    except (ImportError, KeyError, ValueError):  # ValueError: a name that is no UTF-8
        return None


def _not_set(source: str, written: str, name: str) -> str:
    if _CLIENT_VARIABLE.fullmatch(name):
        why = "which only the client could have filled in, and it did not"
    else:
        why = f"but {shown(name) or 'a variable without a name'} is not set"
    return f"{source} holds {shown(written)}, {why}. Write the path out."
