"""Starting a local server: address, token, opening the browser."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.output import info, warn
from assay.errors import SetupError

if TYPE_CHECKING:
    from assay.web.server import Route, WebServer


def add_listening(parser: argparse.ArgumentParser) -> None:
    """Add the flags that every command with a server has."""
    port = "the port to listen at (any free one; a review comes back at the one it had)"
    parser.add_argument("--port", type=int, metavar="N", help=port)
    parser.add_argument("--host", help="an address of this machine's own: 127.0.0.1 (if left out) or ::1")
    parser.add_argument("--open", action="store_true", help="open the browser")


def listen(args: argparse.Namespace, routes: Sequence[Route], last: Path | None = None) -> WebServer:
    """Open the server where the flags say; `last` is a file with the port to come back at, and is told the new one.

    A page keeps what was not saved yet by its address, port and all: at another one it would not find it.
    """
    from assay.files import write_atomic
    from assay.web.server import LOOPBACK, serve

    host = LOOPBACK[0] if args.host is None else args.host
    before = _port_in(last) if last and args.port is None else 0
    try:
        server = serve(routes, port=args.port or before, host=host)
    except SetupError:
        if not before:
            raise
        server = serve(routes, host=host)
        warn(f"port {before}, where this review was before, is taken; pages that are open there wait for it")
    if last:
        write_atomic(last, f"{server.port}\n")
    return server


def _port_in(file: Path) -> int:
    with suppress(OSError, ValueError):
        port = int(file.read_text("ascii"))
        return port if 0 < port < 1 << 16 else 0
    return 0


def announce(args: argparse.Namespace, server: WebServer, path: str, facts: dict[str, object]) -> None:
    """Print the address that lets in, and open it where that is wanted."""
    url = server.address(path)
    if args.json:
        print(json.dumps({"schema": "assay/serve/1", "url": url, **facts}), flush=True)  # noqa: T201  # stdout is the result
    else:
        print(url, flush=True)  # noqa: T201  # stdout is the result
        info(
            args, "open this address in a browser on this machine; it is a key, so keep it to yourself. Ctrl-C ends it."
        )
    if args.open:
        open_page(args, url, "the address")


def open_page(args: argparse.Namespace, url: str, what: str) -> None:
    """Open a page in a browser, or say that there is none; `what` names the page for people."""
    import webbrowser

    if not webbrowser.open(url):
        info(args, f"no browser was found; open {what} yourself")
