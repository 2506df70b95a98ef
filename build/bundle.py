"""`python -m build mcpb`: a bundle for Claude Desktop, dist/memory-server.mcpb, from the archive for all platforms.

A bundle is a zip with a manifest; opening it installs the server. It contains no Python: Claude Desktop starts the one
on the machine. Rules: the same archive gives the same bytes. The memory is never in the bundle's own folder, which an
update replaces: MEMORY_SERVER_HOME names another one, which is used even if a person empties the field of the memory
file.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from build import inputs
from memory_app import __version__
from memory_app.tools.prompts import PROMPTS
from memory_app.tools.table import LISTED

OFFICIAL: Final = "@anthropic-ai/mcpb@2.1.2"
"""The tool that reads a manifest as Claude Desktop does; its version decides which `manifest_version` is known."""

_HOME: Final = "~/memory-server"
_SERVER: Final = "server/memory-server.pyz"
_ICON: Final = "icon.png"  # the sign of the viewer's page, 512 pixels square as the specification recommends
_DATE: Final = (2026, 1, 1, 0, 0, 0)
_ARGUMENT: Final = "${arguments.%s}"


def manifest() -> dict[str, Any]:
    """The manifest, by version 0.3 of its specification: the newest that is not called experimental."""
    return {
        "manifest_version": "0.3",
        "name": "memory-server",
        "display_name": "Memory",
        "version": __version__,
        "description": "A memory for AI assistants: a knowledge graph in one file that you own.",
        "long_description": (
            "Nine tools with which an assistant remembers people, projects and facts across conversations. "
            "Everything is kept in one JSON Lines file on this computer, and nothing is sent anywhere. "
            "Needs CPython 3.10 or newer."
        ),
        "author": {"name": "The memory-server authors"},
        "license": "MIT",
        "icon": _ICON,
        "keywords": ["memory", "knowledge graph", "jsonl"],
        "server": {
            "type": "python",
            "entry_point": _SERVER,
            "mcp_config": {
                "command": "python3",
                "args": [f"${{__dirname}}/{_SERVER}"],
                "env": {"MEMORY_FILE_PATH": "${user_config.memory_file}", "MEMORY_SERVER_HOME": _HOME},
                # python.org's installer for Windows makes no python3.exe.
                "platform_overrides": {"win32": {"command": "python"}},
            },
        },
        "user_config": {
            "memory_file": {
                "type": "string",  # the picker of "file" can only name what exists, and the memory may be new
                "title": "Memory file",
                "description": "Where the memory is kept: a file, or a folder for a memory.jsonl in it.",
                "default": f"{_HOME}/memory.jsonl",
                "required": False,
            }
        },
        "compatibility": {
            "platforms": ["darwin", "win32", "linux"],
            "runtimes": {"python": ">=3.10"},
        },
        "tools": [{"name": tool["name"], "description": tool["description"]} for tool in LISTED],
        "prompts": [
            {
                "name": prompt.name,
                "description": prompt.description,
                "arguments": [prompt.argument.name],
                "text": prompt.template.replace(
                    "{who}", prompt.given.replace("{name}", _ARGUMENT % prompt.argument.name)
                ),
            }
            for prompt in PROMPTS.values()
        ],
    }


def entries(archive: Path) -> dict[str, bytes]:
    """The bundle's files."""
    return {
        "manifest.json": json.dumps(manifest(), indent=2, ensure_ascii=False).encode() + b"\n",
        _ICON: (inputs.ROOT / "build" / _ICON).read_bytes(),
        "LICENSE": (inputs.ROOT / "LICENSE").read_bytes(),
        _SERVER: archive.read_bytes(),
    }


def make(archive: Path, target: Path) -> None:
    """Write the bundle."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as bundle:
        for name, content in entries(archive).items():
            entry = zipfile.ZipInfo(name, _DATE)
            entry.create_system = 3
            entry.external_attr = 0o100644 << 16
            # The archive is compressed already.
            entry.compress_type = zipfile.ZIP_STORED if name == _SERVER else zipfile.ZIP_DEFLATED
            bundle.writestr(entry, content)
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    part.write_bytes(made.getvalue())
    os.replace(part, target)


def official() -> list[str] | None:
    """The official tool's command line, installed into .cache the first time; None if there is no npm."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        return None
    folder = inputs.ROOT / ".cache" / "mcpb"
    program = folder / "node_modules" / "@anthropic-ai" / "mcpb" / "dist" / "cli" / "cli.js"
    known = folder / "installed"
    if not known.is_file() or known.read_text("utf-8") != OFFICIAL:
        folder.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder)]
        subprocess.run([*command, OFFICIAL], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        known.write_text(OFFICIAL, "utf-8")
    return [node, str(program)]


def validate(bundle: Path, say: Callable[[str], None]) -> None:
    """Let the official tool unpack the bundle, validate it and pack it again. CalledProcessError if it objects."""
    tool = official()
    if tool is None:
        say("the bundle was not validated, because that needs npm")
        return
    with tempfile.TemporaryDirectory() as folder:
        unpacked = Path(folder, "unpacked")
        for arguments in (
            ["unpack", bundle, unpacked],
            ["validate", unpacked / "manifest.json"],
            ["pack", unpacked, Path(folder, "packed.mcpb")],
            ["info", bundle],
        ):
            done = subprocess.run(
                [*tool, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False
            )
            if done.returncode:
                say(done.stdout.strip())
                done.check_returncode()
    say(f"{OFFICIAL} unpacked, validated and packed dist/{bundle.name}")
