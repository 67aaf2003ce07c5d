"""What decides the content of a shard: the repository, the settings, the exclusions, and the code that mines."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from importlib import metadata
from typing import Final

from assay.artefacts import code_digest
from assay.digests import digest_of
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
    return digest_of(facts)


@cache
def _code_digest() -> str:
    """Digest the code that mines and the parsers that it asks."""
    versions = {name: metadata.version(name) for name in ("tree-sitter", "PyStemmer", *packages())}
    return digest_of([versions, code_digest(*_MINERS)])
