from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.options import Once, add_claim, claim_for, log_look, read_results, reject_flags
from assay.cli.output import emit, pluralize, warn
from assay.errors import AssayError, ConfigError, SetupError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.report.evidence import QueryScores
    from assay.report.gate import Gate
    from assay.report.github import AnnotationLine, JobOutput
    from assay.types import Run

_RESULTS = "results"


def gate_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", nargs="*", help="folder of the candidate run, several for repeats of it (results)")
    parser.add_argument(
        "--against", action="append", metavar="PLACE", help="folder of the baseline run, or a baseline file"
    )
    parser.add_argument("--write-baseline", metavar="FILE", help="write the run as a baseline file, and judge nothing")
    parser.add_argument("--engine", action=Once, metavar="NAME", help="gate this engine only")
    parser.add_argument(
        "--require", action="append", default=[], metavar="RULE", help="a threshold such as 'Hit@5>=0.70'"
    )
    parser.add_argument("--strict", action="store_true", help="an inconclusive comparison exits with 3")
    parser.add_argument(
        "--allow-changed-corpus",
        action="store_true",
        help="compare runs whose corpus changed in between; said in the result",
    )
    parser.add_argument(
        "--made-by",
        metavar="FILE",
        help="what `assay run --json` wrote: where that run failed, old results are not judged",
    )
    parser.add_argument("--github", action="store_true", help="tell GitHub: job summary, annotations, comment")
    parser.add_argument("--no-comment", action="store_true", help="with --github: no comment on the pull request")
    add_claim(parser)
    parser.set_defaults(failure=_failure)


def _failure(code: int) -> dict[str, object]:
    from assay.report.gate import VERDICTS

    return {"verdict": VERDICTS.get(code, VERDICTS[4])}


def gate_command(args: argparse.Namespace) -> int:
    """Turn a run into an exit code for CI.

      assay gate results --against baseline-results     each shared engine against its earlier run
      assay gate results --against baseline.json        ... or against a baseline file in version control
      assay gate results --write-baseline baseline.json write that file
      assay gate results --baseline keywords            each engine against another one of the same run
      assay gate results --require 'Hit@5>=0.70'        a threshold (repeatable; may be all there is)
      assay gate r1 r2 r3 --against baseline.json       repeats of one run; so is a folder of `assay run --repeat 3`

    0 pass · 1 significant regression, or below a threshold · 3 inconclusive under --strict · 4 more than 5 % of an
    engine's queries failed, or it found nothing at all · 5 not comparable. Inconclusive is 0 with a warning otherwise.
    Rankings that vary between runs need a baseline of several runs (`assay run --repeat 5`): a single one may be
    lucky. --github reports to a job of GitHub Actions: job summary, annotations, and one comment on the pull request,
    by the token in GITHUB_TOKEN. --json has the verdict in a word, also after an error.
    """
    from assay.report.gate import gate_document

    _check_flags(args)
    if args.write_baseline:
        return _write_baseline(args)
    runs: list[Run] = []
    try:
        gate = _gate(args, runs)
    except AssayError as error:
        _tell_error(args, error)
        raise
    data = {"schema": "assay/gate/1", "exit_code": gate.exit_code, "verdict": gate.verdict, **asdict(gate)}
    emit(args, gate_document(gate), data)
    _tell_gate(args, gate, runs)
    return gate.exit_code


def _check_flags(args: argparse.Namespace) -> None:
    if args.no_comment and not args.github:
        raise ConfigError("--no-comment means nothing without --github", hint="leave it out")
    judging = {"--against": args.against, "--require": args.require, "--strict": args.strict, "--github": args.github}
    judging |= {"--engine": args.engine, "--allow-changed-corpus": args.allow_changed_corpus}
    for flag, given in judging.items():
        if args.write_baseline and given:
            raise ConfigError(f"--write-baseline judges nothing, and {flag} asks for it", hint="give one of the two")


def _write_baseline(args: argparse.Namespace) -> int:
    from assay.report.baseline import write_baseline
    from assay.report.evidence import gather
    from assay.report.render.document import Document, Paragraph

    runs, name = _read(args.results or [_RESULTS])
    claim = claim_for(runs[0], args)
    seen = gather(runs, claim.measures, name)
    write_baseline(Path(args.write_baseline), seen, claim)
    queries, each = len(seen.scores.units), f", each the mean of {seen.repeats} repeats" if seen.repeats > 1 else ""
    text = f"{pluralize(queries, 'query', 'queries')}{each}, written to {args.write_baseline}."
    data = {
        "schema": "assay/baseline-written/1",
        "file": args.write_baseline,
        "repeats": seen.repeats,
        "queries": queries,
    }
    emit(args, Document("assay gate: baseline written", (Paragraph(text),)), data)
    return 0


def _gate(args: argparse.Namespace, runs: list[Run]) -> Gate:
    from assay.report.comparison import compare_evidence, compare_within
    from assay.report.evidence import gather
    from assay.report.gate import judge_gate, parse_threshold, threshold_measures

    floors = [parse_threshold(text) for text in args.require]
    if args.made_by:
        _check_made(Path(args.made_by))
    found, name = _read(args.results or [_RESULTS])
    runs += found
    claim = claim_for(runs[0], args)
    log_look(args, runs[0], "gate")
    measures = tuple(dict.fromkeys((*claim.measures, *threshold_measures(floors, runs[0].k))))
    old = _old(args, runs[0], claim.measures)
    seen = gather(runs, measures, name)
    comparison = None
    if old is not None:
        comparison = compare_evidence(old, seen, claim, args.engine, moved=args.allow_changed_corpus)
    elif args.baseline or not floors:
        comparison = compare_within(seen, claim, args.engine)
    return judge_gate(seen, claim, floors, comparison, engine=args.engine, strict=args.strict, old=old)


def _check_made(path: Path) -> None:
    """Raise what the run ended with: results that lie there are then those of an earlier one."""
    import json

    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        data = {}
    if not isinstance(data, dict) or "schema" not in data:
        raise SetupError("the run wrote no result", file=path, hint="its log says why")
    if data["schema"] == "assay/error/1":
        raise _of_run(data)


def _of_run(data: Mapping[str, object]) -> AssayError:
    file, line, hint, code = (data.get(key) for key in ("file", "line", "hint", "exit_code"))
    made = AssayError(
        f"the run failed: {data.get('message') or data.get('error')}",
        file=file if isinstance(file, str) else None,
        line=line if isinstance(line, int) else None,
        hint=hint if isinstance(hint, str) else None,
    )
    made.exit_code = code if isinstance(code, int) else AssayError.exit_code
    return made


def _old(args: argparse.Namespace, run: Run, measures: Sequence[str]) -> QueryScores | None:
    from assay.report.baseline import read_baseline
    from assay.report.comparison import require_comparable
    from assay.report.evidence import gather

    if not args.against:
        return None
    reject_flags(args, "two runs", "baseline")
    files = [place for place in args.against if Path(place).is_file()]
    if files and len(args.against) > 1:
        raise ConfigError("a baseline file stands alone", hint="name one file, or folders only")
    if files:
        return read_baseline(Path(files[0]))
    for place in map(Path, args.against):
        if place.suffix == ".json" and not place.exists():
            hint = f"make one with `assay gate FOLDER --write-baseline {place}`, from the run to compare with"
            raise ConfigError("there is no such baseline file", file=place, hint=hint)
    old, name = _read(args.against)
    require_comparable(old[0], run, moved=args.allow_changed_corpus)
    return gather(old, measures, name)


def _read(places: Sequence[str]) -> tuple[list[Run], str]:
    from assay.experiment.records.directory import repeats_in

    folders = [str(folder) for place in places for folder in (repeats_in(Path(place)) or (place,))]
    runs = [read_results(folder) for folder in folders]
    return runs, places[0] if len(runs) == 1 else f"{places[0]} ×{len(runs)}"


def _stage(args: argparse.Namespace) -> JobOutput:
    import os

    from assay.report.github import JobOutput, place_in_checkout, read_context

    places = [place_in_checkout(os.environ, place) for place in args.results or [_RESULTS]]
    subject = "\0".join([*places, args.engine or ""])
    return JobOutput(read_context(os.environ, subject), warn, comment=not args.no_comment)


def _tell_gate(args: argparse.Namespace, gate: Gate, runs: Sequence[Run]) -> None:
    if not args.github:
        return
    from assay.report.github import gate_page, of_gate, publish

    publish(_stage(args), gate_page(gate), of_gate(gate, _places(runs[0])))


def _tell_error(args: argparse.Namespace, error: AssayError) -> None:
    if not args.github:
        return
    from assay.report.github import error_page, of_error, publish

    publish(_stage(args), error_page(error), [of_error(error, "assay gate")])


def _places(run: Run) -> dict[tuple[str, str], AnnotationLine]:
    from assay.report.github import AnnotationLine

    return {
        (gold.name, query.id): AnnotationLine(gold.source, query.line)
        for gold in run.suite.golds
        for query in gold.queries
    }
