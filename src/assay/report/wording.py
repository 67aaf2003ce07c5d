"""Numbers as every table and sentence writes them."""

from __future__ import annotations

from typing import Protocol


class Ends(Protocol):
    """Whatever has two ends: an interval, or a row that carries one."""

    @property
    def low(self) -> float:
        """The lower end."""
        ...

    @property
    def high(self) -> float:
        """The upper end."""
        ...


def ends(interval: Ends, shape: str = ".3f") -> str:
    """Write an interval."""
    return f"[{interval.low:{shape}}, {interval.high:{shape}}]"


def mean_text(mean: float, interval: Ends) -> str:
    """Write a mean with its interval; the third digit of an end would say more than is known."""
    return f"{mean:.3f} {ends(interval, '.2f')}"


def difference_text(difference: float, interval: Ends) -> str:
    """Write a difference with its interval, signs and all."""
    return f"{difference:+.3f} {signed_ends(interval)}"


def signed_ends(interval: Ends) -> str:
    """Write the interval of a difference."""
    return ends(interval, "+.3f")


def count(number: int, one: str, many: str = "") -> str:
    """Write a number with its noun; most take an s."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
