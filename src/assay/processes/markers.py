"""Marks in the environment of programs: they tell what descends from one, even when it left its group."""

from __future__ import annotations

import itertools
import os
import secrets
from collections.abc import Mapping

from assay.processes.proc import APART, VARIABLE, read_markers

_HERE = secrets.token_hex(8)
_NUMBERS = itertools.count(1)


def own_marker() -> str:
    """Give what every marker of this process begins with; a fork of it has another."""
    return f"{_HERE}-{os.getpid()}"


def new_marker() -> str:
    """Give a marker that no program carries yet; several programs may carry it, such as those of one session."""
    return f"{own_marker()}-{next(_NUMBERS)}"


def marked(environment: Mapping[str, str] | None, marker: str) -> dict[str, str]:
    """Add a marker to an environment, by default to ours; one of an Assay that runs us stays."""
    base = os.environ if environment is None else environment
    outer = base.get(VARIABLE) or os.environ.get(VARIABLE)
    return {**base, VARIABLE: f"{outer}{APART}{marker}" if outer else marker}


def carries(pid: int, marker: str) -> bool:
    """Tell whether a process descends from a program with that marker, or with one that begins with it."""
    return any(own == marker or own.startswith(f"{marker}-") for own in read_markers(pid))
