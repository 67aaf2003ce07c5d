"""Which format is a gold file in? Its content says so; `format=` overrides."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from assay.errors import ConfigError
from assay.gold.formats import octocode, plain, semble
from assay.gold.formats.table import header
from assay.gold.native import read_native
from assay.gold.schema import suggest
from assay.gold.source import Source
from assay.types import CorpusSpec, Gold

_ASSAY_KEY = re.compile(r"""^(\{\s*)?["']?assay["']?\s*:""", re.MULTILINE)
_JSON_LIST = re.compile(r"\s*\[")


@dataclass(frozen=True, slots=True)
class Format:
    """A format: how a file of it looks, how it is told, how it is read."""

    name: str
    looks: str
    suffixes: tuple[str, ...]
    matches: Callable[[Source], bool]
    read: Callable[[Source, str, CorpusSpec | None], Gold]  # source, name for formats without one, corpus


def _is_native(source: Source) -> bool:
    """Tell a native file by its version key; any YAML file is one that may lack it."""
    return bool(_ASSAY_KEY.search(source.text)) or source.path.suffix in {".yaml", ".yml"}


FORMATS: tuple[Format, ...] = (
    Format(
        "octocode",
        "CSV with the header query,result1,result2,result3",
        (".csv",),
        lambda source: octocode.matches(header(source.text)),
        octocode.read_octocode,
    ),
    Format(
        "plain",
        "CSV with the header query,path",
        (".csv",),
        lambda source: plain.matches(header(source.text)),
        plain.read_plain,
    ),
    Format(
        "native",
        "YAML that begins with assay: 1",
        (".yaml", ".yml"),
        _is_native,
        lambda source, _name, corpus: read_native(source, corpus),
    ),
    Format(
        "semble",
        'JSON list of {"query", "relevant", "secondary"}',
        (".json",),
        lambda source: bool(_JSON_LIST.match(source.text)),
        lambda source, _name, corpus: semble.read_semble(source, corpus),
    ),
)

SUFFIXES: frozenset[str] = frozenset(suffix for known in FORMATS for suffix in known.suffixes)


def named(name: str) -> Format:
    """Find a format by its name."""
    for known in FORMATS:
        if known.name == name:
            return known
    raise ConfigError(f"there is no gold format '{name}'", hint=suggest(name, [known.name for known in FORMATS]))


def detect(source: Source) -> Format:
    """Find the format whose look a file has."""
    for known in FORMATS:
        if known.matches(source):
            return known
    looks = "; ".join(f"{known.name}: {known.looks}" for known in FORMATS)
    raise source.at(1).error("not a gold set in any format that is read here", looks)
