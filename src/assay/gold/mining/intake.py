from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from assay.corpus.spec import spec_text
from assay.errors import GoldError
from assay.gold.build import GoldLocation, build_query
from assay.gold.code_index import CodeIndex, SampleSize, draw_by_file
from assay.gold.lint.registry import lint
from assay.gold.lint.rules import LintDependencies, LintFinding
from assay.gold.mining.privacy import private_part
from assay.gold.mining.questions import ADDED, QueryTextRules
from assay.gold.query_properties import leakage
from assay.gold.review.items import ItemKind, ItemOrigin, ReviewItem, make_item
from assay.redaction import strip_credentials
from assay.syntax.identifiers import split
from assay.syntax.prose import content_words
from assay.types import Corpus, CorpusSpec, GoldSet, Query, Target

#: Sources in a repository; shell histories and transcripts are files that the user names.
SOURCES: Final = ("history", "docs", "comments", "names")
#: Without comments and names, since such queries repeat the words of their targets.
DEFAULT_SOURCES: Final = ("history", "docs")
MIN_TARGET_LINES: Final = 3  # shorter definitions are mostly constants of a group
MAX_TARGET_LINES: Final = 120  # a longer target overlaps too many results
MAX_LEAKAGE: Final = 0.75  # with this share of its words in the target's path or name, a query only names the target


@dataclass(frozen=True, slots=True)
class Intent:
    text: str
    targets: tuple[Target, ...]
    origin: ItemOrigin
    form: str = "human"
    notes: tuple[str, ...] = ()
    forms: Mapping[str, str] = field(default_factory=dict)  # further phrasings, if the source has them


@dataclass(frozen=True, slots=True)
class UnlocatedQuery:
    text: str
    source: str


@dataclass(frozen=True, slots=True)
class Rejection:
    """A rejected proposal and the reason; a private text is omitted."""

    source: str
    reason: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class MinedItems:
    intents: tuple[Intent, ...] = ()
    unplaced: tuple[UnlocatedQuery, ...] = ()
    refused: tuple[Rejection, ...] = ()
    notes: tuple[str, ...] = ()


#: Lints proposals together with the set.
Check = Callable[[Sequence[Query]], Iterable[LintFinding]]


@dataclass(frozen=True, slots=True)
class IntakeResult:
    items: tuple[ReviewItem, ...] = ()
    refused: tuple[Rejection, ...] = ()
    known: int = 0  # proposals that are in the set or in its queue
    notes: tuple[str, ...] = ()


class Intake:
    """A converter of mined queries to review items; skips queries of the set, of the queue and of earlier calls."""

    def __init__(
        self,
        code: CodeIndex,
        gold: GoldSet | None,
        queued: Iterable[ReviewItem] = (),
        *,
        on: str = "",
        commit: str = "",
        check: Check | None = None,
    ) -> None:
        self.code = code
        self._on, self._commit, self._check = on, commit, check
        queries = [*(gold.queries if gold else ()), *(item.query for item in queued if item.kind == "query")]
        self._texts = {normalize(text) for query in queries for text in query.forms.values()}
        self._ids = {query.id for query in queries}

    def queries(self, intents: Sequence[Intent]) -> IntakeResult:
        made: list[tuple[Query, Intent]] = []
        refused: list[Rejection] = []
        known = 0
        for intent in intents:
            text = " ".join(intent.text.split())
            if normalize(text) in self._texts:
                known += 1
                continue
            query = self._query(intent, text)
            if isinstance(query, Rejection):
                refused.append(query)
            else:
                made.append((query, intent))
                self._texts.add(normalize(text))
                self._ids.add(query.id)
        findings = list(self._check([query for query, _ in made])) if made and self._check else []
        items: list[ReviewItem] = []
        for query, intent in made:
            own = [finding for finding in findings if finding.query == query.id]
            errors = [f"{finding.code} {finding.message}" for finding in own if finding.severity == "error"]
            if errors:
                refused.append(Rejection(intent.origin.source, "; ".join(errors), query.forms[intent.form]))
                continue
            notes = [f"{finding.code} {finding.message}" for finding in own]
            share = leakage(query.headline, query.targets)
            leak = (f"leakage: {share:.0%} of the query's words are in the target's path or name",) if share else ()
            items.append(self.item("query", query, intent.origin, (*intent.notes, *leak, *notes)))
        return IntakeResult(tuple(items), tuple(refused), known)

    def _query(self, intent: Intent, text: str) -> Query | Rejection:
        texts = {intent.form: text, **intent.forms}
        for written in (*texts.values(), *intent.notes):
            private = private_part(written, known=self.code.names)
            if private is not None:
                return Rejection(intent.origin.source, f"contains {private}")
        missing = [target.anchor for target in intent.targets if self.code.resolve(target) is None]
        if missing or not intent.targets:
            reason = f"not in the corpus: {', '.join(missing)}" if missing else "the query has no targets"
            return Rejection(intent.origin.source, reason, text)
        words = [part for word in content_words(text) if word not in ADDED for part in split(word) if part.isascii()]
        name = "-".join((words or ["query"])[: QueryTextRules.slug])
        if name in self._ids:
            name += f"-{hashlib.sha256(normalize(text).encode()).hexdigest()[: QueryTextRules.digits]}"
        try:
            return build_query(name, texts, intent.targets, GoldLocation("the proposal"))
        except GoldError as error:
            return Rejection(intent.origin.source, error.message, text)

    def item(self, kind: ItemKind, query: Query, origin: ItemOrigin, notes: Sequence[str] = ()) -> ReviewItem:
        return make_item(kind, query, origin, on=self._on, commit=self._commit, notes=notes)


def normalize(text: str) -> str:
    """Return a key shared by texts that differ only in case, whitespace or a final `?`, `.` or `!`."""
    return " ".join(text.casefold().split()).rstrip("?.! ")


def lint_check(gold: GoldSet | None, corpus: Corpus, tools: LintDependencies | None = None) -> Check:
    def check(queries: Sequence[Query]) -> Iterable[LintFinding]:
        together = gold or GoldSet("proposals", corpus.spec, ())
        return lint(replace(together, queries=(*together.queries, *queries)), corpus, tools=tools).findings

    return check


def check_same_corpus(corpus: Corpus, gold: GoldSet) -> str | None:
    """Return a warning if a corpus is not the set's, else None; raise GoldError if most target files are missing."""
    base = Path(gold.source).parent if gold.source else Path()
    if _identity(corpus.spec, Path()) == _identity(gold.corpus, base):
        return None
    named, own = (strip_credentials(spec_text(spec)) for spec in (corpus.spec, gold.corpus))
    targets = {target.span.path for query in gold.queries for target in query.targets}
    missing = targets - {file.path for file in corpus.files}
    if 2 * len(missing) > len(targets):
        lacks = f"{len(missing)} of {len(targets)} target files are missing"
        hint = f"use the corpus of the set, {own}, or another --set"
        raise GoldError(f"{named} is not the corpus of this set: {lacks}", file=gold.source, hint=hint)
    return f"{named} is not the corpus of the set, {own}: some targets may be missing"


def _identity(spec: CorpusSpec, base: Path) -> tuple[str, ...]:
    directory = base / Path(spec.value).expanduser()
    if spec.kind == "path":
        return spec.kind, str((directory / (spec.root or "")).resolve())
    value = str(directory.resolve()) if spec.kind == "git" and directory.is_dir() else spec.value
    return spec.kind, value, spec.root or "", spec.rev or ""


def draw_intents(intents: Sequence[Intent], wanted: SampleSize, source: str) -> tuple[Intent, ...]:
    def key(intent: Intent) -> tuple[str, ...]:
        first = intent.targets[0]
        return first.span.path, first.anchor, intent.text, intent.origin.source

    return draw_by_file(intents, key, wanted, wanted.rng(SOURCES.index(source)))
