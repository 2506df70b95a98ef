"""The arguments of the nine tools: from whatever a model sent to typed values, or one text that it can act on.

Rules:
- Lenient where the intent is plain: see values for what is decoded. In add_observations `name` is understood for
  `entityName` and `observations` for `contents`. null is as good as absent where a key is optional. Unknown keys are
  passed over.
- Strict everywhere else: a missing key is never guessed, because a misspelt one would lose what was to be stored.
- An error names the argument by its path (`entities[2].observations[0]`), says what was expected and what came, and
  shows one right call.

Nothing here knows the graph or does I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeVar

from memory_app.errors import GraphError
from memory_app.graph.changes import Addition, Deletion, NewEntity, RelationKey
from memory_app.tools.lenient import MisfitError, decoded, each, member, plain_text, plain_texts, truth, whole_number

_T = TypeVar("_T")

LONGEST_QUERY: Final = 2048
"""Characters of a search query. A longer one is a pasted document, which no entity holds as a whole."""

EXAMPLES: Final[Mapping[str, str]] = {
    "create_entities": '{"entities":[{"name":"Ann","entityType":"person","observations":["Likes green tea"]}]}',
    "create_relations": '{"relations":[{"from":"Ann","to":"Acme","relationType":"works at"}]}',
    "add_observations": '{"observations":[{"entityName":"Ann","contents":["Moved to Lisbon in 2024"]}]}',
    "delete_entities": '{"entityNames":["Ann"]}',
    "delete_observations": '{"deletions":[{"entityName":"Ann","observations":["Likes green tea"]}]}',
    "delete_relations": '{"relations":[{"from":"Ann","to":"Acme","relationType":"works at"}]}',
    "read_graph": '{"limit":50,"offset":0}',
    "search_nodes": '{"query":"green tea"}',
    "open_nodes": '{"names":["Ann","Acme"]}',
}
"""One right call of each tool, as its arguments. Descriptions show them too."""


class Page(NamedTuple):
    """The part of an answer that was asked for. `limit` None: all that follow `offset`."""

    limit: int | None
    offset: int
    names_only: bool


class Search(NamedTuple):
    """`page` None: the whole answer, without a total."""

    query: str
    page: Page | None


Arguments = Mapping[str, object] | None
"""`arguments` of a tools/call as the JSON parser gave them; None if the client left them out."""


def entities_to_create(arguments: Arguments) -> tuple[NewEntity, ...]:
    return _checked("create_entities", arguments, lambda given: member(given, "entities", _new_entities))


def relations_to_create(arguments: Arguments) -> tuple[RelationKey, ...]:
    return _checked("create_relations", arguments, lambda given: member(given, "relations", _relation_keys))


def observations_to_add(arguments: Arguments) -> tuple[Addition, ...]:
    return _checked("add_observations", arguments, lambda given: member(given, "observations", _additions))


def entities_to_delete(arguments: Arguments) -> tuple[str, ...]:
    return _checked("delete_entities", arguments, lambda given: member(given, "entityNames", plain_texts))


def observations_to_delete(arguments: Arguments) -> tuple[Deletion, ...]:
    return _checked("delete_observations", arguments, lambda given: member(given, "deletions", _deletions))


def relations_to_delete(arguments: Arguments) -> tuple[RelationKey, ...]:
    return _checked("delete_relations", arguments, lambda given: member(given, "relations", _relation_keys))


def page_to_read(arguments: Arguments) -> Page | None:
    """None if no part was asked for: the answer is the whole graph, without a total."""
    return _checked("read_graph", arguments, _page)


def search_to_make(arguments: Arguments) -> Search:
    return _checked("search_nodes", arguments, lambda given: Search(member(given, "query", _query), _page(given)))


def names_to_open(arguments: Arguments) -> tuple[str, ...]:
    return _checked("open_nodes", arguments, lambda given: member(given, "names", plain_texts))


def _checked(tool: str, arguments: Arguments, read: Callable[[Mapping[str, object]], _T]) -> _T:
    try:
        return read({} if arguments is None else arguments)
    except MisfitError as misfit:
        where = misfit.path.removeprefix(".")
        text = f"{tool}: {where} must be {misfit.expected}, but {misfit.came}."
    raise GraphError(f"{text} Nothing was done. Example of a right call: {EXAMPLES[tool]}")


def _query(value: object) -> str:
    text = plain_text(value)
    if len(text) > LONGEST_QUERY:
        raise MisfitError(
            f"a string of at most {LONGEST_QUERY} characters", f"it has {len(text)}: search for a few words"
        )
    return text


_ENTITY: Final = "an object with name, entityType and observations"
_RELATION: Final = "an object with from, to and relationType"
_ADDITION: Final = "an object with entityName and contents"
_DELETION: Final = "an object with entityName and observations"


def _new_entity(value: object) -> NewEntity:
    given = decoded(value, dict, _ENTITY)
    return NewEntity(
        member(given, "name", plain_text),
        member(given, "entityType", plain_text),
        member(given, "observations", plain_texts),
    )


def _relation_key(value: object) -> RelationKey:
    given = decoded(value, dict, _RELATION)
    return RelationKey(
        member(given, "from", plain_text),
        member(given, "to", plain_text),
        member(given, "relationType", plain_text),
    )


def _addition(value: object) -> Addition:
    given = decoded(value, dict, _ADDITION)
    return Addition(
        member(given, _present(given, "entityName", "name"), plain_text),
        member(given, _present(given, "contents", "observations"), plain_texts),
    )


def _deletion(value: object) -> Deletion:
    given = decoded(value, dict, _DELETION)
    return Deletion(member(given, "entityName", plain_text), member(given, "observations", plain_texts))


def _new_entities(value: object) -> tuple[NewEntity, ...]:
    return each(value, _new_entity, f"an array, each item {_ENTITY}")


def _relation_keys(value: object) -> tuple[RelationKey, ...]:
    return each(value, _relation_key, f"an array, each item {_RELATION}")


def _additions(value: object) -> tuple[Addition, ...]:
    return each(value, _addition, f"an array, each item {_ADDITION}")


def _deletions(value: object) -> tuple[Deletion, ...]:
    return each(value, _deletion, f"an array, each item {_DELETION}")


def _present(given: Mapping[str, object], key: str, other: str) -> str:
    """`other` if only that one is given: the word of create_entities for the same thing."""
    return other if given.get(key) is None and given.get(other) is not None else key


def _page(given: Mapping[str, object]) -> Page | None:
    limit, offset, names_only = given.get("limit"), given.get("offset"), given.get("namesOnly")
    if limit is None and offset is None and names_only is None:
        return None
    return Page(
        None if limit is None else member(given, "limit", _one_or_more),
        0 if offset is None else member(given, "offset", _zero_or_more),
        False if names_only is None else member(given, "namesOnly", truth),
    )


def _one_or_more(value: object) -> int:
    return whole_number(value, 1)


def _zero_or_more(value: object) -> int:
    return whole_number(value, 0)
