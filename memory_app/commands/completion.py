"""Print a script with which a shell completes commands and options. It works for `memory-server`, and for
`memory-server.pyz` if you start that by its own name.
"""

from __future__ import annotations

import argparse
from typing import Final, NamedTuple

from memory_app.commands import COMMANDS
from memory_app.commands.screen.terminal import output

EXAMPLES: Final = (
    ("completion bash >> ~/.bashrc", "complete in bash"),
    ("completion zsh >> ~/.zshrc", "complete in zsh, after compinit"),
    ("completion fish > ~/.config/fish/completions/memory-server.fish", "complete in fish"),
)

_NAMES: Final = ("memory-server", "memory-server.pyz")

_WITH_VALUE: Final = ("--file", "--profile")
"""Options before the command whose value is not the command."""

_BASH: Final = """_memory_server() {{
  local at=1 command= words= current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}"
  COMPREPLY=()
  while [ "$at" -lt "$COMP_CWORD" ]; do
    case "${{COMP_WORDS[at]}}" in
      {with_value}) at=$((at + 1));;
      {commands}) command="${{COMP_WORDS[at]}}"; break;;
    esac
    at=$((at + 1))
  done
  case "$command $previous" in
{values}
    *) case "$command" in
{cases}
      *) words="{names} --file --profile --version --help";;
    esac;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _memory_server {programs}"""

_FISH: Final = """function __memory_server_command
  set -l words (commandline -opc)
  set -e words[1]
  while set -q words[1]
    switch $words[1]
      case {with_value}
        set -e words[1]
      case '-*'
      case '*'
        echo $words[1]
        return 0
    end
    set -e words[1]
  end
  return 1
end
function __memory_server_in
  contains -- $argv[1] (__memory_server_command)
end"""


class _Words(NamedTuple):
    """The words that may follow a command: its options, those that take a value with their possible values if these are
    known, and the values of its arguments.
    """

    options: list[str]
    values: dict[str, list[str]]
    arguments: list[str]


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish")


def run(asked: argparse.Namespace) -> int:
    words = {name: _words(name) for name in COMMANDS}
    out = output()
    if asked.shell == "zsh":
        out.line("autoload -U +X bashcompinit && bashcompinit")
    for line in _fish(words) if asked.shell == "fish" else _bash(words):
        out.line(line)
    return 0


def _words(name: str) -> _Words:
    from memory_app.commands.frame import parser_of  # which imports the commands, this one too

    found = _Words([], {}, [])
    for action in parser_of(name)[0]._actions:
        choices = list(map(str, action.choices or ()))
        options = [option for option in action.option_strings if option.startswith("--")]
        found.options.extend(options)
        if not options:
            found.arguments.extend(choices)
        elif action.nargs != 0:
            found.values.update(dict.fromkeys(options, choices))
    return found


def _bash(words: dict[str, _Words]) -> list[str]:
    values = [
        f'    "{name} {option}") words="{" ".join(choices)}";;'
        for name, found in words.items()
        for option, choices in found.values.items()
    ]
    values += [f'    " {option}") ;;' for option in _WITH_VALUE]
    cases = [f'      {name}) words="{" ".join([*found.arguments, *found.options])}";;' for name, found in words.items()]
    script = _BASH.format(
        with_value="|".join(_WITH_VALUE),
        commands="|".join(words),
        values="\n".join(values),
        cases="\n".join(cases),
        names=" ".join(words),
        programs=" ".join(_NAMES),
    )
    return script.split("\n")


def _fish(words: dict[str, _Words]) -> list[str]:
    lines = _FISH.format(with_value=" ".join(_WITH_VALUE)).split("\n")
    for program in _NAMES:
        for name, found in words.items():
            summary = COMMANDS[name].summary.replace("'", "\\'")
            lines.append(f"complete -c {program} -n 'not __memory_server_command' -a {name} -d '{summary}'")
            start = f"complete -c {program} -n '__memory_server_in {name}'"
            if found.arguments:
                lines.append(f"{start} -f -a '{' '.join(found.arguments)}'")
            for option in found.options:
                choices = found.values.get(option)
                value = "" if choices is None else f" -x -a '{' '.join(choices)}'" if choices else " -r"
                lines.append(f"{start} -l {option[2:]}{value}")
        lines += [
            f"complete -c {program} -n 'not __memory_server_command' -l {option[2:]} -r" for option in _WITH_VALUE
        ]
    return lines
