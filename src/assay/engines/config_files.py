"""Configuration files of tools, rendered from templates: parse, set the keys, write, read back and compare."""

from __future__ import annotations

import configparser
import io
import json
import math
import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from assay.digests import text_digest
from assay.engines.secrets import check_literal_secrets, literal_secrets
from assay.engines.templates import QUERY_PLACEHOLDERS, check_template, fill, fill_json, has_placeholder, named_secrets
from assay.errors import ConfigError, closest_match
from assay.files import read_utf8
from assay.redaction import declare_values
from assay.settings import split_key
from assay.toml import write_key, write_value

if TYPE_CHECKING:
    import yaml

Key = tuple[str, ...]  # tables by name, items of a list by number
Tree = dict[str, Any]

_SUFFIXES = {".toml": "toml", ".json": "json", ".yaml": "yaml", ".yml": "yaml", ".ini": "ini", ".cfg": "ini"}
_SHOWN = 8  # keys that an error lists
_MARK = re.compile(r"@(?P<name>[A-Za-z_][\w.-]*)(?:=(?P<value>[^@\n]*))?@")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigSettings:
    """`[engines.NAME.config]`: a configuration file for the tool, available as {config}."""

    template: str = field(metadata={"about": "the file, from the folder of assay.toml; it is read, never changed"})
    format: Literal["auto", "toml", "json", "yaml", "ini", "text"] = field(
        default="auto",
        metadata={"about": "default: by the name: .toml, .json, .yaml or .yml, .ini or .cfg, and text for the rest"},
    )
    edits: Mapping[str, object] = field(
        default_factory=dict,
        metadata={
            "about": 'keys and their values, { "search.weight" = 0.7 }; all other keys keep their values, comments are '
            "dropped; in text a key is what stands between two @: @weight@, or @weight=0.5@ with a value for when no "
            "edit names it"
        },
    )
    new_keys: bool = field(
        default=False, metadata={"about": "whether edits may name keys that the template does not have"}
    )


@dataclass(frozen=True, slots=True)
class ConfigTemplate:
    """A template with its edits; the text is read once, when the engine is made."""

    file: Path
    format: str
    text: str = field(repr=False)
    edits: Mapping[Key, object]
    new_keys: bool = False

    @property
    def digest(self) -> str:
        """The digest of the template's text."""
        return text_digest(self.text)

    @property
    def tree(self) -> Tree:
        """The parsed template."""
        with self._blamed("correct the file, or say its format"):
            return _PARSERS[self.format](self.text)

    @property
    def known(self) -> tuple[str, ...]:
        """Every dotted key of the template and of the edits."""
        return tuple(dict.fromkeys([*map(write_key, list_keys(self.tree)), *map(write_key, self.edits)]))

    @property
    def texts(self) -> list[object]:
        """All texts that may hold a placeholder."""
        inside = [self.text] if self.format == "text" else [text for _, text in leaves(self.tree)]
        return [*inside, *self.edits.values()]

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values to redact: variables that are named, and values under the name of a secret."""
        written = literal_secrets({write_key(key): text for key, text in leaves(self.tree)})
        return tuple(dict.fromkeys((*named_secrets(self.texts), *written)))

    @property
    def effect(self) -> str:
        """The file before placeholders are filled; edits that change nothing leave it as it is."""
        tree = self.tree
        with self._blamed("correct edits"):
            return self._write(tree, _real_changes(tree, dict(sorted(self._changes(tree).items()))))

    def only(self, wanted: Callable[[Key], bool]) -> ConfigTemplate:
        """Return the template with some of its edits."""
        return replace(self, edits={key: value for key, value in self.edits.items() if wanted(key)})

    def recorded(self) -> dict[str, object]:
        """Return what shapes the file, for the records: of the template only the name and a digest."""
        edits = {write_key(key): value for key, value in self.edits.items()}
        return {"template": self.file.name, "template_digest": self.digest, "edits": edits}

    def render(self, placeholders: Mapping[str, str]) -> str:
        """Return the file's text; exactly the edited keys and filled placeholders differ from the template."""
        tree = self.tree
        with self._blamed("correct the marks" if self.format == "text" else "correct edits"):
            changes = self._changes(tree)
            self._check_keys(tree, changes)
            if self.format == "text":
                return fill(_write_marks(self.text, changes), placeholders)
            filled = {key: fill(text, placeholders) for key, text in leaves(tree) if isinstance(text, str)}
            wanted = _real_changes(
                tree, {**filled, **{key: fill_json(value, placeholders) for key, value in changes.items()}}
            )
            rendered = self._write(tree, wanted)
        self._check_rendered(rendered, tree, wanted)
        return rendered

    def write(self, folder: Path, placeholders: Mapping[str, str]) -> Path:
        """Write the file into a folder, readable by its owner only: variables are filled in."""
        file = folder / self.file.name
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(self.render(placeholders))
        return file

    def _changes(self, tree: Tree) -> dict[Key, object]:
        if self.format == "text":
            return {(".".join(key),): _plain_text(value) for key, value in self.edits.items()}
        if self.format == "ini":
            return {_ini_key(tree, key): _plain_text(value) for key, value in self.edits.items()}
        return dict(self.edits)

    def _write(self, tree: Tree, changes: Mapping[Key, object]) -> str:
        if self.format == "text":
            return _write_marks(self.text, changes)
        if not changes:
            return self.text
        if self.format == "yaml":
            return _write_yaml(self.text, changes)
        return _WRITERS[self.format](_changed(tree, changes))

    def _check_keys(self, tree: Tree, changes: Mapping[Key, object]) -> None:
        for key in () if self.new_keys else changes:
            try:
                find(tree, key)
            except KeyError:
                known = [write_key(one) for one in list_keys(tree)]
                near = closest_match(write_key(key), known)
                meant = f"; did you mean {near[0]!r}?" if near else ""
                shown = ", ".join(known[:_SHOWN]) + (", ..." if len(known) > _SHOWN else "")
                more = "" if self.format == "text" else "; new_keys = true allows new ones"
                raise ConfigError(
                    f"no key {write_key(key)!r}{meant}", file=self.file, hint=f"keys: {shown or 'none'}{more}"
                ) from None

    def _check_rendered(self, rendered: str, tree: Tree, wanted: Mapping[Key, object]) -> None:
        try:
            fits = same(_PARSERS[self.format](rendered), _changed(tree, wanted))
        except ValueError:
            fits = False
        if not fits:
            raise ConfigError(
                f"cannot set {', '.join(map(write_key, wanted))}",
                file=self.file,
                hint="write it plainly in the template, without anchors",
            )

    @contextmanager
    def _blamed(self, hint: str) -> Iterator[None]:
        try:
            yield
        except (ValueError, IndexError, TypeError, RecursionError) as problem:
            line = re.search(r"line (\d+)", str(problem))
            number = int(line[1]) if line else None
            raise ConfigError(f"{problem}", file=self.file, line=number, hint=hint) from problem


def load_config(settings: ConfigSettings | None, settled: Mapping[str, str], where: str) -> ConfigTemplate | None:
    """Read a template and render it once, so that errors are raised before anything runs."""
    if settings is None:
        return None
    where = f"{where}: config"
    edits = flatten(settings.edits)
    check_template([settings.template, settings.edits], (*settled, *QUERY_PLACEHOLDERS, "root", "store"), where)
    check_literal_secrets(where, {"edits": {write_key(key): value for key, value in edits.items()}})
    file = Path(settled["here"], fill(settings.template, settled))
    named = _SUFFIXES.get(file.suffix.lower(), "text") if settings.format == "auto" else settings.format
    if named == "text" and settings.new_keys:
        raise ConfigError(f"{where}: new_keys has no meaning in text", hint="an edit is put where its mark stands")
    text = read_utf8(file, ConfigError, hint="template is a file, from the folder of assay.toml")
    template = ConfigTemplate(file, named, text, edits, settings.new_keys)
    declare_values(named_secrets(template.texts))
    template.render({**settled, "root": "/root", "store": "/store"})
    return template


def check_config_used(config: ConfigTemplate | None, templates: object, where: str) -> None:
    """Raise ConfigError if a file is rendered but no template names {config}."""
    if config is not None and not has_placeholder(templates, "config"):
        raise ConfigError(
            f"{where}: config, but {{config}} stands nowhere",
            hint="tell the tool where its file is, as in --config {config} or in env",
        )


def recorded_config(config: ConfigTemplate | None, index_keys: Sequence[str] | None) -> dict[str, object]:
    """Return the records of the file and of `index_keys`, where they are set."""
    own: dict[str, object] = {} if config is None else {"config": config.recorded()}
    return own if index_keys is None else {**own, "index_keys": list(index_keys)}


# ---------------------------------------------------------------------------------------------- keys and trees


def flatten(edits: Mapping[str, object], before: Key = ()) -> dict[Key, object]:
    """Return every edit under its whole key; a table is a longer key, and the last edit of a key holds."""
    flat: dict[Key, object] = {}
    for name, value in edits.items():
        key = (*before, *split_key(name))
        for inner, leaf in flatten(value, key).items() if isinstance(value, Mapping) else ((key, value),):
            flat.pop(inner, None)
            flat[inner] = leaf
    return flat


def list_keys(tree: object, before: Key = ()) -> Iterator[Key]:
    """List every key of a tree, those of tables too."""
    for name, value in _items(tree):
        yield (*before, name)
        yield from list_keys(value, (*before, name))


def leaves(tree: object, before: Key = ()) -> Iterator[tuple[Key, object]]:
    """List the values of a tree under their whole keys; an empty table or list is a value."""
    for name, value in _items(tree):
        if isinstance(value, dict | list) and value:
            yield from leaves(value, (*before, name))
        else:
            yield (*before, name), value


def _items(tree: object) -> Iterator[tuple[str, object]]:
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return ((str(name), value) for name, value in items)


def find(tree: object, key: Key) -> object:
    """Return the value of a key; raise KeyError if there is none."""
    for name in key:
        if isinstance(tree, list) and name.isdecimal() and int(name) < len(tree):
            tree = tree[int(name)]
        elif isinstance(tree, dict) and name in tree:
            tree = tree[name]
        else:
            raise KeyError(name)
    return tree


def put(tree: Tree, key: Key, value: object) -> None:
    """Set a key in place; missing tables on the way are made."""
    *way, last = key
    here: Any = tree
    for name in way:
        here = here.setdefault(name, {}) if isinstance(here, dict) else here[int(name)]
    here[int(last) if isinstance(here, list) else last] = value


def same(left: object, right: object) -> bool:
    """Return whether two trees are equal; 1 equals neither true nor 1.0."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left):
        return math.isnan(right)
    return type(left) is type(right) and left == right


def _changed(tree: Tree, changes: Mapping[Key, object]) -> Tree:
    changed: Tree = _copied(tree)
    for key, value in changes.items():
        put(changed, key, value)
    return changed


def _copied(tree: Any) -> Any:  # noqa: ANN401 - a value of any format
    """Copy tables and lists; unlike copy.deepcopy, what YAML aliases share is copied for each of them."""
    if isinstance(tree, dict):
        return {key: _copied(value) for key, value in tree.items()}
    return [_copied(value) for value in tree] if isinstance(tree, list) else tree


def _real_changes(tree: Tree, changes: Mapping[Key, object]) -> dict[Key, object]:
    real = {}
    for key, value in changes.items():
        try:
            old = find(tree, key)
        except KeyError:
            real[key] = value
            continue
        new = float(value) if isinstance(old, float) and type(value) is int else value
        if not same(old, new):
            real[key] = new
    return real


# ---------------------------------------------------------------------------------------------- formats


def _parse_json(text: str) -> Tree:
    tree = json.loads(text)
    if not isinstance(tree, dict):
        raise ValueError("the outermost value is not an object")
    return tree


def _parse_yaml(text: str) -> Tree:
    import yaml

    class Loader(yaml.SafeLoader):
        """Keys as they are written: `on` is a name, and true only in YAML 1.1."""

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                    key.tag = "tag:yaml.org,2002:str"
            return super().construct_mapping(node, deep)

    try:
        tree = yaml.load(text, Loader=Loader)  # noqa: S506 - a subclass of the safe loader
    except (yaml.YAMLError, RecursionError) as problem:
        raise ValueError(" ".join(str(problem).split())) from problem
    if tree is not None and not isinstance(tree, dict):
        raise ValueError("the outermost value is not a mapping")
    return tree or {}


def _parse_ini(text: str) -> Tree:
    parser = _IniParser()
    try:
        parser.read_string(text)
    except configparser.Error as problem:
        raise ValueError(" ".join(str(problem).split())) from problem
    return {section: dict(parser.items(section)) for section in parser.sections()}


class _IniParser(configparser.RawConfigParser):
    """Names as they are written; DEFAULT is a section like any other."""

    def __init__(self) -> None:
        super().__init__(default_section="\0", allow_no_value=True)

    def optionxform(self, optionstr: str) -> str:
        return optionstr


def _ini_key(tree: Tree, key: Key) -> Key:
    """Split a key into section and option; both may have dots."""
    ways = [(".".join(key[:cut]), ".".join(key[cut:])) for cut in range(1, len(key))]
    known = [way for way in ways if way[1] in tree.get(way[0], {})] + [way for way in ways if way[0] in tree]
    return known[0] if known else ways[-1] if ways else key


def _plain_text(value: object) -> str:
    if isinstance(value, list | dict) or value is None:
        raise ValueError("INI and text take texts, numbers, true and false")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _write_toml(tree: Tree, before: Key = ()) -> str:
    plain = {name: value for name, value in tree.items() if not isinstance(value, dict)}
    lines = "".join(f"{write_key((name,))} = {write_value(value)}\n" for name, value in plain.items())
    tables = [((*before, name), table) for name, table in tree.items() if isinstance(table, dict)]
    return lines + "".join(f"\n[{write_key(key)}]\n{_write_toml(table, key)}" for key, table in tables)


def _write_ini(tree: Tree) -> str:
    parser = _IniParser()
    parser.read_dict(tree)
    stream = io.StringIO()
    try:
        parser.write(stream)
    except configparser.Error as problem:
        raise ValueError(str(problem)) from problem
    return stream.getvalue()


def _write_yaml(text: str, changes: Mapping[Key, object]) -> str:
    """Replace nodes, not values: `yes`, `0o17` and `1e-5` mean different things to different versions of YAML."""
    import yaml

    root = yaml.compose(text, Loader=yaml.SafeLoader) or yaml.MappingNode("tag:yaml.org,2002:map", [])
    for key, value in changes.items():
        node = yaml.compose(yaml.safe_dump(value), Loader=yaml.SafeLoader)
        assert node is not None
        _put_node(root, key, node)
    return yaml.serialize(root, Dumper=yaml.SafeDumper, width=sys.maxsize, allow_unicode=True)


def _put_node(node: yaml.Node, key: Key, value: yaml.Node) -> None:
    import yaml

    name, *rest = key
    if isinstance(node, yaml.SequenceNode):
        if rest:
            _put_node(node.value[int(name)], tuple(rest), value)
        else:
            node.value[int(name)] = value
        return
    if not isinstance(node, yaml.MappingNode):
        raise ValueError(f"{name!r} has no table to stand in")
    names = {child.value: at for at, (child, _) in enumerate(node.value)}
    if name not in names:
        named = yaml.compose(yaml.safe_dump(name), Loader=yaml.SafeLoader)
        node.value.append((named, yaml.MappingNode("tag:yaml.org,2002:map", [])))
    at = names.get(name, -1)
    if rest:
        _put_node(node.value[at][1], tuple(rest), value)
    else:
        node.value[at] = (node.value[at][0], value)


def _write_marks(text: str, changes: Mapping[Key, object]) -> str:
    def write(match: re.Match[str]) -> str:
        found = changes.get((match["name"],), match["value"])
        if found is None:
            raise ValueError(f"@{match['name']}@ has no value; give it one in edits, or write @{match['name']}=...@")
        return str(found)

    return _MARK.sub(write, text)


#: Each raises ValueError for a text that is not of its format.
_PARSERS: Mapping[str, Callable[[str], Tree]] = {
    "toml": tomllib.loads,
    "json": _parse_json,
    "yaml": _parse_yaml,
    "ini": _parse_ini,
    "text": lambda text: {match["name"]: match["value"] for match in _MARK.finditer(text)},
}
_WRITERS: Mapping[str, Callable[[Tree], str]] = {
    "toml": _write_toml,
    "json": lambda tree: json.dumps(tree, indent=2, ensure_ascii=False) + "\n",
    "ini": _write_ini,
}
