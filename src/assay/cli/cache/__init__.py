"""Show, prune and verify the cache.

assay cache                                     every kind with its size, and when it was used
assay cache prune --to 1GB --older-than 30d     the least recently used go first, never what is in use
assay cache verify                              every artefact against its checksum; removes broken ones (exit code 4)

The cache is $ASSAY_CACHE_DIR, else the user's own. Artefacts (tables, vectors, cells, indexes) keep to
$ASSAY_CACHE_LIMIT by themselves, 10GB where it is not set. What is removed is made or fetched again when it is needed.
"""

from __future__ import annotations

import argparse

from assay.cli.actions import add_actions, dispatch
from assay.cli.cache import looking, pruning, verifying

handle = dispatch


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions; without one, the cache is looked at."""
    add_actions(parser, {"look": looking, "prune": pruning, "verify": verifying}, usual=looking)
