"""Trees of a configuration file, and the ways through them: tables by name, the items of a list by number."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from assay.settings import parts

Path = tuple[str, ...]
Tree = dict[str, Any]


def flatten(edits: Mapping[str, object], before: Path = ()) -> dict[Path, object]:
    """Give every edit under its whole key: a table in a table is a longer key. What is said later holds."""
    flat: dict[Path, object] = {}
    for key, value in edits.items():
        path = (*before, *parts(key))
        for inner, leaf in flatten(value, path).items() if isinstance(value, Mapping) else ((path, value),):
            flat.pop(inner, None)
            flat[inner] = leaf
    return flat


def leaves(tree: object, before: Path = ()) -> Iterator[tuple[Path, object]]:
    """List what stands in a tree, under its whole key."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        path = (*before, str(key))
        if isinstance(value, dict | list) and value:
            yield from leaves(value, path)
        else:
            yield path, value


def keys(tree: object, before: Path = ()) -> Iterator[Path]:
    """List every key of a tree, those of tables too."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield (*before, str(key))
        yield from keys(value, (*before, str(key)))


def find(tree: object, path: Path) -> object:
    """Give what stands under a key; raise KeyError when nothing does."""
    for part in path:
        tree = _child(tree, part)
    return tree


def put(tree: Tree, path: Path, value: object) -> None:
    """Put a value under a key of a tree that is ours to change; tables on the way are made."""
    *way, last = path
    here: Any = tree
    for part in way:
        try:
            here = _child(here, part)
        except KeyError:
            here[part] = {}
            here = here[part]
    here[int(last) if isinstance(here, list) else last] = value


def same(left: object, right: object) -> bool:
    """Tell whether two trees say the same, in which 1 is neither true nor 1.0."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left):
        return math.isnan(right)
    return type(left) is type(right) and left == right


def _child(tree: object, part: str) -> object:
    if isinstance(tree, list) and part.isdecimal() and int(part) < len(tree):
        return tree[int(part)]
    if isinstance(tree, dict) and part in tree:
        return tree[part]
    raise KeyError(part)
