"""Which file is the memory.

The first of these that is given decides:

1. `--file PATH`, relative to the current folder, or `--profile NAME`; not both
2. `MEMORY_FILE_PATH`, relative to the server's folder, or `MEMORY_PROFILE`; not both
3. nothing: the default place

The server's folder is the one of the real archive; `MEMORY_SERVER_HOME` names another one. Installed as a package the
program has no folder of its own, and the user's data folder stands in for it. A profile is a memory of its own beside
the default one, `memory-NAME.jsonl`. The default place is the first of:

1. in `MEMORY_SERVER_HOME`, if that is set: that is a decision (a container keeps nothing anywhere else)
2. an existing file in the server's folder that can be written
3. an existing file in the data folder
4. an old `memory.json` in one of them, without a `memory.jsonl` beside it: `migration` renames it
5. a new file in the server's folder, if one can be made there
6. a new file in the data folder

A file that exists at a given path as it is written stays the memory: the npm server and 1.0 expanded less, or nothing.

`locate` changes nothing, apart from a file that it makes and removes to see whether it can.
"""

from __future__ import annotations

import errno
import os
import re
import shlex
import stat
import sys
from collections.abc import Mapping
from typing import Final, NamedTuple

from memory_app.disk import calls, whole
from memory_app.errors import UsageError
from memory_app.location import environment
from memory_app.location.environment import value_of
from memory_app.location.expansion import FILE_NAME, data_folder, expanded, file_path, flavour, unquoted
from memory_app.text import shown

PACKAGE: Final = os.path.dirname(os.path.dirname(__file__))
"""The folder of memory_app."""

_OLD_FILE_NAME: Final = "memory.json"
_END_OF_ZIP: Final = b"PK\5\6"  # begins the last record of a zip file
_END_OF_ZIP_BYTES: Final = 22  # of that record, where no comment follows
_PROFILE: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Surroundings(NamedTuple):
    """What the choice depends on besides the options. `server_folder` is None if the program was installed as a
    package.
    """

    environ: Mapping[str, str]
    platform: str
    server_folder: str | None
    current_folder: str | None


class Location(NamedTuple):
    """The memory file; `why` says in a few words why it is this one; `notes` are lines for stderr.

    `old` is the file of the old name that must first be moved there, see `migration`.
    """

    path: str
    why: str
    notes: tuple[str, ...] = ()
    old: str | None = None

    def noted(self, note: str) -> Location:
        """The same location with one more line for stderr."""
        return self._replace(notes=(*self.notes, note))


def surroundings(environ: Mapping[str, str], program: str, package_folder: str = PACKAGE) -> Surroundings:
    """The surroundings of this process. `program` is sys.argv[0]."""
    try:
        current: str | None = os.getcwd()
    except OSError:  # it was removed
        current = None
    return Surroundings(environ, sys.platform, _server_folder(environ, program, package_folder), current)


def archive(environ: Mapping[str, str], program: str) -> str | None:
    """The running archive, as it was called; None if the program runs otherwise. `program` is sys.argv[0]."""
    return environ.get(environment.ARCHIVE) or (program if _is_archive(program) else None)


def locate(file: str | None, profile: str | None, around: Surroundings) -> Location:
    """The memory file for `--file` and `--profile`. UsageError if the given value is invalid."""
    notes = tuple(
        f"{shown(name)} is set, but this program does not read it: did you mean {meant}?"
        for name, meant in environment.misspelt(around.environ, around.platform)
    )
    for option, given in (("--file", file), ("--profile", profile)):
        if given is not None and not given.strip():  # as from a variable that a script meant to set
            raise UsageError(f"{option} is empty. Give it a value, or leave it out.")
    if file is None and profile is None:
        sources = (environment.FILE, environment.PROFILE)
        file, profile = (_set(name, around) for name in sources)
        base, base_name = _server_base(around), "server's folder"
    else:
        sources = ("--file", "--profile")
        base, base_name = around.current_folder, "current folder"
    if file is not None and profile is not None:
        raise UsageError(
            f"{sources[0]} and {sources[1]} are both given: a profile has its file beside the default one."
        )
    if file is not None:
        return _given(file, sources[0], base, base_name, around, notes)
    if profile is not None and not _PROFILE.fullmatch(profile):
        raise UsageError(f"{sources[1]}: a name has 1 to 64 of the characters A-Z a-z 0-9 . _ - and no others.")
    found = _default(FILE_NAME if profile is None else f"memory-{profile}.jsonl", around)
    why = found.why if profile is None else f"profile {profile}, {found.why}"
    return found._replace(why=why, notes=notes + found.notes)


def literal_path(written: str, base: str | None, around: Surroundings) -> str | None:
    """The memory at the path taken literally, as the npm server takes it; None if there is no file."""
    if "\0" in written or (base is None and not flavour(around.platform).isabs(written)):
        return None
    path = file_path(written, base or "", around.platform)
    if os.path.isdir(path):
        path = os.path.join(path, FILE_NAME)
    return path if os.path.isfile(path) else None


def _set(name: str, around: Surroundings) -> str | None:
    """A variable's value as written; None if nothing remains without white space and quotes."""
    value = value_of(name, around.environ, around.platform)
    return value if value is not None and unquoted(value) else None


def _given(
    written: str, source: str, base: str | None, base_name: str, around: Surroundings, notes: tuple[str, ...]
) -> Location:
    """The memory at a given path. UsageError if there is none and none could be created."""
    literal = literal_path(written, base, around)
    try:
        path = _file(written, source, base, base_name, around)
    except UsageError as error:
        if literal is None:
            raise
        note = f"{source} is taken as it is written, since {shown(literal)} exists. Otherwise: {error}"
        move = f"To leave that: {_move(literal, None, around.platform)}, and set {source} to the new path."
        return Location(literal, f"from {source}, as written", (*notes, note, move))
    if literal is None or path == literal or (os.path.exists(path) and os.path.samefile(path, literal)):
        _expect_a_file(path, source)
        return Location(path, f"from {source}", notes)
    if os.path.isfile(path) and _expanded_before(written, around.platform):
        note = f"{shown(path)} is used; there is also {shown(literal)}, the same path as it is written, not used."
        return Location(path, f"from {source}", (*notes, note))
    note = f"{source} is taken as it is written, since {shown(literal)} exists; it means {shown(path)}."
    if os.path.isfile(path):
        more = f"That one exists too: bring one over to the other with import, then remove {shown(literal)}."
    else:
        more = f"To move the memory there: {_move(literal, path, around.platform)}"
    return Location(literal, f"from {source}, as written", (*notes, note, more))


def _expanded_before(written: str, platform: str) -> bool:
    """Whether version 1.0 expanded this path, so that its memory is at the expanded path."""
    forms = r"~[^/]*/|\$\{[^}:]*\}" if platform != "win32" else r"~[^/\\]*[/\\]|\$\{[^}:]*\}|%[^%]+%|\""
    return re.match(forms, written) is not None or re.search(r"\$\{[^}:]*\}", written) is not None


def _move(literal: str, path: str | None, platform: str) -> str:
    """The command line that moves a memory, to a place of the user's choice if none is known."""
    if platform == "win32":
        folder = f'mkdir "{os.path.dirname(path)}" & ' if path and not os.path.isdir(os.path.dirname(path)) else ""
        return shown(f'{folder}move "{literal}" "{path or "NEW PATH"}"')
    target = shlex.quote(path) if path else "NEW_PATH"
    new = path is not None and not os.path.isdir(os.path.dirname(path))
    folder = f"mkdir -p {shlex.quote(os.path.dirname(path or ''))} && " if new else ""
    return shown(f"{folder}mv {shlex.quote(literal)} {target}")


_NO_FILES: Final = (
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def _expect_a_file(path: str, source: str) -> None:
    """UsageError if a memory can neither be read nor created at the path, whatever the rights of its folder."""
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        problem = {
            errno.ELOOP: "is a link that leads back to itself",
            errno.ENAMETOOLONG: "is longer than this system takes",
            errno.ENOTDIR: "leads through a file as if that were a folder",
        }.get(error.errno or 0)
        if problem:
            raise UsageError(f"{source}: {shown(path)} {problem}. Name another file.") from error
        return
    kind = next((name for holds, name in _NO_FILES if holds(mode)), None)
    if kind:
        raise UsageError(f"{source}: {shown(path)} is {kind}, and a memory is a regular file. Name another one.")


def _file(written: str, source: str, base: str | None, base_name: str, around: Surroundings) -> str:
    path = expanded(written, source, around.environ, around.platform)
    if base is None:
        if not flavour(around.platform).isabs(path):
            raise UsageError(f"{source} is relative, but the {base_name} is not known. Write the path out.")
        base = ""
    path = file_path(path, base, around.platform)
    return os.path.join(path, FILE_NAME) if os.path.isdir(path) else path


def _server_base(around: Surroundings) -> str | None:
    """The server's folder, or its substitute."""
    home = _set(environment.HOME, around)
    if home is not None:
        return _home(home, around)
    return around.server_folder or data_folder(around.environ, around.platform)


def _home(written: str, around: Surroundings) -> str:
    paths = flavour(around.platform)
    path = expanded(written, environment.HOME, around.environ, around.platform)
    if around.current_folder is None and not paths.isabs(path):
        raise UsageError(f"{environment.HOME} is relative, but the current folder is not known. Write the path out.")
    return str(paths.normpath(paths.join(around.current_folder or "", path)))


def _default(name: str, around: Surroundings) -> Location:
    paths = flavour(around.platform)
    home = _set(environment.HOME, around)
    if home is not None:
        path = paths.join(_home(home, around), name)
        return Location(path, f"in {environment.HOME}", (), _old(path))
    here = paths.join(around.server_folder, name) if around.server_folder is not None else None
    data = data_folder(around.environ, around.platform)
    there = paths.join(data, name) if data is not None else None
    chosen = _first(here, there)
    if chosen is None:
        raise UsageError(f"There is no home folder to keep the memory in. Set {environment.FILE} to a file's path.")
    existing = [path for path in (here, there) if path is not None and _is_there(path)]
    existing += [old for old in (_old(path) for path in (here, there) if path is not None) if old is not None]
    passed = [path for path in existing if path not in (chosen.path, chosen.old)]
    if not passed:
        return chosen
    note = f"{shown(chosen.path)} is used; there is also {' and '.join(map(shown, passed))}, which is not used: "
    return chosen.noted(note + ("it cannot be written." if not _is_writable(passed[0]) else "the other comes first."))


def _first(here: str | None, there: str | None) -> Location | None:
    """The first in order of two paths, one in the server's folder and one in the data folder."""
    if here is not None and _is_there(here) and _is_writable(here):
        return Location(here, "in the server's folder")
    if there is not None and _is_there(there):
        return Location(there, "in your data folder")
    for path, where in ((here, "in the server's folder"), (there, "in your data folder")):
        old = _old(path) if path is not None else None
        if path is not None and old is not None and _is_writable(old):
            return Location(path, where, (), old)
    if here is not None and not _is_there(here) and _takes_files(here):
        return Location(here, "new, in the server's folder")
    if there is not None:
        return Location(there, "new, in your data folder")
    return Location(here, "in the server's folder") if here is not None and _is_there(here) else None


def _old(path: str) -> str | None:
    """The memory of the old name that takes the place of the missing `path`."""
    folder, name = os.path.split(path)
    old = os.path.join(folder, _OLD_FILE_NAME)
    return old if name == FILE_NAME and os.path.isfile(old) and not os.path.lexists(path) else None


def _is_there(path: str) -> bool:
    """Whether something has the name. A link to nothing counts: someone has decided where the file will be."""
    return os.path.lexists(path) and not os.path.isdir(path)


def _is_writable(path: str) -> bool:
    """Whether a save can replace the file: we may write the file and the folder of the real file."""
    real = os.path.realpath(path)
    try:
        mode = os.stat(real).st_mode
    except FileNotFoundError:
        return _takes_files(real)
    except OSError:
        return False
    return calls.may_write(real, mode) and os.access(os.path.dirname(real), os.W_OK | os.X_OK)


def _takes_files(path: str) -> bool:
    """Whether a file can be created beside `path`. This is tried, because permissions alone do not tell on Windows and
    shares.
    """
    trial = whole.temporary(path)  # if it is left, a save removes it
    try:
        calls.close(calls.create(trial, patient=False))
        calls.remove(trial)
    except OSError:
        return False
    return True


def _server_folder(environ: Mapping[str, str], program: str, package_folder: str) -> str | None:
    """The folder of the real archive, or of the package if it runs from source; None if it was installed."""
    called = archive(environ, program)
    try:
        if called is not None:
            return os.path.dirname(os.path.realpath(called))
        folder = os.path.realpath(package_folder)
    except OSError:  # relative, and the current folder was removed
        return None
    installed = {"site-packages", "dist-packages"} & set(folder.replace("\\", "/").split("/"))
    return None if installed else os.path.dirname(folder)


def _is_archive(program: str) -> bool:
    """Whether the interpreter was given a zip file, in case the archive's launcher did not say so."""
    if program.endswith((".py", ".exe")) or not os.path.isfile(program):
        return False
    try:
        with open(program, "rb") as file:
            file.seek(-_END_OF_ZIP_BYTES, os.SEEK_END)
            if file.read(len(_END_OF_ZIP)) == _END_OF_ZIP:
                return True
    except OSError:  # shorter, or not ours to read
        pass
    import zipfile  # slow to load, and needed only for one that ends with a comment

    return zipfile.is_zipfile(program)
