"""Flags that several commands share, and what becomes of them."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.experiment.spec import Spec
    from assay.report.explorer.settings import PagePlan
    from assay.types import Claim, Run, Suite


class Once(argparse.Action):
    """Store a value, and refuse a second one instead of dropping the first."""

    def __call__(
        self,
        _parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        _option: str | None = None,
    ) -> None:
        """Store the value."""
        if getattr(namespace, self.dest) is not None:
            raise argparse.ArgumentError(self, "is given twice; name one, or leave it out for all")
        setattr(namespace, self.dest, values)


#: The flags that say which claim is made.
_CLAIM: Mapping[str, Mapping[str, Any]] = {
    "measure": {"action": "append", "metavar": "M", "help": "a measure such as nDCG@10 (repeatable)"},
    "primary": {"metavar": "M", "help": "the measure verdicts are about"},
    "baseline": {"metavar": "ENGINE", "help": "the engine the others are compared with"},
    "margin": {"type": float, "metavar": "X", "help": "smallest difference that matters (0.02)"},
    "alpha": {"type": float, "metavar": "X", "help": "error rate of the verdicts (0.05)"},
    "family": {"metavar": "LIST", "help": "engines that get a verdict, by commas; globs too (all)"},
    "cluster-by": {"metavar": "UNIT", "help": "drawn independently: auto, repository, intent, tag:NAME"},
    "seed": {"type": int, "metavar": "N", "help": "seed of every random draw (0)"},
}
#: Their names, as a program has them.
CLAIM = tuple(flag.replace("-", "_") for flag in _CLAIM)
#: Those that mean something where the engines to compare are chosen otherwise.
JUDGING = ("primary", "margin", "alpha", "cluster-by", "seed")


def add_claim(parser: argparse.ArgumentParser, flags: Sequence[str] = tuple(_CLAIM)) -> None:
    """Add the flags that say which claim is made, or some of them."""
    group = parser.add_argument_group("the claim")
    for flag in flags:
        group.add_argument(f"--{flag}", **_CLAIM[flag])


def add_full(parser: argparse.ArgumentParser) -> None:
    """Add the flag that prints every section."""
    parser.add_argument("--full", action="store_true", help="print every section that report.html has")


def add_page(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say what report.html holds."""
    parser.add_argument("--max-size", metavar="SIZE", help="the most that report.html may have (3MB)")
    parser.add_argument("--no-source", action="store_true", help="put no line of source into report.html")


def page_flags(args: argparse.Namespace, spec: Spec | None = None) -> PagePlan:
    """Say how report.html is made: by the flags, then by [report] of an assay.toml, this folder's if none is given."""
    from assay.cli.common.specs import declared
    from assay.report.explorer.settings import page_plan

    return page_plan(
        spec or declared(None),
        max_size=getattr(args, "max_size", None),
        no_source=getattr(args, "no_source", False),
        traces=getattr(args, "traces", None),
    )


def claim_flags(args: argparse.Namespace) -> dict[str, Any]:
    """Collect the claim flags that the command has; None where one was not given."""
    names = {"measures": "measure", "primary": "primary", "baseline": "baseline", "margin": "margin"}
    names |= {"alpha": "alpha", "seed": "seed", "cluster": "cluster_by"}
    given = {key: getattr(args, flag, None) for key, flag in names.items()}
    return given | {"measures": tuple(given["measures"]) if given["measures"] else None}


def family_flag(args: argparse.Namespace, names: Sequence[str]) -> tuple[str, ...] | None:
    """Read the engines that --family names; None where it was not given."""
    from assay.experiment.spec.claim import split_names

    text = getattr(args, "family", None)
    return None if text is None else split_names(text, names)


def given_flags(args: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Collect the flags that were given; the others keep the default of the record they are for."""
    return {name: getattr(args, name) for name in names if getattr(args, name) is not None}


def typed(args: argparse.Namespace, *names: str) -> list[str]:
    """Write flags that were given as they are typed again."""
    words: list[str] = []
    for name, value in given_flags(args, *names).items():
        flag = f"--{name.replace('_', '-')}"
        values = value if isinstance(value, list) else [value]
        words += [flag] * (value is True) if isinstance(value, bool) else [w for v in values for w in (flag, str(v))]
    return words


def claim_for(run: Run, args: argparse.Namespace) -> Claim:
    """Take the claim that a run was made for, changed by the flags given now."""
    from assay.experiment.spec.claim import changed, check_claim, check_suite, claim_of, resolved_family

    names = [*(engine.name for engine in run.engines), *run.header.skipped]
    claim = changed(claim_of(run), run.k, **claim_flags(args))
    family = family_flag(args, names)
    if family is not None:
        claim = replace(claim, family=resolved_family(family, names, claim.baseline))
    check_suite(claim.cluster, run.suite)
    return check_claim(claim, run.k, names)


def refuse(args: argparse.Namespace, what: str, *flags: str) -> None:
    """Refuse flags that mean nothing here: a flag without an effect is worse than none."""
    for flag in flags:
        if getattr(args, flag) is not None:
            raise ConfigError(f"--{flag.replace('_', '-')} means nothing for {what}", hint="leave it out")


def read_results(text: str) -> Run:
    """Read the run in a folder."""
    from assay.experiment import read_run

    path = Path(text)
    if not path.is_dir():
        what = "is a file, not a folder of results" if path.exists() else "no such folder"
        raise ConfigError(what, file=path, hint="name the folder that `assay run --out` wrote")
    return read_run(path)


def split_today(suite: Suite) -> Suite:
    """Give the queries of a run the parts that their sets have now: a run from before the split tells no less."""
    from assay.gold.loading import set_today
    from assay.gold.split import TAG, part_of

    golds = []
    for gold in suite.golds:
        now = set_today(gold)
        parts = {query.id: part_of(query) for query in now.queries} if now else {}
        tagged = [replace(q, tags={**q.tags, TAG: part}) if (part := parts.get(q.id)) else q for q in gold.queries]
        golds.append(replace(gold, queries=tuple(tagged)))
    return replace(suite, golds=tuple(golds))


def log_look(args: argparse.Namespace, run: Run, command: str) -> None:
    """Write down that results on sealed queries are shown once more."""
    from assay.cli.common.output import say
    from assay.gold.loading import log_looks_again
    from assay.gold.split import sealed_queries

    sealed = sum(len(sealed_queries(gold)) for gold in run.suite.golds)
    if sealed and not log_looks_again(run.suite, command, [engine.name for engine in run.engines]):
        say(args, f"{sealed} sealed queries are in this run; their gold file is not here, so the look is not logged")
