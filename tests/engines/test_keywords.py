from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.engines import make_engine
from assay.engines.base import MeasuredSession
from assay.engines.normalize import read_reply
from assay.engines.references import (
    FileCounter,
    FileWords,
    GitCounter,
    IndexCounter,
    RipgrepCounter,
    densest_window,
    query_keywords,
)
from assay.errors import ConfigError, EngineError, EngineTimeoutError
from assay.types import Corpus, CorpusSpec, Hit, SourceFile
from tests.processes import HANG, pids_in, time_out, wait_until_gone
from tests.properties import examples

CorpusOf = Callable[..., Corpus]
TOOLS: list[Callable[[Corpus], FileCounter]] = [FileCounter, IndexCounter]
TOOLS += [GitCounter] if shutil.which("git") else []
TOOLS += [RipgrepCounter] if shutil.which("rg") else []

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
    session = make_engine({"kind": "keywords", "backend": "python", **settings}).open(corpus)
    return list(read_reply(session.search(query, k)).hits)


def track(corpus: Corpus) -> None:
    """Make the corpus a git repository that tracks every file, the ignored ones too."""
    subprocess.run(["git", "init", "-q", str(corpus.root)], check=True)
    subprocess.run(["git", "-C", str(corpus.root), "-c", "core.safecrlf=false", "add", "-f", "."], check=True)


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


@pytest.mark.parametrize("tracked", [False, True])
def test_counters_agree_on_odd_files(corpus_of: CorpusOf, tracked: bool) -> None:
    corpus = corpus_of(FILES)
    if tracked:
        track(corpus)
    expected = [dict(FileCounter(corpus).count(word)) for word in WORDS]
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
    for tool in TOOLS:
        counter = tool(corpus)
        assert [dict(counter.count(word)) for word in WORDS] == expected, tool


def test_counters_see_through_links_and_into_nested_repositories(corpus_of: CorpusOf) -> None:
    corpus = corpus_of({"real/a.py": "json\n", "nested/b.py": "json\n", "held.py": "nothing\n"})
    (corpus.root / "linked").symlink_to("real")
    (corpus.root / "link.py").symlink_to("real/a.py")
    subprocess.run(["git", "init", "-q", str(corpus.root / "nested")], check=True)
    subprocess.run(["git", "init", "-q", str(corpus.root)], check=True)
    (corpus.root / "outside.py").write_text("json\n")  # not a file of the corpus: never counted
    (corpus.root / "untracked.py").write_text("json\n")
    git = ["git", "-C", str(corpus.root)]
    subprocess.run([*git, "add", "link.py", "real/a.py", "held.py", "outside.py"], check=True)
    subprocess.run([*git, "update-index", "--assume-unchanged", "held.py"], check=True)
    (corpus.root / "held.py").write_text("json json\n")  # git would answer from what it remembers
    counts = {"held.py": 2, "link.py": 1, "linked/a.py": 1, "nested/b.py": 1, "real/a.py": 1, "untracked.py": 1}
    paths = sorted(counts)
    corpus = Corpus(corpus.root, corpus.spec, tuple(SourceFile(path, 5, "code") for path in paths), "d")
    for tool in TOOLS:
        assert dict(tool(corpus).count("json")) == counts, tool


def test_git_counter_works_below_the_top_of_a_repository(corpus_of: CorpusOf) -> None:
    outer = corpus_of({"sub/a.py": "json\n", "b.py": "json\n"})
    track(outer)
    subprocess.run(["git", "-C", str(outer.root), "config", "grep.fullName", "true"], check=True)
    corpus = Corpus(outer.root / "sub", outer.spec, (SourceFile("a.py", 5, "code"),), "d")
    assert dict(GitCounter(corpus).count("json")) == {"a.py": 1}


def test_counters_agree_when_the_paths_are_too_many_for_one_command_line(corpus_of: CorpusOf) -> None:
    folders = "/".join("x" * 100 for _ in range(20))
    corpus = corpus_of({f"{folders}/{n}.py": "json\n" * n for n in range(150)})  # 300 kB of paths
    track(corpus)
    expected = dict(FileCounter(corpus).count("json"))
    assert len(expected) == 149
    for tool in TOOLS:
        assert dict(tool(corpus).count("json")) == expected, tool


_texts = st.text(alphabet="abAB_é \n\0", max_size=30)


@examples(15)
@given(contents=st.lists(_texts, min_size=1, max_size=5), words=st.lists(st.sampled_from(["a", "ab", "ba", "_", "b"])))
def test_counters_agree_on_random_corpora(corpus_of: CorpusOf, contents: list[str], words: list[str]) -> None:
    corpus = corpus_of({f"f{n}.py": text for n, text in enumerate(contents)})
    track(corpus)
    reference = FileCounter(corpus)
    for tool in TOOLS[1:]:
        counter = tool(corpus)
        for word in words:
            assert dict(counter.count(word)) == dict(reference.count(word)), (tool, word)


@pytest.mark.skipif(not shutil.which("rg"), reason="LOUD: ripgrep is not installed, its counts were not compared")
def test_keywords_ranking_is_the_same_with_ripgrep(corpus_of: CorpusOf) -> None:
    corpus = corpus_of(FILES)
    query = "json float größe aa"
    assert search(corpus, query, backend="rg") == search(corpus, query)


def test_keywords_ranking_is_the_same_with_git(corpus_of: CorpusOf) -> None:
    corpus = corpus_of(FILES)
    track(corpus)
    assert search(corpus, "json float größe aa", backend="git") == search(corpus, "json float größe aa")


def test_keywords_backend_is_a_note_and_not_part_of_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_git, by_python = make_engine("keywords:git"), make_engine("keywords:python")
    assert by_git.config == by_python.config
    assert by_git.notes == ("words counted by git",)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert make_engine("keywords").notes == ("words counted by python",)
    with pytest.raises(ConfigError, match="rg is not installed"):
        make_engine("keywords:rg")


def put_on_path(folder: Path, name: str, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a program that is found before all others."""
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_counter_that_hangs_is_ended_and_told(
    corpus_of: CorpusOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid, corpus, monotonic = tmp_path / "pid", corpus_of({"a": "json"}), time.monotonic
    put_on_path(tmp_path, "git", f"echo $$ > {pid}\nexec sleep {HANG}", monkeypatch)

    def attempt(limit: float) -> EngineTimeoutError:
        with monkeypatch.context() as patch:
            patch.setattr(time, "monotonic", lambda: monotonic() * 120 / limit)  # two minutes are over in no time
            with pytest.raises(EngineTimeoutError, match="after 120 s") as caught:
                GitCounter(corpus)
        return caught.value

    assert 'backend = "python"' in str(time_out(attempt, lambda _: pids_in(pid, 1)).hint)
    assert wait_until_gone(*pids_in(pid, 1))


def test_counter_that_floods_is_ended_and_told(
    corpus_of: CorpusOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_on_path(tmp_path, "git", "exec yes", monkeypatch)
    with pytest.raises(EngineError, match="more than 100,000,000 bytes"):
        GitCounter(corpus_of({"a": "json"}))


def test_keywords_prefix_property(corpus_of: CorpusOf) -> None:
    corpus = corpus_of({f"{n}.py": "json " * (n % 3) + "float " * (n % 2) for n in range(20)})
    assert search(corpus, "json float", 5) == search(corpus, "json float", 10)[:5]


def test_corpus_spec_is_not_needed_to_count(corpus_of: CorpusOf) -> None:
    assert search(corpus_of({"a": "json"}, CorpusSpec("stdlib")), "json") == [Hit("a", 1, 1, 1.5)]


def test_keywords_equal_files_stand_in_path_order(corpus_of: CorpusOf) -> None:
    names = [f"{letter}.py" for letter in "qwertzuiopasdfghjklyxcvbnm"]
    hits = search(corpus_of(dict.fromkeys(names, "json\n")), "json", 26)
    assert [hit.path for hit in hits] == sorted(names)


@pytest.mark.nightly  # needs more memory than this process has ever held
def test_keywords_tells_what_its_programs_took(
    corpus_of: CorpusOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sys.platform != "linux":
        pytest.skip("LOUD: measured on Linux only")
    ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    size = ours + 60_000_000  # more than we hold: then the kernel's own figure counts, however short the program was
    work = f"block = b'x' * {size}; print('./a', 3, sep=chr(0))"
    put_on_path(tmp_path, "rg", f'{sys.executable} -ISc "{work}"', monkeypatch)
    peaks = []
    for backend in ("rg", "python"):
        session = make_engine({"kind": "keywords", "backend": backend}).open(corpus_of({"a": "json"}))
        assert isinstance(session, MeasuredSession)
        session.search("json", 1)
        peaks.append(session.usage().peak_bytes)
        session.close()
    assert (peaks[0] or 0) > size
    assert peaks[1] is None
