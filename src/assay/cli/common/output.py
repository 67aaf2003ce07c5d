"""Where a command's words go: the result to stdout, progress to stderr."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.experiment import Progress
    from assay.report.pages.document import Document


def emit(args: argparse.Namespace, document: Document, data: Mapping[str, object]) -> None:
    """Print a result: the document for people, or its data as JSON."""
    if args.json:
        from assay.report.pages.plain import plain

        print(json.dumps(plain(data), ensure_ascii=False, indent=1, allow_nan=False))  # noqa: T201  # stdout is the result
        return
    from assay.report.pages.terminal import print_document

    print_document(document)


def say(args: argparse.Namespace, text: str) -> None:
    """Tell something on stderr, unless asked to be quiet."""
    if not args.quiet:
        print(text, file=sys.stderr, flush=True)  # noqa: T201  # stderr is for people who wait


def warn(text: str) -> None:
    """Tell on stderr what must not be missed, quiet or not."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201  # stderr is for what is not the result


def teller(args: argparse.Namespace) -> Callable[[Progress], None] | None:
    """Make the function that shows a run's progress: a moving line on a terminal, a line a step elsewhere."""
    if args.quiet:
        return None
    return _moving if sys.stderr.isatty() else _steps


def _moving(progress: Progress) -> None:
    """Rewrite one line of the terminal."""
    last = progress.step in ("search", "cells") and progress.done == progress.total
    ends = progress.step == "trouble" or last
    end = "\n" if ends else ""
    sys.stderr.write(f"\r\033[K{_words(progress)}{end}")
    sys.stderr.flush()


def _steps(progress: Progress) -> None:
    """Print a line where a step begins or ends."""
    if progress.step != "search" or progress.done == progress.total:
        print(_words(progress), file=sys.stderr, flush=True)  # noqa: T201  # stderr is for people who wait


def _words(progress: Progress) -> str:
    """Say where a run is."""
    if progress.step == "corpus":
        return f"{progress.gold}: reading the corpus"
    if progress.step == "index":
        return f"{progress.engine}: opening on {progress.gold}"
    if progress.step == "trouble":
        return f"{progress.engine}: {progress.trouble}"
    if progress.step == "cells":
        return f"{progress.done}/{progress.total} cells{f', last on {progress.gold}' if progress.gold else ''}"
    return f"{progress.engine}: {progress.done}/{progress.total} queries of {progress.gold}"


def counted(number: int, thing: str, things: str = "") -> str:
    """Count things: 1 item, 2 items."""
    return f"{number} {thing if number == 1 else things or thing + 's'}"
