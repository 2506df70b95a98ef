"""Figures of the viewer in a real Chromium: `python -m tests.viewer.figures [SIZE ...]`, at 10 to 20,000 entities.

First paint, time until the page takes input (its first whole frame is drawn), how much of the processor its main thread
used until then (which a busy machine changes least), how long the frames of a drag last, the worst twentieth of them,
how much of that is the page's own work, and the heap after a collection. Each size is opened several times; the median
is told, since a busy machine makes single figures wrong. `--page FOLDER` measures the viewer of another checkout in
turn with this one. That of version 1.0:

    git worktree add /tmp/one 4e7de5f
    python -m tests.viewer.figures --page /tmp/one

(it drew 120 of 20,000 entities, where there is an overview of all of them now). For a WebGL library on the same data:
`python -m tests.viewer.webgl`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tests.viewer import chromium, memories

SIZES: Final = (10, 300, 5000, 20000)
ROUNDS: Final = 3
ROOT: Final = Path(__file__).resolve().parent.parent.parent

_WATCH: Final = """
addEventListener("DOMContentLoaded", () => {
  const ready = () => {
    const { body } = document; // version 1.0 tells by its canvas alone
    if (window.usable !== undefined) return;
    if ((body.dataset.ready ?? body.querySelector("#graph")?.dataset.state) === undefined) return;
    requestAnimationFrame(() => setTimeout(() => (window.usable ??= performance.now())));
  };
  new MutationObserver(ready).observe(document.body, { attributes: true });
  ready();
});
"""
_DRAG: Final = """
new Promise((done) => {
  const canvas = document.querySelector("#graph");
  const how = { pointerId: 1, button: 0, buttons: 1, bubbles: true };
  const at = (kind, x, y) => canvas.dispatchEvent(new PointerEvent(kind, { ...how, clientX: x, clientY: y }));
  canvas.setPointerCapture = () => {};
  const [times, busy] = [[], []];
  let [x, step] = [500, 0];
  at("pointerdown", 500, 790 - 20);
  const frame = (now) => {
    times.push(now);
    const start = performance.now();
    x += step % 60 < 30 ? 12 : -12;
    at("pointermove", x, 770 - (step % 40));
    step += 1;
    requestAnimationFrame(frame2);
    function frame2(next) { // runs behind the page's own frame, which was asked for by the move
      busy.push(performance.now() - next);
      if (step < 90) frame(next);
      else { at("pointerup", x, 770); done({ frames: times.slice(1).map((t, i) => t - times[i]), busy }); }
    }
  };
  requestAnimationFrame(frame);
})
"""


class Figures(NamedTuple):
    """Milliseconds, but for `heap` in bytes. `cpu` is 0 where /proc does not tell it."""

    paint: float
    usable: float
    cpu: float
    frame: float
    worst: float
    work: float
    heap: float


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.viewer.figures")
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES)
    parser.add_argument("--page", metavar="FOLDER", type=Path, help="another checkout to compare with")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args(arguments)
    path = chromium.program()
    if path is None:
        sys.exit("no Chromium on this machine")
    folders = [ROOT] if given.page is None else [given.page.resolve(), ROOT]
    print("entities     page  first paint   to interact       CPU   pan: frame   worst 5 %   own work     heap")
    with tempfile.TemporaryDirectory() as place, chromium.running(path) as browser:
        for size in given.sizes:
            pages = [made(folder, size, Path(place) / f"{number}.html") for number, folder in enumerate(folders)]
            rounds: list[list[Figures]] = [[] for _ in pages]
            for _ in range(given.rounds):
                for page, found in zip(pages, rounds, strict=True):
                    found.append(measured(browser, page))
            for folder, page, found in zip(folders, pages, rounds, strict=True):
                print(_row(size, page, found), folder if len(folders) > 1 else "")


@contextlib.contextmanager
def opened(browser: chromium.Browser, file: Path) -> Iterator[tuple[chromium.Page, float]]:
    """A page that has said that it is usable, and the milliseconds of the processor that its main thread took."""
    empty = file.with_name("empty.html")
    empty.write_text("<!doctype html>", encoding="utf-8")
    with browser.page(empty, True) as page:
        page.call("Page.addScriptToEvaluateOnNewDocument", source=_WATCH)
        before = _used(browser)
        page.call("Page.navigate", url=file.as_uri())
        page.wait("window.usable")
        yield page, max((used - before.get(process, 0.0) for process, used in _used(browser).items()), default=0.0)


def _used(browser: chromium.Browser) -> dict[int, float]:
    """Milliseconds of the processor that the main thread of each page's process has used, as Linux tells them."""
    found = {}
    for process in browser.call("SystemInfo.getProcessInfo")["processInfo"]:
        number = process["id"]
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{number}/task/{number}/stat").read_text().rpartition(")")[2].split()
            if process["type"] == "renderer":
                found[number] = 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found


def measured(browser: chromium.Browser, file: Path) -> Figures:
    with opened(browser, file) as (page, cpu):
        usable = page.evaluate("window.usable")
        page.wait("performance.getEntriesByType('paint').length > 0")
        paint = page.evaluate("performance.getEntriesByType('paint')[0].startTime")
        page.wait("document.querySelector('#graph').dataset.state === 'still'")
        dragged: dict[str, list[float]] = page.evaluate(_DRAG)
        page.call("HeapProfiler.collectGarbage")
        heap = page.call("Runtime.getHeapUsage")["usedSize"]
    frames = sorted(dragged["frames"])
    worst = frames[int(len(frames) * 0.95)]
    return Figures(paint, usable, cpu, statistics.median(frames), worst, statistics.median(dragged["busy"]), heap)


def made(folder: Path, size: int, file: Path) -> Path:
    """The page of a checkout for a memory of a size, made by its own code."""
    graph = file.with_suffix(".json")
    graph.write_text(memories.many(size), encoding="utf-8")
    code = (
        "import sys; from memory_app import viewer;"
        "text = open(sys.argv[1], encoding='utf-8').read();"
        "source = getattr(viewer, 'Source', str)('memory.jsonl');"
        "open(sys.argv[2], 'w', encoding='utf-8').write(viewer.page(text, source))"
    )
    subprocess.run([sys.executable, "-c", code, str(graph), str(file)], cwd=folder, check=True, timeout=60)
    return file


def _row(size: int, page: Path, found: list[Figures]) -> str:
    middle = Figures(*(statistics.median(each) for each in zip(*found, strict=True)))
    return (
        f"{size:8,} {page.stat().st_size / 1e6:5.1f} MB {middle.paint:9.0f} ms {middle.usable:10.0f} ms "
        f"{middle.cpu:6.0f} ms {middle.frame:9.1f} ms {middle.worst:8.1f} ms {middle.work:7.1f} ms "
        f"{middle.heap / 1e6:5.0f} MB"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
