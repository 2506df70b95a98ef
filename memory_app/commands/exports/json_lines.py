"""JSON and JSON Lines: the exact data, for other memory servers, for `import` and for other programs."""

from __future__ import annotations

from collections.abc import Iterator

from memory_app.commands.exports import Memory, Options
from memory_app.jsonl.records import new_entity, new_relation


def json_document(memory: Memory, _: Options) -> Iterator[bytes]:
    """`{"entities":[…],"relations":[…]}`, one entity or relation per line."""
    start = b'{"entities":['
    for items, end in (
        ((line.served() for line in memory.entities), b'],\n"relations":['),
        ((line.served() for line in memory.relations), b"]}\n"),
    ):
        between = b"\n"
        for item in items:
            yield start + between + item
            start, between = b"", b",\n"
        yield start + (b"\n" if between != b"\n" else b"") + end
        start = b""


def json_lines(memory: Memory, _: Options) -> Iterator[bytes]:
    """The lines of a memory file, with only our own records in it."""
    for entity in memory.entities:
        yield new_entity(entity.name, entity.entity_type, entity.observations()).raw + b"\n"
    for relation in memory.relations:
        yield new_relation(relation.source, relation.target, relation.relation_type).raw + b"\n"
