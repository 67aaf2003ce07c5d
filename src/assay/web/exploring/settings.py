"""What can be set of the builtin engine, as the page offers it; nothing that would send code anywhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from assay.engines.kinds import SettingPage, describe
from assay.errors import ConfigError, nearest
from assay.search.models import SHIPPED
from assay.settings import applied, flat
from assay.types import EngineRun

#: Addresses and names of secrets: whoever changes them chooses whom the code is sent to.
_CLOSED = ("url", "token_env")
_CHOICES = "one of "


@cache
def pages() -> Mapping[str, SettingPage]:
    """Describe every setting of the builtin engine that a page may change, by dotted name."""
    builtin = next(kind for kind in describe() if kind.name == "builtin")
    return {page.name: page for page in builtin.settings if page.name.rpartition(".")[2] not in _CLOSED}


def described() -> list[dict[str, Any]]:
    """List the settings for the page."""
    return [
        {
            "name": page.name,
            "type": page.type,
            "choices": page.type.removeprefix(_CHOICES).split(", ") if page.type.startswith(_CHOICES) else None,
            "default": _default(page),
            "about": page.about,
            "index": page.name.startswith("search.index."),
            "model": _names_model(page.name),
        }
        for page in pages().values()
    ]


def values_of(engine: EngineRun) -> dict[str, object]:
    """Give what an engine of a run was set to, where that is not the default."""
    given = _flat(engine.config)
    return {name: given[name] for name, page in pages().items() if name in given and given[name] != _default(page)}


def changed_config(engine: EngineRun, changes: Mapping[str, object]) -> dict[str, Any]:
    """Give the settings of an engine with some of them changed; what a page may not change is refused."""
    for name, value in changes.items():
        if name not in pages():
            near = nearest(name, pages())
            hint = f"did you mean {near[0]}?" if near else "the panel lists the settings"
            raise ConfigError(f"{name!r} is no setting that can be changed here", hint=hint)
        if _names_model(name) and value not in ("", SHIPPED, _flat(engine.config).get(name)):
            raise ConfigError(
                f"{name} = {value!r}: a page names no new models",
                hint="here a model is turned off, or taken as it ships; set others in assay.toml",
            )
    return applied(dict(engine.config), changes)


def _flat(config: Mapping[str, object]) -> dict[str, object]:
    """Name recorded settings by dotted keys; lists as JSON has them."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in flat(config).items()}


def _default(page: SettingPage) -> object:
    """Read a default back from how it is written down."""
    return None if page.default in (None, "none") else json.loads(page.default)


def _names_model(name: str) -> bool:
    """Tell a setting that names a model."""
    return name.endswith("model")
