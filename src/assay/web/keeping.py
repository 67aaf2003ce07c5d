"""What is made once and kept while it is used: bounded, so that a server that runs for days does not grow."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Kept(Generic[K, V]):
    """The values that were used last; whoever asks first makes one, and others who ask meanwhile wait for it."""

    def __init__(self, most: int, drop: Callable[[V], None] | None = None) -> None:
        self._most = most
        self._drop = drop
        self._lock = threading.Lock()
        self._made: OrderedDict[K, Future[V]] = OrderedDict()

    def get(self, key: K, make: Callable[[], V]) -> V:
        """Give the value of a key; one that cannot be made is tried again next time."""
        with self._lock:
            future = self._made.get(key)
            first = future is None
            if future is None:
                future = self._made[key] = Future()
            self._made.move_to_end(key)
        if first:
            self._make(key, future, make)
        return future.result()

    def _make(self, key: K, future: Future[V], make: Callable[[], V]) -> None:
        """Make a value, and let go of what was not used for the longest time."""
        try:
            future.set_result(make())
        except BaseException as error:
            with self._lock:
                self._made.pop(key, None)
            future.set_exception(error)
            return
        for old in self._surplus():
            if self._drop is not None:
                self._drop(old.result())

    def _surplus(self) -> list[Future[V]]:
        """Take out what is too much; what is still being made stays."""
        with self._lock:
            done = [key for key, future in self._made.items() if future.done()]
            return [self._made.pop(key) for key in done[: max(0, len(self._made) - self._most)]]
