"""What makes a release: the registry's entry, and the workflow, which publishes under no name that nobody owns."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import memory_app
from build import inputs, registry
from build.__main__ import main

WORKFLOW = inputs.ROOT / ".github" / "workflows" / "release.yml"
NAMES = {
    "REGISTRY_NAME": "org.example/memory",
    "PACKAGE_NAME": "example-memory",
    "IMAGE_NAME": "registry.example.org/memory",
    "BUNDLE_URL": "https://example.org/memory-server.mcpb",
    "REPOSITORY_URL": "https://example.org/source",
}


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    path = tmp_path / "memory-server.mcpb"
    path.write_bytes(b"a bundle")
    return path


def test_the_entry_names_what_was_named_and_this_version(bundle: Path) -> None:
    entry = registry.entry(NAMES, bundle)
    assert (entry["name"], entry["version"]) == ("org.example/memory", memory_app.__version__)
    assert [one["registryType"] for one in entry["packages"]] == ["pypi", "oci", "mcpb"]
    assert all(one["transport"] == {"type": "stdio"} for one in entry["packages"])
    assert re.fullmatch(r"[0-9a-f]{64}", entry["packages"][2]["fileSha256"])
    assert 1 <= len(entry["description"]) <= 100  # what the registry's schema allows


@pytest.mark.parametrize("left_out", ["PACKAGE_NAME", "IMAGE_NAME", "BUNDLE_URL", "REPOSITORY_URL"])
def test_what_is_not_named_is_left_out(bundle: Path, left_out: str) -> None:
    text = registry.text({**NAMES, left_out: ""}, bundle)
    assert NAMES[left_out] not in text
    assert len(json.loads(text)["packages"]) == (3 if left_out == "REPOSITORY_URL" else 2)


@pytest.mark.parametrize("names", [{}, {**NAMES, "REGISTRY_NAME": "memory"}, {"REGISTRY_NAME": "org.example/memory"}])
def test_without_a_name_there_is_no_entry_but_one_line(
    names: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in registry.VARIABLES:
        monkeypatch.setenv(name, names.get(name, ""))
    assert main(["registry"]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "must be set" in err


def test_nothing_is_published_under_a_name_that_is_not_set() -> None:
    """Each publishing job runs on a tag alone, and only where its variable is set."""
    text = WORKFLOW.read_text("utf-8")
    jobs = dict(re.findall(r"^  ([\w-]+):\n((?:    .*\n|\n)+)", text.partition("\njobs:\n")[2], re.MULTILINE))
    for job, variable in (("package", "PACKAGE_NAME"), ("push-image", "IMAGE_NAME"), ("registry", "REGISTRY_NAME")):
        condition = re.search(r"^    if: (.*)$", jobs[job], re.MULTILINE)
        assert condition is not None
        assert "startsWith(github.ref, 'refs/tags/v')" in condition[1]
        assert f"vars.{variable} != ''" in condition[1]
    writing = {job for job, body in jobs.items() if re.search(r": write$", body, re.MULTILINE)}
    assert writing == {"publish", "package", "push-image", "registry"}
    assert all("startsWith(github.ref, 'refs/tags/v')" in jobs[job] for job in writing)


def test_the_workflow_passes_actionlint() -> None:
    linter = shutil.which("actionlint") or shutil.which("actionlint", path=str(inputs.ROOT / ".venv" / "bin"))
    if linter is None:
        pytest.skip("needs actionlint")
    done = subprocess.run([linter, str(WORKFLOW)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("page", ["README.md", *(f"memory_app/guide/{name}" for name in ("clients.md", "docker.md"))])
def test_no_page_sends_people_to_a_name_that_nobody_owns(page: str) -> None:
    text = (inputs.ROOT / page).read_text("utf-8")
    assert not re.search(r"\b(uvx|pipx)\b", text)
    for command in re.findall(r"docker run [^`\n]*mcp/memory", text):
        assert "--pull=never" in command
