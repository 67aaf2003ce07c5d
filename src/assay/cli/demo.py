"""Benchmark the built-in engines on the Python standard library, offline."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from assay.cli.options import add_full
from assay.cli.run import execute


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this command."""
    parser.add_argument("--out", metavar="FOLDER", default="demo-results", help="where the run goes (demo-results)")
    add_full(parser)
    parser.set_defaults(forget=False, parquet=False)  # flags of `assay run` that a demonstration does without


def handle(args: argparse.Namespace) -> int:
    """Run the standard-library set with the shipped engines."""
    from assay.experiment.spec import Spec, check
    from assay.gold import load_gold

    engines: dict[str, Mapping[str, Any] | str] = {
        "builtin": "builtin",
        "whole-file": {"kind": "builtin", "search": {"index": {"chunks": {"kind": "file"}}}},
    }
    spec = check(Spec(gold=("stdlib",), engines=engines, out=args.out))
    return execute(args, spec, load_gold("stdlib"), "report")
