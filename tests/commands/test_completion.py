"""Completion: what real shells complete with the script that is printed."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from memory_app.commands import COMMANDS
from tests.commands.running import run

CASES = [
    ("memory-server un", ["undo"]),
    ("memory-server --file undo exp", ["export"]),
    ("memory-server undo --d", ["--dry-run"]),
    ("memory-server merge-entities --js", ["--json"]),
    ("memory-server export --format gr", ["graphml"]),
    ("memory-server completion z", ["zsh"]),
    ("memory-server show only-this-f", ["only-this-file"]),
    ("memory-server --file only-this-f", ["only-this-file"]),
]
needs = {
    shell: pytest.mark.skipif(shutil.which(shell) is None, reason=f"there is no {shell}")
    for shell in ("bash", "zsh", "fish")
}


@pytest.fixture
def script(request: pytest.FixtureRequest, home: Path) -> Path:
    (home / "only-this-file").touch()
    path = home / "script"
    path.write_text(run("completion", request.param, home=home).out)
    return path


@needs["bash"]
@pytest.mark.parametrize("script", ["bash"], indirect=True)
def test_bash_completes_commands_options_and_their_values(script: Path) -> None:
    code = (
        'source "$0"; read -ra COMP_WORDS <<<"$1"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _memory_server\n'
        '[ ${#COMPREPLY[@]} = 0 ] && COMPREPLY=($(compgen -o default -- "${COMP_WORDS[COMP_CWORD]}"))\n'
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    for line, offered in CASES:
        asked = ["bash", "--norc", "-c", code, str(script), line]
        done = subprocess.run(asked, capture_output=True, timeout=20, check=True, cwd=script.parent)
        assert (line, done.stdout.decode().split(), done.stderr) == (line, offered, b"")


@needs["fish"]
@pytest.mark.parametrize("script", ["fish"], indirect=True)
def test_fish_completes_commands_options_and_their_values(script: Path) -> None:
    for line, offered in CASES:
        asked = ["fish", "--no-config", "-c", f'source {script}; complete -C "{line}"']
        done = subprocess.run(asked, capture_output=True, timeout=20, check=True, cwd=script.parent)
        found = [each.split("\t")[0] for each in done.stdout.decode().splitlines()]
        assert (line, found, done.stderr) == (line, offered, b"")


@needs["zsh"]
@pytest.mark.parametrize("script", ["zsh"], indirect=True)
def test_zsh_completes_commands_options_and_their_values(script: Path) -> None:
    with Zsh(script.parent) as zsh:
        zsh.type(f"autoload -U compinit; compinit -u -D; source {script}; bindkey '^T' expand-or-complete\n")
        zsh.until("READY")
        for line, (word,) in CASES:
            # What stands on the line after the completion is shown by an echo, with the line as its argument.
            zsh.type(f"{line}\x14\x01echo '<\x05>'\n")
            said = zsh.until("READY")
            wanted = f"<{line.rpartition(' ')[0]} {word}"
            assert f"{wanted} >" in said or f"{wanted}>" in said, said


class Zsh:
    """A zsh on a terminal of its own, without anybody's settings."""

    def __init__(self, folder: Path) -> None:
        self._ours, theirs = os.openpty()
        env = {"TERM": "dumb", "PATH": os.environ["PATH"], "HOME": str(folder), "PS1": ""}
        command = [shutil.which("zsh") or "zsh", "-f", "-i"]
        self._process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, cwd=folder, start_new_session=True
        )
        os.close(theirs)
        self.type('precmd() { print REA""DY }\n')
        self.until("READY")

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def until(self, text: str) -> str:
        """What it says up to this text."""
        said = ""
        end = time.monotonic() + 30
        while text not in said:
            assert select.select([self._ours], [], [], max(0.0, end - time.monotonic()))[0], said
            said += os.read(self._ours, 1 << 16).decode("utf-8", "replace")
        return said

    def __enter__(self) -> Zsh:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait(20)
        os.close(self._ours)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_is_in_each_script(shell: str, home: Path) -> None:
    script = run("completion", shell, home=home).out
    assert all(name in script for name in COMMANDS)
    if shutil.which(shell):
        asked = subprocess.run([shell, "-n"], input=script.encode(), timeout=20, capture_output=True, check=False)
        assert (asked.returncode, asked.stderr) == (0, b"")
