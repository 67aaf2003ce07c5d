"""What an engine is made of, so that it can be made again: with other seeds, in another process."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import ConfigError
from assay.settings import read_settings, unknown
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
    line: int | None = None  # where, if that is known
    flags: tuple[str, ...] = ()  # the --set flags that changed its settings

    def make(self) -> FullEngine:
        """Make it; what is wrong with it is told with its name and where it is declared."""
        from assay.engines import make_engine

        try:
            return make_engine(self.spec, suite=self.suite, seed=self.seed, folder=self.folder)
        except ConfigError as error:
            raise self._told(error) from error

    def check(self) -> None:
        """Check its settings alone, where making it would need what this machine lacks."""
        try:
            _check_settings(self.spec, self.folder)
        except ConfigError as error:
            raise self._told(error) from error

    def _told(self, error: ConfigError) -> ConfigError:
        """Tell a mistake in the settings with the engine's name and where it is declared."""
        message = f"{self.name}: {error.message}" if self.name else error.message
        flag = self._blamed(error)
        if flag:
            return ConfigError(f"{flag}: {message}", hint=error.hint)
        file, line = (error.file, error.line) if error.file else (self.file, error.line or self.line)
        return ConfigError(message, file=file, line=line, hint=error.hint)

    def _blamed(self, error: ConfigError) -> str | None:
        """Find the flag that an error is about: the last one whose setting it names."""
        words = set(re.findall(r"[\w-]+", error.message))

        def blamed(flag: str) -> bool:
            """Tell whether the error names all of a flag's setting, or quotes a part of it as unknown."""
            table, _, *names = re.findall(r"[\w-]+", flag.partition("=")[0].removeprefix("--set "))
            path = names if table == "engines" else names[1:]  # after `set` or `knobs`
            return bool(path) and (words.issuperset(path) or any(f"'{name}'" in error.message for name in path))

        return next((flag for flag in reversed(self.flags) if blamed(flag)), None)


def _check_settings(spec: str | Mapping[str, object], folder: Path) -> None:
    """Read settings into the record of their kind, and make nothing of it."""
    from assay.engines import KINDS, table_of
    from assay.engines.presets import named_preset, place, settings_of

    table = table_of(spec) if isinstance(spec, str) else spec
    rest = {name: value for name, value in table.items() if name not in ("kind", "preset")}
    preset = named_preset(str(table["preset"]), folder) if "preset" in table else None
    kind = preset.kind if preset else str(table["kind"])
    if kind not in KINDS:
        raise unknown("unknown kind of engine", kind, sorted(KINDS), "kinds")
    record: type[object] = import_module(KINDS[kind].module).Settings
    try:
        read_settings(record, settings_of(preset, rest) if preset else rest, f"engine {kind}")
    except ConfigError as problem:
        raise (place(problem, preset, rest) if preset else problem) from problem
