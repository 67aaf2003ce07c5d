"""Review in the browser, with the code beside each item."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from assay.cli.gold.adjudicate import set_problems
from assay.cli.gold.vote import reviewer_of, rules_of, warn_truncated
from assay.cli.output import info, warn
from assay.cli.serving import announce, listen

if TYPE_CHECKING:
    from assay.gold.review.standing import ReviewRules
    from assay.gold.review.viewing import ReviewWorkspace
    from assay.web.server import Route


def review_in_browser(args: argparse.Namespace, desk: ReviewWorkspace) -> int:
    """Serve the review of one set until somebody ends it."""
    from assay.web.review import REVIEW
    from assay.web.reviewers import port_file

    desk.items()
    warn_truncated(desk)
    routes = desk_routes(desk, rules_of(args), name=reviewer_of(args) if args.reviewer else "")
    with listen(args, routes, port_file(desk.path)) as server:
        announce(args, server, REVIEW, {"gold": str(desk.path)})
        server.wait()
    info(args, "\nended; every vote that the page calls saved is in its file")
    return 0


def desk_routes(desk: ReviewWorkspace, rules: ReviewRules, *, name: str = "") -> tuple[Route, ...]:
    """Give the addresses of the review of a set, with lint to say what would be accepted."""
    from assay.web.review import review_routes

    return review_routes(desk, lambda gold: set_problems(desk, gold), tell=warn, rules=rules, name=name)
