"""The nine tools as a client lists them, and the instructions that a model reads before it calls one.

Plain data in the form it has on the wire; nothing changes it. Rules that clients enforce:
- No `$ref`, no `anyOf`, `oneOf`, `allOf`, no lists of types: several clients refuse them. A key that may be absent is
  simply not required.
- Every property is described; every description of a tool ends in one example that can be copied.
- Output schemas name every key that can appear and close the object, so an undeclared key shows in any test.
  Input schemas are left open, because unknown arguments are passed over.
- Input schemas say what is right. What is understood beyond that is not advertised; see arguments.

Names, inputs and meaning are those of the npm server.
"""

from __future__ import annotations

from typing import Any, Final

from memory_app.tools.arguments import EXAMPLES, LONGEST_QUERY

Schema = dict[str, Any]

INSTRUCTIONS: Final = (
    "A lasting memory that outlives this conversation: a knowledge graph of entities (people, projects, places, "
    "events, ideas), of observations (one fact each, kept with an entity) and of relations between entities.\n"
    "Search it (search_nodes) when the user refers to themselves, to earlier conversations, or to people, projects "
    "and preferences that may be known; open_nodes shows one entity and what it is connected to.\n"
    "Store what will matter later and is stated rather than guessed: create_entities for what is new, "
    "add_observations for new facts about what is there, create_relations for how things belong together. Search "
    "before you create, so that nothing is there twice under two names. Delete what has become wrong. Never store "
    "passwords, keys or anything the user does not want kept."
)


def _text(description: str) -> Schema:
    return {"type": "string", "description": description}


def _texts(description: str, item: str) -> Schema:
    return {"type": "array", "description": description, "items": _text(item)}


def _object(properties: Schema, *optional: str) -> Schema:
    """An object whose properties are all required but the `optional` ones."""
    required = [name for name in properties if name not in optional]
    schema: Schema = {"type": "object", "properties": properties}
    return {**schema, "required": required} if required else schema  # older JSON Schema has no empty `required`


def _array(description: str, item: Schema) -> Schema:
    return {"type": "array", "description": description, "items": item}


def _closed(schema: Schema) -> Schema:
    """`schema` for what we return: it holds the declared keys and no others."""
    return {**schema, "additionalProperties": False}


_ENTITY: Final = _object(
    {
        "name": _text("The entity's name: short, unique in the memory, written the same way every time."),
        "entityType": _text('What kind of thing it is, for example "person", "project" or "place".'),
        "observations": _texts("Facts about it; may be empty.", "One fact, short and complete in itself."),
    }
)
_RELATION: Final = _object(
    {
        "from": _text("Name of the entity where the relation starts."),
        "to": _text("Name of the entity where the relation ends."),
        "relationType": _text('How "from" relates to "to", in the active voice, for example "works at".'),
    }
)
_PAGE: Final[Schema] = {
    "limit": {"type": "integer", "minimum": 1, "description": "Return this many entities at most. Optional."},
    "offset": {"type": "integer", "minimum": 0, "description": "Skip this many entities first. Optional."},
    "namesOnly": {"type": "boolean", "description": "Return only the names of the entities. Optional."},
}

_ENTITIES_OUT: Final = _array("The entities, in the order in which they were stored.", _closed(_ENTITY))
_RELATIONS_OUT: Final = _array("The relations that touch these entities.", _closed(_RELATION))
_PART_OF_GRAPH: Final = _closed(
    _object(
        {
            "entities": _ENTITIES_OUT,
            "relations": _RELATIONS_OUT,
            "total": {
                "type": "integer",
                "minimum": 0,
                "description": "How many entities there are in all. Present if limit, offset or namesOnly was given.",
            },
            "nextOffset": {
                "type": "integer",
                "minimum": 1,
                "description": "The offset of the next part. Present if more entities follow.",
            },
            "names": _texts("Names of the entities. Present if namesOnly was true.", "Name of an entity."),
        },
        "total",
        "nextOffset",
        "names",
    )
)
_DELETED: Final = _closed(
    _object(
        {
            "success": {"type": "boolean", "description": "true: the call was carried out."},
            "message": _text("What was deleted, and what was not found."),
        }
    )
)


def _tool(
    name: str,
    title: str,
    description: str,
    inputs: Schema,
    output: Schema,
    *,
    reads: bool = False,
    deletes: bool = False,
) -> Schema:
    return {
        "name": name,
        "title": title,
        "description": f"{description} Example: {EXAMPLES[name]}",
        "inputSchema": inputs,
        "outputSchema": output,
        "annotations": {
            "readOnlyHint": reads,
            "destructiveHint": deletes,
            "idempotentHint": reads or deletes,
            "openWorldHint": False,
        },
    }


TOOLS: Final[tuple[Schema, ...]] = (
    _tool(
        "create_entities",
        "Create Entities",
        "Store new people, projects, places, events or ideas, each with its type and first facts. Use it for what the "
        "memory does not know yet: search_nodes first. An entity whose name exists is skipped and its facts are not "
        'added; use add_observations for those. "entities" is an array of objects, not a string.',
        _object({"entities": _array("The entities to create.", _ENTITY)}),
        _closed(
            _object(
                {
                    "entities": _array("The entities that were created.", _closed(_ENTITY)),
                    "skipped": _texts("Names that existed already. Present if there were any.", "Name of an entity."),
                },
                "skipped",
            )
        ),
    ),
    _tool(
        "create_relations",
        "Create Relations",
        "Connect entities that are both stored: who works where, what belongs to what. Write the relation in the "
        "active voice, read from left to right. One that exists is left out. If an entity is missing, nothing is "
        "stored: create it first.",
        _object({"relations": _array("The relations to create.", _RELATION)}),
        _closed(_object({"relations": _array("The relations that were created.", _closed(_RELATION))})),
    ),
    _tool(
        "add_observations",
        "Add Observations",
        'Add facts to entities that exist. The keys of each item are "entityName" and "contents", and "contents" is an '
        "array of strings, one fact each. Facts that an entity has already are left out. If an entity is missing, "
        "nothing is stored: create it first.",
        _object(
            {
                "observations": _array(
                    "What to add, one item for each entity.",
                    _object(
                        {
                            "entityName": _text("Name of the entity to add to, exactly as it is stored."),
                            "contents": _texts("The facts to add.", "One fact, short and complete in itself."),
                        }
                    ),
                )
            }
        ),
        _closed(
            _object(
                {
                    "results": _array(
                        "One item for each item of the call.",
                        _closed(
                            _object(
                                {
                                    "entityName": _text("Name of the entity."),
                                    "addedObservations": _texts("The facts that were new to it.", "One fact."),
                                }
                            )
                        ),
                    )
                }
            )
        ),
    ),
    _tool(
        "delete_entities",
        "Delete Entities",
        "Delete entities with all their observations and every relation that touches them. Use it when the user wants "
        "something forgotten, or for duplicates. There is no undo. Names that do not exist are reported, not an error.",
        _object({"entityNames": _texts("Names of the entities to delete.", "Name of an entity, exactly as stored.")}),
        _DELETED,
        deletes=True,
    ),
    _tool(
        "delete_observations",
        "Delete Observations",
        "Delete single facts from entities, for example when one has become wrong; store the new fact with "
        "add_observations. Each text must equal the stored one exactly. What does not exist is reported, not an error.",
        _object(
            {
                "deletions": _array(
                    "What to delete, one item for each entity.",
                    _object(
                        {
                            "entityName": _text("Name of the entity, exactly as it is stored."),
                            "observations": _texts("The facts to delete.", "One fact, exactly as it is stored."),
                        }
                    ),
                )
            }
        ),
        _DELETED,
        deletes=True,
    ),
    _tool(
        "delete_relations",
        "Delete Relations",
        "Delete relations; the entities stay. All three parts must equal the stored ones exactly. What does not exist "
        "is reported, not an error.",
        _object({"relations": _array("The relations to delete.", _RELATION)}),
        _DELETED,
        deletes=True,
    ),
    _tool(
        "read_graph",
        "Read Graph",
        "Read everything that is stored. For a large memory use search_nodes instead, ask for the names only "
        '(namesOnly), or read in parts: give "limit", and "offset" with the "nextOffset" of the part before. Without '
        "arguments the answer is whole.",
        _object(_PAGE, *_PAGE),
        _PART_OF_GRAPH,
        reads=True,
    ),
    _tool(
        "search_nodes",
        "Search Nodes",
        "Find entities by a word or part of a word in their name, type or observations; capitals and accents make no "
        "difference. If no entity holds the whole query, those that hold all of its words are found. Use it at the "
        'start of a conversation and before creating anything. "limit", "offset" and "namesOnly" cut long answers.',
        _object(
            {
                "query": {
                    "type": "string",
                    "maxLength": LONGEST_QUERY,
                    "description": "A word or a few words to look for.",
                },
                **_PAGE,
            },
            *_PAGE,
        ),
        _PART_OF_GRAPH,
        reads=True,
    ),
    _tool(
        "open_nodes",
        "Open Nodes",
        "Read entities whose names you know, with all their observations, the relations between them, and those that "
        "lead to other entities (externalRelations), whose names you can open next. Unknown names are passed over.",
        _object({"names": _texts("Names of the entities to read.", "Name of an entity, exactly as it is stored.")}),
        _closed(
            _object(
                {
                    "entities": _ENTITIES_OUT,
                    "relations": _array("The relations between these entities.", _closed(_RELATION)),
                    "externalRelations": _array(
                        "The relations between one of these entities and another. Present if there are any.",
                        _closed(_RELATION),
                    ),
                },
                "externalRelations",
            )
        ),
        reads=True,
    ),
)
"""All tools, in the order in which they are listed."""
