"""Vectors kept by one configuration must never change the results of another."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.search import Index, SearchConfig
from assay.search.vectors import VectorFormat
from assay.store.array_file import read_store, write_store
from assay.store.store import Store
from tests.properties import examples
from tests.search.conftest import write_files
from tests.search.static.models import write_model

FILES = {
    "a.py": "def delete(path):\n    unlink(path)\n",
    "guide.md": "# Removing\n\nremove a file\n\n# Sockets\n\nconnect to the net\n",
    "net.py": "def connect(sock):\n    return sock\n\n\nclass Reader:\n    def read(self):\n        return token\n",
    "notes.md": "# Parsing\n\nread a token\n",
    "z.py": "def parse(text):\n    return read(text)\n",
}
QUERIES = ("how do I remove a file", "connect", "read the next token")


def configure(model: str = "static", docs_model: str = "", vectors: VectorFormat = "float32") -> SearchConfig:
    config = SearchConfig()
    return replace(config, dense=replace(config.dense, model=model, docs_model=docs_model, vectors=vectors))


def results(index: Index) -> list[object]:
    return [index.search(query, 10, per=per) for query in QUERIES for per in ("file", "span")]


def assert_same(root: Path, config: SearchConfig) -> None:
    assert results(Index.open(root, config)) == results(Index.build(root, config))


@pytest.mark.parametrize("docs_model", ["static", "hand"])
def test_leaving_a_docs_model_again(tmp_path: Path, docs_model: str) -> None:
    root = write_files(tmp_path / "repo", FILES)
    named = f"static:{write_model(tmp_path / 'model')}" if docs_model == "hand" else docs_model
    for config in (configure(), configure(docs_model=named), configure(), configure(docs_model=named)):
        assert_same(root, config)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["static", "hand"]),
        st.sampled_from(["", "static", "hand"]),
        st.sampled_from(get_args(VectorFormat)),
        st.none() | st.tuples(st.sampled_from(sorted(FILES)), st.sampled_from(["delete", "edit", "grow"])),
    ),
    min_size=2,
    max_size=5,
)


@examples(60)
@given(STEPS)
def test_any_sequence_of_models_and_edits(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, VectorFormat, tuple[str, str] | None]]
) -> None:
    folder = tmp_path_factory.mktemp("sequence")
    names = {"": "", "static": "static", "hand": f"static:{write_model(folder / 'model')}"}
    root = write_files(folder / "repo", FILES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_INDEX_DIR", str(folder / "index"))
        for model, docs_model, vectors, edit in steps:
            if edit:
                _edit(root / edit[0], edit[1])
            assert_same(root, configure(names[model], names[docs_model], vectors))
    shutil.rmtree(folder)


def _edit(path: Path, how: str) -> None:
    old = path.read_text() if path.exists() else ""
    if how == "delete":
        path.unlink(missing_ok=True)
    else:
        path.write_text(f"{old}\n# {how}\n\nremove the socket\n" if how == "grow" else f"# edited\n{old}")


def test_inconsistent_stored_vectors_are_made_again(tmp_path: Path) -> None:
    """An index that an earlier version left behind: fewer vectors than its offsets announce."""
    root = write_files(tmp_path / "repo", FILES)
    Index.open(root, configure())
    (place,) = Store().kind_dir("index").rglob("vectors-code.assay")
    stored = read_store(place)
    arrays = {name: np.array(array) for name, array in stored.arrays.items()}
    for name in ("float32", "static.size", "static.along"):
        arrays[name] = arrays[name][1:]
    write_store(place, {**stored.meta, "digest": "of other settings"}, arrays)
    assert_same(root, configure())
