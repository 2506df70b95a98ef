"""The nine tools, one row each: what a client lists, an example, the plan, and whether the tool only reads.

A tool is added here and nowhere else. What it takes and returns is in schemas, what it does in plans.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from memory_app.errors import GraphError
from memory_app.tools import plans, schemas
from memory_app.tools.plans import Read, Write
from memory_app.tools.schemas import Schema


class UnknownTool(Exception):
    """No tool has this name. An error of the protocol, not of a tool."""


class Tool(NamedTuple):
    """`schema` is the tool as it is listed, `example` the arguments of one correct call."""

    schema: Schema
    example: str
    plan: Callable[[object], Read | Write]
    reads: bool


def plan(name: str, arguments: object) -> Read | Write:
    """The plan for a call. GraphError if the arguments are wrong, UnknownTool if there is no such tool."""
    try:
        tool = TOOLS[name]
    except KeyError:
        raise UnknownTool(name) from None
    try:
        return tool.plan(arguments)
    except GraphError as error:
        raise GraphError(f"{error} Nothing was done. Example of a right call: {tool.example}") from None


def reads(name: str) -> bool:
    """Whether this is one of the three tools that only read."""
    return name in TOOLS and TOOLS[name].reads


def nearest(name: str, offered: Iterable[str]) -> str:
    """The tool with the most similar name."""
    wanted = name[:_LONGEST_NAME].lower()
    return max(offered, key=lambda tool: SequenceMatcher(None, wanted, tool).ratio())


_LONGEST_NAME: Final = 100
"""Characters of an unknown tool's name that are compared: a longer one is no name."""


def _tool(
    name: str,
    title: str,
    description: str,
    example: str,
    schema: tuple[Schema, Schema],
    plan: Callable[[object], Read | Write],
    *,
    shown: bool = False,
    reads: bool = False,
    deletes: bool = False,
) -> Tool:
    """`shown`: the description ends with the example, because a model could guess wrong."""
    listed = {
        "name": name,
        "title": title,
        "description": f"{description} Example: {example}" if shown else description,
        "inputSchema": schema[0],
        "outputSchema": schema[1],
        "annotations": {
            "readOnlyHint": reads,
            "destructiveHint": deletes,
            "idempotentHint": reads or deletes,
            "openWorldHint": False,
        },
    }
    return Tool(listed, example, plan, reads)


_ROWS: Final = (
    _tool(
        "create_entities",
        "Create Entities",
        "Store new people, projects, places, events or ideas; search_nodes first. An existing name is skipped with its "
        "facts: use add_observations.",
        '{"entities":[{"name":"Ann","entityType":"person","observations":["Likes green tea"]}]}',
        (schemas.ENTITIES_IN, schemas.CREATED),
        plans.create_entities,
        shown=True,
    ),
    _tool(
        "create_relations",
        "Create Relations",
        "Connect stored entities. If one is missing nothing is stored: create it first.",
        '{"relations":[{"from":"Ann","to":"Acme","relationType":"works at"}]}',
        (schemas.RELATIONS_IN, schemas.RELATED),
        plans.create_relations,
    ),
    _tool(
        "add_observations",
        "Add Observations",
        "Add facts to stored entities. If one is missing nothing is stored: create it first.",
        '{"observations":[{"entityName":"Ann","contents":["Moved to Lisbon in 2024"]}]}',
        (schemas.ADDITIONS_IN, schemas.ADDED),
        plans.add_observations,
        shown=True,
    ),
    _tool(
        "delete_entities",
        "Delete Entities",
        "Delete entities with all their facts and relations. Copies stay up to 30 days; a person can undo this.",
        '{"entityNames":["Ann"]}',
        (schemas.ENTITY_NAMES_IN, schemas.DELETED),
        plans.delete_entities,
        deletes=True,
    ),
    _tool(
        "delete_observations",
        "Delete Observations",
        "Delete single facts, for example when one has become wrong; then add the new one. A person can undo this.",
        '{"deletions":[{"entityName":"Ann","observations":["Likes green tea"]}]}',
        (schemas.DELETIONS_IN, schemas.DELETED),
        plans.delete_observations,
        shown=True,
        deletes=True,
    ),
    _tool(
        "delete_relations",
        "Delete Relations",
        "Delete relations; the entities stay. All three parts must be as stored. A person can undo this.",
        '{"relations":[{"from":"Ann","to":"Acme","relationType":"works at"}]}',
        (schemas.RELATIONS_IN, schemas.DELETED),
        plans.delete_relations,
        deletes=True,
    ),
    _tool(
        "read_graph",
        "Read Graph",
        "Read everything. Of a large memory ask for the summary, for namesOnly, or for parts: limit, then offset = "
        "nextOffset.",
        '{"limit":50,"offset":0}',
        (schemas.READ_IN, schemas.PART_OF_GRAPH),
        plans.read_graph,
        reads=True,
    ),
    _tool(
        "search_nodes",
        "Search Nodes",
        "Find entities by words in their name, type or facts. Use it at the start of a conversation and before "
        "creating anything. Give limit where much may match.",
        '{"query":"green tea"}',
        (schemas.SEARCH_IN, schemas.SEARCHED),
        plans.search_nodes,
        reads=True,
    ),
    _tool(
        "open_nodes",
        "Open Nodes",
        "Read entities by name, with the relations between them and those that lead to others (externalRelations). "
        "relationLimit cuts an entity with many.",
        '{"names":["Ann","Acme"]}',
        (schemas.OPEN_IN, schemas.OPENED),
        plans.open_nodes,
        reads=True,
    ),
)

TOOLS: Final[Mapping[str, Tool]] = {tool.schema["name"]: tool for tool in _ROWS}
"""The rows by name, in the order in which they are listed."""

LISTED: Final[tuple[Schema, ...]] = tuple(tool.schema for tool in _ROWS)
"""All tools as a client lists them."""
