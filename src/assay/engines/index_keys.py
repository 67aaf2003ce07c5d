"""Which settings of an engine belong to its index: what differs in the others only shares it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import Any, Literal, cast

from assay.digests import digest_of
from assay.engines.configs.paths import Path, keys
from assay.engines.configs.rendering import ConfigTemplate, matches
from assay.engines.sharing import SharedStep
from assay.errors import ConfigError, closest_match
from assay.settings import joined, parts

#: How an index is made: not at all, by a program that ends, by the program that is asked, or by somebody's server.
Maker = Literal["nobody", "program", "itself", "server"]
ABOUT = (
    "settings that belong to the index, such as argv, env.MODEL (all of env if no variable is named) and "
    "config.embedding.model (an edit); what makes the index does anyway. Variants that differ in other settings share "
    "one index, which must lie in {root} or {store}; not given, all settings belong to it"
)


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """What decides the index of an engine, and what its ranking."""

    maker: Maker
    named: tuple[Path, ...] | None  # None: every setting belongs to the index
    digest: str
    whole: str  # of all settings
    about: str = ""
    address: str = ""  # of a server that is not ours: it may know one index at a time

    @property
    def shared(self) -> bool:
        """Whether it was said what belongs to the index, so that others may have the same."""
        return self.named is not None

    def steps(self) -> tuple[SharedStep, ...]:
        """List the way from corpus to ranking."""
        return (SharedStep("index", self.digest, self.about), SharedStep("ranking", self.whole, "all settings"))


@dataclass(frozen=True, slots=True)
class IndexDeclaration:
    """What a kind of engine says of itself."""

    where: str
    settings: Any  # its record
    always: tuple[str, ...]  # settings that belong to every index of this kind
    maker: Maker
    places: Mapping[str, str]  # {here} and {preset}
    config: ConfigTemplate | None = None
    about: str = ""
    address: str = ""


def read_indexing(declared: IndexDeclaration) -> IndexSettings:
    """Work out what belongs to the index; a name that means nothing is an error."""
    table = _table(declared.settings, declared.config)
    given: Sequence[str] | None = declared.settings.index_keys
    whole = digest_of([declared.where, {**table, "config": _effect(declared.config)}, dict(declared.places)])
    if given is None:
        return IndexSettings(declared.maker, None, whole, whole, declared.about, declared.address)
    if declared.maker == "nobody":
        raise ConfigError(
            f"{declared.where}: index_keys, but it makes no index that others could have",
            hint="take it out, or declare the step that makes an index",
        )
    named = tuple(_read_key(key, table, declared) for key in given)
    belongs = [part for part in declared.always if part in table]
    said = {name: table[name] for name in belongs}
    said |= {joined(path): _found(table, path) for path in named if path[0] != "config"}
    if "env" in table and not _of_env(named):
        said["env"] = table["env"]
    said["config"] = _effect(index_config(declared.config, named))
    digest = digest_of([declared.where, said, dict(declared.places)])
    return IndexSettings(declared.maker, named, digest, whole, declared.about, declared.address)


def index_env(env: Mapping[str, str], named: tuple[Path, ...] | None) -> Mapping[str, str]:
    """Give the part of the environment that making an index sees: all of it, unless some of it is named."""
    wanted = None if named is None else _of_env(named)
    return {name: env[name] for name in env if name in wanted} if wanted else env


def index_config(config: ConfigTemplate | None, named: tuple[Path, ...] | None) -> ConfigTemplate | None:
    """Give the configuration that making an index sees: with the edits that are named alone."""
    if config is None or named is None:
        return config
    return config.only(_edits(named))


def _edits(named: tuple[Path, ...]) -> Callable[[Path], bool]:
    return matches([path[2:] for path in named if path[0] == "config"])


def _of_env(named: tuple[Path, ...]) -> frozenset[str]:
    return frozenset(path[1] for path in named if path[0] == "env" and len(path) > 1)


def _read_key(key: str, table: Mapping[str, Any], declared: IndexDeclaration) -> Path:
    path = parts(key)
    if path[0] == "config" and path[1:2] != ("edits",):
        path = ("config", "edits", *path[1:])
    known = {path for path in keys(table) if path[:2] != ("config", "edits")}
    inside = () if declared.config is None else [("config", "edits", *parts(name)) for name in declared.config.known]
    known |= {("config", "edits", *path[2:cut]) for path in inside for cut in range(2, len(path) + 1)}
    if path not in known:
        near = closest_match(key, sorted(joined(one).replace("config.edits.", "config.", 1) for one in known))
        meant = f"did you mean {near[0]!r}? " if near else ""
        raise ConfigError(
            f"{declared.where}: index_keys has {key!r}, which is no setting here",
            hint=f"{meant}name settings of this engine, such as argv, env.NAME or config.KEY",
        )
    return path


def _table(settings: object, config: ConfigTemplate | None) -> dict[str, Any]:
    """Give settings as plain tables; of a template its digest, so that another file is another setting."""
    names = [field.name for field in fields(cast(Any, settings)) if field.name not in ("index_keys", "config")]
    table = {name: _plain(getattr(settings, name)) for name in names}
    return table | ({} if config is None else {"config": {**config.recorded(), "format": config.format}})


def _plain(value: object) -> Any:  # noqa: ANN401 - what JSON has
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _found(table: Mapping[str, Any], path: Path) -> object:
    found: Any = table
    for part in path:
        found = found[int(part)] if isinstance(found, list) else found[part]
    return found


def _effect(config: ConfigTemplate | None) -> list[str] | None:
    return None if config is None else [config.file.name, config.format, config.digest, config.effect]
