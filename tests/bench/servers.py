"""The programs that are compared: this one, as the archive that users have, and the npm server.

The npm server is installed into `.cache/bench`, with a Node of its own where the machine has none that is new enough.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from memory_app import __version__
from tests.bench.client import Server

ROOT: Final = Path(__file__).resolve().parents[2]
CACHE: Final = ROOT / ".cache" / "bench"
NPM_PACKAGE: Final = "@modelcontextprotocol/server-memory"
NPM_VERSION: Final = "2026.8.31"
NPM_IN_PLACE: Final = "2026.7.4"
"""The last release before that one: it writes the memory file in place."""
_OLDEST_NODE: Final = 18  # the npm server's own requirement
_NODE_VERSION: Final = "24"


def archive(python: str = sys.executable) -> Server:
    """This program as its archive: the one that `make bench` has built and named."""
    built = os.environ.get("MEMORY_SERVER_PYZ", str(ROOT / "dist" / "memory-server-host.pyz"))
    return Server("memory-server", _ours("archive"), (python, built))


def is_optimised(python: str) -> bool:
    """Whether that interpreter was compiled with the optimisation by profiles that its makers recommend."""
    names = ["CONFIG_ARGS", "PGO_PROF_GEN_FLAG", "PGO_PROF_USE_FLAG"]
    ask = f"import json, sysconfig; print(json.dumps(sysconfig.get_config_vars(*{names})))"
    said = subprocess.run([python, "-c", ask], check=True, capture_output=True, text=True).stdout
    return used_profiles(*json.loads(said))


def used_profiles(configured: str | None, generating: str | None, using: str | None) -> bool:
    """The same, from how it was configured and its flags for generating and for using a profile.

    Debian makes the profile without telling `configure`, and afterwards removes the flag for using it from what
    sysconfig knows. Elsewhere both flags are known, whether they were used or not.
    """
    return "--enable-optimizations" in (configured or "") or bool(generating and not using)


def source(module: str = "memory_app") -> Server:
    """This program from its source; `module` may be one that changes it first."""
    return Server("memory-server", _ours("source"), (sys.executable, "-m", module), {"PYTHONPATH": str(ROOT)})


def npm(version: str = NPM_VERSION) -> Server:
    """The npm server, installed if it is not there yet."""
    cache = CACHE if version == NPM_VERSION else CACHE / version
    program = shutil.which("npm")
    if program is None:
        raise SystemExit("The benchmark compares with the npm server: install npm first.")
    node = shutil.which("node")
    wanted = [f"{NPM_PACKAGE}@{version}"]
    if node is None or _node_version(node)[0] < _OLDEST_NODE:
        package = f"node-{_node_platform()}"
        wanted.append(f"{package}@{_NODE_VERSION}")
        node = str(cache / "node_modules" / package / "bin" / "node")
    installed = cache / "node_modules" / NPM_PACKAGE
    if not (installed / "package.json").is_file() or not Path(node).is_file():
        cache.mkdir(parents=True, exist_ok=True)
        quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
        subprocess.run([program, "install", "--prefix", str(cache), *quiet, *wanted], check=True, stdout=sys.stderr)
    found = json.loads((installed / "package.json").read_text("utf-8"))["version"]
    if found != version:
        raise SystemExit(f"{installed} is version {found}, not {version}: remove {cache}.")
    runtime = ".".join(map(str, _node_version(node)))
    return Server("npm", f"{version} on Node {runtime}", (node, str(installed / "dist" / "index.js")))


def _ours(form: str) -> str:
    return f"{__version__} ({form}) on Python {platform.python_version()}"


def _node_version(node: str) -> tuple[int, ...]:
    said = subprocess.run([node, "--version"], check=True, capture_output=True, text=True).stdout
    return tuple(map(int, re.findall(r"\d+", said)))


def _node_platform() -> str:
    system = {"linux": "linux", "darwin": "darwin", "win32": "win"}[sys.platform]
    machine = {"amd64": "x64", "x86_64": "x64", "aarch64": "arm64"}.get(platform.machine().lower(), "arm64")
    return f"{system}-{machine}"
