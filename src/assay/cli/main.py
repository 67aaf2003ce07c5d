from __future__ import annotations

import argparse
import gc
import io
import os
import re
import sys
import textwrap
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, Final, NoReturn

from assay._version import __version__
from assay.cli.arguments import COMMANDS, Group
from assay.cli.console import print_error, quote_json, write_result
from assay.errors import AssayError, ConfigError, did_you_mean, located_message

#: The actions of commands that may be called without one.
DEFAULT_ACTIONS: Final = {"engines": "list", "ledger": "list", "cache": "show", "model": "list"}
#: Flags of every command and action, before or after its name.
FLAGS: Final[dict[str, dict[str, Any]]] = {
    "--json": {"action": "store_true", "help": "Print the result as JSON on stdout"},
    "-q --quiet": {"action": "store_true", "help": "Print no progress on stderr"},
    "-v --verbose": {"action": "store_true", "help": "Print more: files used, queries of a run, tracebacks"},
    "--color": {
        "choices": ("auto", "always", "never"),
        "metavar": "WHEN",
        "help": "Color the output: auto, always or never [default: auto]",
    },
}

#: The commands as `assay --help` lists them.
GROUPS: Final = {
    "measure": ("init", "run", "compare", "score", "show", "report", "serve", "gate", "plan", "demo"),
    "gold sets and engines": ("gold", "engines", "audit"),
    "experiments": ("ablate", "tune", "ledger", "merge"),
    "search": ("search", "explain", "related", "index", "mcp"),
    "set-up": ("doctor", "cache", "model", "train", "completion", "help"),
}

#: Flags removed from compare and gate, and why; `ledger add` still has --allow-changed-corpus.
REMOVED_FLAGS: Final = {"--allow-changed-corpus": "a changed corpus is always compared"}

_EPILOG = """\
exit codes:
  0  pass
  1  significant regression, or below a threshold (gate, run --require)
  2  usage or bad input
  3  inconclusive (gate --strict)
  4  an engine or the environment failed
  5  not comparable

Start with `assay demo`, then run `assay init` in your own repository.
`assay search "..."` needs neither."""

#: Commands that answer one query.
_BRIEF: Final = frozenset({"search", "related"})
_LIMITS: Final = frozenset({"--limit", "--max-results", "--top", "--top-k"})  # of other search tools
_INTERRUPTED = "interrupted; no incomplete results were written"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; failures are printed as errors."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # print what the terminal's encoding can show
    words = list(sys.argv[1:] if argv is None else argv)
    parser = build_parser(words)
    if not words:
        parser.print_help(sys.stderr)
        return 2
    try:
        args = parser.parse_args(words)
    except ConfigError as error:
        command = next((word for word in words if word in COMMANDS), None)
        return _fail(Namespace(json="--json" in words, command=command), error, error.exit_code)
    from assay.terminal import choose_color

    choose_color(args.color)
    _handle_signals()
    if argv is None and args.command in _BRIEF:
        # a fifth of the time of a search: threads of BLAS, which a search does not use, and garbage collection
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        gc.disable()
    try:
        module, function = args.handler
        code: int = getattr(import_module(f"assay.cli.{module}"), function)(args) or 0
        sys.stdout.flush()
        if argv is None:
            gc.freeze()  # exit without a last collection
    except AssayError as error:
        return _fail(args, error, error.exit_code)
    except KeyboardInterrupt as error:
        return _fail(args, AssayError(_INTERRUPTED), error.code if isinstance(error, _Terminated) else 130)
    except BrokenPipeError:
        _discard_stdout()
        return 0
    except Exception as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, KeyboardInterrupt):
            cause = cause.__cause__ or cause.__context__
        if cause is not None:
            return _fail(args, AssayError(_INTERRUPTED), 130)
        # An unexpected exception must never look like a regression (exit code 1).
        if args.verbose or os.environ.get("ASSAY_DEBUG"):
            import traceback

            traceback.print_exc()
        message = f"unexpected {type(error).__name__}: {error}"
        return _fail(args, AssayError(message, hint="report this bug with the traceback that --verbose prints"), 4)
    return code


def _fail(args: Namespace, error: AssayError, code: int) -> int:
    if args.json:
        import json

        record = {
            "schema": "assay/error/1",
            "error": str(error),
            "exit_code": code,
            "message": error.message,
            "file": error.file,
            "line": error.line,
            "hint": error.hint,
            **({"verdict": _gate_verdict(code)} if args.command == "gate" else {}),
        }
        try:
            write_result(quote_json(json.dumps(record)))
        except BrokenPipeError:
            _discard_stdout()
    print_error(args, located_message(error), error.hint)
    return code


def _gate_verdict(code: int) -> str:
    from assay.report.gate_checks import VERDICTS

    return VERDICTS.get(code, VERDICTS[4])


def _discard_stdout() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP; handled like an interrupt, so that child processes end."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.code = 128 + number


def _handle_signals() -> None:
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread():
        return

    def terminate(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        raise _Terminated(number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, terminate)


def build_parser(words: Sequence[str] | None = None) -> ArgumentParser:
    """Return the parser of the command line; with `words`, only the command that they name is complete."""
    import_module("assay.cli.commands")
    first = next((word for word in words or () if word in COMMANDS), None)
    if words is None or first == "gold":
        import_module("assay.cli.gold")
    groups = [
        "\n".join([f"{title}:", *(line for name in names for line in _summary_lines(name))])
        for title, names in GROUPS.items()
    ]
    parser = _Parser(
        prog="assay",
        usage="assay [-h] [-V] [--json] [-q] [-v] [--color WHEN] COMMAND ...",
        description="\n\n".join(["Measure code search: gold set → engine → verdict", *groups]),
        epilog=_EPILOG,
    )
    version = f"assay {__version__}"
    parser.add_argument("-V", "--version", action="version", version=version, help="Show the version and exit")
    _add_flags(parser, suppressed=False)
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, parser_class=_Parser, prog="assay", help=argparse.SUPPRESS
    )
    alone = words is not None and list(words[:1]) == [first]  # each parser takes half a millisecond
    for name in (name for name in COMMANDS if " " not in name):
        if alone and name != first:
            continue
        if words is not None and name != first:
            commands.add_parser(name, help=_summary(name), add_help=False)
            continue
        command = _add_parser(commands, name)
        _add_flags(command)
        actions = [action for action in COMMANDS if action.startswith(f"{name} ")]
        if not actions:
            _configure(command, name)
            continue
        default = DEFAULT_ACTIONS.get(name)
        if default:
            _configure(command, f"{name} {default}")
        choices = command.add_subparsers(dest="action", metavar="ACTION", required=default is None)
        for action in actions:
            if words is None or action.split()[1] in words:
                action_parser = _add_parser(choices, action)
                _configure(action_parser, action)
                _add_flags(action_parser)
            else:
                choices.add_parser(action.split()[1], help=_summary(action), add_help=False)
    return parser


def _summary_lines(name: str) -> list[str]:
    return textwrap.wrap(f"  {name:<12} {_summary(name)}", _columns() - 2, subsequent_indent=" " * 15)


def _summary(name: str) -> str:
    return COMMANDS[name].help.partition("\n")[0]


def _add_parser(parsers: argparse._SubParsersAction[_Parser], name: str) -> _Parser:
    summary, _, details = COMMANDS[name].help.partition("\n")
    description = "\n\n".join(map(_wrap, f"{summary}\n{textwrap.dedent(details).rstrip()}".split("\n\n")))
    return parsers.add_parser(name.split()[-1], help=summary, description=description, usage=COMMANDS[name].usage)


def _wrap(paragraph: str) -> str:
    """Wrap a paragraph of prose to the terminal; keep commands and columns unchanged."""
    if any(line.startswith((" ", "assay ")) or "   " in line for line in paragraph.splitlines()):
        return paragraph
    return textwrap.fill(paragraph, _columns() - 2)


def _columns() -> int:
    """Return the width of the terminal as `shutil.get_terminal_size`, whose import takes as long as the help."""
    with suppress(KeyError, ValueError):
        if (columns := int(os.environ["COLUMNS"])) > 0:
            return columns
    with suppress(AttributeError, ValueError, OSError):
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or 80  # type: ignore[union-attr]
    return 80


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


def _add_flags(parser: ArgumentParser, *, suppressed: bool = True) -> None:
    """Add the common flags; the default is suppressed where it would reset a flag before the command or action."""
    for names, settings in FLAGS.items():
        default = {"default": argparse.SUPPRESS} if suppressed else {}
        parser.add_argument(*names.split(), **settings | default)


def _configure(parser: ArgumentParser, name: str) -> None:
    for argument in COMMANDS[name].arguments:
        if not isinstance(argument, Group):
            parser.add_argument(argument[0], **argument[1])
            continue
        group: argparse._ActionsContainer
        if argument.title is None:
            group = parser.add_mutually_exclusive_group()
        else:
            group = parser.add_argument_group(argument.title, argument.description)
        for flag, settings in argument.arguments:
            group.add_argument(flag, **settings)
    parser.set_defaults(handler=(COMMANDS[name].module, f"{name.split()[-1].replace('-', '_')}_command"))


class _Parser(ArgumentParser):
    """Parser that raises ConfigError and, unlike argparse, accepts optional positionals after flags."""

    def __init__(self, *, add_help: bool = True, **keywords: object) -> None:
        super().__init__(add_help=False, allow_abbrev=False, formatter_class=_HelpFormatter, **keywords)  # type: ignore[arg-type]
        if add_help:
            self.add_argument("-h", "--help", action="help", help="Show this help and exit")

    def parse_known_args(  # type: ignore[override]  # one of its overloads, the one that is called
        self, args: Sequence[str] | None = None, namespace: Namespace | None = None
    ) -> tuple[Namespace, list[str]]:
        """Assign leftover words to `words`, or a single one to `path`; report all others as errors."""
        parsed, extra = super().parse_known_args(args, namespace)
        if hasattr(parsed, "words") and not any(word.startswith("-") for word in extra):
            parsed.words, extra = [*parsed.words, *extra], []
        stray = [word for word in extra if not word.startswith("-")]
        if len(extra) == len(stray) == 1 and hasattr(parsed, "path") and parsed.path == self.get_default("path"):
            parsed.path, extra = stray[0], []
        if extra:
            self.error(f"unrecognized arguments: {' '.join(extra)}", hint=self._suggest(parsed, extra))
        return parsed, extra

    def _suggest(self, parsed: Namespace, extra: Sequence[str]) -> str:
        if hasattr(parsed, "config") and (files := [word for word in extra if word.endswith(".toml")]):
            return f"{self.prog} --config {files[0]}"
        for word in extra:
            if removed := REMOVED_FLAGS.get(word.partition("=")[0]):
                return f"remove it: {removed}"
            if word.partition("=")[0] in _LIMITS and (flag := {"-k", "--k"} & {*self._option_string_actions}):
                return f"did you mean '{min(flag, key=len)}'?"
            if word.startswith("-") and (near := did_you_mean(word.partition("=")[0], self._option_string_actions)):
                return near
        return ""

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.dest in ("command", "action") and action.choices is not None and value not in action.choices:
            show = f"assay engines show {value}" if self.prog == "assay engines" else f"{self.prog} --help"
            hint = did_you_mean(str(value), action.choices) or show
            self.error(f"unknown {action.dest} {value!r}", hint=hint)
        super()._check_value(action, value)

    def error(self, message: str, hint: str = "") -> NoReturn:
        command = "" if self.prog == "assay" else f"{self.prog}: "
        if not hint and "arguments are required" in message:
            examples = (line.strip() for line in (self.description or "").splitlines())
            hint = next((re.split(" {2,}", line)[0] for line in examples if line.startswith(f"{self.prog} ")), "")
        raise ConfigError(f"{command}{message}", hint=hint or f"{self.prog} --help")


if __name__ == "__main__":
    sys.exit(main())
