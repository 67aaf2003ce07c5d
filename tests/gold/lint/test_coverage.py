from assay.gold.lint.queries import DetectionPower
from assay.gold.lint.registry import merge_reports
from assay.gold.lint.rules import LintConfig, LintReport
from assay.types import CorpusSpec, GoldSet, Suite
from tests.gold.lint.world import codes, corpus_of, lint_all, messages, query

CODE = "def f():\n    return 1\n"
FILES = {f"src/{folder}/{n}.py": f"{CODE}# {folder} {n}\n" for folder in ("read", "write", "send") for n in range(4)}
FILES |= {"src/top.py": CODE, "src/small/only.py": "x = 1\n"}


def test_directories_without_a_target_are_reported_once(tmp_path):
    report = lint_all(corpus_of(tmp_path, FILES), query("q", "how is it read", "src/read/1.py"))
    assert messages(report, "G601") == ["no target in src/send (4 code files), src/write (4 code files)"]


def test_folder_of_tests_need_not_be_asked_about(tmp_path):
    files = {path.replace("/send/", "/tests/").replace("/write/1", "/write/test_1"): FILES[path] for path in FILES}
    report = lint_all(corpus_of(tmp_path, files), query("q", "how is it read", "src/read/1.py"))
    assert messages(report, "G601") == ["no target in src/write (4 code files)"]


def test_file_beside_a_folder_speaks_for_it(tmp_path):
    files = FILES | {"src/write.py": CODE, "src/send.py": CODE}
    asked = query("q", "how is it read", "src/read/1.py", "src/write.py", "src/send.py")
    assert not codes(lint_all(corpus_of(tmp_path, files), asked), "G601")


def test_small_categories_are_reported_once(tmp_path):
    corpus = corpus_of(tmp_path, {"a.py": CODE})
    big = [query(f"b{n}", f"number {n} of many", "a.py", tags={"category": "big"}) for n in range(5)]
    small = [query(f"s{n}", f"number {n} of few", "a.py", tags={"category": "small"}) for n in range(4)]
    assert messages(lint_all(corpus, *big, *small), "G602") == ["fewer than 5 queries in category small (4)"]
    assert not codes(lint_all(corpus, *big), "G602")
    assert not codes(lint_all(corpus, *small), "G602"), "one category is no category"


def test_missing_phrasings_are_reported_once(tmp_path):
    corpus = corpus_of(tmp_path, {"a.py": CODE})
    both = query("q1", {"human": "how is it done", "keyword": "done how"}, "a.py")
    one = query("q2", {"human": "when is it done"}, "a.py")
    assert messages(lint_all(corpus, both, one), "G603") == ["phrasings that some queries lack: keyword (1 of 2)"]
    assert not codes(lint_all(corpus, both), "G603")


def test_size_is_checked_for_all_sets_together():
    golds = tuple(
        GoldSet(f"g{n}", CorpusSpec("path", str(n)), (query("q", "x", "a.py"), query("p", "y", "a.py")))
        for n in range(3)
    )
    seen = []

    def smallest(queries, repositories):
        seen.append((queries, repositories))
        return 0.3

    report = merge_reports(Suite(golds), [LintReport(())] * 3, DetectionPower(smallest, "guessing"))
    assert seen == [(6, 3)]
    assert messages(report, "G604") == [
        "6 queries in 3 repositories can detect only differences of 0.3 or more (guessing); the margin is 0.02"
    ]
    assert not codes(merge_reports(Suite(golds), [], DetectionPower(lambda *_: 0.02, "guessing")))


def test_size_has_two_digits_and_names_the_one_repository():
    gold = GoldSet("g", CorpusSpec("path", "."), (query("q", "x", "a.py"),))
    report = merge_reports(Suite((gold,)), [], DetectionPower(lambda *_: 0.1507, "guessing"))
    assert messages(report, "G604") == [
        "1 query in 1 repository can detect only differences of 0.15 or more on this repository (guessing); "
        "the margin is 0.02"
    ]


def test_size_is_measured_by_the_margin_that_is_given():
    gold = GoldSet("g", CorpusSpec("path", "."), (query("q", "x", "a.py"),))
    power = DetectionPower(lambda *_: 0.15, "guessing")
    assert codes(merge_reports(Suite((gold,)), [], power, config=LintConfig(margin=0.1))) == ["G604"]
    assert not codes(merge_reports(Suite((gold,)), [], power, config=LintConfig(margin=0.2)))


def test_size_that_shows_nothing_says_so():
    gold = GoldSet("g", CorpusSpec("path", "."), (query("q", "x", "a.py"),))
    report = merge_reports(Suite((gold,)), [], DetectionPower(lambda *_: float("inf"), "guessing"))
    assert messages(report, "G604") == [
        "1 query in 1 repository cannot detect any difference (guessing); the margin is 0.02"
    ]
