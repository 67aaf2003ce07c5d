from __future__ import annotations

import gc
import io
import sys
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

    from assay.experiment import Progress
    from assay.report.render.document import Block, Document, Table
    from assay.report.results_file import Results
    from assay.report.scored_run import ScoredRun
    from assay.search.trace import Snippet
    from assay.types import Hit


def emit(args: Namespace, document: Document, data: Mapping[str, object]) -> None:
    """Print a result: the document, or its data with `--json`."""
    if args.json:
        import json

        from assay.report.render.formatting import plain

        write_result(quote_json(json.dumps(plain(data), ensure_ascii=False, indent=1, allow_nan=False)))
        return
    from assay.report.render.terminal_text import print_document

    if not getattr(args, "github", False):
        print_document(document)
        return
    text = io.StringIO()
    print_document(document, text)
    sys.stdout.write(escape(args, text.getvalue()))


def emit_results(
    args: Namespace,
    scored: ScoredRun,
    results: Results,
    directory: str,
    blocks: Sequence[Block],
    data: Mapping[str, object],
) -> None:
    """Print the card of a run, after its tables (--full) and queries (--verbose), or its data as JSON (--json)."""
    from assay.report.comparison_text import run_card
    from assay.report.render.document import Code, Document, Paragraph
    from assay.report.report_sections import cost_blocks, query_lines, references_line, section_blocks
    from assay.report.rows_file import skipped_note

    shown = [*blocks, *(section_blocks(results) if args.full else ())]
    if not args.full and (getattr(args, "measure", None) or getattr(args, "k_values", None)):
        shown.append(_measure_table(results))
    if getattr(args, "times", False) and not args.full:
        shown += cost_blocks(results)
    if args.verbose:
        shown.append(Code("\n".join(query_lines(scored, results.decision.candidate.name))))
    notes = (skipped_note(results.rows), "" if args.full else references_line(results))
    shown += [Paragraph(note, "quiet") for note in notes if note and not args.quiet]
    emit(args, Document("", (*shown, run_card(results.decision, directory, full=args.full))), data)


_MEASURE_ROWS: Final = 6  # with the card, the output has at most 15 lines


def _measure_table(results: Results) -> Table:
    """Return the requested measures of the compared engines; the cutoffs of one measure share a row."""
    from assay.report.render.document import table
    from assay.report.scored_run import labeled_measure
    from assay.scoring import parse_measure

    decision = results.decision
    engines = [engine.name for engine in (decision.baseline, decision.candidate) if engine]
    means = {(row.measure, row.engine): f"{row.mean:.3f}" for row in results.comparison.means}
    rows: dict[str, dict[str, str]] = {}
    for name in results.measures:
        measure = parse_measure(name)
        cutoff = f"@{measure.k}" if measure.k else ""
        values = " → ".join(means.get((name, engine), "–") for engine in engines)
        rows.setdefault(labeled_measure(name).replace(cutoff, "", 1), {})[cutoff] = values
    cutoffs = sorted({cutoff for row in rows.values() for cutoff in row}, key=lambda text: int(text[1:] or 0))
    cells = [[label, *(row.get(cutoff, "") for cutoff in cutoffs)] for label, row in rows.items()]
    more = len(cells) - _MEASURE_ROWS
    note = f"{' → '.join(engines)}" + (f"; {more} more measures: --full" if more > 0 else "")
    return table(["Measure", *(f">{cutoff or 'Value'}" for cutoff in cutoffs)], cells[:_MEASURE_ROWS], note)


def emit_blocks(args: Namespace, title: str, blocks: Iterable[Block | str], data: Mapping[str, object]) -> None:
    """Print a result whose document has these blocks; a string is a paragraph."""
    from assay.report.render.document import Document, Paragraph

    shown = (Paragraph(block) if isinstance(block, str) else block for block in blocks)
    emit(args, Document(title, tuple(shown)), data)


def write_result(text: str) -> None:
    print(text, flush=True)  # noqa: T201  # stdout is the result


def info(args: Namespace, text: str) -> None:
    """Print progress on stderr, unless --quiet is given."""
    if not args.quiet:
        log(escape(args, text))


def warn(text: str) -> None:
    """Print a warning on stderr, even with --quiet."""
    log(f"warning: {text}")


def print_error(args: Namespace, message: str, hint: str | None = None) -> None:
    """Print an error on stderr, and its hint on the next line."""
    text = f"error: {message}\nhint: {hint}" if hint else f"error: {message}"
    log(escape(args, "\n".join(map(clean, text.split("\n")))))


def log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201  # stderr is for what is not the result


def quote_json(text: str) -> str:
    """Escape workflow commands of GitHub's runner inside JSON strings; the JSON value stays the same."""
    return text.replace("##[", "##\\u005b")


def escape(args: Namespace, text: str) -> str:
    if not getattr(args, "github", False):
        return text
    from assay.report.render.formatting import escape_commands

    return escape_commands(text)


def pluralize(number: int, noun: str, plural: str = "") -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


_PIPED_WIDTH: Final = 240  # columns without a terminal: code fits, a minified file does not flood
_TAB: Final = 4
_NUMBER_WIDTH: Final = 6  # columns of a line number


class ResultPrinter(NamedTuple):
    width: int
    color: bool

    def paint(self, text: str, code: str) -> str:
        return f"\033[{code}m{text}\033[0m" if self.color else text

    def bold(self, text: str) -> str:
        return self.paint(text, "1")

    def dim(self, text: str) -> str:
        return self.paint(text, "2")


def result_printer() -> ResultPrinter:
    from assay.terminal import detect_terminal

    terminal = detect_terminal(sys.stdout, _PIPED_WIDTH)
    return ResultPrinter(terminal.width, terminal.color)


def format_hit(
    printer: ResultPrinter, rank: int, hit: Hit, snippet: Snippet | None, weights: Mapping[str, float]
) -> Iterator[str]:
    """Return the lines of a search result: its headline and its snippet with the matched words marked."""
    from assay.search.trace import matched_words

    yield format_headline(printer, rank, hit)
    if snippet is None:
        return
    for number, line in enumerate(snippet.lines, start=snippet.start):
        text = fit(line, printer.width - _NUMBER_WIDTH - 3)
        for start, end in reversed(matched_words(text, weights) if printer.color and weights else ()):
            text = text[:start] + printer.paint(text[start:end], "1;33") + text[end:]
        yield printer.dim(f"{number:>{_NUMBER_WIDTH}} │ ") + text


def format_headline(printer: ResultPrinter, rank: int, hit: Hit) -> str:
    score = "" if hit.score is None else printer.dim(f"  {hit.score:.3f}" if hit.score > 0 else "  no match")
    return f"{rank:>3}  {printer.bold(clean(str(hit.span)))}{score}"


def clean(text: str) -> str:
    """Replace control characters, which a terminal would execute."""
    text = text.expandtabs(_TAB)
    return text if text.isprintable() else "".join(char if char.isprintable() else "�" for char in text)


def fit(line: str, width: int) -> str:
    """Shorten a line to a number of columns; wide characters take two."""
    line = clean(line[: width * _TAB + 1])  # a line may have megabytes
    if line.isascii():
        return line if len(line) <= width else line[: width - 1].rstrip() + "…"
    from rich.cells import cell_len, set_cell_size

    return line if cell_len(line) <= width else set_cell_size(line, width - 1).rstrip() + "…"


@contextmanager
def paused_gc() -> Iterator[None]:
    """Pause garbage collection: run records hold no cycles, and collecting takes a fifth of the reading time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


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
    from assay.terminal import detect_terminal

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
