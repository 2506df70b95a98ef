"""GraphML: a node for each entity, an edge for each relation, the texts as data.

Observations are in one text, one per line, as graph programs show it. Characters that XML cannot contain are replaced
by U+FFFD.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final
from xml.sax.saxutils import escape

from memory_app.commands.exports import Memory, Options

_IMPOSSIBLE: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_HEAD: Final = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
  xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">
  <key id="label" for="node" attr.name="label" attr.type="string"/>
  <key id="type" for="node" attr.name="entityType" attr.type="string"/>
  <key id="observations" for="node" attr.name="observations" attr.type="string"/>
  <key id="missing" for="node" attr.name="missing" attr.type="boolean"><default>false</default></key>
  <key id="relation" for="edge" attr.name="label" attr.type="string"/>
  <graph id="memory" edgedefault="directed">
"""


def document(memory: Memory, _: Options) -> Iterator[bytes]:
    """The document. `missing` nodes are ends of relations that are not entities."""
    yield _HEAD.encode()
    numbers: dict[str, int] = {}
    for entity in memory.entities:
        numbers[entity.name] = number = len(numbers)
        yield _node(number, entity.name, entity.entity_type, entity.observations(), missing=False)
    for name in memory.missing:
        numbers[name] = number = len(numbers)
        yield _node(number, name, "", (), missing=True)
    for number, relation in enumerate(memory.relations):
        ends = f'source="n{numbers[relation.source]}" target="n{numbers[relation.target]}"'
        label = _data("relation", relation.relation_type)
        yield f'    <edge id="e{number}" {ends}>\n{label}    </edge>\n'.encode()
    yield b"  </graph>\n</graphml>\n"


def _node(number: int, name: str, entity_type: str, observations: Sequence[str], *, missing: bool) -> bytes:
    data = _data("label", name) + _data("type", entity_type)
    if observations:
        data += _data("observations", "\n".join(observations))
    if missing:
        data += _data("missing", "true")
    return f'    <node id="n{number}">\n{data}    </node>\n'.encode()


def _data(key: str, text: str) -> str:
    clean = escape(_IMPOSSIBLE.sub("\ufffd", text), {"\r": "&#13;"})
    return f'      <data key="{key}">{clean}</data>\n'
