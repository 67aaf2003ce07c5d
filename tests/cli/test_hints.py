"""Commands in messages, hints and help texts are parsed by the real parser."""

import ast
import re
import shlex
from pathlib import Path

import pytest

from assay.cli.arguments import COMMANDS
from assay.cli.main import build_parser
from assay.errors import ConfigError

ROOT = Path(__file__).parents[2]
SOURCES = [*ROOT.glob("src/assay/**/*.py"), *ROOT.glob("src/assay/data/*.toml")]
RECORDED = [path for path in ROOT.glob("tests/contracts/recorded/**/*") if path.suffix in (".txt", ".json")]
#: A command in backquotes, or at the start of a text, of a line of help, or behind a colon or "or".
COMMAND = re.compile(r"`assay (?P<quoted>[^`]+)`|(?:^|: |, or |\n +)assay (?P<bare>[a-z][^\n]*)")
#: What follows a command on the same line.
REST = re.compile(r"   .*|[;,] .*| \([a-z].*|\)$|\.$|, then.*", re.DOTALL)
#: Words that stand for a value.
VALUES = {"N": "2", "X": "2", "...": "2", "…": "2", "SHELL": "bash"}


def texts(path: Path) -> list[str]:
    """Return the strings of a file; the values in an f-string are 2."""
    if path.suffix != ".py":
        return path.read_text("utf-8").splitlines()
    found = []
    tree = ast.parse(path.read_text("utf-8"))
    inside = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            found.append("".join(str(p.value) if isinstance(p, ast.Constant) else "2" for p in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inside:
            found.append(node.value)
    return found


def hints(path: Path) -> list[list[str]]:
    """Return the commands that are whole hints: the argument `hint`, or a variable of that name."""
    tree = ast.parse(path.read_text("utf-8"))
    values = [node.value for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == "hint"]
    values += [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "hint" for t in node.targets)
    ]
    parts = [part for value in values for part in ast.walk(value) if isinstance(part, (ast.JoinedStr, ast.Constant))]
    inside = {id(v) for part in parts if isinstance(part, ast.JoinedStr) for v in part.values}
    found = []
    for part in parts:
        if isinstance(part, ast.JoinedStr):
            text = "".join(str(p.value) if isinstance(p, ast.Constant) else "2" for p in part.values)
        else:
            text = str(part.value)
        if id(part) not in inside and text.startswith("assay "):
            found += commands(text)
    return found


def commands(text: str) -> list[list[str]]:
    found = []
    for match in COMMAND.finditer(text):
        command = match["quoted"] or REST.sub("", match["bare"])
        try:
            words = shlex.split(command.partition(" > ")[0])
        except ValueError:
            continue  # a sentence with an apostrophe
        if not words or words[0] == "2" or any(word.endswith(":") for word in words):
            continue  # the name of a command in front of a message, or in a variable
        if words[0] in COMMANDS or match["quoted"]:
            found.append([VALUES.get(word, word) for word in words])
    return found


def problem(words: list[str]) -> str:
    """Return why the parser rejects a command; a mention may leave out required arguments."""
    try:
        build_parser(words).parse_args(words)
    except ConfigError as error:
        return "" if "arguments are required" in error.message else error.message
    except SystemExit as end:  # --help and --version
        return "" if end.code == 0 else "exits"
    return ""


@pytest.mark.parametrize("files", [SOURCES, RECORDED], ids=["source", "recorded"])
def test_every_command_in_a_text_is_accepted(files, capsys):
    seen = {" ".join(words): (path, words) for path in files for text in texts(path) for words in commands(text)}
    assert len(seen) > 20
    wrong = {name: problem(words) for name, (_, words) in seen.items()}
    assert {f"{seen[name][0].relative_to(ROOT)}: {name}": why for name, why in wrong.items() if why} == {}


def test_hints_that_are_a_command_are_complete():
    found = {" ".join(words): words for path in SOURCES if path.suffix == ".py" for words in hints(path)}
    assert len(found) > 5
    wrong = {}
    for name, words in found.items():
        try:
            build_parser(words).parse_args(words)
        except ConfigError as error:
            wrong[name] = error.message
        except SystemExit as end:
            wrong.update({name: "exits"} if end.code else {})
    assert wrong == {}


@pytest.mark.parametrize("text", ["run `assay engines builtin`", "hint: assay run --no-such-flag", "`assay serch x`"])
def test_a_command_that_does_not_exist_is_found(text):
    (words,) = commands(text)
    assert problem(words)
