"""The viewer: one HTML page that shows a memory and needs nothing else.

Rules: the page asks the network for nothing and its content security policy forbids it; script and style are allowed
by their hash alone; what the memory holds enters the page as data, never as markup. This package makes the page's text,
it touches no file: the caller writes it, as UTF-8, with the care that a copy of somebody's memory deserves.

The script has no library in it. All that one would serve for here is the force layout, and over typed arrays that is
200 lines (layout.js), less than what it would take to carry four packages with their licences and keep them up to date.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from importlib import resources
from typing import Final

# One script, in the order in which the parts use each other: an inline page cannot import modules from itself.
_SCRIPT_PARTS: Final = (
    "dom.js",
    "fold.js",
    "model.js",
    "layout.js",
    "room.js",
    "drawing.js",
    "graph.js",
    "controls.js",
    "panel.js",
    "table.js",
    "legend.js",
    "search.js",
    "app.js",
)
# `<`, `>` and `&` could end or begin markup, U+2028 and U+2029 end a line of script for old parsers; in JSON all of
# them occur in strings only, where an escape means the same. A lone surrogate has no UTF-8 form.
_UNSAFE_IN_DATA: Final = re.compile("[<>&\u2028\u2029\ud800-\udfff]")
_UNSAFE_IN_TITLE: Final = re.compile("[\x00\ud800-\udfff]")
_PLACE: Final = re.compile(r"\{\{(\w+)\}\}")


def page(graph: str, title: str) -> str:
    """Make the page for a graph, `{"entities": [...], "relations": [...]}` as JSON text: the data of read_graph.

    The result is to be written as UTF-8. The JSON is not parsed here; text that is none gives a page that says so.
    """
    style = _part("viewer.css")
    script = '(() => {\n"use strict";\n' + "\n".join(_part(name) for name in _SCRIPT_PARTS) + "})();\n"
    policy = (
        f"default-src 'none'; script-src '{_source(script)}'; style-src '{_source(style)}'; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    places = {
        "policy": policy,
        "title": html.escape(_UNSAFE_IN_TITLE.sub("\ufffd", title)),
        "style": style,
        "script": script,
        "data": _UNSAFE_IN_DATA.sub(_escape, graph),
    }
    # One pass, so that what is put in is never read as a place for something else.
    return _PLACE.sub(lambda place: places[place[1]], _part("page.html"))


def _part(name: str) -> str:
    return resources.files(__name__).joinpath(name).read_text(encoding="utf-8")


def _source(text: str) -> str:
    """The hash by which the policy allows this inline text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    return "\\ufffd" if "\ud800" <= character <= "\udfff" else f"\\u{ord(character):04x}"
