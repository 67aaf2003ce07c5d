"""Three queries generated from the code, to check that an engine's output is understood."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from assay.engines.base import FullEngine
from assay.errors import CorpusError
from assay.experiment.runner import run
from assay.experiment.sessions import ProgressCallback
from assay.gold.code_index import SampleSize
from assay.gold.synth import synthesize
from assay.syntax.identifiers import split
from assay.types import TIME_LIMITS, Corpus, EngineRun, GoldSet, Hit, Query, Ranking, Resources, Span, Status, Target

NAME, SENTENCE, NONSENSE = "a name", "a sentence", "a nonsense word"


@dataclass(frozen=True, slots=True)
class CheckConfig:
    """The numbers of a check."""

    files: int = 300  # that questions are looked for in: parsing more takes longer than many an index
    drawn: int = 8  # names and sentences of which the longest is taken: `_au` says little of an engine
    k: int = 10  # results asked for, as in a run
    nonsense: str = "zqxvkjwyblorfgh"  # in no language and no code
    seed: int = 0


CHECK = CheckConfig()


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """What one answer said, once it was read."""

    what: str
    query: str
    expected: str  # a file that holds it; empty for the nonsense word
    status: Status
    seconds: float
    hits: tuple[Hit, ...]
    known: int  # paths that are in the corpus
    rank: int | None  # of the expected file among the distinct files
    notes: tuple[str, ...]
    error: str | None

    @property
    def ranged(self) -> int:
        """Count the hits with lines."""
        return sum(hit.start is not None for hit in self.hits)

    @property
    def scored(self) -> int:
        """Count the hits with a score."""
        return sum(hit.score is not None for hit in self.hits)

    @property
    def falling(self) -> bool | None:
        """Whether the scores fall as the ranks rise; None without scores to compare."""
        scores = [hit.score for hit in self.hits if hit.score is not None]
        return None if len(scores) < 2 else all(a >= b for a, b in pairwise(scores))


@dataclass(frozen=True, slots=True)
class EngineCheck:
    """What an engine took, said and meant."""

    answers: tuple[ParsedReply, ...]
    index_seconds: float | None  # None: it did not open
    resources: Resources
    version: str
    stderr: str
    notes: tuple[str, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """Say what makes this engine unfit to be measured; nothing when all is well."""
        return tuple(dict.fromkeys(_problems(self)))


def check_gold(corpus: Corpus, config: CheckConfig = CHECK) -> GoldSet:
    """Make the three questions of a corpus; the same corpus gives the same ones."""
    code = [file for file in corpus.files if file.kind == "code"]
    if not code:
        raise CorpusError("no code in it to ask about", file=corpus.root, hint="name a folder with source code")
    some = code[:: max(1, len(code) // config.files)][: config.files]
    draw = SampleSize(config.drawn, 1, config.seed)
    sets = synthesize(replace(corpus, files=tuple(some)), name="check", kinds=("symbol", "doc"), wanted=draw)
    drawn = {gold.provenance["synthetic"]: max(gold.queries, key=_telling) for gold in sets.golds if gold.queries}
    named = drawn.get("symbol") or _by_file(max(some, key=lambda file: (file.size, file.path)).path)
    said = drawn.get("doc") or replace(named, forms={"human": " ".join(split(named.headline))})
    lost = replace(named, forms={"human": config.nonsense})
    asked = zip((NAME, SENTENCE, NONSENSE), (named, said, lost), strict=True)
    queries = tuple(Query(what, {"human": query.headline}, query.targets) for what, query in asked)
    return GoldSet("check", corpus.spec, queries)


def _telling(query: Query) -> tuple[int, str]:
    return len(query.headline), query.headline


def _by_file(path: str) -> Query:
    return Query(NAME, {"human": Path(path).stem}, (Target(Span(path)),))


def check_engine(
    name: str,
    engine: FullEngine,
    gold: GoldSet,
    *,
    timeout: float = TIME_LIMITS.query,
    index_timeout: float = TIME_LIMITS.index,
    progress: ProgressCallback | None = None,
    config: CheckConfig = CHECK,
) -> EngineCheck:
    """Open an engine, ask it the three questions, and say what was understood."""
    made = run(
        {name: engine},
        gold,
        k=config.k,
        timeout=timeout,
        index_timeout=index_timeout,
        missing="report",
        failed="report",
        progress=progress,
    )
    asked = made.engines[0]
    lines = made.lines[gold.name]
    answers = tuple(
        _understood(query, ranking, lines) for query, ranking in zip(gold.queries, asked.rankings, strict=True)
    )
    return EngineCheck(
        answers,
        asked.index_seconds.get(gold.name),
        asked.resources.get(gold.name, Resources()),
        asked.version,
        asked.stderr.get(gold.name, ""),
        _notes(engine, asked),
    )


def _notes(engine: FullEngine, asked: EngineRun) -> tuple[str, ...]:
    opened = bool(asked.index_seconds)
    return tuple(note for note in asked.notes if opened and note not in engine.notes)


def _understood(query: Query, ranking: Ranking, known: Mapping[str, object]) -> ParsedReply:
    expected = "" if query.id == NONSENSE else query.targets[0].span.path
    files = list(dict.fromkeys(hit.path for hit in ranking.hits))
    return ParsedReply(
        what=query.id,
        query=query.headline,
        expected=expected,
        status=ranking.status,
        seconds=ranking.seconds,
        hits=ranking.hits,
        known=sum(hit.path in known for hit in ranking.hits),
        rank=files.index(expected) + 1 if expected in files else None,
        notes=ranking.notes,
        error=ranking.error,
    )


def _problems(check: EngineCheck) -> list[str]:
    if check.index_seconds is None:
        return [check.answers[0].error or "it could not be opened"]
    failed = [f"{one.what}: {one.error}" for one in check.answers if one.status is not Status.OK]
    real = [one for one in check.answers if one.expected and one.status is Status.OK]
    hits = [hit for one in real for hit in one.hits]
    if real and not hits:
        failed.append("no results for words that are in the code: is the corpus indexed, is {root} in the template?")
    elif hits and not any(one.known for one in real):
        failed.append(f"no path is a file of the corpus, e.g. {hits[0].path}: print paths relative to {{root}}")
    elif len(real) > 1 and all(_places(one.hits) == _places(real[0].hits) for one in check.answers):
        failed.append("every question got the same results: is {query} where the tool looks for it?")
    return failed


def _places(hits: Sequence[Hit]) -> list[Span]:
    return [hit.span for hit in hits]
