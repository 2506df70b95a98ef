"""The parser takes what can be written back without a change of meaning, and nothing else."""

from __future__ import annotations

import pytest

from memory_app.jsonl.parser import NotTaken, parse, parse_all, skip_space


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":2}',
        '{"x":{"a":1,"a":1}}',
        "NaN",
        "[Infinity]",
        "-Infinity",
        "1e999",
        '{"x":-1e999}',
        "1" * 5000,
        "[" * 5000 + "]" * 5000,
        '{"a":"\t"}',
        "{'a':1}",
        '{"a":1,}',
        "",
        "01",
    ],
    ids=lambda text: text[:12],
)
def test_the_parser_refuses_what_other_programs_would_read_differently(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (the parser's own words)
        parse_all(text)


def test_a_value_is_read_from_where_it_starts_and_its_end_is_told() -> None:
    text = ' [1.50] , {"a":"\\u00e9"}'
    assert parse(text, skip_space(text, 0)) == ([1.5], 7)
    assert parse(text, skip_space(text, 9)) == ({"a": "é"}, len(text))


@pytest.mark.parametrize(
    ("text", "position"),
    [('{"a":1,}', 7), ('{"a" 1}', 5), ("", 0), ('{"a":', 5), ('{"a":1,"a":2}', None), ("[" * 5000, None)],
)
def test_where_a_text_is_no_json_is_told_as_a_number(text: str, position: int | None) -> None:
    with pytest.raises(NotTaken) as caught:
        parse(text)
    assert caught.value.position == position


def test_only_the_white_space_of_json_may_stand_around_a_value() -> None:
    assert parse_all(" \t\r\n1\n\r\t ") == 1
    for other in "\x0b\x0c\x85\xa0\u2028":
        with pytest.raises(ValueError, match="no JSON value at character 0"):
            parse_all(other + "1")
        with pytest.raises(ValueError, match="something follows the value"):
            parse_all("1" + other)
