"""Settings that decide the index of an engine; variants that differ only in others share it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import Any, Literal, cast

from assay.digests import digest_of
from assay.engines.config_files import ConfigTemplate, Key, find, list_keys
from assay.engines.sharing import SharedStep
from assay.errors import ConfigError, closest_match
from assay.settings import joined, parts

#: What makes an index: nothing, a program that ends, the program that answers queries, or a server of the user's.
Maker = Literal["nobody", "program", "itself", "server"]
ABOUT = (
    "settings that belong to the index, such as argv, env.MODEL (all of env if no variable is named) and "
    "config.embedding.model (an edit); what makes the index does anyway. Variants that differ in other settings share "
    "one index, which must lie in {root} or {store}; not given, all settings belong to it"
)


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """Digests of the settings that decide the index of an engine, and of all settings."""

    maker: Maker
    named: tuple[Key, ...] | None  # None: every setting belongs to the index
    digest: str
    whole: str  # of all settings
    about: str = ""
    address: str = ""  # of a server of the user's, which may hold one index at a time

    @property
    def shared(self) -> bool:
        """Whether `index_keys` is set, so that variants may share the index."""
        return self.named is not None

    def steps(self) -> tuple[SharedStep, ...]:
        """List the steps from corpus to ranking."""
        return (SharedStep("index", self.digest, self.about), SharedStep("ranking", self.whole, "all settings"))


@dataclass(frozen=True, slots=True)
class IndexDeclaration:
    """What an engine kind declares about its index."""

    where: str
    settings: Any  # the kind's `Settings`
    always: tuple[str, ...]  # settings that belong to every index of this kind
    maker: Maker
    places: Mapping[str, str]  # {here} and {preset}
    config: ConfigTemplate | None = None
    about: str = ""
    address: str = ""


def read_indexing(declared: IndexDeclaration) -> IndexSettings:
    """Return what decides the index; raise ConfigError for an unknown name in `index_keys`."""
    config, places = declared.config, dict(declared.places)
    table = _settings_table(declared.settings, config)
    given: Sequence[str] | None = declared.settings.index_keys
    whole = digest_of([declared.where, {**table, "config": _effect(config)}, places])
    if given is None:
        return IndexSettings(declared.maker, None, whole, whole, declared.about, declared.address)
    if declared.maker == "nobody":
        raise ConfigError(
            f"{declared.where}: index_keys, but it makes no index that others could have",
            hint="take it out, or declare the step that makes an index",
        )
    named = tuple(_read_key(key, table, declared) for key in given)
    inputs = {name: table[name] for name in declared.always if name in table}
    inputs |= {joined(key): find(table, key) for key in named if key[0] != "config"}
    if "env" in table and not _variables(named):
        inputs["env"] = table["env"]
    inputs["config"] = _effect(index_config(config, named))
    digest = digest_of([declared.where, inputs, places])
    return IndexSettings(declared.maker, named, digest, whole, declared.about, declared.address)


def index_env(env: Mapping[str, str], named: tuple[Key, ...] | None) -> Mapping[str, str]:
    """Return the variables that indexing gets: all, unless `index_keys` names some."""
    wanted = None if named is None else _variables(named)
    return {name: env[name] for name in env if name in wanted} if wanted else env


def index_config(config: ConfigTemplate | None, named: tuple[Key, ...] | None) -> ConfigTemplate | None:
    """Return the configuration that indexing gets: only with the edits that `index_keys` names."""
    if config is None or named is None:
        return config
    prefixes = [key[2:] for key in named if key[0] == "config"]
    return config.only(lambda key: any(key[: len(prefix)] == prefix for prefix in prefixes))


def _variables(named: tuple[Key, ...]) -> frozenset[str]:
    return frozenset(key[1] for key in named if key[0] == "env" and len(key) > 1)


def _read_key(text: str, table: Mapping[str, Any], declared: IndexDeclaration) -> Key:
    key = parts(text)
    if key[0] == "config" and key[1:2] != ("edits",):
        key = ("config", "edits", *key[1:])
    known = {one for one in list_keys(table) if one[:2] != ("config", "edits")}
    inside = () if declared.config is None else [("config", "edits", *parts(name)) for name in declared.config.known]
    known |= {one[:cut] for one in inside for cut in range(2, len(one) + 1)}
    if key not in known:
        near = closest_match(text, sorted(joined(one).replace("config.edits.", "config.", 1) for one in known))
        meant = f"did you mean {near[0]!r}? " if near else ""
        raise ConfigError(
            f"{declared.where}: index_keys has {text!r}, which is no setting here",
            hint=f"{meant}name settings of this engine, such as argv, env.NAME or config.KEY",
        )
    return key


def _settings_table(settings: object, config: ConfigTemplate | None) -> dict[str, Any]:
    names = [field.name for field in fields(cast(Any, settings)) if field.name not in ("index_keys", "config")]
    table = {name: _plain(getattr(settings, name)) for name in names}
    return table | ({} if config is None else {"config": {**config.recorded(), "format": config.format}})


def _plain(value: object) -> Any:  # noqa: ANN401 - what JSON has
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _effect(config: ConfigTemplate | None) -> list[str] | None:
    return None if config is None else [config.file.name, config.format, config.digest, config.effect]
