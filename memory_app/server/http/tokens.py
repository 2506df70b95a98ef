"""Bearer tokens: their names, what they allow, and the file that holds them.

Rules:
- Of a named token only the SHA-256 digest is stored. 32 random bytes cannot be guessed, so no slow hash is needed.
- A header is compared with every token, each in constant time, so an answer reveals nothing about near misses.
- The file is checked at most once a second, so a revoked token is refused a second later, without a restart.
  While the file cannot be read the known tokens stay valid, and stderr says so.
- No token is in a text that leaves this module, except the one that `make` returns.

The file holds one JSON object a line: `name`, `scope` (`read` or `write`), `sha256`, and for limited tokens `memories`
(names) and `expires` (UTC, `YYYY-MM-DD`: the last valid day). A file with one word is that token itself; an empty one
admits nobody.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import hmac
import json
import os
import re
import secrets
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from memory_app.disk import calls, whole
from memory_app.errors import UsageError

SHORTEST: Final = 16
"""Characters of the shortest token: what `new_token` makes has 43; less than 16 random ones can be guessed."""

SINGLE: Final = "token"
"""The name of a token that has none."""

SCOPES: Final = ("read", "write")
NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")

_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""What a header can carry without any quoting (RFC 6750)."""

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_LOOK_SECONDS: Final = 1.0


class Token(NamedTuple):
    """`memories` None: all of them. `expires` is the last valid day, as `YYYY-MM-DD`."""

    name: str
    may_write: bool
    digest: bytes
    memories: tuple[str, ...] | None = None
    expires: str | None = None

    def is_expired(self) -> bool:
        return self.expires is not None and self.expires < _today()

    def may_use(self, memory: str) -> bool:
        """Whether it is valid for the memory of this name; the only memory of a server has no name."""
        return self.memories is None or memory in self.memories


class Tokens:
    """The tokens that a server accepts. For one thread."""

    def __init__(
        self, tokens: Sequence[Token], path: str | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`path`: the file that they come from, which is checked for changes."""
        self._tokens = tuple(tokens)
        self._path = path
        self._clock = clock
        self._seen = _stamp(path)
        self._look_at = clock() + _LOOK_SECONDS
        self.report: Callable[[str], None] = lambda text: None

    def __len__(self) -> int:
        return len(self._tokens)

    def match(self, header: str) -> Token | None:
        """The token in an Authorization header. Takes as long for a wrong one as for a right one."""
        self.refresh()
        scheme, _, given = header.partition(" ")
        digest = _digest(given.strip())
        found: Token | None = None
        for token in self._tokens:
            if hmac.compare_digest(digest, token.digest):
                found = token
        if found is None or scheme.lower() != "bearer" or found.is_expired():
            return None
        return found

    def holds(self, token: Token) -> bool:
        """Whether this token is still valid."""
        self.refresh()
        return token in self._tokens and not token.is_expired()

    def refresh(self) -> None:
        """Read the file again if it has changed. Costs a stat, at most once a second."""
        if self._path is None or self._clock() < self._look_at:
            return
        self._look_at = self._clock() + _LOOK_SECONDS
        seen = _stamp(self._path)
        if seen == self._seen:
            return
        self._seen = seen
        try:
            self._tokens = read_file(self._path)
        except UsageError as error:
            self.report(f"{error} The tokens that were known stay good.")
            return
        self.report(f"the token file was read again: {len(self._tokens)} tokens")


def single(token: str, source: str) -> Token:
    """A token without a name, which allows everything. UsageError if it can be guessed or cannot be sent."""
    if len(token) < SHORTEST or not _TOKEN.fullmatch(token):
        raise UsageError(
            f"The token in {source} must be one word of at least {SHORTEST} letters and digits. "
            "Make one with: token add NAME, or serve --new-token."
        )
    return Token(SINGLE, may_write=True, digest=_digest(token))


def new_token() -> str:
    """A token that cannot be guessed: 32 random bytes."""
    return secrets.token_urlsafe(32)


def read_file(path: str) -> tuple[Token, ...]:
    """The tokens in the file. UsageError if it cannot be read, other users can read it, or a line is no token."""
    try:
        fd = calls.open_regular(path)
        try:
            text = calls.read_all(fd).decode("utf-8", "replace").strip()
            facts = os.fstat(fd)
        finally:
            calls.close(fd)
    except OSError as error:
        raise UsageError(f"The token file {path} cannot be read: {error.strerror}.") from None
    if not calls.WINDOWS and facts.st_mode & _open_to_others(facts.st_uid):
        raise UsageError(f"The token file {path} can be read by other users: make it private with chmod 600.")
    if not text:
        return ()
    if not text.startswith("{"):
        return (single(text, path),)
    tokens = tuple(_read_line(line, number, path) for number, line in enumerate(text.splitlines(), 1) if line.strip())
    names = [token.name for token in tokens]
    if len(set(names)) < len(names):
        raise UsageError(f"The token file {path} names a token twice.")
    return tokens


def write_file(path: str, tokens: Sequence[Token]) -> None:
    """Replace the file, readable by this user only, whole or not at all. UsageError if that fails."""
    lines = "".join(json.dumps(_as_line(token), separators=(",", ":")) + "\n" for token in tokens)
    try:
        whole.write_over(path, (lines.encode(),))
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from None


def make(name: str, *, may_write: bool, memories: Sequence[str] = (), expires: str | None = None) -> tuple[Token, str]:
    """A new token and its text, which is stored nowhere. UsageError for an invalid name or day."""
    if not NAME.fullmatch(name):
        raise UsageError(f"A token's name has letters, digits, '.', '_' and '-', 64 at most: {name[:80]!r} has others.")
    if expires is not None and _day(expires) is None:
        raise UsageError(f"--expires {expires}: give the last day on which it is good, as in 2027-12-31.")
    text = new_token()
    if name == SINGLE:
        raise UsageError(f"{SINGLE} is the name of a token without one. Give another name.")
    return Token(name, may_write, _digest(text), tuple(memories) or None, expires), text


def _read_line(line: str, number: int, path: str) -> Token:
    wrong = UsageError(f"Line {number} of the token file {path} is no token. Make tokens with: token add NAME.")
    try:
        value: Any = json.loads(line)
        name, scope, digest = value["name"], value["scope"], value["sha256"]
        memories, expires = value.get("memories"), value.get("expires")
        good = bool(NAME.fullmatch(name) and scope in SCOPES and _DIGEST.fullmatch(digest))
        good = good and (memories is None or all(isinstance(memory, str) for memory in memories))
        good = good and (expires is None or _day(expires) is not None)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise wrong from None
    if not good:
        raise wrong
    return Token(name, scope == "write", bytes.fromhex(digest), None if memories is None else tuple(memories), expires)


def _as_line(token: Token) -> dict[str, Any]:
    line: dict[str, Any] = {"name": token.name, "scope": "write" if token.may_write else "read"}
    if token.memories is not None:
        line["memories"] = list(token.memories)
    if token.expires is not None:
        line["expires"] = token.expires
    return {**line, "sha256": token.digest.hex()}


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _day(text: str) -> str | None:
    with contextlib.suppress(ValueError, TypeError):
        return text if datetime.date.fromisoformat(text).isoformat() == text else None
    return None


def _today() -> str:
    return datetime.datetime.now(datetime.timezone.utc).date().isoformat()


def _stamp(path: str | None) -> object:
    if path is None:
        return None
    try:
        return calls.signature_of(os.stat(path))
    except OSError as error:
        return error.errno


def _open_to_others(owner: int) -> int:
    """The bits of a mode that a token file must not have.

    A group may read a file that another user made for us, such as root: systemd passes credentials this way.
    """
    return 0o077 if owner == os.geteuid() else 0o007
