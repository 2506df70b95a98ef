"""Who may reach the server over HTTP: the address it listens at, and the token that it asks for.

Rules:
- A loopback address needs no token. Any other address is refused without one, since everybody in that network could
  read and change the memory.
- A token comes from MEMORY_HTTP_TOKEN or from a file, never from the command line, where other users would see it.
- A token is compared in constant time, and is in no text that leaves this module.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
import re
import secrets
from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from memory_app.disk import calls, whole
from memory_app.errors import UsageError
from memory_app.location.environment import HTTP_TOKEN

DEFAULT_HOST: Final = "127.0.0.1"
# Characters of the shortest token: what `new_token` makes has 43; less than 16 random ones can be guessed.
_SHORTEST_TOKEN: Final = 16
# What a header can carry without any quoting (RFC 6750).
_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_HIGHEST_PORT: Final = 65535


class Address(NamedTuple):
    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only programs of this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def url(self) -> str:
        """Where clients find the server."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/mcp"


class Access(NamedTuple):
    """`token` None: none is asked for. `hosts` are names, beside loopback ones, that a request may be addressed to.
    `log`: each request is told on stderr, by its id."""

    address: Address
    token: str | None
    hosts: tuple[str, ...] = ()
    read_only: bool = False
    log: bool = False


def host_of(url: str) -> str:
    """The host that a URL names, in lower case, without port and brackets; the empty string where there is none."""
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""


def parse_address(text: str) -> Address:
    """`PORT`, `HOST:PORT` or `[IPv6]:PORT`. Port 0 lets the system choose."""
    host, _, port = text.strip().rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise UsageError(f"--http {text}: put an IPv6 address into brackets, as in [::1]:8765.")
    if not port.isascii() or not port.isdigit() or int(port) > _HIGHEST_PORT:
        raise UsageError(f"--http {text}: give a port, or HOST:PORT, as in 8765 or 127.0.0.1:8765.")
    return Address(host or DEFAULT_HOST, int(port))


def access(
    address: str, token_file: str | None, hosts: tuple[str, ...], read_only: bool, environ: Mapping[str, str]
) -> Access:
    """What the command line and the environment ask for. UsageError where that would be open to strangers."""
    where = parse_address(address)
    token = _token(token_file, environ)
    if token is None and not where.is_loopback:
        raise UsageError(
            f"{where.host} can be reached from other machines, so a token is needed: set {HTTP_TOKEN}, or give "
            "--token-file FILE (make one with: serve --new-token --token-file FILE)."
        )
    names = {given: host_of(f"//{given}") for given in hosts}
    for given, name in names.items():
        if not name or "/" in given:
            raise UsageError(f"--allow-host {given}: give a name alone, as in memory.example.org.")
    return Access(where, token, tuple(names.values()), read_only)


def new_token() -> str:
    """A token that cannot be guessed: 32 random bytes."""
    return secrets.token_urlsafe(32)


def keep_token(path: str, token: str) -> None:
    """Write a new token file, readable by this user alone. UsageError if there is one already, or none can be made."""
    try:
        whole.write_new(path, (f"{token}\n".encode(),))
    except FileExistsError:
        raise UsageError(f"{path} exists already. Remove it first if its token is to be replaced.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from None


def matches(header: str, token: str) -> bool:
    """Whether an Authorization header carries the token; takes as long for a wrong one as for the right one."""
    scheme, _, given = header.partition(" ")
    digests = (hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in (given.strip(), token))
    return hmac.compare_digest(*digests) and scheme.lower() == "bearer"


def _token(path: str | None, environ: Mapping[str, str]) -> str | None:
    if path is None:
        token, source = environ.get(HTTP_TOKEN, "").strip(), HTTP_TOKEN
        if not token:
            return None
    else:
        source = path
        try:
            fd = calls.open_regular(path)
            try:
                token = calls.read_all(fd).decode("utf-8", "replace").strip()
                facts = os.fstat(fd)
            finally:
                calls.close(fd)
        except OSError as error:
            raise UsageError(f"The token file {path} cannot be read: {error.strerror}.") from None
        if not calls.WINDOWS and facts.st_mode & _open_to_others(facts.st_uid):
            raise UsageError(f"The token file {path} can be read by other users: make it private with chmod 600.")
    if len(token) < _SHORTEST_TOKEN or not _TOKEN.fullmatch(token):
        raise UsageError(
            f"The token in {source} must be one word of at least {_SHORTEST_TOKEN} letters and digits. "
            "Make one with: serve --new-token."
        )
    return token


def _open_to_others(owner: int) -> int:
    """The bits of a mode that a token file must not have. A group may read what another user made for us, as root does:
    systemd hands credentials over so."""
    return 0o077 if owner == os.geteuid() else 0o007
