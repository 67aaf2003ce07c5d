from __future__ import annotations

import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.search import Index, Per, SearchConfig
from assay.search.occurrences import _RUN, Slab
from assay.syntax.identifiers import query_words, words
from assay.types import Corpus, Hit

CorpusOf = Callable[[Mapping[str, str]], Corpus]

_words = st.sampled_from(
    ["json", "float", "getHTTPServer", "utf8", "naïve", "日本語", "x_y", "\n", "\n", "\n", "{", "self"]
)
_texts = st.lists(_words, max_size=40).map(" ".join)
_files = st.dictionaries(st.sampled_from(["a.py", "b/json.py", "b/c.md", "d.rs", "e"]), _texts, max_size=5)
_configs = st.builds(
    SearchConfig,
    window=st.sampled_from([0, 3, 4]),
    overlap=st.integers(0, 2),
    k1=st.sampled_from([0.0, 1.2, 2]),
    b=st.sampled_from([0, 0.75, 1]),
    path_weight=st.sampled_from([0, 1, 2.5]),
    file_chunks=st.integers(1, 3),
    file_decay=st.sampled_from([0, 0.5, 1]),
)
_queries = st.lists(st.sampled_from(["json", "FLOAT", "http server", "naïve", "本語", "y", "the", "self", "md"])).map(
    " ".join
)


def reference_windows(text: str, config: SearchConfig) -> list[tuple[int, int, str]]:
    """Cut a text into windows the slow way."""
    lines = text.split("\n")
    lines = lines[:-1] if lines[-1] == "" else lines
    if config.window == 0 or len(lines) <= config.window:
        return [(1, len(lines), text)]
    found = []
    for start in range(0, len(lines), config.window - config.overlap):
        part = lines[start : start + config.window]
        found.append((start + 1, start + len(part), "\n".join(part)))
        if start + config.window >= len(lines):
            break
    return found


def reference_scores(files: Mapping[str, str], query: str, config: SearchConfig) -> dict[tuple[str, int, int], float]:
    """Score every window by the formula, one word at a time."""
    chunks = {(p, s, e): Counter(words(t)) for p in sorted(files) for s, e, t in reference_windows(files[p], config)}
    lengths = {chunk: sum(counts.values()) for chunk, counts in chunks.items()}
    mean = sum(lengths.values()) / len(chunks) if chunks else 0
    tfs: dict[tuple[str, int, int], dict[str, float]] = {}
    for chunk, counts in chunks.items():
        path = Counter(words(chunk[0]))
        tfs[chunk] = {w: counts[w] + config.path_weight * path[w] for w in {*counts, *path}}
    scores = {}
    for chunk, tf in tfs.items():
        score = 0.0
        for word in set(query_words(query)):
            holders = sum(other.get(word, 0) > 0 for other in tfs.values())
            if tf.get(word, 0) > 0:
                idf = math.log(1 + (len(chunks) - holders + 0.5) / (holders + 0.5))
                norm = config.k1 * (1 - config.b + config.b * (lengths[chunk] / mean if mean else 0))
                score += idf * tf[word] * (config.k1 + 1) / (tf[word] + norm)
        scores[chunk] = score
    return {chunk: score for chunk, score in scores.items() if score > 0}


def to_span(hit: Hit, files: Mapping[str, str]) -> tuple[str, int, int]:
    if hit.start is None or hit.end is None:
        assert files[hit.path] == ""
        return hit.path, 1, 0
    return hit.path, hit.start, hit.end


@settings(max_examples=150, deadline=None)
@given(files=_files, query=_queries, config=_configs)
def test_index_scores_spans_by_the_formula(
    corpus_of: CorpusOf, files: dict[str, str], query: str, config: SearchConfig
) -> None:
    expected = reference_scores(files, query, config)
    hits = Index.build(corpus_of(files), config).search(query, 99, per="span")
    for hit in hits:
        assert hit.score == pytest.approx(expected[to_span(hit, files)], abs=1e-12)
    # Walk the reference in the same order and leave out what touches a better span.
    left = set(expected) - {to_span(hit, files) for hit in hits}
    taken = [hit.span for hit in hits if hit.start is not None]
    for path, start, end in left:
        assert any(span.path == path and span.start <= end and start <= span.end for span in taken)  # type: ignore[operator]
    for n, span in enumerate(taken):
        assert not any(span.common_lines(other) for other in taken[n + 1 :])


@settings(max_examples=150, deadline=None)
@given(files=_files, query=_queries, config=_configs)
def test_index_scores_files_by_their_best_chunks(
    corpus_of: CorpusOf, files: dict[str, str], query: str, config: SearchConfig
) -> None:
    chunks = reference_scores(files, query, config)
    totals: dict[str, float] = {}
    for path in files:
        best = sorted((score for chunk, score in chunks.items() if chunk[0] == path), reverse=True)
        if best:
            totals[path] = sum(s * config.file_decay**n for n, s in enumerate(best[: config.file_chunks]))
    hits = Index.build(corpus_of(files), config).search(query, 99)
    assert {hit.path: hit.score for hit in hits} == pytest.approx(totals, abs=1e-12)
    for hit in hits:
        mine = max(score for chunk, score in chunks.items() if chunk[0] == hit.path)
        assert chunks[to_span(hit, files)] == pytest.approx(mine)


@settings(max_examples=80, deadline=None)
@given(files=_files, query=_queries, config=_configs, per=st.sampled_from(["file", "span"]), k=st.integers(0, 6))
def test_index_top_k_is_a_prefix_in_a_total_order(
    corpus_of: CorpusOf, files: dict[str, str], query: str, config: SearchConfig, per: Per, k: int
) -> None:
    index = Index.build(corpus_of(files), config)
    everything = index.search(query, 99, per=per)
    assert index.search(query, k, per=per) == everything[:k]
    keys = [(-(hit.score or 0), hit.path, hit.start or 0) for hit in everything]
    assert keys == sorted(keys)
    assert len({hit.path if per == "file" else hit.span for hit in everything}) == len(everything)


def test_index_breaks_ties_by_path_and_start(corpus_of: CorpusOf) -> None:
    corpus = corpus_of({f"{name}.txt": "json\n" * 80 for name in "dbca"})
    index = Index.build(corpus, SearchConfig(overlap=0))
    assert [hit.path for hit in index.search("json", 3)] == ["a.txt", "b.txt", "c.txt"]
    assert [(hit.path, hit.start) for hit in index.search("json", 3, per="span")] == [
        ("a.txt", 1), ("a.txt", 41), ("b.txt", 1),
    ]  # fmt: skip


def test_index_breaks_many_ties_by_path(corpus_of: CorpusOf) -> None:
    corpus = corpus_of({f"{n:03}.txt": "json\n" * (1 + n % 2) for n in range(300)})
    ranked = [hit.path for hit in Index.build(corpus).search("json", 300)]
    assert ranked == [f"{n:03}.txt" for odd in (1, 0) for n in range(odd, 300, 2)]


def test_index_order_does_not_depend_on_the_order_of_the_corpus(corpus_of: CorpusOf) -> None:
    corpus = corpus_of({f"{n}.py": "json float\n" * (n % 3 + 1) for n in range(9)})
    shuffled = Corpus(corpus.root, corpus.spec, corpus.files[::-1], corpus.digest)
    assert Index.build(corpus).search("json float") == Index.build(shuffled).search("json float")


def test_index_gives_k_distinct_files_whenever_so_many_match(corpus_of: CorpusOf) -> None:
    files = {f"{n}.py": "json\n" * (n * 50 + 1) for n in range(12)} | {"other.py": "nothing\n"}
    index = Index.build(corpus_of(files))
    assert len({hit.path for hit in index.search("json", 10)}) == 10
    assert "other.py" not in {hit.path for hit in index.search("json", 99)}


def test_index_gives_k_spans_apart_whenever_so_many_match(corpus_of: CorpusOf) -> None:
    index = Index.build(corpus_of({"a.py": "json\n" * 4000}), SearchConfig(window=40, overlap=39))
    hits = index.search("json", 50, per="span")
    assert len(hits) == 50
    assert len({line for hit in hits for line in range(hit.start or 0, (hit.end or 0) + 1)}) == 50 * 40


@pytest.mark.parametrize(
    "query", ["größe", "GRÖSSE", "日本", "日本語", "naïve", "парсер", "हिन्दी", "getHTTPServer", "http server"]
)
def test_index_finds_words_of_any_language(corpus_of: CorpusOf, query: str) -> None:
    texts = [
        "Größe Grösse",
        "日本語のテキスト",
        "naïve café",
        "парсер файлов",
        "हिन्दी पाठ",
        "def getHTTPServer(): pass",
    ]
    corpus = corpus_of({f"{n}.txt": text for n, text in enumerate(texts)} | {"z.txt": "English only"})
    hits = Index.build(corpus).search(query, 3)
    assert hits
    assert hits[0].path != "z.txt"


def test_index_finds_empty_files_by_their_path(corpus_of: CorpusOf) -> None:
    hits = Index.build(corpus_of({"json/__init__.py": "", "a.py": "x\n"})).search("json")
    assert [(hit.path, hit.start, hit.end) for hit in hits] == [("json/__init__.py", None, None)]


@pytest.mark.parametrize("per", ["file", "span"])
def test_index_of_nothing_and_query_of_nothing_have_no_results(corpus_of: CorpusOf, per: Per) -> None:
    assert Index.build(corpus_of({})).search("json", per=per) == ()
    index = Index.build(corpus_of({"a.py": "json\n"}))
    assert index.search("", per=per) == index.search("?!", per=per) == index.search("absent", per=per) == ()


def test_index_drops_stop_words_unless_there_is_nothing_else(corpus_of: CorpusOf) -> None:
    index = Index.build(corpus_of({"a.py": "where is the\n", "b.py": "json\n"}))
    assert [hit.path for hit in index.search("where is the json")] == ["b.py"]
    assert [hit.path for hit in index.search("where is the")] == ["a.py"]


def test_index_leaves_out_data_that_looks_like_a_word(corpus_of: CorpusOf) -> None:
    index = Index.build(corpus_of({"a.py": f"{'Ab1' * 40} json\n", "b.py": "日" * 150}))
    assert index.search("Ab1" * 40) == ()
    assert [hit.path for hit in index.search("日日")] == ["b.py"]


@given(st.text() | st.text(alphabet="aB_1 .é日\n\u0301ि-", max_size=30))
def test_words_of_a_text_are_the_words_of_its_runs(text: str) -> None:
    assert [word for run in _RUN.findall(text) for word in words(run)] == words(text)


def test_index_answer_does_not_depend_on_how_much_is_counted_at_a_time(
    corpus_of: CorpusOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = corpus_of({f"{n}.py": "json float x y z\n" * n for n in range(20)})
    whole = Index.build(corpus).search("json z")
    monkeypatch.setattr("assay.search.occurrences.SLAB", Slab(7))
    assert Index.build(corpus).search("json z") == whole


def test_index_answer_is_the_same_for_every_hash_seed(corpus_of: CorpusOf) -> None:
    corpus = corpus_of({f"m{n}/{name}.py": f"json {name} float\n" * (n + 1) for n in range(6) for name in "abc"})
    code = (
        "import sys; from assay.search import Index\n"
        "index = Index.build(sys.argv[1])\n"
        "for per in ('file', 'span'): print([(h, h.score.hex()) for h in index.search('a json float b', 10, per=per)])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code, str(corpus.root)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(outputs) == 1
    assert "m5/a.py" in outputs.pop()


def test_index_builds_from_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def parse_json(): pass\n")
    assert [hit.path for hit in Index.build(tmp_path).search("json")] == ["a.py"]


@pytest.mark.parametrize(
    "change",
    [
        {"window": 5, "overlap": 2}, {"overlap": 0}, {"k1": 3.0}, {"b": 0.0}, {"path_weight": 0.0},
        {"file_chunks": 1}, {"file_decay": 0.1}, {"longest_word": 3},
    ],
)  # fmt: skip
def test_search_config_has_no_dead_knob(corpus_of: CorpusOf, change: dict[str, float]) -> None:
    corpus = corpus_of({"float/a.py": "json\n" * 70 + "x\n" * 30, "b.py": "json float longer words here\n" * 90})
    changed = SearchConfig(**change)  # type: ignore[arg-type]  # ints and floats, by name
    assert Index.build(corpus, changed).search("json float longer") != Index.build(corpus).search("json float longer")
