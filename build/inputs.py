"""What an archive is made from, as a digest, and whether a given archive was made from it.

Rules: standard library only, and fast: this runs before every `make run`. Contents count, not times, so a fresh clone
of the same commit has the same digest. An archive names the digest in its first entry.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
_HEAD: Final = 4096  # bytes: the start is the archive's first entry, uncompressed, and its constants come early


def sources(folder: Path) -> list[Path]:
    """A folder's own files, without those that interpreters and editors leave there."""
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and not path.name.startswith(".")
        and not path.name.endswith(("~", ".pyc", ".swp", ".tmp"))
    )


def digest() -> str:
    """16 hex digits that change with every file that can change an archive."""
    total = hashlib.sha256()
    for folder in ("memory_app", "build"):
        for path in sources(ROOT / folder):
            total.update(path.relative_to(ROOT).as_posix().encode() + b"\0")
            total.update(hashlib.sha256(path.read_bytes()).digest())
    total.update((ROOT / "LICENSE").read_bytes())
    return total.hexdigest()[:16]


def is_current(archive: Path, kinds: tuple[str, ...], wanted: str) -> bool:
    """Whether that archive is of one of these kinds and made from these inputs."""
    try:
        with archive.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return False
    found = re.search(rb'^BUILD = "(\w+)".*\nARCHIVE = "([\w-]+)"', head, re.MULTILINE)
    return found is not None and found[1].decode() == wanted and found[2].decode() in kinds
