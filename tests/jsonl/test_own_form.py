"""The short way of reading a line in our own form: whatever it takes, it takes as the parser does."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_app.jsonl import document, lines
from memory_app.jsonl.records import EntityLine, Line, RelationLine

_NEVER = re.compile("^" + "()" * 7 + r"[^\n]*$", re.MULTILINE)  # as for lines in no form of ours
_TEXTS = st.text(st.sampled_from('ab",:[]{}\\/\u00e9\u2028\x00\x1f\x7f\ud83d\U0001f600 \r'), max_size=6)
_ENTITIES = st.builds(
    lambda name, kind, items: {"type": "entity", "name": name, "entityType": kind, "observations": items},
    _TEXTS,
    _TEXTS,
    st.lists(_TEXTS, max_size=3),
)
_RELATIONS = st.builds(
    lambda source, target, kind: {"type": "relation", "from": source, "to": target, "relationType": kind},
    _TEXTS,
    _TEXTS,
    _TEXTS,
)
_PIECES = st.sampled_from([b"", b'"', b"\\", b",", b" ", b"\x01", b'"name":"x",', b"\xff", b"null", b"\\u0041", b"]"])


def _read(line: bytes) -> list[object]:
    return [_said(piece) for piece in lines.read_line(line)]


def _said(piece: Line | bytes) -> object:
    if isinstance(piece, EntityLine):
        return piece.raw, piece.name, piece.entity_type, piece.form, piece.observations()
    if isinstance(piece, RelationLine):
        return piece.raw, piece.source, piece.target, piece.relation_type
    return piece


@given(st.one_of(_ENTITIES, _RELATIONS), st.booleans(), st.booleans(), st.integers(0, 90), st.integers(0, 2), _PIECES)
def test_a_line_says_the_same_read_either_way(
    value: object, ascii_only: bool, spaced: bool, place: int, left_out: int, put_in: bytes
) -> None:
    whole = json.dumps(value, ensure_ascii=ascii_only, separators=(", ", ": ") if spaced else (",", ":"))
    data = whole.encode("utf-8", "backslashreplace")
    for line in (data, data[:place] + put_in + data[place + left_out :]):
        _expect_the_same(line)


_ODD = {
    "control character in a name": b'{"type":"entity","name":"a\x01","entityType":"t","observations":["x"]}',
    "control character in an observation": b'{"type":"entity","name":"a","entityType":"t","observations":["\t"]}',
    "control character in a relation": b'{"type":"relation","from":"a\x00","to":"b","relationType":"r"}',
    "escape in a name": b'{"type":"entity","name":"\\n","entityType":"t","observations":["x"]}',
    "surrogate in an observation": b'{"type":"entity","name":"a","entityType":"t","observations":["\\ud83d"]}',
    "unknown escape": b'{"type":"entity","name":"a","entityType":"t","observations":["\\x"]}',
    "repeated key": b'{"type":"entity","name":"a","entityType":"t","observations":[],"name":"b"}',
    "comma too many": b'{"type":"entity","name":"a","entityType":"t","observations":["x",]}',
    "broken UTF-8": b'{"type":"entity","name":"a\xff","entityType":"t","observations":["x"]}',
    "quote in a word": b'{"type":"relation","from":"a","b","to":"b","relationType":"r"}',
}


@pytest.mark.parametrize("line", _ODD.values(), ids=list(_ODD))
def test_an_odd_line_says_the_same_read_either_way(line: bytes) -> None:
    _expect_the_same(line)


def _expect_the_same(line: bytes) -> None:
    found = _read(line)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_OWN_FORM", _NEVER)
        assert found == _read(line)


def _compact(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


_OTHERS = [*_ODD.values(), b"", b"\r", b"\xef\xbb\xbf", b"\xff", b"1,2", b"{}", b"[", b'{"type":"entity"']
_LINES = st.lists(
    st.one_of(_ENTITIES.map(_compact), _RELATIONS.map(_compact), st.sampled_from(_OTHERS)), min_size=1, max_size=8
)


@given(_LINES)
def test_lines_say_the_same_read_together_or_one_by_one(read: list[bytes]) -> None:
    together = [None if line is None else line.raw for line in lines.read_own_form(read, {})]
    assert together == [None if line is None else line.raw for one in read for line in lines.read_own_form([one], {})]
    found = _document(b"\n".join(read))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_OWN_FORM", _NEVER)
        assert found == _document(b"\n".join(read))


def _document(data: bytes) -> object:
    try:
        contents = document.read(data)
    except document.NotAMemory as error:
        return str(error)
    return contents._replace(lines=()), [_said(line) for line in contents.lines]


@pytest.mark.parametrize("items", [[], [""], ["a"], ['"', "\\", "\n", "/"], ["é", "\u2028"]], ids=str)
def test_what_a_parser_finds_is_found_without_one(items: list[str]) -> None:
    line = json.dumps({"type": "entity", "name": "n", "entityType": "t", "observations": items}, separators=(",", ":"))
    [entity] = lines.read_line(line.encode())
    assert isinstance(entity, EntityLine)
    assert entity.observations() == items
