"""The nine tools as plans: from arguments to work on the graph, and from its result to the answer's bytes.

Each function here checks the arguments and returns a `Read` or a `Write`. Both are pure functions of a snapshot, so the
caller decides in which thread they run. JSON is built here as finished UTF-8: lines of the file in our own form are
served by slicing, everything else is encoded once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple, TypeAlias, TypeVar

from memory_app.errors import GraphError
from memory_app.graph import changes, near, queries, relevance
from memory_app.graph.graph import Graph
from memory_app.jsonl.records import EntityLine, RelationLine, quote, strings_json
from memory_app.tools import arguments as checked
from memory_app.tools.arguments import Arguments, Page

# Bytes of JSON in one answer: clients refuse far smaller ones, and three copies of this still fit into memory.
LARGEST_ANSWER: Final = 256 << 20
# Lines from which on a read of the whole graph, or a search that may have to fold it first, is left to a thread.
_HEAVY: Final = 1000
_TOGETHER: Final = 4096  # records that are joined at once: less than a millisecond
# Relations that come with a limited number of entities when no number of theirs was given: some 5,000 tokens.
RELATIONS_WITH_LIMIT: Final = 100
_MOST_TYPES: Final = 100  # types of a summary: a memory with more uses them as free text
_MOST_HINTS: Final = 20  # unknown names of one call for which near ones are looked up, some milliseconds each
_LONGEST_NAMED: Final = 60  # characters of an unknown name that an error repeats
_LONGEST_ECHO: Final = 1024  # characters of one in `notFound`: enough to match it to what was asked
_ALL: Final = "*"  # what models send to delete everything; nobody is taken at that word

_T = TypeVar("_T")
_Relations: TypeAlias = "tuple[list[RelationLine], list[RelationLine]]"
"""The relations among what was opened, and those that lead outside."""


class Answer(NamedTuple):
    """What a tool returns.

    `structured` is a JSON object in UTF-8, None for an error. `text` is the first text block, None if that is the JSON
    of `structured` itself. `more` are further text blocks.
    """

    structured: bytes | None
    text: str | None = None
    more: tuple[str, ...] = ()
    is_error: bool = False


class Read(NamedTuple):
    """A tool that only reads. `heavy` says whether `run` may take longer than an event loop should wait."""

    run: Callable[[Graph], Answer]
    heavy: Callable[[Graph], bool]


class Write(NamedTuple):
    """A tool that changes the graph, for `Store.submit`."""

    apply: Callable[[Graph], tuple[Graph, Answer]]


def graph_json(graph: Graph) -> bytes:
    """The whole graph as `{"entities":[…],"relations":[…]}`. GraphError if it is larger than an answer may be."""
    return _found(queries.everything(graph))


def create_entities(arguments: Arguments) -> Write:
    asked = checked.entities_to_create(arguments)

    def apply(graph: Graph) -> tuple[Graph, Answer]:
        # Looked up first: in a batch a graph from before a change cannot be read after it.
        new = dict.fromkeys(one.name for one in asked if one.name not in graph.entities)
        similar = near.spelled_alike(graph, list(new))
        after, made, skipped = changes.create_entities(graph, asked)
        body = b'{"entities":' + _array(made)
        if similar:
            body += b',"similar":' + strings_json(similar)
        if not skipped:
            return after, Answer(body + b"}")
        note = f"{len(skipped)} skipped: the name exists. Use add_observations for new facts."
        return after, Answer(body + b',"skipped":' + strings_json(skipped) + b"}", more=(note,))

    return Write(apply)


def create_relations(arguments: Arguments) -> Write:
    asked = checked.relations_to_create(arguments)

    def apply(graph: Graph) -> tuple[Graph, Answer]:
        after, made = changes.create_relations(graph, asked)
        return after, Answer(b'{"relations":' + _array(made) + b"}")

    return Write(apply)


def add_observations(arguments: Arguments) -> Write:
    asked = checked.observations_to_add(arguments)

    def apply(graph: Graph) -> tuple[Graph, Answer]:
        after, added = changes.add_observations(graph, asked)
        results = [
            b'{"entityName":'
            + quote(one.entity_name).encode()
            + b',"addedObservations":'
            + strings_json(one.observations)
            + b"}"
            for one in added
        ]
        return after, Answer(b'{"results":[' + b",".join(results) + b"]}")

    return Write(apply)


def delete_entities(arguments: Arguments) -> Write:
    names, exact = _taken(checked.entities_to_delete(arguments))

    def apply(graph: Graph) -> tuple[Graph, Answer]:
        after, missing = changes.delete_entities(graph, names)
        if not missing:
            return after, _done("Entities deleted successfully")
        if exact or _ALL in missing:
            raise GraphError(
                f"delete_entities: entityNames must be an array of stored names, but {_named(missing)} is none. "
                + _hint(graph, missing[0])
                + 'Nothing was deleted. Example of a right call: {"entityNames":["Ann","Acme"]}'
            )
        hits = len(names) - len(missing)
        return after, _done(f"Deleted {hits} of {len(names)} entities. Not found: {', '.join(dict.fromkeys(missing))}")

    return Write(apply)


def delete_observations(arguments: Arguments) -> Write:
    deletions, exact = _taken(checked.observations_to_delete(arguments))

    def apply(graph: Graph) -> tuple[Graph, Answer]:
        after, hits, missing = changes.delete_observations(graph, deletions)
        total = sum(len(deletion.observations) for deletion in deletions)
        if hits == total and not missing:
            return after, _done("Observations deleted successfully")
        if exact or any(_ALL in (one.entity_name, *one.observations) for one in deletions):
            raise GraphError(
                "delete_observations: each text must equal a stored observation, and not all of these do. Nothing was "
                "deleted: read the entity with open_nodes. Example of a right call: "
                '{"deletions":[{"entityName":"Ann","observations":["Likes tea","Lives in Lisbon"]}]}'
            )
        message = f"Deleted {hits} of {total} observations."
        if missing:
            message += f" Entities not found: {', '.join(dict.fromkeys(missing))}"
        return after, _done(message)

    return Write(apply)


def delete_relations(arguments: Arguments) -> Write:
    keys, _ = _taken(checked.relations_to_delete(arguments))

    def apply(graph: Graph) -> tuple[Graph, Answer]:
        after, hits = changes.delete_relations(graph, keys)
        if hits == len(keys):
            return after, _done("Relations deleted successfully")
        if any(_ALL in key for key in keys):
            raise GraphError(
                f'delete_relations: "{_ALL}" stands for nothing here; give from, to and relationType of each relation '
                "as stored. Nothing was deleted: open_nodes shows an entity's relations. Example of a right call: "
                '{"relations":[{"from":"Ann","to":"Acme","relationType":"works at"}]}'
            )
        return after, _done(f"Deleted {hits} of {len(keys)} relations. The rest matched nothing.")

    return Write(apply)


def read_graph(arguments: Arguments) -> Read:
    page = checked.page_to_read(arguments)

    def run(graph: Graph) -> Answer:
        if page is None:
            return Answer(graph_json(graph))
        entities = list(graph.first_entities())

        def relations(chosen: Sequence[EntityLine]) -> _Relations:
            whole = len(chosen) == len(entities)
            return list(graph.first_relations()) if whole else queries.touching(graph, chosen), []

        return Answer(_part(entities, page, relations))

    return Read(run, _is_large)


# For the model: what it got is not what it asked for word by word, and may be none of it.
_LOOSE: Final = b'"No entity holds all of these words. These come near, best first."'


def search_nodes(arguments: Arguments) -> Read:
    asked = checked.search_to_make(arguments)

    def run(graph: Graph) -> Answer:
        matches, loose = queries.search(graph, asked.query)
        if asked.page is None:
            body = _found(queries.Found(matches, queries.touching(graph, matches)))
        else:
            if asked.page.limit is not None and not loose:
                matches = relevance.ranked(matches, asked.query, asked.page.offset + asked.page.limit)
            body = _part(matches, asked.page, lambda chosen: (queries.touching(graph, chosen), []))
        return Answer(_limited(body[:-1] + b',"loose":' + _LOOSE + b"}") if loose else body)

    return Read(run, _is_large)


def open_nodes(arguments: Arguments) -> Read:
    names, page, depth = checked.names_to_open(arguments)

    def run(graph: Graph) -> Answer:
        opened = queries.reached(graph, names, depth)
        if page is None:
            body = _found(queries.Found(opened, *queries.joined(graph, opened, opened)))
        else:
            body = _part(opened, page, lambda chosen: queries.joined(graph, chosen, opened))
        missing = [name for name in dict.fromkeys(names) if name not in graph.entities]
        return Answer(_limited(body[:-1] + b',"notFound":' + _not_found(graph, missing) + b"}") if missing else body)

    def heavy(graph: Graph) -> bool:
        if len(names) > _HEAVY:
            return True
        return _is_large(graph) and (depth > 0 or any(name not in graph.entities for name in names))

    return Read(run, heavy)


def _taken(asked: checked.Asked[_T]) -> tuple[tuple[_T, ...], bool]:
    return asked.items, asked.exact


def _named(missing: Sequence[str]) -> str:
    """The beginning of the first name, so that a long pasted text is not repeated."""
    return quote(missing[0][:_LONGEST_NAMED])


def _hint(graph: Graph, name: str) -> str:
    found = near.near_names(graph, name)
    return f"Did you mean {' or '.join(map(quote, found))}? " if found else ""


def _not_found(graph: Graph, missing: Sequence[str]) -> bytes:
    """The names that no entity has, each with near ones. Of many names only the first gets them."""
    items: list[bytes] = []
    for number, name in enumerate(missing):
        found = near.near_names(graph, name) if number < _MOST_HINTS else []
        items.append(b'{"name":%s,"near":%s}' % (quote(name[:_LONGEST_ECHO]).encode(), strings_json(found)))
    return b"[" + b",".join(items) + b"]"


def _is_large(graph: Graph) -> bool:
    return graph.entity_lines.size + graph.relation_lines.size > _HEAVY


def _done(message: str) -> Answer:
    return Answer(b'{"success":true,"message":' + quote(message).encode() + b"}", message)


def _found(found: queries.Found) -> bytes:
    parts = [b'{"entities":', *_pieces(found.entities), b',"relations":', *_pieces(found.relations)]
    if found.external:
        parts += [b',"externalRelations":', *_pieces(found.external)]
    return _limited(b"".join((*parts, b"}")))


def _part(
    matches: Sequence[EntityLine], page: Page, relations_of: Callable[[Sequence[EntityLine]], _Relations]
) -> bytes:
    """A part of the matches, with the total and the offset of the next part."""
    if page.summary:
        return _summary(matches, relations_of(matches))
    end = len(matches) if page.limit is None else min(page.offset + page.limit, len(matches))
    chosen = matches[page.offset : end]
    if page.names_only:
        body = b'{"entities":[],"relations":[],"names":' + strings_json([line.name for line in chosen])
    else:
        body = _with_relations(chosen, relations_of(chosen), page)
    following = f',"nextOffset":{end}' if page.offset <= end < len(matches) else ""
    return _limited(body + f',"total":{len(matches)}{following}}}'.encode())


def _with_relations(chosen: Sequence[EntityLine], found: _Relations, page: Page) -> bytes:
    """An answer without its last brace: the entities, and the requested part of their relations, external ones last."""
    between, external = found
    count, first, limit = len(between) + len(external), page.relation_offset, page.relation_limit
    if limit is None and page.limit is not None:
        limit = RELATIONS_WITH_LIMIT
    last = count if limit is None else min(first + limit, count)
    inner, outer = between[first:last], external[max(first - len(between), 0) : max(last - len(between), 0)]
    body = _found(queries.Found(list(chosen), inner, outer))[:-1]
    if page.relation_limit is not None or len(inner) + len(outer) < count:
        body += b',"relationTotal":%d' % count
    return body + (b',"nextRelationOffset":%d' % last if first <= last < count else b"")


def _summary(matches: Sequence[EntityLine], found: _Relations) -> bytes:
    relations = [line for group in found for line in group]
    counts = f'"entities":{len(matches)},"relations":{len(relations)}'
    entity_types = _counts(line.entity_type for line in matches)
    relation_types = _counts(line.relation_type for line in relations)
    types = f'"entityTypes":{entity_types},"relationTypes":{relation_types}'
    return f'{{"entities":[],"relations":[],"summary":{{{counts},{types}}}}}'.encode()


def _counts(types: Iterable[str]) -> str:
    """The types with their numbers, the most frequent first, as JSON."""
    found = sorted(Counter(types).items(), key=lambda one: (-one[1], one[0]))[:_MOST_TYPES]
    return "[" + ",".join(f'{{"type":{quote(kind)},"count":{count}}}' for kind, count in found) + "]"


def _array(lines: Iterable[EntityLine] | Iterable[RelationLine]) -> bytes:
    return b"".join(_pieces(lines))


def _pieces(lines: Iterable[EntityLine] | Iterable[RelationLine]) -> Iterator[bytes]:
    """An array of records, in pieces: to join a million at once holds the interpreter for too long."""
    left: Iterator[EntityLine | RelationLine] = iter(lines)
    before = b"["
    while records := [line.served() for line in islice(left, _TOGETHER)]:
        yield before
        yield b",".join(records)
        before = b","
    yield b"[]" if before == b"[" else b"]"


def _limited(json: bytes) -> bytes:
    if len(json) > LARGEST_ANSWER:
        raise GraphError(
            f"The answer would be {len(json) >> 20} MiB of JSON; at most {LARGEST_ANSWER >> 20} MiB are sent. "
            'Ask for less: give "limit" and "offset", "namesOnly" or "summary", or fewer names.'
        )
    return json
