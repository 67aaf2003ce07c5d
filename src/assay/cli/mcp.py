"""Serve search, explanations and benchmarks to coding agents over MCP.

assay mcp                            this folder, over stdin and stdout: what agents start by themselves
assay mcp ~/shop ~/lib               several folders; nothing outside of them is read
assay mcp --config assay.toml        its engines and gold sets may be named by calls; no others are executed
assay mcp --http 127.0.0.1:8765      by HTTP, for this machine alone

docs/guides/agents.md has the configuration of each agent.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.output import info
from assay.errors import ConfigError, SetupError, install_hint

if TYPE_CHECKING:
    from assay.experiment.spec import Spec


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this command."""
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


def handle(args: argparse.Namespace) -> int:
    """Serve until the agent goes away."""
    if args.json:
        raise ConfigError("--json means nothing for a server", hint="leave it out")
    if args.allow_remote and args.http is None:
        raise ConfigError("--allow-remote without --http", hint="add --http HOST:PORT, or leave it out")
    _check_extra()
    from assay.agent.context import Roots
    from assay.agent.server import TOKEN, ListenAddress, make_service, serve_http, serve_stdio

    token = os.environ.get(TOKEN) or None
    address = ListenAddress.parse(args.http, tuple(args.allow_remote), token) if args.http is not None else None
    roots, spec = Roots.of(args.roots), _spec(args.config)
    service = make_service(roots, spec)
    if address is None:
        serve_stdio(service)
    else:
        serve_http(service, address, lambda url: info(args, f"serving {roots} on {url}"))
    return 0


def _spec(path: str | None) -> Spec | None:
    if path is None:
        return None
    from assay.experiment.spec import load_spec

    return load_spec(Path(path))


def _check_extra() -> None:
    try:
        import mcp.server.mcpserver  # noqa: F401
    except ImportError as error:
        raise SetupError(
            f"`assay mcp` needs the package mcp, which cannot be imported: {error}", hint=install_hint("mcp")
        ) from error
