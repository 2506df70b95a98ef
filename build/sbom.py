"""The bill of materials beside an archive: every bundled package, version and licence, in CycloneDX 1.6.

Rules: made from the wheels alone, so the same archive has the same bill: no time, no random serial number.
"""

from __future__ import annotations

import json
import zipfile
from email.message import Message
from email.parser import BytesHeaderParser
from pathlib import Path

from build import wheels


def make(platforms: list[str], sha256: str, name: str, version: str) -> bytes:
    """The bill of the archive with that file name and hash, of that version of the program, for these platforms."""
    chosen = wheels.locked(platforms)
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
        "hashes": [{"alg": "SHA-256", "content": sha256}],
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
    # A package has a wheel for each interpreter and platform: which ones are in there, by their hashes.
    found["properties"] = [{"name": f"wheel:{wheel.file}", "value": f"sha256:{wheel.sha256}"} for wheel, _ in built]
    return found


def _metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as opened:
        path = next(name for name in opened.namelist() if name.endswith(".dist-info/METADATA"))
        return BytesHeaderParser().parsebytes(opened.read(path))


def _licences(metadata: Message) -> list[dict[str, object]]:
    """The SPDX expression where there is one, else the name that the classifiers or the old field give."""
    if metadata["License-Expression"]:
        return [{"expression": metadata["License-Expression"]}]
    named = [
        line.rpartition(" :: ")[2]
        for line in metadata.get_all("Classifier", [])
        if line.startswith("License :: ") and line != "License :: OSI Approved"
    ]
    if not named and metadata["License"]:
        named = [metadata["License"].splitlines()[0]]
    return [{"license": {"name": name}} for name in named]
