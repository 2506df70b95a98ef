"""The viewer: one HTML page that shows a memory and needs nothing else.

Rules: a written page requests nothing from the network, and its content security policy forbids it. A served page may
request only from the program that serves it, and only connection.js does. Script and style are allowed only by their
hash; the contents of the memory enter the page as data, never as markup. This package makes the page's text and touches
no file: the caller writes it, as UTF-8, with the care that a copy of somebody's memory needs.

The script uses no library. A library would help with two things: the force layout, about 300 lines over typed arrays
(layout.js), and fast drawing: the dots of the overview are painted once, in tiles that move with the camera (tiles.js).
The alternative was a WebGL library, sigma 4.0.4 with graphology 0.26.0, tried on the same data in the same Chromium
without a graphics card (`python -m tests.viewer.webgl`; not tuned, and given positions that the viewer has to compute):

| entities | processor time until usable | a frame while panning | heap |
|---|---|---|---|
| 5,000 | canvas 0.4 s, sigma 0.4 s | canvas 17 ms, sigma 0.9 s | canvas 6 MB, sigma 21 MB |
| 20,000 | canvas 0.5 s, sigma 1.3 s | canvas 17 ms, sigma 4.6 s | canvas 21 MB, sigma 64 MB |

A graphics card would make sigma's frames short; the canvas does not need one. The library would also make each page
larger by 467 kB minified and bring licences and updates, and its picture would have to be drawn a second time for a
file or for paper. `python -m tests.viewer.figures` measures the viewer alone, and compares it with its version 1.0.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from importlib import resources
from typing import Final, NamedTuple

# One script, in the order in which the parts use each other: an inline page cannot import modules from itself.
_SCRIPT_PARTS: Final = (
    "dom.js",
    "fold.js",
    "marks.js",
    "model.js",
    "layout.js",
    "viewport.js",
    "overview.js",
    "tiles.js",
    "drawing.js",
    "labels.js",
    "graph.js",
    "camera.js",
    "controls.js",
    "picture.js",
    "panel.js",
    "table.js",
    "legend.js",
    "search.js",
    "changes.js",
    "editor.js",
    "timeline.js",
    "theme.js",
    "live.js",
    "app.js",
)
# `<`, `>` and `&` could end or begin markup, U+2028 and U+2029 end a line of script for old parsers; in JSON all of
# them occur in strings only, where an escape means the same. A lone surrogate has no UTF-8 form.
_UNSAFE_IN_DATA: Final = re.compile("[<>&\u2028\u2029\ud800-\udfff]")
_UNSAFE_IN_TEXT: Final = re.compile("[\x00\ud800-\udfff]")
_OVERRIDES: Final = re.compile("[\u202d\u202e]")
_LISTED: Final = 500  # entities in the list without script: more would make the page much larger
_PLACE: Final = re.compile(r"\{\{(\w+)\}\}")


class Source(NamedTuple):
    """The source of a page, as shown at its top: the memory's name, its file and the time. An empty text is not
    shown.
    """

    title: str
    path: str = ""
    time: str = ""


def page(graph: str, source: Source) -> str:
    """Make the page for a graph, `{"entities": [...], "relations": [...]}` as JSON text: the data of read_graph.

    The result must be written as UTF-8. For text that is not JSON, the page says so.
    """
    return _make(graph, source, _plain_list(graph), "frozen.js", "")


def served_page() -> str:
    """Make the page that gets its memory from the program that serves it. It contains nothing of a memory itself."""
    words = "<p>The memory cannot be shown without them. `view --output FILE` makes a page that can.</p>"
    return _make("null", Source("Memory"), words, "connection.js", "connect-src 'self'; ")


def _make(graph: str, source: Source, plain: str, connection: str, allowed: str) -> str:
    style = _part("viewer.css")
    script = '(() => {\n"use strict";\n' + "\n".join(_part(name) for name in (connection, *_SCRIPT_PARTS)) + "})();\n"
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; {allowed}base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    places = {
        "policy": policy,
        "title": _text(source.title),
        "source": _text(" · ".join(filter(None, (source.path, source.time)))),
        "style": style,
        "script": script,
        "list": plain,
        "data": _UNSAFE_IN_DATA.sub(_escape, graph),
    }
    # One pass, so that inserted text is never read as a placeholder.
    return _PLACE.sub(lambda place: places[place[1]], _part("page.html"))


def _plain_list(graph: str) -> str:
    """The memory as plain markup, for a browser without scripts: the first entities with their observations."""
    try:
        entities = json.loads(graph)["entities"]
        shown = [
            f"<dt><bdi>{_text(str(one['name']))}</bdi> <i>{_text(str(one['entityType']))}</i></dt>"
            + "".join(f"<dd><bdi>{_text(str(text))}</bdi></dd>" for text in one["observations"])
            for one in entities[:_LISTED]
        ]
    except (ValueError, KeyError, TypeError):
        return "<p>The memory in this page cannot be read without them.</p>"
    rest = len(entities) - len(shown)
    return f"<dl>{''.join(shown)}</dl>" + (f"<p>… and {rest:,} more entities.</p>" if rest else "")


def _text(text: str) -> str:
    """Text for a place in markup. An override of the writing direction would reverse the text after it."""
    shown = _UNSAFE_IN_TEXT.sub("\ufffd", text)
    return html.escape(_OVERRIDES.sub(lambda mark: f"[U+{ord(mark[0]):04X}]", shown))


def _part(name: str) -> str:
    return resources.files(__name__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """The hash by which the policy allows this inline text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    return "\\ufffd" if "\ud800" <= character <= "\udfff" else f"\\u{ord(character):04x}"
