"""What the program imports beside the standard library: `mcp`, which is declared, and what `mcp` itself requires.

The program takes the SDK's own building blocks (its server, its HTTP server's parts, its models) and must not bring
other versions of them; so only `mcp` is declared, and this test holds that the pinned one brings the rest.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from importlib import metadata
from pathlib import Path

import pytest
import uvicorn
from uvicorn.protocols.http import h11_impl

from memory_app.server.http import connection

ROOT = Path(__file__).resolve().parents[2]

BROUGHT_BY_MCP = {
    "mcp": "mcp",
    "mcp_types": "mcp-types",
    "anyio": "anyio",
    "pydantic": "pydantic",
    "pydantic_core": "pydantic-core",
    "typing_extensions": "typing-extensions",
    "uvicorn": "uvicorn",
    "h11": "h11",
}
"""Each module that is imported, with its distribution."""


def imported(outside: str | None = None) -> set[str]:
    """What the program imports beside the standard library; with `outside`, without that package of it."""
    found: set[str] = set()
    for path in (ROOT / "memory_app").rglob("*.py"):
        if outside is not None and (ROOT / "memory_app" / outside) in path.parents:
            continue
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"memory_app"}


def closure(name: str, seen: set[str]) -> set[str]:
    plain = re.sub(r"[-_.]+", "-", name).lower()
    if plain in seen:
        return seen
    seen.add(plain)
    try:
        requires = metadata.requires(plain) or []
    except metadata.PackageNotFoundError:  # for another platform
        return seen
    for line in requires:
        if "extra ==" not in line:
            closure(re.split(r"[\s<>=!~;\[(]", line, maxsplit=1)[0], seen)
    return seen


def test_nothing_is_imported_that_the_table_does_not_name() -> None:
    assert imported() <= set(BROUGHT_BY_MCP)


def test_one_package_of_the_program_imports_them_and_says_so() -> None:
    assert imported(outside="server") == set()
    said = (ROOT / "memory_app" / "server" / "__init__.py").read_text("utf-8")
    missing = {name for name in imported() - {"mcp", "mcp_types"} if not re.search(rf"\b{name}\b", said)}
    assert not missing


@pytest.mark.parametrize("module", BROUGHT_BY_MCP)
def test_the_pinned_mcp_brings_what_is_imported(module: str) -> None:
    assert BROUGHT_BY_MCP[module] in closure("mcp", set())


def test_the_installed_mcp_is_the_declared_one() -> None:
    declared = re.search(r'^dependencies = \["mcp==([\d.]+)"\]$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert declared is not None
    assert metadata.version("mcp") == declared[1]


def test_what_is_used_of_uvicorn_without_being_documented_is_in_the_version_that_was_read() -> None:
    assert metadata.version("uvicorn") == connection.READ
    source = inspect.getsource(h11_impl)
    table = set(re.findall(r"^\| (.+?) \|", connection.__doc__ or "", re.MULTILINE)) - {"of uvicorn", "---"}
    names = {name for row in table for name in re.findall(r"`([\w.]+)`", row)}
    names -= {"H11Protocol", "Server.capture_signals"}
    assert len(names) == 8
    assert [name for name in names if f"self.{name}" not in source and f"def {name}(" not in source] == []
    assert callable(uvicorn.Server.capture_signals)


def test_one_module_knows_what_is_undocumented_of_uvicorn() -> None:
    words = re.compile(r"uvicorn\.protocols|H11Protocol|capture_signals|\.cycle\b|timeout_keep_alive_task|\.conn\b")
    found = {path.name for path in (ROOT / "memory_app").rglob("*.py") if words.search(path.read_text("utf-8"))}
    assert found == {"connection.py"}
