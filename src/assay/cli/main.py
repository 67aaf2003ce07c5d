"""The `assay` command: the table of commands, and how one is parsed and run."""

from __future__ import annotations

import argparse
import inspect
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Final, NoReturn

from assay._version import __version__
from assay.cli.output import fit_for, quoted
from assay.errors import AssayError, did_you_mean

#: Commands in the order of `assay --help`: their module in `assay.cli` and their summary. The module defines
#: `NAME_command`, whose docstring is the full description, and `NAME_arguments` if the command has flags of its own.
#: A command with actions has its description in the docstring of its module.
COMMANDS: Final = {
    "search": ("search", "Search code by question, keywords or name."),
    "explain": ("explain", "Explain a ranking: the effect of each stage, and where an expected file was lost."),
    "related": ("search", "Show code related to a line: what it uses, what uses it, and similar code."),
    "index": ("search", "Build or refresh the index of a directory and show its contents."),
    "mcp": ("serve", "Serve search, explanations and benchmarks to coding agents over MCP."),
    "init": ("setup", "Write a commented assay.toml and a gold file with five drafts for this repository."),
    "engines": ("engines", "List, show and check engines."),
    "engines list": ("engines", "List engine kinds and presets for known tools."),
    "engines show": ("engines", "Print an engine's settings as TOML."),
    "engines check": ("engines", "Index once, run three queries, and show how the output was understood."),
    "engines ask": ("engines", "Send one query to an engine and print its ranking."),
    "gold": ("gold", "Create and maintain gold sets."),
    "gold lint": ("gold.lint", "Lint gold sets: invalid labels, better targets elsewhere, duplicate queries."),
    "gold mine": ("gold.mine", "Propose queries, adversaries and phrasings for review."),
    "gold review": ("gold.review", "Review proposals: vote, adjudicate, and write accepted ones to the set."),
    "gold agreement": ("gold.sets", "Report inter-reviewer agreement beyond chance."),
    "gold pool": ("gold.pool", "List unjudged results by expected impact."),
    "gold split": ("gold.sets", "Split a set into dev, test and sealed queries."),
    "gold looks": ("gold.sets", "List accesses to the sealed queries of a set."),
    "gold reanchor": ("gold.reanchor", "Migrate the anchors of a gold set from one commit to another."),
    "gold convert": ("gold.convert", "Convert a gold set to another format and list what that format cannot hold."),
    "gold synth": ("gold.sets", "Generate synthetic gold sets from a repository."),
    "run": ("run", "Run engines over a gold set and report verdicts."),
    "merge": ("results", "Merge the shards of a run and report the results."),
    "score": ("results", "Rescore a saved run without rerunning engines."),
    "report": ("results", "Rebuild report.html from a saved run: smaller or larger, without source, with traces."),
    "compare": ("compare", "Compare engines: inside one run, between two runs, or from two per-query CSV files."),
    "show": ("results", "Show one query: its targets and two rankings side by side."),
    "serve": ("serve", "Explore runs in the browser."),
    "gate": ("gate", "Turn a run into an exit code for CI."),
    "ablate": ("tuning", "Measure what each part of an engine contributes."),
    "tune": ("tuning", "Tune an engine over a grid on dev queries and estimate the gain on unseen ones."),
    "ledger": ("ledger", "Keep a ledger of changes: evidence, decision rule, accepted or rejected."),
    "ledger list": ("ledger", "List recorded changes and their outcomes."),
    "ledger add": ("ledger", "Apply the decision rule to a change and record the outcome with its evidence."),
    "ledger show": ("ledger", "Show one entry with its evidence."),
    "ledger verify": (
        "ledger",
        "Verify that no line of the ledger was changed, removed or moved; exit code 2 if one was.",
    ),
    "plan": ("compare", "Plan how many queries or repositories it takes to show a difference."),
    "audit": ("audit", "Check an engine's determinism, ranking consistency, filters and paths."),
    "train": ("train", "Train a static embedding model on local Git repositories."),
    "cache": ("cache", "Show, prune and verify the cache."),
    "cache look": ("cache", "Show what the cache holds: entries, sizes, last use, and the cost of rebuilding."),
    "cache prune": ("cache", "Remove cache entries that are old, or the least recently used until the rest fits."),
    "cache verify": ("cache", "Verify the checksum of every cached artifact and remove broken ones."),
    "doctor": ("setup", "Check this machine: what is installed, what is missing, and how to fix it."),
    "demo": ("run", "Benchmark the built-in engines on the Python standard library, offline."),
}
#: The actions of commands that may be called without one.
DEFAULT_ACTIONS: Final = {"engines": "list", "ledger": "list", "cache": "look"}
#: Flags of every command and every action, before its name or behind it.
FLAGS: Final = (("--json", "print the result as JSON on stdout"), ("--quiet", "no progress on stderr"))

_EPILOG = """\
exit codes: 0 pass · 1 significant regression or below a threshold (gate) · 2 usage or bad input
            3 inconclusive (gate --strict) · 4 an engine or the environment failed · 5 not comparable

start with `assay demo`, then `assay init` in your own repository; `assay search "..."` needs neither."""

_INTERRUPTED = "interrupted; nothing was half-written"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; every failure is printed as a sentence."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # print what the terminal's encoding can show
    words = list(sys.argv[1:] if argv is None else argv)
    parser = build_parser(words)
    if not words:
        parser.print_help(sys.stderr)
        return 2
    args = parser.parse_args(words)
    _handle_signals()
    try:
        code: int = args.handler(args)
        sys.stdout.flush()
    except AssayError as error:
        return _fail(args, str(error), error.exit_code, error)
    except KeyboardInterrupt as error:
        return _fail(args, _INTERRUPTED, error.code if isinstance(error, _Terminated) else 130)
    except BrokenPipeError:
        _mute()
        return 0
    except Exception as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, KeyboardInterrupt):
            cause = cause.__cause__ or cause.__context__
        if cause is not None:
            return _fail(args, _INTERRUPTED, 130)
        # An unexpected exception must never look like a regression (exit code 1).
        if os.environ.get("ASSAY_DEBUG"):
            import traceback

            traceback.print_exc()
        message = f"unexpected {type(error).__name__}: {error}\n  → a bug in Assay; ASSAY_DEBUG=1 shows where"
        return _fail(args, message, 4)
    return code


def build_parser(words: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Return the parser: with all commands, or with only those that the words of a command line may mean."""
    parser = _Parser(
        prog="assay",
        description="Know whether code search works: gold set → engine → verdict.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"assay {__version__}")
    names = [name for name in COMMANDS if " " not in name]
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    first = next((word for word in words or () if not word.startswith("-")), None)
    for name in names:
        if words is not None and name != first:
            commands.add_parser(name, help=COMMANDS[name][1], add_help=False)
            continue
        actions = [action for action in COMMANDS if action.startswith(f"{name} ")]
        command = _add_parser(commands, name, grouped=bool(actions))
        _add_flags(command, default=False)
        default = DEFAULT_ACTIONS.get(name)
        if actions:
            if default:
                _configure(command, f"{name} {default}")
            choices = command.add_subparsers(dest="action", metavar="ACTION", required=default is None)
            for action in actions:
                if words is None or action.split()[1] in words:
                    parser_of_action = _add_parser(choices, action)
                    _configure(parser_of_action, action)
                    _add_flags(parser_of_action, default=argparse.SUPPRESS)
                else:
                    choices.add_parser(action.split()[1], help=COMMANDS[action][1], add_help=False)
        else:
            _configure(command, name)
    return parser


def _add_parser(parsers: argparse._SubParsersAction[_Parser], name: str, *, grouped: bool = False) -> _Parser:
    module, summary = COMMANDS[name]
    described: object = import_module(f"assay.cli.{module}")
    if not grouped:
        described = getattr(described, f"{name.split()[-1]}_command")
    return parsers.add_parser(
        name.split()[-1],
        help=summary,
        description=inspect.cleandoc(described.__doc__ or ""),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _add_flags(parser: argparse.ArgumentParser, *, default: object) -> None:
    for flag, help_ in FLAGS:
        # suppressed for actions, or it would reset the same flag before the action
        parser.add_argument(flag, action="store_true", default=default, help=help_)


def _configure(parser: argparse.ArgumentParser, name: str) -> None:
    module, last = import_module(f"assay.cli.{COMMANDS[name][0]}"), name.split()[-1]
    add_arguments: Callable[[argparse.ArgumentParser], None] | None = getattr(module, f"{last}_arguments", None)
    if add_arguments is not None:
        add_arguments(parser)
    parser.set_defaults(handler=getattr(module, f"{last}_command"))


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are two lines, and whose last positional may stand behind flags.

    argparse gives up an optional positional at the first flag.
    """

    def parse_known_args(  # type: ignore[override]  # one of its overloads, the one that is called
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Assign leftover words to `words`, or a single one to `path`; report all others as errors."""
        found, extra = super().parse_known_args(args, namespace)
        if hasattr(found, "words") and not any(word.startswith("-") for word in extra):
            found.words, extra = [*found.words, *extra], []
        stray = [word for word in extra if not word.startswith("-")]
        if len(extra) == len(stray) == 1 and hasattr(found, "path") and found.path == self.get_default("path"):
            found.path, extra = stray[0], []
        if extra:
            self.error(f"unrecognized arguments: {' '.join(extra)}", hint=self._suggest(found, extra))
        return found, extra

    def _suggest(self, found: argparse.Namespace, extra: Sequence[str]) -> str:
        if hasattr(found, "config") and (files := [word for word in extra if word.endswith(".toml")]):
            return f"{self.prog} --config {files[0]}"
        for word in extra:
            if word.startswith("-") and (near := did_you_mean(word.partition("=")[0], self._option_string_actions)):
                return near
        return ""

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.dest in ("command", "action") and action.choices is not None and value not in action.choices:
            hint = did_you_mean(str(value), action.choices) or f"{self.prog} --help lists the {action.dest}s"
            self.error(f"unknown {action.dest} {value!r}", hint=hint)
        super()._check_value(action, value)

    def error(self, message: str, hint: str = "") -> NoReturn:
        """Print the error and what to do about it; exit with code 2."""
        where = "" if self.prog == "assay" else f"{self.prog}: "
        self.exit(2, f"error: {where}{message}\nhint: {hint or f'{self.prog} --help'}\n")


class _Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP, cleaned up after as an interrupt is: child processes above all."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.code = 128 + number


def _handle_signals() -> None:
    if threading.current_thread() is not threading.main_thread():
        return

    def terminate(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        raise _Terminated(number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, terminate)


def _mute() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(args: argparse.Namespace, message: str, code: int, error: AssayError | None = None) -> int:
    if getattr(args, "json", False):
        import json

        try:
            more = args.failure(code) if hasattr(args, "failure") else {}  # further keys of this command
            parts = error or AssayError(message)
            record = {
                "schema": "assay/error/1",
                "error": message,
                "exit_code": code,
                "message": parts.message,
                "file": parts.file,
                "line": parts.line,
                "hint": parts.hint,
                **more,
            }
            print(quoted(json.dumps(record)), flush=True)  # noqa: T201  # stdout is the result
        except BrokenPipeError:
            _mute()
    print(fit_for(args, f"assay: {message}"), file=sys.stderr)  # noqa: T201  # errors are printed here only
    return code


if __name__ == "__main__":
    sys.exit(main())
