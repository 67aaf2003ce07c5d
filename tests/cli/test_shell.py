"""Completion scripts, tried in real shells, and the command help."""

import shutil
import subprocess

import pytest

from assay.cli.arguments import COMMANDS
from assay.cli.main import build_parser, main

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


@pytest.fixture(scope="module")
def script():
    def run(shell):
        import contextlib
        import io

        with contextlib.redirect_stdout(io.StringIO()) as out:
            assert main(["completion", shell]) == 0
        return out.getvalue()

    return run


def bash(script, words):
    program = f'{script}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _assay; printf "%s\\n" "${{COMPREPLY[@]}}"'
    return ["bash", "--norc", "-c", program, "bash", *words]


def fish(script, words):
    return ["fish", "--no-config", "-c", f"{script}\ncomplete -C '{' '.join(words)}'"]


@pytest.mark.parametrize("words", CASES)
@pytest.mark.parametrize("shell", [bash, fish])
def test_shells_complete_commands_flags_and_values(script, shell, words, tmp_path):
    if shutil.which(shell.__name__) is None:
        pytest.skip(f"{shell.__name__} is not installed")
    done = subprocess.run(
        shell(script(shell.__name__), words), capture_output=True, text=True, cwd=tmp_path, check=True
    )
    assert {line.partition("\t")[0] for line in done.stdout.split("\n") if line} == CASES[words]
    assert not done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_name_every_command_and_are_valid(script, shell):
    text = script(shell)
    build_parser()  # loads the actions of gold
    assert not [name for name in COMMANDS if name.split()[-1] not in text]
    if shutil.which(shell):
        check = subprocess.run([shell, "-n"], input=text, capture_output=True, text=True, check=False)
        assert (check.returncode, check.stderr) == (0, "")


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
    with pytest.raises(SystemExit) as end:
        main(["help", "serch"])
    assert end.value.code == 2
    assert capsys.readouterr().err == "error: unknown command 'serch'\nhint: did you mean 'search'?\n"
