"""Gold sets that a repository writes about itself: names, documentation sentences, keywords, commit messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assay.corpus import read_bytes
from assay.errors import ConfigError
from assay.gold.schema import suggest
from assay.gold.synth.comments import blank
from assay.gold.synth.commit import commits
from assay.gold.synth.config import DRAW, KINDS, Draw
from assay.gold.synth.doc import Documented, documented
from assay.gold.synth.drawing import Asked
from assay.gold.synth.keyword import keywords
from assay.gold.synth.survey import Survey, survey
from assay.gold.synth.symbol import symbols
from assay.types import Corpus, CorpusSpec, Gold, Query, Span, Target

if TYPE_CHECKING:
    import numpy as np

#: The copy without the comments that were made into questions, beside the gold files.
COPY = "corpus"
#: The phrasing that each kind is.
_FORMS: Mapping[str, str] = {"symbol": "keyword", "doc": "human", "keyword": "keyword", "commit": "human"}
_STRIPPED = frozenset({"doc", "keyword"})


@dataclass(frozen=True, slots=True)
class Sets:
    """Gold sets of one repository, the files that they are to be asked on, and what could not be made."""

    golds: tuple[Gold, ...]
    stripped: Mapping[str, bytes] = field(default_factory=dict)  # path -> content; empty when no set needs it
    notes: tuple[str, ...] = ()


def synthesise(
    corpus: Corpus, *, name: str, kinds: Sequence[str] = KINDS, wanted: Draw = DRAW, parsed: Survey | None = None
) -> Sets:
    """Make gold sets of a corpus: the same corpus, kinds and seed give the same sets."""
    _check(kinds, wanted)
    maker = _Maker(parsed or survey(corpus), wanted)
    asked = {kind: maker.make(kind) for kind in KINDS if kind in kinds}
    golds = tuple(_gold(kind, queries, corpus, name, wanted) for kind, queries in asked.items() if queries)
    notes = (*maker.notes, *_shortfalls(asked, wanted, maker.notes))
    return Sets(golds, maker.stripped if _STRIPPED.intersection(k for k, q in asked.items() if q) else {}, notes)


def _check(kinds: Sequence[str], wanted: Draw) -> None:
    """Refuse kinds that there are not, and numbers that make no set."""
    for kind in kinds:
        if kind not in KINDS:
            raise ConfigError(f"there is no kind {kind!r} of synthetic gold", hint=suggest(kind, KINDS))
    for number, what in ((wanted.count, "count"), (wanted.max_per_file, "max-per-file")):
        if number < 1:
            raise ConfigError(f"--{what} is {number}", hint="ask for at least one query")
    if wanted.seed < 0:
        raise ConfigError(f"--seed is {wanted.seed}", hint="seeds begin at 0")


@dataclass(slots=True)
class _Maker:
    """The state of one making: what is documented is drawn once, for sentences and keywords."""

    survey: Survey
    wanted: Draw
    notes: list[str] = field(default_factory=list)
    stripped: dict[str, bytes] = field(default_factory=dict)
    _documented: Documented | None = None

    def make(self, kind: str) -> tuple[Asked, ...]:
        """Draw the queries of one kind."""
        if kind == "symbol":
            return symbols(self.survey, self.wanted, self._rng(kind))
        if kind == "doc":
            return self._sentences().asked
        if kind == "keyword":
            asked = self._sentences().asked  # fills what is stripped
            return keywords(asked, (data.decode("utf-8", "replace") for data in self.stripped.values()))
        history = commits(self.survey, self.wanted, self._rng(kind))
        self.notes += history.notes
        return history.asked

    def _sentences(self) -> Documented:
        """Draw the sentences, and blank their comments, once."""
        if self._documented is None:
            self._documented = documented(self.survey, self.wanted, self._rng("doc"))
            self.stripped |= _stripped(self.survey, self._documented)
        return self._documented

    def _rng(self, kind: str) -> np.random.Generator:
        """Give each kind a stream of its own, so that leaving one out changes no other."""
        import numpy as np

        return np.random.default_rng([self.wanted.seed, KINDS.index(kind)])


def _stripped(survey: Survey, documented: Documented) -> Iterator[tuple[str, bytes]]:
    """Yield every file of the corpus, without the comments that became questions."""
    texts = {file.path: file.text for file in survey.files}
    for file in survey.corpus.files:
        if file.path in documented.comments:
            yield file.path, blank(texts[file.path], documented.comments[file.path]).encode("utf-8", "surrogatepass")
        else:
            yield file.path, read_bytes(survey.corpus, file.path)


def _gold(kind: str, asked: Sequence[Asked], corpus: Corpus, name: str, wanted: Draw) -> Gold:
    """Make a gold set that says what it is, wherever it goes."""
    queries = tuple(_query(kind, number, one) for number, one in enumerate(asked, 1))
    provenance = {
        "synthetic": kind,
        "made": f"assay gold synth, seed {wanted.seed}, at most {wanted.count} queries",
        "from": f"{name}, {len(corpus.files)} files, digest {corpus.digest[:16]}",
    }
    if corpus.revision:
        provenance["revision"] = corpus.revision
    spec = CorpusSpec("path", COPY) if kind in _STRIPPED else corpus.spec
    return Gold(f"{name}-synthetic-{kind}", spec, queries, provenance)


def _query(kind: str, number: int, asked: Asked) -> Query:
    """Make one query."""
    spans = [Span(asked.path, asked.start, asked.end), *(Span(o.path, o.start, o.end) for o in asked.others)]
    targets = tuple(Target(span) for span in dict.fromkeys(spans))
    return Query(f"{kind}-{number:03d}", {_FORMS[kind]: asked.text}, targets, tags={"synthetic": kind})


def _shortfalls(asked: Mapping[str, Sequence[Asked]], wanted: Draw, known: Sequence[str]) -> Iterator[str]:
    """Say of which kind there were not enough."""
    missing = {
        "symbol": "no definition with a name of its own was found",
        "doc": "no documented definitions were found",
        "keyword": "no documented definitions were found",
        "commit": "no commit fits",
    }
    for kind, queries in asked.items():
        if not queries and not (kind == "commit" and known):
            yield f"{kind}: {missing[kind]}, so there is no such set"
        elif 0 < len(queries) < wanted.count:
            yield f"{kind}: {len(queries)} of {wanted.count} queries: no more were found that fit"
