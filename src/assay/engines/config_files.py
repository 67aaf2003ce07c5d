"""Configuration files for tools, rendered from templates and, except for plain text, verified by parsing."""

from __future__ import annotations

import configparser
import io
import json
import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from assay.digests import text_digest
from assay.engines.secrets import check_literal_secrets, literal_secrets
from assay.engines.templates import QUERY_PLACEHOLDERS, check_template, fill, fill_json, has_placeholder, named_secrets
from assay.errors import ConfigError, closest_match
from assay.files import read_utf8
from assay.redaction import register_secret_values
from assay.settings import setting, setting_errors, split_key
from assay.toml import write_key, write_value

Key = tuple[str, ...]  # names of tables and keys, indexes of list items
Tree = dict[str, Any]

_SUFFIXES = {".toml": "toml", ".json": "json", ".yaml": "yaml", ".yml": "yaml", ".ini": "ini", ".cfg": "ini"}
_SHOWN_KEYS = 8
_MARK = re.compile(r"@(?P<name>[A-Za-z_][\w.-]*)(?:=(?P<value>[^@\n]*))?@")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigSettings:
    """Settings in `[engines.NAME.config]` for the configuration file {config} of a tool."""

    template: str = field(metadata={"about": "template file, relative to the directory of assay.toml"})
    format: Literal["auto", "toml", "json", "yaml", "ini", "text"] = setting(
        "auto", "auto: by file name extension, text if unknown"
    )
    edits: Mapping[str, object] = setting(
        {},
        'new values by key, such as { "search.weight" = 0.7 }; other values are kept, comments are '
        "dropped; with format text, the value of weight replaces @weight@ or @weight=0.5@, where 0.5 is the default",
    )
    new_keys: bool = setting(False, "allow edits to add keys that are not in the template")


@dataclass(frozen=True, slots=True)
class ConfigTemplate:
    file: Path
    format: str
    text: str = field(repr=False)
    edits: Mapping[Key, object]
    new_keys: bool = False

    @property
    def tree(self) -> Tree:
        with self._located_errors("fix the syntax, or set `config.format`"):
            return _parse(self.text, self.format)

    @property
    def known(self) -> tuple[Key, ...]:
        return tuple(dict.fromkeys((*nodes(self.tree), *self.edits)))

    @property
    def texts(self) -> list[object]:
        inside = [self.text] if self.format == "text" else leaves(self.tree).values()
        return [*inside, *self.edits.values()]

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values to redact: environment variables named in template or edits, and literal secrets in the template."""
        literal = literal_secrets({write_key(key): value for key, value in leaves(self.tree).items()})
        return tuple(dict.fromkeys((*named_secrets(self.texts), *literal)))

    @property
    def effect(self) -> list[str]:
        """The name, format and digest of the template, and its text with edits but unfilled placeholders."""
        tree = self.tree
        with self._located_errors("correct config.edits"):
            text = self._write(tree, _real_changes(tree, dict(sorted(self._changes(tree).items()))))
        return [self.file.name, self.format, text_digest(self.text), text]

    def only(self, wanted: Callable[[Key], bool]) -> ConfigTemplate:
        return replace(self, edits={key: value for key, value in self.edits.items() if wanted(key)})

    def recorded(self) -> dict[str, object]:
        edits = {write_key(key): value for key, value in self.edits.items()}
        return {"template": self.file.name, "template_digest": text_digest(self.text), "edits": edits}

    def render(self, values: Mapping[str, str]) -> str:
        """Apply the edits and fill the placeholders; raise ConfigError for invalid edits."""
        tree = self.tree
        with self._located_errors("correct config.edits"):
            changes = self._changes(tree)
            self._check_keys(tree, changes)
            if self.format == "text":
                return fill(self._write(tree, changes), values)
            filled = {key: fill(text, values) for key, text in leaves(tree).items() if isinstance(text, str)}
            wanted = _real_changes(tree, filled | {key: fill_json(value, values) for key, value in changes.items()})
            rendered = self._write(tree, wanted)
        with suppress(ValueError):
            if same(_parse(rendered, self.format), apply_changes(tree, wanted)):
                return rendered
        keys = ", ".join(map(write_key, wanted))
        raise ConfigError(f"cannot set {keys} without changing other values", file=self.file, hint="edit the template")

    def write(self, directory: Path, values: Mapping[str, str]) -> Path:
        """Write the rendered file with mode 0600, because the text may contain secrets; return its path."""
        file = directory / self.file.name
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(self.render(values))
        return file

    def _changes(self, tree: Tree) -> dict[Key, object]:
        if self.format == "text":
            return {(".".join(key),): _to_text(key, value) for key, value in self.edits.items()}
        if self.format == "ini":
            return {_ini_key(tree, key): _to_text(key, value) for key, value in self.edits.items()}
        return dict(self.edits)

    def _write(self, tree: Tree, changes: Mapping[Key, object]) -> str:
        if self.format == "text":
            return _MARK.sub(lambda match: _write_mark(match, changes), self.text)
        if not changes:
            return self.text
        changed = apply_changes(tree, changes)
        return _write_yaml(self.text, changes) if self.format == "yaml" else _WRITERS[self.format](changed)

    def _check_keys(self, tree: Tree, changes: Mapping[Key, object]) -> None:
        known = nodes(tree)
        unknown = None if self.new_keys else next((write_key(key) for key in changes if key not in known), None)
        if unknown is None:
            return
        names = [write_key(key) for key in known]
        close = closest_match(unknown, names)
        shown = ", ".join(names[:_SHOWN_KEYS]) + (", ..." if len(names) > _SHOWN_KEYS else "")
        raise ConfigError(
            f"unknown key {unknown!r}" + (f"; did you mean {close[0]!r}?" if close else ""),
            file=self.file,
            hint=f"keys: {shown or 'none'}" + ("" if self.format == "text" else "; to add keys, set `new_keys = true`"),
            keys=[f"edits.{unknown}"],
        )

    @contextmanager
    def _located_errors(self, hint: str) -> Iterator[None]:
        try:
            yield
        except (ValueError, IndexError, TypeError, RecursionError) as error:
            line = re.search(r"line (\d+)", str(error))
            raise ConfigError(str(error), file=self.file, line=int(line[1]) if line else None, hint=hint) from error


def load_config_template(
    settings: ConfigSettings | None, fixed: Mapping[str, str], where: str
) -> ConfigTemplate | None:
    """Load a template and render it once, so that errors are raised before any program runs; None without settings."""
    if settings is None:
        return None
    known = (*fixed, *QUERY_PLACEHOLDERS, "root", "store")
    check_template([settings.template, settings.edits], known, where, "config")
    with setting_errors("config"):
        return _load_template(settings, fixed, f"{where}: config")


def _load_template(settings: ConfigSettings, fixed: Mapping[str, str], where: str) -> ConfigTemplate:
    edits = flatten(settings.edits)
    check_literal_secrets(where, {"edits": {write_key(key): value for key, value in edits.items()}})
    file = Path(fixed["here"], fill(settings.template, fixed))
    form = _SUFFIXES.get(file.suffix.lower(), "text") if settings.format == "auto" else settings.format
    if form == "text" and settings.new_keys:
        message = f'{where}: `new_keys` cannot be used with format "text"'
        raise ConfigError(message, hint="remove `new_keys`", keys=["new_keys", "format"])
    text = read_utf8(file, ConfigError, hint="set `template` to a file, relative to the directory of assay.toml")
    template = ConfigTemplate(file, form, text, edits, settings.new_keys)
    register_secret_values(named_secrets(template.texts))
    template.render({**fixed, "root": "/root", "store": "/store"})
    return template


def check_config_used(config: ConfigTemplate | None, templates: object, where: str) -> None:
    if config is not None and not has_placeholder(templates, "config"):
        raise ConfigError(
            f"{where}: `config` is set, but {{config}} is not used",
            hint="pass {config} to the tool, as in --config {config} or in env",
            keys=["config"],
        )


def recorded_config(config: ConfigTemplate | None, index_keys: Sequence[str] | None) -> dict[str, object]:
    recorded: dict[str, object] = {} if config is None else {"config": config.recorded()}
    return recorded if index_keys is None else {**recorded, "index_keys": list(index_keys)}


# ---------------------------------------------------------------------------------------------- keys and trees


def flatten(edits: Mapping[str, object], prefix: Key = ()) -> dict[Key, object]:
    """Return the edits by full key; the last edit of a key wins."""
    flat: dict[Key, object] = {}
    for name, value in edits.items():
        key = (*prefix, *split_key(name))
        for inner, leaf in flatten(value, key).items() if isinstance(value, Mapping) else ((key, value),):
            flat.pop(inner, None)
            flat[inner] = leaf
    return flat


def nodes(tree: object, prefix: Key = ()) -> dict[Key, object]:
    values: dict[Key, object] = {}
    for name, value in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
        key = (*prefix, str(name))
        values |= {key: value, **nodes(value, key)}
    return values


def leaves(tree: object) -> dict[Key, object]:
    """Return the leaves of a tree by full key; an empty table or list is a leaf."""
    return {key: value for key, value in nodes(tree).items() if not (isinstance(value, dict | list) and value)}


def same(left: object, right: object) -> bool:
    """Return whether two trees are equal; 1, 1.0 and true differ."""
    return json.dumps(left, sort_keys=True, default=repr) == json.dumps(right, sort_keys=True, default=repr)


def apply_changes(tree: Any, changes: Mapping[Key, object]) -> Any:  # noqa: ANN401 - a value of any format
    """Copy a tree, apply changes, and create missing tables; raise ValueError if a parent is not a table or list."""
    root = {"": _copy(tree)}
    for key, value in changes.items():
        node: Any = root
        for depth, name in enumerate(("", *key[:-1])):
            node = node.setdefault(name, {}) if isinstance(node, dict) else node[int(name)]
            if not isinstance(node, dict | list):
                raise ValueError(f"cannot set {write_key(key)}: {write_key(key[:depth])} is not a table")
        node[int(key[-1]) if isinstance(node, list) else key[-1]] = value
    return root[""]


def _copy(tree: Any) -> Any:  # noqa: ANN401 - a value of any format
    """Copy tables and lists; unlike `copy.deepcopy`, copy a value that YAML aliases share once for each alias."""
    if isinstance(tree, dict):
        return {key: _copy(value) for key, value in tree.items()}
    return [_copy(value) for value in tree] if isinstance(tree, list) else tree


def _real_changes(tree: Tree, changes: Mapping[Key, object]) -> dict[Key, object]:
    """Return the changes that have an effect; an integer that replaces a float becomes a float."""
    old, real = nodes(tree), dict[Key, object]()
    for key, value in changes.items():
        new = float(value) if isinstance(old.get(key), float) and type(value) is int else value
        if key not in old or not same(old[key], new):
            real[key] = new
    return real


# ---------------------------------------------------------------------------------------------- formats


def _parse(text: str, form: str) -> Tree:
    try:
        tree = _PARSERS[form](text)
    except Exception as error:  # exceptions differ between libraries
        raise ValueError(f"invalid {form}: {' '.join(str(error).split())}") from error
    if not isinstance(tree, dict):
        raise ValueError(f"expected a table at the top level, got {type(tree).__name__}")
    return tree


def _parse_yaml(text: str) -> object:
    import yaml

    class Loader(yaml.SafeLoader):
        """A YAML loader that keeps keys as written, because `on` is a boolean only in YAML 1.1."""

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                    key.tag = "tag:yaml.org,2002:str"
            return super().construct_mapping(node, deep)

    tree = yaml.load(text, Loader=Loader)  # noqa: S506 - a subclass of the safe loader
    return {} if tree is None else tree


def _write_yaml(text: str, changes: Mapping[Key, object]) -> str:
    """Edit YAML nodes, not values, because `yes`, `0o17` and `1e-5` mean different values in YAML 1.1 and 1.2."""
    import yaml

    def replace_node(node: Any, key: Key, value: object) -> Any:  # noqa: ANN401 - a node of any type
        if not key:
            return yaml.compose(yaml.safe_dump(value), Loader=yaml.SafeLoader)
        if isinstance(node, yaml.SequenceNode):
            node.value[int(key[0])] = replace_node(node.value[int(key[0])], key[1:], value)
            return node
        positions = {child.value: position for position, (child, _) in enumerate(node.value)}
        if key[0] not in positions:
            positions[key[0]] = len(node.value)
            node.value.append((yaml.compose(yaml.safe_dump(key[0])), yaml.MappingNode("tag:yaml.org,2002:map", [])))
        name, inner = node.value[positions[key[0]]]
        node.value[positions[key[0]]] = (name, replace_node(inner, key[1:], value))
        return node

    root = yaml.compose(text, Loader=yaml.SafeLoader) or yaml.MappingNode("tag:yaml.org,2002:map", [])
    for key, value in changes.items():
        replace_node(root, key, value)
    return yaml.serialize(root, Dumper=yaml.SafeDumper, width=sys.maxsize, allow_unicode=True)


def _ini_parser() -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(default_section="\0", allow_no_value=True)  # DEFAULT is a normal section
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # keep the case of names
    return parser


def _parse_ini(text: str) -> Tree:
    parser = _ini_parser()
    parser.read_string(text)
    return {section: dict(parser.items(section)) for section in parser.sections()}


def _write_ini(tree: Tree) -> str:
    parser, stream = _ini_parser(), io.StringIO()
    parser.read_dict(tree)
    parser.write(stream)
    return stream.getvalue()


def _ini_key(tree: Tree, key: Key) -> Key:
    """Split a dotted key into section and option, preferring existing names, because both may contain dots."""
    splits = [(".".join(key[:cut]), ".".join(key[cut:])) for cut in range(1, len(key))]
    existing = [(section, option) for section, option in splits if option in tree.get(section, {})]
    existing += [(section, option) for section, option in splits if section in tree]
    return existing[0] if existing else splits[-1] if splits else key


def _to_text(key: Key, value: object) -> str:
    if isinstance(value, list | dict) or value is None:
        raise ValueError(f"{write_key(key)}: expected a string, number or boolean, got {type(value).__name__}")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _write_toml(tree: Tree, prefix: Key = ()) -> str:
    plain = {name: value for name, value in tree.items() if not isinstance(value, dict)}
    lines = "".join(f"{write_key((name,))} = {write_value(value)}\n" for name, value in plain.items())
    tables = [((*prefix, name), table) for name, table in tree.items() if isinstance(table, dict)]
    return lines + "".join(f"\n[{write_key(key)}]\n{_write_toml(table, key)}" for key, table in tables)


def _write_mark(match: re.Match[str], changes: Mapping[Key, object]) -> str:
    value = changes.get((match["name"],), match["value"])
    if value is None:
        name = match["name"]
        raise ValueError(f"@{name}@ has no value: add {name} to `edits`, or write @{name}=VALUE@")
    return str(value)


_PARSERS: Mapping[str, Callable[[str], object]] = {
    "toml": tomllib.loads,
    "json": json.loads,
    "yaml": _parse_yaml,
    "ini": _parse_ini,
    "text": lambda text: {match["name"]: match["value"] for match in _MARK.finditer(text)},
}
_WRITERS: Mapping[str, Callable[[Tree], str]] = {
    "toml": _write_toml,
    "json": lambda tree: json.dumps(tree, indent=2, ensure_ascii=False) + "\n",
    "ini": _write_ini,
}
