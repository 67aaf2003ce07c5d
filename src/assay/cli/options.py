"""Flags that several commands share, and what becomes of them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.gold import TagRule
    from assay.types import Claim, CorpusSpec, Gold, Run, Suite


def add_claim(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say which claim is made."""
    group = parser.add_argument_group("the claim")
    group.add_argument("--measure", action="append", metavar="M", help="a measure such as nDCG@10 (repeatable)")
    group.add_argument("--primary", metavar="M", help="the measure verdicts are about")
    group.add_argument("--baseline", metavar="ENGINE", help="the engine the others are compared with")
    group.add_argument("--margin", type=float, metavar="X", help="smallest difference that matters (0.02)")
    group.add_argument("--alpha", type=float, metavar="X", help="error rate of the verdicts (0.05)")
    group.add_argument("--seed", type=int, metavar="N", help="seed of every random draw (0)")


def add_full(parser: argparse.ArgumentParser) -> None:
    """Add the flag that prints every section."""
    parser.add_argument("--full", action="store_true", help="print every section that report.html has")


def claim_flags(args: argparse.Namespace) -> dict[str, Any]:
    """Collect the claim flags that the command has; None where one was not given."""
    names = {"measures": "measure", "primary": "primary", "baseline": "baseline", "margin": "margin"}
    names |= {"alpha": "alpha", "seed": "seed"}
    given = {key: getattr(args, flag, None) for key, flag in names.items()}
    return given | {"measures": tuple(given["measures"]) if given["measures"] else None}


def claim_for(run: Run, args: argparse.Namespace) -> Claim:
    """Take the claim that a run was made for, changed by the flags given now."""
    from assay.experiment.claim import changed, check_claim, claim_of

    claim = changed(claim_of(run), run.k, **claim_flags(args))
    return check_claim(claim, run.k, [engine.name for engine in run.engines])


def refuse(args: argparse.Namespace, what: str, *flags: str) -> None:
    """Refuse flags that mean nothing here: a flag without an effect is worse than none."""
    for flag in flags:
        if getattr(args, flag) is not None:
            raise ConfigError(f"--{flag} means nothing for {what}", hint="leave it out")


def read_results(text: str) -> Run:
    """Read the run in a folder."""
    from assay.experiment import read_run

    path = Path(text)
    if not path.is_dir():
        raise ConfigError("no such folder", file=path, hint="name the folder that `assay run --out` wrote")
    return read_run(path)


def load_on(
    source: str,
    corpus: CorpusSpec | None,
    *,
    format: str | None = None,  # noqa: A002  # as load_gold has it
    tags: Sequence[TagRule] = (),
) -> Suite:
    """Load gold sets on a corpus named on the command line; each set of a folder names it from its own file."""
    from assay.gold import load_gold

    suite = load_gold(source, format=format, corpus=corpus, tags=tags)
    golds = [replace(gold, corpus=_named_from(gold, corpus)) for gold in suite.golds]
    return replace(suite, golds=tuple(golds))


def _named_from(gold: Gold, given: CorpusSpec | None) -> CorpusSpec:
    """Write the corpus that was given as the file of a set would; one the set names itself stays."""
    own = gold.corpus
    if given is None or gold.source is None or (own.kind, own.value) != (given.kind, given.value):
        return own
    return beside(own, gold.source) or own


def split_today(suite: Suite) -> Suite:
    """Give the queries of a run the parts that their sets have now: a run from before the split tells no less."""
    from assay.gold import load_gold
    from assay.gold.split.parts import TAG, part_of

    golds = []
    for gold in suite.golds:
        here = load_gold(gold.source, corpus=gold.corpus).golds if gold.source and Path(gold.source).is_file() else ()
        parts = {query.id: part_of(query) for now in here if now.name == gold.name for query in now.queries}
        tagged = [replace(q, tags={**q.tags, TAG: part}) if (part := parts.get(q.id)) else q for q in gold.queries]
        golds.append(replace(gold, queries=tuple(tagged)))
    return replace(suite, golds=tuple(golds))


def log_look(args: argparse.Namespace, run: Run, command: str) -> None:
    """Write down that results on sealed queries are shown once more."""
    from assay.cli.output import say
    from assay.gold.split.looks import log_looks
    from assay.gold.split.parts import sealed_queries

    sealed = sum(len(sealed_queries(gold)) for gold in run.suite.golds)
    if sealed and not log_looks(run.suite, command, [engine.name for engine in run.engines]):
        say(args, f"{sealed} sealed queries are in this run; their gold file is not here, so the look is not logged")


def beside(corpus: CorpusSpec | None, source: str) -> CorpusSpec | None:
    """Write a folder named on the command line as the gold file would: relative to itself, the same on any machine."""
    if corpus is None or corpus.kind not in ("path", "git") or "://" in corpus.value or not Path(corpus.value).exists():
        return corpus
    folder = Path(source) if Path(source).is_dir() else Path(source).parent
    return replace(corpus, value=os.path.relpath(corpus.value, folder))
