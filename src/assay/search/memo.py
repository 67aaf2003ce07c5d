"""What was found out about the questions that are being asked now, for engines that differ in a setting or two.

Engines of one shelf are asked the same question one after the other. What they compute alike is computed once and kept
under all that decides it; a single index needs none of this and keeps nothing.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar, cast

import numpy as np

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MemoLimits:
    """How much is kept; no effect on any answer."""

    questions: int = 2  # the one that is asked now, and one that an abandoned thread may still be at
    bytes: int = 256_000_000  # of one question: 30 arrays of a million units; what is more is computed every time


class Memo:
    """Values by question and by what decides them; safe between threads."""

    def __init__(self, room: MemoLimits | None = None) -> None:
        self._room = room or MemoLimits()
        self._asked: OrderedDict[str, dict[Hashable, object]] = OrderedDict()
        self._bytes: dict[str, int] = {}
        self._lock = threading.Lock()

    def of(self, question: str, key: Hashable, make: Callable[[], T]) -> T:
        """Give the value of a key, made if it is not there; nobody may change it."""
        with self._lock:
            known = self._of_question(question)
            if key in known:
                return cast(T, known[key])
        made = make()
        size = _frozen(made)
        with self._lock:
            if question in self._bytes and self._bytes[question] + size <= self._room.bytes:
                self._asked[question][key] = made
                self._bytes[question] += size
        return made

    def _of_question(self, question: str) -> dict[Hashable, object]:
        if question not in self._asked:
            self._asked[question], self._bytes[question] = {}, 0
            if len(self._asked) > self._room.questions:
                del self._bytes[self._asked.popitem(last=False)[0]]
        self._asked.move_to_end(question)
        return self._asked[question]


def _frozen(value: Any) -> int:  # noqa: ANN401 - whatever stages make
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
        return value.nbytes
    if isinstance(value, tuple):
        return sum(map(_frozen, value))
    if is_dataclass(value):
        return sum(_frozen(getattr(value, field.name)) for field in fields(value))
    return 0
