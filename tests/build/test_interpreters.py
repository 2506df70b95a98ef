"""The same archive on every CPython that is found here."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from build import platforms
from tests.build.starting import environment, serve, unpacked


@pytest.mark.parametrize("version", platforms.PYTHONS)
def test_it_serves_on_every_interpreter(archive: Path, tmp_path: Path, version: str) -> None:
    found = [str(path) for path in (Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python")]
    python = found[0] if found else shutil.which(f"python{version}")
    if python is None:
        pytest.skip(f"no Python {version} here")
    for _ in ("first start", "later start"):
        serve(archive, tmp_path, environment(tmp_path / "cache"), python=python)
    assert [path.name.split("-")[2] for path in unpacked(tmp_path / "cache")] == ["cp" + version.replace(".", "")]
