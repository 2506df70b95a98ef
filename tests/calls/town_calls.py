"""A third list of calls as models make them, written without a look at the code that reads them or at the other lists.

The memory holds what STORED says. A plain call succeeds: its answer holds the text beside it, and so does the memory
after a writing tool (after a deletion no more). A junk call is refused and changes nothing.
"""

from typing import Final

Call = tuple[str, object, str]

STORED: Final = {
    "entities": [
        {"name": "Ann Moor", "entityType": "person", "observations": ["Likes tea", "Born in 1980"]},
        {"name": "Bob", "entityType": "person", "observations": ["Plays chess, badly"]},
        {"name": "Salt, Pepper & Co", "entityType": "company", "observations": ["Sells spices"]},
        {"name": "Leeds", "entityType": "city", "observations": []},
    ],
    "relations": [
        {"from": "Ann Moor", "to": "Leeds", "relationType": "lives_in"},
        {"from": "Bob", "to": "Ann Moor", "relationType": "knows"},
    ],
}

PLAIN: Final[list[Call]] = [
    # the whole of the arguments in another form
    ("search_nodes", '{"query": "tea"}', "Ann Moor"),
    ("read_graph", [], "Leeds"),
    ("read_graph", "", "Leeds"),
    ("read_graph", None, "Leeds"),
    ("read_graph", "{}", "Leeds"),
    ("open_nodes", '```json\n{"names": ["Bob"]}\n```', "chess"),
    ("create_entities", '{"entities": [{"name": "Cleo", "entityType": "cat", "observations": ["Purrs",]},]}', "Purrs"),
    ("create_entities", "{'entities': [{'name': 'Dora', 'entityType': 'person', 'observations': ['Sails']}]}", "Sails"),
    # wrapped once more
    ("search_nodes", {"input": {"query": "tea"}}, "Ann Moor"),
    ("open_nodes", {"arguments": {"names": ["Bob"]}}, "chess"),
    (
        "create_entities",
        {"create_entities": {"entities": [{"name": "Eve", "entityType": "person", "observations": ["Runs"]}]}},
        "Runs",
    ),
    ("add_observations", {"params": {"observations": [{"entityName": "Bob", "contents": ["Eats figs"]}]}}, "Eats figs"),
    ("search_nodes", {"parameters": {"query": "spices"}}, "Salt, Pepper"),
    # no outer key
    ("create_entities", [{"name": "Fay", "entityType": "person", "observations": ["Swims"]}], "Swims"),
    ("create_entities", {"name": "Gus", "entityType": "dog", "observations": ["Barks"]}, "Barks"),
    ("create_relations", {"from": "Bob", "to": "Leeds", "relationType": "visited"}, "visited"),
    ("add_observations", {"entityName": "Bob", "contents": ["Left-handed"]}, "Left-handed"),
    ("open_nodes", ["Bob"], "chess"),
    ("delete_relations", {"from": "Bob", "to": "Ann Moor", "relationType": "knows"}, "knows"),
    # one for many
    ("open_nodes", {"names": "Ann Moor"}, "Likes tea"),
    ("open_nodes", {"names": "Salt, Pepper & Co"}, "Sells spices"),
    ("add_observations", {"observations": {"entityName": "Bob", "contents": "Owns a kite"}}, "Owns a kite"),
    (
        "create_entities",
        {"entities": {"name": "Hal", "entityType": "robot", "observations": "Sings Daisy"}},
        "Sings Daisy",
    ),
    ("create_relations", {"relations": {"from": "Bob", "to": "Leeds", "relationType": "left"}}, "left"),
    ("delete_observations", {"deletions": {"entityName": "Bob", "observations": "Plays chess, badly"}}, "Plays chess"),
    ("delete_entities", {"entityNames": "Leeds"}, "Leeds"),
    # JSON text in place of an array
    ("open_nodes", {"names": '["Bob", "Leeds"]'}, "chess"),
    ("create_entities", {"entities": '[{"name": "Ida", "entityType": "person", "observations": ["Knits"]}]'}, "Knits"),
    ("create_relations", {"relations": '[{"from": "Bob", "to": "Leeds", "relationType": "hates"}]'}, "hates"),
    ("delete_entities", {"entityNames": '["Bob"]'}, "chess"),
    ("add_observations", {"observations": [{"entityName": "Bob", "contents": '["Has a boat", "Rows"]'}]}, "Has a boat"),
    # other spellings
    ("create_entities", {"entities": [{"name": "Jim", "type": "person", "observations": ["Cooks"]}]}, "Cooks"),
    ("create_entities", {"entities": [{"name": "Kit", "entity_type": "person", "facts": ["Paints"]}]}, "Paints"),
    ("create_relations", {"relations": [{"source": "Bob", "target": "Leeds", "type": "likes"}]}, "likes"),
    ("create_relations", {"relations": [{"subject": "Bob", "predicate": "fears", "object": "Leeds"}]}, "fears"),
    ("create_relations", {"relations": [{"from": "Bob", "to": "Leeds", "relation_type": "mapped"}]}, "mapped"),
    ("add_observations", {"observations": [{"entity_name": "Bob", "content": "Snores"}]}, "Snores"),
    ("add_observations", {"observations": [{"name": "Bob", "observations": ["Dances"]}]}, "Dances"),
    ("delete_entities", {"entity_names": ["Bob"]}, "chess"),
    ("delete_entities", {"names": ["Bob"]}, "chess"),
    ("delete_observations", {"deletions": [{"entityName": "Ann Moor", "contents": ["Likes tea"]}]}, "Likes tea"),
    ("search_nodes", {"q": "spices"}, "Salt, Pepper"),
    ("search_nodes", {"text": "spices"}, "Salt, Pepper"),
    ("open_nodes", {"name": "Bob"}, "chess"),
    ("open_nodes", {"nodes": ["Bob"]}, "chess"),
    # small things
    ("create_entities", {"entities": [{"name": "Leo", "entityType": "lion"}]}, "lion"),
    ("create_entities", {"entities": [{"name": "Mia", "entityType": "person", "observations": [1984, True]}]}, "1984"),
    ("create_entities", {"entities": [{"name": "Nan", "entityType": "person", "observations": None}]}, "Nan"),
    ("open_nodes", {"names": ["Bob"], "verbose": True}, "chess"),
    ("search_nodes", {"query": "person", "limit": "1"}, "person"),
    ("read_graph", {"names_only": True}, "Leeds"),
    ("read_graph", {"summary": "true"}, "person"),
    ("search_nodes", {"query": 1980}, "Ann Moor"),
    (
        "create_entities",
        {"entities": [{"name": "Ono", "entityType": "person", "observations": ["[draft] of a poem"]}]},
        "[draft] of a poem",
    ),
    (
        "add_observations",
        {"observations": [{"entityName": "Bob", "contents": "[x, y] are his axes"}]},
        "[x, y] are his axes",
    ),
]

JUNK: Final[list[tuple[str, object]]] = [
    ("delete_entities", {"entityNames": "*"}),
    ("delete_entities", {"entityNames": ["*"]}),
    ("delete_entities", {"entityNames": "Bob, Leeds"}),
    ("delete_entities", {"entityNames": "Bobby"}),
    ("delete_entities", {}),
    ("delete_entities", {"entityNames": None}),
    ("delete_observations", {"deletions": [{"entityName": "Bob"}]}),
    ("delete_observations", {"deletions": [{"observations": ["Likes tea"]}]}),
    ("delete_relations", {"relations": [{"from": "Bob", "relationType": "knows"}]}),
    ("delete_relations", {"relations": "Bob"}),
    ("create_entities", {"entities": [{"name": "", "entityType": "person", "observations": []}]}),
    ("create_entities", {"entities": [{"entityType": "person", "observations": ["No name"]}]}),
    ("create_entities", {"entities": "Paul is a person"}),
    ("create_entities", {"entities": 5}),
    ("create_entities", {"entities": [{"name": {"first": "Q"}, "entityType": "person", "observations": []}]}),
    (
        "create_entities",
        {
            "entities": [{"name": "Rex", "entityType": "dog", "observations": ["Old"]}],
            "relations": [{"from": "Rex", "to": "Bob", "relationType": "owned_by"}],
        },
    ),
    ("create_relations", {"relations": [{"from": "Bob", "to": "Nowhere", "relationType": "visited"}]}),
    ("create_relations", {"relations": [{"from": "Bob", "relationType": "visited"}]}),
    ("add_observations", {"observations": [{"entityName": "Nobody", "contents": ["Gone"]}]}),
    ("add_observations", {"observations": [{"entityName": "Bob"}]}),
    ("add_observations", {"observations": ["Bob likes figs"]}),
    ("add_observations", {"observations": [{"entityName": "Bob", "contents": [{"deep": [1]}]}]}),
    ("search_nodes", {}),
    ("search_nodes", {"query": None}),
    ("open_nodes", {"names": None}),
]

# Answered: what was asked for is not there, and the answer says so.
MISSES: Final[list[tuple[str, object]]] = [
    ("delete_entities", {"entityNames": [{"entityName": 7, "x": []}]}),
    ("search_nodes", {"query": ["a", "b"]}),
    ("open_nodes", "not json at all {"),
    ("delete_entities", {"entityNames": [""], "all": True, "confirm": "yes"}),
    ("open_nodes", {"names": 3.5, "x": {}}),
]

LATE_PLAIN: Final[list[Call]] = [
    ("open_nodes", {"open_nodes": {"names": ["Bob"]}}, "chess"),
    ("search_nodes", {"search": "spices"}, "Salt, Pepper"),
    ("search_nodes", {"searchQuery": "spices"}, "Salt, Pepper"),
    ("search_nodes", "spices", "Salt, Pepper"),
    ("read_graph", {"random_string": "x"}, "Leeds"),
    ("open_nodes", {"entityNames": ["Bob"]}, "chess"),
    ("delete_entities", ["Bob"], "chess"),
    ("delete_entities", {"entities": ["Bob"]}, "chess"),
    ("create_entities", {"nodes": [{"name": "Sid", "entityType": "person", "observations": ["Whistles"]}]}, "Whistles"),
    (
        "create_entities",
        {"entities": [{"entityName": "Tia", "entityType": "person", "observations": ["Hums"]}]},
        "Hums",
    ),
    ("create_entities", {"entities": [{"name": "Uma", "entityType": "person", "observation": "Juggles"}]}, "Juggles"),
    ("create_entities", {"entity": {"name": "Val", "entityType": "person", "observations": ["Skis"]}}, "Skis"),
    (
        "create_relations",
        {"relations": [{"from_entity": "Bob", "to_entity": "Leeds", "relation": "praises"}]},
        "praises",
    ),
    ("create_relations", {"relationships": [{"from": "Bob", "to": "Leeds", "relationType": "paints"}]}, "paints"),
    ("create_relations", [{"from": "Bob", "to": "Leeds", "relationType": "films"}], "films"),
    ("add_observations", [{"entityName": "Bob", "contents": ["Yawns"]}], "Yawns"),
    ("add_observations", {"entityName": "Bob", "observations": ["Hikes"]}, "Hikes"),
    ("add_observations", {"observations": [{"entity": "Bob", "contents": ["Climbs"]}]}, "Climbs"),
    ("delete_observations", {"entityName": "Bob", "observations": ["Plays chess, badly"]}, "Plays chess"),
    ("delete_observations", {"observations": [{"entityName": "Ann Moor", "observations": ["Likes tea"]}]}, "Likes tea"),
    ("delete_relations", {"relations": [{"source": "Bob", "target": "Ann Moor", "relationType": "knows"}]}, "knows"),
    ("read_graph", {"limit": 2.0}, "Ann Moor"),
]

LATE_JUNK: Final[list[tuple[str, object]]] = [
    ("delete_entities", {"query": "Bob"}),
    ("delete_relations", {"relations": [{"from": "Bob", "to": "Ann Moor"}]}),
    ("delete_observations", {"deletions": [{"entityName": "Bob", "observations": [{"index": 0}]}]}),
    ("create_entities", {"entities": [["Ann", "person"]]}),
    ("create_entities", {"entities": [None]}),
    ("create_relations", {"relations": [{"from": "Bob", "to": "Leeds"}]}),
    ("create_relations", {"relations": None}),
    ("add_observations", {"observations": [{"entityName": "Bob", "contents": None}]}),
]
