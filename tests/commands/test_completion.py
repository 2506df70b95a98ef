"""Completion: what a real shell completes with the script that is printed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from memory_app.commands import COMMANDS
from tests.commands.running import run


def completed(script: str, words: list[str]) -> list[str]:
    """What bash offers for the last of the words."""
    code = f'{script}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _memory_server; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", code, "bash", *words], capture_output=True, timeout=20, check=True)
    return done.stdout.decode().split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["memory-server", "un"], ["undo"]),
        (["memory-server", "--file", "x", "exp"], ["export"]),
        (["memory-server", "undo", "--d"], ["--dry-run"]),
        (["memory-server", "merge-entities", "--js"], ["--json"]),
        (["memory-server", "show", "A"], []),
    ],
)
def test_bash_completes_commands_and_options(words: list[str], offered: list[str], home: Path) -> None:
    assert completed(run("completion", "bash", home=home).out, words) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_is_in_each_script(shell: str, home: Path) -> None:
    script = run("completion", shell, home=home).out
    assert all(name in script for name in COMMANDS)
    if shutil.which(shell):
        assert subprocess.run([shell, "-n"], input=script.encode(), timeout=20, check=False).returncode == 0
