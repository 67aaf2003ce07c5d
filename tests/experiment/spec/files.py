"""Files that the tests of this folder read."""

import json
from importlib import resources
from pathlib import Path
from typing import Any

BASE = '[run]\n[engines.mine]\nkind = "builtin"\nper = "file"\n'


def written(folder: Path, text: str, name: str = "assay.toml") -> Path:
    """Write an assay.toml, or another file."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def schema() -> dict[str, Any]:
    """Read the schema for editors."""
    text = resources.files("assay.data").joinpath("schemas/assay.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found
