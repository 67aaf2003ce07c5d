"""Settings of the built-in engine from the environment: `ASSAY_SEARCH__STEM__FILES=0.4`.

They override what assay.toml says of an engine. Variants, sweeps and `--set` name a setting on purpose and override
them. The result is part of the engine's settings, so it is in the records, in the engine's identity, and in every
process that works for the run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.experiment.spec.extending import flag_layer
from assay.settings import applied, leaves, parts

if TYPE_CHECKING:
    from assay.experiment.spec.record import Settings, Spec

_PREFIX = "ASSAY_SEARCH"
_KIND = "builtin"


def with_environment(settings: Settings, folder: Path = Path(), flags: Sequence[str] = ()) -> Settings:
    """Return the settings of an engine; those of the built-in one with what the environment says and no flag does."""
    if not _variables() or not _is_builtin(settings, folder):
        return settings
    from assay.engines import table_of
    from assay.engines.builtin import environment_settings

    given = environment_settings(os.environ)
    flagged = {setting for flag in flags for setting in _settings(flag)}
    changes = {key: value for key, value in given.items() if parts(key) not in flagged}
    return applied(table_of(settings) if isinstance(settings, str) else settings, changes)


def environment_note(spec: Spec) -> str:
    """Return which variables apply to which engines; empty if none does."""
    variables = _variables()
    names = [one.name for one in spec.subjects() if variables and _is_builtin(one.settings, one.place.folder)]
    return f"{', '.join(variables)} from the environment applied to {', '.join(names)}" if names else ""


def _variables() -> list[str]:
    return sorted(name for name in os.environ if name.startswith(_PREFIX))


def _is_builtin(settings: Settings, folder: Path) -> bool:
    from assay.engines import table_of

    table: Mapping[str, Any] = table_of(settings) if isinstance(settings, str) else settings
    if "preset" not in table:
        return table.get("kind") == _KIND
    from assay.engines.presets import named_preset
    from assay.errors import ConfigError

    try:
        return named_preset(str(table["preset"]), folder).kind == _KIND
    except ConfigError:  # an unknown preset is reported where the engine is made
        return False


def _settings(flag: str) -> Iterator[tuple[str, ...]]:
    """Yield the settings of an engine that a flag such as `--set engines.mine.search.stem.files=0.4` changes."""
    for keys, _ in leaves(flag_layer(flag.removeprefix("--set ")).data):
        yield keys[2:]
