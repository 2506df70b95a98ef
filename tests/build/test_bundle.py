"""The bundle for Claude Desktop: its manifest, what it starts, and what the official tool says of it."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from build import bundle
from memory_app import __version__
from memory_app.tools.table import LISTED as TOOLS
from tests.commands.running import environment

CALL = '{"entities":[{"name":"Ann","entityType":"person","observations":[]}]}'


@pytest.fixture
def installed(archive: Path, tmp_path: Path) -> Path:
    """The folder into which a client unpacked a bundle."""
    made, folder = tmp_path / "memory-server.mcpb", tmp_path / "Claude Extensions" / "memory-server"
    bundle.make(archive, made)
    with zipfile.ZipFile(made) as opened:
        opened.extractall(folder)
    return folder


def started(folder: Path, memory_file: str) -> dict[str, Any]:
    """`mcp_config` with its places filled in, as a client does it."""
    config = json.loads((folder / "manifest.json").read_text("utf-8"))["server"]["mcp_config"]
    text = json.dumps(config).replace("${__dirname}", str(folder)).replace("${user_config.memory_file}", memory_file)
    filled: dict[str, Any] = json.loads(text)
    return filled


def test_the_manifest_says_what_the_program_is() -> None:
    manifest = bundle.manifest()
    assert (manifest["manifest_version"], manifest["version"]) == ("0.3", __version__)
    assert [tool["name"] for tool in manifest["tools"]] == [tool["name"] for tool in TOOLS]
    assert [prompt["name"] for prompt in manifest["prompts"]] == ["personal_memory", "tidy_memory"]
    for prompt in manifest["prompts"]:
        assert f"${{arguments.{prompt['arguments'][0]}}}" in prompt["text"]
        assert "{who}" not in prompt["text"]
    assert manifest["server"]["entry_point"] in manifest["server"]["mcp_config"]["args"][0]


def test_the_same_archive_makes_the_same_bytes(archive: Path, tmp_path: Path) -> None:
    one, other = tmp_path / "one.mcpb", tmp_path / "other.mcpb"
    bundle.make(archive, one)
    bundle.make(archive, other)
    assert one.read_bytes() == other.read_bytes()
    with zipfile.ZipFile(one) as opened:
        assert opened.read("server/memory-server.pyz") == archive.read_bytes()
        icon = opened.read(bundle.manifest()["icon"])
    assert icon.startswith(b"\x89PNG\r\n\x1a\n")
    assert icon[16:24] == (512).to_bytes(4, "big") * 2, "its width and height"


@pytest.mark.parametrize(
    ("field", "kept"),
    [
        pytest.param("~/memory-server/memory.jsonl", "memory-server/memory.jsonl", id="as-installed"),
        pytest.param("", "memory-server/memory.jsonl", id="emptied"),
        pytest.param("work.jsonl", "memory-server/work.jsonl", id="a-name-alone"),
        pytest.param("~/Documents/", "Documents/memory.jsonl", id="a-folder"),
    ],
)
def test_the_memory_is_never_kept_in_the_bundle(installed: Path, tmp_path: Path, field: str, kept: str) -> None:
    config, home = started(installed, field), tmp_path / "home"
    home.mkdir()
    before = sorted(installed.rglob("*"))
    done = subprocess.run(
        [sys.executable, *config["args"], "call", "create_entities", CALL],
        env=environment(home, config["env"]),
        cwd=installed,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "Ann" in (home / kept).read_text("utf-8")
    assert sorted(installed.rglob("*")) == before


@pytest.mark.slow
def test_the_official_tool_accepts_the_bundle(archive: Path, tmp_path: Path) -> None:
    if bundle.official() is None:
        pytest.skip("the official tool needs npm")
    made, said = tmp_path / "memory-server.mcpb", list[str]()
    bundle.make(archive, made)
    bundle.validate(made, said.append)
    assert said == [f"{bundle.OFFICIAL} unpacked, validated and packed dist/memory-server.mcpb"]
    wrong = tmp_path / "wrong.mcpb"
    with zipfile.ZipFile(wrong, "w") as written:
        written.writestr("manifest.json", json.dumps(bundle.manifest() | {"unknown": 1}))
    with pytest.raises(subprocess.CalledProcessError):
        bundle.validate(wrong, said.append)
