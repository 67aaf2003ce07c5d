"""Builders of small corpora and gold sets for lint tests."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.corpus import open_corpus
from assay.gold.anchors import parse_target
from assay.gold.build import GoldLocation
from assay.gold.lint.registry import lint
from assay.gold.lint.rules import LintDependencies, LintReport
from assay.types import SECONDARY, Adversary, Corpus, CorpusSpec, GoldSet, Query


def corpus_of(folder: Path, files: Mapping[str, str], include: Sequence[str] = ()) -> Corpus:
    """Write files and open them as a corpus."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())
    return open_corpus(CorpusSpec("path", str(folder), include=tuple(include)))


def query(name: str, text: str | Mapping[str, str], *primary: str, **more) -> Query:
    """Build a query; `secondary` and `adversaries` are anchors."""
    place = GoldLocation("gold.yaml", 1)
    targets = [parse_target(anchor, place) for anchor in primary]
    targets += [parse_target(anchor, place, grade=SECONDARY) for anchor in more.get("secondary", ())]
    wrong = [Adversary(parse_target(a, place), "sibling", "strong", "alike") for a in more.get("adversaries", ())]
    forms = {"human": text} if isinstance(text, str) else text
    return Query(name, forms, tuple(targets), tuple(wrong), tags=more.get("tags", {}))


def gold_of(corpus: Corpus, *queries: Query) -> GoldSet:
    """Build a gold set."""
    return GoldSet("small", corpus.spec, queries)


def lint_all(corpus: Corpus, *queries: Query, tools: LintDependencies | None = None) -> LintReport:
    """Lint queries on a corpus with every rule."""
    return lint(gold_of(corpus, *queries), corpus, tools=tools)


def codes(report: LintReport, family: str = "G") -> list[str]:
    """Return the codes of the findings of one family."""
    return [finding.code for finding in report.findings if finding.code.startswith(family)]


def messages(report: LintReport, code: str) -> list[str]:
    """Return the messages of a rule."""
    return [finding.message for finding in report.findings if finding.code == code]
