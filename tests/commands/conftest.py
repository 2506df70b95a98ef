"""A small memory that the commands work on, and a home in which nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.running import entity, relation, write


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    path.mkdir()
    return path


@pytest.fixture
def memory(home: Path) -> Path:
    """Three entities, four observations, two relations: nothing is odd about it."""
    return write(
        home / "memory.jsonl",
        entity("Ann", "person", ["Likes green tea", "Moved to Lisbon in 2024"]),
        entity("Acme", "company", ["Makes anvils"]),
        entity("Café Zürich", "place", ["Opens at 8"]),
        relation("Ann", "Acme", "works at"),
        relation("Ann", "Café Zürich", "drinks at"),
    )
