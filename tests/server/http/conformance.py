"""The official conformance suite against our HTTP server: `python -m tests.server.http.conformance`, or `make stress`.

The suite is written for a server that is made for it: many of its scenarios ask for tools, prompts and resources by
fixed names. Where we have what such a scenario is about, its fixed name is replaced by ours in a copy of the suite.
What asks for something that this server does not offer is listed with the reason; extensions of the protocol, of which
it offers none, are not asked for. A check that fails and is in no list is a failure.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.server.http.packages import installed, node
from tests.server.http.serving import serving

# Each version of the suite with the revisions of the protocol that it is asked to check.
SUITES: Final[Mapping[str, tuple[str, ...]]] = {
    "0.1.16": ("2025-06-18", "2025-11-25"),
    "0.2.0-alpha.12": ("2025-11-25", "2026-07-28"),
}

_OURS: Final[Mapping[str, str]] = {
    "`test_simple_text`": "`read_graph`",
    "`test_error_handling`": "`add_observations`",  # without its arguments: the error of a tool
    "`test_simple_prompt`": "`personal_memory`",
    "`test://static-text`": "`memory://knowledge-graph`",
    "`test://watched-resource`": "`memory://knowledge-graph`",
    "name:`test_prompt_with_arguments`},argument:{name:`arg1`": "name:`personal_memory`},argument:{name:`user`",
}

_ONE_KIND: Final = "the tools answer with text and structured content, never with images, sound or resources"
_NO_REQUESTS: Final = "no tool asks the client for anything (sampling, elicitation, roots)"
_NO_LOGGING: Final = "logging over the protocol is not offered"
NOT_OFFERED: Final[Mapping[str, str]] = {
    "logging-set-level": _NO_LOGGING,
    "tools-call-with-logging": _NO_LOGGING,
    "tools-call-image": _ONE_KIND,
    "tools-call-audio": _ONE_KIND,
    "tools-call-embedded-resource": _ONE_KIND,
    "tools-call-mixed-content": _ONE_KIND,
    "tools-call-with-progress": "no tool takes long enough to tell of its progress",
    "tools-call-sampling": _NO_REQUESTS,
    "tools-call-elicitation": _NO_REQUESTS,
    "elicitation-sep1034-defaults": _NO_REQUESTS,
    "elicitation-sep1330-enums": _NO_REQUESTS,
    "json-schema-2020-12": "the schemas of the tools are plain on purpose: no $ref, no $defs",
    "server-sse-polling": "streams are not resumable, so there is nothing to poll",
    "resources-read-binary": "the one resource is text",
    "resources-templates-read": "there are no templates of resources",
    "prompts-get-with-args": "each prompt takes one argument, the scenario gives two",
    "prompts-get-embedded-resource": "prompts are text",
    "prompts-get-with-image": "prompts are text",
    "http-custom-header-server-validation": "no argument of a tool is to be sent as a header",
}
# Single checks of scenarios that apply otherwise.
CHECKS_NOT_OFFERED: Final[Mapping[str, str]] = {
    "sep-2575-server-rejects-undeclared-capability": _NO_REQUESTS,
    "sep-2575-missing-capability-http-400": _NO_REQUESTS,
    "sep-2575-http-server-no-independent-requests-on-stream": _NO_REQUESTS,
    "sep-2575-server-no-log-without-loglevel": _NO_LOGGING,
    "sep-2575-server-sends-prompts-list-changed-on-subscription": "the list of prompts never changes",
    "sep-2575-server-sends-tools-list-changed-on-subscription": "the list of tools never changes",
}
_PATIENCE: Final = 240.0


class Outcome(NamedTuple):
    """`reason` why it does not apply, `beside` why some of its checks do not; `failed` names those that failed though
    they apply."""

    suite: str
    revision: str
    scenario: str
    passed: int
    reason: str
    beside: tuple[str, ...]
    failed: tuple[str, ...]

    @property
    def line(self) -> str:
        if self.failed:
            what = f"FAILED {'; '.join(self.failed)}"
        elif self.reason:
            what = f"does not apply: {self.reason}"
        else:
            what = f"passed {self.passed}" + (f"; do not apply: {'; '.join(self.beside)}" if self.beside else "")
        return f"{self.suite:<15} {self.revision}  {self.scenario:<45} {what}"


def outcomes(folder: Path) -> Iterator[Outcome]:
    """Run every suite, at every revision, against a server of ours with its memory in the folder."""
    with serving(folder) as server:
        for version, revisions in SUITES.items():
            program = _fitted(version)
            for revision in revisions:
                results = folder / f"{version} {revision}"
                subprocess.run(
                    [node(), program, "server", "--url", f"http://localhost:{server.port}/mcp", "--suite", "all",
                     "--spec-version", revision, "--output-dir", results],
                    capture_output=True,
                    timeout=_PATIENCE,
                    check=False,
                )  # fmt: skip
                for file in sorted(results.glob("*/checks.json")):
                    scenario = re.sub(r"^server-|-\d{4}-\d\d-\d\dT.*", "", file.parent.name)
                    yield _judged(version, revision, scenario, json.loads(file.read_text()))


def _fitted(version: str) -> Path:
    """The program of a copy of the suite that asks for what we have."""
    package = installed(f"@modelcontextprotocol/conformance@{version}") / "@modelcontextprotocol" / "conformance"
    text = (package / "dist" / "index.js").read_text()
    for theirs, ours in _OURS.items():
        assert theirs in text, f"{version} knows no {theirs}"
        text = text.replace(theirs, ours)
    target = package / "dist" / "fitted.js"
    target.write_text(text)
    return target


def _judged(version: str, revision: str, scenario: str, checks: list[dict[str, Any]]) -> Outcome:
    bad = [check for check in checks if check["status"] in ("FAILURE", "WARNING", "SKIPPED")]
    passed = sum(check["status"] == "SUCCESS" for check in checks)
    reason = _reason(scenario)
    known = [check for check in bad if check["id"] in CHECKS_NOT_OFFERED]
    failed = [f"{one['id']}: {one.get('errorMessage', one['status'])}" for one in bad if one not in known]
    beside = tuple(f"{one['id']} ({CHECKS_NOT_OFFERED[one['id']]})" for one in known)
    return Outcome(version, revision, scenario, passed, reason, beside, () if reason else tuple(failed))


def _reason(scenario: str) -> str:
    for name in (scenario, f"server-{scenario}"):
        if name in NOT_OFFERED:
            return NOT_OFFERED[name]
    return _NO_REQUESTS if scenario.startswith("input-required-result-") else ""


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        found = list(outcomes(Path(folder)))
    for outcome in found:
        print(outcome.line)
    failed = sum(bool(outcome.failed) for outcome in found)
    print(f"{sum(not one.reason and not one.failed for one in found)} passed, {failed} failed, "
          f"{sum(bool(one.reason) for one in found)} ask for something that is not offered")  # fmt: skip
    return 1 if failed or not found else 0


if __name__ == "__main__":
    sys.exit(main())
