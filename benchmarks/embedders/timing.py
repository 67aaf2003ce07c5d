"""Work that is done in turns on one core, and how the turns compare."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

#: The median lies between the second and the last but one of nine values with 96 %, whatever they are drawn from.
ROUNDS: Final = 9
_LEFT_OUT: Final = 1


@dataclass(frozen=True, slots=True)
class Work:
    """Something that is done to a number of texts."""

    texts: int
    do: Callable[[], object]


@dataclass(frozen=True, slots=True)
class Rounds:
    """Texts a second of processor, round by round."""

    rates: tuple[float, ...]

    def text(self) -> str:
        """Write it."""
        return f"{statistics.median(self.rates):,.0f}"

    def beside(self, other: Rounds) -> Middle:
        """Say how many times as many as another's, round by round."""
        return middle([a / b for a, b in zip(self.rates, other.rates, strict=True)])


@dataclass(frozen=True, slots=True)
class Middle:
    """A median and where it lies."""

    median: float
    low: float
    high: float

    def text(self, digits: int = 2) -> str:
        """Write it."""
        return f"{self.median:.{digits}f} [{self.low:.{digits}f}, {self.high:.{digits}f}]"


def middle(values: Sequence[float]) -> Middle:
    """Give the median of values with its interval, by the sign test."""
    order = sorted(values)
    return Middle(statistics.median(order), order[_LEFT_OUT], order[-1 - _LEFT_OUT])


def in_turns(works: Mapping[str, Work], rounds: int = ROUNDS) -> dict[str, Rounds]:
    """Do each once to warm up, then all in turn, round by round: what slows the machine slows all of them."""
    for work in works.values():
        work.do()
    rates: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            rates[name].append(work.texts / processor(work.do))
    return {name: Rounds(tuple(each)) for name, each in rates.items()}


def processor(do: Callable[[], object]) -> float:
    """Return the CPU seconds of a call, all threads included."""
    begin = time.process_time()
    do()
    return time.process_time() - begin


@contextmanager
def one_core() -> Iterator[None]:
    """Stay on one core; where that cannot be asked for, tokenizers still use one thread."""
    before, cores = os.environ.get("TOKENIZERS_PARALLELISM"), _cores()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    _stay(frozenset(sorted(cores)[:1]))
    try:
        yield
    finally:
        _stay(cores)
        if before is None:
            del os.environ["TOKENIZERS_PARALLELISM"]
        else:
            os.environ["TOKENIZERS_PARALLELISM"] = before


def _cores() -> frozenset[int]:
    """List the cores that this process may use; none where the system does not say."""
    return frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else frozenset()


def _stay(cores: frozenset[int]) -> None:
    """Use these cores alone."""
    if cores:
        os.sched_setaffinity(0, cores)
