"""`python -m tests.platforms [PART...]`: the archive on every interpreter, system and client that can be had here.

The archive is the one that MEMORY_SERVER_PYZ names. Prints the table; without PARTs it also writes it to RESULTS.md.
The part `clients` writes what it saw into the guide, between two marks.
The exit status is 1 if something that ran failed; what cannot run here is a line of the table and no failure.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tests.bench.report import marked
from tests.platforms import clients, debian, image_row, interpreters, musl, static, windows
from tests.platforms.fetching import CACHE, ROOT
from tests.platforms.results import Row, or_missing, table

_PARTS: Final[Mapping[str, tuple[str, str, Callable[[Path], list[Row]]]]] = {
    "interpreters": ("this machine", "CPython", interpreters.rows),
    "windows": ("Windows x86-64 (Wine)", "CPython", windows.rows),
    "debian": ("newer Debian suites", "CPython", debian.rows),
    "clients": ("client", "all", clients.rows),
    "image": ("container image (buildah)", "CPython", image_row.rows),
    "musl": ("musl", "CPython", musl.rows),
    "static": ("every platform", "CPython", static.rows),
}
_RESULTS: Final = Path(__file__).with_name("RESULTS.md")
_GUIDE: Final = ROOT / "memory_app" / "guide" / "clients.md"
_TEXT: Final = """# One archive, run on what one Linux machine can have

Written by `make platforms`; the archive was {name}, {size:.1f} MB, version {version}. Each place runs the same suite
(`smoke.py`): a first start into an empty cache and next ones (the best of three is shown), both eras of the protocol,
all nine tools, two writers at once, a kill in the middle of writing and what remains, paths with spaces and any
letters, CR LF, the end of its input, commands. Windows adds its own scenes (`windows_scenes.py`), clients theirs
(`clients.py`). Times are those of a machine that did other work as well. The last rows start nothing: they are all that
can be said here about macOS and musl, and about Windows outside Wine. No CPython for musl can be had from the
registries that are used here; musl's own loader can, and is asked whether it finds what the libraries need.

{table}"""


def main(arguments: list[str]) -> int:
    unknown = [name for name in arguments if name not in _PARTS]
    archive = Path(os.environ.get("MEMORY_SERVER_PYZ") or ROOT / "dist" / "memory-server.pyz").resolve()
    if unknown or not archive.is_file():
        print(f"no archive at {archive}: run `make pyz`" if not unknown else f"the parts are: {', '.join(_PARTS)}")
        return 2
    kept = _copy(archive)
    found: list[Row] = []
    for name in arguments or _PARTS:
        platform, interpreter, rows = _PARTS[name]
        part = or_missing(platform, interpreter, lambda rows=rows: rows(kept))  # type: ignore[misc]
        if name == "clients" and any(row.run for row in part):
            _GUIDE.write_text(marked(_GUIDE.read_text("utf-8"), "clients", clients.told(part)), "utf-8")
        found += part
    result = table(found)
    print(result, end="")
    if not arguments:
        from memory_app import __version__

        size = kept.stat().st_size / 1e6
        _RESULTS.write_text(_TEXT.format(name=archive.name, size=size, version=__version__, table=result), "utf-8")
    failed = sum(row.run - row.passed for row in found)
    print(f"{sum(row.passed for row in found)} passed, {failed} failed")
    return 1 if failed else 0


def _copy(archive: Path) -> Path:
    """A copy that nobody builds anew while it is tested, under a name of its own for each content."""
    content = archive.read_bytes()
    folder = CACHE / "archive" / hashlib.sha256(content).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / archive.name
    if not copy.is_file() or copy.stat().st_size != len(content):
        copy.write_bytes(content)
    return copy


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
