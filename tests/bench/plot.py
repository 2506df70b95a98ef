"""How cost grows with the graph, as an SVG: one panel for each kind of call, both axes logarithmic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Final, NamedTuple

Points = Sequence[tuple[float, float]]  # entities, seconds

COLOURS: Final = {"memory-server": "#0969da", "npm": "#cf222e", "write + fsync + rename": "#59636e"}
_WIDTH: Final = 300  # of a panel's axes
_HEIGHT: Final = 250
_LEFT: Final = 62
_TOP: Final = 72
_GAP: Final = 92
_BOTTOM: Final = 54
_SMALL: Final = 'fill="#59636e" font-size="11"'
_GUIDE: Final = 'stroke="#b0b8c0" stroke-dasharray="2 3"'
_DECADES_X: Final = (1, 6)  # 10 to 1,000,000 entities
_DECADES_Y: Final = (-4, 1)  # 0.1 ms to 10 s
_TIMES: Final = {-4: "0.1 ms", -3: "1 ms", -2: "10 ms", -1: "0.1 s", 0: "1 s", 1: "10 s"}
_SIZES: Final = {1: "10", 2: "100", 3: "1,000", 4: "10,000", 5: "100,000", 6: "1,000,000"}


class Panel(NamedTuple):
    title: str
    lines: Mapping[str, Points]


def draw(panels: Sequence[Panel], caption: Sequence[str]) -> str:
    """The panels two in a row, a legend above, the caption's lines below."""
    rows = math.ceil(len(panels) / 2)
    width = 2 * (_LEFT + _WIDTH) + 60
    height = _TOP + rows * (_HEIGHT + _GAP) - _GAP + _BOTTOM + 16 * len(caption) + 8
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="system-ui, sans-serif" font-size="12">',
        f"<title>{escape(' '.join(caption))}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    x = _LEFT
    for name, colour in COLOURS.items():
        parts.append(f'<path d="M{x} 20h24" stroke="{colour}" stroke-width="2.5"/>')
        parts.append(_text(x + 30, 24, name))
        x += 60 + 7 * len(name)
    parts.append(f'<path d="M{x} 20h24" {_GUIDE}/>')
    parts.append(_text(x + 30, 24, "grows as the graph does"))
    for number, panel in enumerate(panels):
        left = _LEFT + number % 2 * (_LEFT + _WIDTH + 20)
        top = _TOP + number // 2 * (_HEIGHT + _GAP)
        parts.append(f'<g transform="translate({left} {top})">{_panel(panel)}</g>')
    for number, line in enumerate(reversed(caption)):
        parts.append(_text(_LEFT, height - 12 - 16 * number, line, _SMALL))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(panel: Panel) -> str:
    parts = [_text(0, -14, panel.title, 'font-size="14" font-weight="600"')]
    for decade, label in _TIMES.items():
        y = _y(10.0**decade)
        parts.append(f'<path d="M0 {y:.1f}H{_WIDTH}" stroke="#e4e8ec"/>')
        parts.append(_text(-8, y + 4, label, f'text-anchor="end" {_SMALL}'))
    for decade, label in _SIZES.items():
        x = _x(10.0**decade)
        parts.append(f'<path d="M{x:.1f} 0V{_HEIGHT}" stroke="#f0f2f4"/>')
        parts.append(_text(x, _HEIGHT + 18, label, f'text-anchor="middle" {_SMALL}'))
    parts.append(_text(_WIDTH / 2, _HEIGHT + 36, "entities", f'text-anchor="middle" {_SMALL}'))
    low = 10.0 ** _DECADES_Y[0]  # cost that grows as the graph does, for the eye
    parts.append(f'<path d="M{_x(10)} {_y(low):.1f}L{_x(1e6):.1f} {_y(low * 1e5):.1f}" {_GUIDE}/>')
    for name, points in panel.lines.items():
        colour = COLOURS[name]
        places = [(_x(size), _y(seconds)) for size, seconds in points]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2.5" stroke-linejoin="round"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in places]
    return "\n".join(parts)


def _x(size: float) -> float:
    first, last = _DECADES_X
    return (math.log10(size) - first) / (last - first) * _WIDTH


def _y(seconds: float) -> float:
    first, last = _DECADES_Y
    return _HEIGHT - (math.log10(max(seconds, 10.0**first)) - first) / (last - first) * _HEIGHT


def _text(x: float, y: float, text: str, style: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(text)}</text>'
