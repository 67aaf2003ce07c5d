from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.cli.options import (
    add_claim,
    add_full,
    add_page,
    add_questions,
    add_source,
    claim_flags,
    config_file,
    declared_by,
    family_flag,
    listed,
    page_flags,
    question_flags,
)
from assay.cli.output import emit, fit_for, info, pluralize, progress_callback, warn
from assay.errors import ConfigError, EngineError

if TYPE_CHECKING:
    from assay.experiment.corpora import Missing, PreparedGold
    from assay.experiment.plan import ExecutionOptions
    from assay.experiment.records.merge import RetainedEngine
    from assay.experiment.runner import RunOutcome
    from assay.experiment.spec import Spec
    from assay.experiment.spec.model import EngineFactory
    from assay.report.explorer.excerpts import PagePlan
    from assay.report.publish import WrittenRun
    from assay.types import AnalysisPlan, Corpus, CorpusSpec, Query, Run, Suite


def run_arguments(parser: argparse.ArgumentParser) -> None:
    add_source(parser)
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="ask this engine or variant, or a glob of them (repeatable)"
    )
    add_questions(parser)
    parser.add_argument(
        "--engine",
        action="append",
        metavar="[NAME=]SPEC",
        help="of assay.toml, a preset, command:…, …; runs instead of all that the file declares",
    )
    parser.add_argument("--split", metavar="LIST", help="parts of a divided set, by commas (all but sealed)")
    parser.add_argument("--timeout", type=float, metavar="S", help="seconds for one query (60)")
    parser.add_argument("--threads", type=int, metavar="N", help="processors that every engine has (all there are)")
    parser.add_argument(
        "--one-at-a-time", action="store_true", help="open one engine at a time (they take turns at every question)"
    )
    parser.add_argument("--out", metavar="FOLDER", help="where the run goes (results)")
    parser.add_argument(
        "--repeat", type=int, metavar="N", help="run it N times, into OUT/1 to OUT/N, for engines that answer by chance"
    )
    parser.add_argument("--forget", action="store_true", help="drop the rows of earlier runs that do not fit this one")
    parser.add_argument("--parquet", action="store_true", help="write per-query.parquet too (extra: parquet)")
    add_page(parser)
    parser.add_argument("--no-references", action="store_true", help="leave out random, keywords and oracle")
    _add_way(parser)
    add_full(parser)
    add_claim(parser)


def _add_way(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how it is run")
    group.add_argument("--dry-run", action="store_true", help="show the plan, what of it is kept, and an estimate")
    group.add_argument(
        "--times",
        action=argparse.BooleanOptionalAction,
        help="engines take turns and are timed, or run side by side without times",
    )
    group.add_argument("--jobs", type=int, metavar="N", help="processes to run in, without times (0: all processors)")
    group.add_argument("--cluster", metavar="ADDRESS", help="a Dask cluster to run on, such as tcp://host:8786")
    group.add_argument("--shard", metavar="I/N", help="run one of N parts; `assay merge` puts them together")
    group.add_argument("--fresh", action="store_true", help="ask again what earlier runs have kept")
    group.add_argument("--reuse-index", action="store_true", help="let tools take up the indexes of earlier runs")


def run_command(args: argparse.Namespace) -> int:
    """Run engines over a gold set and report verdicts.

    With an assay.toml in this folder (or --config) its settings are used and flags override them;
    without one, flags alone are enough:

      assay run --gold stdlib
      assay run --gold gold.yaml --engine mine="command:my-search --json {query}"
      assay run --gold octocode/code.csv --corpus git:../octocode@b1771ba --tag difficulty=hard:101-127

    Variants and sweeps of assay.toml run side by side and share what they can; --dry-run shows the plan:

      assay run --only 'weights:*' --set run.k=20 --set engines.mine.search.stem.files=0.4
    """
    from assay.experiment.corpora import load_suite

    spec = _spec(args)
    suite = load_suite(spec)
    missing: Missing | None = "report" if args.allow_missing else None
    if args.dry_run:
        return show_plan(args, spec, suite, missing)
    if args.shard:
        return run_shard(args, spec, suite, missing)
    if args.repeat is not None:
        return run_repeats(args, spec, suite, missing)
    return execute(args, spec, suite, missing)


def execute(args: argparse.Namespace, spec: Spec, suite: Suite, missing: Missing | None) -> int:
    """Run a checked specification over loaded gold, write the records and the reports, print the report."""
    from assay.experiment import check_directory
    from assay.experiment.spec.model import retained_engines
    from assay.report.publish import require_parquet

    folder = check_directory(Path(spec.out))
    page = page_flags(args, spec)
    if args.parquet:
        require_parquet()
    _tell_sealed(args, spec, suite)
    with execution_options(args, folder) as how:
        carried = carried_out(args, spec, suite, missing, how)
    return write_report(args, carried, spec.analysis_plan(), folder, retained_engines(spec, suite), page)


def run_repeats(args: argparse.Namespace, spec: Spec, suite: Suite, missing: Missing | None) -> int:
    """Run a checked specification several times, each into a folder of its own, and say how steady engines are.

    Nothing that was kept is used: an answer that is taken from another repeat says nothing about chance.
    """
    from assay.experiment.records.directory import repeat_directories
    from assay.experiment.spec.model import retained_engines
    from assay.report.publish import require_parquet

    folders, page = repeat_directories(Path(spec.out), args.repeat), page_flags(args, spec)
    if args.parquet:
        require_parquet()
    _tell_sealed(args, spec, suite)
    anew = argparse.Namespace(**{**vars(args), "fresh": True})
    runs = []
    for number, folder in enumerate(folders, 1):
        info(args, f"repeat {number} of {len(folders)}")
        with execution_options(anew, folder) as how:
            carried = carried_out(anew, spec, suite, missing, how)
        published(args, carried, spec.analysis_plan(), folder, retained_engines(spec, suite), page)
        runs.append(carried.run)
    _tell_repeats(args, runs, spec)
    return _check_answered(args, runs)


def _tell_repeats(args: argparse.Namespace, runs: Sequence[Run], spec: Spec) -> None:
    from assay.report.evidence import gather, stability, steadiness_blocks
    from assay.report.render.document import Document
    from assay.report.scored_run import real_engines

    claim = spec.analysis_plan()
    seen = gather(runs, (claim.primary,), spec.out)
    found = [stability(seen, name, claim.primary) for name in real_engines(seen)]
    data = {"schema": "assay/repeats/1", "folder": spec.out, "steadiness": found}
    emit(args, Document(f"assay run: {len(runs)} repeats", tuple(steadiness_blocks(found))), data)
    info(args, f"\nwritten to {spec.out}/1 to {spec.out}/{len(runs)}; `assay gate {spec.out}` takes them together")


def run_shard(args: argparse.Namespace, spec: Spec, suite: Suite, missing: Missing | None) -> int:
    """Run one shard and write it down."""
    from assay.experiment import check_directory
    from assay.experiment.shards import execute_shard, parse_shard, shard_path, write_shard

    shard = parse_shard(args.shard)
    folder = check_directory(Path(spec.out))
    with execution_options(args, folder) as how:
        part = execute_shard(spec, suite, shard, how, missing=missing, progress=progress_callback(args))
    for trouble in part.results.warnings:
        info(args, trouble)
    path = shard_path(folder, shard)
    write_shard(path, part)
    part.results.finish()
    cells = pluralize(len(part.results.cells), "cell")
    if not part.results.cells:  # of more shards than there are cells, some have none; the others need it all the same
        cells = f"which is empty (the run has {pluralize(len(part.summary.cells), 'cell')})"
    info(args, f"shard {shard}, {cells}, written to {path}; when all are there: assay merge {folder}")
    return 0


def write_report(
    args: argparse.Namespace,
    carried: RunOutcome,
    claim: AnalysisPlan,
    folder: Path,
    declared: Mapping[str, RetainedEngine],
    page: PagePlan,
) -> int:
    """Write the records and the reports of a run, and print the report."""
    from assay.report.publish import WRITTEN
    from assay.report.results import results_json
    from assay.report.sections import document

    done = published(args, carried, claim, folder, declared, page)
    emit(args, document(done.results, full=args.full), results_json(done.results) if args.json else {})
    info(args, f"\nwritten to {folder}/: {WRITTEN}")
    return _check_answered(args, [carried.run])


def _check_answered(args: argparse.Namespace, runs: Sequence[Run]) -> int:
    from assay.experiment.runner import failed_engines

    failed = {name: reason for run in runs for name, reason in failed_engines(run).items()}
    for name, reason in failed.items():
        warn(fit_for(args, f"assay: {name} failed on every query: {reason}"))
    return EngineError.exit_code if failed else 0


def published(
    args: argparse.Namespace,
    carried: RunOutcome,
    claim: AnalysisPlan,
    folder: Path,
    declared: Mapping[str, RetainedEngine],
    page: PagePlan,
) -> WrittenRun:
    """Write the records and the reports of a run into its folder, beside what stands there."""
    from assay.report.publish import publish

    forget, parquet = getattr(args, "forget", False), getattr(args, "parquet", False)
    done = publish(carried.run, claim, folder, declared=declared, forget=forget, parquet=parquet, page=page)
    write_down(folder, carried)
    return done


def _tell_sealed(args: argparse.Namespace, spec: Spec, suite: Suite) -> None:
    from assay.gold.split import SEALED, select

    chosen = select(suite, spec.split)
    if chosen.sealed:
        sealed = pluralize(chosen.sealed, "sealed query", "sealed queries")
        info(args, f"{sealed} left out; --split {SEALED} asks them and logs the look")
    elif SEALED in spec.split:
        info(args, "sealed queries are asked: the look is written down beside the set")


def _spec(args: argparse.Namespace) -> Spec:
    from assay.experiment.spec import override
    from assay.experiment.spec.model import match_names

    spec = _flagged(args, declared_by(args))
    names = spec.names()
    only = match_names(args.only, names, "--only") if args.only else None
    spec = override(spec, **claim_flags(args), family=family_flag(args, names), only=only)
    _check_runnable(args, spec)
    return spec


def _flagged(args: argparse.Namespace, spec: Spec) -> Spec:
    """Replace what the flags name but for the claim, which the engines must be known for."""
    from assay.experiment.spec import with_engines

    given = {
        **question_flags(args),
        "split": listed(args.split),
        "timeout": args.timeout,
        "threads": args.threads,
        "interleave": False if args.one_at_a_time else None,
        "times": args.times,
        "jobs": args.jobs,
        "out": args.out,
        "references": False if args.no_references else None,
    }
    changed = replace(spec, **{key: value for key, value in given.items() if value is not None})
    return with_engines(changed, args.engine) if args.engine else changed


def _check_runnable(args: argparse.Namespace, spec: Spec) -> None:
    from assay.experiment.spec.variants import duplicate_notes, environment_note, missing_requirement

    if args.repeat is not None and args.repeat < 2:
        raise ConfigError(f"--repeat {args.repeat}", hint="2 or more; a run that is not repeated needs no flag")
    if args.repeat is not None and args.shard:
        raise ConfigError("--repeat and --shard", hint="run the shards of each repeat into a folder of its own")
    flag = next((flag for flag in ("cluster", "shard") if getattr(args, flag)), None)
    if spec.times and flag:
        raise ConfigError(f"times = true with --{flag}", hint="cells that run side by side have no times: --no-times")
    baseline = spec.entry(spec.analysis_plan().baseline)
    reason = missing_requirement(baseline.requires) if baseline else None
    if baseline and reason:
        raise ConfigError(f"baseline = {baseline.name!r} cannot run here: {reason}", hint="choose another --baseline")
    for note in duplicate_notes(spec):
        warn(note)
    note = environment_note(spec)
    if note:
        info(args, note)


def demo_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", metavar="FOLDER", default="demo-results", help="where the run goes (demo-results)")
    add_full(parser)
    parser.set_defaults(forget=False, parquet=False)  # flags of `assay run` that a demonstration does without


def demo_command(args: argparse.Namespace) -> int:
    """Benchmark the built-in engines on the Python standard library, offline."""
    from assay.experiment.spec import Spec, check
    from assay.gold import load_gold

    engines: dict[str, Mapping[str, Any] | str] = {
        "builtin": "builtin",
        "whole-file": {"kind": "builtin", "search": {"index": {"chunks": {"kind": "file"}}}},
    }
    spec = check(Spec(gold=("stdlib",), engines=engines, out=args.out))
    return execute(args, spec, load_gold("stdlib"), "report")


@contextmanager
def execution_options(args: argparse.Namespace, folder: Path) -> Iterator[ExecutionOptions]:
    """Say how a run is carried out, by the flags; a cluster is left when it is over."""
    from assay.experiment.plan import ExecutionOptions

    fresh, reuse = getattr(args, "fresh", False), getattr(args, "reuse_index", False)
    address = getattr(args, "cluster", None)
    if not address:
        yield ExecutionOptions(folder, fresh=fresh, reuse_index=reuse)
        return
    from assay.experiment.cluster import DaskExecutor

    cluster = DaskExecutor(address)
    try:
        yield ExecutionOptions(folder, cluster, fresh=fresh, reuse_index=reuse)
    finally:
        cluster.close()
        for trouble in cluster.warnings:
            info(args, trouble)


def carried_out(
    args: argparse.Namespace, spec: Spec, suite: Suite, missing: Missing | None, how: ExecutionOptions
) -> RunOutcome:
    """Carry it out, showing how far it is, and say what was kept and what went wrong beside it."""
    from assay.experiment.runner import execute_spec

    carried = execute_spec(spec, suite, missing=missing, progress=progress_callback(args), options=how)
    for trouble in carried.results.warnings:
        info(args, trouble)
    if not carried.run.header.timed:
        cells, kept = len(carried.results.cells), len(carried.results.cached)
        info(args, f"{pluralize(cells, 'cell')}: {kept} were kept, {cells - kept} asked now")
    return carried


def write_down(folder: Path, carried: RunOutcome) -> None:
    """Write what is beside the results: what cells took; what was kept for this run alone goes."""
    from assay.experiment.records.directory import write_timings

    if not carried.run.header.timed:
        write_timings(folder, carried.results.timings())
    carried.finish()


def show_plan(args: argparse.Namespace, spec: Spec, suite: Suite, missing: Missing | None) -> int:
    """Show what a run would do; no engine is asked, nothing is written."""
    from assay.engines.resources import available_threads
    from assay.experiment.forecast import dry_run
    from assay.report.dry_run import dry_run_document, dry_run_json

    with execution_options(args, Path(spec.out)) as how:
        width = how.executor.width if how.executor else spec.jobs or available_threads()
        found = dry_run(spec, suite, missing=missing, options=how, width=width)
    emit(args, dry_run_document(found, width), dry_run_json(found))
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
    from assay.experiment.spec import engine_factory, load_spec
    from assay.experiment.spec.model import EngineFactory
    from assay.experiment.spec.variants import with_environment

    path = config_file(config)
    if path:
        spec = load_spec(path)
        if text in spec.engines or spec.entry(text) is not None:
            return engine_factory(spec, text)
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
    from assay.experiment.corpora import own_files, paths_inside
    from assay.experiment.spec import load_spec

    path = config_file(config)
    return paths_inside(corpus, None, own_files(load_spec(path))) if path else []


def _on_gold(source: str, path: str | None) -> NamedCorpus:
    from assay.experiment.corpora import prepare
    from assay.gold import load_gold
    from assay.gold.split import select

    suite = select(load_gold(source, corpus=path or None), ()).suite
    if len(suite.golds) != 1:
        names = ", ".join(gold.name for gold in suite.golds)
        raise ConfigError(f"{source} holds {len(suite.golds)} gold sets: {names}", hint="name one of its files")
    place = prepare(suite.golds[0], None, None, "report")
    return NamedCorpus(place.corpus, suite, place.gold.queries, _problems(place), place.is_own)


def _problems(place: PreparedGold) -> tuple[str, ...]:
    found = place.problems
    return (f"{len(found)} targets of the gold set are not in this corpus, e.g. {found[0]}",) if found else ()
