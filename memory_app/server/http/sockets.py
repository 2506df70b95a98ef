"""Listening sockets: an address, a Unix socket for this user only, or a socket from systemd.

A Unix socket's file is created with mode 0600 and removed at the end. A socket on which nobody listens any more is
replaced; anything else in its place is left alone.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from collections.abc import Iterator
from typing import Final

from memory_app.disk import calls
from memory_app.errors import UsageError
from memory_app.server.http.access import SYSTEMD, UNIX, Address

_BACKLOG: Final = 512
_FIRST_OF_SYSTEMD: Final = 3  # sd_listen_fds(3)


@contextlib.contextmanager
def listening(address: Address) -> Iterator[tuple[Address, socket.socket]]:
    """The resulting address, and the socket. UsageError if it is not available."""
    if address.host == SYSTEMD:
        with _of_systemd() as one:
            yield _address_of(one), one
    elif address.is_unix:
        path = os.path.abspath(address.host[len(UNIX) :])
        with _unix(path) as one:
            mine = os.lstat(path)
            try:
                yield Address(UNIX + path, 0), one
            finally:
                with contextlib.suppress(OSError):
                    if os.path.samestat(os.lstat(path), mine):  # nobody else listens there by now
                        calls.remove(path)
    else:
        with _internet(address) as one:
            yield Address(address.host, one.getsockname()[1]), one


def tell_ready() -> None:
    """Tell systemd that the server is up, if it asked for that (sd_notify(3))."""
    where = os.environ.get("NOTIFY_SOCKET", "")
    if where and hasattr(socket, "AF_UNIX"):
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as one:
            one.sendto(b"READY=1", "\0" + where[1:] if where.startswith("@") else where)


def _internet(address: Address) -> socket.socket:
    ipv6 = ":" in address.host
    both = address.host == "::" and socket.has_dualstack_ipv6()
    try:
        return socket.create_server(
            (address.host, address.port),
            family=socket.AF_INET6 if ipv6 else socket.AF_INET,
            backlog=_BACKLOG,
            dualstack_ipv6=both,
        )
    except (OSError, UnicodeError) as error:
        known = os.strerror(error.errno) if isinstance(error, OSError) and error.errno and error.errno > 0 else ""
        reason = known if known and not isinstance(error, socket.gaierror) else "that is no address of this machine"
        raise UsageError(f"Cannot listen at {address.host}:{address.port}: {reason}. Give another one.") from None


def _unix(path: str) -> socket.socket:
    if not hasattr(socket, "AF_UNIX"):
        raise UsageError("This system's Python knows no Unix sockets. Give a port.")
    one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _remove_abandoned(path)
        before = os.umask(0o177)  # the file is private from its first moment on
        try:
            one.bind(path)
        finally:
            os.umask(before)
        one.listen(_BACKLOG)
    except OSError as error:
        one.close()
        raise UsageError(f"Cannot listen at {UNIX}{path}: {error.strerror or error}. Give another path.") from None
    return one


def _remove_abandoned(path: str) -> None:
    """Remove the file of a socket on which nobody listens."""
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            return
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            calls.remove(path)


def _of_systemd() -> socket.socket:
    """The one socket that systemd has opened for us (sd_listen_fds(3))."""
    given = os.environ.get("LISTEN_FDS", "")
    if os.environ.get("LISTEN_PID") != str(os.getpid()) or given != "1":
        raise UsageError("--http systemd: systemd has handed over no socket. The unit needs one ListenStream= socket.")
    try:
        one = socket.socket(fileno=_FIRST_OF_SYSTEMD)
        if one.type != socket.SOCK_STREAM or not one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            raise OSError
    except OSError:
        raise UsageError("--http systemd: what was handed over is no listening stream socket.") from None
    os.set_inheritable(_FIRST_OF_SYSTEMD, False)
    return one


def _address_of(one: socket.socket) -> Address:
    name = one.getsockname()
    if one.family == getattr(socket, "AF_UNIX", None):
        return Address(UNIX + str(name), 0)
    return Address(name[0], name[1])
