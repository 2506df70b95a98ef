"""Writes the program file: every module of ours, those that a start needs compiled, the others as source.

The layout is described in `__main__`. Code is compiled at optimisation level 0 whatever the flags, without a file's
time or hash: the folder's name contains the build, so nothing needs to be compared when it is read. It does not contain
the folder's path either: the same archive and interpreter write the same file everywhere.
"""

from __future__ import annotations

import importlib.util
import marshal
from _imp import source_hash
from collections.abc import Iterable, Mapping
from types import CodeType
from typing import TYPE_CHECKING, Final

from .boot import SHOWN

if TYPE_CHECKING:
    from build.launcher.boot import Blob, Entry

NATIVE: tuple[str, ...] = (".so", ".pyd")
_BEGIN: Final = 16  # bytes before the head


def write(files: Mapping[str, bytes], kept: Mapping[str, bytes], compiled: Iterable[str], boot: bytes) -> list[bytes]:
    """The program file's pieces. `files`: all modules by path; `kept`: what is beside it as a file."""
    blobs: list[bytes] = []
    end = 0

    def add(blob: bytes) -> Blob:
        nonlocal end
        blobs.append(blob)
        end += len(blob)
        return end - len(blob), len(blob), source_hash(0, blob)

    wanted = frozenset(compiled)
    modules = {_module(path): path for path in files}
    index: dict[str, Entry] = {}
    for name in sorted(_packages(modules)):
        path = modules.get(name)
        if path is None:  # a namespace package: nothing but a place
            index[name] = (name.replace(".", "/") + "/__init__.py", True, None, add(b""))
            continue
        code = None
        if name in wanted or name.split(".")[0] == "memory_app":
            code = add(marshal.dumps(_compile(path, files[path])))
        index[name] = (path, path.endswith("/__init__.py"), code, add(files[path]))
    natives = {path.split(".")[0].replace("/", "."): path for path in kept if path.endswith(NATIVE)}
    tops = sorted({name.split(".")[0] for name in (*index, *natives)})
    folders = {path[:end] for path in kept for end, letter in enumerate(path) if letter == "/"}
    lying = [(path, len(content), source_hash(0, content)) for path, content in kept.items()]
    lying = sorted([*lying, *((folder, -1, b"") for folder in folders)])
    code_of_boot = compile(boot, SHOWN + "launcher/boot.py", "exec", dont_inherit=True)
    size = base = 0
    while True:  # the head holds its own length, whose digits it depends on
        head = marshal.dumps((code_of_boot, (size, lying, base, index, natives, tops)))
        if (size, base) == (_BEGIN + len(head) + end, _BEGIN + len(head)):
            break
        base = _BEGIN + len(head)
        size = base + end
    return [importlib.util.MAGIC_NUMBER, len(head).to_bytes(4, "little"), source_hash(0, head), head, *blobs]


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _packages(modules: Mapping[str, str]) -> set[str]:
    """The names of all packages, including folders without an __init__."""
    names = set(modules)
    for name in modules:
        while "." in name:
            name = name.rpartition(".")[0]
            names.add(name)
    return names


def _compile(path: str, source: bytes) -> CodeType:
    return compile(source, SHOWN + path, "exec", dont_inherit=True, optimize=0)
