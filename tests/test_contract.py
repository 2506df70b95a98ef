"""The contract and the tests that hold it, in both directions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from tests.contract import HELD_BY

ROOT: Final = Path(__file__).resolve().parent.parent
CONTRACT: Final = ROOT / "memory_app" / "guide" / "contract.md"


def clauses() -> list[str]:
    return re.findall(r"^- \*\*([A-Z]\d+)\*\* ", CONTRACT.read_text("utf-8"), re.MULTILINE)


def functions() -> set[str]:
    """The names of all test functions, without `test_`."""
    found: set[str] = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        found |= set(re.findall(r"^(?:async )?def test_(\w+)\(", path.read_text("utf-8"), re.MULTILINE))
    return found


def test_every_clause_of_the_contract_has_a_row_and_every_row_a_clause() -> None:
    assert clauses() == list(HELD_BY)


def test_every_clause_is_held_by_a_test() -> None:
    assert [clause for clause, held_by in HELD_BY.items() if not held_by] == []


def test_every_test_that_a_row_names_exists() -> None:
    assert {name for held_by in HELD_BY.values() for name in held_by} - functions() == set()
