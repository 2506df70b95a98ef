"""Whole files: which lines are served, which are kept and where, which shapes are understood, what is refused."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memory_app.graph import changes
from memory_app.graph.changes import NewEntity
from memory_app.graph.graph import Graph
from memory_app.jsonl import document as shapes
from memory_app.jsonl.document import Contents, NotAMemory
from memory_app.jsonl.lines import OWN_MARKER
from memory_app.jsonl.records import EntityLine

ANN = b'{"type":"entity","name":"Ann","entityType":"p","observations":["likes tea"]}'
BO = b'{"type":"entity","name":"Bo","entityType":"p","observations":[]}'
KNOWS = b'{"type":"relation","from":"Ann","to":"Bo","relationType":"knows"}'
MARKER = b'{"type":"_aim","source":"mcp-knowledge-graph"}'
NEW = b'{"type":"entity","name":"New","entityType":"t","observations":[]}'
DOCUMENT: dict[str, list[dict[str, Any]]] = {
    "entities": [{"name": "Ann", "entityType": "p", "observations": ["likes tea"]}],
    "relations": [{"from": "Ann", "to": "Ann", "relationType": "knows"}],
}
DOCUMENT_IN_OURS = ANN + b"\n" + b'{"type":"relation","from":"Ann","to":"Ann","relationType":"knows"}\n'


def rewritten(data: bytes) -> bytes:
    """The file after a write that changes nothing in it."""
    return b"".join(Graph.of(shapes.read(data)).chunks())


def with_another(data: bytes) -> bytes:
    """The file after a write about something else."""
    graph, _, _ = changes.create_entities(Graph.of(shapes.read(data)), [NewEntity("New", "t", ())])
    return b"".join(graph.chunks())


def names(contents: Contents) -> list[str]:
    return [line.name if isinstance(line, EntityLine) else f"{line.source}>{line.target}" for line in contents.lines]


def lines(*parts: bytes) -> bytes:
    return b"".join(part + b"\n" for part in parts)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (lines(ANN, KNOWS), lines(ANN, KNOWS)),
        (ANN, lines(ANN)),
        (ANN + BO, lines(ANN, BO)),
        (lines(KNOWS, ANN), lines(ANN, KNOWS)),
        (ANN + b"\r\n\r\n" + BO + b"\r\n", lines(ANN, BO)),
        (b"\xef\xbb\xbf" + lines(ANN), lines(ANN)),
        (lines(b"", ANN, b"  ", b",", BO + b","), lines(ANN, BO)),
        (lines(MARKER, ANN), lines(MARKER, ANN)),
        (b"\xef\xbb\xbf" + lines(MARKER, ANN), lines(MARKER, ANN)),
        (lines(ANN, b"junk \r", KNOWS, b"\xff\xfe", BO), lines(ANN, BO, KNOWS, b"junk \r", b"\xff\xfe")),
        (lines(b"one", b"two", ANN, b"three"), lines(b"one", b"two", ANN, b"three")),
        (lines(ANN) + b'{"type":"entity","name":"Bo","entityTy', lines(ANN, b'{"type":"entity","name":"Bo","entityTy')),
        (lines(ANN, ANN, ANN.replace(b"tea", b"pie")), lines(ANN, ANN, ANN.replace(b"tea", b"pie"))),
        (lines(KNOWS, KNOWS), lines(KNOWS, KNOWS)),
        (b"", b""),
        (b"\n \r\n\t", b""),
        (b"[]", b""),
        (b"{}", b""),
        (b"\xef\xbb\xbf", b""),
        (lines(ANN + b'{"type":"entity","name":"a\\ud800"}'), lines(ANN, b'{"type":"entity","name":"a\\ud800"}')),
    ],
)
def test_a_write_brings_lines_into_order_and_loses_none(before: bytes, after: bytes) -> None:
    assert rewritten(before) == after
    assert rewritten(after) == after


RECORD_SHAPES = [
    b'{"type":"entity","name":"Ann","entityType":"p","observations":[1.50,{"text":"x","at":1e2}],"version":3.0}',
    b'{ "type" : "entity" , "name" : "Ann" , "observations" : [ ] }',
    b'{"_type":"entity","name":"\\u0041nn","observations":["\\ud800"],"_savedAt":null}',
    b'{"type":"relation","relation":"knows","from":"A","to":"B","weight":0.40}',
    '{"type":"entity","name":"a\u2028b\u0085c\x7f","entityType":"","observations":[]}'.encode(),
    b'{"type":"entity","name":"a\\u000bb\\fc","entityType":"","observations":[]}',
    b'{"type":"entity","name":"A","entityType":"p","observations":[],"n":12345678901234567890123}',
    b'{"type":"entity","name":"A","observations":["x"],"deep":' + b"[" * 150 + b"]" * 150 + b"}",
]
UNREADABLE = [
    ANN.replace(b"[", b'[],"observations":['),
    ANN.replace(b'"likes tea"', b"NaN"),
    ANN.replace(b'"likes tea"', b"1e999"),
    ANN.replace(b'"likes tea"', b"9" * 5000),
    ANN.replace(b'"likes tea"', b"[" * 4000 + b"]" * 4000),
    ANN.replace(b"tea", b"t\xe9a"),
    b'{"type":"hot_cache","items":[1.0,2]}',
    b'{"type":"entity","entityType":"nameless"}',
    b"# a comment",
    b"\0\0\0\0",
    b"null",
    b"{\0\0\0\0\0\0\0",
    b"\0{torn",
    b"\xff\xfetorn",
]


@pytest.mark.parametrize("record", RECORD_SHAPES, ids=range(len(RECORD_SHAPES)))
def test_an_untouched_record_keeps_its_bytes(record: bytes) -> None:
    assert with_another(lines(record)) == (lines(NEW, record) if b"relation" in record else lines(record, NEW))


@pytest.mark.parametrize("line", UNREADABLE, ids=range(len(UNREADABLE)))
def test_an_unreadable_line_is_kept_at_its_side_of_the_records(line: bytes) -> None:
    contents = shapes.read(lines(line, ANN, line, BO))
    assert (contents.head, names(contents), contents.tail, contents.foreign) == ((line,), ["Ann", "Bo"], (line,), False)
    assert with_another(lines(line, ANN, line, BO)) == lines(line, ANN, BO, NEW, line)


def test_what_was_tolerated_is_told_with_line_numbers_and_without_contents() -> None:
    contents = shapes.read(lines(b"secret", ANN + BO, *[b"secret"] * 6, ANN))
    assert tuple(map(str, contents.notices)) == (
        "7 lines (1, 3, 4, 5, 6 and 2 more): each is no record that can be read; it is kept as it is",
        "line 2 holds more than one record; each is read",
    )
    assert shapes.read(lines(ANN, BO)).notices == ()


def test_another_shape_is_told_with_counts_and_without_contents() -> None:
    document = {"entities": [{"name": "secret", "observations": ["x"]}], "version": 1}
    assert tuple(map(str, shapes.read(json.dumps(document).encode()).notices)) == (
        "it is not in lines; records read from its other shape: 1; items that are no records and are kept: 1",
    )


PRETTY = json.dumps(DOCUMENT, indent=2).encode()
SHORT = [{"type": "entity", **DOCUMENT["entities"][0]}, {"type": "relation", **DOCUMENT["relations"][0]}]


@pytest.mark.parametrize(
    "data",
    [
        json.dumps(DOCUMENT).encode(),
        PRETTY,
        PRETTY.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + PRETTY,
        json.dumps(SHORT).encode(),
        json.dumps(SHORT, indent=2).encode(),
        b"[\n" + b",\n".join(json.dumps(item).encode() for item in SHORT) + b"\n]\n",
        b"\n".join(json.dumps(item, indent=1).encode() for item in SHORT),
        b",\n".join(json.dumps(item, indent=1).encode() for item in SHORT),
        json.dumps([DOCUMENT]).encode(),
        json.dumps({"graph": DOCUMENT}, indent=1).encode(),
        json.dumps({"memory": DOCUMENT}).encode(),
        json.dumps(
            {
                "entities": {"Ann": {"entityType": "p", "observations": ["likes tea"]}},
                "relations": DOCUMENT["relations"],
            }
        ).encode(),
        json.dumps(
            {
                "entities": [{"name": "Ann", "type": "p", "observations": ["likes tea"]}],
                "relations": [{"source": "Ann", "target": "Ann", "type": "knows"}],
            }
        ).encode(),
        b'{"entities":[\n'
        + json.dumps(DOCUMENT["entities"][0]).encode()
        + b'\n],"relations":[\n'
        + json.dumps(DOCUMENT["relations"][0]).encode()
        + b"\n]}",
        b'{"entities":[\n{"name":"Ann","type":"p","observations":["likes tea"]}\n],"relations":[\n'
        + json.dumps(DOCUMENT["relations"][0]).encode()
        + b"\n]}",
        DOCUMENT_IN_OURS.decode().encode("utf-16"),
        DOCUMENT_IN_OURS.decode().encode("utf-16-le"),
        DOCUMENT_IN_OURS.decode().encode("utf-16-be"),
        "\ufeff".encode("utf-16-be") + DOCUMENT_IN_OURS.decode().encode("utf-16-be"),
        DOCUMENT_IN_OURS.decode().encode("utf-32"),
        PRETTY.decode().encode("utf-16"),
        json.dumps(SHORT).encode("utf-16-le"),
    ],
    ids=range(23),
)
def test_another_shape_is_understood_and_known_as_foreign(data: bytes) -> None:
    contents = shapes.read(data)
    assert contents.foreign
    assert rewritten(data) == DOCUMENT_IN_OURS
    assert shapes.reads_as_memory(data)


@pytest.mark.parametrize(
    ("document", "kept"),
    [
        ({**DOCUMENT, "version": 2, "meta": {"by": "x"}}, {"version": 2, "meta": {"by": "x"}}),
        ({"graph": DOCUMENT, "saved": None}, {"saved": None}),
        ({**DOCUMENT, "entities": [*DOCUMENT["entities"], {"id": 7}]}, {"id": 7}),
        ({"entities": DOCUMENT["entities"], "relations": "none"}, "none"),
        ({"entities": DOCUMENT["entities"], "relations": 5}, 5),
        ([*SHORT, "note"], "note"),
    ],
)
def test_what_another_shape_holds_beside_its_records_is_kept(document: Any, kept: Any) -> None:
    contents = shapes.read(json.dumps(document).encode())
    assert contents.foreign
    assert names(contents)[0] == "Ann"
    assert [json.loads(line) for line in contents.tail] == [kept]


@pytest.mark.parametrize("data", [b'{"entities":[],"relations":[]}', b'{"graph":{"entities":[]}}', b'{"entities":{}}'])
def test_an_empty_document_is_an_empty_memory(data: bytes) -> None:
    contents = shapes.read(data)
    assert (contents.lines, contents.tail, contents.foreign) == ((), (), True)


@pytest.mark.parametrize("data", [b"", b" \n", b"[]", b"{}", b"[]\n", b"\xef\xbb\xbf{}"])
def test_an_empty_file_is_an_empty_memory_that_needs_no_backup(data: bytes) -> None:
    contents = shapes.read(data)
    assert (contents.lines, contents.tail, contents.foreign, contents.notices) == ((), (), False, ())


def test_one_record_alone_is_not_taken_for_another_shape() -> None:
    assert not shapes.read(ANN).foreign


@pytest.mark.parametrize(
    "data",
    [
        b'{"name":"memory","version":"1.0.0","dependencies":{}}',
        json.dumps({"name": "memory", "type": "module", "entities": 5}, indent=2).encode(),
        b"2026-01-01 12:00:00 INFO started\n2026-01-01 12:00:01 INFO stopped\n",
        b'{"level":"info","msg":"started"}\n{"level":"info","msg":"stopped"}\n',
        b'{"entities":[{"id":1}],"relations":[]}',
        b'[{"id":1},{"id":2}]',
        b"[1,2,3]",
        b'"text"',
        b"null",
        b"# Memory\n\nSome notes\n",
        b"\0" * 64,
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        bytes(range(256)),
        b"PK\x03\x04",
        b"name,type\nAnn,p\n",
        b"\xff\xfe" + b"odd",
        "plain words".encode("utf-16"),
        b"[" * 900 + b"]" * 900,
        b"[" * 100_000,
        b'{"a":' * 3000,
        b"\x0b\x0c",
        b'{"type":"other"}\n' + b'{"type":"',
    ],
    ids=range(22),
)
def test_something_else_is_refused(data: bytes) -> None:
    with pytest.raises(NotAMemory):
        shapes.read(data)
    assert not shapes.reads_as_memory(data)


def test_a_file_of_nul_bytes_alone_is_told_as_that() -> None:
    with pytest.raises(NotAMemory, match="nothing but NUL bytes"):
        shapes.read(b"\0" * 5000)


@pytest.mark.parametrize(
    "data",
    [
        *(ANN[:length] for length in range(8, len(ANN))),
        b'{"_type":"relation","fro',
        b'\xef\xbb\xbf{"type": "entity", "na',
        MARKER,
        b'{"type":"_aim"',
        b'{ "_type" : "_aim" }\n',
        OWN_MARKER + b"\n",
        lines(b"junk", OWN_MARKER),
    ],
)
def test_the_beginning_of_a_record_or_a_marker_is_a_memory(data: bytes) -> None:
    contents = shapes.read(data)
    assert contents.lines == ()
    assert with_another(data).endswith(lines(NEW))


def test_kept_lines_alone_are_still_known_as_a_memory() -> None:
    graph = Graph.of(shapes.read(lines(b"before", ANN, b"after")))
    graph, _ = changes.delete_entities(graph, ["Ann"])
    data = b"".join(graph.chunks())
    assert data == lines(b"before", OWN_MARKER, b"after")
    assert rewritten(data) == data
    assert with_another(data) == lines(b"before", NEW, b"after")
    for alone in (lines(b"before", ANN), lines(ANN, b"after")):
        graph, _ = changes.delete_entities(Graph.of(shapes.read(alone)), ["Ann"])
        assert with_another(b"".join(graph.chunks())) == with_another(alone).replace(ANN + b"\n", b"")


def test_known_lines_are_not_parsed_again() -> None:
    known = {line.raw: line for line in shapes.read(lines(ANN, KNOWS)).lines}
    again = shapes.read(lines(KNOWS, b"junk", ANN), known)
    assert list(again.lines) == [known[KNOWS], known[ANN]]
    assert again.lines[0] is known[KNOWS]


def characters(data: bytes) -> Counter[int]:
    """How often each byte is there, without those that stand between records."""
    return Counter(data.translate(None, b" \t\r\n,\xef\xbb\xbf"))


fragments = st.sampled_from(
    [
        ANN, BO, KNOWS, MARKER, OWN_MARKER, *RECORD_SHAPES, *UNREADABLE[:3], *UNREADABLE[5:],
        ANN[:30], b"\n", b"\r\n", b"\xef\xbb\xbf", b",", b" ", b"[", b"]", b"{", b"}", b'"', b"junk", b"\0", b"\xff",
        b"{\n", b"1", b"-", b".5", "\u2028".encode(), b'{"entities":[', b'],"relations":[', b'{"x":1}', b"[]", b"{}",
    ]
)  # fmt: skip
files = st.lists(fragments, max_size=9).map(b"".join) | st.binary(max_size=40)


def test_what_stands_beside_the_parts_of_a_document_is_read_as_it_is_after_a_rewrite() -> None:
    contents = shapes.read(b'{"_type":"entity","name":"Bob",\n"relations":[{"from":"a","to":"b","relationType":"r"}]}')
    again = shapes.read(b"\n".join(line.raw for line in contents.lines))
    assert contents.foreign and not contents.tail
    assert [type(line) for line in again.lines] == [type(line) for line in contents.lines]


@pytest.mark.parametrize("line", [ANN, ANN.replace(b'"type":"entity",', b"")], ids=["whole", "without type"])
@pytest.mark.parametrize("end", [b"", b" "], ids=["one length", "the other"])
def test_lines_of_ours_below_lines_of_utf_16_are_read_and_the_others_kept(line: bytes, end: bytes) -> None:
    wide = ANN.decode().encode("utf-16")
    contents = shapes.read(wide + b"\n" + line + end)
    assert not contents.foreign
    assert [read.raw for read in contents.lines] == [line]
    assert contents.head == (wide,)


@given(files)
@settings(max_examples=400)
@example(b"\xef\xbb\xbf\xef\xbb\xbfjunk\n" + ANN)
@example(b"\n\xef\xbb\xbfjunk\n" + ANN)
@example(b"\xef\xbb\xbf\xff\n" + ANN)
@example(b"\0" + OWN_MARKER)
@example(lines(b"junk", OWN_MARKER, b"junk"))
def test_any_bytes_are_read_without_a_crash_and_survive_a_write_about_something_else(data: bytes) -> None:
    try:
        contents = shapes.read(data)
    except NotAMemory:
        return
    after = with_another(data)
    assert with_another(after) == after
    assert rewritten(after) == after
    once = rewritten(data)
    assert rewritten(once) == once
    if contents.foreign:
        return  # backed up as it is
    remaining = after
    for piece in (*contents.head, *(line.raw for line in contents.lines), *contents.tail):
        assert piece in remaining
    if contents.head or contents.lines or contents.tail:
        assert not characters(data.replace(OWN_MARKER, b"")) - characters(after)
    assert names(shapes.read(after))[: len(contents.lines) + 1].count("New") == 1


def test_a_file_that_is_cut_off_anywhere_is_still_the_memory_that_it_was() -> None:
    data = lines(MARKER, ANN, "{é}".encode(), *RECORD_SHAPES[:3], KNOWS)
    for length in range(len(b'{"type":"_aim"'), len(data)):
        assert rewritten(rewritten(data[:length])) == rewritten(data[:length])
        assert names(shapes.read(data[:length])) == names(shapes.read(data))[: len(shapes.read(data[:length]).lines)]
