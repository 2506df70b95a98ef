"""import and merge: nothing that is there is lost, what is new is added, and what differs is told."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_app.commands.upkeep.differences import Difference
from memory_app.commands.upkeep.union import unite
from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from memory_app.jsonl.records import encode
from tests.commands.running import entity, relation, run, write


def graph(path: Path) -> Graph:
    return Graph.of(document.read(path.read_bytes()))


def observed(path: Path) -> dict[str, list[str]]:
    return {line.name: line.observations() for line in graph(path).first_entities()}


SHAPES: dict[str, bytes] = {
    "lines": (entity("Bo", "p", ["x"]) + "\n" + relation("Bo", "Ann", "knows")).encode(),
    "document": b'{"entities":[{"name":"Bo","entityType":"p","observations":["x"]}],'
    b'"relations":[{"from":"Bo","to":"Ann","relationType":"knows"}]}',
    "array": ("[" + entity("Bo", "p", ["x"]) + "," + relation("Bo", "Ann", "knows") + "]").encode(),
    "fork": b'{"_type":"entity","name":"Bo","entityType":"p","observations":[{"text":"x","timestamp":"t"}]}\n'
    b'{"_type":"relation","from":"Bo","to":"Ann","relation":"knows"}',
    "UTF-16": (entity("Bo", "p", ["x"]) + "\n" + relation("Bo", "Ann", "knows")).encode("utf-16"),
}


@pytest.mark.parametrize("data", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("way", ["file", "stdin"])
def test_every_shape_is_imported(data: bytes, way: str, home: Path, memory: Path) -> None:
    before = memory.read_text()
    source = home / "source"
    source.write_bytes(data)
    result = run("import", source if way == "file" else "-", "--file", memory, home=home, stdin=data)
    assert result.status == 0, result.err
    assert "1 entity: Bo" in result.out
    assert "1 relation: Bo knows → Ann" in result.out
    assert observed(memory)["Bo"] == ["x"]
    assert graph(memory).relation("Bo", "Ann", "knows")
    assert set(before.splitlines()) <= set(memory.read_text().splitlines())
    backups = [path for path in home.iterdir() if path.suffix == ".bak"]
    assert [path.read_text() for path in backups] == [before]


def test_an_import_into_nothing_makes_the_memory(home: Path, memory: Path) -> None:
    new = home / "new" / "m.jsonl"
    assert run("import", memory, "--file", new, home=home).status == 0
    assert new.read_bytes() == memory.read_bytes()


def test_an_entity_keeps_its_type_and_gets_what_it_lacks(home: Path, memory: Path) -> None:
    source = write(home / "s.jsonl", entity("Ann", "human", ["Likes green tea", "Sings"]), "not json")
    result = run("import", source, "--file", memory, "--json", home=home).json()
    assert result["added"]["observations"] == [{"entityName": "Ann", "contents": ["Sings"]}]
    assert result["types"] == [{"name": "Ann", "memory": "person", "import": "human"}]
    assert result["linesLeftBehind"] == 1
    assert observed(memory)["Ann"] == ["Likes green tea", "Moved to Lisbon in 2024", "Sings"]
    assert graph(memory).entities["Ann"].entity_type == "person"


def test_what_an_import_could_not_take_is_counted_by_kind_and_makes_the_status_one(home: Path, memory: Path) -> None:
    source = write(home / "s.jsonl", entity("Bo", "person", ["x"]), "not json", '{"type":"task","n":1}')
    result = run("import", source, "--file", memory, home=home)
    assert result.status == 1
    assert "1 item not imported: unreadable" in result.err
    assert "1 item not imported: of type task" in result.err
    assert observed(memory)["Bo"] == ["x"]


def test_a_dry_run_says_the_same_and_changes_nothing(home: Path, memory: Path) -> None:
    source = write(home / "s.jsonl", entity("Bo"), entity("Ann", "p", ["Sings"]))
    before = (memory.read_bytes(), memory.stat().st_mtime_ns, sorted(os.listdir(home)))
    dry = run("import", source, "--dry-run", "--json", "--file", memory, home=home).json()
    assert before == (memory.read_bytes(), memory.stat().st_mtime_ns, sorted(os.listdir(home)))
    wet = run("import", source, "--json", "--file", memory, home=home).json()
    assert dry["added"] == wet["added"]
    again = run("import", source, "--file", memory, home=home)
    assert "nothing new" in again.out


def test_a_dry_run_into_nothing_makes_nothing(home: Path, memory: Path) -> None:
    assert run("import", memory, "--dry-run", "--file", home / "new" / "m.jsonl", home=home).status == 0
    assert sorted(os.listdir(home)) == ["memory.jsonl"]


def test_what_is_no_memory_is_refused(home: Path, memory: Path) -> None:
    before = memory.read_bytes()
    other = home / "diary"
    other.write_text("dear diary")
    result = run("import", memory.name, other, "--file", home / "new.jsonl", home=home)
    assert (result.status, result.err.count("\n"), (home / "new.jsonl").exists()) == (2, 1, False)
    assert "diary" in result.err
    assert run("import", memory, "--file", memory, home=home).status == 2
    assert memory.read_bytes() == before


def test_imports_at_the_same_time_lose_nothing(home: Path) -> None:
    target = home / "m.jsonl"
    sources = [write(home / f"{n}.jsonl", *(entity(f"{n}-{m}") for m in range(20))) for n in range(4)]
    results: list[int] = []

    def add(source: Path) -> None:
        results.append(run("import", source, "--file", target, home=home).status)

    threads = [threading.Thread(target=add, args=(source,)) for source in sources]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert results == [0] * 4
    assert len(graph(target).entities) == 80


@pytest.fixture
def copies(home: Path) -> tuple[Path, Path]:
    """A memory and the copy that a sync service made of it when two machines wrote."""
    common = [entity("Ann", "person", ["Likes tea"]), entity("Acme", "company")]
    one = write(
        home / "memory.jsonl",
        *common,
        entity("Bo"),
        relation("Ann", "Bo", "knows"),
        '{"type":"hot_cache","n":1}',
    )
    other = write(
        home / "memory (conflicted copy).jsonl",
        entity("Ann", "human", ["Likes tea", "Sings"], updatedAt="2026"),
        common[1],
        entity("Cy", "person", ["x"], createdAt="2026"),
        relation("Ann", "Cy", "knows"),
        '{"type":"hot_cache","n":2}',
    )
    return one, other


def test_merge_adds_to_the_first_what_only_the_second_has(copies: tuple[Path, Path], home: Path) -> None:
    one, other = copies
    before, second = one.read_bytes(), other.read_bytes()
    result = run("merge", one, other, "--json", home=home).json()
    assert result["firstOnly"]["entities"] == ["Bo"]
    assert result["secondOnly"]["entities"] == ["Cy"]
    assert result["secondOnly"]["observations"] == [{"entityName": "Ann", "contents": ["Sings"]}]
    assert result["types"] == [{"name": "Ann", "first": "person", "second": "human"}]
    assert Path(result["backup"]).read_bytes() == before
    assert other.read_bytes() == second
    assert one.read_text().splitlines() == [
        entity("Ann", "person", ["Likes tea", "Sings"]),
        entity("Acme", "company"),
        entity("Bo"),
        entity("Cy", "person", ["x"], createdAt="2026"),
        relation("Ann", "Bo", "knows"),
        relation("Ann", "Cy", "knows"),
        '{"type":"hot_cache","n":1}',
        '{"type":"hot_cache","n":2}',
    ]


def test_merge_says_what_differs_and_with_a_dry_run_no_more(copies: tuple[Path, Path], home: Path) -> None:
    before = [path.read_bytes() for path in copies]
    result = run("merge", *copies, "--dry-run", home=home)
    assert result.status == 0
    for text in ("only in", "1 entity: Bo", "1 entity: Cy", "Ann (1)", "Ann (person / human)", "Ann knows → Cy"):
        assert text in result.out
    assert before == [path.read_bytes() for path in copies]
    assert len(os.listdir(home)) == 2


def test_merge_into_a_new_file_leaves_both(copies: tuple[Path, Path], home: Path) -> None:
    before = [path.read_bytes() for path in copies]
    assert run("merge", *copies, "--output", "both.jsonl", home=home).status == 0
    assert before == [path.read_bytes() for path in copies]
    both = (home / "both.jsonl").read_bytes()
    assert run("merge", *copies, home=home).status == 0
    assert copies[0].read_bytes() == both
    assert run("merge", *copies, "--output", "both.jsonl", home=home).status == 2


def test_the_same_file_is_not_merged(home: Path, memory: Path) -> None:
    assert run("merge", memory, home / "." / "memory.jsonl", home=home).status == 2


NAMES = st.sampled_from(["a", "b", "c", "ä"])
RECORDS = st.lists(
    st.one_of(
        st.builds(
            lambda name, texts: {"type": "entity", "name": name, "entityType": "t", "observations": texts},
            NAMES,
            st.lists(NAMES, max_size=3),
        ),
        st.builds(lambda a, b, t: {"type": "relation", "from": a, "to": b, "relationType": t}, NAMES, NAMES, NAMES),
    ),
    max_size=8,
)


@given(RECORDS, RECORDS)
def test_the_union_has_all_of_both_and_nothing_else(one: list[object], other: list[object]) -> None:
    first, second = (Graph.of(document.read(b"\n".join(map(encode, records)))) for records in (one, other))
    union = unite(first, second, other_lines=True)
    again = Graph.of(document.read(b"".join(union.chunks())))
    assert facts(again) == facts(union) == facts(first) | facts(second)
    assert unite(union, second, other_lines=True) is union
    assert unite(union, first, other_lines=True) is union
    assert [line.raw for line in first.entity_lines if line.name not in second.entities] == [
        line.raw for line in union.entity_lines if line.name in first.entities and line.name not in second.entities
    ]
    difference = Difference.between(first, union)
    assert not any(difference.first)
    assert Difference.between(union, again).is_empty


def facts(graph: Graph) -> set[tuple[str, ...]]:
    observed = {(line.name, text) for line in graph.first_entities() for text in line.observations()}
    return (
        {(name,) for name in graph.entities}
        | observed
        | {(one.source, one.target, one.relation_type) for one in graph.first_relations()}
    )


def test_what_call_creates_an_import_of_its_export_creates_again(home: Path) -> None:
    made = {"entities": [{"name": "東京", "entityType": "city", "observations": ["a\nb"]}]}
    first, second = home / "1.jsonl", home / "2.jsonl"
    assert run("call", "create_entities", "-", "--file", first, home=home, stdin=json.dumps(made).encode()).status == 0
    exported = run("export", "--file", first, home=home).out.encode()
    assert run("import", "-", "--file", second, home=home, stdin=exported).status == 0
    assert first.read_bytes() == second.read_bytes()


def test_comparing_and_uniting_costs_no_more_for_each_relation_because_all_join_the_same_two() -> None:
    many = 1000
    kinds = [relation("Ann", "Bo", f"r{number}") for number in range(many)]
    one = Graph.of(document.read("\n".join(kinds).encode()))
    other = Graph.of(document.read("\n".join([*kinds, relation("Ann", "Bo", "new")]).encode()))
    seen = 0

    def step(frame: object, event: str, argument: object) -> None:
        nonlocal seen
        seen += event in ("call", "c_call")

    sys.setprofile(step)
    try:
        difference = Difference.between(one, other)
        union = unite(one, other, other_lines=False)
    finally:
        sys.setprofile(None)
    assert difference.second.relations == [("Ann", "Bo", "new")]
    assert union.relation_lines.size == many + 1
    assert seen < 100 * many
