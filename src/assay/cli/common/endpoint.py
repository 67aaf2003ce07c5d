"""Which model is asked? The flags that name an OpenAI-compatible endpoint, the same in every command."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.chat import Endpoint


def add_endpoint(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the flags, below a line that says what the model is asked to do."""
    group = parser.add_argument_group(f"{what} (any OpenAI-compatible endpoint)")
    group.add_argument("--endpoint", metavar="URL", help="address of its chat completions")
    group.add_argument("--model", metavar="NAME", help="the model")
    group.add_argument("--token-env", metavar="VAR", help="environment variable that holds its token")


def endpoint_of(args: argparse.Namespace) -> Endpoint | None:
    """Give the endpoint that was named, if one was; half of a name is refused."""
    from assay.chat import Endpoint

    if bool(args.endpoint) != bool(args.model):
        raise ConfigError("--endpoint and --model go together", hint="such as --endpoint URL --model qwen3")
    if args.token_env and not args.endpoint:
        raise ConfigError("--token-env means nothing without --endpoint", hint="name the endpoint, or leave it out")
    return Endpoint(args.endpoint, args.model, args.token_env) if args.endpoint else None


def required_endpoint(args: argparse.Namespace) -> Endpoint:
    """Give the endpoint where nothing can be done without one."""
    endpoint = endpoint_of(args)
    if endpoint is None:
        raise ConfigError("no endpoint is named", hint="such as --endpoint URL --model qwen3")
    return endpoint
