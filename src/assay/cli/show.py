"""Show one query: its targets and two rankings side by side.

assay show results tax-lookup                       the baseline and the best rival of it
assay show results "which percentage is charged"    by a part of its text that no other query has
assay show results tax-lookup --engines builtin mine --form keyword
assay show results-old results-new tax-lookup       the same engine in two runs (--engine NAME)
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.options import Once, log_look, read_results
from assay.cli.output import emit
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.report.show import ShownEngine
    from assay.types import AnalysisPlan, Run

#: Where a run lies when nobody says.
_USUAL = "results"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this command."""
    parser.usage = "assay show [RESULTS [RESULTS]] QUERY [--engines A B] [--engine NAME] [--form F] [--json]"
    parser.add_argument(
        "words", nargs="+", metavar="QUERY", help="its id or a part of its text; before it a run (results), or two"
    )
    parser.add_argument("--engines", nargs=2, metavar=("A", "B"), help="whose rankings (baseline and best rival)")
    parser.add_argument(
        "--engine", action=Once, metavar="NAME", help="this engine alone; of two runs, the one that is compared"
    )
    parser.add_argument("--form", metavar="F", help="the phrasing (the one its score is about)")


def handle(args: argparse.Namespace) -> int:
    """Find the query, show it."""
    from assay.experiment.records.folder import is_run
    from assay.experiment.spec.model import claim_of
    from assay.gold.split import SEALED, part_of
    from assay.report.show import find_query, no_query, show_document, show_json, show_query

    folders, wanted = _words(args.words)
    if is_run(Path(wanted)):
        raise no_query(read_results(wanted), wanted)
    if args.engine and args.engines:
        raise ConfigError("--engine and --engines", hint="name one engine or two")
    runs = [read_results(folder) for folder in folders]
    claim = claim_of(runs[-1])
    found = find_query(runs[-1], wanted)
    subjects = _subjects(args, runs, folders, claim)
    measures = tuple(dict.fromkeys((*claim.measures, *found.query.measures)))
    shown = show_query(subjects, found.gold, found.query, args.form or found.form, claim, measures)
    if part_of(found.query) == SEALED:
        log_look(args, runs[-1], "show")
    emit(args, show_document(shown), show_json(shown))
    return 0


def _words(words: list[str]) -> tuple[list[str], str]:
    if len(words) > 3:
        raise ConfigError("several words", hint='put the query into quotes: assay show results "a part of its text"')
    return words[:-1] or [_USUAL], words[-1]


def _subjects(args: argparse.Namespace, runs: list[Run], folders: list[str], claim: AnalysisPlan) -> list[ShownEngine]:
    from assay.report.show import ShownEngine

    if len(runs) == 2:
        names = args.engines or [args.engine or _shared(runs, claim)] * 2
        told = [f"{name} ({folder})" for name, folder in zip(names, folders, strict=True)]
        return [ShownEngine(*three) for three in zip(told, names, runs, strict=True)]
    names = args.engines or ([args.engine] if args.engine else _pair(runs[0], claim))
    return [ShownEngine(name, name, runs[0]) for name in dict.fromkeys(names)]


def _pair(run: Run, claim: AnalysisPlan) -> list[str]:
    from assay.report.analysis import challenger_of

    return list(dict.fromkeys((claim.baseline, challenger_of(run, claim))))


def _shared(runs: list[Run], claim: AnalysisPlan) -> str:
    old, new = ([engine.name for engine in run.engines] for run in runs)
    best = _pair(runs[1], claim)[-1]
    if best in old:
        return best
    both = [name for name in new if name in old]
    if not both:
        raise ConfigError("the runs share no engine", hint="name one of each with --engines A B")
    return both[0]
