"""Completion scripts, tried in real shells, and the command help."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from assay.cli.main import main

CASES = {
    ("assay", "sear"): {"search"},
    ("assay", "gold", "rev"): {"review"},
    ("assay", "--color", "n"): {"never"},
    ("assay", "run", "--kind", ""): {"docs", "code"},
    ("assay", "run", "--no-ti"): {"--no-times"},
    ("assay", "cache", "prune", "--dry"): {"--dry-run"},
    ("assay", "completion", "z"): {"zsh"},
    ("assay", "help", "comple"): {"completion"},
    ("assay", "search", "gold"): set(),  # a query, not a command
}


def bash(script, words):
    program = f'{script}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _assay; printf "%s\\n" "${{COMPREPLY[@]}}"'
    return ["bash", "--norc", "-c", program, "bash", *words]


def zsh(script, words):
    stubs = '_describe() { print -l -- "${(@)${(@P)2}%%:*}" }\n_files() { : }\ncompdef() { : }\n'
    return ["zsh", "-f", "-c", f'{stubs}{script}\nwords=("$@"); CURRENT=$#; _assay', "zsh", *words]


def fish(script, words):
    return ["fish", "--no-config", "-c", f"{script}\ncomplete -C '{' '.join(words)}'"]


@pytest.mark.parametrize("shell", [bash, zsh, fish])
def test_shells_complete_commands_flags_and_values(shell, capsys, tmp_path):
    if shutil.which(shell.__name__) is None:
        pytest.skip(f"{shell.__name__} is not installed")
    assert main(["completion", shell.__name__]) == 0
    script = capsys.readouterr().out
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for words, expected in CASES.items():
        done = subprocess.run(shell(script, words), capture_output=True, text=True, cwd=tmp_path, env=env, check=True)
        assert {line.partition("\t")[0] for line in done.stdout.split("\n") if line} == expected
        assert not done.stderr


@pytest.mark.parametrize("words", [[], ["run"], ["gold", "review"]])
def test_help_prints_the_help_of_a_command(words, capsys):
    with pytest.raises(SystemExit) as end:
        main(["help", *words])
    assert end.value.code == 0
    shown = capsys.readouterr().out
    with pytest.raises(SystemExit):
        main([*words, "--help"])
    assert capsys.readouterr().out == shown


def test_help_suggests_a_command(capsys):
    assert main(["help", "serch"]) == 2
    assert capsys.readouterr().err == "error: unknown command 'serch'\nhint: did you mean 'search'?\n"
