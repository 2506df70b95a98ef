"""A cache that was filled by one first start, for tests of what comes later."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.build.starting import environment, serve


@pytest.fixture(scope="session")
def filled(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That cache. Not to be changed: `cache` is a copy."""
    cache = tmp_path_factory.mktemp("filled")
    serve(archive, tmp_path_factory.mktemp("memory"), environment(cache))
    return cache


@pytest.fixture
def cache(filled: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(filled, tmp_path / "cache")
