"""What an error of the file system means for the memory file, and what to do: one table for all texts. Pure."""

from __future__ import annotations

import errno
import os
from typing import Final

_RIGHTS: Final = (
    "permission denied",
    "Give this user the right to read it and to create files in {folder}, or choose another memory file.",
)
_OWNER: Final = (
    "that is not permitted",
    "A sticky bit on {folder} leaves replacing to the owner, an attribute of the file to nobody: change that.",
)
_MOUNTED: Final = (
    "it cannot be replaced",
    "A single file that is mounted by itself cannot be replaced: mount its folder instead.",
)

_ADVICE: Final = {
    errno.ENOENT: ("there is no such folder", "Create the folder {folder}, or choose another memory file."),
    errno.ENOTDIR: ("that is not in a folder", "Choose another memory file."),
    errno.EISDIR: ("it is not a file", "It is a folder: name a file in it."),
    errno.ENAMETOOLONG: (
        "the name is too long",
        "Choose a shorter name: files beside it are named after it, with up to 37 characters more.",
    ),
    errno.EACCES: _RIGHTS,
    errno.EPERM: _OWNER,
    errno.EROFS: ("the file system is read-only", "Make {folder} writable, or choose another memory file."),
    errno.ENOSPC: ("the disk is full", "Free some space for {folder}, then try again."),
    errno.EDQUOT: ("the disk quota is used up", "Free some space for {folder} or raise the quota, then try again."),
    errno.EFBIG: ("it is too large", "The file may not grow that large here: raise the limit, then try again."),
    errno.EMFILE: ("too many files are open", "Raise this process's limit of open files (ulimit -n), then try again."),
    errno.ENFILE: ("too many files are open in the whole system", "Close some programs, then try again."),
    errno.EBUSY: _MOUNTED,
    errno.EXDEV: _MOUNTED,
}


def explain(error: OSError, path: str) -> tuple[str, str]:
    """The reason, as a clause, and the next step, as a sentence; `path` is the file whose folder has to serve."""
    otherwise = error.strerror or str(error), "Check the disk of {folder}, or choose another memory file."
    reason, step = _ADVICE.get(error.errno or 0, otherwise)
    return reason, step.format(folder=os.path.dirname(path) or ".")
