"""Three questions from the code, and what they tell of an engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.corpus import open_corpus
from assay.engines import as_engine, make_engine
from assay.errors import CorpusError
from assay.experiment.engine_check import NAME, NONSENSE, SENTENCE, EngineCheck, check_engine, check_gold
from assay.types import CorpusSpec, Hit, Status, Suite
from tests.conftest import FILES, write_tree


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CorpusSpec:
    """The shop, as a corpus."""
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "cache"))
    return CorpusSpec("path", str(write_tree(tmp_path / "repo", FILES)))


def checked(thing: object, spec: CorpusSpec) -> EngineCheck:
    """Check an engine on the shop."""
    gold = check_gold(open_corpus(spec))
    engine = make_engine(thing, suite=Suite((gold,))) if isinstance(thing, str) else as_engine(thing)  # type: ignore[arg-type]  # any callable
    return check_engine("it", engine, gold, timeout=300, index_timeout=300)


def test_the_questions_are_a_name_a_sentence_and_a_word_that_stands_nowhere(spec: CorpusSpec) -> None:
    gold = check_gold(open_corpus(spec))
    assert [query.id for query in gold.queries] == [NAME, SENTENCE, NONSENSE]
    name, sentence, nonsense = gold.queries
    root = Path(spec.value)
    assert f"def {name.headline}" in (root / name.targets[0].span.path).read_text()
    assert sentence.headline in (root / sentence.targets[0].span.path).read_text()
    assert not any(nonsense.headline in path.read_text() for path in root.rglob("*.py"))
    assert gold == check_gold(open_corpus(spec))


def test_code_without_definitions_is_asked_for_by_its_file(tmp_path: Path) -> None:
    write_tree(tmp_path / "x", {"longScriptName.py": "print(1)\n", "b.py": "1\n"})
    gold = check_gold(open_corpus(CorpusSpec("path", str(tmp_path / "x"))))
    assert [query.headline for query in gold.queries[:2]] == ["longScriptName", "long script name"]
    assert gold.queries[0].targets[0].span.path == "longScriptName.py"


def test_a_corpus_without_code_is_refused(tmp_path: Path) -> None:
    write_tree(tmp_path / "x", {"README.md": "# hello\n"})
    with pytest.raises(CorpusError, match="no source code"):
        check_gold(open_corpus(CorpusSpec("path", str(tmp_path / "x"))))


def test_a_good_engine_finds_what_it_is_asked_for_and_has_no_problems(spec: CorpusSpec) -> None:
    found = checked("builtin", spec)
    assert found.problems == ()
    assert [one.status for one in found.answers] == [Status.OK] * 3
    assert found.answers[0].rank == 1
    assert found.answers[0].known == len(found.answers[0].hits) > 0
    assert 0 < found.answers[0].ranged <= found.answers[0].scored == len(found.answers[0].hits)
    assert found.answers[1].falling is True
    assert all((hit.score or 0) <= 0 for hit in found.answers[2].hits)  # nothing matches: the hits are padding
    assert found.index_seconds is not None


def broken(query: str, k: int) -> list[Hit]:
    raise RuntimeError("the index is broken")


@pytest.mark.parametrize(
    ("engine", "says"),
    [
        (broken, "the index is broken"),
        (lambda query, k: [], "no results for words in the code"),
        (lambda query, k: [f"elsewhere/{query[:3]}.py"], "no path is a file of the corpus"),
        (lambda query, k: ["shop/cart.py", "shop/tax.py"], "every query got the same results"),
    ],
)
def test_an_engine_that_cannot_be_measured_has_a_problem_with_a_name(
    spec: CorpusSpec, engine: object, says: str
) -> None:
    found = checked(engine, spec)
    assert says in found.problems[0]


def test_scores_that_rise_and_files_that_are_missing_are_seen(spec: CorpusSpec) -> None:
    def rising(query: str, k: int) -> list[Hit]:
        return [Hit("shop/cart.py", 1, 2, 0.1), Hit("nowhere.py", None, None, 0.9), Hit("shop/tax.py")][: len(query)]

    first = checked(rising, spec).answers[0]
    assert (first.falling, first.known, first.ranged, first.scored) == (False, 2, 1, 2)
    assert any("not in the corpus" in note for note in first.notes)


def test_an_engine_that_does_not_open_says_why(spec: CorpusSpec) -> None:
    class Closed:
        config = {"kind": "closed"}

        def open(self, corpus: object) -> object:
            raise RuntimeError("no licence")

    found = checked(Closed(), spec)
    assert found.index_seconds is None
    assert "no licence" in found.problems[0]
