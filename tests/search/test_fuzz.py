"""No file is too strange: no crash, bounded time and memory, and a report of what was skipped."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.corpus import WalkConfig, open_corpus, parse_spec
from assay.engines.base import SharedCache
from assay.gold.code_index import list_comments
from assay.processes.forks import Fork, ForkError, ForkTimeout, forked
from assay.search import Index, SearchConfig, chunking
from assay.search.sharing import PartKeys, share_index
from assay.store.store import Store
from assay.syntax import outline as outlines
from assay.syntax.outline import parse_outline
from assay.syntax.parsing import PARSING, TIMED_OUT, ParsingLimits, is_malformed, nesting_problem
from tests.search.conftest import CorpusOf, write_files
from tests.waiting import WATCHDOG

#: CPU time over that of indexing ordinary source files of the same number; a parse may use its limit of 20 s.
_TIMES_SLOWER = 400
#: Memory over the size of the largest file; a megabyte of calls on one line takes 350 MB.
_TIMES_LARGER = 700


def index_fuzz(folder: Path, seed: int, what: str) -> dict[str, Any]:
    """Index what a seed gives, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.search.fuzzing", str(folder), str(seed), what],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        timeout=4 * WATCHDOG,
    )
    assert (done.returncode, done.stderr) == (0, "")
    report: dict[str, Any] = json.loads(done.stdout)
    assert report["indexed"] + len(report["skipped"]) == report["written"], "nothing is left out without a word"
    return report


@pytest.mark.parametrize("what", ["broken", *(pytest.param(w, marks=pytest.mark.nightly) for w in ("torn", "soup"))])
def test_broken_sources_of_every_language_are_indexed_and_reported(tmp_path: Path, what: str) -> None:
    report = index_fuzz(tmp_path, 1, what)
    assert len(report["problems"]) > 20


def test_files_of_every_awkward_shape_are_indexed_or_reported(tmp_path: Path) -> None:
    report = index_fuzz(tmp_path, 1, "shapes")
    skipped = {path: reason for path, (reason, _) in report["skipped"].items()}
    assert skipped == {
        "huge.py": "oversized", "code/wide.py": "binary", "code/random.py": "binary", "code/elf.py": "binary",
    }  # fmt: skip
    for path in ("deep/brackets.py", "deep/generics.cs", "deep/levels.yaml", "deep/dashes.yaml", "deep/comments.swift",
                 "deep/hashes.swift"):  # fmt: skip
        assert report["problems"][path].startswith("not parsed: ")


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 12))
@pytest.mark.parametrize("what", ["soup", "torn"])
def test_many_random_sources_are_indexed_and_reported(tmp_path: Path, what: str, seed: int) -> None:
    report = index_fuzz(tmp_path / "odd", seed, what)
    plain = index_fuzz(tmp_path / "plain", seed, "plain")
    assert report["seconds"] / report["written"] < _TIMES_SLOWER * plain["seconds"] / plain["written"]


@pytest.mark.soak
def test_longest_files_are_indexed_in_bounded_time_and_memory(tmp_path: Path) -> None:
    report = index_fuzz(tmp_path / "long", 1, "long")
    plain = index_fuzz(tmp_path / "plain", 1, "plain")
    assert report["seconds"] / report["written"] < _TIMES_SLOWER * plain["seconds"] / plain["written"]
    assert report["megabytes"] < _TIMES_LARGER * report["largest"] / 1e6


def test_long_line_is_one_unit_and_counts_against_the_limit_of_a_file(corpus_of: CorpusOf, tmp_path: Path) -> None:
    root = write_files(tmp_path, {"a.js": "f(x);" * 30_000, "b.txt": "word " * 220_000, "c.py": "x = 1"})
    index = Index.build(root)
    assert [(one.path, one.reason) for one in index.skipped] == [("b.txt", "oversized")]
    assert index.table.chunks.end.tolist() == [1, 1]
    larger = open_corpus(parse_spec(str(root)), walking=WalkConfig(max_bytes=1_200_000))
    hit, *_ = Index.build(larger).search("word", per="span")
    assert (hit.path, hit.start, hit.end) == ("b.txt", 1, 1)


def test_parse_that_takes_too_long_is_cut_off() -> None:
    source = "".join(f"!+/a{n} " for n in range(8_000))
    impatient = ParsingLimits(seconds=0.2, seconds_per_byte=0, head=10**9)
    found = parse_outline(source, "go", impatient)
    assert found.problem == "parsing timed out"
    assert found.broken
    assert found.definitions == ()
    assert parse_outline("package p\nfunc f() {}\n", "go").definitions[0].name == "f", "the parser is as good as new"


def test_file_whose_parse_took_too_long_is_named_in_notes_and_in_no_shared_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    never = ParsingLimits(seconds=-1, seconds_per_byte=0)
    monkeypatch.setattr(chunking, "parse_outline", lambda text, grammar: parse_outline(text, grammar, never))
    root = write_files(tmp_path / "corpus", {"long.py": "def f():\n    return 1\n" * 200, "short.py": "x = 1\n"})
    note = "long.py: parsing timed out; its definitions are missing"
    assert Index.build(root).notes == (note,)
    corpus, store = open_corpus(parse_spec(str(root))), Store(tmp_path / "store")
    config = SearchConfig(dense=replace(SearchConfig().dense, model=""))
    index = share_index(corpus, config, SharedCache(corpus, store), PartKeys("table", "vectors"))
    assert index.notes == (note,)
    assert store.troubles == [note]
    again = SharedCache(corpus, Store(tmp_path / "store"))
    share_index(corpus, config, again, PartKeys("table", "vectors"))
    assert again.made["chunks"] == 1, "the table was not stored"


def test_source_is_fed_piece_by_piece_with_the_same_result() -> None:
    text = "".join(f'// é {n}\nconst a{n} = require("x");\nfunction f{n}(b) {{ return g(b); }}\n' for n in range(200))
    whole = parse_outline(text, "javascript", ParsingLimits(piece=10**9))
    assert (len(whole.definitions), len(whole.imports)) == (200, 200)
    for piece in (1, 7, 256):
        assert parse_outline(text, "javascript", ParsingLimits(piece=piece, text=3)) == whole


def test_tree_of_too_many_errors_is_left_alone() -> None:
    found = parse_outline(
        "".join(f"( a{n} " for n in range(900)), "python", ParsingLimits(tangle=1000, tangle_per_byte=0)
    )
    assert found.problem == "too many syntax errors"


@pytest.mark.parametrize(
    ("unit", "grammar"), [("<!--", "ruby"), ("- ^=", "c"), ("chan]\n", "go"), ("a == ", "dart"), ("_\n", "haskell")]
)
def test_malformed_text_that_repeats_is_not_parsed_in_full(unit: str, grammar: str) -> None:
    problem = "the same malformed text again and again"
    assert parse_outline(unit * 5_000, grammar).problem == problem
    assert parse_outline(unit * 3, grammar).problem != problem, "a short source takes no time"


def test_code_that_repeats_is_parsed() -> None:
    source = "class A {\n" + "  void f() { g(1); }\n" * 2_000 + "}\n"
    assert len(parse_outline(source, "java").definitions) == 2_001
    assert parse_outline('{"k":[' + '{"a":1},' * 5_000 + "{}]}", "json").problem is None


def test_parser_that_reads_a_source_again_and_again_is_cut_off() -> None:
    source = "".join(f"/* {n}\n" for n in range(3_000))
    assert parse_outline(source, "c").problem == "the parser reads it again and again"
    assert parse_outline(source, "c", ParsingLimits(reads=10**9, seconds=0)).problem == TIMED_OUT


@pytest.mark.parametrize(("source", "grammar"), [("$" * 150_000, "ruby"), ("$a " * 50_000, "ruby")])
def test_tree_that_is_too_deep_is_not_queried(source: str, grammar: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlines, "query_matches", None)
    assert parse_outline(source, grammar).problem == "more than 30,000 nested expressions"


def test_matches_begin_at_a_limited_depth() -> None:
    chain = "a" + "".join(f"\n  &.b{n}" for n in range(3_000)) + "\nc.d\n"
    found = parse_outline(chain, "ruby")
    assert found.problem is None
    assert found.references[-1] == "d"
    assert len(found.references) == PARSING.start + 1, "a chain of 3,000 calls; each level costs the next one time"


def test_too_many_errors_depend_on_the_size_of_the_source() -> None:
    malformed = "".join(f"||a{n}\n" for n in range(12_000))
    assert parse_outline(malformed, "ruby").problem == "too many syntax errors"


def test_head_of_a_source_decides_whether_it_is_parsed() -> None:
    draw = random.Random(1)
    noise = "".join(chr(32 + byte % 95) if byte % 20 else "\n" for byte in draw.randbytes(100_000))
    code = "package a\n" + "".join(f"func f() {{ g({draw.getrandbits(99)}) }}\n" for _ in range(2_000))
    only_head = ParsingLimits(tangle=10**12)
    assert parse_outline(noise, "go", only_head).problem == "too many syntax errors"
    casts = "".join(f"(a{number}) double" for number in range(2_000))
    assert parse_outline(casts, "java", only_head).problem == "too many syntax errors", "all brackets match"
    signs = "".join(f"~ a{number} " for number in range(4_000))
    assert parse_outline(signs, "javascript", only_head).problem == "too many syntax errors", "one large error"
    assert len(parse_outline(code + "(" * 20, "go").definitions) == 2_000


@pytest.mark.parametrize(
    ("grammar", "form"),
    [("json", "[{}]"), ("javascript", "var t = [{}];"), ("c", "int t[] = {{{}}};"), ("php", "<?php $t = [{}];")],
)
@pytest.mark.parametrize("comma", [",", ", ", ",\n"])
def test_long_table_is_parsed(grammar: str, form: str, comma: str) -> None:
    text = form.format(comma.join(str(number * 7_919 % 9_973) for number in range(9_000)))
    assert parse_outline(text, grammar).problem is None
    words = form.format(comma.join(f'"word{number * 7_919 % 9_973}"' for number in range(9_000)))
    assert parse_outline(words, grammar).problem is None


def test_head_that_ends_in_a_comment_is_not_taken_for_noise() -> None:
    comment = "/**\n" + " * int a = 1; { x(); }\n" * 200 + " */\n"
    methods = "".join(f"  int read{n}(int c) {{ return c == '[' || c == '{{' ? {n} : 0; }}\n" for n in range(200))
    assert len(parse_outline(comment + "class A {\n" + methods + "}\n", "java").definitions) == 201


def test_comments_of_a_hostile_source_are_not_collected() -> None:
    assert list_comments("# note\nx = 1\n", "python")[0].text == "# note"
    assert list_comments("# note\n" + "(" * 2_000, "python") == ()


def test_depth_of_a_tree_is_counted_exactly() -> None:
    deep = "$a " * 50
    levels = next(n for n in range(200) if parse_outline(deep, "ruby", ParsingLimits(depth=n)).problem is None)
    assert 50 <= levels <= 150
    wide = "x = [1, 2]\n" * 200
    assert parse_outline(wide, "ruby", ParsingLimits(depth=10)).problem is None


@pytest.mark.parametrize(
    ("source", "grammar", "refused"),
    [
        (b"(" * 1000, "python", False), (b"(" * 1001, "python", True), (b"()" * 5000, "python", False),
        (b")" * 5000 + b"(" * 1000, "python", False), (b"a<" * 1001, "csharp", True), (b"a<" * 1001, "html", False),
        (b"if (a < b) { x << 2; }\n" * 3000, "cpp", False), (b"List<Map<A, B>> x;\n" * 3000, "java", False),
        (b" " * 300 + b"k: 1\n", "yaml", True), (b" " * 300 + b"x = 1\n", "python", False),
        (b"/*" * 201, "swift", True),
        (b"/* */" * 500, "swift", False), (b"#" * 256 + b'"', "swift", True), (b"#" * 255 + b'"', "swift", False),
    ],
)  # fmt: skip
def test_source_that_is_nested_too_deeply_is_refused(source: bytes, grammar: str, refused: bool) -> None:
    assert (nesting_problem(source, grammar) is not None) is refused


def test_source_looks_torn_when_its_brackets_do_not_match_or_are_missing() -> None:
    assert not is_malformed(b"f(x[1]) { }\n" * 1000, "c")
    assert not is_malformed(b"((((", "c")
    assert is_malformed(b"(" * 11, "python")
    assert is_malformed(b"}" * 11, "c")
    assert is_malformed(b"x\0", "python")
    assert is_malformed(b"a = " * 1000, "c")
    assert not is_malformed(b"a: b\n" * 1000, "yaml")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there we fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_work_that_crashes_or_never_ends_gives_nothing() -> None:
    assert Fork(lambda: {"a": 1}).result() == {"a": 1}
    with pytest.raises(ForkError):
        Fork(lambda: os.kill(os.getpid(), signal.SIGKILL)).result()
    with pytest.raises(ZeroDivisionError):
        Fork(lambda: 1 / 0).result()
    with pytest.raises(ForkTimeout):
        Fork(lambda: [random.random() for _ in iter(int, 1)], 1).result()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_work_of_a_second_process_is_done_here_if_it_crashes_there(monkeypatch: pytest.MonkeyPatch) -> None:
    here = os.getpid()

    def die_elsewhere() -> int:
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return os.getpid()

    with forked(die_elsewhere) as result:
        assert result() == here
    with forked(lambda: 1 / 0) as failing, pytest.raises(ZeroDivisionError):
        failing()
    monkeypatch.setattr("assay.processes.forks._MAX_SHARED", 0)
    with forked(os.getpid) as process:
        assert process() == here


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_parser_that_crashes_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlines, "parse", lambda *args: os.kill(os.getpid(), signal.SIGKILL))
    monkeypatch.setattr(outlines, "can_fork", lambda: True)
    assert parse_outline("(" * 20, "python").problem == "the parser crashed"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there we fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_timeout_of_a_forked_parser_is_reported_like_any_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlines, "parse", lambda *args: [random.random() for _ in iter(int, 1)])
    monkeypatch.setattr(outlines, "can_fork", lambda: True)
    impatient = ParsingLimits(seconds=0, seconds_per_byte=0)
    assert parse_outline("(" * 20, "python", impatient).problem == TIMED_OUT


def test_guard_is_only_for_a_process_without_threads() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import threading, time; from assay.processes.forks import can_fork;"
         "print(can_fork());"
         "threading.Thread(target=time.sleep, args=(1,), daemon=True).start(); print(can_fork())"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == [str(sys.platform.startswith("linux")), "False"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux forks")
def test_an_engine_in_its_thread_can_fork_while_the_caller_waits() -> None:
    code = (
        "from assay.engines.calls import open_session, query_session\n"
        "from assay.processes.forks import can_fork\n"
        "class Engine:\n"
        "    def open(self, corpus): print(can_fork()); return self\n"
        "    def search(self, query, k): print(can_fork()); return []\n"
        "    def close(self): pass\n"
        "query_session(open_session(Engine(), None, 60).session, 'x', 1, 60)\n"
        "print(can_fork())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True", "True"]
