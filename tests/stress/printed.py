"""What the long proofs printed, in the guide: one line for each part, all of one version of the program."""

from __future__ import annotations

import platform
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from memory_app import __version__
from tests.bench.report import marked

GUIDE: Final = Path(__file__).resolve().parents[2] / "memory_app" / "guide" / "reliability.md"

_REGION: Final = re.compile(r"<!-- stress:begin -->\n(.*?)<!-- stress:end -->", re.DOTALL)


def write(lines: Sequence[str], *, is_whole: bool, page: Path | None = None) -> None:
    """Put the lines into the page, each in place of the one of the same part; lines of another version go.

    `is_whole` says that every part was run: then no other line stays.
    """
    page = page or GUIDE
    text = page.read_text("utf-8")
    kept = {} if is_whole else {_part(line): line for line in there(text)}
    kept |= {_part(line): line for line in lines}
    body = f"{_heading()}\n\n```\n" + "".join(f"{line}\n" for line in kept.values()) + "```\n"
    page.write_text(marked(text, "stress", body), "utf-8")


def there(text: str) -> list[str]:
    """The lines that the page holds of this version."""
    region = _REGION.search(text)
    if region is None or not region[1].startswith(_heading()):
        return []
    return region[1].split("```")[1].strip().splitlines()


def _part(line: str) -> str:
    return line.partition(": ")[0]


def _heading() -> str:
    return f"Version {__version__} on {platform.system()}, {platform.machine()}:"
