"""Session ids of the 2025 era that survive a restart: they are signed, so nothing needs to be stored for them.

An id holds its expiry, the negotiated protocol version, the process that made it, and a MAC over these, the memory and
the holder (the token's name). So an id is valid for the token and the memory that it was made for, in this process and
in every later one that has the key. An id that was ended stays ended while the process lives.

The key is 32 random bytes in a file of mode 0600. Knows neither HTTP nor the SDK.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from memory_app.disk import calls, whole

LIFETIME_SECONDS: Final = 30 * 24 * 3600
"""Clients begin a session when they start and keep its id until they end; few run for a month."""

KEY_BYTES: Final = 32
_EXPIRY_BYTES, _VERSION_BYTES, _PROCESS_BYTES, _RANDOM_BYTES, _MAC_BYTES = 5, 10, 4, 12, 17
_SIGNED: Final = _EXPIRY_BYTES + _VERSION_BYTES + _PROCESS_BYTES + _RANDOM_BYTES
_SIZE: Final = _SIGNED + _MAC_BYTES
"""Bytes: a multiple of three, so that base64 needs no padding and an id has one spelling."""

_MOST_ENDED: Final = 100_000
"""Ended ids that are remembered, 10 MB; beyond that the oldest are forgotten."""


class Session(NamedTuple):
    """The content of a valid id. `is_ours`: it was made by this process, not by an earlier one."""

    version: str
    is_ours: bool


class Sessions:
    """Makes, checks and ends ids. For one thread."""

    def __init__(self, key: bytes, clock: Callable[[], float] = time.time) -> None:
        self._key = key
        self._clock = clock
        self._process = secrets.token_bytes(_PROCESS_BYTES)
        self._ended: dict[str, None] = {}

    def begin(self, holder: str, memory: str, version: str) -> str:
        """A new id for a client with the token of this name that uses this memory."""
        expiry = int(self._clock()) + LIFETIME_SECONDS
        signed = expiry.to_bytes(_EXPIRY_BYTES, "big") + version.encode() + self._process
        signed += secrets.token_bytes(_RANDOM_BYTES)
        return base64.urlsafe_b64encode(signed + self._mac(signed, holder, memory)).decode()

    def check(self, session: str, holder: str, memory: str) -> Session | None:
        """The content of the id; None if it is not ours, has expired or ended, or belongs to another token or
        memory.
        """
        if len(session) != _SIZE // 3 * 4 or session in self._ended:
            return None
        try:
            raw = base64.b64decode(session.encode("ascii"), b"-_", validate=True)
        except (UnicodeEncodeError, binascii.Error):
            return None
        signed, mac = raw[:_SIGNED], raw[_SIGNED:]
        if not hmac.compare_digest(mac, self._mac(signed, holder, memory)):
            return None
        expiry, rest = int.from_bytes(signed[:_EXPIRY_BYTES], "big"), signed[_EXPIRY_BYTES:]
        if expiry <= self._clock():
            return None
        version, process = rest[:_VERSION_BYTES].decode(), rest[_VERSION_BYTES : _VERSION_BYTES + _PROCESS_BYTES]
        return Session(version, process == self._process)

    def end(self, session: str) -> None:
        """From now on the id is invalid. Call it with an id that `check` accepted."""
        self._ended[session] = None
        if len(self._ended) > _MOST_ENDED:
            del self._ended[next(iter(self._ended))]

    def _mac(self, signed: bytes, holder: str, memory: str) -> bytes:
        parts = b"\0".join((signed, holder.encode(), memory.encode()))
        return hmac.new(self._key, parts, hashlib.sha256).digest()[:_MAC_BYTES]


def load_key(path: str) -> bytes:
    """The key in the file, which is created if it does not exist. OSError if it can neither be read nor created, or is
    no key.

    Two servers that start at once agree, because only one can create the file.
    """
    try:
        return _read_key(path)
    except FileNotFoundError:
        pass
    key = secrets.token_bytes(KEY_BYTES)
    try:
        whole.write_new(path, (key.hex().encode() + b"\n",))
    except FileExistsError:
        return _read_key(path)
    return key


def _read_key(path: str) -> bytes:
    fd = calls.open_regular(path)
    try:
        if not calls.WINDOWS and os.fstat(fd).st_mode & 0o077:
            raise PermissionError(f"{path} can be read by other users")
        text = calls.read_all(fd)
    finally:
        calls.close(fd)
    try:
        key = bytes.fromhex(text.decode("ascii", "replace").strip())
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise OSError(f"{path} holds no key")
    return key
