"""What decides the content of a shard: the repository, the settings, the exclusions, and the code that mines."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from importlib import metadata, resources
from importlib.resources.abc import Traversable
from typing import Final

from assay.syntax.grammars import packages
from assay.training.mining.config import MiningConfig
from assay.training.mining.repositories import Repository

#: The code that decides what is in a shard.
_MINERS: Final = (
    "training/mining",
    "training/shards.py",
    "syntax",
    "search/words.py",
    "search/question.py",
    "search/naming.py",
    "search/chunking",
    "corpus/walking/languages.py",
)


def shard_identity(repository: Repository, config: MiningConfig, exclusions: str) -> str:
    """Digest all that decides what is in a shard; `exclusions` is the digest of theirs."""
    facts = [repository.name, repository.commit, asdict(config), exclusions, _code_digest()]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


@cache
def _code_digest() -> str:
    """Digest the code that mines, so that nobody has to remember to raise a number when it changes."""
    home = resources.files("assay")
    versions = {name: metadata.version(name) for name in ("tree-sitter", "PyStemmer", *packages())}
    digest = hashlib.sha256(json.dumps(versions, sort_keys=True).encode())
    for name, data in (source for place in _MINERS for source in _sources(home.joinpath(place))):
        digest.update(name.encode() + b"\0" + data)
    return digest.hexdigest()


def _sources(place: Traversable) -> Iterator[tuple[str, bytes]]:
    """Read the code and queries of a folder, or a file alone, by name."""
    if place.is_dir():
        for entry in sorted(place.iterdir(), key=lambda entry: entry.name):
            yield from _sources(entry)
    elif place.name.endswith((".py", ".scm")):
        yield place.name, place.read_bytes()
