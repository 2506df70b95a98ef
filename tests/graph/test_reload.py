"""A reload gives just what a fresh read of the same bytes gives, whatever another process did to the file."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_app.graph import blocks, queries, reload
from memory_app.graph.blocks import SPAN, Blocks
from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from memory_app.jsonl import lines as jsonl
from memory_app.jsonl.document import NotAMemory
from memory_app.jsonl.records import EntityLine, RelationLine, new_entity, new_relation

NAMES = ["Ann", "Bo", "Cy", "Dee", "É\u2028", ""]
WORDS = ["tea", "Tee", "café"]
JUNK = [b"junk", b'{"type":"hot_cache"}', b"\xff", b'{"type":"_aim"}', b'{"type":"entity","na']


def seen(graph: Graph) -> dict[str, Any]:
    """All that can be observed of a graph."""

    def entity(line: EntityLine) -> Any:
        return line.name, line.entity_type, line.observations(), line.served(), line.raw, [one.raw for one in line.also]

    def relation(line: RelationLine) -> Any:
        return line.served(), line.raw, [one.raw for one in line.also]

    found = queries.everything(graph)
    return {
        "entities": [entity(line) for line in found.entities],
        "relations": [relation(line) for line in found.relations],
        "by name": {name: entity(line) for name, line in graph.entities.items()},
        "touching": {name: [relation(line) for line in lines] for name, lines in graph.touching.items()},
        "opened": {
            name: [list(map(relation, part)) for part in queries.open_nodes(graph, [name])[1:]] for name in NAMES
        },
        "search": {
            word: [line.name for line in queries.strict_search(graph, word)] for word in [*WORDS, "tea ann", "e"]
        },
        "sizes": (graph.entity_lines.size, graph.relation_lines.size),
        "chunks": b"".join(graph.chunks()),
    }


def in_order(graph: Graph) -> bool:
    """Whether each line stands in the block that its place tells, in order, under one place."""
    both: tuple[Blocks[Any], ...] = (graph.entity_lines, graph.relation_lines)
    for each in both:
        orders = [line.order for line in each]
        if orders != sorted(set(orders)) or len(orders) != each.size or any(order >= each.end for order in orders):
            return False
        for number, block in enumerate(each.blocks):
            if any(line.order // blocks.SPAN != number for line in block.lines):
                return False
    return all(graph.entities[line.name].order <= line.order for line in graph.entity_lines)


entity_lines = st.builds(
    lambda name, texts: new_entity(name, "p", texts).raw,
    st.sampled_from(NAMES),
    st.lists(st.sampled_from(WORDS), max_size=2),
)
relation_lines = st.builds(
    lambda source, target, kind: new_relation(source, target, kind).raw,
    st.sampled_from(NAMES),
    st.sampled_from(NAMES),
    st.sampled_from(["knows", "tea"]),
)
odd_lines = st.sampled_from(
    [
        *JUNK,
        b"",
        b" ",
        jsonl.OWN_MARKER,
        new_entity("Ann", "p", []).raw + b"\r",
        new_entity("Ann", "p", []).raw + new_entity("Bo", "p", ["tea"]).raw,
        b'{"type":"entity","name":"Ann","entityType":"p","observations":[],"v":1.0}',
        b'{"_type":"relation","from":"Ann","to":"Bo","relation":"knows"}',
    ]
)
# Most files are tidy, because most changes have to take the fast way.
tidy = st.builds(
    lambda ones, others: ones + others,
    st.lists(st.integers(0, 40), unique=True, max_size=12).map(
        lambda ns: [new_entity(f"N{n}", "p", ["tea"]).raw for n in ns]
    ),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 40)), unique=True, max_size=8).map(
        lambda pairs: [new_relation(f"N{a}", f"N{b}", "knows").raw for a, b in pairs]
    ),
)
odd = st.lists(entity_lines | relation_lines | odd_lines, max_size=10)
edits = st.lists(
    st.tuples(
        st.sampled_from(["insert", "append", "delete", "replace", "move", "double", "swap", "crlf", "unended"]),
        st.integers(0, 30),
        st.integers(0, 30),
        entity_lines
        | relation_lines
        | st.integers(0, 60).map(lambda n: new_entity(f"N{n}", "q", ["Tee"]).raw)
        | odd_lines,
    ),
    min_size=1,
    max_size=4,
)


def edited(lines: list[bytes], edit: tuple[str, int, int, bytes]) -> list[bytes]:
    kind, one, other, line = edit
    lines = list(lines)
    at, to = one % (len(lines) + 1), other % (len(lines) + 1)
    if kind == "insert":
        lines.insert(at, line)
    elif kind == "append":
        lines.append(line)
    elif kind == "crlf":
        lines = [line + b"\r" for line in lines]
    elif at < len(lines):
        if kind == "delete":
            del lines[at]
        elif kind == "replace":
            lines[at] = line
        elif kind == "move":
            lines.insert(to, lines.pop(at))
        elif kind == "double":
            lines.insert(to, lines[at])
        elif kind == "swap" and to < len(lines):
            lines[at], lines[to] = lines[to], lines[at]
    return lines


def fresh(data: bytes) -> Graph | None:
    try:
        return Graph.of(document.read(data))
    except NotAMemory:
        return None


@pytest.mark.parametrize("span", [1, 3, SPAN])
@given(tidy | odd, st.lists(edits, min_size=1, max_size=3))
@settings(max_examples=300)
def test_a_reload_equals_a_fresh_read(
    span: int, lines: list[bytes], rounds: list[list[tuple[str, int, int, bytes]]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "SPAN", span)
        expect_fresh_reads(lines, rounds)


def expect_fresh_reads(lines: list[bytes], rounds: list[list[tuple[str, int, int, bytes]]]) -> None:
    graph = fresh(b"".join(line + b"\n" for line in lines))
    for edits in rounds:
        for edit in edits:
            lines = edited(lines, edit)
        data = b"\n".join(lines) + (b"" if edits[-1][0] == "unended" else b"\n")
        expected = fresh(data)
        if graph is None or expected is None:
            if graph is not None:
                with pytest.raises(NotAMemory):
                    reload.reload(graph, data)
            return
        before = seen(graph)
        after, contents = reload.reload(graph, data)
        assert seen(after) == seen(expected)
        assert in_order(after)
        assert seen(graph) == before
        if contents is not None:
            assert contents == document.read(data) or seen(Graph.of(contents)) == seen(expected)
        graph = after


_ANN, _BO, _KNOWS = new_entity("Ann", "p", []).raw, new_entity("Bo", "p", []).raw, new_relation("Ann", "Bo", "r").raw


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param([_ANN, _BO, _KNOWS], [_ANN, _BO, b"x" + _KNOWS], id="something stands before a record"),
        pytest.param([_ANN, _BO, b"junk"], [_ANN, _BO, b"xjunk"], id="something stands before a kept line"),
        pytest.param([_ANN, _ANN], [_ANN], id="one of two equal lines is gone"),
        pytest.param([_ANN], [_ANN, _ANN], id="a line is there twice"),
    ],
)
def test_a_block_that_ends_alike_is_not_the_same(
    before: list[bytes], after: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "SPAN", 1)
    data = b"".join(line + b"\n" for line in after)
    old, expected = fresh(b"".join(line + b"\n" for line in before)), fresh(data)
    assert old is not None and expected is not None
    assert seen(reload.reload(old, data)[0]) == seen(expected)


def lines_of(graph: Graph) -> list[bytes]:
    return b"".join(graph.chunks()).splitlines(keepends=True)


def large() -> Graph:
    lines = [new_entity(f"N{n}", "p", ["tea"]).raw for n in range(3 * SPAN)]
    lines += [new_relation(f"N{n}", f"N{n + 1}", "knows").raw for n in range(2 * SPAN)]
    graph = fresh(b"".join(line + b"\n" for line in lines))
    assert graph is not None
    return graph


def test_the_same_bytes_are_the_same_snapshot() -> None:
    graph = large()
    data = b"".join(graph.chunks())
    assert reload.reload(graph, data) == (graph, None)
    again, _ = reload.reload(graph, data.replace(b"\n", b"\r\n"))
    assert again is graph


@pytest.mark.parametrize(
    ("at", "gone", "new"),
    [
        (300, 1, [new_entity("N300", "p", ["tea", "more"]).raw]),
        (3 * SPAN, 0, [new_entity("New", "p", []).raw]),
        (5 * SPAN, 0, [new_relation("N1", "N9", "likes").raw]),
        (3 * SPAN - 1, 2, [new_entity("New", "p", []).raw]),
        (100, 600, []),
        (0, 5 * SPAN, []),
        (3 * SPAN + 10, 300, []),
    ],
)
def test_only_new_lines_are_parsed(monkeypatch: pytest.MonkeyPatch, at: int, gone: int, new: list[bytes]) -> None:
    graph = large()
    parsed: list[bytes] = []

    def counted(raw: bytes) -> Any:
        parsed.append(raw)
        return jsonl.read_line(raw)

    monkeypatch.setattr(reload, "read_line", counted)
    monkeypatch.setattr(document, "read", lambda *_: pytest.fail("the whole file was read again"))
    lines = lines_of(graph)
    lines[at : at + gone] = [raw + b"\n" for raw in new]
    after, contents = reload.reload(graph, b"".join(lines))
    monkeypatch.undo()
    assert contents is None
    assert parsed == new
    expected = fresh(b"".join(lines))
    assert expected is not None
    assert seen(after) == seen(expected)
    assert in_order(after)


def test_lines_that_stayed_are_the_same_objects() -> None:
    graph = large()
    lines = lines_of(graph)
    lines[5] = new_entity("N5", "q", []).raw + b"\n"
    after, _ = reload.reload(graph, b"".join(lines))
    assert after.entities["N6"] is graph.entities["N6"]
    assert after.entity_lines.blocks[1] is graph.entity_lines.blocks[1]
    assert json.loads(after.entities["N5"].served())["entityType"] == "q"
    lines = lines_of(graph)
    lines[-3] = new_relation("N5", "N6", "likes").raw + b"\n"
    after, _ = reload.reload(graph, b"".join(lines))
    assert after.relation_lines.blocks[0] is graph.relation_lines.blocks[0]
    assert after.touching["N6"][-1].relation_type == "likes"


def test_a_file_that_holds_nothing_but_unknown_lines_any_more_is_refused() -> None:
    graph = fresh(b"junk\n" + new_entity("Ann", "p", []).raw + b"\nmore junk\n")
    assert graph is not None
    with pytest.raises(NotAMemory):
        reload.reload(graph, b"junk\nmore junk\n")
