"""What commands with a page share: where their server listens, how its address is told, how a page is opened."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.cli.common.output import say

if TYPE_CHECKING:
    from assay.web.routing import Route
    from assay.web.server import Server


def add_listening(parser: argparse.ArgumentParser) -> None:
    """Add the flags that every command with a server has."""
    parser.add_argument("--port", type=int, default=0, metavar="N", help="the port to listen at (any free one)")
    parser.add_argument("--host", help="an address of this machine's own: 127.0.0.1 (if left out) or ::1")
    parser.add_argument("--open", action="store_true", help="open the browser")


def listen(args: argparse.Namespace, routes: Sequence[Route]) -> Server:
    """Open the server where the flags say."""
    from assay.web.server import LOOPBACK, serve

    return serve(routes, port=args.port, host=LOOPBACK[0] if args.host is None else args.host)


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
        open_page(args, url, "the address")


def open_page(args: argparse.Namespace, url: str, what: str) -> None:
    """Open a page in a browser, or say that there is none; `what` names the page for people."""
    import webbrowser

    if not webbrowser.open(url):
        say(args, f"no browser was found; open {what} yourself")
