"""A small set of ten queries, divided or not, and how the tests of `ablate`, `tune` and `ledger` call them."""

import json

from assay.cli.main import main

GOLD = """\
assay: 1
name: small
corpus: {path: code}
queries:
"""
QUERY = """\
  - id: q%d
    retrieval: {primary: [thing%d.py]}
    cognitive: {human: where is %s kept?}
    tags: {split: %s}
"""
#: An engine that looks at nothing, and so finds nothing.
FIELDS = {"body": 1.0, "name": 2.0, "scope": 1.0, "signature": 1.0, "stem": 1.0, "folder": 1.0}
BLIND = "".join(f"search.index.fields.{field} = 0.0\n" for field in FIELDS) + (
    'search.dense.model = ""\nsearch.translation.model = ""\nsearch.without = ["stem", "definition", "identifier"]\n'
)
WORDS = ("apple", "berry", "cherry", "date", "elder", "fig", "grape", "hazel", "iris", "juniper")


def gold_of(parts):
    rows = [QUERY % (at, at, WORDS[at], part) for at, part in enumerate(parts)]
    return GOLD + "".join(rows).replace("    tags: {split: none}\n", "")


def write(folder, parts):
    (folder / "gold.yaml").write_text(gold_of(parts))


def _code(at):
    word, other = WORDS[at], WORDS[(at + 1) % len(WORDS)]
    return f'"""Keeps the {word}."""\n\n\ndef {word}_of({other}):\n    return "{other}", "{other}"\n'


SMALL = {f"code/thing{at}.py": _code(at) for at in range(len(WORDS))}
SMALL["gold.yaml"] = gold_of(["dev"] * 8 + ["test"] * 2)


def call(capsys, *argv):
    code = main([*argv, "--quiet"])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def as_json(capsys, *argv):
    code, out, err = call(capsys, *argv, "--json")
    assert out, err
    return code, json.loads(out)


TUNE = ("tune", "--gold", "gold.yaml", "--jobs", "1", "--param", "search.index.fields.name=0.0,2.0,8.0")
ABLATE = ("ablate", "--gold", "gold.yaml", "--jobs", "1")
