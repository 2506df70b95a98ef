"""A disk that writes down what it is told: each write and each flush, in their order, as a block device behind a file
system would see them. It needs root and /dev/fuse, nothing else.

A process of its own serves one file, `disk.img`, over FUSE, spoken here in its raw form; a loop device on that file
carries the file system under test. `python -m tests.stress.logged_disk IMAGE FOLDER LOG`

The log holds records: `W`, offset (8 bytes), length (4), the data; and `F` for a flush.
"""

from __future__ import annotations

import ctypes
import errno
import os
import random
import stat
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

NAME: Final = "disk.img"

_REQUEST: Final = struct.Struct("<IIQQIIIHH")  # fuse_in_header: length, operation, id, node, owner and so on
_ANSWER: Final = struct.Struct("<IiQ")  # fuse_out_header: length, error, id
_ATTRIBUTES: Final = struct.Struct("<QQQQQQIIIIIIIIII")
_INIT: Final = struct.Struct("<IIIIHHIIHHII24x")
_ENTRY: Final = struct.Struct("<QQQQII")
_TRANSFER: Final = struct.Struct("<QQIIQII")  # what asks for a read and what comes before the data of a write
_STATISTICS: Final = struct.Struct("<QQQQQIIII24x")

_LOOKUP, _FORGET, _GETATTR, _SETATTR, _OPEN, _READ, _WRITE, _STATFS = 1, 2, 3, 4, 14, 15, 16, 17
_RELEASE, _FSYNC, _FLUSH, _INITIALIZE, _OPENDIR, _RELEASEDIR, _INTERRUPT, _DESTROY = 18, 20, 25, 26, 27, 29, 36, 38
_BATCH_FORGET: Final = 42
_UNANSWERED: Final = frozenset({_FORGET, _INTERRUPT, _BATCH_FORGET})
_MINOR: Final = 31  # of the protocol; the kernel speaks every older one too
_BIG_WRITES: Final = 1 << 5
_LARGEST_WRITE: Final = 1 << 17
_ROOT, _FILE = 1, 2
_NO_TIMEOUT: Final = 1 << 30  # seconds that the kernel may remember a name or a size: they never change

_SECTOR: Final = 4096
"""Bytes that a drive writes whole or not at all."""


class Write(NamedTuple):
    """A write, and where its record ends in the log. `data` None: a flush."""

    end: int
    offset: int
    data: bytes | None


def read_log(log: Path) -> list[Write]:
    """All whole records."""
    data = log.read_bytes()
    records: list[Write] = []
    at = 0
    while at < len(data):
        if data[at : at + 1] == b"F":
            at += 1
            records.append(Write(at, 0, None))
            continue
        start = at + 13
        if start > len(data):
            break
        offset, length = struct.unpack_from("<QI", data, at + 1)
        if start + length > len(data):
            break
        at = start + length
        records.append(Write(at, offset, data[start:at]))
    return records


def surviving(records: list[Write], moment: int, chance: random.Random, share: float) -> Iterator[tuple[int, bytes]]:
    """What is on the medium when the power is cut at this place of the log: all that was flushed, and of the rest each
    sector with this probability, in any combination."""
    until = [record for record in records if record.end <= moment]
    sure = max((number for number, record in enumerate(until) if record.data is None), default=-1)
    for number, record in enumerate(until):
        if record.data is None:
            continue
        if number < sure or share == 1:
            yield record.offset, record.data
            continue
        for at in range(0, len(record.data), _SECTOR):
            if chance.random() < share:
                yield record.offset + at, record.data[at : at + _SECTOR]


def start(image: Path, folder: Path, log: Path) -> subprocess.Popen[bytes]:
    """Serve the image as `folder`/disk.img; returns when it is there."""
    server = subprocess.Popen([sys.executable, "-m", "tests.stress.logged_disk", str(image), str(folder), str(log)])
    until = time.monotonic() + 20
    while not (folder / NAME).exists():
        if server.poll() is not None or time.monotonic() > until:
            server.kill()
            server.wait()
            raise OSError(errno.EIO, "the logged disk could not be mounted")
        time.sleep(0.01)
    return server


class _Disk:
    def __init__(self, image: str, log: str) -> None:
        self._image = os.open(image, os.O_RDWR)
        self._log = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        self._size = os.fstat(self._image).st_size

    def serve(self, fuse: int) -> None:
        while True:
            try:
                request = os.read(fuse, _LARGEST_WRITE + (1 << 13))
            except OSError as error:
                if error.errno == errno.ENODEV:
                    return  # it was unmounted
                if error.errno in (errno.EINTR, errno.ENOENT):
                    continue
                raise
            length, operation, number, node, *_ = _REQUEST.unpack_from(request)
            if operation in _UNANSWERED:
                continue
            try:
                body, failed = self._answer(operation, node, request[_REQUEST.size : length]), 0
            except OSError as error:
                body, failed = b"", -(error.errno or errno.EIO)
            os.write(fuse, _ANSWER.pack(_ANSWER.size + len(body), failed, number) + body)
            if operation == _DESTROY:
                return

    def _answer(self, operation: int, node: int, body: bytes) -> bytes:
        if operation == _INITIALIZE:
            return _INIT.pack(7, _MINOR, 1 << 17, _BIG_WRITES, 16, 12, _LARGEST_WRITE, 1, 0, 0, 0, 0)
        if operation == _LOOKUP:
            if node != _ROOT or body.rstrip(b"\0") != NAME.encode():
                raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
            return _ENTRY.pack(_FILE, 0, _NO_TIMEOUT, _NO_TIMEOUT, 0, 0) + self._attributes(_FILE)
        if operation in (_GETATTR, _SETATTR):
            return struct.pack("<QII", _NO_TIMEOUT, 0, 0) + self._attributes(node)
        if operation in (_OPEN, _OPENDIR):
            return struct.pack("<QII", 1, 0, 0)
        if operation == _READ:
            _, offset, size, *_ = _TRANSFER.unpack_from(body)
            return os.pread(self._image, size, offset)
        if operation == _WRITE:
            _, offset, size, *_ = _TRANSFER.unpack_from(body)
            data = body[_TRANSFER.size : _TRANSFER.size + size]
            os.pwrite(self._image, data, offset)
            os.write(self._log, b"W" + struct.pack("<QI", offset, size) + data)
            return struct.pack("<II", size, 0)
        if operation == _FSYNC:
            os.write(self._log, b"F")
            return b""
        if operation == _STATFS:
            blocks = self._size >> 12
            return _STATISTICS.pack(blocks, 0, 0, 2, 0, 4096, 255, 4096, 0)
        if operation in (_FLUSH, _RELEASE, _RELEASEDIR, _DESTROY):
            return b""
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    def _attributes(self, node: int) -> bytes:
        mode, links, size = (stat.S_IFDIR | 0o700, 2, 0) if node == _ROOT else (stat.S_IFREG | 0o600, 1, self._size)
        return _ATTRIBUTES.pack(node, size, size >> 9, 0, 0, 0, 0, 0, 0, mode, links, 0, 0, 0, 4096, 0)


def main(image: str, folder: str, log: str) -> None:
    fuse = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    library = ctypes.CDLL(None, use_errno=True)
    options = f"fd={fuse},rootmode=40700,user_id=0,group_id=0".encode()
    if library.mount(b"logged", folder.encode(), b"fuse", 0, options):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), folder)
    _Disk(image, log).serve(fuse)


if __name__ == "__main__":
    main(*sys.argv[1:4])
