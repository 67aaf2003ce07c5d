"""The page about commands: the help of each."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from assay.cli.main import build_parser
from docs.engines_page import MADE


def commands() -> str:
    """Collect the help of every command."""
    os.environ["COLUMNS"] = "100"  # argparse folds its help at the terminal's width
    shown = [f"## {name}\n\n```text\n{parser.format_help().strip()}\n```" for name, parser in _all()]
    return "\n\n".join(["# Commands", MADE, *shown]) + "\n"


def _all() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Walk over all commands."""
    return every_command("assay", build_parser())


def every_command(name: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Give a command, then those below it."""
    yield name, parser
    for action in parser._actions:
        for key, below in action.choices.items() if isinstance(action, argparse._SubParsersAction) else ():
            yield from every_command(f"{name} {key}", below)
