"""`assay`: one module a command; nothing heavy is imported until a command runs."""

from __future__ import annotations

import argparse
import io
import os
import sys
import traceback
from collections.abc import Sequence

from assay._version import __version__
from assay.cli import compare, demo, doctor, gate, init, plan, run, score
from assay.errors import AssayError

_EPILOG = """\
exit codes: 0 pass · 1 regression proven or a required floor missed (gate) · 2 usage or bad input
            3 inconclusive (gate --strict) · 4 an engine or the environment failed · 5 not comparable

start with `assay demo`, then `assay init` in your own repository."""

_COMMANDS = (init, run, score, compare, gate, plan, doctor, demo)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; nothing but a code and a sentence ever reaches the user."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a sign still gets the sentence
    parser = build_parser()
    args = parser.parse_args(argv)
    try:
        code: int = args.handler(args)
        sys.stdout.flush()
    except AssayError as error:
        return _fail(args, str(error), error.exit_code)
    except KeyboardInterrupt:
        return _fail(args, "interrupted; nothing was half-written", 130)
    except BrokenPipeError:
        _mute()
        return 0
    except Exception as error:
        # An unexpected exception must never look like a proven regression (exit code 1).
        if os.environ.get("ASSAY_DEBUG"):
            traceback.print_exc()
        message = f"unexpected {type(error).__name__}: {error}\n  → a bug in Assay; ASSAY_DEBUG=1 shows where"
        return _fail(args, message, 4)
    return code


def build_parser() -> argparse.ArgumentParser:
    """Make the parser of every command."""
    parser = argparse.ArgumentParser(
        prog="assay",
        description="Know whether code search works: gold set → engine → verdict.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"assay {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--json", action="store_true", help="print the result as JSON on stdout")
    common.add_argument("--quiet", action="store_true", help="no progress on stderr")
    for module in _COMMANDS:
        name = module.__name__.rpartition(".")[2]
        about = (module.__doc__ or "").strip()
        command = commands.add_parser(
            name,
            parents=[common],
            help=about.partition("\n")[0],
            description=about,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(command)
        command.set_defaults(handler=module.handle)
    return parser


def _mute() -> None:
    """Let go of a stdout whose reader went away: there is nobody left to tell."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(args: argparse.Namespace, message: str, code: int) -> int:
    """Report a failure on stderr, and as JSON on stdout where JSON was asked for."""
    if getattr(args, "json", False):
        import json

        try:
            print(json.dumps({"schema": "assay/error/1", "error": message, "exit_code": code}), flush=True)  # noqa: T201  # stdout is the result
        except BrokenPipeError:
            _mute()
    print(f"assay: {message}", file=sys.stderr)  # noqa: T201  # the one place errors are told
    return code


if __name__ == "__main__":
    sys.exit(main())
