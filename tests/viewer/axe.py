"""axe-core, the checker of accessibility: fetched once through pip, pinned by its hash, kept in `.cache`.

The wheel is only a box for `axe.min.js`: nothing of it is installed or run. Where it cannot be had the tests that want
it skip, with a line that says so.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any, Final

import pytest

from tests.viewer import chromium

ROOT: Final = Path(__file__).resolve().parent.parent.parent
_FOLDER: Final = ROOT / ".cache" / "axe"
_PACKAGE: Final = "axe-playwright-python==0.1.8"  # with axe 4.12.1
_WHEEL: Final = "axe_playwright_python-0.1.8-py3-none-any.whl"
_HASH: Final = "fdd263c998388f1a8e67cad02677e612d946248bd44d163be5e8650ea31f95f8"
_FETCH_SECONDS: Final = 60.0
# The best practices of axe beside the rules of WCAG 2.2 AA.
_TAGS: Final = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_RULES_OF_COLOURS: Final = ["color-contrast", "link-in-text-block"]


def script() -> str:
    """The text of axe. Skips the test if it is neither here nor to be had."""
    wheel = _FOLDER / _WHEEL
    if not _is_right(wheel):
        _FOLDER.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(_FOLDER), _PACKAGE]
        try:
            subprocess.run(command, capture_output=True, timeout=_FETCH_SECONDS, check=True)
        except (subprocess.SubprocessError, OSError):
            pytest.skip(f"axe-core cannot be fetched ({_PACKAGE})")
        if not _is_right(wheel):
            pytest.fail(f"{wheel} is not the pinned one")
    with zipfile.ZipFile(wheel) as box:
        return box.read("axe_playwright_python/axe.min.js").decode("utf-8")


def _is_right(wheel: Path) -> bool:
    return wheel.is_file() and hashlib.sha256(wheel.read_bytes()).hexdigest() == _HASH


def violations(page: chromium.Page, text: str, *, colours: bool = False) -> list[str]:
    """What axe finds on the page as it is: each rule with the elements that break it.

    `colours`: only the rules that look at colours, where the others have been tried on the same state.
    """
    if not page.evaluate("typeof window.axe === 'object'"):
        page.evaluate(f"{text}; undefined")
    only = {"type": "rule", "values": _RULES_OF_COLOURS} if colours else {"type": "tag", "values": _TAGS}
    # Style sheets are loaded before only for a rule that is not among these.
    options = {"runOnly": only, "resultTypes": ["violations"], "preload": False}
    found: list[dict[str, Any]] = page.evaluate(
        f"axe.run(document, {json.dumps(options)}).then(r => r.violations.map(v => "
        "({ id: v.id, nodes: v.nodes.map(n => n.html.slice(0, 150) + ' ' + n.failureSummary) })))"
    )
    return [f"{one['id']}: {node}" for one in found for node in one["nodes"]]
