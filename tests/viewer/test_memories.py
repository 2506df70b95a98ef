"""Memories of all kinds in a real Chromium: hostile, empty, odd, large.

The end of each test also demands: no error, no violation of the policy, no request.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory_app import viewer
from tests.viewer import memories
from tests.viewer.conftest import Open
from tests.viewer.steps import (
    STILL,
    chosen,
    drag,
    drawn,
    focused,
    go_to,
    go_to_name,
    look_for,
    middle,
    picture,
    shown,
    wait_for,
)

PROBES = (
    "<img src=x onerror=\"document.body.dataset.bad='1'\">",
    "</script><script>document.body.dataset.bad='1'</script>",
    "<svg onload=document.body.dataset.bad=1>",
    "javascript:document.body.dataset.bad=1",
    "{{constructor.constructor('document.body.dataset.bad=1')()}}",
    "${document.body.dataset.bad=1}",
    "'\"><b>bold</b>",
    "<!--",
    "__proto__",
    "constructor",
    "\u202eright to left override",
    "a\0b\u2028c\u0085d",
)


def test_markup_in_a_memory_stays_text(open_page: Open) -> None:
    entities = [(probe, probe, [probe]) for probe in PROBES]
    relations = [(start, start, end) for start, end in zip(PROBES, PROBES[1:] + PROBES[:1], strict=True)]
    page = open_page(memories.graph(entities, relations), title=PROBES[1])
    page.wait(STILL)
    before = len(page.texts("img, script, b, iframe, link"))
    for probe in PROBES:
        go_to_name(page, probe)
        assert page.text(".observation-list li") == shown(probe)
        assert page.text("#panel .kind") == shown(probe)
        assert page.text(".relation-list .verb bdi") == shown(probe)
        page.wait(STILL)
    look_for(page, "bad")
    page.click("#show-table")
    page.focus("#table")
    assert page.text("h1") == PROBES[1]
    assert page.evaluate("document.title") == PROBES[1]
    assert len(page.texts("img, script, b, iframe, link")) == before
    assert page.evaluate("document.body.dataset.bad") is None


def test_the_policy_holds_against_a_mistake_of_ours(open_page: Open) -> None:
    page = open_page(memories.example())
    markup = "document.body.innerHTML = '<img src=x onerror=alert(1)>'"
    assert page.evaluate(f"(() => {{ try {{ {markup} }} catch (error) {{ return error.name }} }})()") == "TypeError"
    image = "Object.assign(document.createElement('img'), {src: 'https://example.invalid/x.png'})"
    page.evaluate(f"document.body.append({image})")
    page.wait_for_problem("policy")  # so the other tests would see it too
    page.evaluate("new Promise(requestAnimationFrame)")
    page.problems.clear()


@pytest.mark.parametrize(
    ("graph", "text"),
    [
        ('{"entities":[],"relations":[]}', "This memory is empty. Entities will appear here."),
        ("{}", "This memory is empty. Entities will appear here."),
        ("", "The memory in this page cannot be read."),
        ("[1", "The memory in this page cannot be read."),
    ],
    ids=["empty", "no-lists", "nothing", "broken"],
)
def test_a_page_without_a_memory_says_so(open_page: Open, graph: str, text: str) -> None:
    page = open_page(graph)
    assert page.text("#notice") == text
    look_for(page, "x")
    page.click("#show-table")
    page.click("#theme")
    page.click("#show-graph")
    page.press("Escape")


def test_odd_values_are_shown_as_they_are(open_page: Open) -> None:
    entities = [
        {"name": 5, "entityType": None, "observations": [{"a": 1}, 2.5, None, "x"]},
        {"name": "", "entityType": "", "observations": "no list"},
        *({}, None, 7),
    ]
    relations = [{"from": 5, "to": "", "relationType": ["r"]}, {}, None]
    page = open_page(json.dumps({"entities": entities, "relations": relations}))
    page.wait(STILL)
    go_to_name(page, "5")
    assert page.texts(".observation-list li") == ['{"a":1}', "2.5", "(no text)", "x"]


def test_a_relation_to_nothing_is_shown(open_page: Open) -> None:
    relations = [("here", "misses", "gone"), ("lost", "looks for", "gone")]
    page = open_page(memories.graph([("here", "thing", [])], relations))
    page.wait(STILL)
    assert page.text("#counts") == "1 entity · 2 relations"
    go_to(page, "gone")
    assert page.text("#panel .kind") == "Not in the memory"
    assert page.text("#panel .facts") == "Relations mention this name; no entity has it. 2 relations."
    assert page.texts(".relation-list .end") == ["here", "lost"]


def test_two_thousand_entities_are_drawn_whole(open_page: Open) -> None:
    page = open_page(memories.many(2000))
    page.wait(STILL)
    assert page.text("#counts").startswith("2,000 entities")
    assert page.text("#status") == ""
    go_to(page, "company 0")
    assert chosen(page) == "Company 0"


def test_twenty_thousand_entities_are_shown_in_groups_and_by_neighbourhood(open_page: Open) -> None:
    page = open_page(memories.many(20000))
    page.wait(STILL)
    assert page.text("#status") == "20,000 entities in 676 groupsMost connected"
    names = [one["text"] for one in drawn(page) if one["text"]]
    assert names[0] == "Company 0", "the largest group is named by its best connected"
    assert len(names) > 20
    page.click("#status button")
    page.wait(STILL)
    assert page.text("#status") == "120 of 20,000 shownOverviewShow moreStart again"
    page.click("#status button:nth-of-type(2)")
    assert page.text("#status").startswith("220 of 20,000 shown")
    page.click("#status button")
    page.wait(STILL)
    assert page.text("#status").startswith("20,000 entities in")
    page.wait(STILL)
    names = look_for(page, "19999")
    assert len(names) == 1
    page.press("Enter")
    wait_for(page, names[0])
    page.wait(STILL)
    page.click("#show-table")
    assert page.attribute("#table", "aria-rowcount") == "2"
    page.focus("#query")
    page.press("Escape")
    assert page.attribute("#table", "aria-rowcount") == "20001"
    assert len(page.texts(".rows .row")) < 60
    page.focus("#table")
    page.press("End")
    page.wait("document.querySelector('[aria-rowindex=\"20001\"]')")


def test_panning_the_overview_moves_what_is_painted_and_gives_the_same_picture(open_page: Open) -> None:
    page = open_page(memories.many(5000))
    page.wait(STILL)
    page.evaluate(
        "(c => { const fill = c.fillRect; window.dots = 0;"
        "c.fillRect = function (...box) { window.dots += 1; return fill.apply(this, box); }; })"
        "(CanvasRenderingContext2D.prototype)"
    )
    for _ in range(3):
        drag(page, 700, 735, -30, -60)
        drag(page, 640, 640, 30, 60)
    page.wait(STILL)
    assert page.evaluate("window.dots") < 5000, "each dot is painted once at most, not with every frame"
    moved = picture(page)
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")  # has everything painted anew
    page.wait(STILL)
    assert page.evaluate("window.dots") >= 5000
    assert picture(page) == moved


def test_zooming_the_overview_ends_with_a_sharp_picture(open_page: Open) -> None:
    page = open_page(memories.many(5000), prefers_reduced_motion="no-preference")
    page.wait(STILL)
    page.focus("#graph")
    page.press("-")
    page.wait(STILL)
    zoomed = picture(page)
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    page.wait(STILL)
    assert picture(page) == zoomed


def test_a_click_brings_in_hidden_neighbours(open_page: Open) -> None:
    names = [f"leaf {number:05}" for number in range(20000)]
    entities = [(name, "leaf", list[str]()) for name in ["hub", *names]]
    page = open_page(memories.graph(entities, [(name, "hangs on", "hub") for name in names]))
    page.wait(STILL)
    page.click("#status button")
    page.wait(STILL)
    first = int(page.text("#status span").split()[0])
    assert 20 <= first <= 120
    go_to_name(page, "hub")
    page.wait(STILL)
    page.click_at(*middle(page))
    page.wait(f"parseInt(document.querySelector('#status span').textContent) === {first + 24}")
    page.wait(STILL)
    assert len(page.texts(".relation-list li")) == 100
    page.click("#panel .more")
    assert len(page.texts(".relation-list li")) == 200
    assert focused(page) == "← hangs onleaf 00100"


def test_a_dense_memory_is_shown_whole_only_on_request(open_page: Open) -> None:
    names = [f"node {number}" for number in range(200)]
    pairs = [(names[a], "r", names[(a * 7 + b * 13) % 200]) for a in range(200) for b in range(8)]
    page = open_page(memories.graph([(name, "t", []) for name in names], pairs))
    page.wait(STILL)
    assert page.text("#status") == "120 of 200 shownShow moreShow allStart again"
    page.click("#status button:nth-of-type(2)")
    page.wait(STILL)
    assert page.text("#status") == ""


def test_one_zooms_from_the_overview_into_the_surroundings_of_an_entity(open_page: Open) -> None:
    graph = json.loads(memories.many(3000))
    page = open_page(json.dumps(graph))
    page.wait(STILL)
    assert page.text("#status").startswith("3,000 entities in")
    go_to(page, "project 1")
    name = chosen(page)
    assert name is not None
    names = {one["text"] for one in drawn(page)}
    near = {one["to"] for one in graph["relations"] if one["from"] == name}
    near |= {one["from"] for one in graph["relations"] if one["to"] == name}
    assert name in names
    assert near & names
    page.click("#panel .actions button")
    page.wait(STILL)
    assert "of 3,000 shown" in page.text("#status")
    assert chosen(page) == name
    page.click("#types li:first-child label")
    page.click("#status button")
    page.wait(STILL)
    assert "of 3,000 shown" in page.text("#status"), "what the legend hides is not in the overview either"


def test_the_same_memory_gives_the_same_overview(open_page: Open) -> None:
    pages = [open_page(memories.many(3000)) for _ in range(2)]
    names = []
    for page in pages:
        page.wait(STILL)
        names.append(sorted(one["text"] for one in drawn(page) if one["text"])[:5])
    assert names[0] == names[1]


@pytest.mark.parametrize("aspect", [0.75, 1.25])
def test_groups_of_the_overview_lie_side_by_side_in_the_shape_of_the_room(open_page: Open, aspect: float) -> None:
    page = open_page("{}")
    parts = "".join((Path(viewer.__file__).parent / f"{name}.js").read_text("utf-8") for name in ("model", "overview"))
    made = (
        f"const model = new Model({memories.many(3000)});"
        "const places = { x: [], y: [], placed: [] };"
        f"const {{ groups }} = makeOverview(model, places, {aspect});"
        "const apart = (a, b) => Math.hypot(a.x - b.x, a.y - b.y) - a.radius - b.radius;"
        "const nearest = Math.min(...groups.flatMap((a, i) => groups.slice(0, i).map((b) => apart(a, b))));"
        "const size = (values) => Math.max(...values) - Math.min(...values);"
        "return [nearest, groups.length, places.placed.filter(Boolean).length, size(places.x) / size(places.y)];"
    )
    nearest, groups, placed, shape = page.evaluate(f"(() => {{ {parts} {made} }})()")
    assert nearest > -1e-6
    assert groups > 100
    assert placed == 3000
    assert abs(shape / aspect**2 - 1) < 0.2
