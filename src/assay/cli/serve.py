"""The commands serve and mcp, which run until they are stopped."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path

from assay.cli.arguments import reject_flags, require_flag
from assay.cli.console import info
from assay.cli.options import load_config, serve_until_stopped
from assay.errors import SetupError, install_hint
from assay.experiment.spec import load_spec
from assay.web.reviewer_sessions import port_file
from assay.web.run_list import RunList
from assay.web.run_pages import explorer_routes


def serve_command(args: Namespace) -> None:
    directories = [Path(name) for name in args.folders or [load_config(args).directory]]
    routes = explorer_routes(directories, review=args.gold is not None)
    if args.gold is not None:
        from assay.cli.gold.review import workspace_routes
        from assay.cli.gold.vote import open_review

        routes += workspace_routes(open_review(Path(args.gold), None), None)
    if not RunList(directories).scan():
        info(args, "no runs found; new runs appear on the page")
    facts = {"folders": [str(directory.resolve()) for directory in directories], "gold": args.gold}
    serve_until_stopped(args, routes, "/", facts, port_file(Path(args.gold)) if args.gold else None)
    info(args, "\nstopped")


def mcp_command(args: Namespace) -> None:
    reject_flags(args, "`assay mcp`", "json")
    require_flag(args, "http", "allow_remote")
    try:
        import mcp.server.mcpserver  # noqa: F401
    except ImportError as error:
        raise SetupError(f"cannot import the package mcp: {error}", hint=install_hint("mcp")) from error
    from assay.agent.context import Roots
    from assay.agent.mcp_server import TOKEN, ListenAddress, make_server, serve_http, serve_stdio

    token = os.environ.get(TOKEN) or None
    address = ListenAddress.parse(args.http, tuple(args.allow_remote), token) if args.http is not None else None
    roots = Roots.of(args.roots)
    server = make_server(roots, None if args.config is None else load_spec(Path(args.config)))
    if address is None:
        serve_stdio(server)
    else:
        serve_http(server, address, lambda url: info(args, f"serving {roots} on {url}"))
