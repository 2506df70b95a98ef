"""Virtual environments from the pinned requirements: the build's own tools, and the checks' `.venv`.

Rules: an environment is valid if its stamp names the pins and the interpreter that it was made from; the stamp is
written last. Every package comes with its hash.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from build import inputs


def prepare(folder: Path, requirements: Sequence[str], say: Callable[[str], None]) -> Path:
    """The environment's interpreter, made again if anything changed; SystemExit with one line if that fails."""
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    pins = [inputs.ROOT / "build" / name for name in requirements]
    total = hashlib.sha256(f"{sys.version}\n{sys.executable}\n{folder.resolve()}\n".encode())
    for path in pins:
        total.update(path.read_bytes())
    stamp = folder / "made-from"
    if python.exists() and stamp.is_file() and stamp.read_text("ascii") == total.hexdigest():
        return python
    say(f"setting up {folder.relative_to(inputs.ROOT)} (once; packages come from your package index)")
    shutil.rmtree(folder, ignore_errors=True)
    _call([sys.executable, "-m", "venv", str(folder)], "python3 -m venv fails (on Debian: install python3-venv)")
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
    for path in pins:
        command += ["--requirement", str(path)]
    _call(command, "pip could not install the pinned packages")
    stamp.write_text(total.hexdigest(), "ascii")
    return python


def _call(command: list[str], explanation: str) -> None:
    done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, stdout=sys.stderr)
    if done.returncode:
        sys.exit(f"memory-server build: {explanation}")
