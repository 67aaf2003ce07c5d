"""Execution modes of `assay run`: in process, worker processes, a cluster, shards, dry run."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.options import config_file
from assay.cli.output import emit, info, pluralize, progress_callback
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.experiment.corpora import Missing, PreparedGold
    from assay.experiment.running.experiments import CompletedRun
    from assay.experiment.running.matrix import ExecutionOptions
    from assay.experiment.spec import Spec
    from assay.experiment.spec.model import EngineFactory
    from assay.types import Corpus, CorpusSpec, Query, Suite


@contextmanager
def execution_options(args: argparse.Namespace, folder: Path) -> Iterator[ExecutionOptions]:
    """Say how a run is carried out, by the flags; a cluster is left when it is over."""
    from assay.experiment.running.matrix import ExecutionOptions

    fresh, reuse = getattr(args, "fresh", False), getattr(args, "reuse_index", False)
    address = getattr(args, "cluster", None)
    if not address:
        yield ExecutionOptions(folder, fresh=fresh, reuse_index=reuse)
        return
    from assay.experiment.executors.dask import DaskExecutor

    cluster = DaskExecutor(address)
    try:
        yield ExecutionOptions(folder, cluster, fresh=fresh, reuse_index=reuse)
    finally:
        cluster.close()
        for trouble in cluster.troubles:
            info(args, trouble)


def carried_out(
    args: argparse.Namespace, spec: Spec, suite: Suite, missing: Missing | None, how: ExecutionOptions
) -> CompletedRun:
    """Carry it out, showing how far it is, and say what was kept and what went wrong beside it."""
    from assay.experiment.running.experiments import execute

    carried = execute(spec, suite, missing=missing, progress=progress_callback(args), how=how)
    for trouble in carried.troubles:
        info(args, trouble)
    if carried.work is not None:
        cells, kept = len(carried.work.cells), len(carried.work.kept)
        info(args, f"{pluralize(cells, 'cell')}: {kept} were kept, {cells - kept} asked now")
    return carried


def write_down(folder: Path, carried: CompletedRun) -> None:
    """Write what is beside the results: what cells took; what was kept for this run alone goes."""
    from assay.experiment.cells.running import timings
    from assay.experiment.records.folder import write_timings

    if carried.work is not None:
        write_timings(folder, timings(carried.work))
    carried.finish()


def show_plan(args: argparse.Namespace, spec: Spec, suite: Suite, missing: Missing | None) -> int:
    """Show what a run would do; no engine is asked, nothing is written."""
    from assay.engines.runner import available_threads
    from assay.experiment.running.matrix import dry_run
    from assay.report.dry_run import prospect_document, prospect_json

    with execution_options(args, Path(spec.out)) as how:
        width = how.fleet.width if how.fleet else spec.jobs or available_threads()
        found = dry_run(spec, suite, missing=missing, how=how, width=width)
    emit(args, prospect_document(found, width), prospect_json(found))
    return 0


@dataclass(frozen=True, slots=True)
class NamedCorpus:
    """The corpus to ask on, and the gold set that names it, if one was given."""

    corpus: Corpus
    suite: Suite | None = None
    queries: tuple[Query, ...] = ()  # anchors resolved
    notes: tuple[str, ...] = ()
    ours: Callable[[str], bool] = field(default=lambda _: False)


def add_subject(parser: argparse.ArgumentParser) -> None:
    """Add the flags that name the engine's configuration and a gold set."""
    parser.add_argument("--gold", metavar="PATH", help="a gold set: its queries, its targets and its corpus")
    parser.add_argument("--config", metavar="FILE", help="an assay.toml whose engines may be named (this folder's)")


def engine_named(text: str, config: str | None) -> EngineFactory:
    """Find an engine: one that assay.toml names, with its seed, else a kind, `kind:value`, a preset or its file."""
    from assay.experiment.spec import load_spec, recipe_of
    from assay.experiment.spec.layers import with_environment
    from assay.experiment.spec.model import EngineFactory

    path = config_file(config)
    if path:
        spec = load_spec(path)
        if text in spec.engines or spec.subject(text) is not None:
            return recipe_of(spec, text)
    return EngineFactory(with_environment(text))


def corpus_named(path: str | None, gold: str | None, config: str | None) -> NamedCorpus:
    """Open the corpus that is named, or that a gold set names; by default this folder."""
    from assay.corpus import parse_spec

    if gold:
        return _on_gold(gold, path)
    spec = parse_spec(path or ".")
    own = frozenset(_own_files(spec, config))
    return NamedCorpus(open_without_ours(spec, config), ours=own.__contains__)


def open_without_ours(corpus: CorpusSpec, config: str | None) -> Corpus:
    """Open a corpus without the files that no engine finds in a run either; it keeps the name that it was given."""
    from assay.corpus import open_corpus

    return replace(open_corpus(without_ours(corpus, config)), spec=corpus)


def without_ours(corpus: CorpusSpec, config: str | None) -> CorpusSpec:
    """Leave assay.toml and the gold files that it names out of a corpus."""
    from assay.experiment.corpora import exclude_paths

    return exclude_paths(corpus, _own_files(corpus, config))


def _own_files(corpus: CorpusSpec, config: str | None) -> list[str]:
    from assay.experiment.corpora import files_of, inside
    from assay.experiment.spec import load_spec

    path = config_file(config)
    return inside(corpus, None, files_of(load_spec(path))) if path else []


def _on_gold(source: str, path: str | None) -> NamedCorpus:
    from assay.experiment.corpora import prepare
    from assay.gold import load_gold
    from assay.gold.split import select

    suite = select(load_gold(source, corpus=path or None), ()).suite
    if len(suite.golds) != 1:
        names = ", ".join(gold.name for gold in suite.golds)
        raise ConfigError(f"{source} holds {len(suite.golds)} gold sets: {names}", hint="name one of its files")
    place = prepare(suite.golds[0], None, None, "report")
    return NamedCorpus(place.corpus, suite, place.gold.queries, _problems(place), place.is_ours)


def _problems(place: PreparedGold) -> tuple[str, ...]:
    found = place.problems
    return (f"{len(found)} targets of the gold set are not in this corpus, e.g. {found[0]}",) if found else ()
