"""Lines and their records: what a line holds, and edits that splice."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_app.jsonl.lines import from_value, read_line, split_lines, with_observations, without_observations
from memory_app.jsonl.parser import parse_all
from memory_app.jsonl.records import EntityLine, RelationLine, record

ANN = b'{"type":"entity","name":"Ann","entityType":"p","observations":[]}'
BO = b'{"type":"entity","name":"Bo","entityType":"p","observations":[]}'
KNOWS = b'{"type":"relation","from":"Ann","to":"Bo","relationType":"knows"}'
UNKNOWN = b'{"type":"hot_cache","value":1}'


def pieces(line: bytes) -> list[bytes]:
    return [piece if isinstance(piece, bytes) else piece.raw for piece in read_line(line)]


def only_entity(raw: str | bytes) -> EntityLine:
    (line,) = read_line(raw.encode() if isinstance(raw, str) else raw)
    assert isinstance(line, EntityLine)
    return line


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (ANN + BO, [ANN, BO]),
        (ANN + b" , \t" + KNOWS + b",\r", [ANN, KNOWS]),
        (b"\xef\xbb\xbf" + ANN, [ANN]),
        (b"  " + ANN + b"  \r", [ANN]),
        (ANN + UNKNOWN + BO, [ANN, UNKNOWN, BO]),
        (UNKNOWN + ANN, [UNKNOWN, ANN]),
        (ANN + b'{"type":"entity","na', [ANN, b'{"type":"entity","na']),
        (ANN + b"\0\0", [ANN, b"\0\0"]),
        (ANN + " {é".encode(), [ANN, "{é".encode()]),
        (ANN.replace(b"Ann", "Ä".encode()) + BO, [ANN.replace(b"Ann", "Ä".encode()), BO]),
    ],
)
def test_each_record_of_a_line_has_its_own_bytes(line: bytes, expected: list[bytes]) -> None:
    assert pieces(line) == expected


@pytest.mark.parametrize("line", [b"", b" \t\r", b",", b"\xef\xbb\xbf", b" ,\r"])
def test_a_blank_line_holds_nothing(line: bytes) -> None:
    assert read_line(line) == []


@pytest.mark.parametrize(
    "line",
    [
        UNKNOWN + b" \r",
        UNKNOWN + UNKNOWN,
        b"junk",
        b"junk" + ANN,
        b'{"type":"entity","name":"\xff","entityType":"p","observations":[]}',
        ANN.replace(b"[]", b'["x"],"n":NaN'),
        ANN.replace(b"[]", b'[],"name":"Bo"'),
        ANN.replace(b"[]", b'[],"n":1e999'),
        ANN.replace(b"[]", b'[],"n":' + b"9" * 5000),
        ANN.replace(b"[]", b"[" * 3000 + b"]" * 3000),
        ANN.replace(b"[]", b"[" * 300 + b"]" * 300),
        ANN[:-1],
        b"null",
        b" 5",
    ],
    ids=range(14),
)
def test_a_line_without_a_record_is_kept_to_the_byte(line: bytes) -> None:
    assert read_line(line) == [line]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\u00a0", "\ufeff"])
def test_a_name_may_hold_what_other_programs_take_for_a_line_end(separator: str) -> None:
    if separator < " ":
        raw = json.dumps({"type": "entity", "name": f"a{separator}b", "entityType": "", "observations": []})
    else:
        raw = '{"type":"entity","name":"a' + separator + 'b","entityType":"","observations":[]}'
    assert only_entity(raw).name == f"a{separator}b"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"type":"entity","name":"A","observations":[]}', '{"type":"entity","name":"A","observations":["n"]}'),
        (
            '{"type":"entity","name":"A","observations":[ "x" , {"text":"y","v":1.50} ],"k":1e2}',
            '{"type":"entity","name":"A","observations":[ "x" , {"text":"y","v":1.50},"n"],"k":1e2}',
        ),
        (
            '{"type":"entity","name":"A","x":{"observations":["no"]},"observations":["x"]}',
            '{"type":"entity","name":"A","x":{"observations":["no"]},"observations":["x","n"]}',
        ),
        ('{"type":"entity","name":"A"}', '{"type":"entity","name":"A","observations":["n"]}'),
        ('{"type":"entity","name":"A" }', '{"type":"entity","name":"A","observations":["n"]}'),
        ('{"type":"entity","name":"A","observations":null}', '{"type":"entity","name":"A","observations":["n"]}'),
        (
            '{"type":"entity","name":"A","observations":"x","k":1}',
            '{"type":"entity","name":"A","observations":["x","n"],"k":1}',
        ),
        (
            '{"type":"entity","name":"\\ud800","observations":["\\udfff"]}',
            '{"type":"entity","name":"\\ud800","observations":["\\udfff","n"]}',
        ),
        (
            '{"type":"entity","name":"A","observ\\u0061tions":["x"]}',
            '{"type":"entity","name":"A","observ\\u0061tions":["x","n"]}',
        ),
        (
            '{"type":"entity","name":"A}","observations":[" ]"]}',
            '{"type":"entity","name":"A}","observations":[" ]","n"]}',
        ),
    ],
)
def test_adding_splices_the_new_items_and_nothing_else(before: str, after: str) -> None:
    line = only_entity(before)
    assert with_observations(line, ["n"]).raw.decode() == after
    assert with_observations(line, ["n"]).observations() == [*line.observations(), "n"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '{"type":"entity","name":"A","observations":["x","y","x"],"k":1.0}',
            '{"type":"entity","name":"A","observations":["y"],"k":1.0}',
        ),
        (
            '{"type":"entity","name":"A","observations":[ 1.50 , "x" , "\\u00e9" , null ] }',
            '{"type":"entity","name":"A","observations":[1.50,"\\u00e9",null] }',
        ),
        (
            '{"type":"entity","name":"A","observations":[{"text":"x","at":5}, {"text":"y"}]}',
            '{"type":"entity","name":"A","observations":[{"text":"y"}]}',
        ),
        ('{"type":"entity","name":"A","observations":"x"}', '{"type":"entity","name":"A","observations":[]}'),
        (
            '{"type":"entity","name":"A","x":{"observations":["x"]},"observations":["x"]}',
            '{"type":"entity","name":"A","x":{"observations":["x"]},"observations":[]}',
        ),
    ],
)
def test_deleting_takes_the_items_out_and_leaves_the_form_of_all_others(before: str, after: str) -> None:
    assert without_observations(only_entity(before), {"x"}).raw.decode() == after


@pytest.mark.parametrize(
    "raw",
    [
        '{"type":"entity","name":"A","observations":[ "y" , "z" ] }',
        '{"type":"entity","name":"A","observations":"y"}',
        '{"type":"entity","name":"A"}',
        '{"type":"entity","name":"A","observations":[ ]}',
    ],
)
def test_a_record_that_holds_no_deleted_item_keeps_its_bytes(raw: str) -> None:
    assert without_observations(only_entity(raw), {"x"}).raw.decode() == raw


def test_an_edited_line_stays_at_its_place() -> None:
    line = only_entity(ANN).placed(7)
    assert with_observations(line, ["x"]).order == 7
    assert without_observations(with_observations(line, ["x"]), {"x"}).order == 7


@pytest.mark.parametrize(
    ("value", "kind", "raw"),
    [
        (
            {"name": "Ann", "type": "person", "observations": ["x"], "createdAt": "t", "gone": None},
            "entity",
            '{"type":"entity","name":"Ann","entityType":"person","observations":["x"],"createdAt":"t","gone":null}',
        ),
        (
            {"name": "Ann", "entity_type": "person", "observations": [{"text": "x", "at": 5}, None]},
            "entity",
            '{"type":"entity","name":"Ann","entityType":"person","observations":[{"text":"x","at":5},null]}',
        ),
        ({"name": "Ann"}, "entity", '{"type":"entity","name":"Ann","entityType":"","observations":[]}'),
        (
            {"name": "a\ud800", "entityType": "\udfff", "observations": "\ud800"},
            "entity",
            '{"type":"entity","name":"a\\ud800","entityType":"\\udfff","observations":["\\ud800"]}',
        ),
        (
            {"from": "a", "to": "b", "type": "knows", "weight": 0.4},
            "relation",
            '{"type":"relation","from":"a","to":"b","relationType":"knows","weight":0.4}',
        ),
        (
            {"source": "a", "target": "b", "relation": "knows"},
            "relation",
            '{"type":"relation","from":"a","to":"b","relationType":"knows"}',
        ),
        (
            {"from": "a\ud800", "to": "b", "relationType": "knows", "source": "chat 7", "relation": {"since": 1}},
            "relation",
            (
                '{"type":"relation","from":"a\\ud800","to":"b","relationType":"knows","source":"chat 7",'
                '"relation":{"since":1}}'
            ),
        ),
        (
            {"type": "relation", "from": "a", "to": "b", "relationType": "r"},
            None,
            '{"type":"relation","from":"a","to":"b","relationType":"r"}',
        ),
    ],
)
def test_a_record_of_another_shape_is_taken_over_with_all_that_it_holds(value: Any, kind: str | None, raw: str) -> None:
    made = from_value(value, kind)
    assert isinstance(made, EntityLine | RelationLine)
    assert made.raw.decode() == raw


@pytest.mark.parametrize("value", [{"id": 1}, "text", None, [1, 2.5], {"name": None}])
def test_what_is_no_record_is_taken_over_as_its_json(value: Any) -> None:
    made = from_value(value, "entity")
    assert isinstance(made, bytes)
    assert json.loads(made) == value


def test_a_record_that_would_come_out_nested_too_deeply_is_kept_as_its_json() -> None:
    deep: Any = "x"
    for _ in range(197):
        deep = {"x": deep}
    for wrapped in (deep, {"x": deep}, {"x": {"x": deep}}, [deep]):
        made = from_value({"name": "Ann", "observations": wrapped}, "entity")
        assert isinstance(made, bytes | EntityLine)


texts = st.text(st.characters(codec="utf-8") | st.sampled_from('"\\]}{[,:'), max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from([1.5, 1e22]) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def entities(draw: st.DrawFn) -> str:
    record = draw(st.dictionaries(texts, values, max_size=3))
    record |= {"name": "A", "type": "entity", "observations": draw(values | st.lists(values, max_size=5))}
    keys = draw(st.permutations(sorted(record)))
    spaced, ascii_only = draw(st.booleans()), draw(st.booleans())
    return json.dumps(
        {key: record[key] for key in keys},
        separators=(" , ", " : ") if spaced else (",", ":"),
        ensure_ascii=ascii_only,
    )


odd_texts = st.text(st.sampled_from('ab"\\/é\x00\x1f\x7f\n\r\t\u2028\ufeff\U0001f600'), max_size=4)
cuts = st.tuples(
    st.integers(0, 120), st.sampled_from(["", '"', "\\", ",", "]", "}", " ", "\x1f", "\\u00e9", "\\ud800", "\\x"])
)


@given(st.lists(odd_texts, min_size=3, max_size=6), st.booleans(), st.booleans(), st.none() | cuts)
@settings(max_examples=400)
def test_our_own_form_is_read_as_the_parser_reads_it(
    words: list[str], is_entity: bool, ascii_only: bool, cut: tuple[int, str] | None
) -> None:
    """Also when one character of it was exchanged, which makes most of them unreadable."""
    first, second, *others = words
    value: dict[str, Any] = {"type": "entity", "name": first, "entityType": second, "observations": others}
    if not is_entity:
        value = {"type": "relation", "from": first, "to": second, "relationType": others[0]}
    text = json.dumps(value, ensure_ascii=ascii_only, separators=(",", ":"))
    if cut is not None:
        place, put = cut[0] % (len(text) - 1), cut[1]
        text = text[:place] + put + text[place + 1 :]
    found, *more = read_line(text.encode()) or [b""]
    try:
        expected = record(parse_all(text), text.encode())
    except ValueError:
        expected = None
    if expected is None:
        assert more or found == text.encode()
        return
    assert not more and not isinstance(found, bytes)
    assert type(found) is type(expected) and found.raw == text.encode()
    assert found.served() == expected.served()
    if isinstance(found, EntityLine) and isinstance(expected, EntityLine):
        assert (found.form, found.name, found.entity_type) == (expected.form, expected.name, expected.entity_type)
        assert found.observations() == json.loads(found.served())["observations"]


@given(entities(), st.lists(texts, min_size=1, max_size=3))
@settings(max_examples=150)
def test_an_edit_changes_the_observations_and_no_other_key(raw: str, items: list[str]) -> None:
    line = only_entity(raw)
    added = with_observations(line, items)
    assert added.observations() == line.observations() + items
    taken = without_observations(added, set(items))
    assert taken.observations() == [text for text in line.observations() if text not in items]
    others = [{k: v for k, v in json.loads(one.raw).items() if k != "observations"} for one in (line, added, taken)]
    assert others[0] == others[1] == others[2]
    assert only_entity(taken.raw).raw == taken.raw


@given(st.lists(st.sampled_from([b"", b"a", b"\r", b"x" * 70_000, b"y" * 65_536]), max_size=6), st.booleans())
def test_lines_come_as_split_gives_them_and_never_many_at_once(lines: list[bytes], ended: bool) -> None:
    data = b"\n".join(lines) + b"\n" * ended
    pieces = list(split_lines(data))
    assert [line for piece in pieces for line in piece] == data.split(b"\n")
    assert all(sum(map(len, piece[:-1])) <= 65_536 for piece in pieces)
