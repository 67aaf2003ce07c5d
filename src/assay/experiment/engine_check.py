"""Check an engine with three queries generated from the code: a name, a sentence and a nonsense word."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from assay.engines.base import FullEngine
from assay.errors import CorpusError
from assay.experiment.execution import run
from assay.experiment.interleaved import ProgressCallback
from assay.gold.code_index import SampleSize
from assay.gold.synth import synthesize
from assay.syntax.identifiers import split
from assay.types import TIME_LIMITS, Corpus, GoldSet, Hit, Query, Resources, Span, Status, Target

NAME, SENTENCE, NONSENSE = "a name", "a sentence", "a nonsense word"


_FILES = 300  # searched for names and sentences; parsing more takes longer than many an index
_DRAWN = 8  # names and sentences, of which the longest is used: `_au` says little about an engine
_K = 10
_NONSENSE = "zqxvkjwyblorfgh"  # in no language and no code


@dataclass(frozen=True, slots=True)
class ParsedReply:
    what: str
    query: str
    expected: str  # file with the name or sentence; empty for the nonsense word
    status: Status
    seconds: float
    hits: tuple[Hit, ...]
    known: int  # hits whose path is in the corpus
    rank: int | None  # of the expected file among the distinct files
    notes: tuple[str, ...]
    error: str | None

    @property
    def ranged(self) -> int:
        return sum(hit.start is not None for hit in self.hits)

    @property
    def scored(self) -> int:
        return sum(hit.score is not None for hit in self.hits)

    @property
    def falling(self) -> bool | None:
        """Whether no score is higher than the score before; None with fewer than two scores."""
        scores = [hit.score for hit in self.hits if hit.score is not None]
        return None if len(scores) < 2 else all(a >= b for a, b in pairwise(scores))


@dataclass(frozen=True, slots=True)
class EngineCheck:
    answers: tuple[ParsedReply, ...]
    index_seconds: float | None  # None: the engine did not open
    resources: Resources
    version: str
    stderr: str
    notes: tuple[str, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """Problems to fix before the engine is measured."""
        if self.index_seconds is None:
            return (self.answers[0].error or "the engine could not be opened",)
        problems = [f"{answer.what}: {answer.error}" for answer in self.answers if answer.status is not Status.OK]
        real = [answer for answer in self.answers if answer.expected and answer.status is Status.OK]
        hits = [hit for answer in real for hit in answer.hits]
        spans = [[hit.span for hit in answer.hits] for answer in (*real, *self.answers)]
        if real and not hits:
            problems.append(
                "no results for words in the code: check that the corpus is indexed and {root} is in the template"
            )
        elif hits and not any(answer.known for answer in real):
            problems.append(f"no path is a file of the corpus, e.g. {hits[0].path}: print paths relative to {{root}}")
        elif len(real) > 1 and all(other == spans[0] for other in spans):
            problems.append("every query got the same results: check the position of {query} in the command")
        return tuple(dict.fromkeys(problems))


def check_gold(corpus: Corpus) -> GoldSet:
    """Return a gold set with three queries for a corpus; equal corpora have equal queries."""
    code = [file for file in corpus.files if file.kind == "code"]
    if not code:
        raise CorpusError("no source code found", file=corpus.root, hint="name a directory with source code")
    files = code[:: max(1, len(code) // _FILES)][:_FILES]
    size = SampleSize(_DRAWN, 1, 0)
    sets = synthesize(replace(corpus, files=tuple(files)), name="check", kinds=("symbol", "doc"), wanted=size)
    drawn = {
        gold.provenance["synthetic"]: max(gold.queries, key=lambda query: (len(query.headline), query.headline))
        for gold in sets.golds
        if gold.queries
    }
    largest = max(files, key=lambda file: (file.size, file.path)).path
    name = drawn.get("symbol") or Query(NAME, {"human": Path(largest).stem}, (Target(Span(largest)),))
    sentence = drawn.get("doc") or replace(name, forms={"human": " ".join(split(name.headline))})
    nonsense = replace(name, forms={"human": _NONSENSE})
    queries = zip((NAME, SENTENCE, NONSENSE), (name, sentence, nonsense), strict=True)
    return GoldSet(
        "check", corpus.spec, tuple(Query(what, {"human": query.headline}, query.targets) for what, query in queries)
    )


def check_engine(
    name: str,
    engine: FullEngine,
    gold: GoldSet,
    *,
    timeout: float = TIME_LIMITS.query,
    index_timeout: float = TIME_LIMITS.index,
    progress: ProgressCallback | None = None,
) -> EngineCheck:
    """Run the three queries of `check_gold` on an engine."""
    done = run(
        {name: engine},
        gold,
        k=_K,
        timeout=timeout,
        index_timeout=index_timeout,
        missing="report",
        failed="report",
        progress=progress,
    )
    record = done.engines[0]
    answers = []
    for query, ranking in zip(gold.queries, record.rankings, strict=True):
        expected = "" if query.id == NONSENSE else query.targets[0].span.path
        files = list(dict.fromkeys(hit.path for hit in ranking.hits))
        answers.append(
            ParsedReply(
                what=query.id,
                query=query.headline,
                expected=expected,
                status=ranking.status,
                seconds=ranking.seconds,
                hits=ranking.hits,
                known=sum(hit.path in done.lines[gold.name] for hit in ranking.hits),
                rank=files.index(expected) + 1 if expected in files else None,
                notes=ranking.notes,
                error=ranking.error,
            )
        )
    opened = bool(record.index_seconds)
    return EngineCheck(
        tuple(answers),
        record.index_seconds.get(gold.name),
        record.resources.get(gold.name, Resources()),
        record.version,
        record.stderr.get(gold.name, ""),
        tuple(note for note in record.notes if opened and note not in engine.notes),
    )
