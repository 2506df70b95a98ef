"""DOT, the language of Graphviz: a box for each entity, an arrow for each relation, a colour for each type."""

from __future__ import annotations

import colorsys
import re
from collections.abc import Iterator
from typing import Final

from memory_app.commands.exports import Memory, Options

_GOLDEN: Final = 0.618034
"""The part of the colour circle between one type and the next: neighbours differ, however many there are."""

_CONTROL: Final = re.compile("[\x00-\x09\x0b\x0c\x0e-\x1f\ufffe\uffff]")

_HEAD: Final = """digraph memory {
  graph [rankdir=LR, charset="UTF-8"]
  node [shape=box, style="rounded,filled", fontname="Helvetica"]
  edge [fontname="Helvetica", fontsize=10]
"""


def drawing(memory: Memory, _: Options) -> Iterator[bytes]:
    """The drawing. Observations are tooltips of their boxes; ends that are not entities are dashed."""
    yield _HEAD.encode()
    numbers: dict[str, int] = {}
    types: dict[str, int] = {}
    for entity in memory.entities:
        numbers[entity.name] = number = len(numbers)
        colour = _colour(types.setdefault(entity.entity_type, len(types)))
        label = entity.name + (f"\n({entity.entity_type})" if entity.entity_type else "")
        tooltip = _quoted("\n".join(entity.observations()))
        yield f"  n{number} [label={_quoted(label)}, fillcolor={_quoted(colour)}, tooltip={tooltip}]\n".encode()
    for name in memory.missing:
        numbers[name] = number = len(numbers)
        yield f'  n{number} [label={_quoted(name)}, style="rounded,dashed"]\n'.encode()
    for relation in memory.relations:
        ends = f"n{numbers[relation.source]} -> n{numbers[relation.target]}"
        yield f"  {ends} [label={_quoted(relation.relation_type)}]\n".encode()
    yield b"}\n"


def _quoted(text: str) -> str:
    r"""A double-quoted string. In labels a backslash begins an escape (\N is the node's name), so it is doubled; `&`
    begins an HTML entity. A NUL would end the text, and other control characters break an SVG made from it.
    """
    clean = (
        _CONTROL.sub("\ufffd", text.replace("\t", " ")).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
    )
    return '"' + clean.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\\n") + '"'


def _colour(number: int) -> str:
    red, green, blue = colorsys.hls_to_rgb(number * _GOLDEN % 1.0, 0.85, 0.6)
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"
