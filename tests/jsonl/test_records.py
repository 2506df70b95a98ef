"""What one record says, whatever its keys, and the bytes that say it on the wire."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memory_app.jsonl.parser import parse_all
from memory_app.jsonl.records import (
    EntityLine,
    Form,
    Line,
    RelationLine,
    new_entity,
    new_relation,
    observation_text,
    record,
)
from memory_app.text import clean


def read(text: str) -> Line | None:
    return record(parse_all(text), text.encode())


def entity(text: str) -> tuple[str, str, list[str]]:
    line = read(text)
    assert isinstance(line, EntityLine)
    return line.name, line.entity_type, line.observations()


def relation(text: str) -> tuple[str, str, str]:
    line = read(text)
    assert isinstance(line, RelationLine)
    return line.source, line.target, line.relation_type


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"type":"entity","name":"Ann","entityType":"p","observations":["x"]}', ("Ann", "p", ["x"])),
        ('{"observations":["x"],"name":"Ann","entityType":"p","type":"entity"}', ("Ann", "p", ["x"])),
        ('{"_type":"entity","name":"Ann","entityType":"p","observations":[],"_savedAt":"t"}', ("Ann", "p", [])),
        ('{"type":"entity","name":"Ann","entity_type":"p","observations":[]}', ("Ann", "p", [])),
        ('{"type":"entity","name":"Ann"}', ("Ann", "", [])),
        ('{"type":"entity","name":"Ann","entityType":null,"observations":null}', ("Ann", "", [])),
        ('{"type":"entity","name":"Ann","observations":[null,"x"]}', ("Ann", "", ["x"])),
        ('{"type":"entity","name":"Ann","observations":"x"}', ("Ann", "", ["x"])),
        ('{"type":"entity","name":"Ann","observations":[1,2.50,true]}', ("Ann", "", ["1", "2.5", "true"])),
        ('{"type":"entity","name":5,"entityType":6,"observations":[]}', ("5", "6", [])),
        ('{"type":"entity","name":"","entityType":"","observations":[""]}', ("", "", [""])),
        ('{"name":"Ann","entityType":"p"}', ("Ann", "p", [])),
        ('{"name":"Ann","observations":["x"]}', ("Ann", "", ["x"])),
    ],
)
def test_an_entity_is_read_from_what_forks_write(text: str, expected: tuple[str, str, list[str]]) -> None:
    assert entity(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"type":"relation","from":"a","to":"b","relationType":"r"}', ("a", "b", "r")),
        ('{"type":"relation","from":"a","to":"b","relation":"r"}', ("a", "b", "r")),
        ('{"type":"relation","from":"a","to":"b","relation_type":"r"}', ("a", "b", "r")),
        ('{"type":"relation","from":"a","to":"b"}', ("a", "b", "")),
        ('{"_type":"relation","source":"a","target":"b","relationType":"r"}', ("a", "b", "r")),
        ('{"type":"relation","from":null,"source":"a","to":"b","relationType":"r"}', ("a", "b", "r")),
        ('{"type":"relation","from":"a","to":"b","relationType":"r","source":"chat 7"}', ("a", "b", "r")),
        ('{"type":"relation","from":1,"to":2,"relationType":3}', ("1", "2", "3")),
        ('{"from":"a","to":"b","relationType":"r"}', ("a", "b", "r")),
    ],
)
def test_a_relation_is_read_from_what_forks_write(text: str, expected: tuple[str, str, str]) -> None:
    assert relation(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        '{"type":"hot_cache","name":"x"}',
        '{"type":"entity"}',
        '{"type":"entity","name":null}',
        '{"type":"entity","name":true}',
        '{"type":"entity","name":["Ann"]}',
        '{"type":"relation","from":"a"}',
        '{"type":["entity"],"name":"x"}',
        '{"name":"package","version":"1.0.0"}',
        '{"from":"a","to":"b"}',
        "5",
        '"text"',
        "[]",
        "null",
    ],
)
def test_what_is_no_record_of_ours_is_none(text: str) -> None:
    assert read(text) is None


@pytest.mark.parametrize(
    ("item", "text"),
    [
        ({"text": "likes tea", "timestamp": "t", "version": "1.0"}, "likes tea"),
        ({"content": "likes tea"}, "likes tea"),
        ({"note": "likes tea"}, '{"note":"likes tea"}'),
        ({"text": ["likes", "tea"]}, '{"text":["likes","tea"]}'),
        (["likes", "tea"], '["likes","tea"]'),
        ("a\ud800b", "a\ufffdb"),
        (None, None),
        (0, "0"),
        ("", ""),
    ],
)
def test_an_observation_says_its_text(item: Any, text: str | None) -> None:
    assert observation_text(item) == text


@pytest.mark.parametrize("kind", ["entity", "relation"])
def test_a_record_that_is_nested_too_deeply_is_no_record(kind: str) -> None:
    start = f'{{"type":"{kind}","name":"a","from":"a","to":"b","relationType":"r","extra":'
    assert isinstance(read(start + "[" * 150 + "]" * 150 + "}"), EntityLine | RelationLine)
    assert read(start + "[" * 250 + "]" * 250 + "}") is None


def test_a_plain_record_is_served_by_its_own_bytes() -> None:
    raw = b'{"type":"entity","name":"A\\u00e9","entityType":"p","observations":["x"]}'
    line = read(raw.decode())
    assert line is not None
    assert line.served() == b'{"name":"A\\u00e9","entityType":"p","observations":["x"]}'


@pytest.mark.parametrize(
    "text",
    [
        '{"type":"entity","name":"Ann","entityType":"p","observations":["x"],"createdAt":"t"}',
        '{"type":"entity","name":"Ann","observations":["x"],"entityType":"p"}',
        '{"type":"entity","name":"Ann","entityType":"p","observations":[{"text":"x"}]}',
        '{"type":"entity","name":"Ann",\r"entityType":"p","observations":["x"]}',
        '{"type":"entity","name":"Ann",\t"entityType":"p","observations":["x"]}',
        '{"type": "entity", "name": "Ann", "entityType": "p", "observations": ["x"]}',
        '{"type":"entity","name":"Ann","entityType":"p","observations":["x",null]}',
    ],
)
def test_any_other_record_is_served_with_the_declared_keys_alone(text: str) -> None:
    line = read(text)
    assert line is not None
    assert line.served() == b'{"name":"Ann","entityType":"p","observations":["x"]}'


@pytest.mark.parametrize(
    ("text", "served"),
    [
        (
            '{"type":"entity","name":5,"entityType":"p","observations":["x"]}',
            b'{"name":"5","entityType":"p","observations":["x"]}',
        ),
        (
            '{"type":"entity","name":"Ann","entityType":6,"observations":["x"]}',
            b'{"name":"Ann","entityType":"6","observations":["x"]}',
        ),
        (
            '{"type":"entity","name":"Ann","entityType":"p","observations":"x"}',
            b'{"name":"Ann","entityType":"p","observations":["x"]}',
        ),
        (
            '{"type":"entity","name":"Ann","entityType":"p","observations":null}',
            b'{"name":"Ann","entityType":"p","observations":[]}',
        ),
        (
            '{"type":"entity","name":"Ann","entityType":"p","observations":[1]}',
            b'{"name":"Ann","entityType":"p","observations":["1"]}',
        ),
    ],
)
def test_values_of_other_kinds_are_served_as_the_declared_ones(text: str, served: bytes) -> None:
    line = read(text)
    assert line is not None
    assert line.served() == served


def test_a_lone_surrogate_leaves_as_the_replacement_character() -> None:
    line = read('{"type":"entity","name":"a\\ud800","entityType":"p\\udfff","observations":["\\udc00x"]}')
    assert isinstance(line, EntityLine)
    assert (line.name, line.entity_type, line.observations()) == ("a\ufffd", "p\ufffd", ["\ufffdx"])
    assert json.loads(line.served()) == {"name": "a\ufffd", "entityType": "p\ufffd", "observations": ["\ufffdx"]}
    assert clean("\ud83d\ude00"[0]) == "\ufffd"
    ends = read('{"type":"relation","from":"a\\ud800","to":"b","relationType":"\\ud800"}')
    assert ends is not None
    assert ends.served() == '{"from":"a\ufffd","to":"b","relationType":"\ufffd"}'.encode()


def test_an_escaped_pair_is_one_character() -> None:
    assert entity('{"type":"entity","name":"\\ud83d\\ude00","entityType":"","observations":[]}')[0] == "\U0001f600"


def test_our_own_form_has_our_keys_in_order_and_no_spaces() -> None:
    assert new_entity('A"é\u2028\x7f', "p\n", ["x", "\x00"]).raw == (
        '{"type":"entity","name":"A\\"é\u2028\x7f","entityType":"p\\n","observations":["x","\\u0000"]}'.encode()
    )
    assert new_relation("a", "b", "r").raw == b'{"type":"relation","from":"a","to":"b","relationType":"r"}'


def test_our_own_form_reads_as_what_was_written() -> None:
    made = new_entity("A\u2028\x0b\x0c\x85", "é", ["", "\\", "\t"])
    again = read(made.raw.decode())
    assert isinstance(again, EntityLine)
    assert again.form is Form.OURS
    assert (again.name, again.entity_type, again.observations()) == ("A\u2028\x0b\x0c\x85", "é", ["", "\\", "\t"])


def test_further_lines_of_a_name_add_each_new_observation_once() -> None:
    lines = [new_entity("A", "p", texts) for texts in (["x", "x"], ["x", "y", "y"], ["z", "y"])]
    one = lines[0].placed(0, (lines[1], lines[2]))
    assert one.observations() == ["x", "x", "y", "z"]
    assert one.own_observations() == ["x", "x"]
