"""Using the page in a real Chromium: mouse, keys, touch, colours, sizes of screens.

The end of each test also demands: no error, no violation of the policy, no request.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.viewer import chromium, memories
from tests.viewer.conftest import Open
from tests.viewer.steps import STILL, chosen, drag, focused, go_to, middle, picture, wait_for

# When the details close, the canvas is wider by 360, and its middle moves by half of that.
WIDER = 180


def is_light(page: chromium.Page) -> bool:
    numbers = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    return bool(sum(numbers[:3]) > 380)


def colours(page: chromium.Page) -> int:
    """How many different colours are on the canvas."""
    pixels = "c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer"
    found: int = page.evaluate(f"(c => new Set(new Uint32Array({pixels})).size)(document.querySelector('#graph'))")
    return found


def test_the_graph_is_drawn(open_page: Open) -> None:
    page = open_page(memories.example())
    page.wait(STILL)
    assert colours(page) > 50
    assert page.text("#counts") == "16 entities · 22 relations"
    assert page.text("h1") == "memory.jsonl"


def test_keys_go_through_the_graph(open_page: Open) -> None:
    page = open_page(memories.graph([(name, "t", []) for name in "abcd"], [("a", "r", name) for name in "bcd"]))
    page.wait(STILL)
    page.focus("#graph")
    page.press("ArrowRight")
    assert chosen(page) == "a"
    reached = []
    for _ in range(4):
        page.press("n")
        reached.append(chosen(page))
    assert reached == ["b", "c", "d", "b"]
    page.press("p")
    assert chosen(page) == "d"
    back = 0
    for key in ("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"):
        before = chosen(page)
        page.press(key)
        back += before != chosen(page)
    assert back > 0, "there is a neighbour in one of the directions"
    page.press("Enter")
    assert focused(page) == "panel-name"
    page.press("Escape")
    assert page.is_hidden("#panel")
    assert focused(page) == "graph"


def test_the_tab_key_reaches_everything_in_order(open_page: Open) -> None:
    page = open_page(memories.example())
    go_to(page, "ada")
    page.focus("#query")
    order = []
    for _ in range(60):
        order.append(focused(page))
        assert page.evaluate("document.activeElement.matches('body, :focus-visible')")
        page.press("Tab")
    ids = ("query", "show-graph", "show-table", "theme", "help", "graph", "zoom-in", "zoom-fit")
    places = [order.index(name) for name in ids]
    assert places == sorted(places)
    assert order.index("graph") < order.index("Close details")
    assert "→ leadsHarbour" in order
    assert sum(name == "only" for name in order) >= 10


def test_everything_that_can_be_used_has_a_name_and_a_role(open_page: Open) -> None:
    page = open_page(memories.example())
    go_to(page, "ada")
    page.call("Accessibility.enable")
    nodes: list[dict[str, Any]] = page.call("Accessibility.getFullAXTree")["nodes"]
    usable = [
        node
        for node in nodes
        if not node["ignored"] and any(found["name"] == "focusable" for found in node.get("properties", []))
    ]
    assert len(usable) > 30
    nameless = [n["role"]["value"] for n in usable if not n.get("name", {}).get("value")]
    assert nameless == []
    assert {"combobox", "button", "checkbox", "application", "heading"} <= {n["role"]["value"] for n in usable}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_system_and_the_switch(open_page: Open, scheme: str) -> None:
    page = open_page(memories.example(), prefers_color_scheme=scheme)
    page.wait(STILL)
    assert is_light(page) == (scheme == "light")
    drawn = picture(page)
    page.click("#theme")
    page.wait(STILL)
    assert is_light(page) == (scheme == "dark")
    assert picture(page) != drawn, "the canvas takes the other colours too"
    assert page.attribute("#theme", "aria-pressed") == str(scheme == "light").lower()
    page.reload()
    page.wait("document.readyState === 'complete' && document.querySelector('#graph')")
    assert is_light(page) == (scheme == "dark"), "the choice is kept"


def test_nothing_moves_for_who_does_not_want_motion(open_page: Open) -> None:
    page = open_page(memories.example(), prefers_reduced_motion="reduce")
    frames = (
        "new Promise(done => { let frames = 0; const next = () => "
        f"{STILL} || frames > 300 ? done(frames) : (frames++, requestAnimationFrame(next)); next(); }})"
    )
    assert page.evaluate(frames) <= 3
    page.press("/")
    page.type("mei")
    page.press("Enter")
    assert page.evaluate(frames) <= 3


def test_an_entity_is_dragged_and_stays_there(open_page: Open) -> None:
    page = open_page(
        memories.graph([("only one", "thing", []), ("other", "thing", [])], [("other", "pulls", "only one")])
    )
    go_to(page, "only")
    x, y = middle(page)
    drag(page, x, y, 150, -100)
    page.wait(STILL)
    assert chosen(page) == "only one", "a drag is no click"
    page.click_at(x, y)
    page.wait("document.querySelector('#panel').hidden")
    page.wait(STILL)
    page.click_at(x + 150 + WIDER, y - 100)
    wait_for(page, "only one")


def test_a_click_chooses_and_one_beside_lets_go(open_page: Open) -> None:
    page = open_page(memories.graph([("only one", "thing", [])], []))
    go_to(page, "only")
    x, y = middle(page)
    page.click_at(x, y)
    assert chosen(page) == "only one"
    page.click_at(x, y + 200)
    page.wait("document.querySelector('#panel').hidden")


def test_the_view_is_moved_and_zoomed(open_page: Open) -> None:
    page = open_page(memories.graph([("only one", "thing", [])], []))
    go_to(page, "only")
    x, y = middle(page)
    drag(page, x, y + 200, -100, -40)
    page.wait(STILL)
    page.click_at(x, y)
    page.wait("document.querySelector('#panel').hidden")
    page.wait(STILL)
    x, y = x - 100 + WIDER, y - 40
    page.click_at(x + 17, y)
    page.wait(STILL)
    assert chosen(page) is None, "that is outside of it"
    for _ in range(2):
        page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-400)
    page.wait(STILL)
    page.click_at(x + 17, y)
    wait_for(page, "only one")


def test_the_page_fits_a_phone(open_page: Open) -> None:
    page = open_page(memories.example(), width=360, height=700)
    page.wait(STILL)
    fits = (
        "document.documentElement.scrollWidth <= 360 && [...document.querySelectorAll('header button, header input')]"
        ".every(e => e.offsetParent === null || e.getBoundingClientRect().right <= 360)"
    )
    assert page.evaluate(fits)
    assert page.is_hidden("#types-body"), "the legend is folded where there is no room"
    go_to(page, "steering")
    assert page.evaluate(fits)
    left, top, width, height = page.box("#panel")
    assert (left, width, top + height) == (0, 360, 700)
    assert 250 < top < 450, "the graph stays in sight"
    page.click("#show-table")
    page.press("Escape")
    assert page.evaluate(fits)


def test_fingers_move_and_zoom_the_graph(open_page: Open) -> None:
    page = open_page(memories.example(), width=390, height=800)
    page.wait(STILL)
    before = picture(page)
    page.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    for kind, spread in (("touchStart", 40), ("touchMove", 60), ("touchMove", 100)):
        points = [{"x": 195 - spread, "y": 400, "id": 0}, {"x": 195 + spread, "y": 400, "id": 1}]
        page.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)
    page.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    page.wait(STILL)
    assert picture(page) != before
    assert page.is_hidden("#panel"), "a pinch chooses nothing"
    assert page.evaluate("visualViewport.scale") == 1, "the page itself is not zoomed"


def test_help_opens_and_closes_by_key(open_page: Open) -> None:
    page = open_page(memories.example())
    page.press("?")
    assert page.evaluate("document.querySelector('#help-dialog').open")
    page.press("Escape")
    page.wait("!document.querySelector('#help-dialog').open")
