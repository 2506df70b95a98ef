"""CSV as `export` writes it, also after a spreadsheet saved it with semicolons or tabs between the cells."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Final

from memory_app.commands.exports.csv_table import unmarked
from memory_app.commands.imports import Gathered, NotRead, Read

_LONGEST_CELL: Final = 2**31 - 1
_STAND_INS: Final = tuple(map(chr, range(0xE000, 0xF8FF)))
"""For NUL, at which the reader of Python 3.10 stops: characters that mean nothing of themselves."""


def table(text: str) -> Read:
    """The rows below a first row that names the columns, in any order. NotRead if the first row does not."""
    first = text.split("\n", 1)[0]
    between = max(",;\t", key=first.count)
    found = Gathered()
    rows = _rows(text, between)
    names = [cell.strip().casefold() for cell in next(rows, [])]
    if not {"kind", "name"} <= set(names):
        raise NotRead("its first row has to name the columns: kind,name,entityType,observation,relationType,to")
    for row in rows:
        if not any(row):
            continue
        cells = dict(zip(names, map(unmarked, row), strict=False))
        kind, name = cells.get("kind", "").strip().casefold(), cells.get("name", "")
        if len(row) > len(names):
            found.left["a row with more cells than columns"] += 1
        elif kind == "entity":
            found.entity(name, cells.get("entitytype", ""))
        elif kind == "observation" and "observation" in cells:
            found.observation(name, cells.get("entitytype", ""), cells["observation"])
        elif kind == "relation" and "to" in cells:
            found.relation(name, cells["to"], cells.get("relationtype", ""))
        else:
            found.left["a row that is not an entity, observation or relation"] += 1
    return found.read()


def _rows(text: str, between: str) -> Iterator[list[str]]:
    csv.field_size_limit(_LONGEST_CELL)
    stand_in = next((one for one in _STAND_INS if one not in text), "\0")
    try:
        for row in csv.reader(io.StringIO(text.replace("\0", stand_in), newline=""), delimiter=between):
            yield [cell.replace(stand_in, "\0") for cell in row]
    except csv.Error as error:
        raise NotRead("it is not a table") from error
