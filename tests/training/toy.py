"""Three tiny repositories, and pairs out of thin air, for tests of training."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from assay.training.shards import KINDS, Bags, PairShard

MIT = """\
MIT License

Copyright (c) 2020 Somebody

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED.
"""

#: What functions of a repository do: a verb and a thing, said in a comment and done in code.
VERBS = {"remove": "del", "find": "lookup", "count": "len", "store": "save", "join": "concat"}
THINGS = {
    "garden": ("plant", "flower", "seed", "hedge"),
    "kitchen": ("plate", "spoon", "recipe", "oven"),
    "harbour": ("vessel", "anchor", "cargo", "crane"),
}

RECIPE = """\
[vocabulary]
repositories = 1
[vectors]
dimension = 8
steps = 12
batch = 32
group = 8
warmup = 2
report = 4
checkpoint = 3
hard.share = 0.25
[translations]
query_pairs = 2
code_pairs = 2
repositories = 1
support = 1
smoothing = 1.0
"""


def function(verb: str, thing: str) -> str:
    """Write a documented function."""
    call = VERBS[verb]
    return f'''\
def {call}_{thing}(collection, wanted, default=None):
    """{verb.capitalize()} the wanted {thing} among everything that the collection holds."""
    result = default
    for position, {thing} in enumerate(collection):
        if {thing}.label == wanted:
            result = {call}(collection, position)
    return result
'''


def make_repository(folder: Path, things: Sequence[str], licence: str = MIT) -> Path:
    """Make a git repository with a module for each thing."""
    files = {f"source/{thing}s.py": "\n\n".join(function(verb, thing) for verb in VERBS) for thing in things}
    files |= {
        "LICENSE": licence,
        "README.md": f"# About\n\n## How a {things[0]} is kept\n\nPut {things[0]}s in a row.\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", f"Keep track of every {things[0]}"]):
        git(folder, *arguments)
    return folder


def git(folder: Path, *arguments: str) -> None:
    """Run git with nobody's settings and a fixed time, so that commits are the same in every run."""
    who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in _WHO.items()}
    nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(["git", *arguments], cwd=folder, check=True, env=os.environ | who | nobody)


_WHO = {"NAME": "Somebody", "EMAIL": "somebody@example.org", "DATE": "2020-01-01T00:00:00Z"}


def make_toy(folder: Path) -> Path:
    """Make the three repositories."""
    for name, things in THINGS.items():
        make_repository(folder / f"toy+{name}", things)
    return folder


def bags(rows: Sequence[Mapping[str, float]], words: Sequence[str]) -> Bags:
    """Write bags of words as numbers."""
    place = {word: number for number, word in enumerate(words)}
    offset = np.cumsum([0, *(len(row) for row in rows)])
    term = [place[word] for row in rows for word in sorted(row)]
    count = [row[word] for row in rows for word in sorted(row)]
    return Bags(offset.astype(np.int64), np.array(term, np.int32), np.array(count, np.float32))


def make_shard(
    name: str, pairs: Sequence[tuple[Mapping[str, float], Mapping[str, float]]], kind: str = "doc", seed: int = 0
) -> PairShard:
    """Make a shard of pairs of a query and a code; every third row lies in the same file."""
    queries, codes = [query for query, _ in pairs], [code for _, code in pairs]
    paths: list[Mapping[str, float]] = [{"source": 1.0} for _ in pairs]
    words = tuple(sorted({word for row in (*queries, *codes, *paths) for word in row}))
    keys = np.random.default_rng(seed).integers(0, 2**62, len(pairs)).astype(np.uint64)
    kinds = np.full(len(pairs), KINDS.index(kind), np.uint8)
    file = (np.arange(len(pairs)) // 3).astype(np.int32)
    columns = (bags(rows, words) for rows in (queries, codes, paths))
    query, code, path = columns
    return PairShard(name, words, kinds, query, code, path, np.zeros(len(pairs), np.uint8), keys, file)


def synonyms(name: str, count: int, seed: int, concepts: int = 40, shared: float = 0.3) -> PairShard:
    """Make pairs in which word `askN` of a query is `sayN` in the code, and sometimes `askN` too."""
    draw = np.random.default_rng(seed)
    pairs = []
    for _ in range(count):
        chosen = draw.choice(concepts, 4, replace=False).tolist()
        code = {f"say{one}": float(draw.integers(1, 4)) for one in chosen}
        code |= {f"ask{one}": 1.0 for one in chosen if draw.random() < shared}
        code |= {f"noise{one}": 1.0 for one in draw.choice(60, 6, replace=False).tolist()}
        pairs.append(({f"ask{one}": 1.0 for one in chosen}, code))
    return make_shard(name, pairs, seed=seed)


#: Words of a code base that nobody else uses: what a comment says, and what the code calls it.
JARGON = {
    "zorble": "fnar", "gwint": "plim", "drosk": "hulm", "vemper": "quatch", "blist": "torv", "krund": "yibe",
    "snaffo": "welk", "murl": "jossen", "plofter": "agrit", "twimb": "obrun", "chorlo": "istak", "frenk": "ulmo",
}  # fmt: skip


def jargon_file(number: int, meanings: Mapping[str, str] | None = None, comments: int = 4) -> str:
    """Write functions whose comments speak jargon; without meanings the code has nothing to do with the comments."""
    draw = np.random.default_rng(number)
    return "\n\n".join(_jargon(f"step{number}_{nth}", meanings, draw) for nth in range(comments))


def _jargon(name: str, meanings: Mapping[str, str] | None, draw: np.random.Generator) -> str:
    """Write one of them."""
    said = draw.choice(sorted(JARGON), 3, replace=False).tolist()
    done = [meanings[word] for word in said] if meanings else draw.choice(sorted(JARGON.values()), 3, False).tolist()
    return f'''\
def {name}(collection, wanted, default=None):
    """{said[0].capitalize()} the {said[1]} with a {said[2]}."""
    result = default
    for position, {done[0]} in enumerate(collection):
        if {done[0]}.{done[1]} == wanted:
            result = {done[2]}(collection, position)
    return result
'''


def make_jargon(folder: Path, meanings: Mapping[str, str] | None, files: int = 48) -> Path:
    """Make a repository that speaks jargon, in one commit and without a licence."""
    for number in range(files):
        (folder / f"part{number}.py").parent.mkdir(parents=True, exist_ok=True)
        (folder / f"part{number}.py").write_text(jargon_file(number, meanings), encoding="utf-8")
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Begin with everything at once"]):
        git(folder, *arguments)
    return folder
