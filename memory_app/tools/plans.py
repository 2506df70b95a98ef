"""The nine tools: from a name and its arguments to work on the graph, and from what came out to the answer's bytes.

`plan` checks the arguments and gives back a `Read` or a `Write`; both are pure functions of a snapshot, so whoever has
them decides in which thread they run. JSON is built here as finished UTF-8: lines of the file in our own form are
served by cutting, everything else is encoded once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

from memory_app.errors import GraphError
from memory_app.graph import changes, queries
from memory_app.graph.graph import Graph
from memory_app.jsonl.records import EntityLine, RelationLine, quote, strings_json
from memory_app.tools import arguments as checked
from memory_app.tools.arguments import Arguments, Page

# Bytes of JSON in one answer: clients refuse far smaller ones, and three copies of this still fit into memory.
LARGEST_ANSWER: Final = 256 << 20
# Lines from which on a read of the whole graph, or a search that may have to fold it first, is left to a thread.
_HEAVY: Final = 1000


class Answer(NamedTuple):
    """What a tool gives back.

    `structured` is a JSON object in UTF-8, None for an error. `text` is the first text block, None where that is the
    JSON of `structured` itself; `more` are further text blocks.
    """

    structured: bytes | None
    text: str | None = None
    more: tuple[str, ...] = ()
    is_error: bool = False


class Read(NamedTuple):
    """A tool that only looks. `heavy` says whether `run` may take longer than an event loop should wait."""

    run: Callable[[Graph], Answer]
    heavy: Callable[[Graph], bool]


class Write(NamedTuple):
    """A tool that changes the graph, for `Store.submit`."""

    apply: Callable[[Graph], tuple[Graph, Answer]]


class UnknownTool(Exception):
    """There is no tool of this name: an error of the protocol, not of a tool."""


_Plan: TypeAlias = Callable[[Arguments], "Read | Write"]


def plan(name: str, arguments: object) -> Read | Write:
    """The work that a call asks for. GraphError if the arguments are wrong, UnknownTool if there is no such tool."""
    try:
        planned = _PLANS[name]
    except KeyError:
        raise UnknownTool(name) from None
    if arguments is not None and not isinstance(arguments, dict):
        raise GraphError(f"{name}: the arguments must be an object. Example: {checked.EXAMPLES[name]}")
    return planned(arguments)


def graph_json(graph: Graph) -> bytes:
    """The whole graph as `{"entities":[…],"relations":[…]}`. GraphError if that is larger than an answer may be."""
    return _found(queries.everything(graph))


def _create_entities(arguments: Arguments) -> Write:
    asked = checked.entities_to_create(arguments)

    def apply(graph: Graph) -> tuple[Graph, Answer]:
        after, made, skipped = changes.create_entities(graph, asked)
        body = b'{"entities":' + _array(made)
        if not skipped:
            return after, Answer(body + b"}")
        names = ", ".join(dict.fromkeys(skipped))
        note = f"Skipped, because they already exist: {names}. Use add_observations to add facts to them."
        return after, Answer(body + b',"skipped":' + strings_json(skipped) + b"}", more=(note,))

    return Write(apply)


def _create_relations(arguments: Arguments) -> Write:
    asked = checked.relations_to_create(arguments)

    def apply(graph: Graph) -> tuple[Graph, Answer]:
        after, made = changes.create_relations(graph, asked)
        return after, Answer(b'{"relations":' + _array(made) + b"}")

    return Write(apply)


def _add_observations(arguments: Arguments) -> Write:
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


def _delete_entities(arguments: Arguments) -> Write:
    asked = checked.entities_to_delete(arguments)

    def apply(graph: Graph) -> tuple[Graph, Answer]:
        after, missing = changes.delete_entities(graph, asked)
        if not missing:
            return after, _done("Entities deleted successfully")
        hits = len(asked) - len(missing)
        return after, _done(f"Deleted {hits} of {len(asked)} entities. Not found: {', '.join(dict.fromkeys(missing))}")

    return Write(apply)


def _delete_observations(arguments: Arguments) -> Write:
    asked = checked.observations_to_delete(arguments)

    def apply(graph: Graph) -> tuple[Graph, Answer]:
        after, hits, missing = changes.delete_observations(graph, asked)
        total = sum(len(deletion.observations) for deletion in asked)
        if hits == total and not missing:
            return after, _done("Observations deleted successfully")
        message = f"Deleted {hits} of {total} observations."
        if missing:
            message += f" Entities not found: {', '.join(dict.fromkeys(missing))}"
        return after, _done(message)

    return Write(apply)


def _delete_relations(arguments: Arguments) -> Write:
    asked = checked.relations_to_delete(arguments)

    def apply(graph: Graph) -> tuple[Graph, Answer]:
        after, hits = changes.delete_relations(graph, asked)
        if hits == len(asked):
            return after, _done("Relations deleted successfully")
        return after, _done(f"Deleted {hits} of {len(asked)} relations. The rest matched nothing.")

    return Write(apply)


def _read_graph(arguments: Arguments) -> Read:
    page = checked.page_to_read(arguments)

    def run(graph: Graph) -> Answer:
        if page is None:
            return Answer(graph_json(graph))
        return Answer(_page(graph, list(graph.first_entities()), page))

    return Read(run, _is_large)


def _search_nodes(arguments: Arguments) -> Read:
    asked = checked.search_to_make(arguments)

    def run(graph: Graph) -> Answer:
        matches = queries.search(graph, asked.query)
        if asked.page is None:
            return Answer(_found(queries.Found(matches, queries.touching(graph, matches))))
        return Answer(_page(graph, matches, asked.page))

    return Read(run, _is_large)


def _open_nodes(arguments: Arguments) -> Read:
    asked = checked.names_to_open(arguments)
    return Read(lambda graph: Answer(_found(queries.open_nodes(graph, asked))), lambda graph: len(asked) > _HEAVY)


_PLANS: Final[dict[str, _Plan]] = {
    "create_entities": _create_entities,
    "create_relations": _create_relations,
    "add_observations": _add_observations,
    "delete_entities": _delete_entities,
    "delete_observations": _delete_observations,
    "delete_relations": _delete_relations,
    "read_graph": _read_graph,
    "search_nodes": _search_nodes,
    "open_nodes": _open_nodes,
}

READS: Final = frozenset({"read_graph", "search_nodes", "open_nodes"})
"""The tools that change nothing: all that a read-only server offers."""


def _is_large(graph: Graph) -> bool:
    return graph.entity_lines.size + graph.relation_lines.size > _HEAVY


def _done(message: str) -> Answer:
    return Answer(b'{"success":true,"message":' + quote(message).encode() + b"}", message)


def _found(found: queries.Found) -> bytes:
    parts = [b'{"entities":', _array(found.entities), b',"relations":', _array(found.relations)]
    if found.external:
        parts += [b',"externalRelations":', _array(found.external)]
    return _limited(b"".join((*parts, b"}")))


def _page(graph: Graph, matches: Sequence[EntityLine], page: Page) -> bytes:
    """A part of what matched, with how much there is in all and where the next part begins."""
    end = len(matches) if page.limit is None else min(page.offset + page.limit, len(matches))
    chosen = matches[page.offset : end]
    if page.names_only:
        body = b'{"entities":[],"relations":[],"names":' + strings_json([line.name for line in chosen])
    else:
        body = _found(queries.Found(list(chosen), queries.touching(graph, chosen)))[:-1]
    following = f',"nextOffset":{end}' if page.offset <= end < len(matches) else ""
    return _limited(body + f',"total":{len(matches)}{following}}}'.encode())


def _array(lines: Iterable[EntityLine] | Iterable[RelationLine]) -> bytes:
    return b"[" + b",".join([line.served() for line in lines]) + b"]"


def _limited(json: bytes) -> bytes:
    if len(json) > LARGEST_ANSWER:
        raise GraphError(
            f"The answer would be {len(json) >> 20} MiB of JSON; at most {LARGEST_ANSWER >> 20} MiB are sent. "
            'Ask for less: give "limit" and "offset", or "namesOnly", to read_graph or search_nodes; '
            "give fewer names to open_nodes."
        )
    return json
