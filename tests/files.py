"""Files of the tests: what may stand where a file is expected, and what is seen of one."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path


def make_folder(path: Path) -> None:
    path.mkdir()


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # a socket's path may have 107 bytes
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def descriptors() -> int:
    """How many descriptors this process holds open."""
    return len(os.listdir("/proc/self/fd"))
