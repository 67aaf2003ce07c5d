"""Where a command's words go: the result to stdout, progress to stderr."""

from __future__ import annotations

import argparse
import io
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

        print(quoted(json.dumps(plain(data), ensure_ascii=False, indent=1, allow_nan=False)))  # noqa: T201  # stdout is the result
        return
    from assay.report.pages.terminal import print_document

    if not for_runner(args):
        print_document(document)
        return
    shown = io.StringIO()
    print_document(document, shown)
    print(fit_for(args, shown.getvalue()), end="")  # noqa: T201  # stdout is the result


def quoted(text: str) -> str:
    """Write JSON so that no runner of GitHub takes a part of it for a command; it says the same."""
    return text.replace("##[", "##\\u005b")


def for_runner(args: argparse.Namespace) -> bool:
    """Tell whether GitHub's runner reads what is printed."""
    return bool(getattr(args, "github", False))


def fit_for(args: argparse.Namespace, text: str) -> str:
    """Give a text as it can be printed: where GitHub's runner reads it, words of others must command nothing."""
    if not for_runner(args):
        return text
    from assay.report.pages.texts import inert

    return inert(text)


def say(args: argparse.Namespace, text: str) -> None:
    """Tell something on stderr, unless asked to be quiet."""
    if not args.quiet:
        print(fit_for(args, text), file=sys.stderr, flush=True)  # noqa: T201  # stderr is for people who wait


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
