"""`python -m build registry [FILE]`: server.json, the entry for the registry of MCP servers, to stdout or into a file.

Rules: names that somebody must own come from the environment and are never invented. Without a name for the entry, or
without any package, this ends with one line. What is not named is left out.

    REGISTRY_NAME     the entry's own name, reverse DNS: io.github.OWNER/NAME
    PACKAGE_NAME      the package on PyPI
    IMAGE_NAME        the image, with its registry and without a tag
    BUNDLE_URL        the address of dist/memory-server.mcpb of this version
    REPOSITORY_URL    the source
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from memory_app import __version__

SCHEMA: Final = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
VARIABLES: Final = ("REGISTRY_NAME", "PACKAGE_NAME", "IMAGE_NAME", "BUNDLE_URL", "REPOSITORY_URL")
_NAME: Final = re.compile(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+")
_MEMORY: Final = {
    "name": "MEMORY_FILE_PATH",
    "description": "The memory file; without it memory.jsonl in your data folder.",
    "format": "filepath",
}


class Unnamed(Exception):
    """A required name is missing; the text says which."""


def entry(names: Mapping[str, str], bundle: Path) -> dict[str, Any]:
    """The registry's entry for this version; Unnamed."""
    given = {name: names.get(name, "").strip() for name in VARIABLES}
    if not _NAME.fullmatch(given["REGISTRY_NAME"]):
        raise Unnamed("REGISTRY_NAME must be set, to a name such as io.github.OWNER/NAME")
    packages = _packages(given, bundle)
    if not packages:
        raise Unnamed("one of PACKAGE_NAME, IMAGE_NAME and BUNDLE_URL must be set")
    found: dict[str, Any] = {
        "$schema": SCHEMA,
        "name": given["REGISTRY_NAME"],
        "title": "Memory",
        "description": "A memory for AI assistants: a knowledge graph in one JSON Lines file that you own.",
        "version": __version__,
        "packages": packages,
    }
    if given["REPOSITORY_URL"]:
        source = "gitlab" if "//gitlab." in given["REPOSITORY_URL"] else "github"
        found["repository"] = {"url": given["REPOSITORY_URL"], "source": source}
    return found


def _packages(given: Mapping[str, str], bundle: Path) -> list[dict[str, Any]]:
    stdio = {"transport": {"type": "stdio"}}
    found: list[dict[str, Any]] = []
    if given["PACKAGE_NAME"]:
        package = {"registryType": "pypi", "identifier": given["PACKAGE_NAME"], "version": __version__}
        found.append({**package, "runtimeHint": "uvx", **stdio, "environmentVariables": [_MEMORY]})
    if given["IMAGE_NAME"]:
        volume = {"type": "named", "name": "-v", "value": "claude-memory:/app/dist"}
        image = {"registryType": "oci", "identifier": f"{given['IMAGE_NAME']}:{__version__}"}
        found.append({**image, "runtimeHint": "docker", "runtimeArguments": [volume], **stdio})
    if given["BUNDLE_URL"]:
        digest = hashlib.sha256(bundle.read_bytes()).hexdigest()
        found.append({"registryType": "mcpb", "identifier": given["BUNDLE_URL"], "fileSha256": digest, **stdio})
    return found


def text(names: Mapping[str, str], bundle: Path) -> str:
    """The file's text."""
    return json.dumps(entry(names, bundle), indent=2, ensure_ascii=False) + "\n"
