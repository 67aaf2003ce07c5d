"""How a file is cut: windows of lines that cover every line of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.search.config import SearchConfig

IntArray = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Chunks:
    """All chunks of a corpus as columns, in (path, start) order; chunk ids are positions.

    An empty file has one chunk, lines 1-0: its path can be found, and it has no line to point to.
    """

    paths: tuple[str, ...]
    file: IntArray
    start: IntArray
    end: IntArray

    def __len__(self) -> int:
        return len(self.file)


def count_windows(lines: int, config: SearchConfig) -> int:
    """Tell how many windows a file of so many lines is cut into."""
    if config.window == 0 or lines <= config.window:
        return 1
    return 1 + -(-(lines - config.window) // config.stride)


def lay_windows(paths: tuple[str, ...], lines: list[int], config: SearchConfig) -> Chunks:
    """Lay windows over files of the given numbers of lines; the last window of a file may be shorter."""
    counts = np.array([count_windows(n, config) for n in lines], dtype=np.int64)
    file = np.repeat(np.arange(len(paths)), counts)
    length = np.array(lines, dtype=np.int64)[file]
    nth = np.arange(len(file)) - np.repeat(np.cumsum(counts) - counts, counts)
    start = nth * config.stride if config.window else np.zeros_like(nth)
    end = np.minimum(start + config.window, length) if config.window else length
    return Chunks(paths, file.astype(np.int32), (start + 1).astype(np.int32), end.astype(np.int32))


def windows_of(line: NDArray[np.int64], windows: int, config: SearchConfig) -> list[NDArray[np.int64]]:
    """For each token's 0-based line give, window by window that can hold it, the window's number or -1."""
    if windows == 1:
        return [np.zeros_like(line)]
    reach = (config.window - 1) // config.stride
    last = line // config.stride
    held = [last - back for back in range(reach + 1)]
    return [np.where((n >= 0) & (n < windows) & (line < n * config.stride + config.window), n, -1) for n in held]
