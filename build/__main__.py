"""`python -m build COMMAND`: what the Makefile calls. Standard library only; it installs what else it needs.

Rules: only the server writes to stdout, except for the SHA-256 that is a build's result. `dist/` is changed only by
renames. One build at a time in this tree: a second one waits and then finds its work done.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from build import inputs, platforms, tools

DIST: Final = inputs.ROOT / "dist"
SERVED: Final = DIST / "memory-server.pyz"
BUNDLE: Final = DIST / "memory-server.mcpb"
HOST: Final = DIST / "memory-server-host.pyz"
USAGE: Final = """usage: python -m build COMMAND
  run [ARGUMENT...]  serve dist/memory-server.pyz, made for this platform unless it is there and up to date
  pyz                make dist/memory-server.pyz for every platform
  host               make dist/memory-server-host.pyz for this platform
  PLATFORM           make dist/memory-server-PLATFORM.pyz; one of: {}
  platforms          make all of those
  mcpb               make dist/memory-server.mcpb, a bundle for Claude Desktop
  registry [FILE]    print server.json, the entry for the registry of MCP servers, or write it; see registry.py
  venv               make .venv, with everything that the checks need"""


def say(text: str) -> None:
    """Print one line for the person who builds."""
    print("memory-server build: " + text, file=sys.stderr, flush=True)


def make(kind: str, target: Path) -> None:
    """Make the archive of that kind ("all" or a platform's name) unless it exists and is up to date."""
    digest = inputs.digest()
    if inputs.is_current(target, (kind,), digest):
        return
    with _alone():
        if inputs.is_current(target, (kind,), digest):
            return
        python = tools.prepare(inputs.ROOT / ".cache" / "tools", ["requirements-build.txt"], say)
        say(f"making dist/{target.name}")
        command = [str(python), "-m", "build.packing", kind, digest, str(target)]
        subprocess.run(command, check=True, cwd=inputs.ROOT, stdin=subprocess.DEVNULL, stdout=sys.stderr)


def run(arguments: list[str]) -> int:
    """Run the server and return its status. Where a process can become another program, it does."""
    host = platforms.host().name
    if not inputs.is_current(SERVED, ("all", host), inputs.digest()):
        make(host, HOST)
        part = SERVED.with_name(f"{SERVED.name}.{os.getpid()}.part")
        shutil.copy(HOST, part)
        os.replace(part, SERVED)
    command = [sys.executable, str(SERVED), *arguments]
    if os.name != "nt":
        os.execv(sys.executable, command)
    return subprocess.run(command, check=False).returncode


@contextmanager
def _alone() -> Iterator[None]:
    lock = inputs.ROOT / ".cache" / "build.lock"
    lock.parent.mkdir(exist_ok=True)
    with lock.open("wb") as file:
        try:
            import fcntl
        except ImportError:  # Windows: builds are made by hand there, one at a time
            yield
            return
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def main(arguments: list[str]) -> int:
    command, *rest = arguments or ["help"]
    names = [platform.name for platform in platforms.PLATFORMS]
    if command == "run":
        return run(rest)
    if command == "venv":
        with _alone():
            wanted = [f"requirements{name}.txt" for name in ("", "-build", "-test")]
            tools.prepare(inputs.ROOT / ".venv", wanted, say)
        return 0
    if command == "mcpb":
        from build import bundle  # reads the program's tools, which no other build needs

        make("all", SERVED)
        bundle.make(SERVED, BUNDLE)
        bundle.validate(BUNDLE, say)
        print(f"{hashlib.sha256(BUNDLE.read_bytes()).hexdigest()}  dist/{BUNDLE.name}")
        return 0
    if command == "registry":
        from build import registry

        try:
            text = registry.text(os.environ, BUNDLE)
        except (registry.Unnamed, OSError) as problem:
            print(f"memory-server build: {problem}", file=sys.stderr)
            return 1
        if rest:
            Path(rest[0]).write_text(text, "utf-8")
        else:
            print(text, end="")
        return 0
    if command == "pyz":
        wanted_archives = [("all", SERVED)]
    elif command == "host":
        wanted_archives = [(platforms.host().name, HOST)]
    elif command in (*names, "platforms"):
        chosen = names if command == "platforms" else [command]
        wanted_archives = [(name, DIST / f"memory-server-{name}.pyz") for name in chosen]
    else:
        print(USAGE.format(", ".join(names)), file=sys.stderr)
        return 2
    for kind, target in wanted_archives:
        make(kind, target)
        print(f"{hashlib.sha256(target.read_bytes()).hexdigest()}  dist/{target.name}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyError as problem:
        sys.exit(f"memory-server build: no archive can be built for this platform ({problem})")
    except subprocess.CalledProcessError as problem:
        sys.exit(f"memory-server build: a command failed with status {problem.returncode}: {' '.join(problem.cmd)}")
