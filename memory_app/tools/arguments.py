"""The arguments of the nine tools: from whatever a model sent to typed values, or an error text that it can act on.

Rules:
- Arguments in the form of the schema are read directly. Only others are first brought into that form, if they can have
  only one meaning; see lenient. null counts as absent where a key is optional.
- Everything else is strict: a missing key is never guessed, because a misspelt one would lose what was to be stored.
- An error names the argument by its path (`entities[2].observations[0]`), says what was expected and what came. The
  caller, which knows the tool's example, adds it.

Nothing here knows the graph or does I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, TypeVar

from memory_app.errors import GraphError
from memory_app.graph.changes import Addition, Deletion, NewEntity, RelationKey
from memory_app.tools.lenient import mend
from memory_app.tools.spellings import SHAPES
from memory_app.tools.values import (
    MisfitError,
    an_object,
    described,
    each,
    member,
    plain_text,
    plain_texts,
    truth,
    whole_number,
)

_T = TypeVar("_T")

LONGEST_QUERY: Final = 2048
"""Characters of a search query. A longer one is a pasted document, which no entity holds as a whole."""

_DEEPEST: Final = 3
"""Relations between a named entity and what `depth` may open: at four, most memories are reached as a whole."""


class Page(NamedTuple):
    """The requested part of an answer. `limit` None means everything after `offset`; the same holds for the
    relations.
    """

    limit: int | None = None
    offset: int = 0
    names_only: bool = False
    relation_limit: int | None = None
    relation_offset: int = 0
    summary: bool = False


class Search(NamedTuple):
    """`page` None means the whole answer, without a total."""

    query: str
    page: Page | None


class Opening(NamedTuple):
    """`depth`: how many relations away the opened entities may be; 0 for the named entities alone."""

    names: tuple[str, ...]
    page: Page | None
    depth: int = 0


@dataclass(frozen=True)
class Asked(Generic[_T]):
    """The items of a call. `exact`: a text came in place of an array, so a delete must find all of it."""

    items: tuple[_T, ...]
    exact: bool = False


Arguments = object
"""`arguments` of a tools/call as the JSON parser gave them; None if the client left them out."""


def entities_to_create(arguments: Arguments) -> tuple[NewEntity, ...]:
    return _checked("create_entities", arguments, lambda given: member(given, "entities", _new_entities)).items


def relations_to_create(arguments: Arguments) -> tuple[RelationKey, ...]:
    return _checked("create_relations", arguments, lambda given: member(given, "relations", _relation_keys)).items


def observations_to_add(arguments: Arguments) -> tuple[Addition, ...]:
    return _checked("add_observations", arguments, lambda given: member(given, "observations", _additions)).items


def entities_to_delete(arguments: Arguments) -> Asked[str]:
    return _checked("delete_entities", arguments, lambda given: member(given, "entityNames", plain_texts))


def observations_to_delete(arguments: Arguments) -> Asked[Deletion]:
    return _checked("delete_observations", arguments, lambda given: member(given, "deletions", _deletions))


def relations_to_delete(arguments: Arguments) -> Asked[RelationKey]:
    return _checked("delete_relations", arguments, lambda given: member(given, "relations", _relation_keys))


def page_to_read(arguments: Arguments) -> Page | None:
    """None if no part was requested: the answer is the whole graph, without a total."""
    return _checked("read_graph", arguments, lambda given: (_page(given),)).items[0]


def search_to_make(arguments: Arguments) -> Search:
    return _checked(
        "search_nodes", arguments, lambda given: (Search(member(given, "query", _query), _page(given)),)
    ).items[0]


def names_to_open(arguments: Arguments) -> Opening:
    return _checked("open_nodes", arguments, lambda given: (_opening(given),)).items[0]


def _checked(tool: str, arguments: Arguments, read: Callable[[Mapping[str, object]], tuple[_T, ...]]) -> Asked[_T]:
    """The result of `read` for the arguments as they are, otherwise as lenient mends them."""
    given: object = {} if arguments is None else arguments
    if isinstance(given, dict) and given.keys() <= _KEYS[tool]:
        try:
            return Asked(read(given))
        except MisfitError:
            pass
    try:
        mended = mend(tool, given)
        return Asked(read(mended.arguments), mended.alone)
    except MisfitError as misfit:
        where = misfit.path.removeprefix(".")
        raise GraphError(f"{tool}: {where} must be {misfit.expected}, but {misfit.came}.") from None


def _query(value: object) -> str:
    text = plain_text(value)
    if len(text) > LONGEST_QUERY:
        raise MisfitError(
            f"a string of at most {LONGEST_QUERY} characters", f"it has {len(text)}: search for a few words"
        )
    return text


_KEYS: Final = {
    tool: frozenset(key for slot in (shape.outer, *shape.options) if (key := slot.key))
    for tool, shape in SHAPES.items()
}
"""The keys of each tool's arguments. With any other, lenient looks whether it says something that would be lost."""

_ENTITY: Final = SHAPES["create_entities"].item
_RELATION: Final = SHAPES["create_relations"].item
_ADDITION: Final = SHAPES["add_observations"].item
_DELETION: Final = SHAPES["delete_observations"].item


def _fields(value: object, expected: str, number: int) -> Mapping[str, object]:
    """An object with this many keys. One with other keys goes to lenient, which checks what they hold."""
    given = an_object(value, expected)
    if len(given) > number:
        raise MisfitError(expected, f"it is {described(value)}")
    return given


def _new_entity(value: object) -> NewEntity:
    given = _fields(value, _ENTITY, 3)
    name = member(given, "name", _given_name)
    return NewEntity(name, member(given, "entityType", plain_text), member(given, "observations", plain_texts))


def _given_name(value: object) -> str:
    text = plain_text(value)
    if not text:  # white space is a name, as for npm
        raise MisfitError("a name", "it is empty")
    return text


def _relation_key(value: object) -> RelationKey:
    given = _fields(value, _RELATION, 3)
    return RelationKey(
        member(given, "from", plain_text),
        member(given, "to", plain_text),
        member(given, "relationType", plain_text),
    )


def _addition(value: object) -> Addition:
    given = _fields(value, _ADDITION, 2)
    return Addition(member(given, "entityName", plain_text), member(given, "contents", plain_texts))


def _deletion(value: object) -> Deletion:
    given = _fields(value, _DELETION, 2)
    return Deletion(member(given, "entityName", plain_text), member(given, "observations", plain_texts))


def _new_entities(value: object) -> tuple[NewEntity, ...]:
    return each(value, _new_entity, f"an array, each item {_ENTITY}")


def _relation_keys(value: object) -> tuple[RelationKey, ...]:
    return each(value, _relation_key, f"an array, each item {_RELATION}")


def _additions(value: object) -> tuple[Addition, ...]:
    return each(value, _addition, f"an array, each item {_ADDITION}")


def _deletions(value: object) -> tuple[Deletion, ...]:
    return each(value, _deletion, f"an array, each item {_DELETION}")


def _opening(given: Mapping[str, object]) -> Opening:
    depth = given.get("depth")
    return Opening(
        member(given, "names", plain_texts), _page(given), 0 if depth is None else member(given, "depth", _depth)
    )


def _depth(value: object) -> int:
    return whole_number(value, 1, _DEEPEST)


def _page(given: Mapping[str, object]) -> Page | None:
    if not given or (len(given) == 1 and not given.keys() <= _KEYS["read_graph"]):
        return None  # as most calls are
    found: dict[str, object] = {}
    for key, name, read in _OPTIONS:
        if given.get(key) is not None:
            found[name] = member(given, key, read)
    return Page(**found) if found else None  # type: ignore[arg-type]


def _one_or_more(value: object) -> int:
    return whole_number(value, 1)


def _zero_or_more(value: object) -> int:
    return whole_number(value, 0)


_OPTIONS: Final[tuple[tuple[str, str, Callable[[object], object]], ...]] = (
    ("limit", "limit", _one_or_more),
    ("offset", "offset", _zero_or_more),
    ("namesOnly", "names_only", truth),
    ("relationLimit", "relation_limit", _one_or_more),
    ("relationOffset", "relation_offset", _zero_or_more),
    ("summary", "summary", truth),
)
"""The options of the reads: the key, the field of `Page`, and what reads it."""
