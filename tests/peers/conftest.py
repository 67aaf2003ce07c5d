"""Real peers: the programs that `make test` installs, a part of the standard library, and weights for semble."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

#: Packages of the standard library with names, prose and nesting enough.
LIBRARY = ("asyncio", "json")
#: A package whose files are called like the classes in them.
MAIL = ("email",)
#: Numbers of a vector; two texts with other words are seldom alike by chance.
COLUMNS = 64


def find_program(name: str) -> Path | None:
    """Find a peer in its own environment below ours, else anywhere."""
    own = Path(sys.prefix, "peers", name, "bin", name)
    found = str(own) if own.is_file() else shutil.which(name)
    return Path(found) if found else None


def copied(names: Sequence[str], root: Path) -> Path:
    """Copy packages of the standard library."""
    for name in names:
        source = Path(sysconfig.get_path("stdlib"), name)
        shutil.copytree(source, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    return root


@pytest.fixture(scope="session")
def library(tmp_path_factory) -> Path:
    return copied(LIBRARY, tmp_path_factory.mktemp("peers") / "library")


@pytest.fixture(scope="session")
def mail(tmp_path_factory) -> Path:
    return copied(MAIL, tmp_path_factory.mktemp("peers") / "mail")


@pytest.fixture(scope="session")
def weights(library, mail, tmp_path_factory) -> Path:
    """Make a model2vec folder: every word of the files has a vector, drawn by chance and the same on every run."""
    texts = (path.read_text("utf-8").lower() for root in (library, mail) for path in sorted(root.rglob("*.py")))
    found = {word for text in texts for word in re.findall(r"\w+", text)}
    tokenizers: Any = importlib.import_module("tokenizers")
    words = {word: number for number, word in enumerate(["[PAD]", "[UNK]", *sorted(found)])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    vectors = np.random.default_rng(0).standard_normal((len(words), COLUMNS), dtype=np.float32)
    folder = tmp_path_factory.mktemp("weights") / "model"
    model = importlib.import_module("model2vec").StaticModel(vectors, tokenizer, normalize=True)
    model.save_pretrained(folder)
    return folder


@pytest.fixture
def semble(weights, tmp_path, monkeypatch) -> Path:
    """Find semble, and give it weights, caches of the test's own and no way out; skip loudly where it is not."""
    program = find_program("semble")
    if program is None:
        pytest.skip("LOUD: semble is not installed (`make test` does), its adapters were NOT tested")
    links = tmp_path / "bin"  # its own folder has a python too
    links.mkdir()
    (links / "semble").symlink_to(program)
    monkeypatch.setenv("PATH", os.pathsep.join([str(links), os.environ["PATH"]]))
    settings = {
        "SEMBLE_MODEL_NAME": str(weights),
        "SEMBLE_CACHE_LOCATION": str(tmp_path / "semble"),
        "SEMBLE_INDEX_WORKERS": "0",
        "HF_HUB_OFFLINE": "1",
        "PYTHONHASHSEED": "0",  # equal scores are in the order of a set: see `assay audit`
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    return program


@pytest.fixture(autouse=True)
def own_caches(tmp_path, monkeypatch) -> None:
    """Keep Assay's caches in the test's folder."""
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("ASSAY_INDEX_DIR", str(tmp_path / "index"))
    monkeypatch.setenv("NO_COLOR", "1")
