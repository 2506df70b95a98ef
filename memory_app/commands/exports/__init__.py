"""Export formats: each is a function from a memory to pieces of bytes.

All write UTF-8, and each entity once, with its neighbours if the format has a place for them. A relation's end that is
not an entity is written as a name without a type. Keys that other programs put into the file are left out: to copy the
file as it is, use `backup`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Final, NamedTuple, cast

from memory_app.graph.graph import Graph
from memory_app.jsonl.records import EntityLine, RelationLine


class Memory(NamedTuple):
    """What is written: all or part of a graph. `missing` are the ends of relations that are not entities."""

    entities: list[EntityLine]
    relations: list[RelationLine]
    missing: list[str]

    @classmethod
    def of(cls, graph: Graph) -> Memory:
        missing = [name for name in graph.touching if name not in graph.entities]
        return cls(list(graph.first_entities()), list(graph.first_relations()), missing)


class Options(NamedTuple):
    """`raw_cells`: a CSV cell that a spreadsheet would treat as a formula gets no prefix. `bom`: CSV begins with a byte
    order mark, by which Excel recognizes UTF-8. `title` heads a Markdown page.
    """

    raw_cells: bool = False
    bom: bool = False
    title: str = "Memory"


Writer = Callable[[Memory, Options], Iterator[bytes]]


class Form(NamedTuple):
    module: str
    function: str
    endings: tuple[str, ...]
    summary: str


FORMS: Final[Mapping[str, Form]] = {
    "json": Form("json_lines", "json_document", (".json",), "one object, the data of read_graph"),
    "jsonl": Form(
        "json_lines", "json_lines", (".jsonl", ".ndjson"), "one record per line, which every memory server can read"
    ),
    "markdown": Form("markdown", "page", (".md", ".markdown"), "a page to read, with a heading for each entity"),
    "csv": Form("csv_table", "csv_table", (".csv",), "one table, a row for each entity, observation and relation"),
    "graphml": Form("graphml", "document", (".graphml", ".xml"), "one-way, for Gephi, yEd, networkx and others"),
    "dot": Form("dot", "drawing", (".dot", ".gv"), "one-way, for Graphviz: dot -Tsvg memory.dot"),
}

NOTES: Final = "notes"
"""The format that is a folder instead of a file: the module `notes`."""


def writer(form: str) -> Writer:
    chosen = FORMS[form]
    module = import_module(f"memory_app.commands.exports.{chosen.module}")
    return cast(Writer, getattr(module, chosen.function))


def form_of(path: str) -> str | None:
    """The format that a file's name asks for by its ending."""
    return next((name for name, form in FORMS.items() if path.lower().endswith(form.endings)), None)
