"""What a person does on the page and sees there, for the tests in a browser."""

from __future__ import annotations

from typing import Final

from tests.viewer import chromium

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


def go_to_number(page: chromium.Page, number: int, name: str) -> None:
    """Choose an entity by its place in the file, as the browser's back and forward do."""
    page.evaluate(f"location.hash = '#{number}'")
    wait_for(page, name)
    page.wait(STILL)


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
    return left + (width + (232 if width > 720 else 24) - 24) / 2, top + (height + 30 - 54) / 2


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
