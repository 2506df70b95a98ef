"""Identity of a process beyond its pid, and whether it is still running.

A pid alone proves nothing: it is given out again, and in a container or on another machine it means another process.
So a process is named by everything below, and is called gone only when that is proven; "not known" counts as alive.

| field | Linux | macOS | Windows |
|---|---|---|---|
| boot | /proc/sys/kernel/random/boot_id | kern.bootsessionuuid | absent |
| pidns | inode of /proc/self/ns/pid | absent | absent |
| start | /proc/<pid>/stat, field 22 (ticks since boot) | start in microseconds | creation time (100 ns) |

In a Linux time namespace the ticks are shifted: a process there has no start, and compares none.

Must not: signal a process (on Windows `os.kill(pid, 0)` ends it), write anything.
"""

from __future__ import annotations

import functools
import os
import sys
from typing import Final, NamedTuple

INITIAL_PID_NAMESPACE: Final = 0xEFFFFFFC
"""PROC_PID_INIT_INO of the Linux kernel: the inode number of the pid namespace that the machine booted with."""

LARGEST_PID: Final = 2**31 - 1
"""os.kill takes a C int on POSIX; no platform gives out more."""


class Identity(NamedTuple):
    """This process, as it is named in the record of a lock."""

    pid: int
    hostname: str  # `<host>#<pid namespace>` where pids are not the machine's own
    boot: str | None
    pidns: int | None
    start: str | None
    initial: bool  # pids seen here are the machine's own, so a record with nothing but host and pid can be checked


class _Status(NamedTuple):
    """What /proc says about a process."""

    zombie: bool
    start: str


def this_process() -> Identity:
    """The calling process. Determined once per pid, so that the child of a fork gets its own identity."""
    return _identity(os.getpid())


def in_initial_pid_namespace() -> bool:
    """Whether the pids seen here are the machine's own. They are not in containers, nor in WSL, which shares its host's
    name.
    """
    if not sys.platform.startswith("linux"):
        return True
    return _pid_namespace() == INITIAL_PID_NAMESPACE and "microsoft" not in os.uname().release.lower()


def gone(pid: int, start: str | None) -> bool:
    """Whether it is proven that our pid namespace has no process with this pid and start time (any start time if
    None).
    """
    if this_process().start is None:
        start = None  # nor can the start of another process be told here
    if sys.platform == "win32":
        return _gone_on_windows(pid, start)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass  # it exists and is another user's
    if sys.platform == "darwin":
        now = _start_on_macos(pid)
        return None not in (start, now) and start != now
    status = _status(pid) if _proc_is_ours() else None
    if status is None:
        return False
    return status.zombie or (start is not None and start != status.start)


@functools.lru_cache(maxsize=1)
def _identity(pid: int) -> Identity:
    initial = in_initial_pid_namespace()
    pidns = _pid_namespace()
    hostname = _hostname() if initial else f"{_hostname()}#{'unknown' if pidns is None else pidns}"
    return Identity(pid, hostname, _boot(), pidns, _own_start(pid), initial)


def _hostname() -> str:
    """The host name, as os.hostname() of Node gives it."""
    if sys.platform == "win32":
        import socket  # costs start-up time that only Windows has to pay

        return socket.gethostname()
    return os.uname().nodename


def _boot() -> str | None:
    if sys.platform == "darwin":
        return _boot_on_macos()
    return _text("/proc/sys/kernel/random/boot_id") if sys.platform.startswith("linux") else None


def _own_start(pid: int) -> str | None:
    if sys.platform == "win32":
        return _start_on_windows(pid)
    if sys.platform == "darwin":
        return _start_on_macos(pid)
    if _has_shifted_ticks():
        return None
    status = _parse(_text("/proc/self/stat"))  # by "self": a /proc of another pid namespace has us under another pid
    return status.start if status else None


def _has_shifted_ticks() -> bool:
    """Whether the time since boot that this process sees is not the machine's."""
    for line in (_text("/proc/self/timens_offsets") or "").splitlines():
        clock, *offset = line.split()
        if clock in ("boottime", "7") and any(part != "0" for part in offset):  # a number on older kernels
            return True
    return False


def _pid_namespace() -> int | None:
    if not sys.platform.startswith("linux"):
        return None  # a path of that name may exist all the same: Wine shows the machine's
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return None


def _proc_is_ours() -> bool:
    """Whether /proc shows the pids of our pid namespace. Under plain `unshare --pid` it does not."""
    try:
        return os.readlink("/proc/self") == str(os.getpid())
    except OSError:
        return False


def _status(pid: int) -> _Status | None:
    return _parse(_text(f"/proc/{pid}/stat"))


def _parse(text: str | None) -> _Status | None:
    """Read the fields that follow the program's name, which may itself contain spaces and parentheses."""
    fields = text.rpartition(")")[2].split() if text else []
    if len(fields) < 20:
        return None
    # Fields 3, 20 and 22. A first thread that ended shows Z while the process's other threads run on.
    return _Status(fields[0] in ("Z", "X") and fields[17] in ("0", "1"), fields[19])


def _text(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip() or None
    except OSError:
        return None


if sys.platform == "win32":
    import ctypes
    from ctypes import wintypes

    _QUERY_LIMITED_INFORMATION: Final = 0x1000
    _NO_SUCH_PROCESS: Final = 87  # ERROR_INVALID_PARAMETER is what OpenProcess answers for a pid that nobody has
    _STILL_ACTIVE: Final = 259

    _kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    _kernel.OpenProcess.argtypes = (wintypes.DWORD, wintypes.BOOL, wintypes.DWORD)
    _kernel.OpenProcess.restype = wintypes.HANDLE
    _kernel.CloseHandle.argtypes = (wintypes.HANDLE,)
    _kernel.GetExitCodeProcess.argtypes = (wintypes.HANDLE, ctypes.POINTER(wintypes.DWORD))
    _kernel.GetProcessTimes.argtypes = (wintypes.HANDLE, *(4 * (ctypes.POINTER(wintypes.FILETIME),)))

    def _gone_on_windows(pid: int, start: str | None) -> bool:
        handle = _kernel.OpenProcess(_QUERY_LIMITED_INFORMATION, False, pid)
        if not handle:
            return ctypes.get_last_error() == _NO_SUCH_PROCESS
        try:
            code = wintypes.DWORD()
            if _kernel.GetExitCodeProcess(handle, ctypes.byref(code)) and code.value != _STILL_ACTIVE:
                return True  # it ended; somebody's open handle keeps its number taken
            created = _creation_time(handle)
            return None not in (start, created) and start != created
        finally:
            _kernel.CloseHandle(handle)

    def _start_on_windows(pid: int) -> str | None:
        handle = _kernel.OpenProcess(_QUERY_LIMITED_INFORMATION, False, pid)
        if not handle:
            return None
        try:
            return _creation_time(handle)
        finally:
            _kernel.CloseHandle(handle)

    def _creation_time(handle: int) -> str | None:
        created, ended, kernel, user = (wintypes.FILETIME() for _ in range(4))
        times = (ctypes.byref(time) for time in (created, ended, kernel, user))
        if not _kernel.GetProcessTimes(handle, *times):
            return None
        return str(created.dwHighDateTime << 32 | created.dwLowDateTime)


if sys.platform == "darwin":
    import ctypes
    import struct

    _PROC_PIDTBSDINFO: Final = 3
    _BSDINFO: Final = struct.Struct("=11I4x16s32s5Ii2Q")  # struct proc_bsdinfo of <sys/proc_info.h>, 136 bytes

    def _start_on_macos(pid: int) -> str | None:
        """The process's start in seconds and microseconds. None if the process is gone or belongs to another user."""
        try:
            system = ctypes.CDLL(None, use_errno=True)
            buffer = ctypes.create_string_buffer(_BSDINFO.size)
            system.proc_pidinfo.argtypes = (*(2 * (ctypes.c_int,)), ctypes.c_uint64, ctypes.c_char_p, ctypes.c_int)
            got = system.proc_pidinfo(pid, _PROC_PIDTBSDINFO, 0, buffer, len(buffer))
        except (OSError, AttributeError):
            return None
        if got != _BSDINFO.size:
            return None
        seconds, microseconds = _BSDINFO.unpack(buffer.raw)[-2:]
        return f"{seconds}.{microseconds:06}"

    def _boot_on_macos() -> str | None:
        """The session's UUID. The boot time cannot be used, because it moves when the clock is set."""
        try:
            system = ctypes.CDLL(None, use_errno=True)
            buffer = ctypes.create_string_buffer(64)
            size = ctypes.c_size_t(len(buffer))
            failed = system.sysctlbyname(b"kern.bootsessionuuid", buffer, ctypes.byref(size), None, ctypes.c_size_t(0))
        except (OSError, AttributeError):
            return None
        return None if failed else buffer.value.decode("ascii", "replace") or None
