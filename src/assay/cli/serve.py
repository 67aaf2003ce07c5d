"""Explore runs in the browser.

assay serve                          the runs in and below this folder
assay serve results old-results      those of several folders
assay serve --gold gold.yaml         and the review of a gold set
assay serve --open                   and open the browser

Only this machine is let in, and only whoever has the address that is printed. Ctrl-C ends it.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.output import info
from assay.cli.serving import add_listening, announce, listen

if TYPE_CHECKING:
    from assay.web.server import Route


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this command."""
    parser.add_argument(
        "folders", nargs="*", metavar="FOLDER", help="folders of results, or folders of such (this one)"
    )
    parser.add_argument("--gold", metavar="SET", help="serve the review of this gold file too")
    add_listening(parser)


def handle(args: argparse.Namespace) -> int:
    """Serve until somebody ends it."""
    from assay.web.explorer import explorer_routes
    from assay.web.reviewers import port_file
    from assay.web.runs import RunList

    folders = [Path(name) for name in args.folders or ["."]]
    routes = (*explorer_routes(folders, review=args.gold is not None), *_review_routes(args.gold))
    facts: dict[str, object] = {"folders": [str(folder.resolve()) for folder in folders], "gold": args.gold}
    if not RunList(folders).scan():
        info(args, "there is no run there yet: the page shows the first that `assay run` writes")
    with listen(args, routes, port_file(Path(args.gold)) if args.gold else None) as server:
        announce(args, server, "/", facts)
        server.wait()
    info(args, "\nended")
    return 0


def _review_routes(gold: str | None) -> tuple[Route, ...]:
    if gold is None:
        return ()
    from assay.cli.gold.browsing import desk_routes
    from assay.cli.gold.vote import open_review, warn_truncated
    from assay.gold.review.standing import ReviewRules

    desk = open_review(Path(gold), None)
    warn_truncated(desk)
    return desk_routes(desk, ReviewRules())
