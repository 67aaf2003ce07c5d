"""What holds for every corpus and every query."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.corpus import open_corpus, parse_spec
from assay.search import Index, Per, SearchConfig
from assay.search.building import build_table, update_table
from assay.search.chunking import ChunkConfig
from assay.search.config import FieldConfig, IndexConfig
from assay.search.query import find_words, word_terms
from assay.search.table import IndexTable, read_table, table_arrays
from assay.types import Corpus, Hit
from tests.properties import examples
from tests.search.conftest import CorpusOf, write_files
from tests.search.samples import BY_WORDS, EDITS, SAMPLES

_SOAK = 400  # examples under `make soak`
_UNEVEN = IndexConfig(fields=FieldConfig(body=0.1, name=0.7, scope=0.3, signature=1.1, stem=0.9, folder=1.3))
_PATHS = [f"{folder}{stem}.{end}" for folder in ("", "a/", "b/c/") for stem in ("cart", "mod") for end in EDITS]
_QUERIES = ["cart", "Cart.total", "where is the total of a cart computed?", "refund price", "größe 日本", "the", ""]

_paths = st.sampled_from(_PATHS)
_steps = st.lists(
    st.one_of(
        st.tuples(st.just("write"), _paths, st.integers(0, 6)),
        st.tuples(st.just("remove"), _paths, st.just(0)),
        st.tuples(st.just("rename"), _paths, st.integers(0, len(_PATHS) - 1)),
        st.tuples(st.just("revert"), _paths, st.just(0)),
    ),
    min_size=1,
    max_size=12,
)
_queries = st.sampled_from(_QUERIES)
_pers = st.sampled_from(["file", "span"])
_index_configs = st.sampled_from([IndexConfig(), _UNEVEN])


def content(path: str, number: int) -> str:
    texts = EDITS[path.rpartition(".")[2]]
    return texts[number % len(texts)]


class Tree:
    """A folder that is edited, with the state it began in."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp())
        self.first = {path: content(path, n) for n, path in enumerate(_PATHS[::5])} | {"always.py": "x = 1\n"}
        write_files(self.root, self.first)

    def step(self, what: str, path: str, number: int) -> None:
        place, other = self.root / path, self.root / _PATHS[number]
        if what == "write":
            write_files(self.root, {path: content(path, number)})
        elif what == "revert" and path in self.first:
            write_files(self.root, {path: self.first[path]})
        elif what == "remove":
            place.unlink(missing_ok=True)
        elif what == "rename" and place.exists():
            other.parent.mkdir(parents=True, exist_ok=True)
            place.replace(other)

    def corpus(self) -> Corpus:
        return open_corpus(parse_spec(str(self.root)))


def assert_same(one: IndexTable, other: IndexTable) -> None:
    """Compare tables, array for array."""
    left, right = table_arrays(one), table_arrays(other)
    assert left.keys() == right.keys()
    for name, array in left.items():
        assert array.dtype == right[name].dtype, name
        np.testing.assert_array_equal(array, right[name], err_msg=name)


def updated_is_rebuilt(steps: list[tuple[str, str, int]], every: int, config: IndexConfig) -> None:
    tree = Tree()
    try:
        table = build_table(tree.corpus(), tree.corpus().files, config, 1)
        for number, step in enumerate(steps):
            tree.step(*step)
            if number % every == 0 or number == len(steps) - 1:
                table, _ = update_table(table, tree.corpus(), config, 1)
        corpus = tree.corpus()
        built = build_table(corpus, corpus.files, config, 1)
        assert_same(table, built)
        assert_same(read_table(table_arrays(table)), built)
        assert update_table(table, corpus, config)[1] == 0
        plain = SearchConfig(index=config)
        view = Index._of(corpus, table, plain, None)
        whole = Index.build(corpus, plain)
        for query in _QUERIES:
            for per in ("file", "span"):
                assert view.search(query, 99, per=per) == whole.search(query, 99, per=per)
    finally:
        shutil.rmtree(tree.root)


@examples(15)
@given(steps=_steps, every=st.integers(1, 3), config=_index_configs)
def test_update_is_rebuild_array_for_array_and_hit_for_hit(
    steps: list[tuple[str, str, int]], every: int, config: IndexConfig
) -> None:
    updated_is_rebuilt(steps, every, config)


@pytest.mark.soak
@examples(_SOAK)
@given(steps=_steps, every=st.integers(1, 3), config=_index_configs)
def test_update_is_rebuild_over_many_random_edits(
    steps: list[tuple[str, str, int]], every: int, config: IndexConfig
) -> None:
    updated_is_rebuilt(steps, every, config)


def test_open_after_every_edit_equals_build(tmp_path: Path) -> None:
    root = write_files(
        tmp_path / "repo", {path: SAMPLES[path] for path in ("cart.py", "cart.js", "README.md", "shop.toml")}
    )
    edits: list[dict[str, str | None]] = [
        {"cart.py": SAMPLES["cart.py"] + "\n\ndef refund(x):\n    return x\n"},
        {"cart.py": None, "basket.py": SAMPLES["cart.py"]},
        {"basket.py": None, "cart.py": SAMPLES["cart.py"], "new/empty.py": ""},
        {"new/empty.py": None, "tool": "#!/usr/bin/env python3\ndef cart(): pass\n"},
        {"tool": "#!/bin/bash\ncart() { :; }\n"},
    ]
    for edit in [{}, *edits]:
        for path, text in edit.items():
            if text is None:
                (root / path).unlink()
            else:
                write_files(root, {path: text})
        opened, built = Index.open(root), Index.build(root)
        assert_same(opened.table, built.table)
        assert opened.search("refund the cart", 99) == built.search("refund the cart", 99)
        assert_same(Index.open(root).table, built.table)


def test_update_analyses_a_file_again_whose_language_changed(corpus_of: CorpusOf) -> None:
    corpus = corpus_of({"a.py": "def cart():\n    return 1\n", "b.py": "x = 1\n"})
    table = build_table(corpus, corpus.files, IndexConfig())
    first, second = corpus.files
    other = replace(corpus, files=(replace(first, language="ruby"), second))
    found, changed = update_table(table, other, IndexConfig())
    assert changed == 1
    assert_same(found, build_table(other, other.files, IndexConfig()))


@pytest.fixture(scope="module")
def shop(corpus_of: CorpusOf) -> Index:
    """Every sample twice, some of it as tests, and a long file."""
    files = dict(SAMPLES) | {f"tests/test_{path}": text for path, text in SAMPLES.items()}
    files |= {"long.py": "\n\n".join(f"def cart_{n}(total):\n" + "    total += 1\n" * (n % 90) + f"    return {n}\n"
                                     for n in range(60))}  # fmt: skip
    return Index.build(corpus_of(files))


def is_sound(hits: tuple[Hit, ...], per: Per) -> None:
    """Finite, falling, distinct, apart, and never too long."""
    scores = [hit.score for hit in hits]
    assert all(score is not None and math.isfinite(score) and score >= -2 for score in scores)
    assert scores == sorted(scores, key=lambda score: -(score or 0))
    assert len({(hit.path, hit.start) if per == "span" else hit.path for hit in hits}) == len(hits)
    taken: dict[str, set[int]] = {}
    for hit in hits:
        if hit.start is None or hit.end is None:
            continue
        lines = set(range(hit.start, hit.end + 1))
        assert 0 < len(lines) <= 100
        assert per == "file" or not lines & taken.setdefault(hit.path, set())
        taken.setdefault(hit.path, set()).update(lines)


_words = st.lists(
    st.sampled_from(
        ["cart", "total", "Payment", "add_item", "where", "is", "the", "test", "price?", "Shop::Login", "of"]
    ),
    max_size=6,
).map(" ".join)
_filters = st.sampled_from(
    [{}, {"paths": ["tests/**"]}, {"paths": ["*.py", "!long.py"]}, {"languages": ["python", "go"]},
     {"kinds": ["method"]},
     {"kinds": ["code", "section"]}, {"regex": r"def \w+"}, {"min_score": 0.5}, {"regex": "Total", "languages": ["go"]}]
)  # fmt: skip


@examples(60)
@given(query=_words, per=_pers, wanted=_filters, k=st.integers(0, 12), more=st.integers(0, 12))
def test_fewer_results_are_the_first_of_more(
    shop: Index, query: str, per: Per, wanted: dict[str, Any], k: int, more: int
) -> None:
    assert shop.search(query, k, per=per, **wanted) == shop.search(query, k + more, per=per, **wanted)[:k]


@examples(60)
@given(query=_words, per=_pers, wanted=_filters)
def test_filter_only_strikes_out(shop: Index, query: str, per: Per, wanted: dict[str, Any]) -> None:
    every = shop.search(query, 9999, per=per)
    is_sound(every, per)
    kept = shop.search(query, 9999, per=per, **wanted)
    rest = iter(every)
    assert all(any(hit == other for other in rest) for hit in kept), "the same hits and scores, in the same order"
    if "languages" in wanted:
        known = dict(zip(shop.table.files.paths, shop.table.files.languages, strict=True))
        assert [hit for hit in every if known[hit.path] in wanted["languages"]] == list(kept) or "regex" in wanted
    if wanted == {"min_score": 0.5}:
        assert list(kept) == [hit for hit in every if (hit.score or 0) >= 0.5]
    if wanted == {"paths": ["tests/**"]}:
        assert list(kept) == [hit for hit in every if hit.path.startswith("tests/")]


@pytest.mark.parametrize("kind", ["ast", "lines", "tokens", "characters"])
@pytest.mark.parametrize("overlap", [0, 20])
def test_k_distinct_results_of_any_chunking(corpus_of: CorpusOf, kind: Any, overlap: int) -> None:
    files = {f"{n:02}.py": "def cart():\n    return total\n" * (n * 9 + 1) for n in range(25)}
    config = SearchConfig(index=IndexConfig(chunks=ChunkConfig(kind=kind, size=40, overlap=overlap)))
    index = Index.build(corpus_of(files), config)
    for per, k in (("file", 25), ("span", 60)):
        hits = index.search("cart total", k, per=per)  # type: ignore[arg-type]
        assert len(hits) == k
        is_sound(hits, per)  # type: ignore[arg-type]


def test_snippet_is_the_text_of_the_lines(shop: Index) -> None:
    for hit in shop.search("cart total payment", 50, per="span"):
        lines = (shop.root / hit.path).read_bytes().decode().split("\n")
        assert hit.start is not None
        assert hit.end is not None
        assert (hit.snippet or "").rstrip("\n").split("\n") == "\n".join(lines[hit.start - 1 : hit.end]).rstrip(
            "\n"
        ).split("\n")


_ASK = """
import json, sys
from assay.search import Index, building
building.SHARE_BYTES, building.BATCH_BYTES = 500, 3000
index = Index.build(sys.argv[1], workers=int(sys.argv[2]))
print(json.dumps([[h.path, h.start, h.end, h.score.hex()] for per in ("file", "span")
                  for q in ("cart total", "Payment", "where is the price of an item?", "zebra quark")
                  for h in index.search(q, 20, per=per)]))
"""


def test_answer_depends_neither_on_hash_seed_nor_on_workers_nor_on_threads(corpus_of: CorpusOf) -> None:
    chosen = ("cart.py", "cart.js", "store.go", "Payment.java", "README.md", "guide.rst")
    corpus = corpus_of({f"{n}/{path}": SAMPLES[path] * (1 + n % 4) for n in range(8) for path in chosen})
    answers = set()
    for seed, workers, threads in (("0", "1", "1"), ("4242", "3", "4")):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "OMP_NUM_THREADS": threads,
            "OPENBLAS_NUM_THREADS": threads,
        }
        done = subprocess.run(
            [sys.executable, "-c", _ASK, str(corpus.root), workers],
            env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        answers.add(done.stdout)
    assert len(answers) == 1
    assert len(json.loads(answers.pop())) > 100


@pytest.mark.parametrize(
    "query",
    ["", " ", "the", "where is the of", "?!.,;", "\0", "a\0b", "🦀", "🦀 cart", "x" * 100_000, "cart " * 10_000,
     " ".join(f"word{n}" for n in range(10_000)), "日本語", "сумма корзины", "سلة", "हिन्दी", "\ud800", "\n\n", "((((",
     "*",
     "cart\\", "ﬁ", "İstanbul", "e\u0301", "\u200d", "SELECT * FROM", "'; DROP TABLE --", "../../etc/passwd"],
    ids=lambda query: repr(query[:20]),
)  # fmt: skip
@pytest.mark.parametrize("per", ["file", "span"])
def test_no_query_is_too_strange(shop: Index, query: str, per: Per) -> None:
    is_sound(shop.search(query, 5, per=per), per)
    if len(query) < 100:
        assert len(tuple(shop.explain(query, per=per).json_lines())) >= 1


@examples(40)
@given(query=st.text(max_size=50), per=_pers)
def test_no_random_query_is_too_strange(shop: Index, query: str, per: Per) -> None:
    is_sound(shop.search(query, 5, per=per), per)


@pytest.mark.parametrize(
    ("query", "path"),
    [("größe", "0.py"), ("GRÖSSE", "0.py"), ("日本", "1.py"), ("日本語", "1.py"), ("naïve", "2.py"), ("парсер", "3.py"),
     ("файлов", "3.py"), ("हिन्दी", "4.py"), ("httpServer", "5.py"), ("http server", "5.py"), ("سلة", "6.py"),
     ("計算", "7.py")],
)  # fmt: skip
def test_words_and_identifiers_of_any_language_are_found(corpus_of: CorpusOf, query: str, path: str) -> None:
    texts = ["Größe = Grösse = 1", "# 日本語のテキスト", "naïve = 1", "def парсерФайлов(): pass", "# हिन्दी पाठ",
             "def getHTTPServer(): pass", "# سلة المشتريات", "def 合計を計算する(): pass"]  # fmt: skip
    index = Index.build(
        corpus_of({f"{n}.py": text for n, text in enumerate(texts)} | {"z.py": "English = 1\n"}), BY_WORDS
    )
    for per in ("file", "span"):
        assert [hit.path for hit in index.search(query, per=per, pad=False)] == [path]


def test_index_finds_empty_files_by_their_path_and_ties_go_by_path(corpus_of: CorpusOf) -> None:
    index = Index.build(corpus_of({"json/__init__.py": "", "a.py": "x\n"}), BY_WORDS)
    assert [(hit.path, hit.start, hit.end) for hit in index.search("json", pad=False)] == [
        ("json/__init__.py", None, None)
    ]
    tied = Index.build(corpus_of({f"{name}.txt": "json\n" for name in "dbca"}), BY_WORDS)
    assert [hit.path for hit in tied.search("json", 3)] == ["a.txt", "b.txt", "c.txt"]
    assert index.search("absent", pad=False) == ()


_ONE_WORD = [
    "typo",
    "router",
    "cart",
    "Payment",
    "zebra",
    "größe",
    "日本語",
    "Cart.total",
    "xqzzy plugh",
    "how is tax paid?",
]


@pytest.mark.parametrize("per", ["file", "span"])
@pytest.mark.parametrize("query", _ONE_WORD)
def test_every_query_has_k_results_and_matches_come_first(shop: Index, query: str, per: Per) -> None:
    count = len(shop.table.files if per == "file" else {hit.span for hit in shop.search(query, 99_999, per=per)})
    hits = shop.search(query, count, per=per)
    assert len(hits) == count
    is_sound(hits, per)
    matches = shop.search(query, count, per=per, pad=False)
    assert hits[: len(matches)] == matches
    assert all((hit.score or 0) <= 0 for hit in hits[len(matches) :])
    if per == "span":
        covered = {(hit.path, line) for hit in hits for line in range(hit.start or 1, (hit.end or 0) + 1)}
        assert len(covered) == sum((hit.end or 0) - (hit.start or 1) + 1 for hit in hits)


@pytest.mark.parametrize("per", ["file", "span"])
@pytest.mark.parametrize("word", ["typo", "payment", "Total", "carts"])
def test_files_with_the_only_word_of_a_query_rank_above_others(corpus_of: CorpusOf, word: str, per: Per) -> None:
    corpus = corpus_of(dict(SAMPLES) | {
        "spelling.py": "def suggest(name):\n    'Correct a misspelled name.'\n    return closest(name)\n",
        "tests/test_typo.py": "def test_nothing():\n    pass\n",
        "notes.md": "# Notes\n\n" + "Nothing here.\n" * 40 + "\nFix a typo in the total payment of the cart.\n",
    })  # fmt: skip
    index = Index.build(corpus)
    stem = word_terms(word)[0]
    hits = index.search(word, 999, per=per)
    if per == "file":
        texts = [f"{hit.path}\n{(corpus.root / hit.path).read_text('utf-8')}" for hit in hits]
    else:
        texts = [f"{hit.path}\n{hit.snippet}" for hit in hits if (hit.score or 0) > 0]
    held = [any(stem in word_terms(other) for other in find_words(text)) for text in texts]
    assert any(held)
    assert held == sorted(held, reverse=True)
