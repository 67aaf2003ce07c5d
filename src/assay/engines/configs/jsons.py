"""JSON: written anew, keys in their order."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping

from assay.engines.configs.paths import Path, Tree, put


def parse(text: str) -> Tree:
    """Read JSON, of which the outermost thing is a table."""
    tree = json.loads(text)
    if not isinstance(tree, dict):
        raise ValueError("the outermost thing is no object")
    return tree


def edited(text: str, tree: Tree, changes: Mapping[Path, object]) -> str:
    """Write all of it, as far in as it was."""
    changed = copy.deepcopy(tree)
    for path, value in changes.items():
        put(changed, path, value)
    indent = re.search(r"\n([ \t]+)\S", text)
    return json.dumps(changed, indent=indent[1] if indent else 2, ensure_ascii=False) + "\n"
