"""What a corpus defines and says about it: every source file is read and parsed once, for all kinds of sets."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from assay.corpus import read_text
from assay.gold.synth.comments import Stretch, comments
from assay.gold.synth.config import TARGETS
from assay.gold.targets import path_problem
from assay.syntax.grammars import grammar_name
from assay.syntax.outline import Definition, outline
from assay.types import Corpus, SourceFile

#: They have grammars, but what they define is no code: nobody documents a key or a selector.
_NO_CODE: Final = frozenset({"css", "html", "json", "toml", "yaml"})
#: What can be asked for. Properties and fields are left to the class they are in.
ASKED: Final = frozenset({"function", "method", "class", "interface", "enum", "type", "macro", "constant"})
#: Folders and files whose code is about other code: real questions seldom mean them.
_ASIDE: Final = re.compile(
    r"(?:^|[/_.-])(?:tests?|specs?|testdata|fixtures?|examples?|benchmarks?|vendor|third_party|conftest)(?:[/_.-]|$)"
    r"|(?:^|/)docs/|Tests?\.\w+$|Spec\.\w+$"
)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A source file with what it defines."""

    path: str
    language: str
    text: str
    definitions: tuple[Definition, ...]
    comments: tuple[Stretch, ...]


@dataclass(frozen=True, slots=True)
class Survey:
    """A corpus and its source files, in path order."""

    corpus: Corpus
    files: tuple[Parsed, ...]


def survey(corpus: Corpus) -> Survey:
    """Read and parse the source files of a corpus."""
    found = (_parsed(corpus, file) for file in corpus.files if file.size <= TARGETS.largest_file)
    return Survey(corpus, tuple(parsed for parsed in found if parsed is not None))


def is_aside(path: str) -> bool:
    """Tell whether a path lies in tests, examples or other people's code, or cannot be written in a gold file."""
    return bool(_ASIDE.search(path)) or path_problem(path) is not None


def _parsed(corpus: Corpus, file: SourceFile) -> Parsed | None:
    """Parse a file, if it is code that a grammar reads."""
    if file.kind != "code" or file.language in _NO_CODE:
        return None
    text = read_text(corpus, file.path)
    grammar = grammar_name(file.path, file.language, text)
    if grammar is None:
        return None
    parsed = outline(text, grammar)
    # What the outline refuses to parse, because it would take too long, is not parsed for its comments either.
    found = comments(text, grammar) if parsed.problem is None or parsed.definitions else ()
    return Parsed(file.path, grammar, text, parsed.definitions, found)
