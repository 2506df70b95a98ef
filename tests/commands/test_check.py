"""check: every oddity with its line, nothing changed, exit status 1 if there is one."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from memory_app.commands.upkeep.findings import KINDS
from memory_app.commands.upkeep.inspection import inspect
from memory_app.commands.upkeep.likeness import alike
from memory_app.lock import identity
from tests.commands.running import Result, entity, relation, run, write

ANN = entity("Ann", observations=["Likes tea"])


def check(path: Path, *more: str, home: Path) -> Result:
    return run("check", "--file", path, *more, home=home)


def kinds_of(data: bytes) -> dict[str, list[tuple[int, ...]]]:
    found: dict[str, list[tuple[int, ...]]] = {}
    for one in inspect(data, lambda lines, _: lines).findings:
        found.setdefault(one.kind, []).append(one.lines)
    return found


def test_a_memory_in_order_has_no_finding_and_status_0(home: Path, memory: Path) -> None:
    result = check(memory, home=home)
    assert result.status == 0
    assert "3 entities, 4 observations, 2 relations, 5 lines" in result.out
    assert "Nothing odd" in result.out


ODD: dict[str, tuple[bytes, dict[str, list[tuple[int, ...]]]]] = {
    "unreadable": (f"{ANN}\nno json\n".encode(), {"unreadable": [(2,)]}),
    "not UTF-8": (ANN.encode() + b"\n\xff\n", {"unreadable": [(2,)]}),
    "repeated key": (ANN.encode() + b'\n{"type":"entity","name":"a","name":"b"}\n', {"unreadable": [(2,)]}),
    "not finite": (ANN.encode() + b'\n{"type":"x","n":NaN}\n', {"unreadable": [(2,)]}),
    "no name": (ANN.encode() + b'\n{"type":"entity","entityType":"x","observations":[]}\n', {"unreadable": [(2,)]}),
    "torn": (ANN.encode() + b'\n{"type":"entity","name":"Bo","entityTy', {"torn": [(2,)]}),
    "other record": (b'{"type":"hot_cache","x":1}\n' + ANN.encode(), {"unknown-record": [(1,)]}),
    "marker": (b'{"type":"_aim","source":"mcp-knowledge-graph"}\n' + ANN.encode(), {}),
    "unknown key": (entity("Ann", createdAt="2025").encode(), {"unknown-keys": [(1,)]}),
    "a relation's key on an entity": (
        entity("Ann", source="wiki", label="guest", rel="x").encode(),
        {"unknown-keys": [(1,), (1,), (1,)]},
    ),
    "an entity's key on a relation": (
        f"{ANN}\n{relation('Ann', 'Ann', 'knows', category='x', notes='y')}".encode(),
        {"unknown-keys": [(2,), (2,)]},
    ),
    "two on a line": ((ANN + entity("Bo")).encode(), {"several-records": [(1,)]}),
    "a fork's relation": (
        (ANN + '\n{"type":"relation","from":"Ann","to":"Ann","relation":"knows"}').encode(),
        {"other-form": [(2,)]},
    ),
    "no entityType": (b'{"type":"entity","name":"Ann","observations":[]}', {"other-form": [(1,)]}),
    "null observed": (entity("Ann", observations=[None, "x"]).encode(), {"other-form": [(1,)]}),
    "object observed": (entity("Ann", observations=[{"text": "x"}]).encode(), {"observation-objects": [(1,)]}),
    "name again": (f"{ANN}\n{entity('Bo')}\n{ANN}".encode(), {"repeated-name": [(1, 3)]}),
    "relation again": (
        f"{ANN}\n{relation('Ann', 'Ann', 'is')}\n{relation('Ann', 'Ann', 'is')}".encode(),
        {"repeated-relation": [(2, 3)]},
    ),
    "observation again": (entity("Ann", observations=["x", "y", "x"]).encode(), {"repeated-observation": [(1,)]}),
    "dangling": (f"{ANN}\n{relation('Ann', 'Zoe', 'knows')}".encode(), {"dangling-relation": [(2,)]}),
    "near": (f"{entity('Ann Smith')}\n{entity('ann  smith')}".encode(), {"near-duplicate": [(1, 2)]}),
    "near by accent": (f"{entity('Café')}\n{entity('CAFE')}".encode(), {"near-duplicate": [(1, 2)]}),
    "empty name": (entity(" ").encode(), {"empty-name": [(1,)]}),
    "CR LF": (f"{ANN}\r\n{entity('Bo')}\r\n".encode(), {"line-ends": [(1, 2)]}),
    "blank": (f"{ANN}\n\n{entity('Bo')}\n".encode(), {"line-ends": [(2,)]}),
    "BOM": (b"\xef\xbb\xbf" + ANN.encode(), {"byte-order-mark": [(1,)]}),
    "document": (b'{"entities":[{"name":"Ann","entityType":"p","observations":[]}]}', {"foreign-shape": [()]}),
    "UTF-16": (ANN.encode("utf-16"), {"foreign-shape": [()]}),
    "something else": (b"# a diary\n", {"not-a-memory": [()]}),
    "empty": (b"", {}),
    "no line end at the end": (ANN.encode(), {}),
}


@pytest.mark.parametrize(("data", "expected"), ODD.values(), ids=ODD)
def test_each_oddity_is_found_on_its_line(data: bytes, expected: dict[str, Any]) -> None:
    assert kinds_of(data) == expected


def test_every_oddity_is_told_and_nothing_is_changed(home: Path) -> None:
    lines = [data for data, expected in ODD.values() if data and not {"foreign-shape", "not-a-memory"} & set(expected)]
    path = home / "m.jsonl"
    path.write_bytes(b"\n".join(lines))
    before = (path.read_bytes(), path.stat(), sorted(os.listdir(home)))
    result = check(path, "--json", home=home)
    assert result.status == 1
    assert before == (path.read_bytes(), path.stat(), sorted(os.listdir(home)))
    told = {one["kind"] for one in result.json()["findings"]}
    expected = {kind for _, kinds in ODD.values() for kind in kinds}
    assert told == expected - {"foreign-shape", "not-a-memory", "byte-order-mark", "torn"}
    text = check(path, home=home)
    assert text.status == 1
    assert all(KINDS[kind].title in text.out for kind in told)


def test_kinds_can_be_passed_over(home: Path) -> None:
    path = write(home / "m.jsonl", entity("Ann Smith", createdAt="x"), entity("ann smith"))
    assert check(path, "--ignore", "near-duplicate,unknown-keys", home=home).status == 0
    assert check(path, "--ignore", "near-duplicate", home=home).status == 1
    assert check(path, "--ignore", "nonsense", home=home).status == 2


def test_many_findings_of_a_kind_are_listed_only_on_demand(home: Path) -> None:
    path = write(home / "m.jsonl", ANN, *("no json" for _ in range(30)))
    assert "and 22 more" in check(path, home=home).out
    assert check(path, "--all", home=home).out.count("not JSON") == 30


def test_contents_of_unreadable_lines_are_not_shown(home: Path) -> None:
    path = write(home / "m.jsonl", ANN, "the secret of the line")
    for more in ([], ["--json"]):
        result = check(path, *more, home=home)
        assert "secret" not in result.out + result.err


def beside(path: Path, home: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in check(path, "--json", home=home).json()["findings"]:
        found.setdefault(one["kind"], []).append(one["text"])
    return found


def test_a_lock_of_a_process_that_is_gone_is_stale_at_once(home: Path, memory: Path) -> None:
    me = identity.this_process()
    record = {"pid": 2**22 + 1, "hostname": me.hostname, "token": "0" * 32, "boot": me.boot, "pidns": me.pidns}
    lock = home / "memory.jsonl.lock"
    lock.write_text(json.dumps({key: value for key, value in record.items() if value is not None}))
    assert "is gone" in beside(memory, home)["lock"][0]
    assert lock.exists()


def test_a_lock_that_lives_is_told_from_one_that_was_left(home: Path, memory: Path) -> None:
    lock = home / "memory.jsonl.lock"
    lock.write_text(json.dumps({"pid": 1, "hostname": "elsewhere", "token": "0" * 32}))
    assert "held by process 1 on elsewhere" in beside(memory, home)["lock"][0]
    old = time.time() - 100
    os.utime(lock, (old, old))
    assert "stale" in beside(memory, home)["lock"][0]


def test_a_folder_in_the_lock_s_place_is_named(home: Path, memory: Path) -> None:
    (home / "memory.jsonl.lock").mkdir()
    assert "a folder" in beside(memory, home)["lock"][0]


def test_leftovers_and_conflict_copies_are_named(home: Path, memory: Path) -> None:
    left = home / f"memory.jsonl.{'a' * 32}.tmp"
    left.write_bytes(b"x")
    names = ("memory (conflicted copy 2026-01-02).jsonl", "memory.sync-conflict-20260102-030405-ABCDEFG.jsonl")
    for name in names:
        (home / name).write_bytes(b"")
    (home / "memory-work.jsonl").write_bytes(b"")
    found = beside(memory, home)
    assert "last ten minutes" in found["leftover"][0]
    assert found["conflict-copy"] == list(names)
    old = time.time() - 3600
    os.utime(left, (old, old))
    assert "died" in beside(memory, home)["leftover"][0]


@pytest.mark.skipif(os.name == "nt", reason="modes")
def test_a_file_that_cannot_be_written_is_told(home: Path, memory: Path) -> None:
    memory.chmod(0o444)
    assert "read-only" in beside(memory, home)["file"][0]


@pytest.mark.parametrize(
    ("names", "groups"),
    [
        (["Ann Smith", "ann-smith", "Bo"], [("Ann Smith", "ann-smith")]),
        (["Jonathan", "Jonathn", "Johnathan"], [("Jonathan", "Jonathn"), ("Jonathan", "Johnathan")]),
        (["Step number 1", "Step number 2", "Step number 12"], []),
        (["Max", "Mix", "Ann", "Anna"], []),
        (["東京タワー", "東京 タワー"], [("東京タワー", "東京 タワー")]),
        (["...", "!!!"], []),
    ],
    ids=["form", "letter", "numbers", "short", "Japanese", "signs"],
)
def test_names_that_may_mean_the_same(names: list[str], groups: list[tuple[str, ...]]) -> None:
    assert alike(names) == groups
