"""Run the rows and write docs/how-we-know/seeds.md.

    python -m benchmarks.seeds                  all rows; writes the page
    python -m benchmarks.seeds karta            the rows of one document, printed
    python -m benchmarks.seeds karta 7 8 -v     some rows with their whole output

ASSAY_BENCH_SEEDS     the folder with the five documents; their sentences are compared with those of the rows
                      default ../shared/seeds
"""

from __future__ import annotations

import argparse
import html
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from assay.files import write_atomic
from benchmarks.pages import Unavailable, table
from benchmarks.quality.sources import PROJECT
from benchmarks.seeds import COUNTS, Outcome, Row, Workspace, rows, setup

PAGE = PROJECT / "docs" / "how-we-know" / "seeds.md"
_TITLES = {"octocode": "octocode", "colgrep": "ColGREP", "pyckle": "Pyckle", "sia-code": "sia-code", "karta": "Karta"}
_WIDEST = 200  # characters of a printed line


def main() -> int:
    """Run the rows that are named; return 0 if all work."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.seeds")
    parser.add_argument("document", nargs="?", choices=list(COUNTS))
    parser.add_argument("number", nargs="*", type=int)
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    chosen = [
        row
        for document in COUNTS
        if options.document in (None, document)
        for row in rows(document)
        if not options.number or row.number in options.number
    ]
    check_sentences(chosen)
    with TemporaryDirectory(prefix="assay-seeds-") as name:
        work = Workspace(Path(name))
        for document in {row.document: None for row in chosen}:
            work.prepare(document)
        with ThreadPoolExecutor(options.workers) as pool:
            outcomes = list(pool.map(lambda row: _run(work, row, options.verbose), chosen))
    good = [one for one in outcomes if isinstance(one, Outcome) and one.works]
    print(f"{len(good)} of {len(outcomes)} work")
    if options.document is None and len(good) == len(outcomes):
        write_atomic(PAGE, page(good))
    return 0 if len(good) == len(outcomes) else 1


def _run(work: Workspace, row: Row, verbose: bool) -> Outcome | Unavailable:
    name = f"{row.document} {row.number}: {row.feature}"
    try:
        outcome = work.run(row)
    except Unavailable as problem:
        print(f"not run   {name}: {problem}", flush=True)
        return problem
    print(f"{'works' if outcome.works else 'FAILS':9} {name}", flush=True)
    if verbose or not outcome.works:
        text = f"$ {row.run}\n{outcome.output}\nexit code {outcome.code}, not printed: {outcome.missing}"
        print("\n".join(f"    {line}" for line in text.splitlines()), flush=True)
    return outcome


def check_sentences(chosen: list[Row]) -> None:
    """Exit if a sentence is not in its document, as far as the documents are on this machine."""
    folder = Path(os.environ.get("ASSAY_BENCH_SEEDS") or PROJECT.parent / "shared" / "seeds")
    texts = [_plain(path.read_text("utf-8")) for path in sorted(folder.glob("*.txt"))]
    if not texts:
        print(f"!! the documents are not in {folder}: sentences are not compared", file=sys.stderr)
        return
    for row in chosen:
        text = texts[list(COUNTS).index(row.document)]
        for part in row.seed.split(" … "):
            if _plain(part) not in text:
                raise SystemExit(f"{row.document} {row.number}: not in the document: {part}")


def _plain(text: str) -> str:
    """Reduce a text to its words, without tags and marks of Markdown."""
    text = re.sub(r"</?(?:code|strong|em)>", "", html.unescape(html.unescape(text)))
    return " ".join(re.sub(r"[`*\\]", "", re.sub(r"<[^>]*>", " ", text)).split())


def page(outcomes: list[Outcome]) -> str:
    """Write the page."""
    commit = subprocess.run(
        ["git", "-C", str(PROJECT), "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    counts = [
        (_TITLES[name], count, sum(one.row.document == name for one in outcomes)) for name, count in COUNTS.items()
    ]
    counts.append(("all", sum(COUNTS.values()), len(outcomes)))
    parts = [
        "# The five documents, line by line",
        _HEAD.format(commit=commit),
        "\n".join(table(("document", "features", "work"), counts)).rstrip(),
    ]
    for document in COUNTS:
        mine = [one for one in outcomes if one.row.document == document]
        parts += [
            f"## {_TITLES[document]}",
            "\n".join(table(("#", "feature", "command", "printed"), [_cells(one) for one in mine])).rstrip(),
            "The files of these commands:",
            f"```text\n{setup(document).strip()}\n```",
        ]
    return "\n\n".join(parts) + "\n"


def _cells(outcome: Outcome) -> tuple[str, str, str, str]:
    row = outcome.row
    limit = f"<br>{row.limit}" if row.limit else ""
    printed = [line if len(line) <= _WIDEST else line[: _WIDEST - 1] + "…" for line in outcome.evidence()]
    if row.code:
        printed.append(f"exit code {row.code}")
    return (
        str(row.number),
        f"**{row.feature}**: “{_escaped(row.seed)}”{limit}",
        "<br>".join(map(_code, row.run.strip().splitlines())),
        "<br>".join(map(_code, printed)),
    )


def _code(text: str) -> str:
    """Write code for a cell: HTML, since Markdown's code cannot hold every character."""
    return f"<code>{_escaped(text)}</code>"


def _escaped(text: str) -> str:
    text = html.escape(text, quote=False)
    for mark in "|*_`[]{}\\":
        text = text.replace(mark, f"&#{ord(mark)};")
    return text


_HEAD = """\
Assay began with five documents about measuring code search: octocode's benchmark, ColGREP's pull request on ranking,
Pyckle's guide, sia-code's benchmark suite and Karta's article on methodology. This page lists every feature they
describe with the command that does the same in Assay and the lines that it printed. `python -m benchmarks.seeds` runs
all of them and writes the page if all work; it was last run at {commit}. `make nightly` runs the rows that need no
fetched repository. `$GOLD` has the published gold sets, `$OCTOCODE` and `$KAFKA` are clones of the repositories."""


if __name__ == "__main__":
    sys.exit(main())
