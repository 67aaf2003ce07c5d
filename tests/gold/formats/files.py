"""What the tests of the formats share: write a file, read it, catch its error."""

from pathlib import Path
from typing import Any

import pytest

from assay.errors import GoldError
from assay.gold import load_gold
from assay.types import CorpusSpec, GoldSet

HERE = CorpusSpec("path", ".")
OCTOCODE = "query,result1,result2,result3\n"


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8", newline="")
    return path


def load_one(folder: Path, name: str, text: str, **options: Any) -> GoldSet:
    return load_gold(write(folder, name, text), **{"corpus": HERE, **options}).golds[0]


def caught(folder: Path, name: str, text: str, **options: Any) -> GoldError:
    path = write(folder, name, text)
    with pytest.raises(GoldError) as error:
        load_gold(path, **{"corpus": HERE, **options})
    assert error.value.file == str(path)
    assert error.value.hint
    return error.value
