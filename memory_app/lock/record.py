"""The record in a lock file: who holds the lock, and whether that process is known to be gone.

The record is one JSON object. `pid`, `hostname` and `token` (32 hex digits, new for every acquisition) are what the
npm server writes; `start`, `boot` and `pidns` (see `identity`) make the process unmistakable and are left out where
unknown. Unknown fields are ignored. No input or output here but the system's word on a process.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple

from memory_app.lock import identity
from memory_app.lock.identity import Identity


class Record(NamedTuple):
    """The process that claims to hold the lock."""

    pid: int
    hostname: str
    token: str
    start: str | None
    boot: str | None
    pidns: int | None


def encode(me: Identity, token: str) -> bytes:
    """The record of this process, without the fields that are unknown here."""
    fields = {"pid": me.pid, "hostname": me.hostname, "token": token}
    extra = {"start": me.start, "boot": me.boot, "pidns": me.pidns}
    known = {name: value for name, value in extra.items() if value is not None}
    return json.dumps(fields | known, separators=(",", ":")).encode()


def parse(data: bytes) -> Record | None:
    """The record in a lock file, None if there is none: an incomplete record, or something else."""
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    pid, hostname, token = fields.get("pid"), fields.get("hostname"), fields.get("token")
    if type(pid) is not int or not 0 < pid <= identity.LARGEST_PID:
        return None
    if not isinstance(hostname, str) or not isinstance(token, str):
        return None
    return Record(pid, hostname, token, _text(fields, "start"), _text(fields, "boot"), _number(fields, "pidns"))


def known_gone(record: Record, me: Identity, held_here: Callable[[str], bool]) -> bool:
    """Whether the record's process is proven to be gone from this machine, so that its lock may be broken at once.

    `held_here` tells whether this process holds a lock with the token, or is about to. A record of ours with an unknown
    token was left by a removal that failed.
    """
    if record.hostname != me.hostname:
        return False
    if (record.start, record.boot, record.pidns) == (None, None, None):
        if not me.initial:
            return False  # in a container the pid of a record that says no more may be anybody's
    elif (record.boot, record.pidns) != (me.boot, me.pidns):
        return False
    if record.pid == me.pid:
        return not held_here(record.token)
    return identity.gone(record.pid, record.start)


def _text(fields: dict[str, object], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) else None


def _number(fields: dict[str, object], name: str) -> int | None:
    value = fields.get(name)
    return value if type(value) is int else None
