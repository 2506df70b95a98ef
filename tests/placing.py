"""Memory files as they are when a test begins: whole and at rest, as a save by a rename leaves them.

A test that writes the file with `write_text` is, to the program, another one that writes in place.
"""

from __future__ import annotations

import os
import time
from pathlib import Path


def put(path: Path, content: str | bytes) -> None:
    """Write a file whose content is an hour old, though its inode is not."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    past = time.time_ns() - 3600 * 10**9 - 1
    os.utime(path, ns=(past, past))
