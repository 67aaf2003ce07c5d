"""Queries of an audit, from a gold set or generated from the code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from pathlib import PurePosixPath

from assay.audit.records import AuditQuery
from assay.errors import CorpusError
from assay.types import Corpus, Query

#: What synthetic sets of the code are called here.
_ORIGINS = {"symbol": "a name in the code", "doc": "a sentence of its documentation"}


def gold_questions(queries: Sequence[Query], count: int, seed: int) -> tuple[AuditQuery, ...]:
    """Draw queries of a gold set; all of them when there are not more, each in its headline form."""
    import numpy as np

    drawn = np.random.default_rng(seed).permutation(len(queries))[:count]
    return tuple(AuditQuery(queries[at].headline, f"query {queries[at].id}") for at in sorted(drawn.tolist()))


def code_questions(corpus: Corpus, count: int, seed: int) -> tuple[AuditQuery, ...]:
    """Draw names and documentation sentences of a corpus in turn; words of file names where there is nothing else."""
    from assay.gold.code_index import SampleSize
    from assay.gold.synth import synthesize

    wanted = SampleSize(count=count, seed=seed)
    made = synthesize(corpus, name="audit", kinds=tuple(_ORIGINS), wanted=wanted)
    drawn = [
        [AuditQuery(query.headline, _ORIGINS[gold.provenance["synthetic"]]) for query in _shuffled(gold.queries, seed)]
        for gold in made.golds
    ]
    turns = [one for turn in zip_longest(*drawn) for one in turn if one is not None]
    found = _distinct([*turns, *_file_questions(corpus)])[:count]
    if not found:
        raise CorpusError("the corpus gives no query", file=corpus.root, hint="give queries with --gold")
    return tuple(found)


def _shuffled(queries: Sequence[Query], seed: int) -> list[Query]:
    import numpy as np

    return [queries[at] for at in np.random.default_rng(seed).permutation(len(queries)).tolist()]


def _file_questions(corpus: Corpus) -> Iterable[AuditQuery]:
    from assay.syntax.identifiers import split

    for file in corpus.files:
        words = " ".join(split(PurePosixPath(file.path).stem))
        if words:
            yield AuditQuery(words, "the name of a file")


def _distinct(questions: Iterable[AuditQuery]) -> list[AuditQuery]:
    first: dict[str, AuditQuery] = {}
    for question in questions:
        first.setdefault(question.text, question)
    return list(first.values())
