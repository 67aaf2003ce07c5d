"""Run engines over a gold set and report what can be claimed.

With an assay.toml in this folder (or --config) its settings are used and flags override them;
without one, flags alone are enough:

  assay run --gold stdlib
  assay run --gold gold.yaml --engine mine="command:my-search --json {query}"
  assay run --gold octocode/code.csv --corpus git:../octocode@b1771ba --tag difficulty=hard:101-127
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.options import add_claim, add_full, claim_flags
from assay.cli.output import counted, emit, say, teller

if TYPE_CHECKING:
    from assay.experiment.spec import Spec
    from assay.types import Run, Suite


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this command."""
    parser.add_argument("--config", metavar="FILE", help="an assay.toml (default: the one in this folder, if any)")
    parser.add_argument("--gold", action="append", metavar="PATH", help="gold file or folder, or 'stdlib' (repeatable)")
    parser.add_argument("--corpus", metavar="SPEC", help="folder, stdlib, git:URL@REV, pypi:NAME==V, npm:NAME@V")
    parser.add_argument("--tag", action="append", metavar="K=V:ROWS", help="tag rows of a CSV: difficulty=hard:101-127")
    parser.add_argument(
        "--engine", action="append", metavar="[NAME=]SPEC", help="of assay.toml, a preset, command:…, …"
    )
    parser.add_argument("-k", type=int, metavar="N", help="results asked for and scored (10)")
    parser.add_argument("--forms", metavar="LIST", help="phrasings to ask, by commas (all)")
    parser.add_argument("--split", metavar="LIST", help="parts of a divided set, by commas (all but sealed)")
    parser.add_argument("--timeout", type=float, metavar="S", help="seconds for one query (60)")
    parser.add_argument("--threads", type=int, metavar="N", help="processors that every engine has (all there are)")
    parser.add_argument(
        "--one-at-a-time", action="store_true", help="open one engine at a time (they take turns at every question)"
    )
    parser.add_argument("--out", metavar="FOLDER", help="where the run goes (results)")
    parser.add_argument("--no-references", action="store_true", help="leave out random, keywords and oracle")
    parser.add_argument("--allow-missing", action="store_true", help="report targets that are not there and go on")
    add_full(parser)
    add_claim(parser)


def handle(args: argparse.Namespace) -> int:
    """Run, write the records and the reports, print the report."""
    from assay.experiment.suites import load_suite

    spec = _spec(args)
    return execute(args, spec, load_suite(spec), allow_missing=args.allow_missing)


def execute(args: argparse.Namespace, spec: Spec, suite: Suite, *, allow_missing: bool) -> int:
    """Run a checked specification over loaded gold, write the records and the reports, print the report."""
    from assay.experiment import check_folder, write_run, writing
    from assay.experiment.suites import run_spec
    from assay.report import analyse, document, results_json, write_reports

    folder = check_folder(Path(spec.out))
    _tell_sealed(args, spec, suite)
    made = run_spec(spec, suite, missing="report" if allow_missing else None, progress=teller(args))
    with writing(folder):
        write_run(made, folder)
        results = analyse(made, spec.claim())
        write_reports(results, made, folder)
    emit(args, document(results, full=args.full), results_json(results))
    say(args, f"\nwritten to {folder}/: report.html, RESULTS.md, results.json, per-query.csv and the records")
    return 4 if _unopened(made) else 0


def _tell_sealed(args: argparse.Namespace, spec: Spec, suite: Suite) -> None:
    """Say that sealed queries are left out, or that they are looked at."""
    from assay.gold.split.parts import SEALED, select

    chosen = select(suite, spec.split)
    if chosen.sealed:
        sealed = counted(chosen.sealed, "sealed query", "sealed queries")
        say(args, f"{sealed} left out; --split {SEALED} asks them and logs the look")
    elif SEALED in spec.split:
        say(args, "sealed queries are asked: the look is written down beside the set")


def _unopened(made: Run) -> bool:
    """Say whether an engine failed on everything."""
    return any(e.rankings and all(r.status != "ok" for r in e.rankings) for e in made.engines)


def _spec(args: argparse.Namespace) -> Spec:
    """Read the configuration file, if there is one, and apply the flags."""
    from assay.experiment.spec import FILE, Spec, engine_table, override, read_spec

    path = Path(args.config) if args.config else Path(FILE)
    spec = read_spec(path) if args.config or path.is_file() else Spec()
    return override(
        spec,
        **claim_flags(args),
        gold=tuple(args.gold) if args.gold else None,
        corpus=args.corpus,
        tags=tuple(args.tag) if args.tag else None,
        engines=engine_table(args.engine, spec.engines) if args.engine else None,
        k=args.k,
        forms=tuple(f.strip() for f in args.forms.split(",")) if args.forms else None,
        split=tuple(part.strip() for part in args.split.split(",")) if args.split else None,
        timeout=args.timeout,
        threads=args.threads,
        interleave=False if args.one_at_a_time else None,
        out=args.out,
        references=False if args.no_references else None,
    )
