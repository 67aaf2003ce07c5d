"""The contextual encoder: its laws in lazy and full mode, its cache, and its errors."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assay.search.encoder as encoders
from assay.corpus import open_corpus, parse_spec
from assay.engines import make_engine
from assay.errors import ConfigError, SetupError
from assay.search import Index, SearchConfig
from assay.search.config import DenseSettings, EncoderSettings, load_search_config
from assay.search.embedders import TextRole, make_embedder
from assay.search.query import Per
from assay.search.sharing import search_identity
from assay.search.vectors import Matrix
from tests.search.conftest import CorpusOf, write_files
from tests.search.dense.models import WORDS, write_onnx

FILES = {
    "net/socket.py": "def close(socket):\n    retry(socket)\n\n\ndef open_socket(a):\n    return backoff(a)\n",
    "net/retry.py": "def retry(a):\n    return a\n\n\ndef backoff(a):\n    return a * 2\n",
    "io/file.py": "def open_file(file):\n    return file\n\n\ndef close_file(file):\n    file.close()\n",
    "io/more.py": "".join(f"def {a}_{b}({a}):\n    return {b}\n\n\n" for a in WORDS[2:11] for b in WORDS[2:11]),
    "guide.md": "# The socket\n\nOpen the socket of a file.\n\n# Retry\n\nRetry the file.\n",
}
QUERIES = (
    "how do I close the socket",
    "how does a socket throttle stubborn peers politely",
    "retry backoff",
    "open a file",
    "close_file",
    "the",
    "nothing of this kind",
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    return write_onnx(tmp_path_factory.mktemp("encoder") / "tiny")


def config_of(model: Path | str, **settings: object) -> SearchConfig:
    return SearchConfig(dense=DenseSettings(encoder=str(model)), encoder=EncoderSettings(**settings))  # type: ignore[arg-type]


@pytest.fixture(scope="module", params=["lazy", "full"])
def index(request: pytest.FixtureRequest, corpus_of: CorpusOf, model: Path) -> Index:
    return Index.build(corpus_of(FILES), config_of(model, mode=request.param, candidates=20, language=2.0))


def test_encoder_changes_scores_and_shows_in_the_trace(index: Index, corpus_of: CorpusOf) -> None:
    plain = Index.build(corpus_of(FILES))
    assert index.search(QUERIES[0], 20, per="span") != plain.search(QUERIES[0], 20, per="span")
    assert [stage.name for stage in index.explain(QUERIES[0], per="span").stages][-1] == "encoder"
    of_files = {stage.name: stage.scores for stage in index.explain(QUERIES[0]).stages}
    assert list(of_files)[:4] == ["lexical", "dense", "encoder", "fused"]
    assert of_files["encoder"].max() == 1.0
    assert "encoder" not in [stage.name for stage in index.explain("close_file").stages], "names have the weight 0"


@pytest.mark.parametrize("mode", ["lazy", "full"])
def test_weight_and_candidates_rise_where_the_first_results_lack_the_words(
    corpus_of: CorpusOf, model: Path, mode: str
) -> None:
    few, many = {"rise": 0.0, "candidates": 2, "most": 2}, {"rise": 9.0, "candidates": 2, "most": 20}
    fixed, rising = (Index.build(corpus_of(FILES), config_of(model, mode=mode, **more)) for more in (few, many))
    covered, uncovered = "how to retry backoff", "how does a socket throttle stubborn peers politely"
    assert rising.search(covered, 20, per="span") == fixed.search(covered, 20, per="span")
    assert rising.search(uncovered, 20, per="span") != fixed.search(uncovered, 20, per="span")
    assert rising.search(uncovered, 20) == fixed.search(uncovered, 20), "files have a fixed weight"


@pytest.mark.parametrize("per", ["file", "span"])
def test_shorter_rankings_are_prefixes_and_filters_keep_scores(index: Index, per: Per) -> None:
    for query in QUERIES:
        whole = index.search(query, 99, per=per)
        assert index.search(query, 3, per=per) == whole[:3]
        kept = [hit for hit in whole if hit.path.startswith("net/") and (hit.score or 0) > 0]
        found = index.search(query, 99, per=per, paths=["net/**"])
        assert [hit for hit in found if (hit.score or 0) > 0] == kept


def test_updated_index_equals_a_new_one(index: Index, tmp_path: Path) -> None:
    root = write_files(tmp_path / "repo", FILES)
    old = Index.build(root, index.config)
    old.search(QUERIES[0])
    write_files(root, {"net/retry.py": "def retry(socket):\n    close(socket)\n", "new.py": "def the(file): ...\n"})
    corpus = open_corpus(parse_spec(str(root)))
    updated, built = old.updated(corpus), Index.build(corpus, index.config)
    for query in QUERIES:
        assert updated.search(query, 99, per="span") == built.search(query, 99, per="span")


def test_cached_directory_equals_an_index_in_memory(index: Index, tmp_path: Path) -> None:
    root = write_files(tmp_path / "repo", FILES)
    for _ in range(2):  # encoded, then read
        opened = Index.open(root, index.config)
        assert opened.search(QUERIES[0], 99, per="span") == Index.build(root, index.config).search(
            QUERIES[0], 99, per="span"
        )


def test_modes_agree_on_the_vectors_of_chunks(corpus_of: CorpusOf, model: Path) -> None:
    lazy, full = (Index.build(corpus_of(FILES), config_of(model, mode=mode)).view.encoder for mode in ("lazy", "full"))
    assert lazy
    assert full
    rows = list(range(0, lazy.encoder.matrix.shape[0], 3))
    assert np.array_equal(lazy.encoder.vectors(rows), full.encoder.matrix[rows])


def test_only_new_texts_are_encoded(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, config = write_files(tmp_path / "repo", FILES), config_of(model, mode="full")
    encoded: list[str] = []
    make = make_embedder

    class Counting:
        def __init__(self, *args: object) -> None:
            self.real = make(*args)  # type: ignore[arg-type]
            self.identity, self.dimension = self.real.identity, self.real.dimension

        def embed(self, texts: list[str], role: TextRole) -> Matrix:
            if role != "query":
                encoded.extend(texts)
            return self.real.embed(texts, role)

    monkeypatch.setattr(encoders, "make_embedder", Counting)
    Index.open(root, config).search(QUERIES[0])
    assert len(encoded) == len(set(encoded)) > 20
    encoded.clear()
    Index.open(root, config).search(QUERIES[1])
    Index.open(root, config_of(model)).search(QUERIES[1])
    assert not encoded, "a second process and lazy mode use the vectors of the first"
    write_files(root, {"net/retry.py": FILES["net/retry.py"] + "\n\ndef third(a):\n    return 3\n"})
    Index.open(root, config).search(QUERIES[0])
    assert 0 < len(encoded) <= 3
    assert all(text.startswith("net/retry.py") for text in encoded)


@pytest.mark.parametrize("damage", ["row", "file", "directory"])
def test_damaged_cache_is_not_used(tmp_path: Path, model: Path, damage: str) -> None:
    root, config = write_files(tmp_path / "repo", FILES), config_of(model)
    wanted = Index.open(root, config).search(QUERIES[0], 99, per="span")
    (file,) = tmp_path.rglob("vectors.sqlite")
    if damage == "row":
        with sqlite3.connect(file) as connection:
            connection.execute("UPDATE vectors SET data = zeroblob(length(data))")
    elif damage == "file":
        file.write_bytes(b"not a database" * 1000)
    else:
        file.unlink()
        file.mkdir()
    assert Index.open(root, config).search(QUERIES[0], 99, per="span") == wanted
    assert Index.open(root, config).search(QUERIES[0], 99, per="span") == wanted


def test_answers_are_equal_in_other_processes_and_on_one_core(index: Index, tmp_path: Path, model: Path) -> None:
    root = write_files(tmp_path / "repo", FILES)
    code = (
        "import json, os, sys; from assay.search import Index; from assay.search.config import load_search_config\n"
        "if sys.argv[3] == '1' and hasattr(os, 'sched_setaffinity'):\n"
        "    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\n"
        "index = Index.build(sys.argv[1], load_search_config(json.loads(sys.argv[2])))\n"
        "print(repr([index.search(query, 99, per='span') for query in json.loads(sys.argv[4])]))"
    )
    settings = [f"dense.encoder={model}", f"encoder.mode={index.config.encoder.mode}", "encoder.candidates=20"]
    found = {
        subprocess.run(
            [sys.executable, "-c", code, root, json.dumps(settings), cores, json.dumps(QUERIES)],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": cores},
        ).stdout
        for cores in ("1", "2")
    }
    own = Index.build(root, load_search_config(settings))
    assert found == {f"{[own.search(query, 99, per='span') for query in QUERIES]!r}\n"}


def test_threads_that_share_an_index_get_equal_answers(index: Index, corpus_of: CorpusOf) -> None:
    fresh = Index.build(corpus_of(FILES), index.config)

    def answer(shift: int) -> list[object]:
        queries = QUERIES[shift:] + QUERIES[:shift]
        found = {query: fresh.search(query, 99, per="span") for query in queries}
        return [found[query] for query in QUERIES]

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(answer, range(6)))
    assert answers == [[index.search(query, 99, per="span") for query in QUERIES]] * 6


def test_installed_model_that_is_not_configured_changes_nothing(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = search_identity(SearchConfig(), "file")
    monkeypatch.setattr("assay.search.models.installed_model", lambda _name: model)
    assert search_identity(SearchConfig(), "file") == before
    assert search_identity(config_of("minilm"), "file") not in (before, None)


def test_record_names_the_files_of_the_model(model: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(model, tmp_path / "copy")

    def engine_of(directory: Path) -> Any:
        return make_engine({"kind": "builtin", "search": {"dense": {"encoder": str(directory)}}})

    first = engine_of(model)
    assert first.config["encoder_sha256"] == engine_of(copy).config["encoder_sha256"]
    assert "encoder_sha256" not in make_engine("builtin").config
    (copy / "tokenizer.json").write_text((model / "tokenizer.json").read_text() + "\n")
    assert first.config["encoder_sha256"] != engine_of(copy).config["encoder_sha256"]
    assert first.identity != engine_of(copy).identity


@pytest.mark.parametrize(
    ("spec", "message", "hint"),
    [
        ("minilm", "encoder 'minilm' is not installed", "run `assay model install minilm`"),
        ("minlm", "unknown encoder 'minlm'", "did you mean 'minilm'?"),
        ("./nowhere", "no model.onnx or", "pass the directory"),
    ],
)
def test_missing_encoder_is_an_error_with_a_hint(corpus_of: CorpusOf, spec: str, message: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Index.build(corpus_of(FILES), config_of(spec)).search(QUERIES[0])
    assert message in caught.value.message
    assert hint in str(caught.value.hint)


def test_truncated_weights_are_refused(corpus_of: CorpusOf, model: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(model, tmp_path / "copy")
    weights = (copy / "model.onnx").read_bytes()
    (copy / "model.onnx").write_bytes(weights[: len(weights) // 2])
    with pytest.raises(ConfigError, match="onnxruntime cannot load the model") as caught:
        Index.build(corpus_of(FILES), config_of(copy)).search(QUERIES[0])
    assert caught.value.hint


def test_missing_package_is_an_error_with_a_hint(
    corpus_of: CorpusOf, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(SetupError) as caught:
        Index.build(corpus_of(FILES), config_of(model)).search(QUERIES[0])
    assert "onnx" in str(caught.value.hint)


def test_settings_of_the_model_apply(corpus_of: CorpusOf, model: Path) -> None:
    identities = set()
    for change in ({}, {"max_tokens": 4}, {"pooling": "cls"}, {"query_prefix": "query: "}):
        view = Index.build(corpus_of(FILES), replace(config_of(model), encoder=EncoderSettings(**change))).view
        assert view.encoder
        identities.add(view.encoder.encoder.embedder.identity)
    assert len(identities) == 4
