"""In this process, one task after the other."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


class Here:
    """A fleet of none: a task is done when it is sent."""

    width = 1
    near = True

    def submit(self, function: Callable[..., T], /, *args: object) -> Future[T]:
        """Do a task; an interrupt goes through to whoever sent it."""
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()
        try:
            future.set_result(function(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def close(self) -> None:
        """Nothing was started."""
