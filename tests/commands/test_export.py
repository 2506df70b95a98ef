"""export: each form is read again by an independent reader and holds the same facts."""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from memory_app.commands.exports import FORMS, Memory, Options, writer
from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from tests.commands.running import PATIENCE, Result, entity, relation, run, write

NASTY = [
    'quote " and \\ backslash \\N',
    "<script>alert(1)</script> & &amp; ]]>",
    "*bold* _it_ [link](http://x) `code` | cell # no heading",
    "1. no list",
    "- no list",
    "two\nlines\r\nand a third\ttab",
    "nul \0 bell \x07 escape \x1b[31m",
    '=HYPERLINK("http://evil","x")',
    "+1",
    "-1",
    "@SUM(A1)",
    " =1",
    "\t=1",
    "\uff1d1",
    "東京 é e\u0301 \u2028 \U0001f600",
    "",
    ",;'",
]
SPACE = "{http://graphml.graphdrawing.org/xmlns}"


@pytest.fixture
def nasty(home: Path) -> Path:
    names = [entity(text or "empty", text, NASTY) for text in NASTY]
    ends = [relation(one or "empty", two or "nobody", one) for one, two in itertools.pairwise(NASTY)]
    return write(home / "m.jsonl", *names, *ends)


def export(path: Path, *more: str, home: Path) -> Result:
    result = run("export", "--file", path, *more, home=home)
    assert result.status == 0, result.err
    return result


def graph(path: Path) -> Graph:
    return Graph.of(document.read(path.read_bytes()))


def facts(contents: Graph) -> tuple[list[tuple[str, str, list[str]]], list[tuple[str, str, str]]]:
    return (
        [(one.name, one.entity_type, one.observations()) for one in contents.first_entities()],
        [(one.source, one.target, one.relation_type) for one in contents.first_relations()],
    )


def test_json_is_the_data_of_read_graph(nasty: Path, home: Path) -> None:
    exported = json.loads(export(nasty, home=home).out)
    called = run("call", "read_graph", "--file", nasty, home=home).json()
    assert exported == called


def test_an_empty_memory_is_valid_in_every_form(home: Path) -> None:
    path = home / "m.jsonl"
    path.write_bytes(b"")
    assert export(path, home=home).json() == {"entities": [], "relations": []}
    ElementTree.fromstring(export(path, "--format", "graphml", home=home).out)
    assert export(path, "--format", "csv", home=home).out.splitlines() == [
        "kind,name,entityType,observation,relationType,to"
    ]


def test_json_lines_hold_the_same_memory(nasty: Path, home: Path) -> None:
    copy = home / "copy.jsonl"
    export(nasty, "--output", str(copy), home=home)
    assert facts(graph(copy)) == facts(graph(nasty))
    assert all(json.loads(line)["type"] in ("entity", "relation") for line in copy.read_text().split("\n")[:-1])


def test_keys_of_other_programs_and_repeats_are_left_out(home: Path) -> None:
    path = write(home / "m.jsonl", entity("Ann", "p", ["x"], secret=1), entity("Ann", "q", ["y"]))
    assert export(path, "--format", "jsonl", home=home).out == entity("Ann", "p", ["x", "y"]) + "\n"


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def test_csv_has_a_row_for_each_fact(nasty: Path, home: Path) -> None:
    table = rows(run_bytes(nasty, "--raw-cells", home=home))
    entities, relations = facts(graph(nasty))
    expected = [["kind", "name", "entityType", "observation", "relationType", "to"]]
    for name, kind, texts in entities:
        expected += [["entity", name, kind, "", "", ""], *(["observation", name, kind, text, "", ""] for text in texts)]
    expected += [["relation", source, "", "", kind, target] for source, target, kind in relations]
    assert table == expected


def run_bytes(path: Path, *more: str, home: Path) -> str:
    """The exported CSV without any change of line ends."""
    target = home / "out.csv"
    export(path, "--output", str(target), "--force", *more, home=home)
    return target.read_bytes().decode("utf-8")


def test_no_cell_of_csv_is_a_formula_unless_asked(nasty: Path, home: Path) -> None:
    cells = [cell for row in rows(run_bytes(nasty, home=home)) for cell in row]
    assert not [cell for cell in cells if re.match(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]", cell)]
    raw = [cell for row in rows(run_bytes(nasty, "--raw-cells", home=home)) for cell in row]
    assert [cell.removeprefix("'") for cell in cells] == [cell.removeprefix("'") for cell in raw]


def test_csv_begins_with_the_mark_for_excel_only_when_asked(memory: Path, home: Path) -> None:
    assert run_bytes(memory, "--bom", home=home).startswith("\ufeffkind,")
    assert run_bytes(memory, home=home).startswith("kind,")


def test_graphml_is_xml_with_every_fact(nasty: Path, home: Path) -> None:
    text = export(nasty, "--format", "graphml", home=home).out
    root = ElementTree.fromstring(text)
    nodes = {node.get("id"): {data.get("key"): data.text or "" for data in node} for node in root.iter(f"{SPACE}node")}
    edges = [(edge.get("source"), edge.get("target"), edge[0].text or "") for edge in root.iter(f"{SPACE}edge")]
    entities, relations = facts(graph(nasty))
    assert [node["label"] for node in nodes.values()][: len(entities)] == [xml(name) for name, _, _ in entities]
    assert nodes["n0"]["observations"] == xml("\n".join(NASTY))
    assert [(nodes[one]["label"], nodes[two]["label"], kind) for one, two, kind in edges] == [
        (xml(source), xml(target), xml(kind)) for source, target, kind in relations
    ]
    keys = {key.get("id") for key in root.iter(f"{SPACE}key")}
    assert {data.get("key") for data in root.iter(f"{SPACE}data")} <= keys
    assert [node["label"] for node in nodes.values() if node.get("missing") == "true"] == ["nobody"]


def xml(text: str) -> str:
    return re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f]", "\ufffd", text)


def test_dot_has_every_string_closed(nasty: Path, home: Path) -> None:
    text = export(nasty, "--format", "dot", home=home).out
    assert "\0" not in text
    without = re.sub(r'"(?:[^"\\]|\\.)*"', "S", text)
    assert '"' not in without
    assert re.fullmatch(r"digraph memory \{\n(?:  [\w\-> ]+ \[[\w=, S]+\]\n)+\}\n", without)


@pytest.mark.skipif(shutil.which("dot") is None, reason="no graphviz")
def test_graphviz_draws_the_names_as_they_are(nasty: Path, home: Path) -> None:
    text = export(nasty, "--format", "dot", home=home).out
    done = subprocess.run(["dot", "-Tsvg"], input=text.encode(), capture_output=True, timeout=PATIENCE, check=True)
    assert b"rror" not in done.stderr
    root = ElementTree.fromstring(done.stdout.decode())
    texts = ["".join(one.itertext()).replace("\xa0", " ") for one in root.iter("{http://www.w3.org/2000/svg}text")]
    nodes = [one for one in root.iter("{http://www.w3.org/2000/svg}g") if one.get("class") == "node"]
    assert len(nodes) == len(NASTY) + 1
    assert {NASTY[0], NASTY[1], NASTY[2], NASTY[7], "two", "lines", NASTY[14]} <= set(texts)


def test_markdown_escapes_what_it_would_take_for_itself(nasty: Path, home: Path) -> None:
    text = export(nasty, "--format", "markdown", home=home).out
    lines = text.splitlines()
    assert lines[0] == "# M"
    assert sum(line.startswith("## ") for line in lines) == len(NASTY) + 1
    assert r"\<script\>" in text
    assert "<script" not in text.replace("\\<", "")
    assert r"\*bold\* \_it\_ \[link\](http\://x) \`code\` \| cell \# no heading" in text
    assert not re.search(r"^- (\d+\.|[-+]) ", text, re.MULTILINE)
    assert not {"\x1b", "\0", "\x07"} & set(text)


def test_the_form_follows_the_ending_and_the_file_is_private(memory: Path, home: Path) -> None:
    for ending in ("json", "jsonl", "md", "csv", "graphml", "dot"):
        target = home / f"out.{ending}"
        result = export(memory, "--output", str(target), home=home)
        assert result.out == ""
        assert target.read_bytes()
        assert os.name == "nt" or target.stat().st_mode & 0o777 == 0o600
    assert run("export", "--output", "x.pdf", "--file", memory, home=home).status == 2


def test_an_existing_file_is_replaced_only_with_force(memory: Path, home: Path) -> None:
    target = home / "out.json"
    target.write_text("mine")
    assert run("export", "--output", target, "--file", memory, home=home).status == 2
    assert target.read_text() == "mine"
    export(memory, "--output", str(target), "--force", home=home)
    assert target.read_text().startswith("{")
    assert sorted(os.listdir(home)) == ["memory.jsonl", "out.json"]


def test_the_memory_itself_is_never_the_output(memory: Path, home: Path) -> None:
    before = memory.read_bytes()
    result = run("export", "--output", memory, "--force", "--file", memory, home=home)
    assert (result.status, memory.read_bytes()) == (2, before)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_takes_lone_surrogates_and_missing_names(form: str) -> None:
    data = rb'{"type":"entity","name":"\ud800","entityType":"","observations":["\udfff"]}' + b"\n"
    data += rb'{"type":"relation","from":"\ud800","to":"\udc00x","relationType":""}'
    memory = Memory.of(Graph.of(document.read(data)))
    text = b"".join(writer(form)(memory, Options())).decode()
    assert "\ufffd" in text
