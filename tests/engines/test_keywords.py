from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.engines import make_engine
from assay.engines.normalize import read_reply
from assay.engines.references import FileWords, WordCounter, densest_window, query_keywords
from assay.types import Corpus, CorpusSpec, Hit
from tests.properties import examples

CorpusOf = Callable[..., Corpus]
FILES: dict[str, str | bytes] = {
    "a.py": "Float FLOAT\nfloatfloat json\n",
    "b/json.py": "json JSON\r\nfloat\r\n",
    "c d/-x.py": "float",
    "-dash.py": "json\n",
    "empty.py": "",
    "nul.bin": b"json\0float\0json\n",
    "bom.txt": b"\xef\xbb\xbfjson\n",
    "latin.txt": b"json caf\xe9 CAF\xc9\n",
    "utf8.txt": "json Größe GRÖSSE größe ſtrange KELVIN \u212a\n",
    "wide.txt": "json".encode("utf-16"),
    ".hidden/x": "float\n",
    "build/ignored.py": "float json\n",
    ".gitignore": "build\n",
    "aaa": "aaaa aaaaa\n",
}
WORDS = ["json", "float", "größe", "café", "strange", "k", "aa", "nothing", "ss", "é"]


def search(corpus: Corpus, query: str, k: int = 10, **settings: object) -> list[Hit]:
    session = make_engine({"kind": "keywords", **settings}).open(corpus)
    return list(read_reply(session.search(query, k)).hits)


def count_in_files(corpus: Corpus, word: str) -> dict[str, int]:
    """Count a lowercase word in the text of every file; ASCII words ignore the case of ASCII letters only."""
    counts = {}
    for file in corpus.files:
        data = (corpus.root / file.path).read_bytes().lower()
        if word.isascii():
            counts[file.path] = data.count(word.encode())
        elif not data.isascii():
            try:
                counts[file.path] = data.decode("utf-8").lower().count(word)
            except UnicodeDecodeError:
                counts[file.path] = data.decode("latin-1").lower().count(word)
    return {path: count for path, count in counts.items() if count}


def test_keywords_ranks_by_distinct_words_then_matches_then_path(corpus_of: CorpusOf) -> None:
    corpus = corpus_of(
        {"z.py": "x json float\n", "many.py": "json " * 99, "b.py": "json json\n", "a.py": "json JSON\n"}
    )
    hits = search(corpus, "where is the json float?")
    assert [hit.path for hit in hits] == ["z.py", "many.py", "a.py", "b.py"]
    first, many, a, b = (hit.score or 0.0 for hit in hits)
    assert first > many > a == b  # a score is equal only where both counts are
    assert [hit.path for hit in search(corpus, "json float", 2)] == ["z.py", "many.py"]


def test_keywords_leaves_out_stop_words_unless_there_is_nothing_else() -> None:
    assert query_keywords("How does the JSON_encoder write a Float, and a float?", 2) == [
        "json_encoder",
        "write",
        "float",
    ]
    assert query_keywords("where is it", 2) == ["where", "is", "it"]
    assert query_keywords("?!", 2) == []


def test_keywords_without_a_word_finds_nothing(corpus_of: CorpusOf) -> None:
    assert search(corpus_of({"a.py": "x"}), "?!") == []


def test_keywords_points_to_the_densest_window(corpus_of: CorpusOf) -> None:
    lines = ["filler"] * 300
    lines[9] = lines[19] = lines[29] = "json json json"
    lines[199], lines[219] = "json", "float"
    hit = search(corpus_of({"a.py": "\n".join(lines)}), "json float")[0]
    assert (hit.start, hit.end) == (200, 239)


@pytest.mark.parametrize(
    ("text", "size", "window"),
    [
        ("x\n", 3, (1, 1)),
        ("a\nb", 5, (1, 2)),
        ("a\n.\n.\nb\na\n", 2, (4, 5)),
        ("a\n.\na\n.\n", 1, (1, 1)),
        ("a\n.\na a\n.\n", 1, (3, 3)),
        (".\n.\na\n.\n", 40, (3, 4)),
    ],
)
def test_densest_window_prefers_distinct_words_then_matches_then_the_first(
    text: str, size: int, window: tuple[int, int]
) -> None:
    assert densest_window(FileWords(text.encode()), ["a", "b"], size) == window


@given(st.text(alphabet="ab \n", max_size=40), st.integers(1, 5))
def test_densest_window_equals_trying_every_line(text: str, size: int) -> None:
    lines = text.split("\n")

    def richness(start: int) -> tuple[int, int]:
        part = "\n".join(lines[start : start + size])
        return sum(word in part for word in "ab"), part.count("a") + part.count("b")

    first, last = densest_window(FileWords(text.encode()), ["a", "b"], size)
    if "a" in text or "b" in text:
        assert richness(first - 1) == max(richness(start) for start in range(len(lines)))
        assert first <= last < first + size


def test_counts_are_those_of_the_files(corpus_of: CorpusOf) -> None:
    corpus = corpus_of(FILES)
    counter = WordCounter(corpus)
    expected = [count_in_files(corpus, word) for word in WORDS]
    assert expected[0]["nul.bin"] == 2
    assert expected[1] == {
        "a.py": 4,
        "b/json.py": 1,
        "c d/-x.py": 1,
        "nul.bin": 1,
        ".hidden/x": 1,
        "build/ignored.py": 1,
    }
    assert expected[2] == {"utf8.txt": 2}
    assert expected[3] == {"latin.txt": 2}
    assert expected[6] == {"aaa": 4}
    assert "wide.txt" not in expected[0]
    assert [dict(counter.count(word)) for word in WORDS] == expected


_texts = st.text(alphabet="abAB_é \n\0", max_size=30)


@examples(15)
@given(contents=st.lists(_texts, min_size=1, max_size=5), words=st.lists(st.sampled_from(["a", "ab", "ba", "_", "b"])))
def test_counts_in_random_corpora(corpus_of: CorpusOf, contents: list[str], words: list[str]) -> None:
    corpus = corpus_of({f"f{n}.py": text for n, text in enumerate(contents)})
    counter = WordCounter(corpus)
    for word in words:
        assert dict(counter.count(word)) == count_in_files(corpus, word), word


def test_keywords_prefix_property(corpus_of: CorpusOf) -> None:
    corpus = corpus_of({f"{n}.py": "json " * (n % 3) + "float " * (n % 2) for n in range(20)})
    assert search(corpus, "json float", 5) == search(corpus, "json float", 10)[:5]


def test_corpus_spec_is_not_needed_to_count(corpus_of: CorpusOf) -> None:
    assert search(corpus_of({"a": "json"}, CorpusSpec("stdlib")), "json") == [Hit("a", 1, 1, 1.5)]


def test_keywords_equal_files_stand_in_path_order(corpus_of: CorpusOf) -> None:
    names = [f"{letter}.py" for letter in "qwertzuiopasdfghjklyxcvbnm"]
    hits = search(corpus_of(dict.fromkeys(names, "json\n")), "json", 26)
    assert [hit.path for hit in hits] == sorted(names)
