"""The commands help and completion."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Sequence
from typing import Final

from assay.cli.console import write_result
from assay.cli.main import build_parser

#: Scripts that call `assay completion SHELL -- WORDS` for the words before the cursor; without candidates: files.
_SCRIPTS: Final = {
    "bash": """\
_assay() {
    local IFS=$'\\n'
    COMPREPLY=($(assay completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}"))
}
complete -o default -F _assay assay""",
    "zsh": """\
#compdef assay
_assay() {
    local -a found
    found=("${(@f)$(assay completion zsh -- "${(@)words[2,CURRENT]}")}")
    if [[ -n "$found" ]]; then _describe assay found; else _files; fi
}
if [[ $funcstack[1] == _assay ]]; then _assay "$@"; else compdef _assay assay; fi""",
    "fish": """\
function __assay
    set -l found (assay completion fish -- (commandline -opc)[2..] (commandline -ct))
    if test -n "$found"
        printf '%s\\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c assay -f -a '(__assay)'""",
}


def help_command(args: Namespace) -> None:
    build_parser(args.words).parse_args([*args.words, "--help"])


def completion_command(args: Namespace) -> None:
    if not args.words:
        write_result(_SCRIPTS[args.shell])
        return
    for name, description in _candidates(args.words).items():
        if name.startswith(args.words[-1]):
            text = {"bash": name, "zsh": f"{name}:{description}", "fish": f"{name}\t{description}"}[args.shell]
            write_result(text.rstrip(":\t"))


def _candidates(words: Sequence[str]) -> dict[str, str]:
    """Return words that may replace the last one, with their descriptions."""
    *before, current = words
    if before[:1] == ["help"]:
        return _candidates(words[1:])
    parser: ArgumentParser = build_parser(words)
    for word in before:
        parser = _actions(parser).get(word, parser)
    option = parser._option_string_actions.get(before[-1]) if before else None
    if option is not None and option.nargs != 0:
        return dict.fromkeys(map(str, option.choices or ()), "")
    if current.startswith("-"):
        return {name: action.help or "" for action in parser._actions for name in action.option_strings}
    found: dict[str, str] = {}
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            found |= {choice.dest: choice.help or "" for choice in action._choices_actions}
        elif not action.option_strings:
            found |= dict.fromkeys(map(str, action.choices or ()), "")
    return found


def _actions(parser: ArgumentParser) -> dict[str, ArgumentParser]:
    return {
        name: below
        for action in parser._actions
        if isinstance(action, _SubParsersAction)
        for name, below in action.choices.items()
    }
