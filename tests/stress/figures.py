"""What a proof comes to: how much was tried, and every loss that was found."""

from __future__ import annotations

from collections import Counter
from typing import Final

_SHOWN: Final = 5  # losses that are told in full; the first one is what is mended


class Figures:
    """Counts by what was counted, and the losses, each as one line that says how to see it again."""

    def __init__(self, part: str) -> None:
        self.part = part
        self.counts: Counter[str] = Counter()
        self.losses: list[str] = []
        self.skipped = ""
        self.remarks: list[str] = []
        self.pings: list[list[float]] = []  # for each server the seconds that each ping waited for its answer

    def count(self, what: str, by: int = 1) -> None:
        self.counts[what] += by

    def lost(self, how: str) -> None:
        self.losses.append(how)

    def remark(self, text: str) -> None:
        """A figure that is no loss but has to be known."""
        self.remarks.append(text)

    def line(self) -> str:
        """The one line of figures."""
        if self.skipped:
            return f"{self.part}: skipped, {self.skipped}"
        counted = ", ".join(f"{number:,} {what}" for what, number in self.counts.items())
        parts = [counted or "nothing", *self._told_pings(), *self.remarks, f"losses: {len(self.losses)}"]
        return f"{self.part}: " + "; ".join(parts)

    def _told_pings(self) -> list[str]:
        waits = [seconds for server in self.pings for seconds in server]
        return [f"{len(waits):,} pings, the longest waited {max(waits) * 1000:,.0f} ms"] if waits else []

    def report(self, took: str = "") -> str:
        """The line, how long it took, and the first losses below it."""
        more = len(self.losses) - _SHOWN
        shown = [f"  lost: {how}" for how in self.losses[:_SHOWN]]
        return "\n".join([self.line() + took, *shown, *([f"  and {more} more"] if more > 0 else [])])
