"""The table of commands, and flags that several commands share."""

from __future__ import annotations

import argparse
import math
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from assay.errors import ConfigError

Argument = tuple[str, dict[str, Any]]  # what `add_argument` of argparse takes


class Group:
    """Flags with a common title in the help or, without a title, mutually exclusive flags."""

    def __init__(self, title: str | None, *arguments: Argument, description: str | None = None) -> None:
        self.title, self.arguments, self.description = title, arguments, description


class Command(NamedTuple):
    """Command or action, run by the function `NAME_command` of a module of `assay.cli`."""

    module: str
    help: str  # the first line is the summary
    arguments: tuple[Argument | Group, ...]
    usage: str | None  # None: made by argparse


#: Commands and actions in the order of `assay --help`; `assay.cli.gold` adds its own.
COMMANDS: Final[dict[str, Command]] = {}


def command(path: str, text: str, *arguments: Argument | Group, usage: str | None = None) -> None:
    """Add a command; `admin:cache prune` is `assay cache prune`, run by `prune_command` in `assay.cli.admin`."""
    module, _, name = path.partition(":")
    COMMANDS[name] = Command(module, text, arguments, usage)


def value(name: str, text: str, **settings: Any) -> Argument:  # noqa: ANN401  # settings of argparse
    return name, {"help": text, **settings}


def flag(name: str, text: str, *, repeatable: bool = False, **settings: Any) -> Argument:  # noqa: ANN401
    """Return a flag: `--name` is a switch, `--name VALUE` takes a value."""
    name, _, metavar = name.partition(" ")
    if repeatable:
        settings |= {"action": "append", "default": []}
        text += " (repeatable)"
    if metavar:
        settings["metavar"] = metavar
    elif settings.keys() <= {"default"}:
        settings["action"] = "store_true"
    default = settings.get("default")
    if isinstance(default, str | int | float) and default not in ("", argparse.SUPPRESS):
        text += f" [default: {default}]"
    return name, {"help": text, **settings}


def endpoint(purpose: str) -> Group:
    return Group(
        f"{purpose} (any OpenAI-compatible endpoint)",
        flag("--endpoint URL", "Send requests to this chat completions URL"),
        flag("--model NAME", "Use this model"),
        flag("--token-env VAR", "Read the API token from this environment variable"),
    )


def at_least(least: int) -> Callable[[str], int]:
    """Return a type for argparse: a whole number with a lower bound."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"[-+]?\d+", text) or int(text) < least:
            raise argparse.ArgumentTypeError(f"expected {least} or more, got {text}")
        return int(text)

    parse.__name__ = f"at_least({least})"
    return parse


def above_zero(text: str) -> float:
    """Parse a positive number for argparse."""
    try:
        if 0 < float(text) < math.inf:
            return float(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"expected a number above 0, got {text}")


COUNT, NUMBER = at_least(1), at_least(0)


def flag_of(name: str) -> str:
    """Return the flag or argument that sets an attribute: `--max-size`, `-k` or `PATH`."""
    if name in ("folder", "path", "query", "results"):
        return name.upper()
    return f"-{name}" if len(name) == 1 else f"--{name.replace('_', '-')}"


def reject_flags(args: Namespace, purpose: str, *names: str) -> None:
    """Raise ConfigError if one of the flags is given."""
    for name in names:
        if _is_given(args, name):
            raise ConfigError(f"{flag_of(name)} cannot be used with {purpose}", hint=f"remove {flag_of(name)}")


def require_flag(args: Namespace, needed: str, *names: str) -> None:
    """Raise ConfigError if one of the flags is given without the flag that it needs."""
    for name in names:
        if _is_given(args, name) and not _is_given(args, needed):
            hint = f"add {flag_of(needed)}, or remove {flag_of(name)}"
            raise ConfigError(f"{flag_of(name)} requires {flag_of(needed)}", hint=hint)


def _is_given(args: Namespace, name: str) -> bool:
    value = getattr(args, name)
    return value is not None and value is not False and value != []


class Once(argparse.Action):
    def __call__(
        self,
        _parser: ArgumentParser,
        namespace: Namespace,
        values: str | Sequence[Any] | None,
        _option: str | None = None,
    ) -> None:
        if getattr(namespace, self.dest) is not None:
            raise argparse.ArgumentError(self, "given more than once; name one engine")
        setattr(namespace, self.dest, values)


#: The measures of --k-values.
K_MEASURES: Final = ("nDCG", "Hit", "R", "P", "RR")
REQUIRE = flag("--require RULE", "Exit with 1 below a threshold such as 'Hit@5>=0.70'", repeatable=True)
LISTENING: Final = (
    flag("--port N", "Listen on this port [default: any free port; a review reuses its last one]", type=NUMBER),
    flag("--host HOST", "Listen on this loopback address: 127.0.0.1 or ::1 [default: 127.0.0.1]"),
    flag("--open", "Open the browser"),
)
_PLAN_FLAGS = {
    "measure": flag("--measure M", "Report this measure, such as nDCG@10 (repeatable)", action="append"),
    "k_values": flag(
        "--k-values", f"Report {', '.join(K_MEASURES)} at each of these cutoffs", metavar="K", nargs="+", type=COUNT
    ),
    "primary": flag("--primary M", "Base verdicts on this measure"),
    "level": flag(
        "--level LEVEL",
        "Measure by file or by lines [default: as gold set and engines allow]",
        choices=("file", "lines"),
    ),
    "baseline": flag("--baseline ENGINE", "Compare the other engines with this one"),
    "margin": flag("--margin X", "Set the equivalence margin [default: 0.02]", type=float),
    "alpha": flag("--alpha X", "Set the significance level of verdicts [default: 0.05]", type=float),
    "family": flag("--family LIST", "Give verdicts on these engines only: names or globs, comma-separated"),
    "cluster_by": flag("--cluster-by UNIT", "Set the independent unit: auto, repository, intent or tag:NAME"),
    "seed": flag("--seed N", "Seed every random draw [default: 0]", type=NUMBER),
}
#: Destinations of the flags of the analysis plan.
PLAN: Final = tuple(_PLAN_FLAGS)
ANALYSIS_PLAN = Group("analysis plan", *_PLAN_FLAGS.values())
#: The analysis plan of commands that choose the compared engines in another way.
JUDGING = Group("analysis plan", *(_PLAN_FLAGS[name] for name in ("primary", "margin", "alpha", "cluster_by", "seed")))
RUN_DEFAULT: Final = "[default: that of assay.toml, or results]"
FINISHED_RUN = value("results", f"Directory written by `assay run` {RUN_DEFAULT}", nargs="?")
FULL = flag("--full", "Print tables and statistical detail before the decision")
REPORT = (
    flag("--max-size SIZE", "Limit the size of report.html [default: 3MB]"),
    flag("--no-source", "Leave source code out of report.html"),
)
RUN_OUTPUT = (
    flag("--drop-stale", "Drop incomparable rows from earlier runs"),
    flag("--parquet", "Also write per-query.parquet (extra: parquet)"),
    *REPORT,
    FULL,
)
CONFIG = flag("--config FILE", "Read this assay.toml [default: the one in this directory or above]")
EXPERIMENT = (
    CONFIG,
    flag("--preset NAME", "Use a bundled experiment instead of an assay.toml"),
    flag("--set TABLE.KEY=VALUE", "Change a key of the configuration: run.k=20", repeatable=True),
)
QUERIES = (
    flag("--gold PATH", "Use this gold file or directory, or 'stdlib'", repeatable=True),
    flag("--corpus SPEC", "Search this code: directory, stdlib, git:URL@REV, pypi:NAME==V, npm:NAME@V"),
    flag("--tag K=V:ROWS", "Tag rows of a CSV: difficulty=hard:101-127", repeatable=True),
    flag("-k N", "Request and score this many results [default: 10]", type=COUNT),
    flag("--phrasings LIST", "Use these phrasings only, comma-separated [default: all]"),
    flag("--allow-missing", "Report targets that are not in the corpus and continue"),
)
VARIED = (
    *EXPERIMENT,
    *QUERIES,
    flag("--jobs N", "Use N processes [default: all processors]", type=NUMBER),
    flag("--out DIR", "Write the run there, as `assay run` does [default: not written]"),
    JUDGING,
)
TIMEOUT = flag("--timeout S", "Stop a query after this many seconds [default: 60]", type=above_zero)
ENGINE = value("engine", "Engine kind, kind:value, preset, or name in assay.toml", metavar="ENGINE")
_ENGINE_PATH = "Directory or corpus [default: this directory, or the corpus of the gold set]"
ENGINE_CORPUS = (
    value("path", _ENGINE_PATH, nargs="?", metavar="PATH"),
    flag("--gold PATH", "Use the queries, targets and corpus of this gold set"),
    flag("--config FILE", "Read engine names from this assay.toml [default: the one in this directory or above]"),
    TIMEOUT,
)
QUERY = value("query", "Question, keywords or name", nargs="?", metavar="QUERY")
DIRECTORY = value("path", "Directory to search [default: this one]", nargs="?", default=".", metavar="PATH")
PER = flag("--per", "Return files or line spans", choices=("file", "span"), default="file")
SEARCH_SETTINGS = Group(
    "settings",
    flag("--config FILE", "Read the [search] table of this file [default: assay.toml in PATH or above]"),
    flag("--set KEY=VALUE", "Change a setting, such as stem.files=0.4", repeatable=True),
    flag("--workers N", "Index with N processes [default: one per core]", type=COUNT),
    description="`assay search --show-config` lists all settings with their meanings",
)
LEDGER_RULE = (
    flag("--rule NAME", "Decide by this rule: significant or seed-001 [default: [ledger] rule]"),
    flag("--by NAME", "Record who tried the change", default=""),
    flag("--allow-duplicate", "Add a comparison that is already in the ledger"),
)
TO_LEDGER = Group(
    "ledger",
    flag("--ledger FILE", "Record the results in a ledger [default: ledger.jsonl]", nargs="?", const=""),
    *LEDGER_RULE,
)
# suppressed, or the default behind an action's name would undo a flag before it
LEDGER_FILE = (
    flag("--ledger FILE", "Use this ledger [default: ledger.jsonl]", default=argparse.SUPPRESS),
    (CONFIG[0], {**CONFIG[1], "default": argparse.SUPPRESS}),
)
