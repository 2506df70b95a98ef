"""What every start does: check the unpacked files, use their modules for imports, run the program.

Rules: its code is compiled in the program file and runs before anything else, so it imports only what is built into the
interpreter: a file could come from a foreign place. Nothing here writes; once a day `launcher.tidy` does.

Steps of a start:
1. Keep only the archive and the standard library in sys.path, so that nothing installed or set on this machine can
   replace what we import.
2. Share the program file's lock for life, so that nobody removes what is running (`launcher.tidy`).
3. Check that every unpacked file and folder exists, each file with its size, and that nobody else can write it;
   otherwise a cleaner was here, and the first start repairs it.
4. Import our modules from the program file from now on. What a .pth file loaded early under our names is dropped.
5. Run `memory_app.cli:main`.

A disk may lose bits: what is read from the program file is compared with its hash, and is read from the archive if it
differs; the libraries are compared once a day, and when one cannot be loaded.
"""

from __future__ import annotations

import marshal
import os
import sys
import time
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import ExtensionFileLoader
from _imp import source_hash
from _stat import S_IFDIR, S_IFREG

TYPE_CHECKING = False  # as in typing, whose import costs
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import CodeType, ModuleType
    from typing import Any, Final

    Blob = tuple[int, int, bytes]  # offset, length, hash
    Entry = tuple[str, bool, Blob | None, Blob]  # file, is it a package, its code if it is compiled, its source
    Index = Mapping[str, Entry]
    Lying = Sequence[tuple[str, int, bytes]]  # path, size (-1: a folder), hash

DAY: Final = 86_400.0
SHOWN: Final = "memory-server.pyz/"  # where a traceback says that our modules are


class Importer:
    """Finder and loader of the modules in the program file, and of the compiled ones beside it."""

    def __init__(
        self, archive: str, folder: str, program: int, base: int, index: Index, natives: Mapping[str, str]
    ) -> None:
        self._archive = archive
        self._folder = folder
        self._program = program
        self._base = base
        self._index = index
        self._natives = natives
        self._originals: dict[str, bytes] = {}

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        entry = self._index.get(name)
        if entry is None:
            if name not in self._natives:
                return None
            file = self._folder + os.sep + self._natives[name].replace("/", os.sep)
            spec = ModuleSpec(name, _Library(name, file, self._natives[name], self), origin=file)
            spec.has_location = True
            return spec
        file = self._folder + os.sep + entry[0].replace("/", os.sep)
        spec = ModuleSpec(name, self, origin=file, is_package=entry[1])  # type: ignore[arg-type]
        spec.has_location = True
        if entry[1]:
            spec.submodule_search_locations = [os.path.dirname(file)]
        return spec

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        exec(self.get_code(module.__name__), module.__dict__)

    def get_code(self, name: str) -> CodeType:
        path, _, compiled, _ = self._index[name]
        blob = self._read(compiled) if compiled else None
        if blob is not None:
            code = marshal.loads(blob)
        else:
            code = compile(self._source(name), SHOWN + path, "exec", dont_inherit=True)
        return code  # type: ignore[no-any-return]

    def get_source(self, name: str) -> str:
        """The source, for tracebacks: the sources are not unpacked as files."""
        return self._source(name).decode("utf-8")

    def is_package(self, name: str) -> bool:
        return self._index[name][1]

    def get_data(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def get_resource_reader(self, name: str) -> Any:
        """The reader for importlib.resources: data files are unpacked as files."""
        from importlib.readers import FileReader
        from types import SimpleNamespace

        file = os.path.join(self._folder, *self._index[name][0].split("/"))
        return FileReader(SimpleNamespace(path=file, name=name))  # type: ignore[arg-type]

    def original(self, path: str) -> bytes:
        """A file's bytes from the archive, because those on the disk are damaged. The next start writes them again."""
        if not self._originals:
            try:
                os.unlink(os.path.join(self._folder, "program"))
            except OSError:  # Windows, where it is open; or a read-only cache
                pass
            sys.path.insert(0, self._archive)
            try:
                from launcher import unpack

                self._originals = unpack.originals(self._archive, os.path.basename(self._folder))
            finally:
                sys.path.remove(self._archive)
        return self._originals[path]

    def _source(self, name: str) -> bytes:
        path, _, _, source = self._index[name]
        blob = self._read(source)
        return self.original(path) if blob is None else blob

    def _read(self, wanted: Blob) -> bytes | None:
        """The content; None if it is not what was written."""
        offset, length, digest = wanted
        if hasattr(os, "pread"):
            blob = os.pread(self._program, length, self._base + offset)
        else:
            # Windows: a second descriptor, since threads share the position of this one.
            with open(os.path.join(self._folder, "program"), "rb") as file:
                file.seek(self._base + offset)
                blob = file.read(length)
        return blob if source_hash(0, blob) == digest else None


class _Library(ExtensionFileLoader):
    """Loads a compiled part; one that a disk has damaged is loaded from a fresh copy."""

    def __init__(self, name: str, file: str, path: str, importer: Importer) -> None:
        super().__init__(name, file)
        self._path = path
        self._importer = importer

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        try:
            return super().create_module(spec)
        except ImportError:
            content = self._importer.original(self._path)
            with open(self.path, "rb") as file:
                if file.read() == content:
                    raise
            fresh = f"{self.path}.{os.getpid()}.tmp"
            with open(fresh, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
                file.write(content)
            os.replace(fresh, self.path)
            return super().create_module(spec)


def check(
    vet: Callable[[os.stat_result, int], None],
    folder: str,
    program: int,
    facts: os.stat_result,
    size: int,
    files: Lying,
    *rest: object,
) -> None:
    """Take the lock; raise OSError or ValueError unless everything that was unpacked exists, is ours, and will stay.

    `vet`: the launcher's `Place.vet`.
    """
    keep_standard_library()
    if facts.st_size != size:
        raise ValueError("the program file is not whole")
    _hold(program)
    thorough = _is_due(folder, facts)
    for path, length, digest in files:
        file = folder + os.sep + path.replace("/", os.sep)
        found = os.lstat(file)
        vet(found, S_IFREG if length >= 0 else S_IFDIR)
        if length >= 0 and found.st_size != length:
            raise ValueError(path + " is not whole")
        if length >= 0 and thorough:
            with open(file, "rb") as content:
                if source_hash(0, content.read()) != digest:
                    raise ValueError(path + " is damaged")


def _is_due(folder: str, facts: os.stat_result) -> bool:
    """Whether the daily work is due, and this folder can be written."""
    return abs(time.time() - facts.st_mtime) > DAY and os.access(folder, os.W_OK)


def start(
    folder: str,
    program: int,
    facts: os.stat_result,
    size: int,
    files: Lying,
    base: int,
    index: Index,
    natives: Mapping[str, str],
    tops: Sequence[str],
) -> None:
    """Run the program; ends with SystemExit."""
    if _is_due(folder, facts):
        from launcher import tidy

        tidy.once_a_day(folder)
    archive = os.path.abspath(sys.path[0])
    sys.path[0] = folder
    for top in tops:
        if top in sys.modules:
            for name in [name for name in sys.modules if name == top or name.startswith(top + ".")]:
                del sys.modules[name]
    sys.meta_path.insert(0, Importer(archive, folder, program, base, index, natives))
    from memory_app.cli import main

    sys.exit(main())


def _hold(program: int) -> None:
    """Share the lock that tells `tidy` that this folder is in use. On Windows an open file cannot be removed anyway."""
    try:
        import fcntl

        fcntl.flock(program, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:  # it is being removed at this moment
        raise
    except (ImportError, OSError):  # no locks here: nobody can take the exclusive one either
        pass


def keep_standard_library() -> None:
    """Drop everything from sys.path except the first entry, which is the archive, and the standard library."""
    sys.path[1:] = [entry for entry in sys.path[1:] if _is_standard(entry)]


def _is_standard(entry: str) -> bool:
    name = os.path.basename(entry)
    library = os.path.dirname(os.__file__)
    return (
        entry in (library, sys.base_prefix)
        or name in ("lib-dynload", "DLLs")
        or (name.startswith("python3") and name.endswith(".zip"))
    )
