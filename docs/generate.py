"""Write docs/commands.md from the program itself; a test fails when the page and the program differ."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from assay.cli.main import build_parser

PAGE = Path(__file__).parent / "commands.md"
_HEAD = "# Commands\n\nMade by `make docs` from the program; edit the program.\n"


def page() -> str:
    """Collect the help of every command."""
    os.environ["COLUMNS"] = "100"  # argparse folds its help at the terminal's width
    parser = build_parser()
    actions = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    parts = [_HEAD, _block("assay", parser)]
    parts += [_block(f"assay {name}", command) for name, command in actions[0].choices.items()]
    return "\n".join(parts)


def _block(name: str, parser: argparse.ArgumentParser) -> str:
    """Show one command's help."""
    return f"## {name}\n\n```text\n{parser.format_help().strip()}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
