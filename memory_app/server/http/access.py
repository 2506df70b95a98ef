"""Access over HTTP: where the server listens, and which tokens it requires.

Rules:
- A loopback address or a Unix socket needs no token. Any other address is refused without one, because everybody in
  that network could read and change the memory.
- A token comes from MEMORY_HTTP_TOKEN or from a file, never from the command line, where other users would see it.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from memory_app.disk import whole
from memory_app.errors import UsageError
from memory_app.location.environment import HTTP_TOKEN
from memory_app.server.http import hosts, tokens
from memory_app.server.http.tokens import Tokens

DEFAULT_HOST: Final = "127.0.0.1"
UNIX: Final = "unix:"
SYSTEMD: Final = "systemd"
LARGEST_BODY: Final = 4 << 20
"""Bytes of one body: some hundred times what a model writes in one call, and half a second of parsing at most."""

_HIGHEST_PORT: Final = 65535
_PREFIX: Final = re.compile(r"(/[A-Za-z0-9._~-]+)*")


class Address(NamedTuple):
    """`host` is `unix:PATH` for a Unix socket and `systemd` for a socket that the starter has opened."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only programs on this machine can reach it."""
        if self.host == "localhost" or self.is_unix:
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def is_unix(self) -> bool:
        return self.host.startswith(UNIX)

    @property
    def url(self) -> str:
        """The address at which clients find the server."""
        if self.is_unix:
            return self.host
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


class Access(NamedTuple):
    """How the server may be reached.

    `tokens` None: no token is required. `hosts` are the names, besides loopback ones, that a request may be addressed
    to; `origins` are those of web pages that may use the server. `prefix` precedes every path. `proxies` are addresses
    whose X-Forwarded-For is trusted. `log`: each request is logged on stderr, with its id. `rate`: requests per second
    for each token, 0 for no limit; `streams`: streams that may be open at once.
    """

    address: Address
    tokens: Tokens | None
    hosts: tuple[str, ...] = ()
    read_only: bool = False
    log: bool = False
    origins: tuple[str, ...] = ()
    prefix: str = ""
    proxies: tuple[str, ...] = ()
    largest_body: int = LARGEST_BODY
    rate: int = 0
    streams: int = 1024
    audit: str | None = None
    session_key: str | None = None


def parse_address(text: str) -> Address:
    """`PORT`, `HOST:PORT`, `[IPv6]:PORT`, `unix:PATH` or `systemd`. Port 0 lets the system choose."""
    if (text.startswith(UNIX) and len(text) > len(UNIX)) or text == SYSTEMD:
        return Address(text, 0)
    host, _, port = text.strip().rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise UsageError(f"--http {text}: put an IPv6 address into brackets, as in [::1]:8765.")
    if not port.isascii() or not port.isdigit() or int(port) > _HIGHEST_PORT:
        raise UsageError(f"--http {text}: give a port, HOST:PORT or unix:PATH, as in 8765 or 127.0.0.1:8765.")
    return Address(host or DEFAULT_HOST, int(port))


def access(
    address: str,
    token_file: str | None,
    allowed: tuple[str, ...],
    read_only: bool,
    environ: Mapping[str, str],
    *,
    needs_token: bool = False,
) -> Access:
    """What the command line and the environment ask for. UsageError if that would be open to strangers."""
    where = parse_address(address)
    held = _tokens(token_file, environ)
    if held is None and needs_token:
        raise UsageError(f"--require-token: there is none. Set {HTTP_TOKEN}, or give --token-file FILE.")
    if held is None and not where.is_loopback and where.host != SYSTEMD:
        raise _needs_token(where.host)
    return Access(where, held, tuple(hosts.named(name) for name in allowed), read_only)


def expect_token(access: Access) -> None:
    """UsageError if the address, which is known by now, is open to other machines and no token is required."""
    if access.tokens is None and not access.address.is_loopback:
        raise _needs_token(access.address.host)


def parse_prefix(text: str) -> str:
    """The path before `/mcp`, such as `/office`; the empty string for none."""
    prefix = text.rstrip("/")
    if not _PREFIX.fullmatch(prefix):
        raise UsageError(f"--path {text}: give a path as in /office.")
    return prefix


def keep_token(path: str, token: str) -> None:
    """Write a new token file, readable by this user only. UsageError if one exists already, or none can be written."""
    try:
        whole.write_new(path, (f"{token}\n".encode(),))
    except FileExistsError:
        raise UsageError(f"{path} exists already. Remove it first if its token is to be replaced.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from None


def _tokens(path: str | None, environ: Mapping[str, str]) -> Tokens | None:
    if path is not None:
        held = Tokens(tokens.read_file(path), path)
        if not len(held):
            raise UsageError(f"The token file {path} holds no token. Make one with: token add NAME --token-file FILE.")
        return held
    token = environ.get(HTTP_TOKEN, "").strip()
    return Tokens([tokens.single(token, HTTP_TOKEN)]) if token else None


def _needs_token(host: str) -> UsageError:
    return UsageError(
        f"{host} can be reached from other machines, so a token is needed: set {HTTP_TOKEN}, or give "
        "--token-file FILE (make one with: token add NAME --token-file FILE)."
    )
