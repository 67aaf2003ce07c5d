"""Identity of an index: the settings that it depends on, as declared by `index_keys`, and their digest."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import Any, Literal

from assay.digests import digest_of
from assay.engines.config_files import ConfigTemplate, Key, nodes
from assay.errors import ConfigError, closest_match
from assay.settings import split_key
from assay.toml import write_key

#: Builder of an index: none, a command, the program or server of the session, or a server that the user started.
IndexBuilder = Literal["none", "command", "session", "server"]
INDEX_KEYS_HELP = (
    "settings that the index depends on, such as argv, env.MODEL or config.embedding.model; variants that differ only "
    "in other settings share one index, which must be in {root} or {store}; by default it depends on all settings"
)


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """Digests of the settings that the index depends on, and of all settings."""

    builder: IndexBuilder
    named: tuple[Key, ...] | None  # None: the index depends on every setting
    digest: str
    whole: str  # digest of all settings
    about: str = ""
    address: str = ""  # address of a server that may hold one index at a time

    @property
    def shared(self) -> bool:
        """Whether `index_keys` is set, so that variants may share the index."""
        return self.named is not None

    @property
    def separate(self) -> bool:
        """Whether the index is built before sessions use it."""
        return self.builder == "command" or self.shared


def make_index_settings(
    where: str,
    settings: Any,  # noqa: ANN401 - the settings of an engine kind, a dataclass with `index_keys`
    always: Sequence[str],  # settings that every index of this kind depends on
    builder: IndexBuilder,
    fixed: Mapping[str, str],
    config: ConfigTemplate | None = None,
    about: str = "",
    address: str = "",
) -> IndexSettings:
    """Return the index settings; raise ConfigError for an unknown name in `index_keys`."""
    names = [field.name for field in fields(settings) if field.name not in ("index_keys", "config")]
    table = json.loads(json.dumps({name: getattr(settings, name) for name in names}, default=_to_json))
    if config is not None:
        table["config"] = {**config.recorded(), "format": config.format}
    whole = digest_of([where, {**table, "config": config and config.effect}, dict(fixed)])
    if settings.index_keys is None:
        return IndexSettings(builder, None, whole, whole, about, address)
    if builder == "none":
        raise ConfigError(
            f"{where}: `index_keys` is set, but the engine builds no index", hint="remove `index_keys`, or set `index`"
        )
    known = {key for key in nodes(table) if key[:2] != ("config", "edits")}
    for name in config.known if config else ():
        edit = ("config", "edits", *name)
        known |= {edit[:cut] for cut in range(2, len(edit) + 1)}
    named = tuple(_parse_index_key(key, known, where) for key in settings.index_keys)
    inputs = {name: table[name] for name in always if name in table}
    inputs |= {write_key(key): nodes(table)[key] for key in named if key[0] != "config"}
    if "env" in table and not index_variables(named):
        inputs["env"] = table["env"]
    only = index_config(config, named)
    inputs["config"] = only and only.effect
    return IndexSettings(builder, named, digest_of([where, inputs, dict(fixed)]), whole, about, address)


def index_config(config: ConfigTemplate | None, named: tuple[Key, ...] | None) -> ConfigTemplate | None:
    """Return the configuration for indexing, with only the edits named in `index_keys`."""
    if config is None or named is None:
        return config
    prefixes = [key[2:] for key in named if key[0] == "config"]
    return config.only(lambda key: any(key[: len(prefix)] == prefix for prefix in prefixes))


def index_variables(named: tuple[Key, ...]) -> frozenset[str]:
    """Return the environment variables named in `index_keys`."""
    return frozenset(key[1] for key in named if key[0] == "env" and len(key) > 1)


def _parse_index_key(text: str, known: set[Key], where: str) -> Key:
    key = split_key(text)
    if key[0] == "config" and key[1:2] != ("edits",):
        key = ("config", "edits", *key[1:])
    if key not in known:
        names = sorted(write_key(setting).replace("config.edits.", "config.", 1) for setting in known)
        close = closest_match(text, names)
        raise ConfigError(
            f"{where}: unknown setting {text!r} in index_keys",
            hint=f"did you mean {close[0]!r}?" if close else "use settings such as argv, env.NAME or config.KEY",
        )
    return key


def _to_json(value: Any) -> object:  # noqa: ANN401 - a value of a setting
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return dict(value) if isinstance(value, Mapping) else str(value)
