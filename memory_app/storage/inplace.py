"""In-place writers: recognising that another program writes into the file, and telling when it is at rest.

Editors, shells, `cp` and the npm server before 2026.8.31 truncate the memory file and write it anew, in one piece or in
several. Who looks in between sees an empty or a cut file. The rules, for all of which the system's word on the file is
enough:

| what is seen | what it means |
|---|---|
| a change time later than that of the content, and one name | the last step was a rename (or a chmod): it is whole |
| the inode that was loaded, with another size or content time | written in place |
| the first file that is met, or one that looks cut, young | cannot be told: taken for written in place |
| another inode than the one loaded, young, its last line whole | most likely a rename: kept, but not waited for |

A file that was written in place may be the base of a save once its stamps were still for a while, longer if it looks
cut; there is a bound to that wait. What such a save must not lose is the matter of `replaced`.

Stamps tell two contents apart only if the clock of the file system has moved between them, which some clocks do every
10 ms, every second, or every two (FAT). A reading is *settled* when no later change can have its stamps. One that is
not settled is judged by its bytes: before each save that is based on it, and once more for readers.

Reads the clock; no input or output but the look that `Rest.wait` is given.
"""

from __future__ import annotations

import enum
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from memory_app.disk import calls
from memory_app.disk.calls import Signature

_SECOND: Final = 1_000_000_000

COARSEST: Final = 2.0
"""Seconds between two ticks of the slowest clock, FAT's."""

_FINE_TICK: Final = 0.02
"""Seconds: more than a tick of any clock that knows fractions of a second (10 ms; 15.6 ms on Windows)."""

_SKEW: Final = 3600.0
"""Seconds that the clock of a file server is never off by; only stamps older than that are old without asking it."""

_YOUNG: Final = 10.0
_YOUNG_IF_CUT: Final = 60.0
"""Seconds since its last change in which the writer of a file may not have finished, as far as anyone can tell."""

_STILL: Final = 0.1
_STILL_IF_CUT: Final = 1.0
"""Seconds without a change after which a file counts as at rest. A program that has truncated a file commonly writes
within milliseconds; to go by a cut file is worth a longer wait."""

_LONGEST_WAIT: Final = 5.0
"""Seconds for all waits of one save: a writer that never rests must not stop every change."""

_POLL: Final = 0.01
_PIECE: Final = 4096  # bytes looked at once for the end of the text


class Origin(enum.Enum):
    """How the file's bytes got there."""

    OURS = "a save of this process"
    RENAMED = "whole, by a rename"
    IN_PLACE = "written in place"
    SUCCESSOR = "most likely by a rename"
    UNKNOWN = "cannot be told"


class Reading(NamedTuple):
    """What a reading of the file found besides its bytes. Times are in seconds, from the clocks of this machine."""

    links: int
    origin: Origin
    is_cut: bool
    since: float
    """From when on (time.monotonic) the file was seen to be like that."""
    read_at: float
    """When (time.monotonic) its bytes were read."""
    read_at_wall: float
    """The same by time.time, which goes on while the machine sleeps."""
    is_settled: bool


class Rest:
    """Since when the file has not changed, and the bounded wait for that. One thread at a time."""

    def __init__(self) -> None:
        self._seen: tuple[int, ...] = ()
        self._since = 0.0
        self._needed = 0.0
        self._until: float | None = None

    def since(self, signature: Signature) -> float:
        """The time from which the file had this size and content time."""
        if self._seen != signature[:4]:
            self._seen, self._since = signature[:4], time.monotonic()
        return self._since

    def ask(self, needed: float) -> bool:
        """Make the next `wait` last until the file was unchanged for this long. False if the bound was used up."""
        now = time.monotonic()
        if self._until is None or now - self._until > _LONGEST_WAIT:  # that save was given up long ago
            self._until = now + _LONGEST_WAIT
        self._needed = needed
        return now < self._until

    def wait(self, look: Callable[[], Signature | None]) -> None:
        """Wait until the file was unchanged for the requested time. Returns at once if none was requested.

        If the file changes meanwhile, a short time is enough: it is read again, and may be whole.
        """
        began = self._since
        while self._needed and self._until is not None:
            signature, now = look(), time.monotonic()
            if signature is None or now >= self._until:
                break
            since = self.since(signature)
            if now - since >= (self._needed if since == began else min(_STILL, self._needed)):
                break
            time.sleep(_POLL)
        self._needed = 0.0

    def end(self) -> None:
        """A save is done: the next one has the whole bound again."""
        self._needed, self._until = 0.0, None


def reading_of(
    signature: Signature,
    links: int,
    data: bytes,
    since: float,
    before: tuple[Signature, Reading] | None,
    known_end: bytes = b"",
) -> Reading:
    """A reading of the file; `before` is the previous one, if any. `known_end` is a last line that is no record and was
    there before the file was cut: it is no sign of a cut.
    """
    now, wall = time.monotonic(), time.time()
    end = _end_of(data, len(known_end) + 1)
    is_cut = not end.endswith(b"]" if data[:64].lstrip().startswith(b"[") else b"}")
    is_cut = is_cut and not (known_end and end.endswith(b"\n" + known_end))
    settled = (
        _is_past(signature)
        or wall - _changed(signature) > _SKEW
        or (before is not None and before[0] == signature and now - since >= COARSEST)
    )
    if before is not None and before[0][:2] == signature[:2]:
        is_cut = is_cut or signature.size < before[0].size
    return Reading(links, _origin(signature, links, is_cut, before), is_cut, since, now, wall, settled)


def _end_of(data: bytes, size: int) -> bytes:
    """The last `size` bytes before the white space at the end; a large file is not copied for that."""
    end = len(data)
    while end and not (last := data[max(end - _PIECE, 0) : end].rstrip()):
        end = max(end - _PIECE, 0)
    if end:
        end = max(end - _PIECE, 0) + len(last)
    return data[max(end - size, 0) : end]


def reading_of_our_own(signature: Signature) -> Reading:
    """A reading of a file that this process has just written."""
    now = time.monotonic()
    return Reading(1, Origin.OURS, False, now, now, time.time(), _is_past(signature))


def is_settled(signature: Signature, reading: Reading, present: float) -> bool:
    """Whether every change since the reading would show in the stamps. `present` is the file system's time, in
    seconds.
    """
    if reading.is_settled:
        return True
    elapsed = max(time.monotonic() - reading.read_at, time.time() - reading.read_at_wall)
    return present - elapsed - _changed(signature) >= COARSEST


def may_be_unfinished(signature: Signature, reading: Reading, present: float) -> bool:
    """Whether another program may be about to write to the file, as far as the stamps tell."""
    if reading.origin not in (Origin.UNKNOWN, Origin.SUCCESSOR):
        return reading.origin is Origin.IN_PLACE
    when_read = present - (time.monotonic() - reading.read_at)
    return when_read - _changed(signature) < (_YOUNG_IF_CUT if reading.is_cut else _YOUNG)


def stillness_missing(signature: Signature, reading: Reading, present: float) -> float:
    """How many more seconds the file must stay unchanged; 0 if it was unchanged for long enough."""
    if reading.origin is Origin.SUCCESSOR:  # a writer that renames without a pause must not keep us waiting
        return 0.0
    needed = _STILL_IF_CUT if reading.is_cut else _STILL
    tick = COARSEST if _is_whole(signature) else _FINE_TICK
    still = max(time.monotonic() - reading.since, present - _changed(signature) - tick)
    return 0.0 if still >= needed else needed


def present_of(written: Signature) -> float:
    """The file system's present time, taken from a file that was just written."""
    return max(written.mtime_ns, written.ctime_ns) / _SECOND


def shows_a_coarse_clock(signature: Signature) -> bool:
    """Whether a file of ours has the same stamp for its last write and for the rename after it."""
    return not calls.WINDOWS and signature.ctime_ns <= signature.mtime_ns


def _origin(signature: Signature, links: int, is_cut: bool, before: tuple[Signature, Reading] | None) -> Origin:
    if before is not None and before[0][:4] == signature[:4]:  # at most a chmod or a further name
        return before[1].origin
    if signature.ctime_ns > signature.mtime_ns and links == 1:
        return Origin.RENAMED
    if before is not None and before[0][:2] == signature[:2]:
        return Origin.IN_PLACE
    if calls.WINDOWS and not is_cut:
        return Origin.RENAMED  # stat tells no change time there; what looks whole is most likely a save by a rename
    return Origin.UNKNOWN if before is None or is_cut else Origin.SUCCESSOR


def _is_past(signature: Signature) -> bool:
    """Whether the clock has moved on since the content was written, by the file's own stamps."""
    ahead = signature.ctime_ns - signature.mtime_ns
    return ahead >= COARSEST * _SECOND or (ahead > 0 and not _is_whole(signature))


def _is_whole(signature: Signature) -> bool:
    """Whether the stamp comes from a clock that only knows whole seconds."""
    return signature.mtime_ns % _SECOND == 0


def _changed(signature: Signature) -> float:
    return (signature.ctime_ns or signature.mtime_ns) / _SECOND
