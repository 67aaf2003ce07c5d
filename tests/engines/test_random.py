from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from assay.engines import make_engine
from assay.engines.normalize import read_reply
from assay.engines.references import random_digests
from assay.types import Corpus, Hit
from tests.properties import examples

CorpusOf = Callable[..., Corpus]


def test_random_is_decided_by_seed_and_query(corpus_of: CorpusOf) -> None:
    corpus = corpus_of({f"{n:02}.py": "x\n" * 100 for n in range(30)})
    first, again, other = (make_engine({"kind": "random", "seed": seed}).open(corpus) for seed in (1, 1, 2))
    assert first.search("q", 10) == again.search("q", 10)
    assert first.search("q", 10) != other.search("q", 10)
    assert first.search("q", 10) != first.search("p", 10)


def test_random_does_not_depend_on_the_process() -> None:
    code = "from assay.engines.references import random_digests; print(random_digests(3, 'wörter', ['a.py']))"
    expected = str(random_digests(3, "wörter", ["a.py"]))
    assert random_digests(3, "wörter", ["a.py"]) != random_digests(3, "wörter", ["b.py"])
    for hash_seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": hash_seed}, capture_output=True, text=True
        )
        assert done.stdout.strip() == expected


@examples(25)
@given(lengths=st.lists(st.integers(0, 90), max_size=8), k=st.integers(1, 10), query=st.text(max_size=5))
def test_random_gives_distinct_files_with_windows_inside(
    corpus_of: CorpusOf, lengths: list[int], k: int, query: str
) -> None:
    lines = {f"{n}.py": length for n, length in enumerate(lengths)}
    corpus = corpus_of({path: "x\n" * length for path, length in lines.items()})
    session = make_engine("random").open(corpus)
    hits = read_reply(session.search(query, k)).hits
    assert len({hit.path for hit in hits}) == len(hits) == min(k, len(lengths))
    assert tuple(read_reply(session.search(query, 3)).hits) == tuple(hits[:3])[: min(k, 3)] or k < 3
    for hit in hits:
        if hit.start is None or hit.end is None:
            assert (hit, lines[hit.path]) == (Hit(hit.path), 0)
        else:
            assert 1 <= hit.start <= hit.end <= lines[hit.path]
            assert hit.end - hit.start + 1 == min(40, lines[hit.path])


def test_random_draws_every_file_and_every_window_about_equally_often(corpus_of: CorpusOf) -> None:
    corpus = corpus_of({f"{n}.py": "x\n" * 43 for n in range(5)})
    session = make_engine("random").open(corpus)
    first = [read_reply(session.search(f"query {n}", 1)).hits[0] for n in range(2000)]
    for counts, kinds in ((Counter(hit.path for hit in first), 5), (Counter(hit.start for hit in first), 4)):
        expected = len(first) / kinds
        chi_square = sum((count - expected) ** 2 / expected for count in counts.values())
        assert len(counts) == kinds
        assert chi_square < 18.5  # p = 0.001 at four degrees of freedom


@examples(25)
@given(count=st.integers(1, 30), k=st.integers(1, 12), query=st.text(max_size=5), stray=st.text("abz_.", min_size=1))
def test_random_stray_file_moves_no_other(corpus_of: CorpusOf, count: int, k: int, query: str, stray: str) -> None:
    files = {f"{n:02}.py": "x\n" * (n * 7 + 1) for n in range(count)}
    before = read_reply(make_engine("random").open(corpus_of(files)).search(query, k)).hits
    more = {**files, f"stray{stray}.py": "x\n" * 90}
    after = read_reply(make_engine("random").open(corpus_of(more)).search(query, k + 1)).hits
    assert [hit for hit in after if not hit.path.startswith("stray")][:k] == list(before)


def test_random_order_and_window_are_independent(corpus_of: CorpusOf) -> None:
    session = make_engine("random").open(corpus_of({f"{n}.py": "x\n" * 41 for n in range(2)}))
    pairs = Counter(
        (hit.path, hit.start) for n in range(1200) for hit in read_reply(session.search(f"query {n}", 1)).hits
    )
    assert len(pairs) == 4
    assert sum((count - 300) ** 2 / 300 for count in pairs.values()) < 16.3  # p = 0.001 at three degrees of freedom
