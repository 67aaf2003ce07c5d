"""RepoEval: the code before the cursor asks for the lines that follow it, and the set says that this is a leak."""

import pytest

from assay.errors import GoldError
from assay.gold import load_gold
from assay.gold.formats.benchmarks import LEAK
from assay.types import CorpusSpec
from tests.gold.formats.data_sets import REPOEVAL, lines
from tests.gold.formats.files import write

REPOS = CorpusSpec("path", "repos")


def load(folder, entries, corpus=REPOS):
    return load_gold(write(folder, "repoeval.jsonl", lines(entries)), corpus=corpus).golds


def test_each_repository_is_a_folder_of_the_corpus(tmp_path):
    shop, till = load(tmp_path, REPOEVAL)
    assert (shop.name, shop.corpus) == ("repoeval-owner_shop", CorpusSpec("path", "repos", root="owner_shop"))
    assert (till.name, till.corpus) == ("repoeval-till", CorpusSpec("path", "repos", root="till"))
    [inner] = load(tmp_path, REPOEVAL[2:], CorpusSpec("path", "repos", root="data/"))
    assert (inner.name, inner.corpus.root) == ("repoeval", "data/till")


def test_lines_are_counted_from_1_and_the_whole_completion_is_the_target(tmp_path):
    shop, _ = load(tmp_path, REPOEVAL)
    assert [query.targets[0].anchor for query in shop.queries] == ["shop/price.py:5-6", "rates.py:2-2"]
    assert [query.line for query in shop.queries] == [1, 2]


def test_an_id_of_several_tasks_is_numbered(tmp_path):
    golds = load(tmp_path, REPOEVAL)
    assert [query.id for gold in golds for query in gold.queries] == [
        "owner--shop-idx-1",
        "owner--shop-idx-2",
        "till-0",
    ]


def test_the_question_is_the_end_of_the_prompt_and_marked_as_a_leak(tmp_path):
    long = {**REPOEVAL[2], "prompt": "".join(f"line {n}\n" for n in range(30)) + "\n\n"}
    [gold] = load(tmp_path, [long])
    assert gold.queries[0].forms == {"human": "\n".join(f"line {n}" for n in range(20, 30))}
    assert gold.queries[0].tags == {"leak": "verbatim"}
    assert gold.provenance["leak"] == LEAK
    assert load(tmp_path, REPOEVAL)[0].provenance["not read"] == "context_start_lineno, function_name"


def test_a_corpus_is_needed_and_the_hint_says_which(tmp_path):
    with pytest.raises(GoldError, match="does not name a corpus") as error:
        load(tmp_path, REPOEVAL, None)
    assert "--corpus DIR" in str(error.value.hint)


BAD = {
    "no metadata": ({"metadata": []}, "'metadata' of row 2: expected an object"),
    "no prompt": ({"prompt": ""}, "'prompt' of row 2 is empty"),
    "no path": ({"fpath_tuple": ["till"]}, "expected a repository and a path"),
    "no texts": ({"fpath_tuple": ["till", 1]}, "expected a repository and a path"),
    "climbing repository": ({"fpath_tuple": ["..", "a.py"]}, "contains '..'"),
    "climbing path": ({"fpath_tuple": ["till", "..", "a.py"]}, "contains '..'"),
    "no line": ({"line_no": None}, "'line_no' of 'metadata' of row 2: expected an integer"),
    "a line before the first": ({"line_no": -1}, "starts before line 1"),
    "no truth": ({"ground_truth": "\n"}, "is empty"),
}


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD)
def test_a_broken_entry_is_named_by_its_line(tmp_path, change, message):
    entry = {**REPOEVAL[2], "metadata": {**REPOEVAL[2]["metadata"], **change}}
    top = {key: value for key, value in change.items() if key in entry}
    path = write(tmp_path, "repoeval.jsonl", lines([REPOEVAL[0], {**entry, **top}]))
    with pytest.raises(GoldError) as error:
        load_gold(path, corpus=REPOS)
    assert (error.value.file, error.value.line) == (str(path), 2)
    assert message in error.value.message
    assert error.value.hint


def test_a_repository_may_be_a_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "repos").mkdir()
    (tmp_path / "repos" / "till").symlink_to(tmp_path / "elsewhere")
    shop, till = load(tmp_path, REPOEVAL)
    assert shop.corpus == CorpusSpec("path", "repos", root="owner_shop")
    assert till.corpus == CorpusSpec("path", str(tmp_path / "elsewhere"))
