"""Names of hosts and origins: which ones a request may carry, read by a strict grammar.

A lenient reader would take `evil.example@localhost` for localhost. Names are compared in lower case and in the form
that browsers send (IDN in punycode, IPv6 addresses in their short form, without brackets).
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final

from memory_app.errors import UsageError

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})

_HOST: Final = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9_]([a-z0-9._-]*[a-z0-9_])?))(?::([0-9]{1,5}))?")
_ORIGIN: Final = re.compile(r"https?://(.+)")


def host_of(header: str) -> str:
    """The name in a Host header, without port and brackets; the empty string if it is invalid."""
    found = _HOST.fullmatch(header.lower())
    if found is None:
        return ""
    if found[1] is None:
        return found[2]
    try:
        return str(ipaddress.IPv6Address(found[1]))
    except ValueError:
        return ""


def origin_of(header: str) -> str:
    """The host of an http or https origin; the empty string for any other."""
    found = _ORIGIN.fullmatch(header.lower())
    return host_of(found[1]) if found is not None else ""


def named(given: str) -> str:
    """The name given by `--allow-host`, in the form that requests carry. UsageError if no request can carry it."""
    text = given.strip().lower()
    if text.count(":") > 1 and not text.startswith("["):
        text = f"[{text}]"
    if not text.isascii():
        try:
            text = text.encode("idna").decode("ascii")
        except UnicodeError:
            text = ""
    name = host_of(text)
    if not name:
        raise UsageError(f"--allow-host {given}: give a name alone, as in memory.example.org.")
    return name
