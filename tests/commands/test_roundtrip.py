"""export and import: what is written comes back; notes and other programs' exports are understood."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_app.commands.exports import Memory, Options, writer
from memory_app.commands.exports.notes import notes as exported_notes
from memory_app.commands.imports import Read, decoded
from memory_app.commands.imports.csv_table import table
from memory_app.commands.imports.markdown import notes, page
from memory_app.commands.upkeep.union import unite
from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from memory_app.jsonl.records import new_entity, new_relation
from tests.commands.running import entity, relation, run, write
from tests.placing import put

ODD = [
    'quote " and \\ backslash \\',
    "<b>&amp;</b> & &#65; &nbsp;",
    "*bold* _it_ [link](http://x) `code` | cell # no heading #",
    "1. no list",
    "- no [[link]]",
    "lives in [[Lisbon]]",
    "\u2190 knows **Bo**",
    "\u2192 **Bo**",
    "\u2190",
    "\u2190 from",
    "to \u2192",
    "two\nlines\r\nand\ra third\ttab\n\n",
    "\n",
    " \u00a0padded\u3000 ",
    "nul \0 bell \x07 escape \x1b[31m \x85 \u2028",
    '=HYPERLINK("http://evil","x")',
    "'=1",
    "''+1",
    " -1",
    "@a,b;c",
    "'quoted'",
    "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627 \u6771\u4eac e\u0301 \U0001f600",
    "not in the memory",
    "(no name)",
    "---",
    "```",
    "",
    "CON",
]
Facts = tuple[list[tuple[str, str, list[str]]], set[tuple[str, str, str]]]


def facts(graph: Graph) -> Facts:
    return (
        [(one.name, one.entity_type, one.observations()) for one in graph.first_entities()],
        {(one.source, one.target, one.relation_type) for one in graph.first_relations()},
    )


def read(form: str, data: bytes) -> Read:
    if form == "csv":
        return table(decoded(data))
    return page(decoded(data), "x") if form == "markdown" else Read(document.read(data), Counter())


texts = st.one_of(st.sampled_from(ODD), st.text(st.characters(codec="utf-8"), max_size=12))
graphs = st.builds(
    lambda entities, relations: (entities, relations),
    st.dictionaries(texts, st.tuples(texts, st.lists(texts, max_size=4)), max_size=4),
    st.lists(st.tuples(texts, texts, texts), max_size=4),
)


def graph_of(entities: dict[str, tuple[str, list[str]]], relations: list[tuple[str, str, str]]) -> Graph:
    new = [new_entity(name, kind, observations) for name, (kind, observations) in entities.items()]
    return Graph.empty().adding(new, [new_relation(*one) for one in dict.fromkeys(relations)], [])


@pytest.mark.parametrize("form", ["json", "jsonl", "csv", "markdown"])
@given(parts=graphs)
def test_what_export_writes_import_reads_back(
    form: str, parts: tuple[dict[str, tuple[str, list[str]]], list[tuple[str, str, str]]]
) -> None:
    graph = graph_of(*parts)
    data = b"".join(writer(form)(Memory.of(graph), Options()))
    back = read(form, data)
    assert not back.left
    assert facts(unite(Graph.empty(), Graph.of(back.contents), other_lines=False)) == facts(graph)


@given(parts=graphs)
def test_notes_that_export_writes_import_reads_back(
    parts: tuple[dict[str, tuple[str, list[str]]], list[tuple[str, str, str]]],
) -> None:
    graph = graph_of(*parts)
    written = list(exported_notes(Memory.of(graph)))
    back = notes([(name.removesuffix(".md"), text.decode()) for name, text in written])
    assert not back.left
    assert facts(unite(Graph.empty(), Graph.of(back.contents), other_lines=False)) == facts(graph)


def test_the_files_of_notes_have_names_that_every_system_takes() -> None:
    names = [
        *ODD,
        "con.txt",
        "LPT1",
        "ann",
        "Ann",
        "ANN 2",
        "a/b",
        "a\\b",
        "../x",
        ".hidden",
        "end.",
        "\U0001f600" * 99,
    ]
    graph = graph_of({name: ("", []) for name in names}, [])
    files = [name for name, _ in exported_notes(Memory.of(graph))]
    assert len({name.casefold() for name in files}) == len(names)
    for file in files:
        assert not re.search(r'[\x00-\x1f<>:"/\\|?*]', file)
        assert not re.match(r"(?i)\.|(con|prn|aux|nul|com\d|lpt\d)\.", file)
        assert not file.removesuffix(".md").endswith((".", " "))
        assert len(file.encode()) < 140


def test_a_folder_of_notes_comes_back_and_a_filled_one_is_left_alone(home: Path) -> None:
    odd = [entity(text, text, ODD) for text in ODD]
    path = write(home / "m.jsonl", *odd, *(relation(one, "nobody", one) for one in ODD), relation("nobody", "CON", "?"))
    asked = ("export", "--file", path, "--format", "notes", "--output", home / "in" / "vault")
    assert run(*asked, home=home).status == 0
    new = home / "new.jsonl"
    result = run("import", home / "in" / "vault", "--file", new, home=home)
    assert (result.status, result.err) == (0, "")
    entities, relations = facts(Graph.of(document.read(new.read_bytes())))
    wanted, ends = facts(Graph.of(document.read(path.read_bytes())))
    assert (sorted(entities), relations) == (sorted(wanted), ends)
    assert run(*asked, home=home).status == 2
    assert run(*asked, "--force", home=home).status == 0
    assert run("export", "--file", path, "--format", "notes", home=home).status == 2
    assert (
        run("export", "--file", path, "--format", "notes", "--output", path.with_name("new.jsonl"), home=home).status
        == 2
    )


@pytest.mark.parametrize("ending", ["json", "jsonl", "md", "csv"])
def test_a_file_that_export_wrote_makes_the_same_memory(ending: str, home: Path) -> None:
    odd = [entity(text, text, ODD) for text in ODD]
    path = write(home / "m.jsonl", *odd, *(relation(one, "nobody", one) for one in ODD))
    written, new = home / f"out.{ending}", home / "new.jsonl"
    assert run("export", "--file", path, "--output", written, home=home).status == 0
    result = run("import", written, "--file", new, home=home)
    assert (result.status, result.err) == (0, "")
    assert facts(Graph.of(document.read(new.read_bytes()))) == facts(Graph.of(document.read(path.read_bytes())))


@pytest.mark.parametrize("form", ["csv", "markdown"])
def test_stdin_is_told_by_how_it_begins(form: str, memory: Path, home: Path) -> None:
    written = run("export", "--file", memory, "--format", form, home=home).out
    new = home / "new.jsonl"
    assert run("import", "-", "--file", new, home=home, stdin=written.encode()).status == 0
    assert facts(Graph.of(document.read(new.read_bytes()))) == facts(Graph.of(document.read(memory.read_bytes())))


@pytest.mark.parametrize("text", ["a \u2192 **", "\u2190 **", " ", "\\", "[[a", "a [[b]] ", "&#", "- "])
def test_a_strange_line_takes_no_longer_than_it_is_long(text: str) -> None:
    line = f"- x {text * 100_000}y\n"
    started = time.process_time()
    page(f"# t\n## a\n{line}", "n")
    notes([("n", line)])
    assert time.process_time() - started < 5


def test_a_table_that_a_spreadsheet_saved_is_read_and_odd_rows_are_counted() -> None:
    text = 'Name;Kind;Observation;entityType\r\nAnn;Entity;;person\r\nAnn;observation;"a;b";\r\n;;;\r\nAnn;task;;\r\n'
    back = table(decoded(b"\xff\xfe" + text.encode("utf-16-le")))
    assert facts(Graph.of(back.contents)) == ([("Ann", "person", ["a;b"])], set())
    assert back.left == {"a row that is not an entity, observation or relation": 1}


def test_a_table_with_other_columns_is_refused(memory: Path, home: Path) -> None:
    before = memory.read_bytes()
    put(home / "prices.csv", "item,price\ntea,3\n")
    result = run("import", home / "prices.csv", "--file", memory, home=home)
    assert (result.status, memory.read_bytes()) == (2, before)
    assert "its first row has to name the columns" in result.err


NOTE = """---
title: "Coffee: brewing"
type: guide
permalink: coffee-brewing
tags:
  - drinks
---

# Coffee

Some *prose* with a [[link]]
over two lines.

## Observations
- [method] Pour over is **slow** #brewing
- Met [[Ann]] and [[Bo]]
  on a Sunday
* [ ] a task

```python
- [no](item)
```

## Relations
- relates_to [[Tea|the other one]]
- made by [[Ann#Life]] (since 2020)
- [[Water]]
"""


def test_a_note_is_an_entity_as_obsidian_and_basic_memory_write_it() -> None:
    back = notes([("coffee", NOTE), ("tea", "---\ntitle: Tea!\n---\n- hot\n"), ("Plain", "text\n")])
    entities, relations = facts(Graph.of(back.contents))
    assert entities[0][:2] == ("Coffee: brewing", "guide")
    assert entities[0][2] == [
        "tags: drinks",
        "Some *prose* with a [[link]]\nover two lines.",
        "[method] Pour over is **slow** #brewing",
        "Met [[Ann]] and [[Bo]]\non a Sunday",
        "[ ] a task",
        "```python\n- [no](item)\n```",
        "made by [[Ann#Life]] (since 2020)",
    ]
    assert entities[1:] == [("Tea!", "note", ["hot"]), ("Plain", "note", ["text"])]
    assert {(target, kind) for _, target, kind in relations} == {
        ("Tea", "relates_to"),
        ("Ann", "made by"),
        ("Water", ""),
    }
    assert not back.left


BASIC_MEMORY = {
    "Coffee Brewing Methods": """---
title: Coffee Brewing Methods
type: note
tags: [coffee, 'pour over']
permalink: guides/coffee-brewing-methods
created: 2025-10-24
# a comment
schema:
  method: string
---

# Coffee Brewing Methods

## Observations
- [method] Pour over gives a cleaner cup than a French press
- [technique] Water at 205\u00b0F extracts best #brewing #water
- [preference] Ethiopian beans suit lighter roasts (own experience)
- [ ] buy a scale

## Relations
- relates_to [[Coffee Bean Origins]]
- depends_on [[guides/grinding]] (the finer the shorter)
- "based on" [[Customer Interview]]
- 'in response to' [[notes/Tea]]
- See [[Tea]] for the other half.
""",
    "grinding": "---\ntitle: Grinding\ntype: Technique\npermalink: guides/grinding\n---\n",
    "Tea": "- [fact] Needs less heat\n",
}


def test_notes_of_basic_memory_are_taken_with_tags_remarks_and_quoted_types() -> None:
    back = notes(BASIC_MEMORY.items())
    entities, relations = facts(Graph.of(back.contents))
    assert entities == [
        (
            "Coffee Brewing Methods",
            "note",
            [
                "tags: coffee, pour over",
                "created: 2025-10-24",
                "[method] Pour over gives a cleaner cup than a French press",
                "[technique] Water at 205\u00b0F extracts best #brewing #water",
                "[preference] Ethiopian beans suit lighter roasts (own experience)",
                "[ ] buy a scale",
                "depends_on [[guides/grinding]] (the finer the shorter)",
                "See [[Tea]] for the other half.",
            ],
        ),
        ("Grinding", "Technique", []),
        ("Tea", "note", ["[fact] Needs less heat"]),
    ]
    assert {(kind, target) for _, target, kind in relations} == {
        ("relates_to", "Coffee Bean Origins"),
        ("depends_on", "Grinding"),
        ("based on", "Customer Interview"),
        ("in response to", "Tea"),
    }
    assert back.left == {"line of a property": 1}


def test_a_note_says_types_and_targets_as_basic_memory_and_obsidian_take_them() -> None:
    graph = graph_of({"R&D_team*": ("", ["uses snake_case"])}, [("R&D_team*", "x_y & z", "depends_on")])
    graph = graph.adding([], [new_relation("R&D_team*", "Bo", "works with")], [])
    ((_, text),) = exported_notes(Memory.of(graph))
    assert "- uses snake_case\n" in text.decode()
    assert "- depends_on [[x_y & z]]\n" in text.decode()
    assert '- "works with" [[Bo]]\n' in text.decode()


def test_a_folder_of_notes_is_read_and_other_files_are_counted(home: Path) -> None:
    folder = home / "vault"
    for inner in (folder / "people", folder / ".obsidian"):
        inner.mkdir(parents=True)
    put(folder / "people" / "Ann.md", "- sings\n- lives in [[lisbon]]\n")
    put(folder / "lisbon.md", "---\ntitle: Lisbon\ntype: city\n---\n")
    put(folder / ".obsidian" / "app.md", "no note\n")
    put(folder / "photo.png", "x")
    new = home / "new.jsonl"
    result = run("import", folder, "--file", new, home=home)
    assert (result.status, result.err) == (1, "1 item not imported: file that is not a note\n")
    assert facts(Graph.of(document.read(new.read_bytes()))) == (
        [("Lisbon", "city", []), ("Ann", "note", ["sings"])],
        {("Ann", "Lisbon", "lives in")},
    )


def test_a_folder_without_notes_and_a_drawing_are_refused(memory: Path, home: Path) -> None:
    (home / "empty").mkdir()
    put(home / "x.graphml", "<graphml/>")
    assert "folder without a note" in run("import", home / "empty", "--file", memory, home=home).err
    result = run("import", home / "x.graphml", "--file", memory, home=home)
    assert (result.status, "one-way" in result.err) == (2, True)


@pytest.mark.parametrize("way", ["list", "results"])
def test_memories_of_mem0_are_observations_of_whom_they_are_about(way: str, home: Path) -> None:
    items = [
        {"id": "1", "memory": "Likes tea | \U0001f600", "user_id": "ann", "created_at": "2024-01-01"},
        {"id": "2", "memory": "=1"},
        {"id": "3"},
    ]
    links = [{"source": "ann", "relationship": "knows", "destination": "bo"}]
    put(home / "mem0.json", json.dumps(items if way == "list" else {"results": items, "relations": links}))
    new = home / "new.jsonl"
    result = run("import", home / "mem0.json", "--file", new, home=home)
    assert (result.status, result.err) == (1, "1 item not imported: item without a memory\n")
    entities, relations = facts(Graph.of(document.read(new.read_bytes())))
    assert entities == [("ann", "user", ["Likes tea | \U0001f600"]), ("memories", "memory", ["=1"])]
    assert relations == (set() if way == "list" else {("ann", "bo", "knows")})


OPEN_MEMORY = {
    "user": {"id": "5b1f", "user_id": "ann", "name": None, "email": None, "metadata": {}},
    "apps": [{"id": "77", "owner_id": "5b1f", "name": "openmemory", "is_active": True}],
    "categories": [{"id": "c1", "name": "food"}],
    "memories": [
        {
            "id": "1",
            "user_id": "5b1f",
            "content": "Likes tea",
            "metadata": {},
            "state": "active",
            "category_ids": ["c1"],
        },
        {"id": "2", "user_id": "5b1f", "content": "Likes mud", "metadata": {}, "state": "deleted", "category_ids": []},
    ],
    "memory_categories": [{"memory_id": "1", "category_id": "c1"}],
    "export_meta": {"version": "1"},
}


@pytest.mark.parametrize(("ending", "owner"), [("json", "ann"), ("jsonl", "memories")])
def test_a_backup_of_openmemory_is_read_as_document_and_as_lines(ending: str, owner: str, home: Path) -> None:
    lines: list[dict[str, object]] = [
        {"id": "1", "content": "Likes tea", "state": "active", "app": "openmemory", "categories": ["food"]}
    ]
    lines += [{"id": "2", "content": "Likes mud", "state": "deleted", "app": None, "categories": []}]
    written = json.dumps(OPEN_MEMORY, indent=2) if ending == "json" else "\n".join(map(json.dumps, lines)) + "\n"
    put(home / f"memories.{ending}", written)
    new = home / "new.jsonl"
    result = run("import", home / f"memories.{ending}", "--file", new, home=home)
    assert (result.status, result.err) == (1, "1 item not imported: memory that was deleted\n")
    assert [(name, texts) for name, _, texts in facts(Graph.of(document.read(new.read_bytes())))[0]] == [
        (owner, ["Likes tea"])
    ]


def test_an_answer_of_mem0s_platform_is_read_page_or_list(home: Path) -> None:
    item = {
        "id": "0bc1", "memory": "Dev works at TechCorp", "user_id": "dev", "agent_id": None, "app_id": None,
        "run_id": None, "hash": "ab", "metadata": {"type": "professional"}, "categories": ["work"],
        "created_at": "2026-01-31T10:00:00-08:00", "updated_at": "2026-01-31T10:00:00-08:00", "expiration_date": None,
    }  # fmt: skip
    put(home / "page.json", json.dumps({"count": 1, "next": None, "previous": None, "results": [item]}))
    new = home / "new.jsonl"
    assert run("import", home / "page.json", "--file", new, home=home).status == 0
    assert facts(Graph.of(document.read(new.read_bytes())))[0] == [("dev", "user", ["Dev works at TechCorp"])]


def test_a_memory_whose_facts_have_a_content_is_no_export_of_mem0(home: Path) -> None:
    path = write(
        home / "m.jsonl",
        entity("Ann", "t", [{"content": "sings", "memory": 1}]),
        entity("Bo", memory="x", content="y", state="z"),
    )
    assert run("import", path, "--file", home / "new.jsonl", home=home).status == 0
    assert len(facts(Graph.of(document.read((home / "new.jsonl").read_bytes())))[0]) == 2


@pytest.mark.parametrize("name", ["name", "entityName", "id"])
def test_the_lines_that_basic_memory_imports_are_imported_here_too(name: str, home: Path) -> None:
    lines = [
        {"type": "entity", name: "Ann", "entityType": "person", "observations": ["sings"]},
        {"type": "entity", name: "Bo", "entityType": "person"},
        {"type": "relation", "from_id": "Ann", "to_id": "Bo", "relation_type": "knows"},
        {"type": "relation", "from": "Bo", "to": "Ann", "relationType": "knows"},
    ]
    put(home / "memory.json", "".join(json.dumps(line) + "\n" for line in lines))
    assert run("import", home / "memory.json", "--file", home / "new.jsonl", home=home).status == 0
    entities, relations = facts(Graph.of(document.read((home / "new.jsonl").read_bytes())))
    assert entities == [("Ann", "person", ["sings"]), ("Bo", "person", [])]
    assert relations == {("Ann", "Bo", "knows"), ("Bo", "Ann", "knows")}
