"""What is known of a file that is read: its lines, words and definitions, and which lines must not be learned from."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from assay.corpus import decode_text
from assay.search.words import runs
from assay.syntax.grammars import grammar_name
from assay.syntax.outline import Outline, outline
from assay.syntax.secrets import secret_lines
from assay.training.mining.choosing import Chosen
from assay.training.mining.config import MiningConfig
from assay.training.mining.drawing import Candidate
from assay.training.mining.licences import LICENCE_WORD, restricts
from assay.training.mining.scope import EVERYBODYS, Scope
from assay.training.mining.terms import path_terms
from assay.training.mining.windows import Windows, compare

NONE: Final = range(0)  # no lines
COPIED_FILE: Final = "copied file"
OTHER_LICENCE: Final = "file under another licence"
_GENERATED_HEAD: Final = re.compile(
    r"@generated|\b(?:auto(?:matically)?[- ]?generated|generated (?:by|from|with|code|file)|do not (?:edit|modify))\b",
    re.IGNORECASE,
)
_HEAD: Final = 600  # characters in which a generated file says so
_TOP: Final = 60  # lines in which a licence header begins


@dataclass(frozen=True, eq=False)
class Source:
    """A file that was read. Lines count from 0."""

    file: Chosen
    text: str
    shared: NDArray[np.bool_] = field(repr=False)  # lines that an excluded repository has too
    secret: NDArray[np.bool_] = field(repr=False)  # lines that look as if they held a secret

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text."""
        return self.text.split("\n")

    @cached_property
    def runs(self) -> list[list[str]]:
        """The words of each line as they stand."""
        return [runs(line) for line in self.lines]

    @cached_property
    def outline(self) -> Outline | None:
        """What the file defines, parsed once; None for a language without a grammar."""
        grammar = grammar_name(self.file.entry.path, self.file.language, self.text)
        return outline(self.text, grammar) if grammar else None

    @cached_property
    def commented(self) -> NDArray[np.bool_]:
        """The lines that belong to comments."""
        marks = np.zeros(len(self.lines), dtype=np.bool_)
        for comment in self.outline.comments if self.outline else ():
            marks[comment.start - 1 : comment.end] = True
        return marks

    @cached_property
    def licensing(self) -> range:
        """The lines of the comment at the top that names the licence, if there is one."""
        first = next((n for n, marked in enumerate(self.commented[:_TOP]) if marked), 0)
        last = first
        while last < len(self.lines) and self.commented[last]:
            last += 1
        return range(first, last) if LICENCE_WORD.search("\n".join(self.lines[first:last])) else range(0)

    @cached_property
    def path(self) -> tuple[str, ...]:
        """The terms of its path."""
        return path_terms(self.file.entry.path)

    def count(self, lines: range, comment: range = NONE) -> Counter[str]:
        """Count the words of lines, without those of a comment in them and without a licence."""
        licence = self.licensing
        return Counter(chain.from_iterable(self.runs[n] for n in lines if n not in comment and n not in licence))

    def taint(self, lines: range) -> str | None:
        """Say why lines must not be learned from; everybody's licence is shared."""
        shared = np.flatnonzero(self.shared[lines.start : lines.stop]) + lines.start
        if any(number not in self.licensing for number in shared.tolist()):
            return "copied"
        return "secret" if self.secret[lines.start : lines.stop].any() else None

    def candidate(self, kind: str, rank: int, asked: str, code: Counter[str]) -> Candidate:
        """Make a pair of what is asked and words of this file; one that asks for the path does not give it."""
        path = () if kind == "path" else self.path
        return Candidate(kind, rank, asked, code, path, self.file.language, self.file.number)


def open_source(
    file: Chosen, data: bytes, known: Windows, config: MiningConfig, scope: Scope = EVERYBODYS
) -> Source | str:
    """Take a file in, or say why it is not read."""
    if b"\0" in data:
        return "binary file"
    if len(data) > config.files.line * (data.count(b"\n") + 1):
        return "minified file"
    if len(data.translate(None, b"0123456789")) < (1 - config.files.digits) * len(data):
        return "data file"
    text = decode_text(data)
    if not scope.own and restricts(text):
        return OTHER_LICENCE
    if _GENERATED_HEAD.search(text, 0, _HEAD):
        return "generated file"
    compared = compare(data, known, config.windows)
    shared = compared.lines(data.count(b"\n") + 1)
    secret = np.zeros(len(shared), dtype=np.bool_)
    for lines in secret_lines(text):
        secret[lines.start : lines.stop] = True
    source = Source(file, text, shared, secret)
    if compared.known.any() and compared.is_copy(config.windows, source.licensing):
        return COPIED_FILE
    return source
