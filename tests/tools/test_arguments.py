"""What models send to the nine tools, and what they are told when it does not fit."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_app.errors import GraphError
from memory_app.graph.changes import Addition, Deletion, NewEntity, RelationKey
from memory_app.tools import arguments, table
from memory_app.tools.arguments import Asked, Opening, Page, Search

READERS: dict[str, Callable[[arguments.Arguments], object]] = {
    "create_entities": arguments.entities_to_create,
    "create_relations": arguments.relations_to_create,
    "add_observations": arguments.observations_to_add,
    "delete_entities": arguments.entities_to_delete,
    "delete_observations": arguments.observations_to_delete,
    "delete_relations": arguments.relations_to_delete,
    "read_graph": arguments.page_to_read,
    "search_nodes": arguments.search_to_make,
    "open_nodes": arguments.names_to_open,
}

ANN = {"name": "Ann", "entityType": "person", "observations": ["Likes tea", "Runs"]}
NEW_ANN = NewEntity("Ann", "person", ("Likes tea", "Runs"))
WORKS = {"from": "Ann", "to": "Acme", "relationType": "works at"}
WORKS_KEY = RelationKey("Ann", "Acme", "works at")

RIGHT: list[tuple[str, dict[str, object] | None, object]] = [
    ("create_entities", {"entities": [ANN, ANN]}, (NEW_ANN, NEW_ANN)),
    ("create_relations", {"relations": [WORKS]}, (WORKS_KEY,)),
    (
        "add_observations",
        {"observations": [{"entityName": "Ann", "contents": ["a", "b"]}]},
        (Addition("Ann", ("a", "b")),),
    ),
    ("delete_entities", {"entityNames": ["Ann", "Bo"]}, Asked(("Ann", "Bo"))),
    (
        "delete_observations",
        {"deletions": [{"entityName": "Ann", "observations": ["a"]}]},
        Asked((Deletion("Ann", ("a",)),)),
    ),
    ("delete_relations", {"relations": [WORKS]}, Asked((WORKS_KEY,))),
    ("read_graph", {}, None),
    ("read_graph", None, None),
    ("read_graph", {"limit": 3, "offset": 6, "namesOnly": True}, Page(limit=3, offset=6, names_only=True)),
    ("search_nodes", {"query": "green tea"}, Search("green tea", None)),
    ("search_nodes", {"query": "", "limit": 1}, Search("", Page(1, 0, False))),
    ("open_nodes", {"names": ["Ann"]}, Opening(("Ann",), None)),
]


def refusal(tool: str, given: object) -> str:
    with pytest.raises(GraphError) as caught:
        table.plan(tool, given)
    return str(caught.value)


@pytest.mark.parametrize(("tool", "sent", "expected"), RIGHT, ids=[f"{n}-{row[0]}" for n, row in enumerate(RIGHT)])
def test_arguments_as_the_schema_wants_them_become_typed_values(
    tool: str, sent: dict[str, object] | None, expected: object
) -> None:
    assert READERS[tool](sent) == expected


@pytest.mark.parametrize(
    ("tool", "key"),
    [
        ("create_entities", "entities"),
        ("create_relations", "relations"),
        ("add_observations", "observations"),
        ("delete_entities", "entityNames"),
        ("delete_observations", "deletions"),
        ("delete_relations", "relations"),
        ("open_nodes", "names"),
    ],
)
def test_an_empty_array_is_no_error_and_asks_for_nothing(tool: str, key: str) -> None:
    sent: object
    for sent in ([], " [ ] "):
        found = READERS[tool]({key: sent})
        assert found in ((), Asked(()), Opening((), None))


@pytest.mark.parametrize(("tool", "sent", "expected"), RIGHT, ids=[f"{n}-{row[0]}" for n, row in enumerate(RIGHT)])
def test_every_array_and_object_may_arrive_as_a_json_string(
    tool: str, sent: dict[str, object] | None, expected: object
) -> None:
    def quoted(value: object, inner: bool) -> object:
        """Arrays and objects as JSON texts: the outermost only, or the ones within it too."""
        if isinstance(value, list):
            return json.dumps([quoted(item, inner) if inner else item for item in value])
        if isinstance(value, dict):
            return json.dumps({key: quoted(item, inner) for key, item in value.items()})
        return value

    for inner in (False, True):
        assert READERS[tool]({key: quoted(value, inner) for key, value in (sent or {}).items()}) == expected


def test_a_json_string_in_a_text_field_stays_a_string() -> None:
    fact = '["not", "a list"]'
    sent = {"entities": [{"name": '{"a":1}', "entityType": "[]", "observations": [fact, '"x"']}]}
    assert arguments.entities_to_create(sent) == (NewEntity('{"a":1}', "[]", (fact, '"x"')),)
    assert arguments.names_to_open({"names": ['["Ann"]']}).names == ('["Ann"]',)
    assert arguments.search_to_make({"query": "[1]"}) == Search("[1]", None)


def test_several_objects_may_stand_one_after_the_other_in_a_text_and_comments_between_them() -> None:
    ann, bo = json.dumps(ANN), json.dumps({**ANN, "name": "Bo"})
    both = (NEW_ANN, NEW_ANN._replace(name="Bo"))
    for text in (f"{ann}\n{bo}", f"{ann}, {bo}", f"[{ann}, // the other\n{bo}]", f"[{ann} /* and */, {bo}]"):
        assert arguments.entities_to_create({"entities": text}) == both
    note = arguments.observations_to_add({"observations": {"entityName": "Ann", "contents": "[1] // see there"}})
    assert note == (Addition("Ann", ("[1] // see there",)),)
    assert "not valid JSON" in refusal("create_entities", {"entities": f"{ann} and {bo}"})


def test_an_array_in_place_of_a_relation_is_said_to_be_one() -> None:
    text = refusal("create_relations", {"relations": [["Ann", "knows", "Bo"]]})
    assert "relations[0] must be an object with from, to and relationType, but it is an array of 3 items" in text


def test_create_words_are_understood_in_add_observations() -> None:
    sent = {
        "observations": [{"name": "Ann", "observations": ["x"]}, {"entityName": None, "name": "Bo", "contents": "[]"}]
    }
    assert arguments.observations_to_add(sent) == (Addition("Ann", ("x",)), Addition("Bo", ()))


def test_the_advertised_words_win_where_both_are_given() -> None:
    both = {"entityName": "Ann", "name": "Bo", "contents": ["a"], "observations": ["b"]}
    assert arguments.observations_to_add({"observations": [both]}) == (Addition("Ann", ("a",)),)


def test_a_missing_part_is_not_guessed_where_something_is_deleted() -> None:
    text = refusal("delete_observations", {"deletions": [{"who": "Ann", "observations": ["x"]}]})
    assert "deletions[0].entityName must be a string, but it is missing" in text
    assert "the keys who, observations" in text


def test_unknown_keys_are_passed_over() -> None:
    sent = {"entities": [{**ANN, "id": 7}], "reason": {"deep": []}}
    assert arguments.entities_to_create(sent) == (NEW_ANN,)


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ({"limit": "10"}, Page(10, 0, False)),
        ({"limit": " 10 ", "offset": "0"}, Page(10, 0, False)),
        ({"limit": 10.0, "offset": 2.0}, Page(10, 2, False)),
        ({"limit": 10**400}, Page(2**31 - 1, 0, False)),
        ({"limit": 1e300}, Page(2**31 - 1, 0, False)),
        ({"offset": 5}, Page(None, 5, False)),
        ({"namesOnly": "true", "limit": None}, Page(None, 0, True)),
        ({"namesOnly": False}, Page(None, 0, False)),
        ({"limit": None, "offset": None, "namesOnly": None}, None),
    ],
    ids=str,
)
def test_a_page_is_understood_from_every_plain_form(sent: dict[str, object], expected: Page | None) -> None:
    assert arguments.page_to_read(sent) == expected
    assert arguments.search_to_make({"query": "x", **sent}) == Search("x", expected)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("limit", 0),
        ("limit", -1),
        ("limit", True),
        ("limit", 1.5),
        ("limit", float("nan")),
        ("limit", float("inf")),
        ("limit", "ten"),
        ("limit", "1.5"),
        ("limit", "²"),
        ("limit", "9" * 5000),
        ("limit", -(10**5000)),
        ("limit", [1]),
        ("offset", -1),
        ("offset", False),
        ("offset", ""),
        ("namesOnly", 1),
        ("namesOnly", "yes"),
        ("namesOnly", []),
    ],
    ids=lambda value: str(value)[:12] if not isinstance(value, int) or abs(value) < 10 else "huge",
)
def test_a_page_that_makes_no_sense_is_refused(key: str, value: object) -> None:
    text = refusal("read_graph", {key: value})
    assert text.startswith(f"read_graph: {key} must be ")
    assert len(text) < 300


@pytest.mark.parametrize(
    ("tool", "sent", "where", "expected", "came"),
    [
        (
            "create_entities",
            None,
            "entities",
            "an array, each item an object with name, entityType and observations",
            "it is missing; what came is an empty object",
        ),
        (
            "create_entities",
            {"things": 5},
            "entities",
            "an array,",
            "it is missing; what came is an object with the keys things",
        ),
        ("create_entities", {"entities": None}, "entities", "an array,", "it is null"),
        ("delete_entities", {"entityNames": None}, "entityNames", "an array of strings", "it is null"),
        ("search_nodes", {"query": None}, "query", "a string", "it is null"),
        (
            "add_observations",
            {"observations": [{"entityName": "A", "contents": None}]},
            "observations[0].contents",
            "an array of strings",
            "it is null",
        ),
        ("create_entities", {"entities": 7}, "entities", "an array,", "it is the number 7"),
        ("create_entities", {"entities": ["Ann"]}, "entities[0]", "an object with name", 'it is the string "Ann"'),
        (
            "create_entities",
            {"entities": [ANN, {"name": "Bo"}]},
            "entities[1].entityType",
            "a string",
            "it is missing; what came is an object with the keys name",
        ),
        (
            "create_entities",
            {"entities": [ANN, ANN, {**ANN, "observations": [None]}]},
            "entities[2].observations[0]",
            "a string",
            "it is null",
        ),
        ("create_entities", {"entities": [{**ANN, "name": True}]}, "entities[0].name", "a string", "it is true"),
        ("create_entities", {"entities": '[{"name":'}, "entities", "an array,", "which is not valid JSON"),
        ("create_entities", {"entities": "Ann"}, "entities", "an array,", 'it is the string "Ann"'),
        (
            "create_relations",
            {"relations": [{"from": "a", "to": "b", "since": "c"}]},
            "relations[0].relationType",
            "a string",
            "it is missing",
        ),
        (
            "create_relations",
            {"relations": [[]]},
            "relations[0]",
            "an object with from, to and relationType",
            "it is an array of 0 items",
        ),
        (
            "add_observations",
            {"observations": ["x"]},
            "observations[0]",
            "an object with entityName and contents",
            'it is the string "x"',
        ),
        (
            "add_observations",
            {"observations": [{"name": "A", "observations": '["x"'}]},
            "observations[0].contents",
            "an array of strings",
            "which is not valid JSON",
        ),
        (
            "add_observations",
            {"observations": [{"entityName": "A", "contents": [None]}]},
            "observations[0].contents[0]",
            "a string",
            "it is null",
        ),
        ("delete_entities", {"entityNames": 1e300}, "entityNames[0]", "a string", "it is a number that is too large"),
        (
            "delete_observations",
            {"deletions": [{"entityName": "A"}]},
            "deletions[0].observations",
            "an array of strings",
            "it is missing",
        ),
        ("delete_relations", {"relations": 1.5}, "relations", "an array,", "it is the number 1.5"),
        ("search_nodes", {}, "query", "a string", "it is missing"),
        ("search_nodes", {"query": [None]}, "query", "a string", "it is an array of one item"),
        ("open_nodes", {"names": ["Bo", ["Ann", "Cy"]]}, "names[1]", "a string", "it is an array of 2 items"),
    ],
)
def test_an_error_names_the_argument_what_was_expected_what_came_and_a_right_call(
    tool: str, sent: object, where: str, expected: str, came: str
) -> None:
    text = refusal(tool, sent)
    assert text.startswith(f"{tool}: {where} must be {expected}")
    assert came in text
    assert text.endswith(f"Nothing was done. Example of a right call: {table.TOOLS[tool].example}")


@pytest.mark.parametrize("tool", sorted(READERS))
def test_the_example_that_an_error_shows_is_a_right_call(tool: str) -> None:
    READERS[tool](json.loads(table.TOOLS[tool].example))


def test_a_query_of_2048_characters_is_taken_and_a_longer_one_refused() -> None:
    assert arguments.search_to_make({"query": "é" * 2048}).query == "é" * 2048
    text = refusal("search_nodes", {"query": "é" * 2049})
    assert "query must be a string of at most 2048 characters, but it has 2049" in text
    assert "ééé" not in text


@pytest.mark.parametrize(
    "huge",
    [
        "x" * 100_000_000,
        "[" * 10_000_000,
        "{" + "x" * 10_000_000,
        {"k" * 10_000_000: 1},
        {str(n): n for n in range(100_000)},
    ],
    ids=["long text", "deep array", "broken object", "long key", "many keys"],
)
def test_a_huge_argument_does_not_come_back_in_the_error(huge: object) -> None:
    for tool, sent in (
        ("create_entities", {"entities": huge}),
        ("create_entities", {"entities": [huge]}),
        ("open_nodes", {"names": huge}),
    ):
        assert len(refusal(tool, sent)) < 500


def test_an_error_names_the_keys_that_came_each_only_by_its_beginning() -> None:
    text = refusal("open_nodes", {"k" * 1000: 1, "things": 2})
    assert f"what came is an object with the keys {'k' * 20}, things." in text


def test_an_error_is_one_printable_line_whatever_came() -> None:
    text = refusal("create_entities", {"entities": 'a\n\x1b[31m\x00\ud800\u202e"b'})
    assert text.isprintable()
    text.encode()


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ("a\ud800", "a\ufffd"),
        ("\udc00\udc00b", "\ufffd\ufffdb"),
        ("\ud83d\ude00", "\U0001f600"),
        ("\ufeffé\ud83d", "\ufeffé\ufffd"),
        ("Café", "Café"),
    ],
    ids=ascii,
)
def test_a_lone_surrogate_becomes_the_replacement_character_in_every_text(sent: str, expected: str) -> None:
    entity = {"name": sent, "entityType": sent, "observations": [sent]}
    relation = {"from": sent, "to": sent, "relationType": sent}
    assert arguments.entities_to_create({"entities": [entity]}) == (NewEntity(expected, expected, (expected,)),)
    assert arguments.entities_to_create({"entities": json.dumps([entity])}) == (
        NewEntity(expected, expected, (expected,)),
    )
    assert arguments.relations_to_create({"relations": [relation]}) == (RelationKey(expected, expected, expected),)
    assert arguments.relations_to_delete({"relations": [relation]}).items == (
        RelationKey(expected, expected, expected),
    )
    assert arguments.observations_to_add({"observations": [{"entityName": sent, "contents": [sent]}]}) == (
        Addition(expected, (expected,)),
    )
    assert arguments.observations_to_delete({"deletions": [{"entityName": sent, "observations": [sent]}]}).items == (
        Deletion(expected, (expected,)),
    )
    assert arguments.entities_to_delete({"entityNames": [sent]}).items == (expected,)
    assert arguments.names_to_open({"names": [sent]}).names == (expected,)
    assert arguments.search_to_make({"query": sent}).query == expected


def test_an_empty_name_is_an_error_in_creates_alone() -> None:
    entity = {"name": "", "entityType": "", "observations": [""]}
    assert "entities[0].name must be a name, but it is empty" in refusal("create_entities", {"entities": [entity]})
    assert arguments.names_to_open({"names": [""]}).names == ("",)
    assert arguments.entities_to_delete({"entityNames": [""]}).items == ("",)
    assert arguments.observations_to_add({"observations": [{"entityName": "", "contents": ["x"]}]})


@pytest.mark.parametrize("name", [" ", "\t", "\n", "\u3000"])
def test_a_name_of_white_space_is_a_name_as_for_npm(name: str) -> None:
    entity = {"name": name, "entityType": "", "observations": []}
    assert arguments.entities_to_create({"entities": [entity]}) == (NewEntity(name, "", ()),)
    assert arguments.entities_to_create({"entities": entity}) == (NewEntity(name, "", ()),)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "entityType", "observations", "entityName", "contents", "from", "to", "x"]), inner
        )
    ),
    max_leaves=8,
)
KEYS = ["entities", "relations", "observations", "entityNames", "deletions", "query", "names", "limit", "namesOnly"]


@given(st.sampled_from(sorted(READERS)), st.dictionaries(st.sampled_from(KEYS), JSON_VALUES))
def test_whatever_arrives_is_read_or_refused_with_a_short_text(tool: str, sent: dict[str, object]) -> None:
    refused = ""
    try:
        READERS[tool](sent)
    except GraphError as error:
        refused = str(error)
    assert len(refused) < 500
    refused.encode()
