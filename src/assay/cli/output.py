"""Command output: results to stdout, progress to stderr."""

from __future__ import annotations

import argparse
import gc
import io
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.experiment import Progress
    from assay.report.render.document import Document
    from assay.search.trace import Snippet
    from assay.types import Hit


def emit(args: argparse.Namespace, document: Document, data: Mapping[str, object]) -> None:
    """Print a result: the document for people, or its data as JSON."""
    if args.json:
        from assay.report.render.text import plain

        print(quoted(json.dumps(plain(data), ensure_ascii=False, indent=1, allow_nan=False)))  # noqa: T201  # stdout is the result
        return
    from assay.report.render.terminal import print_document

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
    from assay.report.render.text import escape_commands

    return escape_commands(text)


def info(args: argparse.Namespace, text: str) -> None:
    """Tell something on stderr, unless asked to be quiet."""
    if not args.quiet:
        print(fit_for(args, text), file=sys.stderr, flush=True)  # noqa: T201  # stderr is for people who wait


def warn(text: str) -> None:
    """Tell on stderr what must not be missed, quiet or not."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201  # stderr is for what is not the result


def progress_callback(args: argparse.Namespace) -> Callable[[Progress], None] | None:
    """Make the function that shows a run's progress: a moving line on a terminal, a line a step elsewhere."""
    if args.quiet:
        return None
    return _moving if sys.stderr.isatty() else _steps


def _moving(progress: Progress) -> None:
    last = progress.step in ("search", "cells") and progress.done == progress.total
    ends = progress.step == "trouble" or last
    end = "\n" if ends else ""
    sys.stderr.write(f"\r\033[K{_words(progress)}{end}")
    sys.stderr.flush()


def _steps(progress: Progress) -> None:
    if progress.step != "search" or progress.done == progress.total:
        print(_words(progress), file=sys.stderr, flush=True)  # noqa: T201  # stderr is for people who wait


def _words(progress: Progress) -> str:
    if progress.step == "corpus":
        return f"{progress.gold}: reading the corpus"
    if progress.step == "index":
        return f"{progress.engine}: opening on {progress.gold}"
    if progress.step == "trouble":
        return f"{progress.engine}: {progress.trouble}"
    if progress.step == "cells":
        return f"{progress.done}/{progress.total} cells{f', last on {progress.gold}' if progress.gold else ''}"
    return f"{progress.engine}: {progress.done}/{progress.total} queries of {progress.gold}"


def pluralize(number: int, thing: str, things: str = "") -> str:
    """Count things: 1 item, 2 items."""
    return f"{number} {thing if number == 1 else things or thing + 's'}"


@dataclass(frozen=True, slots=True)
class ResultLayout:
    """How wide and how long."""

    lines: int = 6  # of a result: ten results are read in one look
    piped: int = 240  # columns where there is no terminal: code fits, a minified file does not flood
    tab: int = 4
    number: int = 6  # columns of a line number


LAYOUT: Final = ResultLayout()


@dataclass(frozen=True, slots=True)
class ResultPrinter:
    """Where results are shown."""

    width: int
    colour: bool

    def paint(self, text: str, code: str) -> str:
        """Colour a text, where colours are wanted."""
        return f"\033[{code}m{text}\033[0m" if self.colour else text

    def bold(self, text: str) -> str:
        """Make a text stand out."""
        return self.paint(text, "1")

    def dim(self, text: str) -> str:
        """Make a text stand back."""
        return self.paint(text, "2")

    def match(self, text: str) -> str:
        """Mark a word that was asked for."""
        return self.paint(text, "1;33")


def page() -> ResultPrinter:
    """Look at where stdout goes."""
    from assay.terminal import detect_terminal

    terminal = detect_terminal(sys.stdout, LAYOUT.piped)
    return ResultPrinter(terminal.width, terminal.color)


def show_hit(
    page: ResultPrinter, rank: int, hit: Hit, excerpt: Snippet | None, weights: Mapping[str, float]
) -> Iterator[str]:
    """Write a result as lines."""
    yield headline(page, rank, hit)
    if excerpt is not None:
        for number, line in enumerate(excerpt.lines, start=excerpt.start):
            label = page.dim(f"{number:>{LAYOUT.number}} │ ")
            yield label + _marked(page, fit(line, page.width - LAYOUT.number - 3), weights)


def headline(page: ResultPrinter, rank: int, hit: Hit, more: str = "") -> str:
    """Write where a result is, and how good."""
    score = "" if hit.score is None else page.dim(f"  {hit.score:.3f}")
    return f"{rank:>3}  {page.bold(clean(str(hit.span)))}{score}{more}"


def _marked(page: ResultPrinter, line: str, weights: Mapping[str, float]) -> str:
    if not page.colour or not weights:
        return line
    from assay.search.trace import matched_words

    for start, end in reversed(matched_words(line, weights)):
        line = line[:start] + page.match(line[start:end]) + line[end:]
    return line


def clean(text: str) -> str:
    """Take out what would act on a terminal instead of being shown on it."""
    text = text.expandtabs(LAYOUT.tab)
    return text if text.isprintable() else "".join(char if char.isprintable() else "�" for char in text)


def fit(line: str, room: int) -> str:
    """Cut a line at so many columns; wide characters take two."""
    from rich.cells import cell_len, set_cell_size

    line = clean(line[: room * LAYOUT.tab + 1])  # no more can be seen, and a line may have megabytes
    return line if cell_len(line) <= room else set_cell_size(line, room - 1).rstrip() + "…"


def check_lines(count: int) -> int:
    """Refuse fewer lines than none."""
    if count < 0:
        raise ConfigError(f"--lines {count}", hint="it is 0 (no snippets) or more")
    return count


@contextmanager
def without_collecting() -> Iterator[None]:
    """Look for no garbage meanwhile: records hold no cycles, and looking for some takes a fifth of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
