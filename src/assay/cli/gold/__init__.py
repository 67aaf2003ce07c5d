"""Create and maintain gold sets.

assay gold lint gold.yaml                     what is wrong with a set; --fix repairs what is certain
assay gold mine . --set gold.yaml             propose queries, wrong answers and phrasings
assay gold review gold.yaml --as ann          vote on proposals, settle them, accept them
assay gold split gold.yaml                    dev, test and sealed parts
assay gold reanchor gold.yaml --to HEAD       follow the code from one commit to another

docs/tutorials/write-gold.md goes through all of it on a real repository.
"""

from __future__ import annotations

import argparse

from assay.cli.actions import add_actions, dispatch
from assay.cli.gold import agreement, convert, lint, looks, mine, pool, reanchor, review, split, synth

_ACTIONS = (lint, mine, review, agreement, pool, split, looks, reanchor, convert, synth)

handle = dispatch


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions, each named as its module."""
    add_actions(parser, {module.__name__.rpartition(".")[2]: module for module in _ACTIONS})
