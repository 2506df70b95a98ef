"""A real Chromium, driven by the DevTools protocol over a pipe: standard library only, no driver program, no socket.

Rules: every wait is bounded; the browser has its own empty profile and its own process group, which is ended with it;
whatever the page complains about or asks the network for is kept, so that a test can demand that there was nothing.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import queue
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

# Generous, because the machine may be busy: a bound is there to end a hang, not to measure.
PATIENCE: Final = 20.0
_FLAGS: Final = (
    "--headless",
    "--no-sandbox",  # root in a container has no sandbox to use
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
_KEYS: Final = {"Backspace": 8, "Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36} | {
    f"Arrow{way}": 37 + at for at, way in enumerate(("Left", "Up", "Right", "Down"))
}


def program() -> str | None:
    """The Chromium of this machine, if it has one and can be talked to by a pipe."""
    if os.name != "posix":
        return None
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((found for found in map(shutil.which, names) if found), None)


def quoted(text: str) -> str:
    """A text as a literal of JavaScript."""
    return json.dumps(text)


class _Tab(NamedTuple):
    context: str
    session: str


class Browser:
    """One running browser. `page` opens pages in it."""

    def __init__(self, path: str, profile: str, flags: Sequence[str] = (), patience: float = PATIENCE) -> None:
        self.patience = patience
        commands, self._commands = _pipe_above_the_standard_ones()
        self._answers, answers = _pipe_above_the_standard_ones()
        nothing = os.open(os.devnull, os.O_RDWR)
        actions = [(os.POSIX_SPAWN_DUP2, nothing, number) for number in (0, 1, 2)]
        actions += [(os.POSIX_SPAWN_DUP2, commands, 3), (os.POSIX_SPAWN_DUP2, answers, 4)]
        command = [path, *_FLAGS, *flags, f"--user-data-dir={profile}", "about:blank"]
        self._pid = os.posix_spawn(path, command, os.environ, file_actions=actions, setpgroup=0)
        for descriptor in (commands, answers, nothing):
            os.close(descriptor)
        self._number = 0
        self._results: dict[int, queue.Queue[dict[str, Any]]] = {}
        self._sessions: dict[str, Page] = {}
        self._idle: list[_Tab] = []
        threading.Thread(target=self._read, daemon=True).start()

    @contextlib.contextmanager
    def page(
        self, file: Path | str, fresh: bool = False, /, *, width: int = 1280, height: int = 800, **media: str
    ) -> Iterator[Page]:
        """Open a file or an address. `media`: features to pretend, such as prefers_color_scheme="dark".

        A tab costs two seconds of the processor and serves for one page after another, unless it is to be `fresh`.
        """
        tab = self._idle.pop() if self._idle and not fresh else self._tab()
        page = self._sessions[tab.session] = Page(self, tab.session)
        try:
            page.open(file, width, height, media)
            yield page
        finally:
            left = False
            with contextlib.suppress(RuntimeError, TimeoutError):
                left = not fresh and page.leave()
            if left:
                self._idle.append(tab)
            else:
                self.call("Target.disposeBrowserContext", browserContextId=tab.context)

    def _tab(self) -> _Tab:
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        return _Tab(context, self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """One call of the protocol, and its result."""
        self._number += 1
        number = self._number
        result = self._results[number] = queue.Queue()
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._commands, data) :]
        try:
            answer = result.get(timeout=self.patience)
        except queue.Empty:
            raise TimeoutError(f"no answer to {method}") from None
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        found: dict[str, Any] = answer["result"]
        return found

    def close(self) -> None:
        with contextlib.suppress(OSError, RuntimeError, TimeoutError):
            self.call("Browser.close")
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._commands)

    def _read(self) -> None:
        pending = b""
        while data := os.read(self._answers, 1 << 20):
            *messages, pending = (pending + data).split(b"\0")
            for text in messages:
                message = json.loads(text)
                if "id" in message:
                    self._results.pop(message["id"]).put(message)
                elif (page := self._sessions.get(message.get("sessionId", ""))) is not None:
                    page.notice(message["method"], message["params"])
        for waiting in list(self._results.values()):
            waiting.put({"error": "the browser has ended"})


class Page:
    """One page. `problems` lists errors, violations of the policy and requests, apart from that for the page itself."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session
        self._address = ""
        self.problems: list[str] = []

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **parameters)

    def open(self, file: Path | str, width: int, height: int, media: dict[str, str]) -> None:
        address = file if isinstance(file, str) else file.as_uri()
        self._address = address.partition("#")[0]
        for domain in ("Page", "Runtime", "Log", "Network", "Audits"):
            self.call(f"{domain}.enable")
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.call("Emulation.setDeviceMetricsOverride", **screen)
        self.pretend(**media)
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete' && location.protocol !== 'about:'")

    def leave(self) -> bool:
        """Make the tab as it was before: nothing stored, nothing pretended. True when it is."""
        self.call("Emulation.setScriptExecutionDisabled", value=False)
        self.call("Emulation.setTouchEmulationEnabled", enabled=False)
        self.call("Page.setBypassCSP", enabled=False)
        self.evaluate("(() => { try { localStorage.clear(); sessionStorage.clear(); } catch { } })()")
        self.call("Page.navigate", url="about:blank")
        self.wait("location.protocol === 'about:' && document.readyState === 'complete'")
        return True

    def pretend(self, **media: str) -> None:
        """Have the page believe in some media features and no others, such as prefers_color_scheme="dark"."""
        features = [{"name": name.replace("_", "-"), "value": value} for name, value in media.items()]
        self.call("Emulation.setEmulatedMedia", media="", features=features)

    def notice(self, method: str, details: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            self.problems.append(f"exception: {details['exceptionDetails']}")
        elif method == "Runtime.consoleAPICalled" and details["type"] in ("error", "warning", "assert"):
            self.problems.append(f"console: {details['args']}")
        elif method == "Log.entryAdded" and details["entry"]["level"] in ("error", "warning"):
            self.problems.append(f"log: {details['entry']['text']}")
        elif method == "Audits.issueAdded" and details["issue"]["code"] == "ContentSecurityPolicyIssue":
            self.problems.append(f"policy: {details['issue']}")
        elif method == "Network.requestWillBeSent" and not self._expects(details["request"]["url"]):
            self.problems.append(f"request: {details['request']['url'][:200]}")

    def _expects(self, address: str) -> bool:
        """Whether this is the page itself, or what a served one asks its own server."""
        served = self._address.startswith("http") and address.startswith(self._address)
        return served or address.partition("#")[0] == self._address

    def reload(self) -> None:
        """Load the page anew, and wait until it is another one."""
        self.evaluate("window.before = true")
        self.call("Page.reload")
        self.wait("window.before === undefined && document.readyState === 'complete'")

    def wait_for_problem(self, word: str) -> None:
        """Wait until the page has complained about something."""
        end = time.monotonic() + self._browser.patience
        while not any(word in problem for problem in self.problems):
            if time.monotonic() > end:
                raise TimeoutError(f"no such problem: {word}; problems: {self.problems}")
            self.evaluate("new Promise(requestAnimationFrame)")

    def evaluate(self, expression: str) -> Any:
        """The value of an expression; promises are awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, expression: str) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + self._browser.patience
        while True:
            try:
                if self.evaluate(f"Boolean({expression})"):
                    return
                self.evaluate("new Promise(requestAnimationFrame)")  # the browser's own clock, not a sleep of ours
            except RuntimeError as error:
                if "navigated" not in str(error):  # the page is being loaded anew
                    raise
            if time.monotonic() > end:
                raise TimeoutError(f"never true: {expression}; problems: {self.problems}")

    def wait_loaded(self) -> None:
        """Wait until a page is there whose scripts are off, so that it cannot tell by itself."""
        end = time.monotonic() + self._browser.patience
        while self.evaluate("document.readyState") != "complete" and time.monotonic() < end:
            pass

    def text(self, selector: str) -> str:
        """The text of the first element that fits, as it was put in."""
        found: str = self.evaluate(f"document.querySelector({quoted(selector)}).textContent")
        return found

    def texts(self, selector: str) -> list[str]:
        """The texts of all elements that fit."""
        found: list[str] = self.evaluate(f"[...document.querySelectorAll({quoted(selector)})].map(e => e.textContent)")
        return found

    def attribute(self, selector: str, name: str) -> str | None:
        found: str | None = self.evaluate(f"document.querySelector({quoted(selector)}).getAttribute('{name}')")
        return found

    def box(self, selector: str) -> tuple[float, float, float, float]:
        """Left, top, width and height of the first element that fits."""
        box = f"document.querySelector({quoted(selector)}).getBoundingClientRect()"
        left, top, width, height = self.evaluate(f"(b => [b.left, b.top, b.width, b.height])({box})")
        return left, top, width, height

    def is_hidden(self, selector: str) -> bool:
        return bool(self.evaluate(f"document.querySelector({quoted(selector)}).hidden"))

    def focus(self, selector: str) -> None:
        self.evaluate(f"document.querySelector({quoted(selector)}).focus()")

    def press(self, *keys: str, shift: bool = False) -> None:
        for key in keys:
            code = _KEYS.get(key, ord(key[0].upper()))
            text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
            shared = {"key": key, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
            self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **shared)
            self.call("Input.dispatchKeyEvent", type="keyUp", **shared)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click_at(self, x: float, y: float) -> None:
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def click(self, selector: str) -> None:
        """A real click in the middle of the first element that fits."""
        self.evaluate(f"document.querySelector({quoted(selector)}).scrollIntoView({{block: 'nearest'}})")
        left, top, width, height = self.box(selector)
        self.click_at(left + width / 2, top + height / 2)

    def screenshot(self, file: Path) -> None:
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))


@contextlib.contextmanager
def running(path: str, *flags: str, patience: float = PATIENCE) -> Iterator[Browser]:
    """A browser with a new, empty profile."""
    # Not a test's own folder: helper processes of the browser may still write there while it is removed.
    profile = tempfile.mkdtemp(prefix="chromium-profile-")
    browser = Browser(path, profile, flags, patience)
    try:
        yield browser
    finally:
        browser.close()
        shutil.rmtree(profile, ignore_errors=True)


def _pipe_above_the_standard_ones() -> tuple[int, int]:
    """A pipe whose ends are not 3 or 4, which the browser wants for itself."""
    import fcntl

    ends = os.pipe()
    moved = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
    for end in ends:
        os.close(end)
    return moved[0], moved[1]
