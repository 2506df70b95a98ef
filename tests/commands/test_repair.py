"""repair: mends what check found, after a backup, and loses nothing."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_app.commands.upkeep.findings import KINDS
from memory_app.commands.upkeep.inspection import inspect
from memory_app.commands.upkeep.mending import Options, mend
from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from memory_app.jsonl.records import encode
from tests.commands.running import Result, entity, relation, run, write


def repair(path: Path, *more: str, home: Path) -> Result:
    return run("repair", "--file", path, *more, home=home)


@pytest.fixture
def odd(home: Path) -> Path:
    path = home / "m.jsonl"
    lines = [
        '{"type":"_aim","source":"mcp-knowledge-graph"}',
        entity("Ann", "person", ["Likes tea", "Likes tea"], createdAt="2025"),
        entity("Ann", "human", ["Lives in Rome"], createdAt="2026", version=3)
        + entity("Bo", "p", [None, {"text": "x"}]),
        "not json",
        "",
        '{"type":"relation","from":"Ann","to":"Bo","relation":"knows","weight":0.4}',
        relation("Ann", "Bo", "knows"),
        relation("Ann", "Zed", "knows"),
        '{"type":"hot_cache","x":1}',
        '{"type":"entity","name":"Torn","entityTy',
    ]
    path.write_bytes("\r\n".join(lines).encode())
    return path


def test_what_check_found_is_mended(home: Path, odd: Path) -> None:
    before = odd.read_bytes()
    result = repair(odd, home=home)
    assert (result.status, result.err) == (0, "")
    ann = entity("Ann", "person", ["Likes tea", "Lives in Rome"], createdAt="2025", version=3)
    others = ',"otherValues":{"entityType":["human"],"createdAt":["2026"]}}'
    assert odd.read_bytes().decode().split("\n") == [
        '{"type":"_aim","source":"mcp-knowledge-graph"}',
        ann[:-1] + others,
        entity("Bo", "p", [{"text": "x"}]),
        relation("Ann", "Bo", "knows", weight=0.4),
        relation("Ann", "Zed", "knows"),
        "not json",
        '{"type":"hot_cache","x":1}',
        '{"type":"entity","name":"Torn","entityTy',
        "",
    ]
    backups = [path for path in home.iterdir() if path.suffix == ".bak"]
    assert [path.read_bytes() for path in backups] == [before]
    assert backups[0].stat().st_mode == odd.stat().st_mode
    after = run("check", "--json", "--file", odd, home=home).json()["findings"]
    assert not any(one["mendable"] for one in after)


def test_a_mended_file_is_left_alone(home: Path, odd: Path) -> None:
    repair(odd, home=home)
    before = (odd.read_bytes(), odd.stat().st_ino, sorted(os.listdir(home)))
    result = repair(odd, home=home)
    assert "nothing to mend" in result.out
    assert before == (odd.read_bytes(), odd.stat().st_ino, sorted(os.listdir(home)))


def test_a_dry_run_says_the_same_and_changes_nothing(home: Path, odd: Path) -> None:
    before = (odd.read_bytes(), odd.stat().st_mtime_ns, sorted(os.listdir(home)))
    dry = repair(odd, "--dry-run", "--json", home=home).json()
    assert before == (odd.read_bytes(), odd.stat().st_mtime_ns, sorted(os.listdir(home)))
    wet = repair(odd, "--json", home=home).json()
    told = ("changed", "mergedLines", "droppedRelations", "rewrittenRecords")
    assert [dry[key] for key in told] == [wet[key] for key in told] == [True, 1, 1, 1]
    assert (dry["backup"], Path(wet["backup"]).parent) == (None, home)


def test_unreadable_lines_are_moved_only_when_asked_and_kept_in_a_file(home: Path, odd: Path) -> None:
    result = repair(odd, "--drop-unreadable", "--json", home=home).json()
    assert result["movedOutLines"] == 2
    assert Path(result["unreadableLines"]).read_bytes() == b'not json\r\n{"type":"entity","name":"Torn","entityTy\n'
    assert b"not json" not in odd.read_bytes()
    assert b"hot_cache" in odd.read_bytes()


def test_missing_entities_are_made_only_when_asked(home: Path, odd: Path) -> None:
    assert repair(odd, "--add-missing", "--json", home=home).json()["addedEntities"] == ["Zed"]
    assert entity("Zed", "unknown") in odd.read_text()


def test_a_number_that_would_change_is_left_as_it_is(home: Path) -> None:
    line = '{"type":"relation","from":"A","to":"B","relation":"x","weight":1.10}'
    path = write(home / "m.jsonl", entity("A"), entity("B"), line, "")
    assert repair(path, home=home).status == 0
    assert line in path.read_text()


@pytest.mark.parametrize(
    "data",
    [
        b'{"entities":[{"name":"Ann","entityType":"p","observations":["x"]}],"relations":[]}',
        (entity("Ann", "p", ["x"]) + "\n").encode("utf-16"),
        b"\xef\xbb\xbf" + entity("Ann", "p", ["x"]).encode() + b"\r\n\r\n",
    ],
    ids=["document", "UTF-16", "BOM and CR"],
)
def test_another_shape_becomes_lines_and_is_backed_up_once(data: bytes, home: Path) -> None:
    path = home / "m.jsonl"
    path.write_bytes(data)
    assert repair(path, home=home).status == 0
    assert path.read_text() == entity("Ann", "p", ["x"]) + "\n"
    assert [one.read_bytes() for one in home.iterdir() if one.suffix == ".bak"] == [data]


def test_something_else_is_refused(home: Path) -> None:
    path = home / "diary.jsonl"
    path.write_bytes(b"dear diary\n")
    result = repair(path, home=home)
    assert (result.status, path.read_bytes(), len(list(home.iterdir()))) == (2, b"dear diary\n", 1)


@pytest.mark.skipif(os.name == "nt", reason="modes")
def test_a_read_only_memory_is_refused_before_anything_is_copied(home: Path, odd: Path) -> None:
    odd.chmod(0o444)
    result = repair(odd, home=home)
    assert result.status == 2
    assert "read-only" in result.err
    assert os.listdir(home) == ["m.jsonl"]


@pytest.mark.skipif(sys.platform == "win32", reason="links")
def test_a_link_stays_a_link(home: Path, odd: Path) -> None:
    link = home / "link.jsonl"
    link.symlink_to(odd)
    assert repair(link, home=home).status == 0
    assert link.is_symlink()
    assert "nothing to mend" in repair(odd, home=home).out


TEXTS = st.sampled_from(["a", "b", "Ann", "ä", "", "\u2028", "1", "\ud800"])
SCALARS = st.one_of(st.none(), TEXTS, st.integers(-3, 3), st.floats(allow_nan=False, allow_infinity=False))
ITEMS = st.one_of(SCALARS, st.fixed_dictionaries({"text": TEXTS}, optional={"at": SCALARS}))
ENTITIES = st.fixed_dictionaries(
    {"type": st.just("entity"), "name": TEXTS},
    optional={"entityType": SCALARS, "observations": st.one_of(SCALARS, st.lists(ITEMS, max_size=4)), "x": SCALARS},
)
RELATIONS = st.fixed_dictionaries(
    {"type": st.just("relation"), "from": TEXTS, "to": TEXTS},
    optional={"relationType": TEXTS, "relation": SCALARS, "x": SCALARS},
)
LINES = st.one_of(
    ENTITIES.map(encode),
    RELATIONS.map(encode),
    st.sampled_from([b"nonsense", b'{"type":"z"}', b"", b"\r", b"nonsense\r"]),
)


@given(st.lists(LINES, max_size=8))
def test_no_fact_is_lost_whatever_is_in_the_file(lines: list[bytes]) -> None:
    data = b"\n".join([encode({"type": "entity", "name": "first"}), *lines])
    before = Graph.of(document.read(data))
    mended = b"".join(mend(before, Options()).graph.chunks())
    after = Graph.of(document.read(mended))
    assert facts(before) == facts(after)
    assert [line.entity_type for line in before.first_entities()] == [
        line.entity_type for line in after.first_entities()
    ]
    assert extras(before) <= extras(after)
    assert [raw.rstrip(b"\r") for raw in (*before.head, *before.tail)] == [*after.head, *after.tail]
    assert b"".join(mend(after, Options()).graph.chunks()) == mended
    left = [one.kind for one in inspect(mended, lambda lines, _: lines).findings if KINDS[one.kind].mended]
    assert set(left) <= {"other-form", "repeated-name", "repeated-relation"}  # where a number would change


def facts(graph: Graph) -> set[tuple[str, ...]]:
    observed = {(line.name, text) for line in graph.first_entities() for text in line.observations()}
    related = {(one.source, one.target, one.relation_type) for one in graph.first_relations()}
    return {("entity", name) for name in graph.entities} | observed | related


def extras(graph: Graph) -> set[str]:
    """Every value that stands in the records anywhere, with its key but the types that repeats state."""
    found: set[str] = set()

    def collect(value: Any, key: str) -> None:
        if isinstance(value, dict):
            for name, item in value.items():
                collect(item, key if name in ("otherValues", "entityType") else name)
        elif isinstance(value, list):
            for item in value:
                collect(item, key)
        elif value not in (None, "") and key in ("x", "at"):
            found.add(f"{key}={json.dumps(value)}")

    for line in (*graph.entity_lines, *graph.relation_lines):
        collect(json.loads(line.raw), "")
    return found


def test_what_could_be_read_is_never_moved_out(home: Path, memory: Path) -> None:
    kept = ['{"type":"entity","observations":["whose?"]}', '{"type":"task","n":1} and more']
    memory.write_text("\n".join([*memory.read_text().splitlines(), *kept, '{"type":"entity","na']) + "\n")
    result = run("repair", "--drop-unreadable", "--file", memory, home=home)
    assert result.status == 0, result.err
    assert memory.read_text().splitlines()[-2:] == kept
    (moved,) = home.glob("*.unreadable")
    assert moved.read_text() == '{"type":"entity","na\n'


def test_repair_says_what_it_dropped_and_what_it_left(home: Path) -> None:
    memory = write(home / "m.jsonl", entity("Ann", "p", ["tea", "tea"]), "no json {", "nor { this")
    told = repair(memory, home=home).out
    assert "  1 repeated observation dropped\n" in told
    assert "our form" not in told
    assert "2 unreadable lines kept; --drop-unreadable moves such lines out\n" in told
    again = repair(memory, home=home).out.splitlines()
    assert again[0].startswith("There is nothing to mend")
    assert again[1].startswith("2 unreadable lines kept")


def test_names_that_differ_by_a_blank_are_told_so_that_it_is_seen(home: Path) -> None:
    memory = write(home / "m.jsonl", entity("Ann"), entity("ann "))
    assert 'Ann ~ "ann "' in run("check", "--file", memory, home=home).out
