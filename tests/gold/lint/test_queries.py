import pytest

from assay.gold.lint.registry import lint
from assay.gold.lint.rules import LintConfig
from assay.types import Query, Span, Target
from tests.gold.lint.world import codes, corpus_of, gold_of, lint_all, messages, query

FILES = {
    "a.py": "def one():\n    return 1\n",
    "b.py": "def two():\n    return 2\n",
    "verified_routes.py": "def three():\n    return 3\n",
    "Monad.scala": "trait Monad\n",
    "utils.py": "def four():\n    return 4\n",
}


def pair(tmp_path, one, other, *targets):
    first, second = targets or ("a.py", "b.py")
    return codes(lint_all(corpus_of(tmp_path, FILES), query("q1", one, first), query("q2", other, second)), "G40")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("how are tables opened?", "How are the tables opened"),
        ("where is a request logged", "where is the request logged?"),
        ("json to yaml", "JSON to YAML"),
    ],
)
def test_queries_that_say_the_same_are_found(tmp_path, one, other):
    assert pair(tmp_path, one, other) == ["G401"]
    assert pair(tmp_path, one, other, "a.py", "a.py") == ["G402"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("convert json to yaml", "convert yaml to json"),
        ("Serialize", "Serializer"),
        ("Router", "router"),
        ("files that are indexed", "files that are not indexed"),
        ("serialize structs and enums", "deserialize structs and enums"),
        ("what runs before a test", "what runs after a test"),
        ("how fmt.print works", "how fmt.printf works"),
    ],
)
def test_queries_that_differ_in_one_word_are_distinct(tmp_path, one, other):
    assert pair(tmp_path, one, other) == []


def wrong(tmp_path, human, other):
    forms = {"human": human, "wrong_terminology": other}
    return codes(lint_all(corpus_of(tmp_path, FILES), query("q", forms, "a.py")), "G41")


HUMAN = "how does the reader notice that the same table is declared twice?"


@pytest.mark.parametrize(
    ("form", "code"),
    [
        ("How does the reader notice that the same table is declared twice", ["G411"]),
        ("how does a reader notice that the same table is declared twice?", ["G411"]),
        ("how does the reader notice that the same section is declared twice?", []),
        ("how does the reader notice that the same set of keys is declared twice?", []),
        ("how does the writer notice that the same section is declared twice?", ["G412"]),
        ("where does the parser find out about repeated sections?", ["G412"]),
    ],
)
def test_wrong_form_has_exactly_one_wrong_term(tmp_path, form, code):
    assert wrong(tmp_path, HUMAN, form) == code


def test_one_wrong_term_in_two_places_is_one(tmp_path):
    human = "a body in pieces of known length: what happens at the end of one piece?"
    assert wrong(tmp_path, human, human.replace("piece", "packet")) == []


def test_one_wrong_list_with_a_joining_word_is_one(tmp_path):
    human = "who picks between 7bit, quoted-printable and base64 for a mail?"
    assert wrong(tmp_path, human, "who picks between ascii, latin-1 and utf-8 for a mail?") == []


@pytest.mark.parametrize(
    ("text", "target", "found"),
    [
        ("verified routes at compile time", "verified_routes.py", True),
        ("how Monad composes things", "Monad.scala", True),
        ("what does verified_routes check", "verified_routes.py", True),
        ("what does VerifiedRoutes check", "verified_routes.py", True),
        ("what does VerifiedRoutesHelper check", "verified_routes.py", False),
        ("how does one begin", "a.py::one", False),
        ("routes that were verified", "verified_routes.py", False),
        ("verify a route at compile time", "verified_routes.py", False),
        ("how a monad composes things", "Monad.scala", False),
        ("Monad composition and laws", "Monad.scala", False),
        ("what utils.check does", "utils.py", False),
    ],
)
def test_quoted_name_of_a_target_is_found(tmp_path, text, target, found):
    report = lint_all(corpus_of(tmp_path, FILES), query("q", text, target))
    assert bool(messages(report, "G421")) is found


def test_symbol_query_may_name_its_answer(tmp_path):
    corpus = corpus_of(tmp_path, FILES)
    assert not codes(lint_all(corpus, query("q", "verified_routes", "verified_routes.py")), "G42")
    tagged = query("q", "the Monad trait", "Monad.scala", tags={"category": "symbol"})
    assert not codes(lint_all(corpus, tagged), "G42")


def test_symbol_that_is_quoted_is_given_away(tmp_path):
    corpus = corpus_of(tmp_path, {"a.py": "def open_table():\n    return 1\n"})
    asked = Query("q", {"human": "when is open_table called?"}, (Target(Span("a.py"), symbol="open_table"),))
    assert len(messages(lint_all(corpus, asked), "G421")) == 1


def test_leaks_are_counted_not_found(tmp_path):
    report = lint_all(
        corpus_of(tmp_path, FILES),
        query("q1", "sums of large numbers", "a.py"),
        query("q2", "routes", "verified_routes.py"),
        query("q3", "how routes become known to large programs", "verified_routes.py"),
    )
    leak = report.leaks[0]
    assert (leak.none, leak.some, leak.half) == (1, 1, 1)
    assert not codes(report, "G4")


def test_leaks_are_counted_by_the_share_that_is_configured(tmp_path):
    corpus = corpus_of(tmp_path, FILES)
    gold = gold_of(corpus, query("q", "how routes become known to large programs", "verified_routes.py"))
    leak = lint(gold, corpus, config=LintConfig(leak_half=0.1)).leaks[0]
    assert (leak.none, leak.some, leak.half) == (0, 0, 1)


def test_another_question_is_called_one(tmp_path):
    def said(human, other):
        forms = {"human": human, "wrong_terminology": other}
        (text,) = messages(lint_all(corpus_of(tmp_path, FILES), query("q", forms, "a.py")), "G412")
        return text

    human = "where are settings read out of environment variables?"
    assert "retains only 1 of the 8 words" in said(human, "dotenv settings parser")
    assert "by 2 replacements" in said(HUMAN, HUMAN.replace("reader", "fox").replace("table", "log"))


@pytest.mark.parametrize(
    ("human", "other", "message"),
    [
        ("red table opens files", "red cat opens logs", "differs from the human phrasing by 2 replacements"),
        ("red table opens files slowly", "red cat opens logs badly", "retains only 2 of the 5 words"),
    ],
)
def test_a_form_that_keeps_less_than_half_of_the_words_is_another_question(tmp_path, human, other, message):
    forms = {"human": human, "wrong_terminology": other}
    (text,) = messages(lint_all(corpus_of(tmp_path, FILES), query("q", forms, "a.py")), "G412")
    assert message in text


PLAIN = "Index Main Mod Lib Init Utils Util Types Common Core Base"


@pytest.mark.parametrize(("name", "found"), [*((name, False) for name in PLAIN.split()), ("Tables", True)])
def test_plain_file_names_give_nothing_away(tmp_path, name, found):
    corpus = corpus_of(tmp_path, {f"{name}.scala": "trait Other\n"})
    report = lint_all(corpus, query("q", f"what does {name} open", f"{name}.scala"))
    assert bool(messages(report, "G421")) is found
