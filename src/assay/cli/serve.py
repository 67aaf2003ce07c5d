"""The commands serve and mcp."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from assay.cli.options import open_page
from assay.cli.output import info, warn, write_result
from assay.errors import ConfigError, SetupError, install_hint
from assay.files import write_atomic
from assay.web.explorer import explorer_routes
from assay.web.reviewers import port_file
from assay.web.runs import RunList
from assay.web.server import LOOPBACK, Route, WebServer, serve


def serve_command(args: Namespace) -> int:
    directories = [Path(name) for name in args.folders or ["."]]
    routes = explorer_routes(directories, review=args.gold is not None)
    if args.gold is not None:
        from assay.cli.gold.vote import open_review, warn_truncated, workspace_routes
        from assay.gold.review.votes import ReviewRules

        workspace = open_review(Path(args.gold), None)
        warn_truncated(workspace)
        routes += workspace_routes(workspace, ReviewRules())
    if not RunList(directories).scan():
        info(args, "there is no run there yet: the page shows the first that `assay run` writes")
    facts = {"folders": [str(directory.resolve()) for directory in directories], "gold": args.gold}
    serve_until_stopped(args, routes, "/", facts, port_file(Path(args.gold)) if args.gold else None)
    info(args, "\nended")
    return 0


def mcp_command(args: Namespace) -> int:
    if args.json:
        raise ConfigError("--json means nothing for a server", hint="leave it out")
    if args.allow_remote and args.http is None:
        raise ConfigError("--allow-remote without --http", hint="add --http HOST:PORT, or leave it out")
    try:
        import mcp.server.mcpserver  # noqa: F401
    except ImportError as error:
        message = f"`assay mcp` needs the package mcp, which cannot be imported: {error}"
        raise SetupError(message, hint=install_hint("mcp")) from error
    from assay.agent.context import Roots
    from assay.agent.server import TOKEN, ListenAddress, make_server, serve_http, serve_stdio
    from assay.experiment.spec import load_spec

    token = os.environ.get(TOKEN) or None
    address = ListenAddress.parse(args.http, tuple(args.allow_remote), token) if args.http is not None else None
    roots = Roots.of(args.roots)
    server = make_server(roots, None if args.config is None else load_spec(Path(args.config)))
    if address is None:
        serve_stdio(server)
    else:
        serve_http(server, address, lambda url: info(args, f"serving {roots} on {url}"))
    return 0


def serve_until_stopped(
    args: Namespace, routes: Sequence[Route], path: str, facts: Mapping[str, object], last: Path | None
) -> None:
    """Serve the routes until Ctrl-C, after printing the address of a path; `last` is a file that keeps the port."""
    with listen(args, routes, last) as server:
        url = server.address(path)
        if args.json:
            write_result(json.dumps({"schema": "assay/serve/1", "url": url, **facts}))
        else:
            write_result(url)
            text = (
                "open this address in a browser on this machine; it is a key, so keep it to yourself. Ctrl-C ends it."
            )
            info(args, text)
        if args.open:
            open_page(args, url, "the address")
        server.wait()


def listen(args: Namespace, routes: Sequence[Route], last: Path | None = None) -> WebServer:
    """Start the server; reuse the port in the file `last`, under which open pages stored unsaved votes."""
    host = LOOPBACK[0] if args.host is None else args.host
    before = 0
    if last and args.port is None:
        with suppress(OSError, ValueError):
            before = int(last.read_text("ascii"))
    if not 0 < before < 1 << 16:
        before = 0
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
