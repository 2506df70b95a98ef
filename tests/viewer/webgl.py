"""A WebGL library on the same data as the viewer, to compare with: `python -m tests.viewer.webgl [SIZE ...]`.

sigma and graphology come from npm, once, by pinned hashes, and are kept in `.cache`; nothing of them enters the
program. Their CommonJS files are put into a page as they are, with a few lines of `require` instead of a bundler.
Entities get their places for nothing (in discs of forty, as the data has its groups), where the viewer finds its groups
and places by itself: the comparison favours the library. Both draw with the same Chromium in the same run. Where that
has no graphics card WebGL is computed by the processor (SwiftShader), which the last line says. The library is used as
its documentation begins: it is not tuned, but for hiding the links while the camera moves, in the second of its rows.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import posixpath
import re
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.viewer import chromium, figures, memories

_FOLDER: Final = figures.ROOT / ".cache" / "webgl"
_PACKAGES: Final = {
    "sigma": ("4.0.4", "3fe380ff3d3ebdd60b35bd616be3e73e5308a3b2264cb7d3d7ad47bd06cdd80e"),
    "graphology": ("0.26.0", "3c0cc63556e32b9d00ea953dce29790a5e49fc448f19247e25540156caef6b98"),
    "graphology-utils": ("2.5.2", "1fb9f3e9df0843a71f06d3f359459cea13ce2e7e9a55bf871f7ec206bc550ef8"),
    "events": ("3.3.0", "2c30dd630b58299bdfaac8688f763c6f312d29779c500b1e3701a1d4fb3b534b"),
}
_FETCH_SECONDS: Final = 120.0
_PATIENCE: Final = 120.0  # seconds for a frame: software WebGL takes many at 20,000 entities on a busy machine
_ENTRIES: Final = {
    "sigma": "sigma/dist/sigma.cjs.prod.js",
    "graphology": "graphology/dist/graphology.cjs.js",
    "events": "events/events.js",
}
_REQUIRE: Final = re.compile(r"require\(['\"]([^'\"]+)['\"]\)")
_FRAMES: Final = 3  # of a pan; few, because software WebGL may take a second for each
_PANS: Final = 8
# Software WebGL has to be asked for; where there is a graphics card the flags change nothing.
_FLAGS: Final = ("--enable-unsafe-swiftshader", "--ignore-gpu-blocklist")

_PAGE: Final = """<!doctype html><meta charset="utf-8">
<style>body {{ margin: 0 }} #place {{ position: absolute; inset: 0 }}</style>
<div id="place"></div>
<script type="application/json" id="data">{data}</script>
<script type="application/json" id="modules">{modules}</script>
<script>
const sources = JSON.parse(document.querySelector("#modules").textContent);
const made = {{}};
const load = (name) => {{
  if (made[name] !== undefined) return made[name].exports;
  const module = (made[name] = {{ exports: {{}} }});
  const {{ text, needs }} = sources[name];
  const run = new Function("require", "module", "exports", "process", text);
  run((other) => load(needs[other]), module, module.exports, {{ env: {{ NODE_ENV: "production" }} }});
  return module.exports;
}};
const entries = {entries};
const Sigma = load(entries.sigma).default;
const {{ default: Graph = load(entries.graphology) }} = load(entries.graphology);
const data = JSON.parse(document.querySelector("#data").textContent);
const graph = new (Graph.MultiDirectedGraph ?? Graph)();
for (const [name, x, y, color] of data.nodes) graph.addNode(name, {{ x, y, size: 2, label: name, color }});
for (const [from, to] of data.links) graph.addEdge(from, to, {{ size: 0.5 }});
window.renderer = new Sigma(graph, document.querySelector("#place"), {{ {settings} }});
requestAnimationFrame(() => setTimeout(() => (window.usable = performance.now())));
</script>
"""
_PAN: Final = """
new Promise((done) => {
  const camera = window.renderer.getCamera();
  window.renderer.getMouseCaptor().isMoving = true; // as while somebody drags
  const start = camera.getState();
  const times = [];
  const frame = (now) => {
    times.push(now);
    if (times.length > %d) return done(times.slice(1).map((t, i) => t - times[i]));
    const step = times.length;
    camera.setState({ ...start, x: start.x + 0.01 * (step %% 2) });
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
})
"""


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.viewer.webgl")
    parser.add_argument("sizes", nargs="*", type=int, default=(5000, 20000))
    parser.add_argument("--rounds", type=int, default=figures.ROUNDS)
    given = parser.parse_args(arguments)
    path = chromium.program()
    if path is None:
        sys.exit("no Chromium on this machine")
    texts = _fetched()
    names = _closure(texts)
    modules = json.dumps({name: {"text": texts[name], "needs": dict(_needs(name, texts))} for name in names})
    code = sum(len(texts[name]) for name in names)
    print("entities drawn by                 to interact       CPU  pan: frame  worst 5 %    heap")
    with tempfile.TemporaryDirectory() as place, chromium.running(path, *_FLAGS, patience=_PATIENCE) as browser:
        for size in given.sizes:
            ours = figures.made(figures.ROOT, size, Path(place) / "ours.html")
            pages = {"the viewer, on a canvas": ours}
            for label, settings in (("sigma", ""), ("sigma, links hidden", "hideEdgesOnMove: true")):
                pages[label] = _page(size, modules, settings, Path(place) / f"{len(pages)}.html")
            rounds: dict[str, list[tuple[float, ...]]] = {label: [] for label in pages}
            for _ in range(given.rounds):
                for label, page in pages.items():
                    rounds[label].append(_measured(browser, page, is_ours=page == ours))
            for label, found in rounds.items():
                usable, cpu, frame, worst, heap = (statistics.median(each) for each in zip(*found, strict=True))
                print(
                    f"{size:8,} {label:24} {usable:9.0f} ms {cpu:6.0f} ms {frame:8.1f} ms {worst:7.1f} ms "
                    f"{heap / 1e6:4.0f} MB"
                )
        with browser.page(_blank(Path(place))) as blank:
            gpu = blank.evaluate(
                "(gl => gl === null ? 'no WebGL' : gl.getParameter(gl.getExtension('WEBGL_debug_renderer_info')"
                "?.UNMASKED_RENDERER_WEBGL ?? gl.RENDERER))(document.createElement('canvas').getContext('webgl2'))"
            )
    print(f"{code / 1e3:.0f} kB of the library as it is published, not minified; WebGL by {gpu}")


def _blank(folder: Path) -> Path:
    file = folder / "blank.html"
    file.write_text("<!doctype html>", encoding="utf-8")
    return file


def _measured(browser: chromium.Browser, file: Path, *, is_ours: bool) -> tuple[float, ...]:
    """Milliseconds to interact, of the processor until then, of a frame, of the worst; bytes of the heap."""
    if is_ours:
        one = figures.measured(browser, file)
        return one.usable, one.cpu, one.frame, one.worst, one.heap
    with figures.opened(browser, file) as (page, cpu):
        usable = page.evaluate("window.usable")
        frames = sorted(frame for _ in range(_PANS) for frame in page.evaluate(_PAN % _FRAMES))
        page.call("HeapProfiler.collectGarbage")
        heap = page.call("Runtime.getHeapUsage")["usedSize"]
    return usable, cpu, statistics.median(frames), frames[int(len(frames) * 0.95)], heap


def _page(size: int, modules: str, settings: str, file: Path) -> Path:
    graph = json.loads(memories.many(size))
    colours = {kind: f"hsl({at * 360 // len(memories.KINDS)} 60% 50%)" for at, kind in enumerate(memories.KINDS)}
    nodes = []
    for number, one in enumerate(graph["entities"]):
        group, inside = divmod(number, 40)
        x = 100 * math.sqrt(group) * math.cos(group * 2.4) + 12 * math.sqrt(inside) * math.cos(inside * 2.4)
        y = 100 * math.sqrt(group) * math.sin(group * 2.4) + 12 * math.sqrt(inside) * math.sin(inside * 2.4)
        nodes.append([one["name"], x, y, colours[one["entityType"]]])
    links = [[one["from"], one["to"]] for one in graph["relations"]]
    data = json.dumps({"nodes": nodes, "links": links})
    given = modules.replace("<", "\\u003c")
    text = _PAGE.format(data=data, modules=given, entries=json.dumps(_ENTRIES), settings=settings)
    file.write_text(text, encoding="utf-8")
    return file


def _fetched() -> dict[str, str]:
    """The texts of all files of the packages, by `package/path`."""
    texts = {}
    for name, (version, digest) in _PACKAGES.items():
        archive = _FOLDER / f"{name}-{version}.tgz"
        if not archive.is_file():
            npm = shutil.which("npm")
            if npm is None:
                sys.exit("npm is needed, to fetch the library")
            _FOLDER.mkdir(parents=True, exist_ok=True)
            command = [npm, "pack", "--silent", f"{name}@{version}"]
            subprocess.run(command, cwd=_FOLDER, check=True, timeout=_FETCH_SECONDS, stdout=subprocess.DEVNULL)
        if hashlib.sha256(archive.read_bytes()).hexdigest() != digest:
            sys.exit(f"{archive} is not the pinned one")
        with tarfile.open(archive) as box:
            for member in box:
                inside = box.extractfile(member) if member.name.endswith((".js", ".json")) else None
                if inside is not None:
                    texts[f"{name}/{member.name.partition('/')[2]}"] = inside.read().decode()
    return texts


def _needs(name: str, texts: dict[str, str]) -> Iterator[tuple[str, str]]:
    """What a file requires, and which file that is."""
    for wanted in set(_REQUIRE.findall(texts[name])):
        path = posixpath.normpath(posixpath.join(posixpath.dirname(name), wanted)) if wanted[0] == "." else wanted
        tried = (_ENTRIES.get(path, path), f"{path}.js", f"{path}/index.js")
        found = next((one for one in tried if one in texts), None)
        if found is not None:
            yield wanted, found


def _closure(texts: dict[str, str]) -> list[str]:
    found = list(_ENTRIES.values())
    for name in found:
        found += [other for _, other in _needs(name, texts) if other not in found]
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
