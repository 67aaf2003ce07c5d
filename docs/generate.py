"""Write the reference pages from the program itself; a test fails when a page and the program differ."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path

from assay.cli.main import build_parser
from assay.engines.pages import describe
from assay.scoring import MEASURES
from assay.search.pages import config_schema

FOLDER = Path(__file__).parent
_MADE = "Made by `make docs` from the program; edit the program."


def commands() -> str:
    """Collect the help of every command."""
    os.environ["COLUMNS"] = "100"  # argparse folds its help at the terminal's width
    parser = build_parser()
    parts = ["# Commands", _MADE, *_blocks("assay", parser)]
    return "\n\n".join(parts) + "\n"


def _blocks(name: str, parser: argparse.ArgumentParser) -> list[str]:
    """Show a command's help, and that of the commands below it."""
    actions = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    below = [
        block for a in actions for key, command in a.choices.items() for block in _blocks(f"{name} {key}", command)
    ]
    return [_block(name, parser), *below]


def _block(name: str, parser: argparse.ArgumentParser) -> str:
    """Show one command's help."""
    return f"## {name}\n\n```text\n{parser.format_help().strip()}\n```"


def engines() -> str:
    """Describe every kind of engine with its settings."""
    parts = ["# Engines", _MADE, _ENGINES]
    for page in describe():
        parts.append(f"## {page.name}\n\n{page.about}")
        if page.settings:
            rows = [f"| `{s.name}` | {s.type} | {_code(s.default)} | {s.about} |" for s in page.settings]
            parts.append("\n".join(["| setting | type | default | meaning |", "|---|---|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


_ENGINES = """\
An engine is named on the command line as `--engine NAME=kind:value`, or in assay.toml as a table:

```toml
[engines.mine]
kind = "command"
argv = ["my-search", "--limit", "{k}", "--", "{query}"]
```

No shell is used: write `["sh", "-c", "..."]` if you want one. Relative paths start at the folder of assay.toml."""


def _code(text: str | None) -> str:
    """Write a default as code, or nothing."""
    return f"`{text}`" if text else ""


def measures() -> str:
    """Describe every measure with its settings."""
    rows = []
    for name, measure in MEASURES.items():
        settings = ", ".join(f"`{p.name}`: {p.expects}" for p in measure.kind.params)
        cut = f"{name}@k" if measure.kind.cutoff else name
        rows.append(f"| `{cut}` | {measure.about} | {settings} |")
    table = ["| measure | what it says | settings |", "|---|---|---|", *rows]
    return "\n\n".join(["# Measures", _MADE, "\n".join(table)]) + "\n"


def search_schema() -> str:
    """Describe the settings of a search for editors."""
    return json.dumps(config_schema(), indent=2, ensure_ascii=False) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "commands.md": commands,
    "engines.md": engines,
    "measures.md": measures,
    "../src/assay/data/schemas/search.schema.json": search_schema,
}


if __name__ == "__main__":
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding="utf-8")
