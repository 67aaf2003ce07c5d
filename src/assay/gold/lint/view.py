"""The gold set under check and its corpus, with files read and parsed once."""

from __future__ import annotations

from assay.gold.anchors import AnchorLines, resolve
from assay.gold.lint.rules import LintConfig, LintDependencies, LintFinding, LintRule, Repair
from assay.syntax.outline import Outline
from assay.types import Corpus, GoldSet, Query, Symbol, Target


class SourceCache:
    """The files of a corpus, each read and parsed at most once."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.files = {file.path: file for file in corpus.files}
        self._texts: dict[str, str] = {}
        self._outlines: dict[str, Outline | None] = {}
        self._symbols: dict[str, tuple[Symbol, ...]] = {}

    def is_code(self, path: str) -> bool:
        """Return whether a path is a code file of the corpus."""
        return path in self.files and self.files[path].kind == "code"

    def text(self, path: str) -> str:
        """Return the text of a file."""
        if path not in self._texts:
            from assay.corpus import read_text

            self._texts[path] = read_text(self.corpus, path)
        return self._texts[path]

    def outline(self, path: str) -> Outline | None:
        """Return the outline of a file, or None without a grammar or when parsing failed."""
        if path not in self._outlines:
            from assay.syntax.grammars import grammar_name
            from assay.syntax.outline import outline

            text = self.text(path)
            grammar = grammar_name(path, self.files[path].language, text)
            found = outline(text, grammar) if grammar else None
            self._outlines[path] = None if found and found.problem else found
        return self._outlines[path]

    def symbols(self, path: str) -> tuple[Symbol, ...]:
        """Return the definitions of a file, named as in symbol anchors."""
        if path not in self._symbols:
            from assay.syntax.symbols import symbols

            self._symbols[path] = symbols(path, self.text(path), self.files[path].language)
        return self._symbols[path]


class LintContext(SourceCache):
    """A gold set resolved on its corpus, with the settings of the rules."""

    def __init__(self, gold: GoldSet, corpus: Corpus, tools: LintDependencies, config: LintConfig) -> None:
        super().__init__(corpus)
        self.gold, self.tools, self.config = gold, tools, config
        self.resolution = resolve(gold, corpus, missing="report")
        self._lines = AnchorLines(gold)

    def resolved(self) -> list[Query]:
        """Return the queries with at least one resolved primary target, in file order."""
        found = {query.id: query for query in self.resolution.gold.queries}
        return [found[query.id] for query in self.gold.queries if query.id in found]

    def aside(self, path: str) -> bool:
        """Return whether a path holds tests, examples or vendored copies."""
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
        """Return a finding with its line in the gold file."""
        line = None if query is None else self._lines.find(query, anchor)
        name = "" if query is None else query.id
        return LintFinding(
            rule.code, rule.severity, self.gold.name, name, anchor, message, hint, self.gold.source, line, repair
        )


def written_anchor(query: Query, target: Target) -> str:
    """Return the anchor of a resolved target as written in the gold file."""
    if not target.symbol and target.span.start is not None:
        same = [t.anchor for t in query.targets if t.digest is not None and t.digest == target.digest]
        if len(same) == 1:
            return same[0]
    return target.anchor
