"""The `assay` command. Subcommands are imported when they run."""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
import threading
from collections.abc import Sequence

from assay._version import __version__
from assay.cli import (
    ablate,
    audit,
    cache,
    compare,
    demo,
    doctor,
    engines,
    explain,
    gate,
    gold,
    index,
    init,
    ledger,
    mcp,
    merge,
    plan,
    related,
    report,
    run,
    score,
    search,
    serve,
    show,
    train,
    tune,
)
from assay.cli.actions import FLAGS
from assay.cli.output import fit_for, quoted
from assay.errors import AssayError, did_you_mean

_EPILOG = """\
exit codes: 0 pass · 1 significant regression or below a threshold (gate) · 2 usage or bad input
            3 inconclusive (gate --strict) · 4 an engine or the environment failed · 5 not comparable

start with `assay demo`, then `assay init` in your own repository; `assay search "..."` needs neither."""

_INTERRUPTED = "interrupted; nothing was half-written"

_COMMANDS = (
    search,
    explain,
    related,
    index,
    mcp,
    init,
    engines,
    gold,
    run,
    merge,
    score,
    report,
    compare,
    show,
    serve,
    gate,
    ablate,
    tune,
    ledger,
    plan,
    audit,
    train,
    cache,
    doctor,
    demo,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; nothing but a code and a sentence ever reaches the user."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a sign still gets the sentence
    parser = build_parser()
    if not (sys.argv[1:] if argv is None else argv):
        parser.print_help(sys.stderr)  # whoever types the bare name wants to know what there is
        return 2
    args = parser.parse_args(argv)
    _heed_signals()
    try:
        code: int = args.handler(args)
        sys.stdout.flush()
    except AssayError as error:
        return _fail(args, str(error), error.exit_code, error)
    except KeyboardInterrupt as error:
        return _fail(args, _INTERRUPTED, error.code if isinstance(error, _Ended) else 130)
    except BrokenPipeError:
        _mute()
        return 0
    except Exception as error:
        if _is_interrupt(error):
            return _fail(args, _INTERRUPTED, 130)
        # An unexpected exception must never look like a regression (exit code 1).
        if os.environ.get("ASSAY_DEBUG"):
            import traceback

            traceback.print_exc()
        message = f"unexpected {type(error).__name__}: {error}\n  → a bug in Assay; ASSAY_DEBUG=1 shows where"
        return _fail(args, message, 4)
    return code


class _Ended(KeyboardInterrupt):
    """Somebody ended the process: what an interrupt tidies up is tidied up, programs that were started above all."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.code = 128 + number


def _heed_signals() -> None:
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _end)


def _end(number: int, _frame: object) -> None:
    signal.signal(number, signal.SIG_DFL)
    raise _Ended(number)


class _Command(argparse.ArgumentParser):
    """A command whose folder may stand behind flags too: argparse gives up an optional positional at the first flag."""

    def parse_known_args(  # type: ignore[override]  # one of its overloads, the one that is called
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Take leftover words for more of them, or a single one for the folder, where none was given; refuse others.

        They are refused here and not where argparse does it: whoever mistypes a flag is shown those of this command.
        """
        found, extra = super().parse_known_args(args, namespace)
        if hasattr(found, "words") and not any(word.startswith("-") for word in extra):
            found.words, extra = [*found.words, *extra], []
        stray = [word for word in extra if not word.startswith("-")]
        if len(extra) == len(stray) == 1 and hasattr(found, "path") and found.path == self.get_default("path"):
            found.path, extra, stray = stray[0], [], []
        if extra:
            self.error("; ".join([f"unrecognized arguments: {' '.join(extra)}", *self._meant(found, extra)]))
        return found, extra

    def _meant(self, found: argparse.Namespace, extra: Sequence[str]) -> list[str]:
        if hasattr(found, "config"):
            yes = [f"an experiment is named with --config {word}" for word in extra if word.endswith(".toml")]
            if yes:
                return yes[:1]
        flags = [word.partition("=")[0] for word in extra if word.startswith("-")]
        return [f"{flag}: {near}" for flag in flags if (near := did_you_mean(flag, self._option_string_actions))]


def build_parser() -> argparse.ArgumentParser:
    """Make the parser of every command."""
    parser = argparse.ArgumentParser(
        prog="assay",
        description="Know whether code search works: gold set → engine → verdict.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"assay {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Command)
    common = _Command(add_help=False)
    for flag, help_ in FLAGS:
        common.add_argument(flag, action="store_true", help=help_)
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


def _is_interrupt(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _mute() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(args: argparse.Namespace, message: str, code: int, error: AssayError | None = None) -> int:
    if getattr(args, "json", False):
        import json

        try:
            more = args.failure(code) if hasattr(args, "failure") else {}  # what a command says of its failures besides
            parts = error or AssayError(message)
            told = {
                "schema": "assay/error/1",
                "error": message,
                "exit_code": code,
                "message": parts.message,
                "file": parts.file,
                "line": parts.line,
                "hint": parts.hint,
                **more,
            }
            print(quoted(json.dumps(told)), flush=True)  # noqa: T201  # stdout is the result
        except BrokenPipeError:
            _mute()
    print(fit_for(args, f"assay: {message}"), file=sys.stderr)  # noqa: T201  # the one place errors are told
    return code


if __name__ == "__main__":
    sys.exit(main())
