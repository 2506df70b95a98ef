"""`python -m build.packing KIND DIGEST TARGET`: packs one archive. Runs in the build's own environment.

shiv makes the archive of the program and its pure packages. Then its contents become parts beside those of the compiled
packages, and our start (`launcher/`) replaces shiv's, which supports only one interpreter.

Rules: the same inputs give the same bytes, whoever builds, where and when: sorted names, one date, fixed modes. The
archive for all platforms is compressed by xz, solid for each platform, because the builds of a package for the
different interpreters are nearly the same. The archive for one platform is compressed by deflate, one part for each
interpreter, for interpreters without _lzma.
"""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from build import inputs, platforms, sbom, stage

DATE: Final = (2026, 1, 1, 0, 0, 0)  # of every entry; any fixed one would do
EPOCH: Final = "1767225600"  # the same for shiv
_SHEBANG: Final = b"#!/usr/bin/env python3\n"
_DICTIONARY: Final = 1 << 26  # bytes: more than any platform's part, so that all of it is one solid piece


def pack(kind: str, digest: str, target: Path) -> None:
    """Make the archive for "all" platforms or the named one, with its SHA-256 and its bill of materials beside it."""
    chosen = [one.name for one in platforms.PLATFORMS if kind in ("all", one.name)]
    staged = stage.stage(chosen)
    entries = _start(kind, digest)
    entries["served.json"] = json.dumps(
        {name: sorted(abi for abi in groups if abi != "any") for name, groups in staged.native.items()},
        sort_keys=True,
    ).encode()
    entries["environment.json"], pure = _through_shiv(staged.pure, digest)
    parts = {"pure": {"any": pure}, **staged.native}
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # the compressor lets other threads run
        for made in pool.map(lambda name: _parts(parts[name], name, solid=kind == "all"), parts):
            entries |= made
    target.parent.mkdir(exist_ok=True)
    content = _zip(entries)
    bill = sbom.make(chosen, hashlib.sha256(content).hexdigest(), target.name, _version())
    _replace(target.with_name(target.name + ".cdx.json"), bill, 0o644)
    line = f"{hashlib.sha256(content).hexdigest()}  {target.name}\n"
    _replace(target.with_name(target.name + ".sha256"), line.encode(), 0o644)
    _replace(target, content, 0o755)  # last: a process that sees it finds the others


def _start(kind: str, digest: str) -> dict[str, bytes]:
    folder = inputs.ROOT / "build" / "launcher"
    found = {f"launcher/{path.name}": path.read_bytes() for path in inputs.sources(folder) if path.suffix == ".py"}
    version = {"@VERSION@": _version(), "@BUILD@": digest, "@ARCHIVE@": kind}
    main = found.pop("launcher/__main__.py").decode("utf-8")
    for mark, value in version.items():
        main = main.replace(mark, value)
    startup = (inputs.ROOT / "build" / "startup.txt").read_bytes()
    licence = (inputs.ROOT / "LICENSE").read_bytes()
    return {"__main__.py": main.encode("utf-8"), "LICENSE": licence, **found, "startup.txt": startup}


def _version() -> str:
    scope: dict[str, str] = {}
    exec((inputs.ROOT / "memory_app" / "__init__.py").read_text("utf-8"), scope)
    return scope["__version__"]


def _through_shiv(pure: Mapping[str, bytes], digest: str) -> tuple[bytes, dict[str, bytes]]:
    """shiv's archive of these files: its own metadata, and the files as shiv added them."""
    with tempfile.TemporaryDirectory() as folder:
        packages, made = Path(folder, "packages"), Path(folder, "made.pyz")
        for name, content in pure.items():
            path = packages / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        command = [sys.executable, "-m", "shiv", "--site-packages", str(packages), "--output-file", str(made)]
        command += ["--entry-point", "memory_app.cli:main", "--build-id", digest, "--reproducible", "--uncompressed"]
        subprocess.run(
            command,
            check=True,
            env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        with zipfile.ZipFile(made) as archive:
            prefix = "site-packages/"
            files = {
                name.removeprefix(prefix): archive.read(name)
                for name in archive.namelist()
                if name.startswith(prefix) and not name.startswith(prefix + "bin/")
            }
            return archive.read("environment.json"), files


def _parts(groups: Mapping[str, Mapping[str, bytes]], name: str, *, solid: bool) -> dict[str, bytes]:
    files = [(f"{group}/{path}", content) for group, paths in groups.items() for path, content in paths.items()]
    if solid:
        return {f"parts/{name}.tar.xz": _xz(_tar(sorted(files, key=_likeness)), x86=name.endswith(("x86_64", "amd64")))}
    if name == "pure":
        return {"parts/pure.tar": _tar(sorted(files))}
    return {
        f"parts/{name}.{group}.tar": _tar(sorted(file for file in files if file[0].startswith(group + "/")))
        for group in sorted(groups)
    }


def _likeness(file: tuple[str, bytes]) -> tuple[str, str]:
    """A sort key that puts the builds of one library for the different interpreters beside each other."""
    path = file[0].partition("/")[2]
    folder, _, base = path.rpartition("/")
    kind = "dist-info" if ".dist-info/" in path else base.rpartition(".")[2]
    return f"{kind} {folder}/{base.split('.')[0]}", file[0]


def _tar(files: Iterable[tuple[str, bytes]]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in files:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return made.getvalue()


def _xz(content: bytes, *, x86: bool) -> bytes:
    """The data, compressed. The result is kept in .cache, because a platform's part takes half a minute and changes
    only with the pins.
    """
    filters: list[dict[str, int]] = [{"id": lzma.FILTER_X86}] if x86 else []
    filters.append({"id": lzma.FILTER_LZMA2, "preset": 9, "dict_size": _DICTIONARY})
    key = hashlib.sha256(f"{filters} {sys.version}\n".encode() + content).hexdigest()
    kept = inputs.ROOT / ".cache" / "parts" / f"{key}.xz"
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        made = lzma.compress(content, format=lzma.FORMAT_XZ, check=lzma.CHECK_CRC32, filters=filters)
        _replace(kept, made, 0o644)
    return kept.read_bytes()


def _zip(entries: Mapping[str, bytes]) -> bytes:
    made = io.BytesIO()
    made.write(_SHEBANG)
    with zipfile.ZipFile(made, "w") as archive:
        # The start is first: `inputs.is_current` reads it there.
        for name in sorted(entries, key=lambda name: (name != "__main__.py", name)):
            entry = zipfile.ZipInfo(name, DATE)
            entry.create_system = 3  # Unix, wherever it is made
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED if name.endswith(".tar") else zipfile.ZIP_STORED
            archive.writestr(entry, entries[name], compresslevel=9)
    return made.getvalue()


def _replace(path: Path, content: bytes, mode: int) -> None:
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_bytes(content)
    part.chmod(mode)
    os.replace(part, path)


if __name__ == "__main__":
    pack(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
