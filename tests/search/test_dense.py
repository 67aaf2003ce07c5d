"""A model that embeds, through the whole index: built, opened, edited, asked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from assay.corpus import open_corpus, parse_spec
from assay.errors import ConfigError
from assay.search import Index, Per, SearchConfig, embedders
from assay.search.config import DenseSettings
from assay.search.dense import parse_fusion, passage_text
from assay.search.embedders import EmbedderConfig, ModelEmbedder, TextRole
from assay.search.index import retrieve
from assay.search.query import parse_query
from assay.search.vectors import VectorFormat
from assay.store.store import Store
from assay.types import Hit
from tests.search.conftest import write_files
from tests.search.dense.models import WORDS, table, write_model2vec
from tests.search.samples import BY_WORDS

FILES = {
    "net/retry.py": "def retry_call(call):\n    retry the call\n\n\ndef other(x):\n    return x\n",
    "net/socket.py": "def shut(it):\n    close the socket\n\n\nclass Pool:\n    def grow(it):\n        open a socket\n",
    "disk.py": "def read(file):\n    open the file of a user\n",
    "guide.md": "# Files\n\nopen and close a file\n\n# Networks\n\nretry a socket\n",
    "notes.md": "# Misc\n\nnothing of note here\n",
    "empty.py": "",
}
QUERIES = [
    "backoff",
    "how is the backoff of a socket chosen?",
    "retry_call",
    "close the file",
    "unheard of",
    "",
    "\ud800 x",
]
FUSIONS = ["max", "relative", "zscore", "rrf", "rrf(k=5)"]
PERS: tuple[Per, ...] = get_args(Per)
#: Every kind of vectors and every fusion once or twice in `make test`, all combinations in `make nightly`.
PAIRED = [
    pytest.param(kind, fusion, marks=() if (number + place) % 3 == 0 else pytest.mark.nightly)
    for number, kind in enumerate(get_args(VectorFormat))
    for place, fusion in enumerate(FUSIONS)
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_files(tmp_path / "repo", FILES)


@pytest.fixture
def model(tmp_path: Path) -> str:
    """A model in which backoff means retry."""
    vectors = table()
    vectors[WORDS.index("backoff")] = vectors[WORDS.index("retry")]
    return f"model2vec:{write_model2vec(tmp_path / 'model', {'embeddings': vectors})}"


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Every text that was embedded, with its role."""
    seen: list[tuple[str, str]] = []
    opened = embedders._open_model2vec

    def watched(path: str, config: EmbedderConfig) -> ModelEmbedder:
        embedder = opened(path, config)

        def encode(texts: Sequence[str], role: TextRole) -> Any:
            seen.extend((role, text) for text in texts)
            return embedder.encode(texts, role)

        return replace(embedder, encode=encode)

    monkeypatch.setattr(embedders, "_open_model2vec", watched)
    return seen


def config_of(model: str, **settings: Any) -> SearchConfig:
    return replace(BY_WORDS, dense=DenseSettings(model=model, **settings))


def answers(index: Index) -> list[tuple[Hit, ...]]:
    return [index.search(query, 99, per=per) for query in QUERIES for per in PERS]


def files_below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_meaning_finds_what_no_word_does(root: Path, model: str) -> None:
    assert Index.build(root, BY_WORDS).search("backoff", pad=False) == ()
    for per in PERS:
        hits = Index.build(root, config_of(model)).search("backoff", per=per)
        assert hits[0].path in ("net/retry.py", "guide.md")
        assert "retry" in (hits[0].snippet or "")


@pytest.mark.parametrize(("vectors", "fusion"), PAIRED)
def test_open_equals_build_after_every_edit(root: Path, model: str, vectors: VectorFormat, fusion: str) -> None:
    config = config_of(model, vectors=vectors, fusion=fusion)
    edits: list[dict[str, str | None]] = [
        {},
        {"net/retry.py": FILES["net/retry.py"] + "\n\ndef backoff(n):\n    retry of a file\n"},
        {"disk.py": None, "moved/disk.py": FILES["disk.py"]},
        {"guide.md": None, "notes.md": None},
        {"net/retry.py": FILES["net/retry.py"]},
    ]
    for edit in edits:
        for path, text in edit.items():
            if text is None:
                (root / path).unlink()
            else:
                write_files(root, {path: text})
        built = answers(Index.build(root, config))
        assert answers(Index.open(root, config)) == built
        assert answers(Index.open(root, config)) == built, "and when nothing changed"
        assert answers(Index.build(root, config)) == built


@pytest.mark.parametrize(("vectors", "fusion"), PAIRED)
@pytest.mark.parametrize("per", PERS)
def test_prefix_and_filters_hold_with_meaning(
    root: Path, model: str, vectors: VectorFormat, fusion: str, per: Per
) -> None:
    index = Index.build(root, config_of(model, vectors=vectors, fusion=fusion))
    for query in QUERIES:
        every = index.search(query, 99, per=per)
        assert [index.search(query, k, per=per) for k in range(len(every))] == [every[:k] for k in range(len(every))]
        wants: list[dict[str, Any]] = [
            {"paths": ["net/**"]},
            {"languages": ["python"]},
            {"min_score": 0.5},
            {"kinds": ["docs"]},
        ]
        for wanted in wants:
            rest = iter(every)
            assert all(hit in rest for hit in index.search(query, 99, per=per, **wanted))
        assert [hit for hit in every if hit.path.startswith("net/")] == list(
            index.search(query, 99, per=per, paths=["net/**"])
        )


@pytest.mark.parametrize("fusion", FUSIONS)
def test_fusion_loses_no_match_and_makes_none_up(root: Path, model: str, fusion: str) -> None:
    plain, dense = Index.build(root, BY_WORDS), Index.build(root, config_of(model, fusion=fusion))
    for query in QUERIES:
        found = {hit.path for hit in plain.search(query, 99, pad=False)}
        assert found <= {hit.path for hit in dense.search(query, 99, pad=False)}, "what holds the words is still found"
    assert dense.search("", 99, pad=False) == ()
    assert dense.search("?!", 99, pad=False) == ()
    files = {f"{name}.txt": "cart\n" + f"{name}\n" * n for n, name in enumerate("abc")}
    carts = Index.build(write_files(root.parent / "carts", files), config_of(model, fusion=fusion))
    for per in PERS:
        assert len(carts.search("cart", 99, per=per, pad=False)) == 3, "the lowest too"


@pytest.mark.parametrize("fusion", FUSIONS)
def test_fusion_orders_every_match(root: Path, model: str, fusion: str) -> None:
    write_files(root, {f"{n}.py": "file\n" * n + "open\n" * (n % 5) for n in range(1, 30)})
    config = config_of(model, fusion=fusion)
    view = Index.build(root, config).view
    assert view.dense is not None
    for text in ("how does a file close?", "file"):
        seen = retrieve(parse_query(text), view, config, "span")
        meaning = view.dense(text, "span", seen.lexical_scores, config.dense.language)
        matched = (seen.lexical_scores > 0) | (meaning > 0)
        np.testing.assert_array_equal(seen.chunk_scores > 0, matched)
        raw = parse_fusion(fusion)([seen.lexical_scores, meaning], [1.0, config.dense.language])[matched]
        order = np.argsort(seen.chunk_scores[matched], kind="stable")
        assert np.all(np.diff(raw[order]) >= -1e-12), "in the order of the fusion"
        assert len(np.unique(seen.chunk_scores)) > 10, "and not tied"


def test_weight_follows_the_kind_of_the_query(root: Path, model: str) -> None:
    plain = Index.build(root, BY_WORDS)
    dense = Index.build(root, config_of(model, symbol=0.0, keywords=0.0, language=1.0))
    for per in PERS:
        for query in ("socket.close", "close file"):
            assert dense.search(query, 99, per=per, pad=False) == plain.search(query, 99, per=per, pad=False)
        question = "how is the backoff chosen?"
        assert dense.search(question, 99, per=per, pad=False) != plain.search(question, 99, per=per, pad=False)
    loud = Index.build(root, config_of(model, symbol=1.0, keywords=1.0))
    assert loud.search("socket.close", 99) != plain.search("socket.close", 99)
    assert loud.search("close file", 99) != plain.search("close file", 99)


def test_model_of_documentation_speaks_for_it_alone(
    root: Path, model: str, tmp_path: Path, embedded: list[tuple[str, str]]
) -> None:
    other = f"model2vec:{write_model2vec(tmp_path / 'other', {'embeddings': table(8, seed=1)})}"
    both, one = Index.build(root, config_of(model, docs_model=other)), Index.build(root, config_of(model))
    assert both.view.dense is not None
    assert one.view.dense is not None
    code, docs = both.view.dense.parts
    kinds = np.asarray(both.view.docs)
    assert not kinds[code.rows].any()
    assert kinds[docs.rows].all()
    assert len(code.rows) + len(docs.rows) == both.view.chunk_count
    assert (code.vectors.dimension, docs.vectors.dimension) == (16, 8)
    unmatched = np.zeros(both.view.chunk_count)
    scores = both.view.dense("close the file", "span", unmatched, 0.5)
    for part in (code, docs):
        assert (scores[part.rows].min(), scores[part.rows].max()) == (0.0, 1.0), "each from 0 to 1"
    assert not np.array_equal(scores, one.view.dense("close the file", "span", unmatched, 0.5))
    assert {role for role, text in embedded if text.startswith(("guide.md", "notes.md"))} == {"docs"}
    assert {role for role, text in embedded if text.startswith(("net/", "disk.py", "empty.py"))} == {"code"}
    assert answers(Index.open(root, both.config)) == answers(both)
    assert answers(Index.open(root, one.config)) == answers(one)
    assert answers(Index.open(root, both.config)) == answers(both)


def test_only_unit_of_documentation_can_be_found_by_meaning(root: Path, model: str) -> None:
    (root / "guide.md").unlink()
    write_files(root, {"notes.md": "retry\n"})
    hits = Index.build(root, config_of(model, docs_model=model)).search("backoff", 99)
    assert "notes.md" in [hit.path for hit in hits]


def test_prefixes_are_put_before_what_they_are_for(root: Path, model: str, embedded: list[tuple[str, str]]) -> None:
    config = config_of(model, query_prefix="the ", code_prefix="def ", docs_prefix="file ")
    Index.build(root, config).search("backoff of a socket")
    prefix = {"query": "the ", "code": "def ", "docs": "file "}
    assert {role for role, _ in embedded} == set(prefix)
    assert all(text.startswith(prefix[role]) for role, text in embedded)


def test_passage_holds_path_surroundings_names_and_lines(root: Path, model: str) -> None:
    index = Index.build(root, config_of(model))
    chunks = [passage_text(index.table, chunk) for chunk in range(index.view.chunk_count)]
    grow = next(text for text in chunks if "def grow" in text)
    head, _, body = grow.partition("\n")
    assert head.startswith("net/socket.py")
    assert "grow" in head.split()
    assert "pool" in head.lower()
    assert "open a socket" in body


def test_nothing_is_embedded_twice(root: Path, model: str, embedded: list[tuple[str, str]]) -> None:
    config = config_of(model)
    long = "".join(f"def {name}():\n" + f"    {name} = 7\n" * 60 + "\n\n" for name in ("first", "second", "third"))
    long = long.replace("    second = 7\n" * 60, "    second = 7\n" + "    other = 7\n" * 59)
    write_files(root, {"long.py": long})
    Index.open(root, config)
    chunks = len(embedded)
    assert chunks == Index.open(root, config).view.chunk_count == len(embedded)
    place = next(Store().kind_dir("index").rglob("vectors-*.assay"))
    before = place.stat().st_mtime_ns
    write_files(root, {"long.py": long.replace("second = 7", "second = 8")})
    Index.open(root, config)
    fresh = [text for _, text in embedded[chunks:]]
    assert len(fresh) == 3, "only the file that was edited"
    assert all(text.startswith("long.py") for text in fresh)
    assert place.stat().st_mtime_ns > before
    write_files(root, {"long.py": long})
    Index.open(root, config)
    Index.open(root, replace(config, dense=replace(config.dense, vectors="binary")))
    assert len(embedded) == chunks + 3, "what was once embedded is remembered, however vectors are stored"


def test_other_weights_are_other_vectors(root: Path, model: str) -> None:
    config = config_of(model)
    Index.open(root, config)
    write_model2vec(Path(model.partition(":")[2]), {"embeddings": table(seed=9)})
    assert answers(Index.open(root, config)) == answers(Index.build(root, config))


@pytest.mark.parametrize("harm", ["flip", "cut", "empty", "foreign", "folder"])
def test_damaged_vectors_are_made_anew(root: Path, model: str, harm: str) -> None:
    config = config_of(model)
    wanted = answers(Index.open(root, config))
    place = next(Store().kind_dir("index").rglob("vectors-*.assay"))
    data = bytearray(place.read_bytes())
    data[-70] ^= 1
    harmed = {"flip": bytes(data), "cut": bytes(data[: len(data) // 2]), "empty": b"", "foreign": b"GIF89a" * 99}
    if harm == "folder":
        place.unlink()
    else:
        place.write_bytes(harmed[harm])
    assert answers(Index.open(root, config)) == wanted
    assert answers(Index.open(root, config)) == wanted
    assert place.read_bytes() != harmed.get(harm)


def test_build_reads_and_writes_no_cache(
    root: Path, model: str, tmp_path: Path, embedded: list[tuple[str, str]]
) -> None:
    config = config_of(model)
    answers(Index.build(root, config))
    assert files_below(tmp_path / "cache") == files_below(tmp_path / "index") == []
    Index.open(root, config)
    assert files_below(tmp_path / "cache")
    del embedded[:]
    assert Index.build(root, config).view.chunk_count == len(embedded), "a cache that is there is not read"


@pytest.mark.parametrize("vectors", get_args(VectorFormat))
def test_a_model_may_have_nothing_to_read(root: Path, model: str, vectors: VectorFormat) -> None:
    config = config_of(model, docs_model=model, vectors=vectors)
    (root / "guide.md").unlink()
    (root / "notes.md").unlink()
    assert answers(Index.open(root, config)) == answers(Index.build(root, config))
    assert "net/retry.py" in [hit.path for hit in Index.open(root, config).search("backoff")]
    nothing = replace(open_corpus(parse_spec(str(root))), files=())
    assert Index.build(nothing, config).search("backoff", pad=False) == ()


def test_cache_that_cannot_be_written_only_costs_time(
    root: Path, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = write_files(tmp_path, {"blocked": "a file where a folder should be"}) / "blocked"
    monkeypatch.setenv("ASSAY_INDEX_DIR", str(blocked))
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(blocked))
    assert answers(Index.open(root, config_of(model))) == answers(Index.build(root, config_of(model)))


def test_trace_shows_words_and_meaning_apart(root: Path, model: str) -> None:
    plain, dense = Index.build(root, BY_WORDS), Index.build(root, config_of(model))
    for per in PERS:
        stages = dense.explain("how is the backoff of a socket chosen?", per=per).stages
        assert [stage.name for stage in stages[:4]] == ["lexical", "dense", "fused", "coherence"]
        before = plain.explain("how is the backoff of a socket chosen?", per=per).stages
        assert [stage.name for stage in before[:2]] == ["lexical", "coherence"]
        np.testing.assert_array_equal(stages[0].scores, before[0].scores)
        found = [set(np.flatnonzero(stage.scores).tolist()) for stage in stages[:3]]
        assert found[1] - found[0], "the dense list has rows without a query word"
        assert found[2] == found[0] | found[1]
        symbol = dense.explain("retry_call", per=per).stages
        np.testing.assert_array_equal(symbol[0].scores, symbol[2].scores)
    assert dense.lost("backoff", "net/retry.py", k=3).ranks[0] == ("lexical", 0)
    assert dense.lost("backoff", "net/retry.py", k=3).stage is None


def test_missing_model_is_refused_when_the_index_is_made(root: Path, tmp_path: Path) -> None:
    for spec in (f"model2vec:{tmp_path / 'nowhere'}", "model3vec:x", "model2vec:"):
        with pytest.raises(ConfigError):
            Index.build(root, config_of(spec))
        with pytest.raises(ConfigError):
            Index.open(root, config_of(spec))
    assert Index.open(root).search("retry"), "words are still found"


def test_vectors_lie_beside_the_index_and_are_smaller_as_bytes(root: Path, model: str) -> None:
    sizes = {}
    write_files(root, {"many.py": "".join(f"def f{n}(file):\n    open the file {n}\n\n\n" for n in range(300))})
    for kind in get_args(VectorFormat):
        Index.open(root, config_of(model, vectors=kind))
        place = next(Store().kind_dir("index").rglob("vectors-*.assay"))
        assert (place.parent / "index.assay").is_file()
        sizes[kind] = os.path.getsize(place)
    assert sizes["int8"] < sizes["float32"] < sizes["binary"]
