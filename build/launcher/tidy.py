"""Removes what older versions have left in the cache, if it was not started for a while.

Rules: a folder in use is never touched: every start shares the lock of its program file for life, and only a process
that holds that lock exclusively may remove it. Where such locks are not available, nothing is removed. Nothing here
makes a start fail.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from typing import Final

UNUSED_AFTER: Final = 30 * 86_400.0  # seconds: somebody who goes back to an older client within a month finds it ready
LEFT_AFTER: Final = 86_400.0  # a first start takes seconds: one as old as this was killed
_OURS: Final = re.compile(r"[0-9][^-]*-[0-9a-f]{16}-cp\d+t?-[a-z]+-\w+")
_UNFINISHED: Final = re.compile(_OURS.pattern + r"\.\w+\.tmp")


def once_a_day(folder: str) -> None:
    """Note that this folder is in use, and remove the others that nobody uses."""
    try:
        os.utime(os.path.join(folder, "program"))
        root = os.path.dirname(folder)
        for name in os.listdir(root):
            path = os.path.join(root, name)
            if _UNFINISHED.fullmatch(name) and _age(path) > LEFT_AFTER:
                shutil.rmtree(path, ignore_errors=True)
            elif _OURS.fullmatch(name) and path != folder:
                _remove_unused(path)
    except OSError:  # a read-only cache: somebody else keeps it
        pass


def _age(path: str) -> float:
    return time.time() - os.stat(path).st_mtime


def _remove_unused(folder: str) -> None:
    try:
        flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        program = os.open(os.path.join(folder, "program"), flags)
    except FileNotFoundError:  # half removed
        if _age(folder) > UNUSED_AFTER:
            shutil.rmtree(folder, ignore_errors=True)
        return
    try:
        if _age(os.path.join(folder, "program")) < UNUSED_AFTER or not _alone(program):
            return
        aside = folder + ".old.tmp"
        if sys.platform == "win32":
            os.close(program)
            program = -1
        os.rename(folder, aside)  # Windows refuses while a file in it is open: then it is in use
        shutil.rmtree(aside, ignore_errors=True)
    finally:
        if program >= 0:
            os.close(program)


def _alone(program: int) -> bool:
    if sys.platform == "win32":
        return True
    try:
        import fcntl

        fcntl.flock(program, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True
