"""What happens on a worker of a cluster: it says what it has, refuses what it would answer differently, and does it."""

from __future__ import annotations

import pickle
import platform
import socket
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from assay._version import __version__
from assay.errors import AssayError, CorpusError, EnvironmentFailure, GoldError
from assay.store import package_digest

_SAME = "install the same Assay on the same Python (3.11 is not 3.12) on every worker, and start them again"
_THERE = "workers open corpora themselves: it must be at the same path on every worker, or be named by address"


@dataclass(frozen=True, slots=True)
class Kit:
    """What decides how a worker answers."""

    assay: str
    python: str  # without the patch: what `ast`, `re` and the standard library do changes with the minor version
    code: str  # digest of Assay's own code

    def lacks(self, wanted: Kit) -> str:
        """Say how it differs from what is wanted; empty when it does not."""
        if self.python != wanted.python:
            return f"has Python {self.python}, not {wanted.python}"
        if self.assay != wanted.assay:
            return f"has Assay {self.assay}, not {wanted.assay}"
        return "" if self.code == wanted.code else f"has other code of Assay {self.assay}"


@dataclass(frozen=True, slots=True)
class Seat:
    """A worker, as it tells of itself."""

    host: str
    kit: Kit


def kit() -> Kit:
    """Say what this process has."""
    return Kit(__version__, f"{platform.python_implementation()} {sys.version_info.major}.{sys.version_info.minor}",
               package_digest())  # fmt: skip


def seat() -> Seat:
    """Say where this is and what it has."""
    return Seat(socket.gethostname(), kit())


def refusal(found: Seat, wanted: Kit, where: str = "") -> EnvironmentFailure | None:
    """Make the error for a worker that would answer differently; None for one that would not."""
    lack = found.kit.lacks(wanted)
    place = f"{found.host} ({where})" if where else found.host
    return EnvironmentFailure(f"the worker on {place} {lack}", hint=_SAME) if lack else None


class Call:
    """A task that is done where it is unpickled: `pickle.loads` is all that a scheduler needs to know of it.

    What it calls is a pickle of its own, so that a worker with other code says so before it stumbles over that.
    """

    def __init__(self, wanted: Kit, packed: bytes) -> None:
        self._wanted = wanted
        self._packed = packed

    def __reduce__(self) -> tuple[Callable[..., bytes], tuple[Any, ...]]:
        """Become a call of `perform`."""
        plain = (self._wanted.assay, self._wanted.python, self._wanted.code)
        return perform, (plain, self._packed)


def perform(wanted: tuple[str, str, str], packed: bytes) -> bytes:
    """Do a task on this worker; what is wrong with it is told with the worker's name."""
    problem = refusal(seat(), Kit(*wanted))
    if problem is not None:
        raise problem
    function, args = unpacked(packed)
    try:
        return packed_small(function(*args))
    except AssayError as error:
        raise _located(error) from error


def packed_small(value: object) -> bytes:
    """Pickle for the wire; names and paths repeat, so that it shrinks to a fifth."""
    return zlib.compress(pickle.dumps(value, protocol=5), 1)


def unpacked(packed: bytes) -> Any:  # noqa: ANN401 (whatever was packed)
    """Read what `packed_small` wrote."""
    return pickle.loads(zlib.decompress(packed))  # noqa: S301 (a cluster runs what its clients send; it is trusted)


def _located(error: AssayError) -> AssayError:
    """Say on which host an error was."""
    hint = error.hint
    if isinstance(error, CorpusError | GoldError):
        hint = f"{hint}; {_THERE}" if hint else _THERE
    message = f"on {socket.gethostname()}: {error.message}"
    return type(error)(message, file=error.file, line=error.line, hint=hint)
