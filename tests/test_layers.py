"""The layers as they are drawn: who may import whom, who knows the SDK, who changes the file system."""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "memory_app"

# The core, from the top down: a module may import those of its row and no others of the package.
CORE: dict[str, str] = {
    "store": "calls errors file graph lock",
    "calls": "errors graph",
    "file": "disk errors folders graph reload shapes sidefiles",
    "sidefiles": "disk",
    "tools": "arguments changes errors graph queries records",
    "schemas": "arguments",
    "arguments": "changes errors values",
    "values": "",
    "changes": "errors graph jsonl records",
    "queries": "blocks fold graph records",
    "reload": "graph jsonl records shapes",
    "shapes": "errors jsonl parser records",
    "graph": "blocks jsonl records",
    "blocks": "records",
    "jsonl": "parser records",
    "records": "",
    "parser": "",
    "fold": "",
    "paths": "disk environment errors expansion lock",
    "access": "disk environment errors",
    "expansion": "environment errors",
    "environment": "",
    "lock": "errors heartbeat identity lockfile lockrecord",
    "heartbeat": "lockfile",
    "lockfile": "disk identity lockrecord",
    "lockrecord": "identity",
    "identity": "",
    "folders": "disk",
    "disk": "",
    "errors": "",
}
# The protocol side: the only modules that may know the SDK, and only these.
SDK = {"mcp", "mcp_types", "anyio", "pydantic", "pydantic_core"}
KNOW_THE_SDK = {"finish", "guidance", "http", "messages", "quickstart", "serve", "stdio", "wire"}
PROTOCOL = KNOW_THE_SDK | {"connections", "guard", "notices", "pipes", "prompts", "service", "signals", "updates"}
# Reads no clock, starts no thread, does no input or output.
PURE = {
    "tools", "changes", "queries", "reload", "graph", "blocks", "shapes", "jsonl", "records", "parser", "fold",
    "values",
}  # fmt: skip
IMPURE_IMPORTS = {"os", "io", "time", "datetime", "threading", "random", "secrets", "subprocess", "socket", "pathlib"}
CHANGING = {
    "open", "write", "replace", "rename", "renames", "unlink", "remove", "rmdir", "removedirs", "mkdir", "makedirs",
    "link", "symlink", "chmod", "fchmod", "chown", "fchown", "lchown", "utime", "truncate", "ftruncate", "mkfifo",
    "mknod", "fsync", "fdatasync", "pwrite", "writev", "copy_file_range", "sendfile",
}  # fmt: skip


@functools.cache
def modules() -> dict[str, ast.Module]:
    return {path.stem: ast.parse(path.read_bytes()) for path in PACKAGE.glob("*.py")}


def imported(tree: ast.AST) -> Iterator[str]:
    """Full names of all that is imported anywhere in a module, also for types alone."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are written out"
            assert node.module is not None
            if node.module == "memory_app":
                yield from (f"memory_app.{alias.name}" for alias in node.names)
            else:
                yield node.module


def of_package(tree: ast.AST) -> set[str]:
    names = {name.split(".")[1] for name in imported(tree) if name.startswith("memory_app.")}
    return names - {"__version__"}


def changes_files(tree: ast.AST) -> list[str]:
    """Calls that change the file system: `os.xxx`, `shutil`, and `open` for anything but reading."""
    found = [name for name in imported(tree) if name.split(".")[0] in ("shutil", "tempfile", "pathlib")]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in ("os", "io"):
            found += [alias.name for alias in node.names if alias.name in CHANGING]
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in CHANGING:
            found += [f"{node.value.id}.{node.attr}"] if node.value.id in ("os", "io", "posix", "nt") else []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "open":
            mode = [*node.args[1:2], *(word.value for word in node.keywords if word.arg == "mode")]
            if mode and not (isinstance(mode[0], ast.Constant) and set(str(mode[0].value)) <= set("rbt")):
                found.append("open")
        if isinstance(node, ast.Attribute) and node.attr in ("write_text", "write_bytes", "touch_file"):
            found.append(node.attr)
    return found


@pytest.mark.parametrize("name", sorted(CORE))
def test_a_module_of_the_core_imports_only_what_its_row_allows(name: str) -> None:
    assert of_package(modules()[name]) <= set(CORE[name].split())


def test_the_rows_are_what_is_there() -> None:
    """A row that allows more than is needed would let an arrow slip in."""
    trees = modules()
    assert {name: set(row.split()) for name, row in CORE.items()} == {name: of_package(trees[name]) for name in CORE}


def test_the_arrows_of_the_core_go_down() -> None:
    order = list(CORE)
    for name, row in CORE.items():
        assert all(order.index(below) > order.index(name) for below in row.split()), name


@pytest.mark.parametrize("name", sorted(CORE))
def test_the_core_needs_the_standard_library_alone(name: str) -> None:
    outside = {full.split(".")[0] for full in imported(modules()[name])} - {"memory_app"}
    assert outside <= set(sys.stdlib_module_names)


def test_only_the_protocol_side_knows_the_sdk() -> None:
    for path in PACKAGE.rglob("*.py"):
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        if SDK & {full.split(".")[0] for full in imported(ast.parse(path.read_bytes()))}:
            assert name in KNOW_THE_SDK, name


@pytest.mark.parametrize("name", sorted(PURE))
def test_the_graph_and_its_file_format_do_no_input_or_output_and_read_no_clock(name: str) -> None:
    tree = modules()[name]
    assert not IMPURE_IMPORTS & {full.split(".")[0] for full in imported(tree)}
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not called & {"open", "print", "input", "exec", "eval"}


@pytest.mark.parametrize("name", sorted(set(CORE) - {"disk"}))
def test_disk_is_the_only_module_of_the_core_whose_calls_change_the_file_system(name: str) -> None:
    assert changes_files(modules()[name]) == []


def test_the_check_for_changes_sees_those_of_disk() -> None:
    assert {"os.open", "os.replace", "os.unlink", "os.mkdir", "os.link"} <= set(changes_files(modules()["disk"]))


def test_every_module_is_in_one_layer() -> None:
    top = {"__init__", "__main__", "cli"}
    assert set(modules()) - top - PROTOCOL - set(CORE) == set(), "add it to the table above"
