"""The file system that a path is on, according to the system's table of mounts. Reads only."""

from __future__ import annotations

import os
import re
import sys
from typing import Final

_LOCAL: Final = re.compile(
    "bcachefs|btrfs|ext[234]|exfat|f2fs|jfs|ntfs3|overlay|ramfs|reiserfs|rootfs|tmpfs|vfat|xfs|zfs"
)
"""Kinds of Linux that the kernel serves from its own memory and disks, with no other program or machine behind them."""


def is_local(path: str) -> bool:
    """Whether the path is known to be on a disk of this machine. False where that is unknown, as outside Linux."""
    if sys.platform != "linux":
        return False
    return _LOCAL.fullmatch(kind_of(os.path.realpath(path), mounts_of_linux())) is not None


def kind_of(folder: str, mounts: list[tuple[str, str]]) -> str:
    """The file system of a folder, found among mount points with their kinds. Of equally long mount points the last
    counts.
    """
    best, kind = "", ""
    for point, name in mounts:
        within = folder == point or folder.startswith(point.rstrip("/") + "/")
        if within and len(point) >= len(best):
            best, kind = point, name
    return kind


def mounts_of_linux() -> list[tuple[str, str]]:
    """Mount points with their kinds, in the order in which they were mounted; none without /proc."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if len(fields) > 4 and after:
            point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[4])
            found.append((point, after.split(" ")[0]))
    return found
