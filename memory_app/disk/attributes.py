"""Access control lists and extended attributes: a new file gets those of the file it replaces, or grants nobody more.

Only Linux has calls for them in the standard library. There the group bits of a file with a list are not the rights of
its group but the most that the list may give (its mask); a copy with the mode alone would open it to the group. So:

1. The mode to be copied has the group's own rights in place of the mask (`read`).
2. A list that the new file has from its folder, and the old one had not, is taken away; then what the old one had is
   set (`write`). What the file system refuses is left out, and step 1 holds.

`security.*` and `trusted.*` are the system's own and are not copied.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
from collections.abc import Mapping
from typing import Final

ACL: Final = "system.posix_acl_access"

_OWN: Final = "user."
_GROUP: Final = 0x04
_MASK: Final = 0x10
_ENTRY: Final = struct.Struct("<HHI")
"""Of a list: a tag, rights as in a mode's last three bits, an id. A version of four bytes stands in front of all."""

_REFUSED: Final = frozenset(
    {errno.ENOTSUP, errno.EPERM, errno.EACCES, errno.ENOSPC, errno.EDQUOT, errno.E2BIG, errno.ERANGE, errno.EINVAL}
    | {errno.ENODATA}
)


def read(path: str, status: os.stat_result) -> tuple[os.stat_result, Mapping[str, bytes]]:
    """What a replacement of the file at `path` must get: its status, with a mode that can be copied, and its
    attributes.

    Costs one call where there are no attributes.
    """
    found: dict[str, bytes] = {}
    if not hasattr(os, "listxattr"):
        return status, found
    try:
        for name in os.listxattr(path, follow_symlinks=False):
            if name == ACL or name.startswith(_OWN):
                found[name] = os.getxattr(path, name, follow_symlinks=False)
    except OSError:
        pass  # what could not be read is not copied
    return (status if ACL not in found else _without_mask(status, found[ACL])), found


def write(fd: int, attributes: Mapping[str, bytes]) -> None:
    """Copy the attributes to a new file whose owner and mode are already set."""
    if not hasattr(os, "listxattr"):
        return
    try:
        present = os.listxattr(fd)
    except OSError as error:
        if error.errno not in _REFUSED:
            raise
        return
    if ACL in present and ACL not in attributes:
        mode = stat.S_IMODE(os.fstat(fd).st_mode)
        os.removexattr(fd, ACL)
        os.fchmod(fd, mode)
    for name, value in attributes.items():
        try:
            os.setxattr(fd, name, value)
        except OSError as error:
            if error.errno not in _REFUSED:
                raise


def _without_mask(status: os.stat_result, acl: bytes) -> os.stat_result:
    """The status with the rights that the list gives the group itself, in place of the mask."""
    rights = {tag: allowed for tag, allowed, _ in _ENTRY.iter_unpack(acl[4 : len(acl) - (len(acl) - 4) % _ENTRY.size])}
    group = rights.get(_GROUP, 0) & rights.get(_MASK, 7)
    fields = list(status)
    fields[stat.ST_MODE] = status.st_mode & ~stat.S_IRWXG | group << 3
    return os.stat_result(fields)
