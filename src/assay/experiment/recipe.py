"""What an engine is made of, so that it can be made again: with other seeds, in another process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import ConfigError
from assay.files import read_utf8
from assay.toml import line_of
from assay.types import Suite

if TYPE_CHECKING:
    from assay.engines.base import FullEngine


@dataclass(frozen=True, slots=True)
class Recipe:
    """What `make_engine` makes an engine of."""

    spec: str | Mapping[str, object]
    folder: Path = Path()  # where its relative paths begin
    seed: int = 0
    suite: Suite | None = field(default=None, repr=False)
    name: str = ""  # what it is called, if it is
    file: str | None = None  # the assay.toml that declares it under that name

    def make(self) -> FullEngine:
        """Make it; what is wrong with it is told with its name and where it is declared."""
        from assay.engines import make_engine

        try:
            return make_engine(self.spec, suite=self.suite, seed=self.seed, folder=self.folder)
        except ConfigError as error:
            message = f"{self.name}: {error.message}" if self.name else error.message
            line = None if self.file is None else line_of(read_utf8(Path(self.file)), f"engines.{self.name}")
            file, line = (error.file, error.line) if error.file else (self.file, error.line or line)
            raise ConfigError(message, file=file, line=line, hint=error.hint) from error
