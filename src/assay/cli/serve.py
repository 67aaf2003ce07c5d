"""The commands serve and mcp."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path

from assay.cli.options import serve_until_stopped
from assay.cli.output import info
from assay.errors import ConfigError, SetupError, install_hint
from assay.web.explorer import explorer_routes
from assay.web.reviewers import port_file
from assay.web.runs import RunList


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
        info(args, "no runs found yet; the page lists them as `assay run` writes them")
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
