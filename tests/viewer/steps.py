"""What a person does on the page and sees there, for the tests in a browser."""

from __future__ import annotations

from typing import Any, Final

from tests.viewer import chromium

READY: Final = "document.body?.dataset.ready"
STILL: Final = "document.querySelector('#graph').dataset.state === 'still'"


def look_for(page: chromium.Page, query: str) -> list[str]:
    """Type a query; the names that are offered."""
    page.press("/")
    page.wait("document.activeElement.id === 'query'")
    page.press("Backspace")
    page.type(query)
    page.evaluate("new Promise(requestAnimationFrame)")
    return page.texts(".option-name")


def go_to(page: chromium.Page, query: str) -> None:
    """Choose the first entity that a search finds, and wait until the graph stands still around it."""
    assert look_for(page, query)
    page.press("Enter")
    page.wait("!document.querySelector('#panel').hidden")
    page.wait(STILL)


def go_to_name(page: chromium.Page, name: str) -> None:
    """Choose an entity by its name, as the browser's back and forward do, and as a link does."""
    page.evaluate(f"location.hash = '#' + encodeURIComponent({chromium.quoted(name)})")
    wait_for(page, shown(name))
    page.wait(STILL)


def shown(text: str) -> str:
    """How the page writes a text: an override of the writing direction by its number."""
    return text.replace("\u202d", "[U+202D]").replace("\u202e", "[U+202E]")


def chosen(page: chromium.Page) -> str | None:
    """The name in the details."""
    found: str | None = page.evaluate("document.querySelector('#panel-name')?.textContent")
    return found


def wait_for(page: chromium.Page, name: str) -> None:
    page.wait(f"document.querySelector('#panel-name')?.textContent === {chromium.quoted(name)}")


def focused(page: chromium.Page) -> str:
    """What has the focus: its id, else its text, else its label."""
    active = "document.activeElement"
    found: str = page.evaluate(f"{active}.id || {active}.textContent.trim() || {active}.getAttribute('aria-label')")
    return found


def middle(page: chromium.Page) -> tuple[float, float]:
    """Where the camera puts an entity that was gone to: the middle of what legend and status line leave free."""
    left, top, width, height = page.box("#graph")
    return left + (width + (232 if width > 720 else 24) - (62 if width > 720 else 24)) / 2, top + (height + 30 - 54) / 2


def picture(page: chromium.Page) -> str:
    """What is on the canvas; equal when nothing has changed."""
    found: str = page.evaluate("document.querySelector('#graph').toDataURL()")
    return found


def drag(page: chromium.Page, x: float, y: float, dx: float, dy: float) -> None:
    """Press, move in steps, release."""
    page.mouse("mouseMoved", x, y)
    page.mouse("mousePressed", x, y, button="left", clickCount=1)
    for step in range(1, 6):
        page.mouse("mouseMoved", x + dx * step / 5, y + dy * step / 5, button="left", buttons=1)
    page.mouse("mouseReleased", x + dx, y + dy, button="left", clickCount=1)


def toast(page: chromium.Page, text: str) -> None:
    page.wait(f"document.querySelector('#toast').textContent.includes({chromium.quoted(text)})")


def positions(page: chromium.Page) -> dict[str, tuple[int, int]]:
    """Where the names stand that are drawn."""
    return {one["text"]: (round(one["x"]), round(one["y"])) for one in drawn(page) if one["text"]}


def drawn(page: chromium.Page) -> list[dict[str, Any]]:
    """What a frame draws: texts with the place of their middle, their width and colours; shapes with their colour."""
    page.evaluate(_RECORDER)
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")  # has everything drawn again, as it is
    page.wait(STILL)
    found: list[dict[str, Any]] = page.evaluate("window.lastFrame")
    return found


_RECORDER: Final = """
(() => {
  const context = CanvasRenderingContext2D.prototype;
  if (context.recorded) return;
  context.recorded = true;
  const [clear, text, fill] = [context.clearRect, context.fillText, context.fill];
  context.clearRect = function (...box) { window.lastFrame = []; return clear.apply(this, box); };
  context.fillText = function (what, x, y) {
    const at = this.getTransform();
    const place = { x: at.a * x + at.c * y + at.e, y: at.b * x + at.d * y + at.f, angle: Math.atan2(at.b, at.a) };
    const look = { width: this.measureText(what).width, colour: this.fillStyle, around: this.strokeStyle };
    window.lastFrame.push({ text: what, ...place, ...look });
    return text.call(this, what, x, y);
  };
  context.fill = function () { window.lastFrame.push({ text: "", colour: this.fillStyle }); return fill.call(this); };
})()
"""
