"""Dask says what goes wrong with tracebacks of its own, beside the sentences that people get from us."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

#: Whose loggers speak of connections. Those below them that have no level of their own take that of the first.
_ROOMS: Final = ("distributed", "tornado")


@contextmanager
def quiet_dask() -> Iterator[None]:
    """Keep Dask's loggers still for a while; they are as they were afterwards."""
    known = [name for name in logging.Logger.manager.loggerDict if name.split(".")[0] in _ROOMS]
    loggers = [logging.getLogger(name) for name in sorted({*known, *_ROOMS})]
    before = [(logger, logger.level) for logger in loggers if logger.level or logger.name in _ROOMS]
    try:
        for logger, _ in before:
            logger.setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for logger, level in before:
            logger.setLevel(level)
