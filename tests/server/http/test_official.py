"""What others wrote for the protocol: the official conformance suite, and the client of the TypeScript SDK."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from memory_app.tools.table import LISTED as TOOLS
from tests.server.http.conformance import SUITES, outcomes
from tests.server.http.packages import installed, node
from tests.server.http.serving import TOKEN, serving

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def test_every_conformance_scenario_that_applies_passes(tmp_path: Path) -> None:
    found = list(outcomes(tmp_path))
    print(*(outcome.line for outcome in found), sep="\n")
    assert {(one.suite, one.revision) for one in found} == {
        (v, r) for v, revisions in SUITES.items() for r in revisions
    }
    assert [outcome.line for outcome in found if outcome.failed] == []
    assert sum(not outcome.reason for outcome in found) >= 40


@pytest.mark.parametrize("token", [None, TOKEN], ids=["open", "token"])
@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025"), ("auto", "2026-07-28")])
def test_the_typescript_client_works(tmp_path: Path, mode: str, version: str, token: str | None) -> None:
    modules = installed("@modelcontextprotocol/client@2.4.0")
    script = shutil.copy(Path(__file__).with_name("typescript.mjs"), modules.parent)
    with serving(tmp_path, env={"MEMORY_HTTP_TOKEN": token} if token else None) as server:
        command = [node(), script, server.url, mode, *([token] if token else [])]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["version"].startswith(version)
    assert told["tools"] == [tool["name"] for tool in TOOLS]
    assert told["heard"] and told["entities"] >= 1
    assert told["graph"]["entities"][0]["observations"] == ["From TypeScript"]
