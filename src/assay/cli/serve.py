"""Explore runs in the browser: a folder of them, one, two side by side, a query asked again with other settings.

assay serve                          the runs in and below this folder
assay serve results old-results      those of several folders
assay serve --gold gold.yaml         and the review of a gold set
assay serve --open                   and open the browser

Only this machine is let in, and only whoever has the address that is printed. Ctrl-C ends it.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.common.output import say

if TYPE_CHECKING:
    from assay.web.routing import Route
    from assay.web.server import Server

#: Reviewers that must agree, as `assay gold review` has it where nobody says otherwise.
LEAST = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this command."""
    parser.add_argument(
        "folders", nargs="*", metavar="FOLDER", help="folders of results, or folders of such (this one)"
    )
    parser.add_argument("--gold", metavar="SET", help="serve the review of this gold file too")
    add_listening(parser)


def add_listening(parser: argparse.ArgumentParser) -> None:
    """Add the flags that every command with a server has."""
    parser.add_argument("--port", type=int, default=0, metavar="N", help="the port to listen at (any free one)")
    parser.add_argument("--host", default="127.0.0.1", help="an address of this machine's own: 127.0.0.1 or ::1")
    parser.add_argument("--open", action="store_true", help="open the browser")


def handle(args: argparse.Namespace) -> int:
    """Serve until somebody ends it."""
    from assay.web.exploring.routes import explorer_routes
    from assay.web.server import serve

    folders = [Path(name) for name in args.folders or ["."]]
    routes = (*explorer_routes(folders, review=args.gold is not None), *_review_routes(args.gold))
    facts: dict[str, object] = {"folders": [str(folder.resolve()) for folder in folders], "gold": args.gold}
    with serve(routes, port=args.port, host=args.host) as server:
        announce(args, server, "/", facts)
        server.wait()
    say(args, "\nended")
    return 0


def _review_routes(gold: str | None) -> tuple[Route, ...]:
    """Give the addresses of the review of a gold file, if one is named."""
    if gold is None:
        return ()
    from assay.cli.gold.browsing import desk_routes
    from assay.cli.gold.desk import open_desk, tell_torn

    desk = open_desk(Path(gold), None)
    tell_torn(desk)
    return desk_routes(desk, least=LEAST)


def announce(args: argparse.Namespace, server: Server, path: str, facts: dict[str, object]) -> None:
    """Print the address that lets in, and open it where that is wanted."""
    url = server.address(path)
    if args.json:
        print(json.dumps({"schema": "assay/serve/1", "url": url, **facts}), flush=True)  # noqa: T201  # stdout is the result
    else:
        print(url, flush=True)  # noqa: T201  # stdout is the result
        say(
            args, "open this address in a browser on this machine; it is a key, so keep it to yourself. Ctrl-C ends it."
        )
    if args.open:
        import webbrowser

        if not webbrowser.open(url):
            say(args, "no browser could be opened: copy the address")
