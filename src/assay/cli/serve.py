from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.listen import add_listening, announce, listen
from assay.cli.output import info
from assay.errors import ConfigError, SetupError, install_hint

if TYPE_CHECKING:
    from assay.experiment.spec import Spec
    from assay.web.server import Route


def serve_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folders", nargs="*", metavar="FOLDER", help="folders of results, or folders of such (this one)"
    )
    parser.add_argument("--gold", metavar="SET", help="serve the review of this gold file too")
    add_listening(parser)


def serve_command(args: argparse.Namespace) -> int:
    """Explore runs in the browser.

    assay serve                          the runs in and below this folder
    assay serve results old-results      those of several folders
    assay serve --gold gold.yaml         and the review of a gold set
    assay serve --open                   and open the browser

    Only this machine is let in, and only whoever has the address that is printed. Ctrl-C ends it.
    """
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
    from assay.cli.gold.review import desk_routes
    from assay.cli.gold.vote import open_review, warn_truncated
    from assay.gold.review.votes import ReviewRules

    desk = open_review(Path(gold), None)
    warn_truncated(desk)
    return desk_routes(desk, ReviewRules())


def mcp_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("roots", nargs="*", metavar="ROOT", help="folders to serve (this one)")
    parser.add_argument("--config", metavar="FILE", help="an assay.toml whose engines and gold sets calls may name")
    parser.add_argument("--http", metavar="HOST:PORT", help="serve by HTTP instead of stdin and stdout; port 0 is any")
    parser.add_argument(
        "--allow-remote",
        action="append",
        default=[],
        metavar="NAME",
        help="let other machines in, which know this one as NAME; needs ASSAY_MCP_TOKEN (repeatable)",
    )


def mcp_command(args: argparse.Namespace) -> int:
    """Serve search, explanations and benchmarks to coding agents over MCP.

    assay mcp                            this folder, over stdin and stdout: what agents start by themselves
    assay mcp ~/shop ~/lib               several folders; nothing outside of them is read
    assay mcp --config assay.toml        its engines and gold sets may be named by calls; no others are executed
    assay mcp --http 127.0.0.1:8765      by HTTP, for this machine alone

    docs/guides/agents.md has the configuration of each agent.
    """
    if args.json:
        raise ConfigError("--json means nothing for a server", hint="leave it out")
    if args.allow_remote and args.http is None:
        raise ConfigError("--allow-remote without --http", hint="add --http HOST:PORT, or leave it out")
    _check_mcp_extra()
    from assay.agent.context import Roots
    from assay.agent.server import TOKEN, ListenAddress, make_service, serve_http, serve_stdio

    token = os.environ.get(TOKEN) or None
    address = ListenAddress.parse(args.http, tuple(args.allow_remote), token) if args.http is not None else None
    roots, spec = Roots.of(args.roots), _mcp_spec(args.config)
    service = make_service(roots, spec)
    if address is None:
        serve_stdio(service)
    else:
        serve_http(service, address, lambda url: info(args, f"serving {roots} on {url}"))
    return 0


def _mcp_spec(path: str | None) -> Spec | None:
    if path is None:
        return None
    from assay.experiment.spec import load_spec

    return load_spec(Path(path))


def _check_mcp_extra() -> None:
    try:
        import mcp.server.mcpserver  # noqa: F401
    except ImportError as error:
        raise SetupError(
            f"`assay mcp` needs the package mcp, which cannot be imported: {error}", hint=install_hint("mcp")
        ) from error
