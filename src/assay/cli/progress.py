from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from assay.cli.output import escape, info, pluralize
from assay.terminal import detect_terminal

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

    from assay.experiment import Progress

#: Seconds between two drawings of the bar. No thread draws it, because that would disturb measured engines.
_REDRAW: Final = 0.1
#: Columns of an engine's name beside the bar.
_NAME_WIDTH: Final = 20


@contextmanager
def show_progress(args: Namespace, engines: Collection[str] = ()) -> Iterator[Callable[[Progress], None] | None]:
    """Yield a callback that shows progress, with lines for `engines` (default: all); None with --quiet."""
    if args.quiet:
        yield None
        return
    terminal = detect_terminal(sys.stderr, 0)
    if not terminal.moves:
        lines = _EngineLines(lambda text: info(args, text), engines)
        yield lines.update
        lines.finish()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(
        file=sys.stderr,
        color_system="standard" if terminal.color else None,
        no_color=False,
        highlight=False,
        markup=False,
    )
    with RichProgress(
        *columns, console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
    ) as drawing:
        # lines appear above the bar
        lines = _EngineLines(lambda text: console.print(escape(args, text), soft_wrap=True), engines)
        yield _Bar(drawing, lines).update
        lines.finish()


class _EngineLines:
    """Writer of one line per finished engine and per problem; repeated problems are counted."""

    def __init__(self, write: Callable[[str], None], engines: Collection[str]) -> None:
        self.write = write
        self.engines = engines
        self.golds = 1
        self.totals: Counter[str] = Counter()
        self.finished: Counter[str] = Counter()
        self.seconds: dict[str, float] = {}
        self.problems: Counter[tuple[str, str]] = Counter()

    def update(self, progress: Progress) -> None:
        if progress.step == "trouble":
            self.add_problem(progress)
        elif progress.step == "corpus":
            self.golds = progress.total
        elif progress.step == "search" and progress.done == progress.total:
            self._finish_set(progress)

    def add_problem(self, progress: Progress) -> None:
        key = (progress.engine, progress.trouble.replace(progress.gold, ""))
        self.problems[key] += 1
        if self.problems[key] == 1:
            self.write(str(progress))

    def _finish_set(self, progress: Progress) -> None:
        name = progress.engine
        self.finished[name] += 1
        self.totals[name] += progress.total
        self.seconds[name] = self.seconds.get(name, 0.0) + progress.seconds
        if self.finished[name] == self.golds and (not self.engines or name in self.engines):
            searches = pluralize(self.totals[name], "search", "searches")  # one per phrasing
            seconds = self.seconds[name]
            self.write(f"{name}: {searches} in {seconds:.{1 if seconds >= 1 else 2}f} s")

    def finish(self) -> None:
        for (engine, _), number in self.problems.items():
            if number > 1:
                self.write(f"{engine}: the same on {pluralize(number - 1, 'more gold set')}")


class _Bar:
    """Progress bar over all queries of all engines, or over all cells."""

    def __init__(self, drawing: RichProgress, lines: _EngineLines) -> None:
        self.drawing = drawing
        self.lines = lines
        self.task = drawing.add_task("", total=None)
        self.done: dict[tuple[str, str], int] = {}
        self.totals: dict[tuple[str, str], int] = {}
        self.drawn = 0.0

    def update(self, progress: Progress) -> None:
        if progress.step == "trouble":
            self.lines.add_problem(progress)
        elif progress.step == "corpus":
            self.lines.golds = progress.total
            self._draw(f"reading {progress.gold}", 0, None)
        elif progress.step == "cells":
            self._draw("running", progress.done, progress.total)
        else:
            key = (progress.engine, progress.gold)
            self.done[key], self.totals[key] = progress.done, progress.total
            step = "opening" if progress.step == "index" else "searching"
            self._draw(f"{step} {progress.engine}", sum(self.done.values()), self._expected_total())

    def _expected_total(self) -> int:
        """Return the expected number of queries; gold sets that are not started count as the average of the others."""
        golds = len({gold for _, gold in self.totals})
        return round(sum(self.totals.values()) * max(self.lines.golds, golds) / golds)

    def _draw(self, text: str, done: int, total: int | None) -> None:
        name = text if len(text) <= _NAME_WIDTH else f"{text[: _NAME_WIDTH - 1]}…"
        self.drawing.update(self.task, description=f"{name:<{_NAME_WIDTH}}", completed=done, total=total)
        if time.monotonic() - self.drawn >= _REDRAW:
            self.drawing.refresh()
            self.drawn = time.monotonic()
