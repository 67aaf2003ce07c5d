from __future__ import annotations

import os
import re
import shlex
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from assay.cli.arguments import reject_flags, require_flag
from assay.cli.console import emit, emit_blocks, log, paused_gc, pluralize
from assay.cli.options import default_results, log_run_access, plan_for, read_results
from assay.errors import AssayError, ConfigError, NotComparableError, SetupError
from assay.experiment.records.directory import is_run, repeats_in
from assay.files import read_utf8
from assay.report import github
from assay.report.baseline_file import read_baseline, write_baseline
from assay.report.comparison import compare_in_run, compare_sides, require_comparable
from assay.report.family import reference_baseline, tested_engines
from assay.report.gate_checks import Gate, history_line, judge_gate, parse_threshold, threshold_measures
from assay.report.gate_document import gate_document, gate_summary
from assay.report.gate_history import check_history, find_history, record_gate, write_trend
from assay.report.query_scores import QueryScores, gather
from assay.report.scored_run import level_of
from assay.types import EngineRun, Ranking, Run

#: The eval_results.json of Pyckle's guide.
_PYCKLE = re.compile(r'\s*\{\s*("mrr_at_10"\s*:[^,]*,\s*)?"results"\s*:')


@paused_gc()
def gate_command(args: Namespace) -> int:
    require_flag(args, "github", "no_comment")
    if args.baseline and not args.against and Path(args.baseline).is_file():
        args.against, args.baseline = [args.baseline], None  # a file of scores, not an engine
    args.results = args.results or [default_results(args)]
    if args.write_baseline:
        reject_flags(args, "--write-baseline", "against", "require", "strict", "github", "engine", "history")
        _write_baseline(args)
        return 0
    try:
        if args.made_by:
            _check_made(Path(args.made_by))
        runs, name = _read_repeats(args.results)
        history = find_history(args.history, args.against)
        if history:
            check_history(history)
        gate = _judge(args, runs, name, history)
    except AssayError as error:
        if args.github:
            github.write_job_output(_job_output(args), github.error_page(error), [github.of_error(error, "assay gate")])
        raise
    data = {"schema": "assay/gate/2", "exit_code": gate.exit_code, "verdict": gate.verdict, **asdict(gate)}
    data["checks"] = [asdict(check) | ({"exit_code": 0} if check.passed else {}) for check in gate.checks]
    show = _show_command(args, gate)
    emit(args, gate_document(gate, show) if args.full else gate_summary(gate, show), data)
    if args.github:
        lines = {
            (gold.name, query.id): github.AnnotationLine(gold.source, query.line)
            for gold in runs[0].suite.golds
            for query in gold.queries
        }
        github.write_job_output(_job_output(args), github.gate_page(gate), github.of_gate(gate, lines))
    return gate.exit_code


def _show_command(args: Namespace, gate: Gate) -> str:
    """Return the command that shows a query: in both runs, or of one engine if the baseline has no rankings."""
    run = args.results[0]
    if not args.against:
        return shlex.join(["assay", "show", run])
    if len(args.against) == 1 and Path(args.against[0]).is_dir():
        return shlex.join(["assay", "show", args.against[0], run])
    engine = gate.decision.candidate.name.partition(" (")[0] if gate.decision else ""
    return shlex.join(["assay", "show", "--engine", engine, run])


def _write_baseline(args: Namespace) -> None:
    runs, name = _read_repeats(args.results)
    plan = plan_for(runs[0], args)
    scores = gather(runs, plan.measures, name)
    write_baseline(Path(args.write_baseline), scores, plan)
    queries = len(scores.scores.units)
    repeats = f", each the mean of {scores.repeats} repeats" if scores.repeats > 1 else ""
    engines = ", ".join(tested_engines(scores))
    text = f"{pluralize(queries, 'query', 'queries')} of {engines}{repeats}, written to {args.write_baseline}."
    data = {"file": args.write_baseline, "repeats": scores.repeats, "queries": queries}
    emit_blocks(args, "assay gate: baseline written", [text], {"schema": "assay/baseline-written/1", **data})


def _read_repeats(paths: Sequence[str]) -> tuple[list[Run], str]:
    directories = [str(directory) for path in paths for directory in (repeats_in(Path(path)) or (path,))]
    runs = [read_results(directory) for directory in directories]
    return runs, paths[0] if len(runs) == 1 else f"{paths[0]} ×{len(runs)}"


def _check_made(path: Path) -> None:
    """Raise the error of a failed run; the results on disk are those of an earlier one."""
    import json

    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        data = {}
    if not isinstance(data, dict) or "schema" not in data:
        raise SetupError("expected the output of `assay run --json`", file=path, hint="see the log of the run")
    if data["schema"] != "assay/error/1":
        return
    file, line, hint, code = (data.get(key) for key in ("file", "line", "hint", "exit_code"))
    error = AssayError(
        f"the run failed: {data.get('message') or data.get('error')}",
        file=file if isinstance(file, str) else None,
        line=line if isinstance(line, int) else None,
        hint=hint if isinstance(hint, str) else None,
    )
    error.exit_code = code if isinstance(code, int) else AssayError.exit_code
    raise error


def _judge(args: Namespace, runs: list[Run], name: str, history: Path | None) -> Gate:
    plan = plan_for(runs[0], args)
    log_run_access(args, runs[0], "gate")
    thresholds = [parse_threshold(text, level_of(plan.primary)) for text in args.require]
    measures = tuple(dict.fromkeys((*plan.measures, *threshold_measures(thresholds, runs[0].k))))
    old = _read_baseline(args, runs[0], plan.measures)
    new = gather(runs, measures, name)
    comparison = None
    if old is not None:
        comparison = compare_sides(old, new, plan, args.engine)
    elif args.baseline or not thresholds:
        # by default, several engines are compared with a reference instead of their runner-up
        baseline = plan.baseline or reference_baseline(runs[0])
        comparison = compare_in_run(new, replace(plan, baseline=baseline), args.engine)
    gate = judge_gate(new, plan, thresholds, comparison, engine=args.engine, strict=args.strict, old=old)
    if history is None:
        return gate
    from assay.corpus.git import read_head

    commit = read_head(history.absolute().parent) or os.environ.get("GITHUB_SHA", "")
    line = history_line(gate, new, plan, args.engine, commit)
    points = tuple(record_gate(history, line))
    directory = Path(args.results[0])
    if len(runs) == 1 and is_run(directory):
        write_trend(directory, points)
    return replace(gate, history=points)


def _read_baseline(args: Namespace, run: Run, measures: Sequence[str]) -> QueryScores | None:
    if not args.against:
        return None
    reject_flags(args, "two runs", "baseline")
    files = [path for path in args.against if Path(path).is_file()]
    if files and len(args.against) > 1:
        raise ConfigError("expected one baseline file, or run directories only", hint="pass one --against FILE")
    if files:
        path = Path(files[0])
        text = read_utf8(path)
        if not _PYCKLE.match(text):
            return read_baseline(path)
        return gather([_pyckle_run(text, path, run)], measures, files[0])
    for path in map(Path, args.against):
        if path.suffix == ".json" and not path.exists():
            hint = f"record one from an earlier run: assay gate old-results --write-baseline {path}"
            raise ConfigError("no such baseline file", file=path, hint=hint)
    old, name = _read_repeats(args.against)
    require_comparable(old[0], run)
    return gather(old, measures, name)


def _pyckle_run(text: str, path: Path, run: Run) -> Run:
    """Return a copy of the run in which every candidate has the rankings of an eval_results.json."""
    from assay.engines.runfile import read_pyckle

    found = read_pyckle(text, str(path))
    forms = {(gold.name, query.id): query.forms for gold in run.suite.golds for query in gold.queries}
    engines = []
    for engine in run.engines:
        if engine.role != "candidate":
            continue
        asked = [(one, forms[one.gold, one.query][one.form]) for one in engine.rankings]
        missing = [query for _, query in asked if query not in found]
        if missing:
            message = f"no result for {len(missing)} of {len(asked)} queries, e.g. {missing[0]!r:.80}"
            raise NotComparableError(message, file=path, hint="repeat the evaluation with all queries of the gold set")
        rankings = tuple(Ranking(one.gold, one.query, one.form, found[query][: run.k]) for one, query in asked)
        engines.append(EngineRun(engine.name, rankings))
    return replace(run, engines=tuple(engines))


def _job_output(args: Namespace) -> github.JobOutput:
    paths = [github.place_in_checkout(os.environ, path) for path in args.results]
    subject = "\0".join([*paths, args.engine or ""])
    return github.JobOutput(github.read_context(os.environ, subject), log, comment=not args.no_comment)
