"""Show code related to a line: what it uses, what uses it, and similar code.

assay related src/http.py:120
assay related src/http.py:120 ~/repository -k 5
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from assay.cli.output import ResultPrinter, clean, fit, headline, page
from assay.cli.search_options import add_folder, add_settings, check_count, open_index, path_inside
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.search.related import Related, Relation
    from assay.types import Hit

_SHARED = 6  # names or words shown of a relation; --json has them all
_TITLES = {"uses": "It uses", "used_by": "Used by", "alike": "About the same things"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this command."""
    parser.add_argument("place", metavar="FILE:LINE", help="a line of the code in question")
    add_folder(parser)
    parser.add_argument("-k", type=int, default=5, metavar="N", help="relatives of each kind (5)")
    add_settings(parser)


def handle(args: argparse.Namespace) -> int:
    """Find relatives and print them."""
    name, line = _place(args.place)
    k = check_count("-k", args.k)
    index = open_index(args)
    found = index.related(path_inside(index, name), line, k)
    if args.json:
        print(json.dumps(_json(found), ensure_ascii=False, indent=1))  # noqa: T201  # stdout is the result
        return 0
    for text in _shown(page(), found):
        print(text)  # noqa: T201  # stdout is the result
    return 0


def _place(text: str) -> tuple[str, int]:
    found = re.fullmatch(r"(.+?):(\d+)(?:-\d+)?", text)
    if found is None or int(found.group(2)) < 1:
        raise ConfigError(f"{text!r} is no line of a file", hint="write FILE:LINE, such as src/http.py:120")
    return found.group(1), int(found.group(2))


def _json(found: Related) -> dict[str, Any]:
    return {
        "schema": "assay/related/1",
        "unit": _hit_json(found.unit) | {"names": list(found.names)},
        **{kind: [_relation_json(one) for one in getattr(found, kind)] for kind in _TITLES},
        "files": [{"path": hit.path, "score": hit.score} for hit in found.files],
    }


def _relation_json(relation: Relation) -> dict[str, Any]:
    return _hit_json(relation.hit) | {"score": relation.hit.score, "shared": list(relation.shared)}


def _hit_json(hit: Hit) -> dict[str, Any]:
    return {"path": hit.path, "start": hit.start, "end": hit.end}


def _shown(page: ResultPrinter, found: Related) -> Iterator[str]:
    names = f"  {', '.join(map(clean, found.names))}" if found.names else ""
    yield page.bold(clean(str(found.unit.span))) + names
    for kind, title in _TITLES.items():
        relations: tuple[Relation, ...] = getattr(found, kind)
        if relations:
            yield f"\n{title}"
        for rank, one in enumerate(relations, start=1):
            yield headline(page, rank, one.hit)
            yield page.dim("     " + fit(", ".join(one.shared[:_SHARED]), page.width - 5))
    if found.files:
        yield "\nFiles"
        yield from (headline(page, rank, hit) for rank, hit in enumerate(found.files, start=1))
    else:
        yield "\nNothing else belongs to it."
