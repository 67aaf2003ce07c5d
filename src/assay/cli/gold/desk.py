"""What review commands share: the desk they work at, who works there, and how somebody at a terminal is asked."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.common.output import counted, warn
from assay.errors import ConfigError, GoldError

if TYPE_CHECKING:
    from assay.gold.review.reviewers import Said
    from assay.gold.review.standing import ReviewRules
    from assay.gold.review.viewing import Desk


def open_desk(path: Path, corpus: str | None) -> Desk:
    """Open the review of a gold file."""
    from assay.corpus import parse_spec
    from assay.gold.loading import beside
    from assay.gold.review.viewing import Desk

    if path.is_dir():
        raise GoldError("is a folder", file=path, hint="review one gold file at a time")
    desk = Desk(path, beside(parse_spec(corpus), str(path)) if corpus else None)
    if not path.exists() and not desk.queue.folder.is_dir():
        hint = f"name a gold file, or propose queries for a new one: assay gold mine . --set {path}"
        raise GoldError("there is no such file, and nothing was proposed for one", file=path, hint=hint)
    return desk


def tell_torn(desk: Desk, reviewer: str | None = None) -> None:
    """Warn of journals that end in half a line."""
    for one in desk.torn(reviewer):
        warn(f"{one.path}: the last line is cut off ({counted(one.bytes, 'byte')}) and does not count")


def reviewer_of(args: argparse.Namespace) -> str:
    """Give who votes or decides."""
    from assay.gold.review.votes import check_name

    if not args.reviewer:
        raise ConfigError("nobody is named", hint="say who you are: --as NAME")
    return check_name(args.reviewer)


def rules_of(args: argparse.Namespace) -> ReviewRules:
    """Give when votes settle an item: as --least says, or as it is everywhere."""
    from assay.gold.review.standing import ReviewRules

    return ReviewRules() if args.least is None else ReviewRules(args.least)


def on_terminal() -> bool:
    """Tell whether somebody sits there who can be asked."""
    return sys.stdin.isatty()


def ask_line(prompt: str) -> str | None:
    """Ask for a line on stderr's side of the terminal; None when there are no more."""
    print(prompt, end="", file=sys.stderr, flush=True)  # noqa: T201  # a question to the person at the terminal
    line = sys.stdin.readline()
    return line.strip() if line else None


def show(lines: Iterable[str]) -> None:
    """Show lines of foreign text on the terminal."""
    from assay.cli.common.hits import clean

    for line in lines:
        print(clean(line))  # noqa: T201  # what the reviewer reads


def read_flags(given: list[str], reasons: list[str] | None) -> list[Said]:
    """Read `ITEM=VALUE` flags with their reasons: one for each, or one for all."""
    from assay.gold.review.reviewers import Said

    said = list(reasons or [])
    if len(said) == 1:
        said *= len(given)
    if len(said) != len(given):
        many = f"{counted(len(given), 'vote')} and {counted(len(said), 'reason')}"
        raise ConfigError(many, hint='give each its --reason "..."')
    rows = []
    for text, reason in zip(given, said, strict=True):
        item, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"'{text}' is no vote", hint="write ITEM=VALUE, such as 3f2a91c0d4e5=2")
        rows.append(Said(item.strip(), value.strip(), reason))
    return rows
