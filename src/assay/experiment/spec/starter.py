"""The files that `assay init` writes: a commented assay.toml and a gold set with drafts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from importlib import resources
from itertools import takewhile
from typing import NamedTuple

from assay.corpus import read_text
from assay.errors import CorpusError
from assay.syntax.identifiers import split
from assay.syntax.symbols import extract_symbols
from assay.syntax.text import split_lines
from assay.types import Corpus, SourceFile, Symbol

_HEAD = """\
# Gold set: queries and their targets. One entry is one intent in up to five phrasings.
# The targets of the drafts are real definitions of this repository; the queries are placeholders. For each draft:
#   1. rewrite `human` as a question from someone who does not know the code, without its identifiers;
#   2. add `keyword` (two to five words) and, if you like, ai_optimized and wrong_terminology;
#   3. add under `interference` the file that people would open by mistake;
#   4. delete the `status: draft` tag.
# Results from fewer than thirty intents are unreliable: every table warns below that.
"""
_DRAFTS = 5
#: Lines of a drafted definition: long enough to contain a decision, short enough to be one target.
_LINES = range(8, 121)
_TEST_FILE = re.compile(
    r"^(?:tests?|testing|__tests__)$|^conftest\.py$|^test_|^tests?\.\w+$|[_.-](?:tests?|spec)\.\w+$"
)
#: Attributes of tests: #[test], #[tokio::test] and #[cfg(test)] in Rust, @Test in Java.
_TEST_ATTRIBUTE = re.compile(r"#\[(?:cfg\(test\)|(?:\w+::)*test\b)|@(?:\w+\.)*Test\b")


class _Draft(NamedTuple):
    anchor: str
    words: str
    lines: int


def starter_config() -> str:
    """Return the text of a commented assay.toml."""
    return (resources.files("assay.data") / "starter.toml").read_text(encoding="utf-8")


def starter_gold(corpus: Corpus) -> tuple[str, tuple[str, ...]]:
    """Return the text of a gold file with drafts, and the anchors of the drafts."""
    drafts = _choose_drafts(corpus)
    if not drafts:
        raise CorpusError("found no source file", file=corpus.root, hint="run it in a directory that has code")
    name = _quote(corpus.root.resolve().name or "gold")
    entries = [
        f"  - id: draft-{number}\n"
        f"    retrieval: {{primary: [{_quote(draft.anchor)}]}}\n"
        f"    cognitive:\n"
        f"      human: {_quote(f'where is {draft.words} decided?')}\n"
        f"    tags: {{status: draft}}"
        for number, draft in enumerate(drafts, start=1)
    ]
    text = "\n".join([_HEAD, "assay: 1", f"name: {name}", "corpus: {path: .}", "queries:", *entries])
    return text + "\n", tuple(draft.anchor for draft in drafts)


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _choose_drafts(corpus: Corpus) -> list[_Draft]:
    """Choose the longest definition of up to five files; files without a definition come last.

    Drafts have different words, because equal queries could not have different targets.
    """
    code = [
        file for file in corpus.files if file.kind == "code" and not any(map(_TEST_FILE.search, file.path.split("/")))
    ]
    best = []
    for file in code or corpus.files:
        stem = re.sub(r"\.\w+$", "", file.path.rpartition("/")[2])
        default = _Draft(file.path, " ".join(split(stem)) or stem, 0)
        best.append(min(_definitions(corpus, file), key=_longest_first, default=default))
    chosen: dict[str, _Draft] = {}
    for draft in sorted(best, key=lambda draft: ("::" not in draft.anchor, _longest_first(draft))):
        chosen.setdefault(draft.words, draft)
    return list(chosen.values())[:_DRAFTS]


def _longest_first(draft: _Draft) -> tuple[int, str]:
    return -draft.lines, draft.anchor


def _definitions(corpus: Corpus, file: SourceFile) -> Iterator[_Draft]:
    text = read_text(corpus, file.path)
    found = extract_symbols(file.path, text, file.language)
    lines = split_lines(text)
    tests = [symbol for symbol in found if _is_test(symbol, lines)]
    repeated = {name for name, number, _ in (symbol.name.partition("~") for symbol in found) if number}
    for symbol in found:
        length = symbol.end - symbol.start + 1
        if symbol.kind not in ("function", "method") or length not in _LINES:
            continue
        private = any(part.startswith("_") for part in symbol.name.split("."))
        ambiguous = symbol.name.partition("~")[0] in repeated
        tested = any(test.start <= symbol.start and symbol.end <= test.end for test in tests)
        if not (private or ambiguous or tested):
            yield _Draft(f"{file.path}::{symbol.name}", " ".join(split(symbol.name.rpartition(".")[2])), length)


def _is_test(symbol: Symbol, lines: Sequence[str]) -> bool:
    if split(symbol.name.rpartition(".")[2])[:1] in (("test",), ("tests",)):
        return True
    stripped = (line.strip() for line in lines[symbol.start - 1 : symbol.end])
    head = takewhile(lambda line: not line or line.startswith(("#", "@", "/", "*")), stripped)
    return any(map(_TEST_ATTRIBUTE.match, head))
