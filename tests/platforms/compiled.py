"""CPythons that no registry used here has, compiled from Debian's sources: linked with musl, and free-threaded.

Rules: each is compiled once, which takes minutes (the one for musl, with its OpenSSL, a quarter of an hour), and kept
below `.cache/platforms`. Without optimisation, and without what a server needs nothing of.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

from tests.platforms.debian import sources
from tests.platforms.fetching import CACHE, Missing, call, need_programs

PREFIX: Final = "usr/local"
_HOME: Final = CACHE / "compiled"
_JOBS: Final = "-j2"
_OPTIONS: Final = (f"--prefix=/{PREFIX}", "--without-ensurepip", "--disable-test-modules")
_NEEDED: Final = ("_lzma", "_ssl", "zlib")

# Python's configure asks the compiler for the system's triplet, which the wrapper of musl answers with glibc's.
_COMPILER: Final = """#!/bin/sh
for argument; do case $argument in --print-multiarch) echo x86_64-linux-musl; exit;; esac; done
exec musl-gcc "$@"
"""
# Without what would need the kernel's headers and glibc's extensions.
_NO_SSL_PARTS: Final = ("shared", "tests", "dso", "zlib", "async", "secure-memory", "engine", "afalgeng")
_LINUX_HEADERS: Final = ("-idirafter", "/usr/include/x86_64-linux-gnu", "-idirafter", "/usr/include")
_LIBRARIES: Final = (("zlib", "trixie"), ("xz-utils", "trixie"), ("openssl", "bookworm"))


def free_threaded() -> Path:
    """The folder whose `usr/local` is a CPython 3.14t for this machine."""
    made = _HOME / "python3.14t"
    if not made.is_dir():
        headers = ("/usr/include/lzma.h", "/usr/include/zlib.h", "/usr/include/openssl/ssl.h")
        missing = [path for path in headers if not os.path.exists(path)]
        if missing:
            raise Missing(f"needs {', '.join(missing)} (Debian packages liblzma-dev, zlib1g-dev, libssl-dev)")
        need_programs({"make": "make", "gcc": "gcc", "xz": "xz-utils"})
        build = _fresh("python3.14t.build")
        source = sources("forky", "python3.14", build / "source")
        _compile_python(source, build / "python", ["--disable-gil"], _environ(build))
        os.replace(build / "python", made)
        shutil.rmtree(build)
    return made


def linked_with_musl() -> Path:
    """The folder whose `usr/local` is a CPython 3.13 that needs a root with musl and two devices, and nothing else."""
    made = _HOME / "python3.13-musl"
    if not made.is_dir():
        programs = {"musl-gcc": "musl-tools", "make": "make", "gcc": "gcc", "perl": "perl", "xz": "xz-utils"}
        need_programs(programs)
        build = _fresh("python3.13-musl.build")
        compiler = build / "cc"
        compiler.write_text(_COMPILER, "ascii")
        compiler.chmod(0o755)
        environ = _environ(build) | {"CC": str(compiler)}
        libraries = _compile_libraries(build, environ | {"CFLAGS": "-O2 -fPIC"})
        environ |= {
            "CPPFLAGS": f"-I{libraries}/include",
            "LDFLAGS": f"-L{libraries}/lib -Wl,--export-dynamic",
            "PKG_CONFIG_LIBDIR": f"{libraries}/lib/pkgconfig",
        }
        source = sources("trixie", "python3.13", build / "source")
        _compile_python(source, build / "python", [f"--with-openssl={libraries}"], environ)
        os.replace(build / "python", made)
        shutil.rmtree(build)
    return made


def _fresh(name: str) -> Path:
    folder = _HOME / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _environ(build: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(build), "LC_ALL": "C", "OPT": "-DNDEBUG -O1"}


def _compile_libraries(build: Path, environ: dict[str, str]) -> Path:
    """Static zlib, xz and OpenSSL; the folder that they are installed in."""
    zlib, xz, ssl = (sources(suite, name, build / name) for name, suite in _LIBRARIES)
    made = build / "libraries"
    call(["./configure", f"--prefix={made}", "--static"], cwd=zlib, env=environ)
    call(["make", _JOBS, "install", "libz.a"], cwd=zlib, env=environ)
    without = ("shared", "xz", "xzdec", "lzmadec", "lzmainfo", "scripts", "doc", "nls")
    call(["./configure", f"--prefix={made}", *(f"--disable-{name}" for name in without)], cwd=xz, env=environ)
    call(["make", _JOBS, "install"], cwd=xz, env=environ)
    options = [f"--prefix={made}", "--libdir=lib", "-DOPENSSL_NO_SECURE_MEMORY", *_LINUX_HEADERS]
    options += [f"no-{part}" for part in _NO_SSL_PARTS]
    call(["./Configure", "linux-x86_64", *options], cwd=ssl, env=environ)
    call(["make", _JOBS, "build_libs"], cwd=ssl, env=environ)
    call(["make", "install_dev"], cwd=ssl, env=environ)
    return made


def _compile_python(source: Path, target: Path, options: list[str], environ: dict[str, str]) -> None:
    call(["./configure", *_OPTIONS, *options], cwd=source, env=environ)
    call(["make", _JOBS], cwd=source, env=environ)
    call(["make", "install", f"DESTDIR={target}"], cwd=source, env=environ)
    for name in _NEEDED:
        if not list((target / PREFIX).glob(f"lib/python3.*/lib-dynload/{name}.*.so")):
            raise Missing(f"the Python was compiled without {name}")
