from __future__ import annotations

import gc
import io
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from assay.report.render.document import Block, Document, Table
    from assay.report.results import Results
    from assay.report.scored_run import ScoredRun
    from assay.search.trace import Snippet
    from assay.types import Hit


def emit(args: Namespace, document: Document, data: Mapping[str, object]) -> None:
    """Print a result: the document, or its data with `--json`."""
    if args.json:
        import json

        from assay.report.render.text import plain

        write_result(quote_json(json.dumps(plain(data), ensure_ascii=False, indent=1, allow_nan=False)))
        return
    from assay.report.render.terminal import print_document

    if not getattr(args, "github", False):
        print_document(document)
        return
    text = io.StringIO()
    print_document(document, text)
    sys.stdout.write(escape(args, text.getvalue()))


def emit_results(
    args: Namespace,
    case: ScoredRun,
    results: Results,
    directory: str,
    blocks: Sequence[Block],
    data: Mapping[str, object],
) -> None:
    """Print a run: with --full its tables, with --verbose its queries, then the card; or its data with --json."""
    from assay.report.costs import cost_blocks
    from assay.report.decision import run_card
    from assay.report.render.document import Code, Document, Paragraph
    from assay.report.rows import skipped_note
    from assay.report.sections import query_lines, references_line, section_blocks

    shown = [*blocks, *(section_blocks(results) if args.full else ())]
    if not args.full and (getattr(args, "measure", None) or getattr(args, "k_values", None)):
        shown.append(_measure_table(results))
    if getattr(args, "times", False) and not args.full:
        shown += cost_blocks(results)
    if args.verbose:
        shown.append(Code("\n".join(query_lines(case, results.decision.candidate.name))))
    notes = (skipped_note(results.rows), "" if args.full else references_line(results))
    shown += [Paragraph(note, "quiet") for note in notes if note and not args.quiet]
    emit(args, Document("", (*shown, run_card(results.decision, directory))), data)


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
    log(escape(args, f"error: {message}\nhint: {hint}" if hint else f"error: {message}"))


def log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201  # stderr is for what is not the result


def quote_json(text: str) -> str:
    """Escape workflow commands of GitHub's runner inside JSON strings; the JSON value stays the same."""
    return text.replace("##[", "##\\u005b")


def escape(args: Namespace, text: str) -> str:
    if not getattr(args, "github", False):
        return text
    from assay.report.render.text import escape_commands

    return escape_commands(text)


def pluralize(number: int, noun: str, plural: str = "") -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


_PIPED_WIDTH: Final = 240  # columns without a terminal: code fits, a minified file does not flood
_TAB: Final = 4
_NUMBER_WIDTH: Final = 6  # columns of a line number


class ResultPrinter(NamedTuple):
    """Width and colors of the terminal that results are printed on."""

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
