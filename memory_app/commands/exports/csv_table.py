"""CSV as in RFC 4180: one table with a row for each entity, each observation and each relation.

A spreadsheet runs a cell that begins with `=`, `+`, `-`, `@`, a tab or a line end as a formula, and memories contain
text by strangers. So such a cell gets a leading apostrophe, which spreadsheets read as "this is text". Programs that
want the exact text ask for raw cells, or use JSON.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterable, Iterator
from typing import Final

from memory_app.commands.exports import Memory, Options

_HEADER: Final = ("kind", "name", "entityType", "observation", "relationType", "to")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""The last four are the wide forms, which spreadsheets in East Asia take as well."""


def csv_table(memory: Memory, options: Options) -> Iterator[bytes]:
    """The table. `to` and `relationType` are for relations, whose `name` is the entity where they start."""
    if options.bom:
        yield codecs.BOM_UTF8
    for row in _rows(memory):
        cells = row if options.raw_cells else [_text(cell) for cell in row]
        buffer = io.StringIO(newline="")
        csv.writer(buffer).writerow(cells)
        yield buffer.getvalue().encode()


def _rows(memory: Memory) -> Iterator[Iterable[str]]:
    yield _HEADER
    for entity in memory.entities:
        yield "entity", entity.name, entity.entity_type, "", "", ""
        for text in entity.observations():
            yield "observation", entity.name, entity.entity_type, text, "", ""
    for relation in memory.relations:
        yield "relation", relation.source, "", "", relation.relation_type, relation.target


def _text(cell: str) -> str:
    """The cell, marked as text if it would be a formula, or if it looks like a marked cell."""
    return f"'{cell}" if _is_formula(cell.lstrip("'")) else cell


def unmarked(cell: str) -> str:
    """The text of a cell that `export` wrote."""
    return cell[1:] if cell.startswith("'") and _is_formula(cell.lstrip("'")) else cell


def _is_formula(cell: str) -> bool:
    """Whether the cell is a formula, also after white space, which some programs drop."""
    return cell.startswith(_FORMULA) or cell.lstrip().startswith(_FORMULA)
