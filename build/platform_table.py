"""`make platform-table`: rewrites the table of platforms and interpreters in the guide, between its two markers.

Rules: the table contains exactly what platforms.py says, which a test compares with wheels.txt. Everything outside the
markers stays byte for byte.
"""

from __future__ import annotations

import sys
from typing import Final

from build import inputs, platforms

PAGE: Final = inputs.ROOT / "memory_app" / "guide" / "platforms.md"
BEGIN: Final = "<!-- platforms:begin -->"
END: Final = "<!-- platforms:end -->"


def table() -> str:
    """The table in Markdown."""
    lines = ["| platform | CPython | archive for it alone |", "|---|---|---|"]
    for platform in platforms.PLATFORMS:
        lines.append(f"| {platform.label} | {', '.join(platform.pythons)} | `memory-server-{platform.name}.pyz` |")
    return "\n".join(lines)


def rewritten(text: str) -> str:
    """That page with the current table; ValueError if it lacks the markers."""
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(f"{PAGE.name} needs one {BEGIN} and one {END}, each on a separate line")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def main() -> int:
    try:
        text = PAGE.read_bytes().decode("utf-8")
        PAGE.write_bytes(rewritten(text).encode("utf-8"))
    except (OSError, ValueError) as problem:
        print(f"memory-server build: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
