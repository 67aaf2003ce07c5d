"""Where a gold set is asked: its corpus at hand, its anchors resolved, our own files kept out of sight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Literal

from assay.corpus import open_corpus, read_text
from assay.corpus.spec import is_url
from assay.errors import ConfigError, CorpusError, GoldError, meant
from assay.experiment.places.own_files import changing_files, hidden, inside
from assay.experiment.records import MANIFEST
from assay.experiment.spec import FILE
from assay.gold import resolve
from assay.gold.loading import set_today
from assay.gold.looks import looks_file
from assay.syntax.text import approx4, line_bytes
from assay.types import Corpus, CorpusSpec, Gold, Hit, Query, Suite

Missing = Literal["error", "report"]


class LineSizes:
    """Bytes of each line of the corpus files, each file read once."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._known = frozenset(f.path for f in corpus.files)
        self._lines: dict[str, tuple[int, ...]] = {}

    def __contains__(self, path: str) -> bool:
        return path in self._known

    def lines(self, path: str) -> tuple[int, ...]:
        """Give the bytes of each line of a file; nothing for a file that is not in the corpus."""
        if path not in self._known:
            return ()
        if path not in self._lines:
            self._lines[path] = line_bytes(read_text(self._corpus, path))
        return self._lines[path]

    def tokens(self, hit: Hit) -> int:
        """Count the tokens of a hit's lines."""
        lines = self.lines(hit.path)
        return approx4(sum(lines if hit.start is None else lines[hit.start - 1 : hit.end]))


@dataclass(frozen=True, slots=True)
class Question:
    """One form of one query."""

    query: Query
    form: str

    @property
    def text(self) -> str:
        """What the engine is asked."""
        return self.query.forms[self.form]


@dataclass(frozen=True, slots=True)
class Place:
    """A gold set with its corpus, ready to be asked."""

    gold: Gold
    corpus: Corpus
    problems: tuple[str, ...]
    questions: tuple[Question, ...]
    own: frozenset[str]  # gold file and configuration, where they lie inside the corpus
    sizes: LineSizes
    changing: frozenset[str] = frozenset()  # ledgers and experiments there: more of them is no other corpus

    def is_ours(self, path: str) -> bool:
        """Whether a path is our own file or lies in a folder of results: nobody can be blamed for finding the gold."""
        if path in self.own or path in self.changing:
            return True
        if path in self.sizes:
            return False
        parts = PurePosixPath(path)
        return ".." not in parts.parts and any((self.corpus.root / up / MANIFEST).is_file() for up in parts.parents)


def prepare(gold: Gold, forms: Sequence[str] | None, cache: Path | None, missing: Missing | None) -> Place:
    """Open a gold set's corpus and resolve its anchors."""
    _check_measures(gold)
    _check_forms(gold, forms)
    place = reopen(gold, forms, cache)
    policy = missing or ("report" if gold.corpus.kind == "stdlib" else "error")
    resolution = resolve(gold, place.corpus, missing=policy)
    questions = questions_of(resolution.gold, forms)
    problems = tuple(p.message for p in resolution.problems)
    if not questions:
        line = resolution.problems[0].line if resolution.problems else None
        raise GoldError(
            f"none of its queries has its answer in this corpus: {'; '.join(problems[:3])}",
            file=gold.source,
            line=line,
            hint="is it the gold set of another corpus?",
        )
    return replace(place, gold=resolution.gold, problems=problems, questions=questions)


def reopen(gold: Gold, forms: Sequence[str] | None, cache: Path | None = None) -> Place:
    """Open the corpus of a gold set as it is now; its anchors are resolved already, or will be."""
    base = Path(gold.source).parent if gold.source else None
    own = _own_files(gold.corpus, base, gold.source)
    changing = changing_files(gold.corpus, base, gold.source) if gold.source else []
    corpus = _open(gold, base, [*own, *changing], cache)
    return Place(gold, corpus, (), questions_of(gold, forms), frozenset(own), LineSizes(corpus), frozenset(changing))


def is_home(gold: Gold) -> bool:
    """Tell whether the corpus of a set that a run asked is found: one beside the gold file only where that set is."""
    return not _beside(gold.corpus) or set_today(gold) is not None


def check_home(gold: Gold) -> None:
    """Refuse to look for the corpus of a run in a folder that merely has files of the same names."""
    if not is_home(gold):
        named = f": {gold.source} is not there, or holds another set" if gold.source else ""
        hint = "go where the run was made, bring its gold set back, or run it again"
        raise CorpusError(f"the gold set {gold.name} that this run asked is not here{named}", hint=hint)


def _beside(corpus: CorpusSpec) -> bool:
    """Tell whether a corpus is named from the folder of its gold file."""
    here = corpus.kind in ("path", "git") and not is_url(corpus.value)
    return here and not Path(corpus.value).expanduser().is_absolute()


def questions_of(gold: Gold, forms: Sequence[str] | None) -> tuple[Question, ...]:
    """List what a gold set asks: every form of every query, or those that are wanted."""
    return tuple(Question(q, form) for q in gold.queries for form in q.ordered_forms if not forms or form in forms)


def _open(gold: Gold, base: Path | None, own: Sequence[str], cache: Path | None) -> Corpus:
    """Open the corpus without our own files; the record keeps the corpus as the gold set names it."""
    try:
        return replace(open_corpus(hidden(gold.corpus, own), base=base, cache=cache), spec=gold.corpus)
    except CorpusError as error:
        line = error.line or _corpus_line(gold.source)
        message = f"{error.message}: {error.file}" if error.file else error.message
        raise CorpusError(message, file=gold.source, line=line, hint=error.hint) from error


def _corpus_line(source: str | None) -> int | None:
    """Find where a native gold file names its corpus."""
    if source is None or not source.endswith((".yaml", ".yml")) or not Path(source).is_file():
        return None
    lines = Path(source).read_text(encoding="utf-8", errors="replace").split("\n")
    return next((number for number, text in enumerate(lines, start=1) if text.startswith("corpus:")), None)


def _check_forms(gold: Gold, forms: Sequence[str] | None) -> None:
    """Refuse a form that no query has: a typo must not shrink the set in silence."""
    known = sorted({form for query in gold.queries for form in query.forms})
    for form in forms or ():
        if form not in known:
            hint = meant(form, known) or f"the gold set has the forms {', '.join(known)}"
            raise GoldError(f"no query has the form {form!r}", file=gold.source, hint=hint)


def _check_measures(gold: Gold) -> None:
    """Refuse an evaluation layer that names a measure nobody knows, before anything runs."""
    if not any(query.measures for query in gold.queries):
        return
    from assay.scoring import evaluation_measures  # brings numpy, which a worker may do without

    try:
        evaluation_measures(Suite((gold,)))
    except ConfigError as error:
        hint = error.hint or "see docs/reference/measures.md"
        raise GoldError(error.message, file=gold.source, line=error.line, hint=hint) from error


def _own_files(spec: CorpusSpec, base: Path | None, source: str | None) -> list[str]:
    """List our own files that lie inside the corpus: a gold set, its looks, and the configuration beside it."""
    if source is None:
        return []
    folder = Path(source).parent
    return inside(spec, base, [Path(source), looks_file(Path(source)), folder / FILE])
