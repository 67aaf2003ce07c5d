"""What the rules look at: one gold set on its corpus, with files read and parsed once."""

from __future__ import annotations

from assay.gold.anchors import AnchorLines, resolve
from assay.gold.lint.rules import LintConfig, LintDependencies, LintFinding, LintRule, Repair
from assay.syntax.outline import Outline
from assay.types import Corpus, GoldSet, Query, SourceFile, Span, Symbol, Target


class LintContext:
    """A gold set, its corpus, and what is known of both."""

    def __init__(self, gold: GoldSet, corpus: Corpus, tools: LintDependencies, config: LintConfig) -> None:
        self.gold = gold
        self.corpus = corpus
        self.tools = tools
        self.config = config
        self.resolution = resolve(gold, corpus, missing="report")
        self.files = {file.path: file for file in corpus.files}
        self._resolved = {query.id: query for query in self.resolution.gold.queries}
        self._lines = AnchorLines(gold)
        self.shelf = SourceCache(corpus)

    def resolved(self) -> list[Query]:
        """Give the queries of which a primary was found, with what was found."""
        return [self._resolved[query.id] for query in self.gold.queries if query.id in self._resolved]

    def text(self, path: str) -> str:
        """Read a file of the corpus."""
        return self.shelf.text(path)

    def outline(self, path: str) -> Outline | None:
        """Parse a file of the corpus; None when nothing can be known of what it defines."""
        return self.shelf.outline(self.files[path])

    def is_code(self, path: str) -> bool:
        """Tell whether a path is a code file of the corpus."""
        return path in self.files and self.files[path].kind == "code"

    def aside(self, path: str) -> bool:
        """Tell whether a path only surrounds the code: tests, examples, copies."""
        return self.tools.aside is not None and self.tools.aside(path)

    def finding(
        self,
        rule: LintRule,
        query: Query | None,
        anchor: str,
        message: str,
        hint: str = "",
        repair: Repair | None = None,
    ) -> LintFinding:
        """Make a finding that knows its place in the gold file."""
        line = None if query is None else self._lines.find(query, anchor)
        name = "" if query is None else query.id
        return LintFinding(
            rule.code, rule.severity, self.gold.name, name, anchor, message, hint, self.gold.source, line, repair
        )


class SourceCache:
    """The files of a corpus, read and parsed once."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self._texts: dict[str, str] = {}
        self._outlines: dict[str, Outline | None] = {}
        self._symbols: dict[str, tuple[Symbol, ...]] = {}

    def text(self, path: str) -> str:
        """Read a file."""
        if path not in self._texts:
            from assay.corpus import read_text

            self._texts[path] = read_text(self.corpus, path)
        return self._texts[path]

    def outline(self, file: SourceFile) -> Outline | None:
        """Parse a file; None when no grammar reads it, or it could not be parsed."""
        if file.path not in self._outlines:
            self._outlines[file.path] = _outline(file, self.text(file.path))
        return self._outlines[file.path]

    def symbols(self, file: SourceFile) -> tuple[Symbol, ...]:
        """List what a file defines, as anchors name it."""
        if file.path not in self._symbols:
            from assay.syntax.symbols import symbols

            self._symbols[file.path] = symbols(file.path, self.text(file.path), file.language)
        return self._symbols[file.path]


def _outline(file: SourceFile, text: str) -> Outline | None:
    from assay.syntax.grammars import grammar_name
    from assay.syntax.outline import outline

    grammar = grammar_name(file.path, file.language, text)
    if grammar is None:
        return None
    found = outline(text, grammar)
    return None if found.problem else found


def lines_of(span: Span, text: str) -> list[str]:
    """Give the lines of a span; all of them when it has no range."""
    lines = text.split("\n")
    if span.start is None or span.end is None:
        return lines
    return lines[span.start - 1 : span.end]


def headline(query: Query) -> str:
    """Give the phrasing that a query is known by."""
    return query.headline


def written(query: Query, found: Target) -> str:
    """Give the anchor of a resolved target as it stands in the gold file."""
    return found.anchor if found.symbol or found.span.start is None else _anchor(query, found)


def _anchor(query: Query, found: Target) -> str:
    same = [t.anchor for t in query.targets if t.digest is not None and t.digest == found.digest]
    return same[0] if len(same) == 1 else found.anchor
