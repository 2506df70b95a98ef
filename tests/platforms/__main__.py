"""`python -m tests.platforms [PART[=WORD]...]`: the archive on every interpreter, system and client to be had here.

The archive is the one that MEMORY_SERVER_PYZ names; of a part with a WORD only the rows run that have it in their name,
as `debian=riscv64`. Prints the table; without PARTs it also writes it to RESULTS.md and, in short, to the guide's page
`platforms`. The part `clients`, run as a whole, writes what it saw into the page `clients`. The exit status is 1 if
something that ran failed; what cannot run here is a line of the table and no failure. The interpreters of this
machine are run one by one, all else two at a time.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, TimeoutError
from pathlib import Path
from typing import Final

from tests.bench.report import marked
from tests.platforms import clients, debian, free_threaded, image_row, interpreters, musl, static, windows
from tests.platforms.fetching import CACHE, ROOT
from tests.platforms.results import Job, Row, rows_of, say, short_table, table

_PARTS: Final[Mapping[str, Callable[[Path], list[Job]]]] = {
    "interpreters": interpreters.jobs,
    "debian": debian.jobs,
    "musl": musl.jobs,
    "windows": windows.jobs,
    "free-threaded": free_threaded.jobs,
    "image": image_row.jobs,
    "clients": clients.jobs,
    "static": static.jobs,
}
_ALONE: Final = ("interpreters",)
_AT_ONCE: Final = 2
_LIMIT: Final = 45.0  # minutes from the start of the run, after which no job is waited for
_RESULTS: Final = Path(__file__).with_name("RESULTS.md")
_GUIDE: Final = ROOT / "memory_app" / "guide"
_TEXT: Final = """# One archive, run on what one Linux machine can have

Written by `make platforms`; the archive was {archive}. Each place runs the same suite
(`smoke.py`): a first start into an empty cache and next ones (the best of them is shown), both eras of the protocol,
all nine tools, two writers at once, a kill in the middle of writing and what remains, paths with spaces and any
letters, CR LF, the end of its input, commands, HTTP. Emulated processors other than arm64 run the scenes that a
processor can change. Windows adds its own scenes (`windows_scenes.py`), clients theirs (`clients.py`), the image too
(`image.py`). Times are those of a machine that did other work as well. The last rows start nothing: they are all that
can be said here about macOS, and about Windows outside Wine. The CPython for musl and the free-threaded one were
compiled for this (`compiled.py`): no registry that is used here has them.

{table}
The run took {minutes:.0f} minutes.
"""
_SHORT: Final = """
What `make platforms` ran with {archive} (all rows stand in `tests/platforms/RESULTS.md`):

{table}
"""


def main(arguments: list[str]) -> int:
    wanted = dict(argument.partition("=")[::2] for argument in arguments) or dict.fromkeys(_PARTS, "")
    unknown = wanted.keys() - _PARTS.keys()
    archive = Path(os.environ.get("MEMORY_SERVER_PYZ") or ROOT / "dist" / "memory-server.pyz").resolve()
    if unknown or not archive.is_file():
        print(f"no archive at {archive}: run `make pyz`" if not unknown else f"the parts are: {', '.join(_PARTS)}")
        return 2
    began = time.monotonic()
    kept = _copy(archive)
    found = _run(wanted, kept)
    result = table(found)
    print(result, end="")
    seen = [row for row in found if row.platform == "client" and row.run]
    if wanted.get("clients") == "" and seen:
        _rewrite("clients", clients.told(seen))
    if not arguments:
        from memory_app import __version__

        content = kept.read_bytes()
        about = f"{archive.name}, {len(content) / 1e6:.1f} MB, version {__version__}"
        exactly = f"{about}, SHA-256 `{hashlib.sha256(content).hexdigest()}`"
        text = _TEXT.format(archive=exactly, table=result, minutes=(time.monotonic() - began) / 60)
        _RESULTS.write_text(text, "utf-8")
        short = _SHORT.format(archive=about, table=short_table(found))
        _rewrite("platforms", short, "run")
    failed = sum(row.run - row.passed for row in found)
    print(f"{sum(row.passed for row in found)} passed, {failed} failed")
    return 1 if failed else 0


def _rewrite(page: str, text: str, mark: str = "") -> None:
    """Put this between the marks of a page of the guide, which have the page's name unless another is given."""
    path = _GUIDE / f"{page}.md"
    path.write_text(marked(path.read_text("utf-8"), mark or page, text), "utf-8")


def _run(wanted: Mapping[str, str], archive: Path) -> list[Row]:
    """The rows of these parts, in their order. What is not done in time goes on until the process ends."""
    began = time.monotonic()
    parts = {
        name: [job for job in _PARTS[name](archive) if word in f"{job.platform} {job.interpreter}"]
        for name, word in wanted.items()
    }
    found = {name: [row for job in jobs for row in _timed(job)] for name, jobs in parts.items() if name in _ALONE}
    beside = {name: jobs for name, jobs in parts.items() if name not in _ALONE}
    pool = ThreadPoolExecutor(_AT_ONCE)
    started = {name: [pool.submit(_timed, job) for job in jobs] for name, jobs in beside.items()}
    for name, futures in started.items():
        pairs = zip(beside[name], futures, strict=True)
        found[name] = [row for job, future in pairs for row in _result(job, future, began + _LIMIT * 60)]
    pool.shutdown(wait=False, cancel_futures=True)
    return [row for name in wanted for row in found[name]]


def _result(job: Job, future: Future[list[Row]], end: float) -> list[Row]:
    try:
        return future.result(max(end - time.monotonic(), 0))
    except TimeoutError:
        return [Row(job.platform, job.interpreter, run=1, note=f"not done within {_LIMIT:.0f} minutes of the run")]


def _timed(job: Job) -> list[Row]:
    began = time.monotonic()
    rows = rows_of(job)
    say(f"{job.platform}, {job.interpreter}: took {(time.monotonic() - began) / 60:.1f} minutes")
    return rows


def _copy(archive: Path) -> Path:
    """A copy that nobody builds anew while it is tested, under a name of its own for each content."""
    content = archive.read_bytes()
    folder = CACHE / "archive" / hashlib.sha256(content).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / archive.name
    if not copy.is_file() or copy.stat().st_size != len(content):
        copy.write_bytes(content)
    return copy


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(status)  # a job that is not done is not waited for
