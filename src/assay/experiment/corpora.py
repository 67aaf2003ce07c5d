"""Gold sets and their corpora: loaded, prepared for a run, and reopened later."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Literal

from assay.corpus import open_corpus, read_text
from assay.corpus.opening import copy_corpus
from assay.corpus.spec import is_url
from assay.engines.base import FullEngine
from assay.errors import ConfigError, CorpusError, GoldError, did_you_mean
from assay.experiment.own_files import changing_files, exclude_paths, paths_inside
from assay.experiment.records.directory import MANIFEST
from assay.experiment.spec import FILE, Spec
from assay.experiment.spec.analysis_plan import check_suite
from assay.gold.anchors import resolve
from assay.gold.load import TagRule, join, load_gold, reload_set
from assay.gold.split import access_log_path
from assay.store.scratch import scratch
from assay.syntax.text import estimate_tokens, line_bytes
from assay.types import Corpus, GoldSet, Hit, Query, Suite

Missing = Literal["error", "report"]


def load_suite(spec: Spec) -> Suite:
    if not spec.gold:
        raise ConfigError("no --gold given and no assay.toml names a gold set", hint="assay init, or add --gold PATH")
    rules = [TagRule.parse(text) for text in spec.tags]
    suite = join([load_gold(source, corpus=spec.corpus or None, tags=rules) for source in spec.gold])
    check_suite(spec.cluster, suite)
    return suite


class LineSizes:
    """Line sizes in bytes of the corpus files; each file is read once."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._known = frozenset(f.path for f in corpus.files)
        self._lines: dict[str, tuple[int, ...]] = {}
        self._tokens: dict[tuple[str, int | None, int | None], int] = {}

    def __contains__(self, path: str) -> bool:
        return path in self._known

    def lines(self, path: str) -> tuple[int, ...]:
        """Return the size of each line in bytes; empty if the file is not in the corpus."""
        if path not in self._known:
            return ()
        if path not in self._lines:
            self._lines[path] = line_bytes(read_text(self._corpus, path))
        return self._lines[path]

    def tokens(self, hit: Hit) -> int:
        place = hit[:3]
        known = self._tokens.get(place)
        if known is None:  # the engines of a sweep return many equal places
            lines = self.lines(hit.path)
            known = estimate_tokens(sum(lines if hit.start is None else lines[hit.start - 1 : hit.end]))
            self._tokens[place] = known
        return known


@dataclass(frozen=True, slots=True)
class PhrasedQuery:
    query: Query
    form: str

    @property
    def text(self) -> str:
        return self.query.forms[self.form]


@dataclass(frozen=True, slots=True)
class PreparedGold:
    gold: GoldSet
    corpus: Corpus
    problems: tuple[str, ...]
    queries: tuple[PhrasedQuery, ...]
    own: frozenset[str]  # gold file, access log and configuration, if inside the corpus
    sizes: LineSizes
    changing: frozenset[str] = frozenset()  # ledgers and experiments inside the corpus

    def is_own(self, path: str) -> bool:
        """Return whether a path is one of Assay's own files or in a results directory; such hits are dropped."""
        if path in self.own or path in self.changing:
            return True
        if path in self.sizes:
            return False
        parts = PurePosixPath(path)
        return ".." not in parts.parts and any((self.corpus.root / up / MANIFEST).is_file() for up in parts.parents)


def prepare(gold: GoldSet, forms: Sequence[str] | None, cache: Path | None, missing: Missing | None) -> PreparedGold:
    """Open the corpus of a gold set and resolve its anchors; raise GoldError if no query is left."""
    _check_measures(gold)
    known = sorted({form for query in gold.queries for form in query.forms})
    for form in forms or ():
        if form not in known:
            hint = did_you_mean(form, known) or f"the gold set has {', '.join(known)}"
            raise GoldError(f"unknown phrasing {form!r}", file=gold.source, hint=hint)
    opened = reopen(gold, forms, cache)
    policy = missing or ("report" if gold.corpus.kind == "stdlib" else "error")
    resolution = resolve(gold, opened.corpus, missing=policy)
    queries = phrased_queries(resolution.gold, forms)
    problems = tuple(problem.message for problem in resolution.problems)
    if not queries:
        line = resolution.problems[0].line if resolution.problems else None
        message = f"no query has a target in this corpus: {'; '.join(problems[:3])}"
        raise GoldError(message, file=gold.source, line=line, hint="check that the gold set belongs to this corpus")
    return replace(opened, gold=resolution.gold, problems=problems, queries=queries)


def reopen(gold: GoldSet, forms: Sequence[str] | None, cache: Path | None = None) -> PreparedGold:
    """Open the corpus of a gold set without resolving anchors."""
    base = Path(gold.source).parent if gold.source else None
    own, changing = list[str](), list[str]()
    if gold.source:
        source = Path(gold.source)
        own = paths_inside(gold.corpus, base, [source, access_log_path(source), source.parent / FILE])
        changing = changing_files(gold.corpus, base, source)
    try:
        spec = exclude_paths(gold.corpus, [*own, *changing])
        corpus = replace(open_corpus(spec, base=base, cache=cache), spec=gold.corpus)
    except CorpusError as error:
        line = error.line or _corpus_line(gold.source)
        message = f"{error.message}: {error.file}" if error.file else error.message
        raise CorpusError(message, file=gold.source, line=line, hint=error.hint) from error
    queries = phrased_queries(gold, forms)
    return PreparedGold(gold, corpus, (), queries, frozenset(own), LineSizes(corpus), frozenset(changing))


def is_corpus_here(gold: GoldSet) -> bool:
    """Return whether the corpus of a recorded gold set can be located; a relative path requires the gold file."""
    corpus = gold.corpus
    local = corpus.kind in ("path", "git") and not is_url(corpus.value)
    return not local or Path(corpus.value).expanduser().is_absolute() or reload_set(gold) is not None


def check_corpus_here(gold: GoldSet) -> None:
    """Raise CorpusError if the corpus of a recorded gold set cannot be located."""
    if not is_corpus_here(gold):
        file = f": {gold.source} is missing or holds another set" if gold.source else ""
        hint = "change to the directory of the run, restore its gold set, or repeat the run"
        raise CorpusError(f"cannot find the gold set {gold.name} of this run{file}", hint=hint)


def phrased_queries(gold: GoldSet, forms: Sequence[str] | None) -> tuple[PhrasedQuery, ...]:
    """Return every phrasing of every query, or those in `forms`."""
    return tuple(PhrasedQuery(q, form) for q in gold.queries for form in q.ordered_forms if not forms or form in forms)


def _corpus_line(source: str | None) -> int | None:
    if source is None or not source.endswith((".yaml", ".yml")) or not Path(source).is_file():
        return None
    lines = Path(source).read_text(encoding="utf-8", errors="replace").split("\n")
    return next((number for number, text in enumerate(lines, start=1) if text.startswith("corpus:")), None)


def _check_measures(gold: GoldSet) -> None:
    if not any(query.measures for query in gold.queries):
        return
    from assay.scoring import evaluation_measures  # loads numpy, which workers do not need

    try:
        evaluation_measures(Suite((gold,)))
    except ConfigError as error:
        hint = error.hint or "see docs/reference/measures.md"
        raise GoldError(error.message, file=gold.source, line=error.line, hint=hint) from error


@contextmanager
def private_copy(engine: FullEngine, corpus: Corpus, *, always: bool = False) -> Iterator[Corpus]:
    """Yield a copy of the corpus if `engine.private` or `always` is true, otherwise the corpus itself."""
    if not (engine.private or always):
        yield corpus
        return
    with scratch() as directory:
        yield copy_corpus(corpus, directory, commit=engine.git)
