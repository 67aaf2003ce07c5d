"""Flags that several commands share, and how they become a specification."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.experiment.spec import Spec
    from assay.types import Run


def add_claim(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say which claim is made."""
    group = parser.add_argument_group("the claim")
    group.add_argument("--measure", action="append", metavar="M", help="a measure such as nDCG@10 (repeatable)")
    group.add_argument("--primary", metavar="M", help="the measure verdicts are about")
    group.add_argument("--baseline", metavar="ENGINE", help="the engine the others are compared with")
    group.add_argument("--margin", type=float, metavar="X", help="smallest difference that matters (0.02)")
    group.add_argument("--alpha", type=float, metavar="X", help="error rate of the verdicts (0.05)")
    group.add_argument("--seed", type=int, metavar="N", help="seed of every random draw (0)")


def claim(args: argparse.Namespace) -> dict[str, object]:
    """Collect the claim flags that were given."""
    return {
        "measures": tuple(args.measure) if args.measure else None,
        "primary": args.primary,
        "baseline": args.baseline,
        "margin": args.margin,
        "alpha": args.alpha,
        "seed": args.seed,
    }


def spec_of_run(run: Run, args: argparse.Namespace) -> Spec:
    """Take the claim that a run was made for, changed by the flags given now."""
    from assay.experiment.spec import from_run, override

    return override(from_run(run), **claim(args))


def existing_folder(text: str) -> Path:
    """Read a run folder's name."""
    path = Path(text)
    if not path.is_dir():
        raise ConfigError("no such folder", file=path, hint="name the folder that `assay run --out` wrote")
    return path
