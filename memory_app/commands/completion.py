"""Print a script with which a shell completes commands and options. It completes for `memory-server` and for
`memory-server.pyz` where that is started by its own name."""

from __future__ import annotations

import argparse
from typing import Final

from memory_app.commands import COMMANDS
from memory_app.commands.screen.terminal import output

EXAMPLES: Final = (
    ("completion bash >> ~/.bashrc", "complete in bash"),
    ("completion zsh >> ~/.zshrc", "complete in zsh, after compinit"),
    ("completion fish > ~/.config/fish/completions/memory-server.fish", "complete in fish"),
)

_NAMES: Final = ("memory-server", "memory-server.pyz")

_BASH: Final = """_memory_server() {{
  local word command options
  COMPREPLY=()
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$word" in {commands}) command="$word"; break;; esac
  done
  case "$command" in
{cases}
    *) options="{names} --file --profile --version --help";;
  esac
  case "${{COMP_WORDS[COMP_CWORD]}}" in
    -*) ;;
    *) [ -n "$command" ] && return 0;;
  esac
  COMPREPLY=($(compgen -W "$options" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _memory_server {programs}"""


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish")


def run(asked: argparse.Namespace) -> int:
    options = {name: _options(name) for name in COMMANDS}
    out = output()
    if asked.shell == "fish":
        for line in _fish(options):
            out.line(line)
        return 0
    if asked.shell == "zsh":
        out.line("autoload -U +X bashcompinit && bashcompinit")
    cases = "\n".join(f'    {name}) options="{" ".join(found)}";;' for name, found in options.items())
    names = " ".join(COMMANDS)
    out.line(_BASH.format(commands="|".join(COMMANDS), cases=cases, names=names, programs=" ".join(_NAMES)))
    return 0


def _options(name: str) -> list[str]:
    from memory_app.commands.frame import parser_of  # which imports the commands, this one too

    actions = parser_of(name)[0]._actions
    return [option for action in actions for option in action.option_strings if option.startswith("--")]


def _fish(options: dict[str, list[str]]) -> list[str]:
    lines = []
    for program in _NAMES:
        for name, found in options.items():
            summary = COMMANDS[name].summary.replace("'", "\\'")
            lines.append(f"complete -c {program} -n __fish_use_subcommand -a {name} -d '{summary}'")
            lines += [
                f"complete -c {program} -n '__fish_seen_subcommand_from {name}' -l {option[2:]}" for option in found
            ]
    return lines
