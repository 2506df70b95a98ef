"""The bill of materials beside an archive, in CycloneDX 1.6: every bundled package with version, licence and hash.

Below a package are its wheels with their hashes, and their contents: the Rust crates that the wheels' own bills name,
each once, and below a wheel the libraries that it includes.

Rules: made only from the wheels, so the same archive has the same bill: no time, no random serial number. Licences are
SPDX expressions.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from email.message import Message
from email.parser import BytesHeaderParser
from pathlib import Path
from typing import Any, Final

from build import wheels

_SPDX: Final = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "PSF": "PSF-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
"""The licence names of packages without an SPDX expression -> their identifiers."""


def make(platforms: list[str], sha256: str, name: str, version: str) -> bytes:
    """The bill of the archive with that file name and hash, of that version of the program, for these platforms."""
    chosen = wheels.locked_wheels(platforms)
    by_package: dict[tuple[str, str], list[tuple[wheels.Wheel, Path]]] = {}
    for wheel, path in zip(chosen, wheels.fetch(chosen), strict=True):
        by_package.setdefault((wheel.name, wheel.version), []).append((wheel, path))
    components = [_component(*package, built) for package, built in sorted(by_package.items())]
    root = {
        "type": "application",
        "bom-ref": "memory-server",
        "name": name,
        "version": version,
        "licenses": [{"license": {"id": "MIT"}}],
        "hashes": _hash(sha256),
    }
    bill = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": root},
        "components": components,
        "dependencies": [{"ref": "memory-server", "dependsOn": [str(one["bom-ref"]) for one in components]}],
    }
    return json.dumps(bill, indent=1, ensure_ascii=False).encode() + b"\n"


def _component(name: str, version: str, built: list[tuple[wheels.Wheel, Path]]) -> dict[str, object]:
    purl = f"pkg:pypi/{name}@{version}"
    found: dict[str, object] = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
    found["licenses"] = _licences(_metadata(built[0][1]))
    if len(built) == 1 and built[0][0].platform == "any":
        found["hashes"] = _hash(built[0][0].sha256)
    # A package has a wheel for each interpreter and platform: which ones are in there.
    crates = {json.dumps(crate, sort_keys=True): crate for _, path in built for crate in _crates(path)}
    found["components"] = [*(_wheel(wheel, path) for wheel, path in built), *(crates[key] for key in sorted(crates))]
    return found


def _wheel(wheel: wheels.Wheel, path: Path) -> dict[str, object]:
    found: dict[str, object] = {"type": "file", "name": wheel.file, "hashes": _hash(wheel.sha256)}
    with zipfile.ZipFile(path) as opened:
        brought = [name for name in sorted(opened.namelist()) if ".libs/" in name and not name.endswith("/")]
        hashes = [hashlib.sha256(opened.read(name)).hexdigest() for name in brought]
    if brought:
        found["components"] = [
            {"type": "file", "name": name, "hashes": _hash(digest)}
            for name, digest in zip(brought, hashes, strict=True)
        ]
    return found


def _crates(wheel: Path) -> list[dict[str, object]]:
    """The crates that the bills inside a wheel name, without addresses and paths of the machine that made it."""
    kept = ("type", "name", "version", "purl", "hashes", "licenses")
    with zipfile.ZipFile(wheel) as opened:
        bills = [name for name in opened.namelist() if ".dist-info/sboms/" in name and name.endswith(".json")]
        found: list[dict[str, Any]] = [
            one for name in bills for one in json.loads(opened.read(name)).get("components", ())
        ]
    return [{key: one[key] for key in kept if key in one} for one in found]


def _hash(sha256: str) -> list[dict[str, str]]:
    return [{"alg": "SHA-256", "content": sha256}]


def _metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as opened:
        path = next(name for name in opened.namelist() if name.endswith(".dist-info/METADATA"))
        return BytesHeaderParser().parsebytes(opened.read(path))


def _licences(metadata: Message) -> list[dict[str, object]]:
    """The SPDX expression if there is one, else that of the name in the classifiers or the old field."""
    if metadata["License-Expression"]:
        return [{"expression": metadata["License-Expression"]}]
    named = [
        line.rpartition(" :: ")[2]
        for line in metadata.get_all("Classifier", [])
        if line.startswith("License :: ") and line != "License :: OSI Approved"
    ]
    if not named:
        named = [(metadata["License"] or "").splitlines()[0]]
    return [{"license": {"id": _SPDX.get(name, name)}} for name in named]
