"""The commands run, merge and demo."""

from __future__ import annotations

import json
import os
import shlex
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import cast

from assay.cli.arguments import reject_flags
from assay.cli.console import (
    emit,
    emit_blocks,
    emit_results,
    info,
    paused_gc,
    pluralize,
    print_error,
    show_progress,
    warn,
)
from assay.cli.main import build_parser
from assay.cli.options import (
    default_results,
    load_experiment,
    plan_flags,
    question_flags,
    read_page_options,
    split_list,
)
from assay.corpus.file_types import detect_type, kind_globs
from assay.corpus.git import git
from assay.engines.shared_index import INDEX_NOTES, OUTSIDE
from assay.errors import ConfigError, EngineError, SetupError
from assay.experiment import check_directory
from assay.experiment.cluster import DaskExecutor
from assay.experiment.corpora import Missing, load_suite
from assay.experiment.dry_run import DryRun, Node, dry_run
from assay.experiment.execution import RunOutcome, assemble, execute_spec, failure_reasons
from assay.experiment.records.directory import repeat_directories, write_timings
from assay.experiment.records.merge import RetainedEngine
from assay.experiment.run_plan import ExecutionOptions
from assay.experiment.shards import execute_shard, merge_shards, parse_shard, shard_path, write_shard
from assay.experiment.spec import Spec, check, override, with_engines
from assay.experiment.spec.analysis_plan import analysis_plan_of, match_names, split_names
from assay.experiment.spec.engine_entries import (
    BUILTIN,
    Settings,
    duplicate_notes,
    environment_note,
    missing_requirement,
    retained_engines,
    settings_table,
)
from assay.experiment.spec.experiment_spec import resolve_level
from assay.gold.load import load_gold
from assay.gold.split import SEALED, select
from assay.report.explorer.html_page import PageOptions
from assay.report.family import competing_engines
from assay.report.gate_checks import judge_gate, parse_threshold, threshold_measures
from assay.report.gate_document import stability_blocks
from assay.report.publish import WrittenRun, publish, require_parquet
from assay.report.query_scores import gather, stability
from assay.report.render.document import Block, Code, Document, Paragraph, table
from assay.report.render.formatting import count
from assay.report.results_file import results_json
from assay.report.scored_run import level_of
from assay.types import AnalysisPlan, Run, Suite

_MOSTLY = 0.8  # share of targets from which a gold set is one of documentation, or of code
_OTHERS = 0.3  # share of results that are not code from which --kind code is suggested


def run_command(args: Namespace) -> int:
    spec = _load_spec(args)
    suite = _restrict_corpora(args, load_suite(spec))
    flags = plan_flags(args)
    spec = resolve_level(spec, suite, primary=flags["primary"], measures=flags["measures"])
    if args.dry_run:
        _show_dry_run(args, spec, suite)
        return 0
    if args.shard:
        _run_shard(args, spec, suite)
        return 0
    return _run(args, spec, suite)


def _load_spec(args: Namespace) -> Spec:
    given = {
        **question_flags(args),
        "k": max(10, *args.k_values) if args.k_values and args.k is None else args.k,
        "split": split_list(args.split),
        "timeout": args.timeout,
        "threads": args.threads,
        "interleave": False if args.one_at_a_time else None,
        "times": False if args.reuse_index and args.times is None else args.times,  # timed engines index anew
        "jobs": args.jobs,
        "out": args.out,
        "references": False if args.no_references else None,
    }
    spec = replace(load_experiment(args), **{key: value for key, value in given.items() if value is not None})
    if args.engine:
        spec = with_engines(spec, args.engine)
    if args.min_score is not None:
        spec = _with_min_score(spec, args.min_score)
    names = spec.names()
    family = None if args.family is None else split_names(args.family, names)
    only = match_names(args.only, names, "--only") if args.only else None
    spec = override(spec, **plan_flags(args), family=family, only=only)
    _check_runnable(args, spec)
    return spec


def _restrict_corpora(args: Namespace, suite: Suite) -> Suite:
    """Restrict the corpora by --include or --kind; without both, suggest --kind docs if most targets are docs."""
    if args.kind:
        reject_flags(args, "--kind", "include")
    globs = (*args.include, *(kind_globs(args.kind) if args.kind else ()))
    if not globs:
        paths = [target.span.path for gold in suite.golds for query in gold.queries for target in query.targets]
        docs = sum(detect_type(path, b"").kind == "docs" for path in paths)
        if docs > _MOSTLY * len(paths) and not any(gold.corpus.include for gold in suite.golds):
            info(args, f"{docs} of {len(paths)} targets are documentation; --kind docs searches only documentation")
        return suite
    for gold in suite.golds:
        if gold.corpus.include:
            hint = f"remove --include and --kind, or `include` from the corpus of {gold.name}"
            raise ConfigError("cannot restrict a corpus that has `include`", file=gold.source, hint=hint)
    golds = (replace(gold, corpus=replace(gold.corpus, include=globs)) for gold in suite.golds)
    return replace(suite, golds=tuple(golds))


def _with_min_score(spec: Spec, score: float) -> Spec:
    engines: dict[str, Settings] = {}
    for name, settings in (spec.engines or {BUILTIN: BUILTIN}).items():
        table = settings_table(settings)
        engines[name] = {**table, "min_score": score} if table.get("kind") == BUILTIN else settings
        if engines[name] is settings:
            warn(f"--min-score has no effect on {name}: only builtin engines support it")
    return replace(spec, engines=engines)


def _check_runnable(args: Namespace, spec: Spec) -> None:
    if args.shard:
        reject_flags(args, "--shard", "repeat")
    flag = "cluster" if args.cluster else "shard" if args.shard else "reuse-index" if args.reuse_index else None
    if spec.times and flag:
        raise ConfigError(f"cannot measure times with --{flag}", hint="add --no-times")
    baseline = spec.entry(spec.analysis_plan().baseline)
    reason = missing_requirement(baseline.requires) if baseline else None
    if baseline and reason:
        raise ConfigError(f"cannot run the baseline {baseline.name!r}: {reason}", hint="choose another --baseline")
    for note in duplicate_notes(spec):
        warn(note)
    if note := environment_note(spec):
        info(args, note)


def _show_dry_run(args: Namespace, spec: Spec, suite: Suite) -> None:
    with _execution_options(args, Path(spec.out)) as how:
        found = dry_run(spec, suite, missing=_missing(args), options=how)
    emit(args, dry_run_document(found), dry_run_json(found))


def _missing(args: Namespace) -> Missing | None:
    return "report" if args.allow_missing else None


def _run_shard(args: Namespace, spec: Spec, suite: Suite) -> None:
    shard = parse_shard(args.shard)
    directory = check_directory(Path(spec.out))
    with _execution_options(args, directory) as how, show_progress(args) as report:
        part = execute_shard(spec, suite, shard, how, missing=_missing(args), progress=report)
    for trouble in part.results.warnings:
        info(args, trouble)
    path = shard_path(directory, shard)
    write_shard(path, part)
    part.results.finish()
    cells = f"{len(part.results.cells)} of {pluralize(len(part.summary.cells), 'cell')}"
    info(args, f"shard {shard}, {cells}, written to {path}; when all shards are written: assay merge {directory}")


def _run(args: Namespace, spec: Spec, suite: Suite, *, keep: bool = False) -> int:
    """Run a checked configuration, once or --repeat times, and report the results.

    With `keep`, the cells stay in the results directory, so that the same run takes seconds from then on.
    """
    level = level_of(spec.analysis_plan().primary)
    thresholds = [parse_threshold(text, level) for text in args.require]
    if thresholds:
        threshold_measures(thresholds, spec.k)  # report errors before anything runs
    out = Path(spec.out)
    directories = repeat_directories(out, args.repeat) if args.repeat else [check_directory(out)]
    if args.parquet:
        require_parquet()
    page = read_page_options(args, spec)
    sealed = select(suite, spec.split).sealed
    if sealed:
        queries = pluralize(sealed, "sealed query", "sealed queries")
        info(args, f"{queries} left out; --split {SEALED} includes them and logs the access")
    elif SEALED in spec.split:
        info(args, "sealed queries are included; the access is logged next to the gold set")
    runs: list[Run] = []
    written: list[WrittenRun] = []
    for number, directory in enumerate(directories, 1):
        if args.repeat:
            info(args, f"repeat {number} of {args.repeat}")
        with _execution_options(args, directory) as how:
            completed = _execute(args, spec, suite, how)
        declared = retained_engines(spec, suite)
        written.append(_write_run(args, completed, spec.analysis_plan(), directory, declared, page))
        if not keep:
            completed.results.finish()
        runs.append(completed.run)
    missed = _check_thresholds(args.require, runs, spec.out) if thresholds else []
    data = {"missed_thresholds": missed} if thresholds else {}
    if args.repeat:
        _report_repeats(args, runs, spec, data)
    else:
        _report_run(args, written[0], out, data)
    code = _check_answered(args, runs)
    for threshold in missed:
        print_error(args, f"below the threshold: {threshold}")
    return code or (1 if missed else 0)


@contextmanager
def _execution_options(args: Namespace, directory: Path) -> Iterator[ExecutionOptions]:
    """Yield the execution options; close the connection to a cluster afterwards."""
    no_cache = args.no_cache or bool(args.repeat)  # a cached result says nothing about between-run variance
    local = ExecutionOptions(directory, fresh=no_cache, reuse_index=args.reuse_index)
    if not args.cluster:
        yield local
        return
    cluster = DaskExecutor(args.cluster)
    try:
        yield replace(local, executor=cluster)
    finally:
        cluster.close()


def _execute(args: Namespace, spec: Spec, suite: Suite, how: ExecutionOptions) -> RunOutcome:
    with show_progress(args, spec.tested()) as report:
        completed = execute_spec(spec, suite, missing=_missing(args), progress=report, options=how)
    failed = failure_reasons(completed.run)  # printed at the end
    for trouble in completed.results.warnings:
        if trouble.partition(":")[0] not in failed:
            info(args, trouble)
    if args.reuse_index:
        _report_indexes(args, completed.run)
    if not completed.run.header.timed:
        cells, cached = len(completed.results.cells), len(completed.results.cached)
        info(args, f"{pluralize(cells, 'cell')}: {cached} cached, {cells - cached} run now")
    elif len(completed.results.cached) == len(completed.results.cells):
        info(args, "measured earlier on this machine; to measure again, delete the results directory")
    return completed


def _report_indexes(args: Namespace, run: Run) -> None:
    """Print which indexes were reused, and how to search a checkout whose index cannot be kept."""
    for engine in run.engines:
        for note in engine.notes:
            if note.startswith(INDEX_NOTES):
                info(args, f"{engine.name}: {note}")
            if note == OUTSIDE:
                argv = json.dumps(["env", "-C", "CHECKOUT", *map(str, cast("Sequence[str]", engine.config["argv"]))])
                settings = (f"engines.{engine.name}.index=[]", f"engines.{engine.name}.argv={argv}")
                flags = " ".join(shlex.join(["--set", setting]) for setting in settings)
                info(args, f"to search a checkout that you indexed: {flags}")


@paused_gc()
def _write_run(
    args: Namespace,
    completed: RunOutcome,
    plan: AnalysisPlan,
    directory: Path,
    declared: Mapping[str, RetainedEngine],
    page: PageOptions,
) -> WrittenRun:
    written = publish(
        completed.run,
        plan,
        directory,
        declared=declared,
        drop_stale=args.drop_stale,
        parquet=args.parquet,
        page=page,
    )
    if not completed.run.header.timed:
        write_timings(directory, completed.results.timings())
    return written


_UNTRACKED = 3  # files that a note names


def _note_untracked(args: Namespace, run: Run) -> None:
    """Name files of a corpus that git does not track, such as a script of an engine, which engines may return."""
    for gold in run.suite.golds:
        root = (Path(gold.source).parent if gold.source else Path()) / Path(gold.corpus.value).expanduser()
        if gold.corpus.kind != "path" or not (root / ".git").exists():
            continue
        with suppress(SetupError):
            listed = git("ls-files", "-z", "--others", "--exclude-standard", cwd=root)
            paths = sorted(set(os.fsdecode(listed.out).split("\0")) & run.lines[gold.name].keys())
            if paths:
                named = ", ".join(paths[:_UNTRACKED]) + (", ..." if len(paths) > _UNTRACKED else "")
                files = "untracked file is" if len(paths) == 1 else "untracked files are"
                info(args, f"{len(paths)} {files} in the corpus: {named}; .assayignore leaves files out")


def _report_run(args: Namespace, written: WrittenRun, directory: Path, data: Mapping[str, object]) -> None:
    results = written.results
    json = {**results_json(results), **data} if args.json else {}
    _note_untracked(args, written.run)
    emit_results(args, written.scored, results, str(directory), (), json)
    if written.replaced:
        names = ", ".join(written.replaced)
        warn(f"{directory}: this run replaced the rankings of {names}; to keep both runs, pass another --out")
    info(args, f"written to {directory / written.results.decision.report}")
    _suggest_code(args, written.scored.run)


def _suggest_code(args: Namespace, run: Run) -> None:
    """Suggest --kind code if most targets are code and an engine returns many other files."""
    if getattr(args, "kind", None) or getattr(args, "include", None):
        return
    targets = [target.span.path for gold in run.suite.golds for query in gold.queries for target in query.targets]
    code = sum(map(_is_code, targets))
    for engine in run.engines if code > _MOSTLY * len(targets) else ():
        hits = [(ranking.gold, hit.path) for ranking in engine.rankings for hit in ranking.hits]
        paths = [path for gold, path in hits if path in run.lines[gold]]
        others = len(paths) - sum(map(_is_code, paths))
        if engine.role == "candidate" and others > _OTHERS * len(paths):
            share = f"{others / len(paths):.0%} of the results of {engine.name} are not"
            info(args, f"{code} of {len(targets)} targets are code, {share}; --kind code searches only code")


def _is_code(path: str) -> bool:
    return detect_type(path, b"").kind == "code"


def _report_repeats(args: Namespace, runs: Sequence[Run], spec: Spec, more: Mapping[str, object]) -> None:
    primary = analysis_plan_of(*runs).primary
    scores = gather(runs, (primary,), spec.out)
    engines = [stability(scores, name, primary) for name in competing_engines(scores)]
    data = {"schema": "assay/repeats/2", "directory": spec.out, "stability": engines, **more}
    emit_blocks(args, f"assay run: {len(runs)} repeats", stability_blocks(engines), data)
    info(args, f"written to {spec.out}/1 to {spec.out}/{len(runs)}; `assay gate {spec.out}` evaluates them together")


def _check_thresholds(rules: Sequence[str], runs: Sequence[Run], out: str) -> list[str]:
    plan = analysis_plan_of(*runs)
    thresholds = [parse_threshold(text, level_of(plan.primary)) for text in rules]
    measures = dict.fromkeys((plan.primary, *threshold_measures(thresholds, runs[0].k)))
    scores = gather(runs, tuple(measures), out)
    gate = judge_gate(scores, plan, thresholds, None, engine=None, strict=False)
    return [f"{check.what}: {check.detail}" for check in gate.checks if check.kind == "threshold" and not check.passed]


def _check_answered(args: Namespace, runs: Sequence[Run]) -> int:
    failed = {name: reason for run in runs for name, reason in failure_reasons(run).items()}
    for reason in dict.fromkeys(failed.values()):
        names = ", ".join(name for name in failed if failed[name] == reason)
        print_error(args, f"{names} failed on every query: {reason}")
    return EngineError.exit_code if failed else 0


def merge_command(args: Namespace) -> int:
    directory = check_directory(Path(args.out or default_results(args)))
    if args.parquet:
        require_parquet()
    page = read_page_options(args)
    merged = merge_shards(Path(part) for part in args.parts)
    completed = RunOutcome(assemble(merged.summary, merged.results), merged.results)
    written = _write_run(args, completed, analysis_plan_of(completed.run), directory, merged.declared, page)
    completed.results.finish()
    _report_run(args, written, directory, {})
    return _check_answered(args, [completed.run])


def demo_command(args: Namespace) -> int:
    spec, suite = check(Spec(gold=("stdlib",), engines={"builtin": "builtin"}, out=args.out)), load_gold("stdlib")
    flags = build_parser(["run"]).parse_args(["run", "--allow-missing"])
    return _run(Namespace(**vars(flags) | vars(args)), resolve_level(spec, suite), suite, keep=True)


#: Engines below one step; a sweep of a thousand would hide the tree.
_SHOWN = 12
_UNCACHED = "Rerun every time, because changes of these engines cannot be detected"
_TIMED = (
    "Times are measured: queries are interleaved across engines in this process, each with its own index, and nothing "
    "is cached. --no-times uses the cache."
)


def dry_run_document(found: DryRun) -> Document:
    tree, work = found.tree, found.remaining
    cells = tree.golds * tree.engines
    lines = [f"{tree.name}: {count(tree.golds, 'gold set')}, {tree.about}", *_tree_lines(tree, "")]
    blocks: list[Block] = [Code("\n".join(lines))]
    if found.timed:
        blocks.append(Paragraph(_TIMED))
    searches = count(work.questions, "search", "searches")
    to_do = f"{work.cells} remain ({searches})" if work.cells else "nothing to run"
    blocks.append(Paragraph(f"{cells - work.cells} of {cells} cells are cached; {to_do}."))
    if found.uncached_engines:
        more = len(found.uncached_engines) - _SHOWN
        names = ", ".join(found.uncached_engines[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
        blocks.append(Paragraph(f"{_UNCACHED}: {names}."))
    if found.skipped:
        blocks.append(table(["Skipped", "Reason"], list(found.skipped.items())))
    return Document("Dry run", tuple(blocks))


def dry_run_json(found: DryRun) -> dict[str, object]:
    return {"schema": "assay/dry-run/1", **asdict(found)}


def _tree_lines(node: Node, indent: str) -> Iterator[str]:
    left = len(node.children) - _SHOWN
    shown = node.children[:_SHOWN]
    for number, child in enumerate(shown):
        last = number == len(shown) - 1 and left <= 0
        about = f" ({child.about})" if child.about else ""
        shared = f", shared by {child.engines}" if child.engines > 1 else ""
        yield f"{indent}{'└─' if last else '├─'} {child.name}{about}{shared}: {_state(child)}"
        yield from _tree_lines(child, f"{indent}{'   ' if last else '│  '}")
    if left > 0:
        yield f"{indent}└─ … and {left} more"


def _state(node: Node) -> str:
    if not node.made:
        return "cached"
    if not node.needed:
        return "not needed"
    if not node.cached:
        return f"to do for {count(node.golds, 'gold set')}"
    return f"cached for {node.cached}, to do for {node.made}"
