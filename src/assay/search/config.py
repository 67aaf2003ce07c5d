"""Every number that shapes a ranking of the reference engine, with its reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from assay.errors import ConfigError


@dataclass(frozen=True, slots=True)
class SearchConfig:
    """One value that, with the corpus, decides every answer."""

    window: int = field(
        default=40,  # about a screen, and the span an agent can afford to read ten of
        metadata={"about": "lines of a chunk, 0 for the whole file"},
    )
    overlap: int = field(
        default=10,  # a block of up to ten lines is whole in at least one window
        metadata={"about": "lines that neighbouring chunks share"},
    )
    k1: float = field(
        default=1.2,  # the usual low end of Robertson's 1.2–2.0; not tuned on any gold set
        metadata={"about": "BM25's term saturation"},
    )
    b: float = field(
        default=0.75,  # Robertson's default; windows are of nearly equal length, so it matters little here
        metadata={"about": "BM25's length normalisation, 0 to 1"},
    )
    path_weight: float = field(
        default=2.0,  # files are named to be found; semble counts stems twice
        metadata={"about": "occurrences that one word of the path counts for"},
    )
    file_chunks: int = field(
        default=10,  # on semble's visible half nDCG@10 was 0.74 with one, 0.80 with ten
        metadata={"about": "chunks of a file that add to its score"},
    )
    file_decay: float = field(
        default=0.65,  # measured on the same set
        metadata={"about": "weight of each further chunk of a file relative to the one before"},
    )
    longest_word: int = field(
        default=100,  # beyond it is data (base64, hashes) that nobody types
        metadata={"about": "characters of the longest ASCII run that is a word"},
    )

    def __post_init__(self) -> None:
        """Refuse values that would silently mean something else."""
        for name, (kind, holds, wanted) in _LAWS.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, kind) or not holds(value):
                raise ConfigError(f"search setting {name} = {value!r}", hint=f"{name} must be {wanted}")
        if self.window and self.overlap >= self.window:
            raise ConfigError(
                f"search setting overlap = {self.overlap} with window = {self.window}",
                hint="the overlap must be smaller than the window",
            )

    @property
    def stride(self) -> int:
        """Lines from the start of one window to the start of the next."""
        return self.window - self.overlap

    def as_dict(self) -> dict[str, object]:
        """Give the settings by name, for records and hashes."""
        return {setting.name: getattr(self, setting.name) for setting in fields(self)}


_Law = tuple[tuple[type, ...], Callable[[Any], bool], str]
_LAWS: dict[str, _Law] = {
    "window": ((int,), lambda v: v >= 0, "a number of lines, or 0 for whole files"),
    "overlap": ((int,), lambda v: v >= 0, "a number of lines, 0 or more"),
    "k1": ((int, float), lambda v: 0 <= v < float("inf"), "a number, 0 or more"),
    "b": ((int, float), lambda v: 0 <= v <= 1, "a number from 0 to 1"),
    "path_weight": ((int, float), lambda v: 0 <= v < float("inf"), "a number, 0 or more"),
    "file_chunks": ((int,), lambda v: v >= 1, "a number of chunks, 1 or more"),
    "file_decay": ((int, float), lambda v: 0 <= v <= 1, "a number from 0 to 1"),
    "longest_word": ((int,), lambda v: v >= 1, "a number of characters, 1 or more"),
}
