"""The image's start: hand the server's folder to an unprivileged user, become that user, run the archive.

Rules: started as a user other than root, it changes nothing. As root, it changes the owner of the server's folder
itself, the memory files in it, their side files and their histories, and nothing else: no other folder, no followed
link, no file that has a second name.

The memory file's path is read as the server reads it (memory_app/location/expansion.py, which is still packed here). A
folder that already belongs to somebody (a person's own bind mount) keeps its owner: then the server runs as that owner.
What cannot be handed over is left unchanged: the server reports what it cannot read or write.

A container may lack capabilities (`--cap-drop`). Nothing is handed over unless the server can become that user. If
root's folder cannot be handed over, the server stays root, which then has no special rights.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import urllib.parse
from typing import Final

ARCHIVE: Final = "/opt/memory-server/memory-server.pyz"
UNPRIVILEGED: Final = 65532  # what images without a shell commonly use; it needs no name
# What the server itself makes, and what the npm server and older releases of it left there.
_SIDE_FILE: Final = r"(\.lock(\.break)?|\.[0-9a-f]{32}\.tmp|\.\d{8}T\d{6}Z\.(bak|replaced))?"
_HISTORY: Final = re.compile(r"\.gitignore|\d{8}T\d{6}\.\d{3}Z(\.[a-z-]+)?\.jsonl(\.[0-9a-f]{32}\.tmp)?")
_MEMORY_FILE: Final = r"memory(-[A-Za-z0-9._-]{1,64})?\.jsonl?"


_CHOWN: Final = 1 << 0  # the numbers of Linux' capabilities
_CHANGE_USER: Final = (1 << 6) | (1 << 7)  # CAP_SETGID, CAP_SETUID


def main(arguments: list[str]) -> None:
    """Start the server. Does not return."""
    folder = os.environ.setdefault("MEMORY_SERVER_HOME", "/app/dist")
    if os.geteuid() == 0:
        able = _capabilities()
        if able & _CHANGE_USER == _CHANGE_USER:
            become(*take_over(folder, os.environ.get("MEMORY_FILE_PATH", ""), able))
        elif not os.access(folder, os.W_OK | os.X_OK):
            owner = os.stat(folder).st_uid
            print(
                f"memory-server: {folder} belongs to user {owner}, and this container may neither write there nor "
                f"become that user: start it with --user {owner}, or without --cap-drop",
                file=sys.stderr,
            )
        os.environ["HOME"] = folder
    os.execv(sys.executable, [sys.executable, "-I", ARCHIVE, *arguments])


def become(user: int, group: int) -> None:
    """Be that user from now on; root stays root."""
    if user:
        os.setgroups([])
        os.setgid(group)
        os.setuid(user)


def _capabilities() -> int:
    """The effective capabilities of this process, as bits; all of them if the kernel does not say."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            return next(int(line.split()[1], 16) for line in status if line.startswith("CapEff:"))
    except (OSError, StopIteration):
        return -1


def take_over(folder: str, memory_file: str, able: int) -> tuple[int, int]:
    """Give the folder and its memory files to the unprivileged user, and return the user and group to become.

    `able`: the capabilities. Without the one for changing owners, root's folder stays root's, and so does the server.
    """
    names = _MEMORY_FILE
    for path in {memory_file, meant(memory_file, folder)}:
        if path and os.path.dirname(os.path.join(folder, path)) == os.path.normpath(folder):
            names += "|" + re.escape(os.path.basename(path))
    ours = re.compile(f"({names}){_SIDE_FILE}")
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return _owner(folder)
    try:
        facts = os.fstat(descriptor)
        user, group = (facts.st_uid, facts.st_gid) if facts.st_uid else (UNPRIVILEGED, UNPRIVILEGED)
        if not able & _CHOWN:
            return facts.st_uid, facts.st_gid
        _give(descriptor, user, group)
        for name in os.listdir(descriptor):
            if ours.fullmatch(name):
                _take_file(name, descriptor, user, group)
            elif name.endswith(".history") and ours.fullmatch(name.removesuffix(".history")):
                _take_history(name, descriptor, user, group)
    finally:
        os.close(descriptor)
    return user, group


def meant(written: str, home: str) -> str:
    """The path that the server will read from MEMORY_FILE_PATH: without quotes, URL, `~` and variables."""
    path = written.strip()
    if len(path) >= 2 and path[0] == path[-1] and path[0] in "\"'":
        path = path[1:-1].strip()
    url = re.match(r"file:(?://(?:localhost)?(?=/))?(?=/)", path, re.IGNORECASE)
    if url:
        path = urllib.parse.unquote(path[url.end() :])
    path = re.sub(r"^~(?=/)", lambda _: home, path)
    environ = {**os.environ, "HOME": home}

    def value(match: re.Match[str]) -> str:
        return environ.get(match[1] or match[3]) or match[2] or ""

    return re.sub(r"\$(?:\{(\w+)(?::-([^{}]*))?\}|([A-Za-z_]\w*))", value, path)


def _owner(folder: str) -> tuple[int, int]:
    """The user to become for a folder that root may not open: its owner, unless that is root."""
    try:
        facts = os.lstat(folder)
    except OSError:
        return UNPRIVILEGED, UNPRIVILEGED
    return (facts.st_uid, facts.st_gid) if facts.st_uid else (UNPRIVILEGED, UNPRIVILEGED)


def _take_file(name: str, folder: int, user: int, group: int) -> None:
    try:
        # O_PATH would not allow to change the owner; O_NONBLOCK: a FIFO must not hold the start up.
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError:  # a link, or gone
        return
    try:
        facts = os.fstat(file)
        if stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1 and facts.st_uid != user:
            _give(file, user, group)
    finally:
        os.close(file)


def _take_history(name: str, folder: int, user: int, group: int) -> None:
    try:
        history = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
    except OSError:  # a link, no folder, or gone
        return
    try:
        if os.fstat(history).st_uid not in (0, user):
            return
        _give(history, user, group)
        for entry in os.listdir(history):
            if _HISTORY.fullmatch(entry):
                _take_file(entry, history, user, group)
    finally:
        os.close(history)


def _give(descriptor: int, user: int, group: int) -> None:
    try:
        os.fchown(descriptor, user, group)
    except OSError:  # a read-only or network file system
        pass


if __name__ == "__main__":
    main(sys.argv[1:])
