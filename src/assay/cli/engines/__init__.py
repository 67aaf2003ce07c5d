"""List, show and check engines.

assay engines                                 kinds and presets, what is installed and how to get the rest
assay engines show semble > mine.toml         a preset to copy and change: --engine ./mine.toml
assay engines check semble                    one index, three queries, and what was understood of the answers
assay engines ask semble "parse the config"   one query, and the ranking as it came
"""

from __future__ import annotations

import argparse

from assay.cli.actions import add_actions, dispatch
from assay.cli.engines import ask, check, listing, show

handle = dispatch


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions; without one, engines are listed."""
    add_actions(parser, {"list": listing, "show": show, "check": check, "ask": ask}, usual=listing)
