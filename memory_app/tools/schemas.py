"""The parts of the tools' schemas, and the instructions that a model reads before it calls one.

Plain data in the form it has on the wire; nothing changes it. Rules that clients enforce:
- No `$ref`, no `anyOf`, `oneOf`, `allOf`, no lists of types: several clients refuse them. A key that may be absent is
  simply not required.
- Every property is described, in as few words as will do, since all of it stands in the context of every conversation;
  the options that all reads take are described in read_graph alone.
- Output schemas name every key that can appear and close the object, so an undeclared key shows in any test.
  Input schemas are left open, because unknown arguments are passed over.
- Input schemas say what is right. What is understood beyond that is not advertised; see lenient.

Names, inputs and meaning are those of the npm server.
"""

from __future__ import annotations

from typing import Any, Final

from memory_app.tools.arguments import LONGEST_QUERY

Schema = dict[str, Any]

INSTRUCTIONS: Final = (
    "A lasting memory that outlives this conversation: a knowledge graph of entities (people, projects, places, "
    "events, ideas), of observations (one fact each, kept with an entity) and of relations between entities.\n"
    "Search it (search_nodes) when the user refers to themselves, to earlier conversations, or to people, projects "
    "and preferences that may be known; open_nodes shows one entity and what it is connected to.\n"
    "Store what will matter later and is stated rather than guessed: create_entities for what is new, "
    "add_observations for new facts about what is there, create_relations for how things belong together. Search "
    "before you create, so that nothing is there twice under two names. Delete what has become wrong. Never store "
    "passwords, keys or anything the user does not want kept.\n"
    "A whole answer can be too long. Ask for less: summary gives counts and types, namesOnly names; limit and "
    "relationLimit cut, and nextOffset and nextRelationOffset tell where to go on with offset and relationOffset."
)

_KIB: Final = 1024
_SIZES: Final = ((0, "empty"), (64 * _KIB, "small"), (1024 * _KIB, "large"))
"""Up to how many bytes of its file a memory is called so. A small one fits into one answer of 25,000 tokens, the most
that a client shows; of a large one a search does."""


def instructions(size: int | None) -> str:
    """The instructions for a memory whose file has this many bytes; None if the size is unknown."""
    if size is None:
        return INSTRUCTIONS
    word = next((word for most, word in _SIZES if size <= most), "very large")
    return f"{INSTRUCTIONS}\nThe memory is {word}."


def _text(description: str) -> Schema:
    return {"type": "string", "description": description}


def _texts(description: str, item: str) -> Schema:
    return {"type": "array", "description": description, "items": _text(item) if item else {"type": "string"}}


def _object(properties: Schema, *optional: str) -> Schema:
    """An object whose properties are all required except the `optional` ones."""
    required = [name for name in properties if name not in optional]
    schema: Schema = {"type": "object", "properties": properties}
    return {**schema, "required": required} if required else schema  # older JSON Schema has no empty `required`


def _array(description: str, item: Schema) -> Schema:
    return {"type": "array", "description": description, "items": item}


def _closed(schema: Schema) -> Schema:
    """`schema` for a result: it has the declared keys and no others."""
    return {**schema, "additionalProperties": False}


_ENTITY: Final = _object(
    {
        "name": _text("Short and unique."),
        "entityType": _text('For example "person".'),
        "observations": _texts("Facts, one a string; may be empty.", ""),
    }
)
_RELATION: Final = _object(
    {
        "from": _text("Entity where it starts."),
        "to": _text("Entity where it ends."),
        "relationType": _text('In active voice: "works at".'),
    }
)
_OPTIONS: Final[Schema] = {
    "limit": {"type": "integer", "description": "Most entities."},
    "offset": {"type": "integer", "description": "Entities to skip."},
    "relationLimit": {"type": "integer", "description": "Most relations."},
    "relationOffset": {"type": "integer", "description": "Relations to skip."},
    "namesOnly": {"type": "boolean", "description": "Names alone."},
    "summary": {"type": "boolean", "description": "Counts alone."},
}
_SAME_OPTIONS: Final[Schema] = {key: {"type": option["type"]} for key, option in _OPTIONS.items()}

ENTITIES_IN: Final = _object({"entities": _array("What to create.", _ENTITY)})
RELATIONS_IN: Final = _object({"relations": _array("The relations.", _RELATION)})
ADDITIONS_IN: Final = _object(
    {
        "observations": _array(
            "One item an entity.",
            _object({"entityName": _text("As stored."), "contents": _texts("New facts.", "")}),
        )
    }
)
ENTITY_NAMES_IN: Final = _object({"entityNames": _texts("Names as stored.", "")})
DELETIONS_IN: Final = _object(
    {
        "deletions": _array(
            "One item an entity.",
            _object({"entityName": _text("As stored."), "observations": _texts("Facts as stored.", "")}),
        )
    }
)
READ_IN: Final = _object(_OPTIONS, *_OPTIONS)
SEARCH_IN: Final = _object(
    {"query": {"type": "string", "maxLength": LONGEST_QUERY, "description": "A few words."}, **_SAME_OPTIONS},
    *_OPTIONS,
)
OPEN_IN: Final = _object(
    {
        "names": _texts("Names as stored.", ""),
        "depth": {"type": "integer", "description": "1 to 3: neighbours too."},
        **_SAME_OPTIONS,
    },
    "depth",
    *_OPTIONS,
)


def _number(description: str, least: int) -> Schema:
    return {"type": "integer", "minimum": least, "description": description}


_TYPE_COUNTS: Final = _closed(_object({"type": _text("A type."), "count": _number("How many have it.", 1)}))
_RELATIONS_OUT: Final = _array("The relations that touch these entities.", _closed(_RELATION))
_PART_KEYS: Final[Schema] = {
    "total": _number("How many entities there are in all. Present if a part was asked for.", 0),
    "nextOffset": _number("The offset of the next part. Present if more entities follow.", 1),
    "relationTotal": _number("How many relations there are in all. Present if only a part of them is here.", 0),
    "nextRelationOffset": _number("The relationOffset of the next part. Present if more relations follow.", 1),
    "names": _texts("Names of the entities. Present if namesOnly was true.", "Name of an entity."),
    "summary": {
        "description": "Counts, the most frequent types first, 100 at most. Present if summary was true.",
        **_closed(
            _object(
                {
                    "entities": _number("How many entities.", 0),
                    "relations": _number("How many relations.", 0),
                    "entityTypes": _array("The entities' types.", _TYPE_COUNTS),
                    "relationTypes": _array("The relations' types.", _TYPE_COUNTS),
                }
            )
        ),
    },
}
_ENTITIES_OUT: Final = _array("The entities.", _closed(_ENTITY))

CREATED: Final = _closed(
    _object(
        {
            "entities": _array("The entities that were created.", _closed(_ENTITY)),
            "similar": _texts(
                "Stored names that differ from a created one by case, spaces, marks or width alone. Present if there "
                "are any.",
                "Name of an entity.",
            ),
            "skipped": _texts("Names that existed already. Present if there were any.", "Name of an entity."),
        },
        "similar",
        "skipped",
    )
)
RELATED: Final = _closed(_object({"relations": _array("The relations that were created.", _closed(_RELATION))}))
ADDED: Final = _closed(
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
)
DELETED: Final = _closed(
    _object(
        {
            "success": {"type": "boolean", "description": "true: the call was carried out."},
            "message": _text("What was deleted, and what was not found."),
        }
    )
)
PART_OF_GRAPH: Final = _closed(
    _object({"entities": _ENTITIES_OUT, "relations": _RELATIONS_OUT, **_PART_KEYS}, *_PART_KEYS)
)
SEARCHED: Final = _closed(
    _object(
        {
            "entities": _ENTITIES_OUT,
            "relations": _RELATIONS_OUT,
            **_PART_KEYS,
            "loose": _text("Present if no entity holds all words of the query and these only come near."),
        },
        *_PART_KEYS,
        "loose",
    )
)
OPENED: Final = _closed(
    _object(
        {
            "entities": _ENTITIES_OUT,
            "relations": _array("The relations between these entities.", _closed(_RELATION)),
            "externalRelations": _array(
                "The relations between one of these entities and another. Present if there are any.",
                _closed(_RELATION),
            ),
            "notFound": _array(
                "The asked names that no entity has. Present if there are any.",
                _closed(
                    _object(
                        {
                            "name": _text("The name as asked."),
                            "near": _texts("Stored names that may be meant.", "Name of an entity."),
                        }
                    )
                ),
            ),
            **_PART_KEYS,
        },
        "externalRelations",
        "notFound",
        *_PART_KEYS,
    )
)
