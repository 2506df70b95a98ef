"""Paths that no shell has seen, given to the program as clients and scripts give them."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.commands.running import Result, command, entity, environment, run, write

FACTS = json.dumps({"entities": [{"name": "Ann", "entityType": "person", "observations": []}]})


def store(written: str, home: Path) -> Result:
    env = {"MEMORY_FILE_PATH": written, "MEMORY_SERVER_HOME": str(home / "server"), "PLACE": str(home / "s")}
    return run("call", "create_entities", FACTS, home=home, env=env)


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    "written",
    [
        "$HOME/s/m.jsonl",
        "${PLACE}/m.jsonl",
        "${NOT_SET:-$HOME}/s/m.jsonl",
        "~/s/m.jsonl",
        "file://{home}/s/m.jsonl",
        '"{home}/s/m.jsonl"',
        "'{home}/s/m.jsonl'",
        " {home}/s/m.jsonl",
        "{home}/s/m.jsonl ",
        "{home}/s/m.jsonl\r",
        "{home}/s/m.jsonl\n",
    ],
    ids=ascii,
)
def test_the_file_that_was_meant_is_made_and_no_other(written: str, home: Path) -> None:
    assert store(written.replace("{home}", str(home)), home).status == 0
    assert files(home) == ["s/m.jsonl"]


@pytest.mark.parametrize(
    "written",
    [
        "%APPDATA%\\m.jsonl",
        "$NOT_SET/m.jsonl",
        "${workspaceFolder}/m.jsonl",
        "${input:memory}",
        "https://example.org/m.jsonl",
        "$(pwd)/m.jsonl",
    ],
)
def test_what_cannot_be_meant_ends_with_2_and_one_line_and_makes_nothing(written: str, home: Path) -> None:
    for result in (store(written, home), run("--file", written, "stats", home=home), run("--file", written, home=home)):
        assert (result.status, result.out, result.err.count("\n")) == (2, "", 1)
    assert "MEMORY_FILE_PATH" not in run("--file", written, "stats", home=home).err
    assert "--file" in run("config", "cursor", "--file", written, "--write", home=home).err
    assert files(home) == []


@pytest.mark.skipif("os.name == 'nt'", reason="the names are not allowed there")
def test_a_memory_at_the_path_as_written_stays_and_stderr_and_doctor_say_so(home: Path) -> None:
    folder = home / "server" / "$HOME"
    folder.mkdir(parents=True)
    path = write(folder / "m.jsonl", entity("Bo"))
    result = store("$HOME/m.jsonl", home)
    assert result.status == 0
    assert "is taken as it is written" in result.err
    assert f"mv '{path}' {home}/m.jsonl" in result.err
    assert path.read_text().count("\n") == 2
    env = {"MEMORY_FILE_PATH": "$HOME/m.jsonl", "MEMORY_SERVER_HOME": str(home / "server")}
    said = run("doctor", home=home, env=env).out
    assert "is taken as it is written" in said
    assert "mv " in said


def test_an_empty_file_option_never_means_the_default_memory(home: Path) -> None:
    result = run("call", "create_entities", FACTS, "--file", "", home=home)
    assert (result.status, result.err) == (2, "memory-server: --file is empty. Give it a value, or leave it out.\n")
    assert run("--file=", home=home).status == 2


def test_a_text_about_a_bad_file_option_speaks_of_that_option(home: Path) -> None:
    diary = home / "diary.txt"
    diary.write_text("dear diary")
    (home / "loop").symlink_to("loop")
    for path in (diary, home / "loop", "/dev/null"):
        result = run("stats", "--file", path, home=home)
        assert result.status == 2
        assert "MEMORY_FILE_PATH" not in result.err
        assert "yet" not in result.err


@pytest.mark.skipif("not os.path.exists('/dev/full')", reason="a device that is full")
@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["help"], ["config"]], ids=" ".join)
@pytest.mark.parametrize("to", [">/dev/full", ">&-"])
def test_output_that_cannot_be_written_is_status_2_and_one_line(arguments: list[str], to: str, home: Path) -> None:
    line = f"{shlex.join([*command(), *arguments])} {to}"
    done = subprocess.run(["sh", "-c", line], env=environment(home), capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1), done.stderr


@pytest.mark.skipif("os.name == 'nt' or os.geteuid() == 0", reason="rights that root does not heed")
def test_doctor_says_of_a_folder_that_cannot_be_written_just_that(home: Path) -> None:
    folder = home / "folder"
    folder.mkdir(mode=0o555)
    assert "files can be created in this folder: Permission denied" in run("doctor", "--file", folder, home=home).out
