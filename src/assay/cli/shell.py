"""The commands help and completion."""

from __future__ import annotations

import argparse
import shlex
from argparse import Namespace
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Final, NamedTuple

from assay.cli.arguments import COMMANDS, Argument, Group
from assay.cli.main import DEFAULT_ACTIONS, FLAGS, build_parser
from assay.cli.output import write_result


def help_command(args: Namespace) -> int:
    build_parser(args.words).parse_args([*args.words, "--help"])
    return 0


def completion_command(args: Namespace) -> int:
    import_module("assay.cli.gold")
    write_result("\n".join(_SHELLS[args.shell]([*_entries()])))
    return 0


class _Flag(NamedTuple):
    names: tuple[str, ...]
    about: str
    choices: tuple[str, ...] = ()
    takes_value: bool = False


class _Entry(NamedTuple):
    """Command or action; the name of `assay` itself is empty."""

    name: str
    words: dict[str, str]  # what may follow, with its description
    flags: tuple[_Flag, ...]

    @property
    def path(self) -> str:
        """Return the pattern of the state before the last word and of that word, such as `gold/lint`."""
        before, _, last = self.name.rpartition(" ")
        return shlex.quote(f"{before}/{last}")


def _entries() -> Iterator[_Entry]:
    names = [name for name in COMMANDS if " " not in name]
    common = [_flag(names, settings) for names, settings in FLAGS.items()]
    common.append(_Flag(("-h", "--help"), "Show this help and exit"))
    version = _Flag(("-V", "--version"), "Show the version and exit")
    yield _Entry("", {name: _summary(name) for name in names}, (*common, version))
    for name, command in COMMANDS.items():
        actions = {key.split()[1]: _summary(key) for key in COMMANDS if key.startswith(f"{name} ")}
        words = actions or ({key: _summary(key) for key in names} if name == "help" else {})
        arguments = list(_arguments(command.arguments))
        if default := DEFAULT_ACTIONS.get(name):
            arguments += _arguments(COMMANDS[f"{name} {default}"].arguments)
        for key, settings in arguments:
            if not key.startswith("-"):
                words |= dict.fromkeys(map(str, settings.get("choices", ())), "")
        flags = (_flag(key, settings) for key, settings in arguments if key.startswith("-"))
        yield _Entry(name, words, (*flags, *common))


def _arguments(arguments: tuple[Argument | Group, ...]) -> Iterator[Argument]:
    for argument in arguments:
        yield from argument.arguments if isinstance(argument, Group) else (argument,)


def _flag(names: str, settings: dict[str, object]) -> _Flag:
    listed, action = tuple(names.split()), settings.get("action")
    if action is argparse.BooleanOptionalAction:
        listed += tuple(f"--no-{name.removeprefix('--')}" for name in listed)
    choices = settings.get("choices", ())
    assert isinstance(choices, tuple)
    takes_value = action not in ("store_true", argparse.BooleanOptionalAction)
    return _Flag(listed, str(settings["help"]), choices, takes_value)


def _summary(name: str) -> str:
    return COMMANDS[name].help.partition("\n")[0]


def _step(entries: list[_Entry]) -> str:
    return "|".join(entry.path for entry in entries if entry.name)


def _quoted(words: Iterable[str]) -> str:
    return shlex.quote(" ".join(words))


def _bash(entries: list[_Entry]) -> Iterator[str]:
    yield '# In ~/.bashrc: eval "$(assay completion bash)"'
    yield "_assay() {"
    yield "    local at= word words= flags= cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}"
    yield '    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do'
    yield f'        case "$at/$word" in {_step(entries)}) at="${{at:+$at }}$word" ;; esac'
    yield "    done"
    yield '    case "$at" in'
    for entry in entries:
        names = (name for flag in entry.flags for name in flag.names)
        yield f"        {shlex.quote(entry.name)}) words={_quoted(entry.words)} flags={_quoted(names)} ;;"
    yield "    esac"
    yield '    case "$cur" in -*) words=$flags ;; esac'
    yield '    case "$at/$prev" in'
    for entry in entries:
        for flag in entry.flags:
            if flag.takes_value:
                pattern = "|".join(shlex.quote(f"{entry.name}/{name}") for name in flag.names)
                yield f"        {pattern}) words={_quoted(flag.choices)} ;;"
    yield "    esac"
    yield '    COMPREPLY=($(compgen -W "$words" -- "$cur"))'
    yield "}"
    yield "complete -o default -F _assay assay"  # files where no word fits


def _zsh(entries: list[_Entry]) -> Iterator[str]:
    yield "#compdef assay"
    yield "# assay completion zsh > a directory of $fpath/_assay"
    yield "_assay() {"
    yield "    local at= word; local -a entries flags"
    yield '    for word in "${(@)words[2,CURRENT-1]}"; do'
    yield f'        case "$at/$word" in {_step(entries)}) at="${{at:+$at }}$word" ;; esac'
    yield "    done"
    yield '    case "$at/$words[CURRENT-1]" in'
    for entry in entries:
        for flag in entry.flags:
            if flag.takes_value:
                pattern = "|".join(shlex.quote(f"{entry.name}/{name}") for name in flag.names)
                values = shlex.join(flag.choices)
                yield f"        {pattern}) {f'compadd -- {values}' if values else '_files'}; return ;;"
    yield "    esac"
    yield '    case "$at" in'
    for entry in entries:
        words = [(word, about) for word, about in entry.words.items()]
        flags = [(name, flag.about) for flag in entry.flags for name in flag.names]
        listed = (" ".join(shlex.quote(f"{name}:{about}") for name, about in pairs) for pairs in (words, flags))
        yield "        {}) entries=({}) flags=({}) ;;".format(shlex.quote(entry.name), *listed)
    yield "    esac"
    yield "    if [[ $PREFIX == -* ]]; then _describe -o option flags"
    yield "    elif (( $#entries )); then _describe command entries"
    yield "    else _files; fi"
    yield "}"
    yield 'if [[ $funcstack[1] == _assay ]]; then _assay "$@"; else compdef _assay assay; fi'


def _fish(entries: list[_Entry]) -> Iterator[str]:
    yield "# assay completion fish > ~/.config/fish/completions/assay.fish"
    yield "function __assay_at"
    yield "    set -l at ''"
    yield "    for word in (commandline -opc)[2..]"
    yield '        switch "$at/$word"'
    yield f"            case {_step(entries).replace('|', ' ')}"
    yield '                set at (string trim "$at $word")'
    yield "        end"
    yield "    end"
    yield '    test "$at" = "$argv"'
    yield "end"
    for entry in entries:
        at = f"complete -c assay -n {shlex.quote(f'__assay_at {entry.name}'.strip())}"
        for word, about in entry.words.items():
            yield f"{at} -f -a {word} -d {_fish_quote(about)}"
        for flag in entry.flags:
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names)
            values = f" -x -a {_quoted(flag.choices)}" if flag.choices else " -r" if flag.takes_value else ""
            yield f"{at} {names}{values} -d {_fish_quote(flag.about)}"


def _fish_quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


_SHELLS: Final = {"bash": _bash, "zsh": _zsh, "fish": _fish}
