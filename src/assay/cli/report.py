"""Rebuild report.html from a saved run: smaller or larger, without source, with traces.

No engine is asked but the builtin one, and that only for traces. As after a run, 40 queries are traced where its index
is kept or the corpus is small; --traces builds an index too:

  assay report results --max-size 10MB
  assay report results --no-source --out to-send.html
  assay report results --traces 100 --open
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.options import CLAIM, add_claim, add_page, claim_for, log_look, page_flags, read_results, typed
from assay.cli.output import emit, without_collecting
from assay.cli.serving import open_page
from assay.errors import ConfigError, InputError

if TYPE_CHECKING:
    from assay.report.explorer.page import HtmlReport


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this command."""
    parser.add_argument("results", nargs="?", default="results", help="folder that `assay run` wrote (results)")
    parser.add_argument("--out", metavar="FILE", help="where the page goes (report.html in the folder)")
    add_page(parser)
    parser.add_argument(
        "--traces", type=int, metavar="N", help="trace N queries of the builtin engine, even if it must index anew"
    )
    parser.add_argument("--open", action="store_true", help="show it in a browser")
    add_claim(parser)


@without_collecting()
def handle(args: argparse.Namespace) -> int:
    """Make the page, write it, and say where."""
    from assay.experiment.records.folder import HTML
    from assay.report import reopen, write_html
    from assay.report.explorer.page import in_folder
    from assay.report.headlines import headline

    page = page_flags(args)
    run = read_results(args.results)
    out = _checked(Path(args.out or Path(args.results) / HTML))
    claim = claim_for(run, args)
    log_look(args, run, "report")
    found = reopen(run, claim, Path(args.results), worst=False)  # the page has every ranking
    try:
        made = write_html(found.results, found.case, out, page)
    except ConfigError as error:
        hint = in_folder(error.hint or "", _again(args, "no_source", "traces"))
        raise ConfigError(error.message, hint=hint) from error
    _tell(args, out, headline(found.results), made)
    if args.open:
        open_page(args, out.resolve().as_uri(), str(out))
    return 0


def _checked(out: Path) -> Path:
    if out.is_dir():
        raise InputError("is a folder", file=out, hint="name a file with --out, such as report.html")
    if not out.parent.is_dir():
        raise InputError("its folder is not there", file=out, hint=f"make {out.parent} first, or name another place")
    return out


def _again(args: argparse.Namespace, *more: str) -> str:
    return shlex.join([args.results, *typed(args, "out", *CLAIM, *more)])


def _tell(args: argparse.Namespace, out: Path, title: str, made: HtmlReport) -> None:
    from assay.report.explorer.page import in_folder
    from assay.report.render.document import Document, Paragraph

    where = f"{out}: {len(made.data) / 1e6:.2f} MB."
    blocks = (Paragraph(where), *(Paragraph(in_folder(text, _again(args)), "quiet") for text in made.left_out))
    data = {"schema": "assay/report/1", "file": str(out), "bytes": len(made.data), "left_out": made.left_out}
    emit(args, Document(title, blocks), data)
