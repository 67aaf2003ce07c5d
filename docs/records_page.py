"""The page about what `--json` prints: every document by its schema, found in the source, with the records it holds."""

from __future__ import annotations

import ast
import inspect
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import assay
from assay.audit.findings import Audit
from assay.cli.main import build_parser
from assay.report.gate_checks import Gate
from assay.report.results_file import Results
from assay.stats.records import Comparison, SamplePlan
from docs.commands_page import every_command
from docs.engines_page import MADE

SOURCE = Path(assay.__file__).parent
_NAME = re.compile(r"assay/([a-z-]+)/\d+$")
#: Documents that are a record, written out below the table.
RECORDS: Mapping[str, type] = {
    "assay/results/2": Results,
    "assay/compare/1": Comparison,
    "assay/gate/2": Gate,
    "assay/plan/1": SamplePlan,
    "assay/audit/1": Audit,
}
#: Files and pages that are no answer of a command.
FILES = {
    "assay/history/1": "the file of `assay gate --history`",
    "assay/baseline/3": "the file of `assay gate --write-baseline`",
    "assay/baseline-written/1": "`assay gate --write-baseline`",
    "assay/repeats/2": "`assay run --repeat`",
    "assay/rows/1": "`rows.json` of a results directory",
    "assay/timings/1": "`timings.json` of a results directory",
    "assay/page/1": "the data in report.html",
    "assay/error/1": "any command under `--json` that fails",
    "assay/results/2": "`assay score`, `results.json` of a results directory",
}


@dataclass(frozen=True, slots=True)
class _Document:
    """A document that the source writes."""

    schema: str
    keys: tuple[str, ...]
    place: str  # the module, from the package


def records() -> str:
    """Describe every JSON document."""
    rows = [
        f"| `{one.schema}` | {_maker(one)} | {_keys(one)} |" for one in sorted(_documents(), key=lambda d: d.schema)
    ]
    table = ["| schema | from | keys |", "|---|---|---|", *rows]
    parts = ["# JSON documents", MADE, _INTRODUCTION, "\n".join(table), _BELOW]
    shown: list[type] = []
    for schema, kind in RECORDS.items():
        parts += [f"## {schema}", *_sections(kind, shown)]
    return "\n\n".join(parts) + "\n"


def _documents() -> list[_Document]:
    """Find every dictionary in the source that names a schema; later ones of a name add their keys."""
    found: dict[str, dict[str, None]] = {}
    places: dict[str, str] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text("utf-8")
        for schema, keys in _in_module(ast.parse(text)) if "assay/" in text else ():
            found.setdefault(schema, {}).update(dict.fromkeys(keys))
            places[schema] = path.relative_to(SOURCE).as_posix()
    return [_Document(schema, tuple(keys), places[schema]) for schema, keys in found.items()]


def _in_module(tree: ast.Module) -> Iterator[tuple[str, list[str]]]:
    """Find the documents of one module, and schemas that stand alone."""
    inside: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            keys = [key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
            named = dict(zip([_text(key) for key in node.keys], node.values, strict=True)).get("schema")
            if named is not None and _NAME.match(_text(named)):
                inside.add(id(named))
                yield _text(named), keys[1:]
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in inside:
            for schema in re.findall(r"(?:^|\")(assay/[a-z-]+/\d+)(?:\"|$)", _text(node)):
                yield schema, []


def _text(node: ast.expr | None) -> str:
    """Give the text of a constant; nothing for anything else."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _maker(document: _Document) -> str:
    """Say what writes a document: its schema is mostly named like its command."""
    matched = _NAME.match(document.schema)
    assert matched is not None
    if document.schema in FILES:
        return FILES[document.schema]
    if document.place.startswith("web/"):
        return "the pages of `assay serve`"
    named = _COMMANDS.get(matched[1]) or matched[1].replace("-", " ")
    return f"`assay {named}`" if named.split(" -")[0] in _known() else f"`{document.place}`"


@cache
def _known() -> frozenset[str]:
    """Give every command there is, those below others too."""
    return frozenset(name.removeprefix("assay ") for name, _ in every_command("assay", build_parser()))


#: Schemas that are not named like their command.
_COMMANDS = {
    "ablation": "ablate",
    "adapt": "train --adapt",
    "dry-run": "run --dry-run",
    "explain-run": "explain --run",
    "gold-access-log": "gold access-log",
    "gold-review-accept": "gold review --accept",
    "gold-review-decide": "gold review --decide",
    "gold-review-disputed": "gold review --adjudicate",
    "gold-review-list": "gold review --list",
    "gold-review-queue": "gold pool --queue",
    "gold-review-status": "gold review --status",
    "gold-review-vote": "gold review --vote",
    "ledger-entry": "ledger show",
    "models": "model list",
    "search-config": "search --show-config",
    "train-encoder": "train --encoder",
}


def _keys(document: _Document) -> str:
    """List the keys of a document, or point to its record."""
    if document.schema in RECORDS:
        anchor = document.schema.replace("/", "")
        return f"[see below](#{anchor})"
    return ", ".join(f"`{key}`" for key in document.keys) or "–"


def _sections(kind: type, shown: list[type]) -> list[str]:
    """Write out a record and those it holds; one that stands above already is not repeated."""
    if kind in shown:
        return []
    shown.append(kind)
    hints = get_type_hints(kind)
    rows = [f"| `{field.name}` | {_type(hints[field.name])} |" for field in fields(kind)]
    about = (inspect.getdoc(kind) or "").partition("\n\n")[0].replace("\n", " ")
    if about.startswith(f"{kind.__name__}("):  # the signature that `dataclass` writes where there is no docstring
        about = ""
    table = "\n".join(["| key | type |", "|---|---|", *rows])
    inner = [one for field in fields(kind) for one in _records_in(hints[field.name])]
    return [f"**{kind.__name__}.** {about}".rstrip(), table, *(part for one in inner for part in _sections(one, shown))]


def _records_in(hint: Any) -> list[type]:  # noqa: ANN401 - a type hint is any object
    """Give the records that a type speaks of."""
    if isinstance(hint, type) and is_dataclass(hint):
        return [hint]
    return [found for one in get_args(hint) for found in _records_in(one)]


def _type(hint: Any) -> str:  # noqa: ANN401 - a type hint is any object
    """Say in the words of JSON what a type hint becomes."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(_type(one) for one in arguments)
    if origin is Literal:
        return " · ".join(f"`{one}`" for one in arguments)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"object: {_type(arguments[0])} → {_type(arguments[1])}"
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return f"list of {' , '.join(dict.fromkeys(_type(one) for one in arguments if one is not Ellipsis))}"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return " · ".join(f"`{one.value}`" for one in hint)
    if isinstance(hint, type) and is_dataclass(hint):
        return f"*{hint.__name__}*"
    return _WORDS.get(hint, "any value")


_WORDS: Mapping[Any, str] = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    type(None): "null",
    dict: "object",
}

_INTRODUCTION = """\
With `--json`, a command prints one JSON document on stdout; messages go to stderr. The first key is `schema`. Its
number increases if a key is removed or changes its meaning; keys may be added at any time. NaN and infinity are
`null`. Read the verdict from the document rather than from the exit code.

Editors and validators can use two schema files in `src/assay/data/schemas`: `gold.schema.json` (gold sets) and
`records.schema.json` (lines of `engines/NAME.jsonl` in a results directory)."""

_BELOW = """\
The larger documents, each followed by its records. *Name* is a record."""
