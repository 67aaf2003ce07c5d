"""Snapshot of a corpus and its gold set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import PurePosixPath

from assay.corpus.sources import find_work_tree
from assay.digests import digest_of, text_digest
from assay.experiment.cells.records import CorpusSnapshot
from assay.experiment.corpora import PreparedGold
from assay.experiment.records import is_excluded
from assay.experiment.records.codec import Lines, hit_paths, query_paths
from assay.types import Corpus, CorpusInfo, Ranking


def survey(place: PreparedGold) -> CorpusSnapshot:
    """Describe a place."""
    return CorpusSnapshot(
        gold=place.gold,
        facts=_corpus_facts(place),
        lines=line_table(place, query_paths(place.gold.queries)),
        size=sum(file.size for file in place.corpus.files),
        questions=len(place.questions),
        asked=digest_of([[q.query.id, q.form, q.text] for q in place.questions]),
        own=tuple(sorted(place.own)),
    )


def hit_lines(place: PreparedGold, rankings: Iterable[Ranking]) -> Lines:
    """Keep the line sizes of the files that results name."""
    return line_table(place, hit_paths(rankings))


def line_table(place: PreparedGold, paths: Iterable[str]) -> Lines:
    """Give the line sizes of those paths that are files of the corpus."""
    return {path: place.sizes.lines(path) for path in sorted(paths) if path in place.sizes}


def _repository(corpus: Corpus) -> str:
    """Name what queries are nested in: for a folder the work tree it lies in, else the folder itself.

    Parts of one repository are one repository, however a gold set writes their paths. The hash tells folders of
    one name apart without writing a machine's paths into results.
    """
    if corpus.spec.kind != "path":
        return corpus.spec.repository
    place = find_work_tree(corpus.root.resolve()) or corpus.root.resolve()
    return f"path:{place.name}-{text_digest(str(place))[:6]}"


def _corpus_facts(place: PreparedGold) -> CorpusInfo:
    corpus = place.corpus
    return CorpusInfo(
        repository=_repository(corpus),
        revision=corpus.revision,
        digest=corpus.digest,
        files=len(corpus.files),
        skipped=_skipped(corpus),
        notes=corpus.notes,
        problems=place.problems,
    )


def _skipped(corpus: Corpus) -> dict[str, int]:
    ours: dict[PurePosixPath, bool] = {}

    def is_results(folder: PurePosixPath) -> bool:
        if folder not in ours:
            ours[folder] = is_excluded(corpus.root / folder)
        return ours[folder]

    paths = ((skipped.reason, PurePosixPath(skipped.path)) for skipped in corpus.skipped)
    counted = Counter(reason for reason, path in paths if not any(map(is_results, (path, *path.parents))))
    return dict(sorted(counted.items()))
