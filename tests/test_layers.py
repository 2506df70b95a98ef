"""The layers as they are drawn: who may import whom, who knows the SDK, who changes the file system.

One table for all of `memory_app/`, one for `build/`. Every file belongs to a package of the tables; a package may
import what its row names, and what stands below it, and nothing else. The rules are also broken on purpose, in a tree
made for that, to see that each is noticed.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pytest

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGE: Final = ROOT / "memory_app"


class Row(NamedTuple):
    """A package's one sentence, and the packages that it may import."""

    sentence: str
    imports: str


# From the bottom up: an arrow goes from a row to rows above it in this table.
LAYERS: Final[Mapping[str, Row]] = {
    "__init__": Row("A memory server for AI assistants: its version.", ""),
    "errors": Row("The program's errors.", ""),
    "text": Row("Folding, lone surrogates, one safe line, counted nouns.", ""),
    "viewer": Row("The viewer: one HTML page that shows a memory and needs nothing else.", ""),
    "disk": Row("Every change of the file system: single calls, and whole files made of them.", ""),
    "lock": Row("One lock file that the writers of all processes, the npm server's too, agree on.", "disk errors"),
    "jsonl": Row("The file format: bytes to records and back, nothing lost.", "errors text"),
    "graph": Row("The knowledge graph as an immutable snapshot, and the nine operations on it.", "errors jsonl text"),
    "tools": Row(
        "What a model may call, as data, and each call as a function of a snapshot.", "errors graph jsonl text"
    ),
    "storage": Row("The memory on disk: load it, one writer, save it.", "disk errors graph jsonl lock"),
    "location": Row("Which file is the memory, and bringing an old one to its place.", "disk errors jsonl lock text"),
    "server": Row(
        "MCP: the only package that knows the SDK.",
        "__init__ disk errors graph location storage text tools",
    ),
    "commands": Row(
        "The commands: what they are called, what each is for, and how one is run.",
        "__init__ disk errors graph jsonl location lock server storage text tools viewer",
    ),
    "cli": Row("The command line.", "__init__ commands errors server"),
    "__main__": Row("`python -m memory_app`.", "cli"),
}
BUILD: Final[Mapping[str, str]] = {
    "build": "memory_app",  # the bundle's list of tools, and the version
    "build.launcher": "memory_app",  # what it starts
    "build.image": "",
}
TOP: Final = {"__init__", "__main__", "cli", "errors", "text"}

SDK: Final = {"mcp", "mcp_types", "anyio", "pydantic", "pydantic_core", "uvicorn", "starlette", "h11", "sse_starlette"}
# These commands alone start a server of their own, or make tokens for one.
START_A_SERVER: Final = {"commands.serve", "commands.token", "commands.view"}
# Reads no clock, starts no thread, does no input or output.
PURE: Final = ("text", "jsonl", "graph", "tools")
IMPURE_IMPORTS: Final = {
    "os", "io", "time", "datetime", "threading", "random", "secrets", "subprocess", "socket", "pathlib",
}  # fmt: skip
CHANGING: Final = {
    "open", "write", "replace", "rename", "renames", "unlink", "remove", "rmdir", "removedirs", "mkdir", "makedirs",
    "link", "symlink", "chmod", "fchmod", "chown", "fchown", "lchown", "utime", "truncate", "ftruncate", "mkfifo",
    "mknod", "fsync", "setxattr", "removexattr", "fdatasync", "pwrite", "writev", "copy_file_range", "sendfile",
}  # fmt: skip
# What writes to the pipes of a client, to /dev/null in place of a closed descriptor, or calls an editor's program.
OUTPUT_ALONE: Final = {
    "commands.frame", "commands.screen.terminal", "server.stdio.pipes", "server.stderr", "commands.upkeep.trials",
    "commands.view",  # the page of a person without a browser of their own is a temporary file
}  # fmt: skip


class Module(NamedTuple):
    """`name` without `memory_app.`; `package` is its row in the table."""

    name: str
    package: str
    tree: ast.Module


def read_tree(folder: Path) -> list[Module]:
    """All modules below a folder that is laid out as `memory_app/` is."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        found.append(Module(".".join(parts), parts[0], ast.parse(path.read_bytes())))
    return found


@functools.cache
def modules() -> list[Module]:
    return read_tree(PACKAGE)


def imported(tree: ast.AST) -> Iterator[str]:
    """Full names of all that is imported anywhere in a module, also for types alone."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def packages_imported(module: Module) -> set[str]:
    """The rows of the table that a module leans on, without its own."""
    names = {name.split(".")[1] for name in imported(module.tree) if name.startswith("memory_app.")}
    return {"__init__" if name == "__version__" else name for name in names} - {module.package}


def arrows(tree: list[Module]) -> set[tuple[str, str]]:
    return {(module.package, other) for module in tree for other in packages_imported(module)}


def wrong_arrows(tree: list[Module]) -> set[tuple[str, str]]:
    """The arrows that no row allows."""
    return {(one, other) for one, other in arrows(tree) if other not in LAYERS[one].imports.split()}


def changes_files(tree: ast.AST) -> list[str]:
    """Calls that change the file system: `os.xxx`, `shutil`, and `open` for anything but reading."""
    roots = {name.split(".")[0] for name in imported(tree)}
    found = sorted(roots & {"tempfile", "pathlib"})
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in ("os", "io", "shutil"):
            found += [alias.name for alias in node.names if alias.name in CHANGING or node.module == "shutil"]
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in CHANGING:
            found += [f"{node.value.id}.{node.attr}"] if node.value.id in ("os", "io", "posix", "nt") else []
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "shutil":
            found += [f"shutil.{node.attr}"] if node.attr not in ("get_terminal_size", "which", "disk_usage") else []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "open":
            mode = [*node.args[1:2], *(word.value for word in node.keywords if word.arg == "mode")]
            if mode and not (isinstance(mode[0], ast.Constant) and set(str(mode[0].value)) <= set("rbt")):
                found.append("open")
        if isinstance(node, ast.Attribute) and node.attr in ("write_text", "write_bytes", "touch_file"):
            found.append(node.attr)
    return found


def impure(tree: ast.AST) -> set[str]:
    """What a pure module may not use: imports that reach outside, and calls that read or write."""
    calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    outside = {full.split(".")[0] for full in imported(tree)} & IMPURE_IMPORTS
    return outside | calls & {"open", "print", "input", "exec", "eval"}


def relative(tree: ast.AST) -> list[int]:
    """The lines of imports that are not written out."""
    return [node.lineno for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level]


def knows_the_sdk(module: Module) -> bool:
    return bool(SDK & {full.split(".")[0] for full in imported(module.tree)})


def test_every_file_belongs_to_a_package_of_the_table() -> None:
    assert {module.package for module in modules()} | {"guide"} == {*LAYERS, "guide"}
    assert {path.stem for path in PACKAGE.glob("*.py")} == TOP


def test_imports_are_written_out() -> None:
    assert {module.name: relative(module.tree) for module in modules() if relative(module.tree)} == {}


@pytest.mark.parametrize("package", sorted(set(LAYERS) - TOP))
def test_a_package_opens_with_its_one_sentence(package: str) -> None:
    text = ast.get_docstring(ast.parse((PACKAGE / package / "__init__.py").read_bytes())) or ""
    assert text.startswith(LAYERS[package].sentence.rstrip(".").split(":")[0])


def test_the_arrows_are_those_of_the_table_and_no_others() -> None:
    """A row that allows more than is needed would let an arrow slip in."""
    drawn = {(name, other) for name, row in LAYERS.items() for other in row.imports.split()}
    assert arrows(modules()) == drawn


def test_the_arrows_go_down() -> None:
    order = list(LAYERS)
    for name, row in LAYERS.items():
        assert all(order.index(below) < order.index(name) for below in row.imports.split()), name


def test_no_two_modules_of_a_package_import_each_other_in_a_circle() -> None:
    edges = {
        module.name: {
            name
            for full in imported(module.tree)
            for name in (full.removeprefix("memory_app."), full.removeprefix("memory_app.").rpartition(".")[0])
            if name in {other.name for other in modules()} and name != module.name
        }
        for module in modules()
    }
    while edges:
        ends = {name for name, below in edges.items() if not below & set(edges)}
        assert ends, f"a circle: {sorted(edges)}"
        edges = {name: below for name, below in edges.items() if name not in ends}


def test_the_core_needs_the_standard_library_alone() -> None:
    for module in modules():
        if module.package != "server":
            outside = {full.split(".")[0] for full in imported(module.tree)} - {"memory_app"}
            assert outside <= set(sys.stdlib_module_names), module.name


def test_only_the_server_knows_the_sdk() -> None:
    assert [module.name for module in modules() if knows_the_sdk(module) and module.package != "server"] == []


def test_a_command_reaches_the_server_only_to_start_one() -> None:
    reach = {m.name for m in modules() if m.package == "commands" and "server" in packages_imported(m)}
    assert reach == START_A_SERVER


def test_what_a_memory_means_does_no_input_or_output_and_reads_no_clock() -> None:
    assert {module.name: impure(module.tree) for module in modules() if module.package in PURE} == {
        module.name: set() for module in modules() if module.package in PURE
    }


def test_disk_is_the_only_package_whose_calls_change_the_file_system() -> None:
    for module in modules():
        if module.package != "disk" and module.name not in OUTPUT_ALONE:
            assert changes_files(module.tree) == [], module.name


def test_the_check_for_changes_sees_those_of_disk() -> None:
    (calls,) = [module for module in modules() if module.name == "disk.calls"]
    assert {"os.open", "os.replace", "os.unlink", "os.mkdir", "os.link"} <= set(changes_files(calls.tree))


@pytest.mark.parametrize("package", sorted(BUILD))
def test_the_build_imports_only_what_its_row_allows(package: str) -> None:
    for path in (ROOT / package.replace(".", "/")).glob("*.py"):
        roots = {full.split(".")[0] for full in imported(ast.parse(path.read_bytes()))}
        ours = roots & {"memory_app", "tests"}
        assert ours <= set(BUILD[package].split()), path.name


@pytest.mark.parametrize(
    ("file", "code"),
    [
        pytest.param("graph/new.py", "from memory_app.storage.store import Store", id="an arrow up"),
        pytest.param("commands/new.py", "from memory_app import cli", id="a command that imports the command line"),
        pytest.param(
            "text.py", "def f() -> None:\n    from memory_app.disk import calls", id="an import in a function"
        ),
    ],
)
def test_an_arrow_that_points_the_wrong_way_is_noticed(tmp_path: Path, file: str, code: str) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(code)
    assert len(wrong_arrows(read_tree(tmp_path))) == 1


def test_each_other_rule_that_is_broken_is_noticed() -> None:
    assert knows_the_sdk(Module("commands.new", "commands", ast.parse("from pydantic import BaseModel")))
    assert impure(ast.parse("import time")) == {"time"}
    assert impure(ast.parse("print('x')")) == {"print"}
    assert changes_files(ast.parse("import os\nos.replace('a', 'b')")) == ["os.replace"]
    assert changes_files(ast.parse("open('a', 'w')")) == ["open"]
    assert changes_files(ast.parse("import shutil\nshutil.rmtree('a')")) == ["shutil.rmtree"]
    assert changes_files(ast.parse("from shutil import copy")) == ["copy"]
