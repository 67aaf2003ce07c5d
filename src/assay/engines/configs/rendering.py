"""A configuration file from its template: read once, checked before anything runs, written where only we are."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path as File

from assay.digests import text_digest
from assay.engines.configs import inis, jsons, texts, tomls, yamls
from assay.engines.configs.paths import Path, Tree, find, flatten, keys, leaves, put, same
from assay.engines.configs.settings import ConfigSettings
from assay.engines.secrets import check_written_out, hidden_values
from assay.engines.templates import ASKED, check_template, fill, fill_texts, named_secrets, names_place
from assay.errors import ConfigError, closest_match
from assay.files import read_utf8
from assay.redaction import declare_values
from assay.settings import joined

_SUFFIXES = {
    ".toml": "toml",
    ".json": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".ini": "ini",
    ".cfg": "ini",
}
_SHOWN = 8  # keys that an error lists


@dataclass(frozen=True, slots=True)
class _Format:
    """What is to be known of a format; functions that may find fault raise ValueError."""

    parse: Callable[[str], Tree]
    edited: Callable[[str, Tree, Mapping[Path, object]], str]
    fit: Callable[[Tree, Path], Path] = lambda _, path: path
    value: Callable[[object], object] = lambda given: given


_FORMATS: Mapping[str, _Format] = {
    "toml": _Format(tomls.parse, tomls.edited),
    "json": _Format(jsons.parse, jsons.edited),
    "yaml": _Format(yamls.parse, yamls.edited),
    "ini": _Format(inis.parse, inis.edited, inis.fit, inis.value),
    "text": _Format(texts.parse, texts.edited, texts.fit, texts.value),
}


@dataclass(frozen=True, slots=True)
class ConfigTemplate:
    """A template with its edits; the text is that of the moment when the engine was made."""

    file: File
    format: str
    text: str = field(repr=False)
    edits: Mapping[Path, object]
    new_keys: bool = False

    @property
    def digest(self) -> str:
        """What tells this template from others."""
        return text_digest(self.text)

    @property
    def tree(self) -> Tree:
        """What the template says."""
        with _Blamed(self.file, "correct the file, or say its format"):
            return _FORMATS[self.format].parse(self.text)

    @property
    def known(self) -> tuple[str, ...]:
        """Every key that there is, in the template or among the edits."""
        return tuple(dict.fromkeys([*map(joined, keys(self.tree)), *map(joined, self.edits)]))

    @property
    def said(self) -> list[object]:
        """All texts that may hold a placeholder."""
        inside = [self.text] if self.format == "text" else [text for _, text in leaves(self.tree)]
        return [*inside, *self.edits.values()]

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that no record may show: variables that are named, and what stands under the name of a secret."""
        written = hidden_values({joined(path): text for path, text in leaves(self.tree)})
        return tuple(dict.fromkeys((*named_secrets(self.said), *written)))

    def only(self, wanted: Callable[[Path], bool]) -> ConfigTemplate:
        """Give the same with some of the edits."""
        return replace(self, edits={path: value for path, value in self.edits.items() if wanted(path)})

    def recorded(self) -> dict[str, object]:
        """Write down what shapes the file; of the template the name and a digest."""
        edits = {joined(path): value for path, value in self.edits.items()}
        return {"template": self.file.name, "template_digest": self.digest, "edits": edits}

    @property
    def effect(self) -> str:
        """What the file will say, before places and variables: an edit that changes nothing leaves no trace."""
        way, tree = _FORMATS[self.format], self.tree
        changes = {way.fit(tree, path): value for path, value in self.edits.items()}
        with _Blamed(self.file, "correct edits"):
            wanted = _real(tree, dict(sorted(_values(way, changes).items())))
            return way.edited(self.text, tree, wanted) if wanted or self.format == "text" else self.text

    def render(self, places: Mapping[str, str]) -> str:
        """Make the file's text: exactly the edited keys differ from the template."""
        way, tree = _FORMATS[self.format], self.tree
        changes = {way.fit(tree, path): value for path, value in self.edits.items()}
        self._check_keys(tree, changes)
        if self.format == "text":
            with _Blamed(self.file, "correct the marks"):
                return fill(way.edited(self.text, tree, _values(way, changes)), places)
        changes = {path: fill_texts(value, places) for path, value in changes.items()}
        filled = {path: fill(text, places) for path, text in leaves(tree) if isinstance(text, str)}
        with _Blamed(self.file, "correct edits"):
            wanted = _real(tree, {**filled, **_values(way, changes)})
            rendered = way.edited(self.text, tree, wanted) if wanted else self.text
        self._check_rendered(rendered, tree, wanted)
        return rendered

    def write(self, folder: File, places: Mapping[str, str]) -> File:
        """Write the file into a folder of ours, for our eyes only: variables are filled in."""
        file = folder / self.file.name
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(self.render(places))
        return file

    def _check_keys(self, tree: Tree, changes: Mapping[Path, object]) -> None:
        for path in () if self.new_keys else changes:
            try:
                find(tree, path)
            except KeyError:
                raise self._unknown(path) from None

    def _unknown(self, path: Path) -> ConfigError:
        known = [joined(key) for key in keys(self.tree)]
        near = closest_match(joined(path), known)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        there = ", ".join(known[:_SHOWN]) + (", ..." if len(known) > _SHOWN else "")
        more = "" if self.format == "text" else "; new_keys = true allows new ones"
        return ConfigError(f"no key {joined(path)!r}{meant}", file=self.file, hint=f"keys: {there or 'none'}{more}")

    def _check_rendered(self, rendered: str, tree: Tree, wanted: Mapping[Path, object]) -> None:
        expected = copy.deepcopy(tree)
        for path, value in wanted.items():
            put(expected, path, value)
        try:
            fits = same(_FORMATS[self.format].parse(rendered), expected)
        except ValueError:
            fits = False
        if not fits:
            raise ConfigError(
                f"{', '.join(map(joined, wanted))} cannot be changed in place",
                file=self.file,
                hint="write it plainly in the template, without anchors and odd styles",
            )


def read_config(settings: ConfigSettings | None, settled: Mapping[str, str], where: str) -> ConfigTemplate | None:
    """Read a template and try its edits out, before anything runs."""
    if settings is None:
        return None
    where = f"{where}: config"
    check_template([settings.template, settings.edits], (*settled, *ASKED, "root", "store"), where)
    check_written_out(where, {"edits": {joined(path): value for path, value in flatten(settings.edits).items()}})
    file = File(settled["here"], fill(settings.template, settled))
    named = _SUFFIXES.get(file.suffix.lower(), "text") if settings.format == "auto" else settings.format
    if named == "text" and settings.new_keys:
        raise ConfigError(f"{where}: new_keys has no meaning in text", hint="an edit is put where its mark stands")
    text = read_utf8(file, ConfigError, hint="template is a file, from the folder of assay.toml")
    template = ConfigTemplate(file, named, text, flatten(settings.edits), settings.new_keys)
    declare_values(named_secrets(template.said))
    template.render({**settled, "root": "/root", "store": "/store"})
    return template


def check_config_is_used(config: ConfigTemplate | None, templates: object, where: str) -> None:
    """Refuse a file that nobody is told of."""
    if config is not None and not names_place(templates, "config"):
        raise ConfigError(
            f"{where}: config, but {{config}} stands nowhere",
            hint="tell the tool where its file is, as in --config {config} or in env",
        )


def recorded_config(config: ConfigTemplate | None, index_keys: Sequence[str] | None) -> dict[str, object]:
    """Write down what a file is made from and what belongs to the index, where either is declared."""
    own: dict[str, object] = {} if config is None else {"config": config.recorded()}
    return own if index_keys is None else {**own, "index_keys": list(index_keys)}


def _values(way: _Format, changes: Mapping[Path, object]) -> dict[Path, object]:
    return {path: way.value(value) for path, value in changes.items()}


def _real(tree: Tree, changes: Mapping[Path, object]) -> dict[Path, object]:
    real = {}
    for path, value in changes.items():
        try:
            old = find(tree, path)
        except KeyError:
            real[path] = value
            continue
        new = float(value) if isinstance(old, float) and type(value) is int else value
        if not same(old, new):
            real[path] = new
    return real


class _Blamed:
    """Says of what goes wrong in a block in which file it did."""

    def __init__(self, file: File, hint: str) -> None:
        self._file = file
        self._hint = hint

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, _: object, problem: BaseException | None, __: object) -> None:
        if isinstance(problem, ValueError | IndexError | TypeError | RecursionError):
            line = re.search(r"line (\d+)", str(problem))
            raise ConfigError(
                f"{problem}", file=self._file, line=int(line[1]) if line else None, hint=self._hint
            ) from problem


def matches(wanted: Sequence[Path]) -> Callable[[Path], bool]:
    """Tell which keys are among those that are named, or in a table that is."""
    return lambda path: any(path[: len(prefix)] == prefix for prefix in wanted)
