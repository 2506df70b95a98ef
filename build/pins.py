"""`make pins`: from the *.in files to requirements*.txt (all hashes) and wheels.txt (the wheels of the archive).

Run by hand when a version changes; the results are committed. Needs the network and uv; nothing else here does.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from build import inputs, platforms, wheels

_BUILD: Final = inputs.ROOT / "build"
LEFT_OUT: Final = frozenset(
    (
        # Only the client half of the SDK uses these.
        *("attrs", "jsonschema", "jsonschema-specifications", "referencing", "rpds-py", "pyjwt", "httpx2-jsfetch"),
        # Only the high-level server of the SDK uses this; `build/absent` replaces it. cffi is only needed by it.
        *("cryptography", "cffi", "pycparser"),
        # It does nothing by itself; `build/absent` does that at less cost.
        "opentelemetry-api",
    )
)
"""The requirements that the archive leaves out."""


def write_requirements() -> None:
    """Resolve the *.in files for all interpreters at once."""
    for name, against in (("", ()), ("-build", ()), ("-test", ("", "-build"))):
        command = ["uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--python-version", "3.10"]
        command += ["--no-emit-index-url", "--no-annotate", "--no-header"]
        for other in against:
            command += ["--constraint", str(_BUILD / f"requirements{other}.txt")]
        target = _BUILD / f"requirements{name}.txt"
        text = subprocess.run(
            [*command, str(_BUILD / f"requirements{name}.in")], check=True, stdout=subprocess.PIPE, text=True
        ).stdout
        target.write_text(f"# Made by `make pins` from requirements{name}.in.\n{text}", "utf-8")


def read_requirements(path: Path) -> list[tuple[Requirement, str]]:
    """Each requirement of a pinned file, and its text with the hashes, as pip reads it."""
    blocks = path.read_text("utf-8").replace("\\\n", " ").splitlines()
    return [
        (Requirement(line.split(" --hash=")[0].strip()), line)
        for line in blocks
        if line.strip() and not line.startswith("#")
    ]


def write_wheels() -> None:
    """Choose the wheel of every package for every platform and interpreter, and write the list."""
    chosen: dict[tuple[str, str], set[wheels.Wheel]] = {}
    wheels.CACHE.mkdir(parents=True, exist_ok=True)
    for platform in platforms.PLATFORMS:
        for python in platform.pythons:
            abi = platforms.abi(python)
            for file, digest in _choose(platform, python, abi):
                kinds = {tag.abi for tag in parse_wheel_filename(file)[3]}
                where = ("any", "any") if kinds == {"none"} else (platform.name, abi)
                chosen.setdefault(where, set()).add(wheels.Wheel(*where, file, digest))
    lines = [" ".join(wheel) for wheel in sorted(one for group in chosen.values() for one in group)]
    head = "# Made by `make pins`: platform, interpreter, wheel, SHA-256 of every wheel in the universal archive.\n"
    wheels.LOCK.write_text(head + "\n".join(lines) + "\n", "utf-8")


def _choose(platform: platforms.Platform, python: str, abi: str) -> list[tuple[str, str]]:
    python = python.removesuffix("t")
    environment = {**platform.markers, "python_version": python, "python_full_version": python + ".0"}
    wish = [
        text.split(";")[0].split(" --hash")[0] + " " + text[text.index("--hash") :]
        for requirement, text in read_requirements(_BUILD / "requirements.txt")
        if canonicalize_name(requirement.name) not in LEFT_OUT
        and (requirement.marker is None or requirement.marker.evaluate(environment))
    ]
    with tempfile.TemporaryDirectory(dir=wheels.CACHE) as folder:
        listing = Path(folder, "wish.txt")
        listing.write_text("\n".join(wish) + "\n", "utf-8")
        command = wheels.pip_download(listing, Path(folder), python=python)
        command += [f"--abi={one}" for one in (abi, "abi3", "none")] + [f"--platform={one}" for one in platform.tags]
        subprocess.run(command, check=True, stdout=sys.stderr)
        found = []
        for path in sorted(Path(folder).glob("*.whl")):
            found.append((path.name, hashlib.sha256(path.read_bytes()).hexdigest()))
            os.replace(path, wheels.CACHE / path.name)
    return found


def main() -> int:
    if shutil.which("uv") is None:
        print("memory-server build: make pins needs uv (pip install uv)", file=sys.stderr)
        return 1
    write_requirements()
    write_wheels()
    return 0


if __name__ == "__main__":
    sys.exit(main())
