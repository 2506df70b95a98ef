# ruff: noqa: E501 (a row is read across)
"""Tool calls as models make them: malformed but plain ones beside the right one, ones that must fail, texts that must stay."""

from __future__ import annotations

from typing import Any, Final

CC: Final = {"name": "Cid", "entityType": "person", "observations": ["likes jazz"]}
RR: Final = {"from": "Bob", "to": "Ann", "relationType": "trusts"}
AA: Final = {"entityName": "Ann", "contents": ["rides a horse"]}
DO: Final = {"entityName": "Ann", "observations": ["likes tea"]}
KN: Final = {"from": "Ann", "to": "Bob", "relationType": "knows"}

SAME: Final[tuple[tuple[str, Any, tuple[Any, ...]], ...]] = (
    ("create_entities", {"entities": [CC]}, (
        '{"entities":[{"name":"Cid","entityType":"person","observations":["likes jazz"]}]}',
        {"entities": CC}, [CC], CC, {"entity": CC}, {"entity": [CC]}, {"nodes": [CC]}, {"items": [CC]},
        {"entities": '[{"name":"Cid","entityType":"person","observations":["likes jazz"]}]'},
        {"entities": '{"name":"Cid","entityType":"person","observations":["likes jazz"]}'},
        {"entities": ['{"name":"Cid","entityType":"person","observations":["likes jazz"]}']},
        {"entities": "[{'name': 'Cid', 'entityType': 'person', 'observations': ['likes jazz']}]"},
        {"entities": '[{"name":"Cid","entityType":"person","observations":["likes jazz"],},]'},
        {"entities": '```json\n[{"name":"Cid","entityType":"person","observations":["likes jazz"]}]\n```'},
        '```json\n{"entities":[{"name":"Cid","entityType":"person","observations":["likes jazz"]}]}\n```',
        {"entities": [[CC]]}, {"entities": {"entities": [CC]}}, {"input": {"entities": [CC]}}, {"arguments": {"entities": [CC]}},
        {"params": {"entities": [CC]}}, {"create_entities": {"entities": [CC]}}, {"args": {"entities": [CC]}}, {"parameters": {"entities": [CC]}},
        {"arguments": '{"entities":[{"name":"Cid","entityType":"person","observations":["likes jazz"]}]}'}, {"kwargs": {"entities": [CC]}},
        {"entities": [{"name": "Cid", "type": "person", "observations": ["likes jazz"]}]}, {"entities": [{"name": "Cid", "entity_type": "person", "observations": ["likes jazz"]}]},
        {"entities": [{"name": "Cid", "entityType": "person", "observations": "likes jazz"}]}, {"entities": [{"name": "Cid", "entityType": "person", "observation": "likes jazz"}]},
        {"entities": [{"name": "Cid", "entityType": "person", "facts": ["likes jazz"]}]}, {"entities": [{"entityName": "Cid", "entityType": "person", "contents": ["likes jazz"]}]},
        {"entities": [{"entity_name": "Cid", "entity_type": "person", "content": "likes jazz"}]}, {"entities": [{"Name": "Cid", "EntityType": "person", "Observations": ["likes jazz"]}]},
        {"entities": [{"name": "Cid", "entityType": "person", "observations": '["likes jazz"]'}]}, {"entities": [{"name": "Cid", "entityType": "person", "observations": [{"content": "likes jazz"}]}]},
        {"entities": [{"name": "Cid", "kind": "person", "notes": ["likes jazz"]}]}, {"entities": [{"name": ["Cid"], "entityType": ["person"], "observations": [["likes jazz"]]}]},
        {"entities": [CC], "relations": []}, {"entities": [CC], "reason": "the user said so"}, {"entities": [{**CC, "relations": []}]}, {"ENTITIES": [CC]},
        {"entities": {"0": CC}}, {"entities": {"Cid": {"entityType": "person", "observations": ["likes jazz"]}}}, {"name": "Cid", "type": "person", "observations": "likes jazz"},
        {"entities": [{"name": "Cid", "entityType": "person", "observations": [{"text": "likes jazz"}]}]}, {"entities": [{"type": "entity", **CC}]}, {"entities": [{"entity": CC}]},
        {"input": '{"entities": [{"name": "Cid", "entityType": "person", "observations": ["likes jazz"]}]}'}, {"entities": [{"name": "Cid", "entityType": "person", "observations": ["likes jazz"], "relations": None}]},
    )),
    ("create_entities", {"entities": [{"name": "Cid", "entityType": "person", "observations": []}]}, (
        {"entities": [{"name": "Cid", "entityType": "person"}]}, {"entities": [{"name": "Cid", "entityType": "person", "observations": None}]}, {"name": "Cid", "entityType": "person"},
        {"entities": [{"name": "Cid", "entityType": "person", "observations": ""}]}, {"entities": [{"name": "Cid", "entityType": "person", "observations": {}}]},
    )),
    ("create_entities", {"entities": [{"name": "Unit", "entityType": "7", "observations": ["42", "true", "1.5"]}]}, (
        {"entities": [{"name": "Unit", "entityType": 7, "observations": [42, True, 1.5]}]}, {"entities": [{"name": "Unit", "type": 7, "observations": [42, "true", 1.5]}]},
    )),
    ("create_entities", {"entities": [{"name": "2024", "entityType": "year", "observations": []}]}, ({"entities": [{"name": 2024, "entityType": "year", "observations": []}]},)),
    ("create_relations", {"relations": [RR]}, (
        {"relations": RR}, [RR], RR, {"relation": RR}, {"edges": [RR]}, '{"relations":[{"from":"Bob","to":"Ann","relationType":"trusts"}]}',
        {"relations": '[{"from":"Bob","to":"Ann","relationType":"trusts"}]'}, {"relations": "[{'from': 'Bob', 'to': 'Ann', 'relationType': 'trusts'}]"},
        {"relations": [{"source": "Bob", "target": "Ann", "relationType": "trusts"}]}, {"relations": [{"subject": "Bob", "predicate": "trusts", "object": "Ann"}]},
        {"relations": [{"from": "Bob", "to": "Ann", "type": "trusts"}]}, {"relations": [{"from": "Bob", "to": "Ann", "relation_type": "trusts"}]}, {"relations": [{"from": "Bob", "to": "Ann", "relation": "trusts"}]},
        {"relations": [{"from_entity": "Bob", "to_entity": "Ann", "relation_type": "trusts"}]}, {"relations": [{"fromEntity": "Bob", "toEntity": "Ann", "relationType": "trusts"}]},
        {"relations": [{"source": "Bob", "target": "Ann", "type": "trusts"}]}, {"relations": [{"from": "Bob", "to": "Ann", "label": "trusts"}]}, {"relationships": [RR]},
        {"create_relations": [RR]}, {"input": {"relations": [RR]}}, {"relations": [{"type": "relation", **RR}]}, {"relations": {"relations": [RR]}}, {"from": "Bob", "to": "Ann", "type": "trusts"},
        {"relations": '```\n[{"from":"Bob","to":"Ann","relationType":"trusts"},]\n```'}, {"relations": [{"From": "Bob", "To": "Ann", "RelationType": "trusts"}]}, {"relations": [{"from": {"name": "Bob"}, "to": {"name": "Ann"}, "relationType": "trusts"}]},
        {"relations": [{"from": "Bob", "to": ["Ann"], "relationType": "trusts"}]}, {"relations": [{"from_id": "Bob", "to_id": "Ann", "predicate": "trusts"}]},
    )),
    ("add_observations", {"observations": [AA]}, (
        {"observations": AA}, [AA], AA, {"observation": AA}, '{"observations":[{"entityName":"Ann","contents":["rides a horse"]}]}', {"observations": '[{"entityName":"Ann","contents":["rides a horse"]}]'},
        {"observations": [{"name": "Ann", "observations": ["rides a horse"]}]}, {"observations": [{"entityName": "Ann", "contents": "rides a horse"}]}, {"observations": [{"entityName": "Ann", "content": "rides a horse"}]},
        {"observations": [{"entity_name": "Ann", "contents": ["rides a horse"]}]}, {"observations": [{"entity": "Ann", "observation": "rides a horse"}]}, {"entityName": "Ann", "contents": "rides a horse"},
        {"entityName": "Ann", "observations": ["rides a horse"]}, {"entity": "Ann", "observations": "rides a horse"}, {"name": "Ann", "observations": ["rides a horse"]}, {"additions": [AA]}, {"params": {"observations": [AA]}},
        {"observations": [{"entityName": "Ann", "contents": [{"content": "rides a horse"}]}]}, {"observations": [{"entityName": "Ann", "text": "rides a horse"}]}, {"observations": [{"entityName": "Ann", "contents": "[\"rides a horse\"]"}]},
        {"entities": [{"name": "Ann", "observations": ["rides a horse"]}]}, {"observations": {"Ann": ["rides a horse"]}}, {"observations": {"observations": [AA]}}, {"observations": "[{'entityName': 'Ann', 'contents': ['rides a horse']}]"},
        {"entity_name": "Ann", "content": "rides a horse"}, {"add_observations": {"observations": [AA]}}, {"observations": [{"entityName": "Ann", "facts": ["rides a horse"]}]}, {"entityName": "Ann", "content": ["rides a horse"], "confidence": 0.9},
    )),
    ("delete_entities", {"entityNames": ["Bob"]}, (
        {"entityNames": "Bob"}, ["Bob"], {"names": ["Bob"]}, {"entity_names": ["Bob"]}, {"entityName": "Bob"}, {"name": "Bob"}, {"entities": ["Bob"]}, {"entityNames": '["Bob"]'}, '{"entityNames":["Bob"]}',
        {"entityNames": "['Bob']"}, {"entityNames": [{"name": "Bob"}]}, {"entities": [{"name": "Bob", "entityType": "person"}]}, {"input": {"entityNames": ["Bob"]}}, {"entityNames": [["Bob"]]}, {"names": "Bob"}, {"entityNames": {"name": "Bob"}},
    )),
    ("delete_observations", {"deletions": [DO]}, (
        {"deletions": DO}, [DO], DO, {"observations": [DO]}, {"deletions": [{"entityName": "Ann", "observations": "likes tea"}]}, {"deletions": [{"entityName": "Ann", "contents": ["likes tea"]}]},
        {"deletions": [{"entity_name": "Ann", "observations": ["likes tea"]}]}, {"deletions": '[{"entityName":"Ann","observations":["likes tea"]}]'}, {"deletion": DO}, {"entityName": "Ann", "observations": "likes tea"}, {"name": "Ann", "observation": "likes tea"},
        {"deletions": [{"name": "Ann", "observations": ["likes tea"]}]}, {"delete_observations": {"deletions": [DO]}},
    )),
    ("delete_relations", {"relations": [KN]}, (
        {"relations": KN}, [KN], KN, {"relations": [{"source": "Ann", "target": "Bob", "type": "knows"}]}, {"relations": [{"from": "Ann", "to": "Bob", "relation_type": "knows"}]}, {"relation": KN},
        {"relations": '[{"from":"Ann","to":"Bob","relationType":"knows"}]'}, {"relations": [{"subject": "Ann", "predicate": "knows", "object": "Bob"}]}, {"edges": [KN]}, {"deletions": [KN]},
    )),
    ("search_nodes", {"query": "tea"}, (
        {"q": "tea"}, "tea", {"search": "tea"}, {"query": ["tea"]}, {"text": "tea"}, {"search_query": "tea"}, {"searchQuery": "tea"}, '{"query":"tea"}', {"input": {"query": "tea"}}, {"keyword": "tea"}, {"keywords": ["tea"]}, {"term": "tea"},
        {"query": {"query": "tea"}}, {"Query": "tea"}, {"queries": ["tea"]}, {"search_nodes": {"query": "tea"}}, {"query": "tea", "limit": None}, {"query": "tea", "type": "person"}, {"input": "tea"},
    )),
    ("search_nodes", {"query": "tea", "limit": 1}, ({"query": "tea", "limit": "1"}, {"query": "tea", "limit": 1.0}, {"q": "tea", "limit": "1"})),
    ("search_nodes", {"query": "tea", "namesOnly": True}, ({"query": "tea", "names_only": True}, {"query": "tea", "namesOnly": "true"}, {"query": "tea", "names_only": "True"})),
    ("search_nodes", {"query": "42"}, ({"query": 42},)),
    ("open_nodes", {"names": ["Ann"]}, (
        {"names": "Ann"}, ["Ann"], "Ann", {"name": "Ann"}, {"names": '["Ann"]'}, '{"names":["Ann"]}', {"names": "['Ann']"}, {"entityNames": ["Ann"]}, {"nodes": ["Ann"]}, {"entities": ["Ann"]}, {"names": [{"name": "Ann"}]}, {"entity_names": ["Ann"]},
        {"node": "Ann"}, {"names": [["Ann"]]}, {"input": {"names": ["Ann"]}}, {"names": {"names": ["Ann"]}}, {"open_nodes": {"names": ["Ann"]}}, {"entityName": "Ann"}, {"names": '```json\n["Ann"]\n```'}, {"Names": ["Ann"]}, {"nodeNames": ["Ann"]}, {"names": ["Ann"], "relation_limit": None},
    )),
    ("open_nodes", {"names": ["Ann", "Bob"]}, ({"names": '["Ann", "Bob",]'}, {"names": ["Ann", {"name": "Bob"}]}, '["Ann", "Bob"]', {"entities": [{"name": "Ann"}, {"name": "Bob"}]})),
    ("open_nodes", {"names": ["Ann"], "depth": 1}, ({"names": ["Ann"], "depth": "1"}, {"name": "Ann", "depth": 1.0})),
    ("read_graph", {}, ([], "", "{}", None, {"random_string": "x"}, {"dummy": ""}, {"input": {}}, {"arguments": {}}, {"limit": None}, "null", {"params": []}, {"query": ""}, {"read_graph": {}})),
    ("read_graph", {"limit": 2}, ({"limit": "2"}, {"input": {"limit": 2}}, '{"limit":2}', {"limit": 2.0})),
    ("read_graph", {"namesOnly": True, "relationLimit": 1}, ({"names_only": "true", "relation_limit": "1"}, {"names_only": True, "relation_limit": 1})),
)  # fmt: skip

FAIL: Final[tuple[tuple[str, Any], ...]] = (
    ("delete_entities", {"entityNames": ["*"]}), ("delete_entities", {"entityNames": "*"}), ("delete_entities", {}), ("delete_entities", "*"), ("delete_entities", {"entityNames": "Ann, Bob"}), ("delete_entities", {"entityNames": "all"}), ("delete_entities", {"names": "*"}),
    ("delete_entities", {"query": "Ann"}), ("delete_entities", {"entityNames": "ann"}), ("delete_entities", {"entityNames": "Ann Bob"}), ("delete_entities", {"entityNames": None}), ("delete_entities", {"entityNames": 5}), ("delete_entities", {"entityNames": [None]}), ("delete_entities", {"entityNames": [{}]}),
    ("delete_entities", {"all": True}), ("delete_entities", "Everything"), ("delete_entities", {"entityNames": [{"entityType": "person"}]}), ("delete_entities", {"entityNames": True}),
    ("delete_observations", {"deletions": [{"entityName": "Ann"}]}), ("delete_observations", {"deletions": [{"entityName": "Ann", "observations": "*"}]}), ("delete_observations", {"deletions": [{"entityName": "Ann", "observations": ["*"]}]}), ("delete_observations", {"entityName": "Ann"}),
    ("delete_observations", {"deletions": [{"observations": ["likes tea"]}]}), ("delete_observations", {"deletions": "likes tea"}), ("delete_observations", {}), ("delete_observations", {"deletions": [{"entityName": "*", "observations": ["likes tea"]}]}), ("delete_observations", {"deletions": ["likes tea"]}), ("delete_observations", ["Ann"]),
    ("delete_observations", {"deletions": None}), ("delete_observations", {"deletions": [{"entityName": "Ann", "observations": None}]}),
    ("delete_relations", {"relations": [{"from": "Ann", "to": "Bob"}]}), ("delete_relations", {"relations": [{"from": "Ann"}]}), ("delete_relations", {"relations": [{"from": "Ann", "to": "*", "relationType": "knows"}]}), ("delete_relations", {"relations": [{"from": "Ann", "to": "Bob", "relationType": "*"}]}), ("delete_relations", {}), ("delete_relations", {"relations": "Ann knows Bob"}),
    ("delete_relations", {"relations": ["Ann"]}), ("delete_relations", {"from": "Ann"}), ("delete_relations", {"relations": [{"from": "Ann", "to": "Bob", "relationType": None}]}),
    ("create_entities", {}), ("create_entities", {"entities": "Cid"}), ("create_entities", {"entities": ["Cid"]}), ("create_entities", {"entities": [{"entityType": "person", "observations": []}]}), ("create_entities", {"entities": [{"name": "", "entityType": "person", "observations": []}]}), ("create_entities", {"entities": "Cid is a person"}), ("create_entities", {"entities": 7}), ("create_entities", {"entities": None}),
    ("create_entities", {"entities": [CC], "relations": [RR]}), ("create_entities", {"relations": [RR]}), ("create_entities", {"entities": [], "items": [CC]}), ("create_entities", {"entities": [{"name": "Cid", "entityType": "person", "observations": [], "facts": ["likes jazz"]}]}), ("create_entities", {"entities": '[{"name": "Cid", "entityType": "per'}), ("create_entities", {"entities": [None]}),
    ("create_entities", {"entities": [{"name": None, "entityType": "person", "observations": []}]}), ("create_entities", {"entities": [{"name": {"first": "Cid"}, "entityType": "person", "observations": []}]}), ("create_entities", {"text": "Cid likes jazz"}), ("create_entities", {"entities": [CC, {"observations": ["x"]}]}),
    ("create_entities", {"entities": [{"name": "Cid", "entityType": "person", "observations": [], "likes": ["jazz"]}]}), ("create_entities", {"entities": [{"name": "Cid", "entityType": "person", "bio": "likes jazz"}]}), ("create_entities", {"entities": [{"name": ["Cid", "Dan"], "entityType": "person", "observations": []}]}),
    ("create_relations", {}), ("create_relations", {"relations": "Ann knows Bob"}), ("create_relations", {"relations": [{"from": "Ann", "relationType": "x"}]}), ("create_relations", {"relations": [{"from": "Ann", "to": "Nobody", "relationType": "x"}]}), ("create_relations", {"relations": [{"from": "Ann", "to": "Bob"}]}), ("create_relations", {"relations": [{"from": "", "to": "Bob", "relationType": "x"}]}), ("create_relations", {"relations": [["Ann", "Bob"]]}),
    ("create_relations", {"relations": [{"from": "Ann", "to": "Bob", "relationType": {"a": 1}}]}), ("create_relations", {"entities": [CC]}), ("create_relations", {"relations": [RR, {"from": "Bob"}]}), ("create_relations", {"relations": [{"a": "Ann", "b": "Bob", "c": "knows"}]}),
    ("add_observations", {}), ("add_observations", {"observations": "likes tea"}), ("add_observations", {"observations": ["likes cake"]}), ("add_observations", {"observations": [{"contents": ["x"]}]}), ("add_observations", {"observations": [{"entityName": "Ann"}]}), ("add_observations", {"observations": [{"entityName": "Nobody", "contents": ["x"]}]}), ("add_observations", {"entityName": "Ann"}),
    ("add_observations", {"observations": [{"entityName": "Ann", "contents": [], "content": "rides"}]}), ("add_observations", {"observations": [{"entityName": "Ann", "contents": {"a": {"b": 1}}}]}), ("add_observations", {"observations": [AA, {"entityName": "Bob"}]}), ("add_observations", {"observations": [{"entityName": "Ann", "hobby": "rides"}]}), ("add_observations", {"observations": [], "text": "Ann rides"}), ("add_observations", {"observations": [{"entityName": ["Ann", "Bob"], "contents": ["x"]}]}),
    ("search_nodes", {}), ("search_nodes", {"query": None}), ("search_nodes", {"query": {"a": 1}}), ("search_nodes", {"query": "tea", "limit": "many"}), ("search_nodes", {"query": "tea", "limit": -1}), ("open_nodes", {}), ("open_nodes", {"names": None}), ("open_nodes", {"names": [None]}), ("open_nodes", {"names": ["Ann"], "depth": 9}), ("open_nodes", {"names": [{"a": 1}]}),
)  # fmt: skip

TEXTS: Final[tuple[str, ...]] = (
    "[x] done",
    "[urgent] call the bank",
    "a, b, c",
    '"quoted"',
    "'single'",
    "```py\nprint(1)\n```",
    "{not json}",
    "null",
    "true",
    "42",
    "1.50",
    "[]x",
    "  padded  ",
    "line one\nline two",
    "ends with comma,",
    "\\n stays",
    "<b>&amp;</b>",
    '{"a": 1} is the config',
    "[link](http://x)",
    "C:\\temp",
    "*",
    "é",
    "e\u0301",
    "007",
)
"""Texts that stay what they are, as the name, the type, one of two observations, and (where it is no JSON array) as the one observation given as text."""

SPACES: Final[tuple[str, ...]] = (" ", "\t", "\u3000", "\n")
"""Names of white space alone: npm takes them."""

EMPTY_BESIDE: Final[tuple[tuple[str, dict[str, Any], str], ...]] = (
    ("create_entities", {"entities": [], "items": [CC]}, "items"),
    ("create_entities", {"entities": [], "entity": CC}, "entity"),
    ("create_entities", {"entities": {}, "nodes": [CC]}, "nodes"),
    ("create_entities", {"entities": "", "nodes": [CC]}, "nodes"),
    ("create_entities", {"entities": [], **CC}, "name"),
    ("create_entities", {"entities": [{**CC, "observations": [], "content": {"a": "likes jazz"}}]}, "content"),
    ("create_entities", {"entities": [{**CC, "observations": "", "facts": ["likes jazz"]}]}, "facts"),
    ("create_entities", {"entities": [{**CC, "entityType": "", "type": "person"}]}, "type"),
    ("create_entities", {"entities": [{**CC, "name": "", "entityName": "Cid"}]}, "entityName"),
    ("create_relations", {"relations": [], **RR}, "from"),
    ("create_relations", {"relations": [{**RR, "from": "", "source": "Bob"}]}, "source"),
    ("create_relations", {"relations": [{**RR, "relationType": "", "predicate": "trusts"}]}, "predicate"),
    ("add_observations", {"observations": [], **AA}, "entityName"),
    (
        "add_observations",
        {"observations": [{"entityName": "Ann", "contents": "", "observations": ["x"]}]},
        "observations",
    ),
    ("delete_entities", {"entityNames": [], "name": "Ann"}, "name"),
    ("delete_observations", {"deletions": [], **DO}, "entityName"),
    ("delete_relations", {"relations": [], "relation": KN}, "relation"),
    ("open_nodes", {"names": "", "name": "Ann"}, "name"),
    ("search_nodes", {"query": "", "keywords": ["tea"]}, "keywords"),
)
