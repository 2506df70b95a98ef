"""From what a person wrote to a path: variables, the home folder, both slashes. Nothing here touches the file system.

Rules:
- A leading `~`, `${NAME}` and on Windows `%NAME%` are expanded once; what they stand for is taken as it is.
- What is not set is an error, never a file with a strange name. A variable with an empty value counts as not set.
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

_VARIABLE: Final = re.compile(r"\$\{([^}]*)\}")
_VARIABLE_ON_WINDOWS: Final = re.compile(r"\$\{([^}]*)\}|%([^%]+)%")
_CLIENT_VARIABLE: Final = re.compile(r"workspace\w*|userHome|cwd|file\w*|pathSeparator|__dirname|.*[:./].*", re.DOTALL)
"""What VS Code, Cursor, Windsurf and bundles name like that (`${workspaceFolder}`, `${env:HOME}`, `${user_config.x}`);
no environment has such names."""


def flavour(platform: str) -> ModuleType:
    return ntpath if platform == "win32" else posixpath


def expanded(written: str, source: str, environ: Mapping[str, str], platform: str) -> str:
    """`written` with its variables and its home folder put in. `source` is the option or variable that errors name."""
    if "\0" in written:
        raise UsageError(f"{source} holds a NUL character: no file can have such a name.")
    if platform == "win32" and len(written) > 2 and written[0] == written[-1] == '"':
        written = written[1:-1]  # `set NAME="a b"` keeps its quotes, which no name can hold there

    def put_in(match: re.Match[str]) -> str:
        name = match[match.lastindex or 1]
        value = value_of(name, environ, platform)
        if value is None:
            raise UsageError(_not_set(source, match[0], name))
        return value

    home, rest = _split_home(written, source, environ, platform)
    path = home + (_VARIABLE_ON_WINDOWS if platform == "win32" else _VARIABLE).sub(put_in, rest)
    try:
        os.fsencode(path)
    except UnicodeEncodeError as error:
        raise UsageError(f"{source} holds characters that this system cannot have in a file's name.") from error
    return path


def file_path(path: str, base: str, platform: str) -> str:
    """The file that an expanded `path` means, seen from the folder `base`. One that ends in a slash is a folder."""
    paths = flavour(platform)
    names_folder = path.endswith(("/", "\\") if platform == "win32" else "/")
    if platform == "win32" or not posixpath.isabs(path):
        path = paths.normpath(paths.join(base, path))
    return str(paths.join(path, FILE_NAME)) if names_folder else path


def home_folder(environ: Mapping[str, str], platform: str) -> str | None:
    """None where the system knows none, as in a container that runs under a bare user number."""
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


def _split_home(written: str, source: str, environ: Mapping[str, str], platform: str) -> tuple[str, str]:
    """The home folder that a leading `~` stands for, or "", and what follows it."""
    if not written.startswith("~"):
        return "", written
    slashes = "/\\" if platform == "win32" else "/"
    end = next((i for i, c in enumerate(written) if c in slashes), len(written))
    user, rest = written[1:end], written[end:]
    if user and not rest:
        return "", written  # a file whose name begins with ~
    home = _home_of_user(user, platform) if user else home_folder(environ, platform)
    if home is None:
        whose = f"of {shown(user)} " if user else ""
        raise UsageError(
            f"{source}: the home folder {whose}that ~{shown(user)} stands for is not known. Write the path out."
        )
    return home.rstrip(slashes), rest or "/"  # `~` alone is a folder, and a home folder may be the root


def _home_of_user(user: str | None, platform: str) -> str | None:
    """From the system's list of users, which Windows has not; None: the user who runs this process."""
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
