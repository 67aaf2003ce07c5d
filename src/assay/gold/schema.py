"""The vocabulary of the native format: which keys each layer has, and the words they may hold.

`data/schemas/gold.schema.json` says the same to editors; a test holds the two together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from assay.errors import nearest
from assay.types import CorpusKind

VERSION = "1"
RELATIONSHIPS = ("interface", "parent", "child", "mock", "config", "sibling", "caller", "test", "namesake")
STRENGTHS = ("strong", "medium", "weak")

#: A grade as a key: 0 is judged and not relevant.
GRADE = re.compile("0|[1-9][0-9]{0,8}")
#: `name(params)@k`; whether there is such a measure is for the scoring room to say.
MEASURE = re.compile(r"[A-Za-z][A-Za-z0-9_]*(\(.+\))?(@[1-9][0-9]*)?")


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one mapping."""

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    @property
    def known(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.required, *self.optional)


DOCUMENT = Keys(("assay", "name", "corpus", "queries"), ("provenance",))
QUERY = Keys(("id", "retrieval", "cognitive"), ("interference", "rationale", "evaluation", "tags", "labels"))
RETRIEVAL = Keys((), ("primary", "secondary", "grades"))
ADVERSARY = Keys(("target", "relationship", "strength", "confusion"))
RATIONALE = Keys((), ("owner", "reason", "boundary"))
EVALUATION = Keys(("measures",))
LABEL = Keys(("target",), ("by", "on", "commit", "shown_by"))
CORPUS: dict[CorpusKind, Keys] = {
    "stdlib": Keys(("stdlib",), ("root", "include", "exclude")),
    "path": Keys(("path",), ("root", "include", "exclude")),
    "git": Keys(("git",), ("rev", "root", "include", "exclude")),
    "pypi": Keys(("pypi",), ("root", "include", "exclude")),
    "npm": Keys(("npm",), ("root", "include", "exclude")),
}


def suggest(word: str, known: Iterable[str]) -> str:
    """Make the hint for an unknown word: the one that was probably meant, or all there are."""
    words = list(known)
    near = nearest(word, words)
    return f"did you mean '{near[0]}'?" if near else f"known: {', '.join(words)}"
