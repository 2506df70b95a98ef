"""From figures to what people read: one row for each comparison, as a Markdown table. All rows: lower is better."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Final, NamedTuple

_UNITS: Final[dict[str, tuple[float, str]]] = {"time": (1e3, "ms"), "memory": (2.0**-20, "MiB"), "count": (1.0, "")}


class Row(NamedTuple):
    """One comparison. `ours` and `others` have one figure for each round; the n-th of both are of the same round."""

    work: str
    size: int
    ours: Sequence[float]
    others: Sequence[float]
    target: float | None = None  # the ratio that it should have at most; for a count without others: at most that many
    unit: str = "time"
    limit: float | None = None  # seconds or bytes that it should take at most, whatever the ratio

    @property
    def ratios(self) -> list[float]:
        return [one / other for one, other in zip(self.ours, self.others, strict=True)]

    @property
    def ratio(self) -> float | None:
        return median(self.ratios) if self.others else None

    @property
    def met(self) -> bool | None:
        reached = self.ratio if self.others else median(self.ours)
        met = [] if self.target is None or reached is None else [reached <= self.target]
        met += [] if self.limit is None else [median(self.ours) <= self.limit]
        return all(met) if met else None


def table(rows: Iterable[Row], other: str, *, short: bool = False) -> str:
    """The rows as a Markdown table; with `short` without the spread."""
    heads = ["work", "entities", "memory-server", other, "ratio"]
    if not short:
        heads += ["ratios of all rounds", "wanted", ""]
    lines = [f"| {' | '.join(heads)} |", "|---|" + "--:|" * 4 + ("" if short else "--:|--:|---|")]
    for row in rows:
        show = _shower(row.unit)
        cells = [row.work, f"{row.size:,}", show(median(row.ours)), show(median(row.others)) if row.others else ""]
        cells.append(_ratio(row.ratio))
        if not short:
            cells.append(f"{_ratio(min(row.ratios))} to {_ratio(max(row.ratios))}" if row.others else "")
            wanted = [] if row.target is None else [f"≤ {row.target:.3g}" if row.others else f"≤ {show(row.target)}"]
            wanted += [] if row.limit is None else [f"≤ {show(row.limit)}"]
            cells.append(", ".join(wanted))
            cells.append({None: "", True: "yes", False: "**no**"}[row.met])
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def marked(text: str, mark: str, body: str) -> str:
    """`text` with the region between the two comments of this mark replaced; unchanged if there is none."""
    begin, end = f"<!-- {mark}:begin -->", f"<!-- {mark}:end -->"
    if begin not in text or end not in text:
        return text
    before, rest = text.split(begin, 1)
    return f"{before}{begin}\n{body}{end}{rest.split(end, 1)[1]}"


def _shower(unit: str) -> Callable[[float], str]:
    factor, name = _UNITS[unit]
    return lambda value: f"{_digits(value * factor)} {name}".strip()


def _ratio(value: float | None) -> str:
    return "" if value is None else _digits(value)


def _digits(value: float) -> str:
    """Two or three digits that mean something."""
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"
