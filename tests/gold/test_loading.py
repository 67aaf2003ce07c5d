"""Files, folders and the shipped set."""

from pathlib import Path

import pytest

import assay
from assay.errors import CorpusError, GoldError
from assay.gold import join, load_gold
from assay.types import CorpusSpec

ONE = """\
assay: 1
name: {}
corpus: {{stdlib: true}}
queries: [{{id: q, retrieval: {{primary: [a.py]}}, cognitive: {{human: x}}}}]
"""


def test_load_gold_reads_a_folder_in_path_order_and_leaves_hidden_files_out(tmp_path):
    (tmp_path / "b").mkdir()
    for name in ("b/z.yaml", "b/a.yml", "c.yaml"):
        (tmp_path / name).write_text(ONE.format(name.replace("/", "-")))
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "x.yaml").write_text("broken: [")
    (tmp_path / "notes.md").write_text("# not gold")
    query = '{"id": "q", "retrieval": {"primary": ["a.py"]}, "cognitive": {"human": "x"}}'
    (tmp_path / "a.json").write_text(
        f'{{"assay": 1, "name": "json", "corpus": {{"stdlib": true}}, "queries": [{query}]}}'
    )
    sources = [str(gold.source).removeprefix(f"{tmp_path}/") for gold in load_gold(tmp_path).golds]
    assert sources == ["a.json", "c.yaml", "b/a.yml", "b/z.yaml"]


def test_load_gold_refuses_two_sets_of_one_name(tmp_path):
    (tmp_path / "a.yaml").write_text(ONE.format("same"))
    (tmp_path / "b.yaml").write_text(ONE.format("same"))
    with pytest.raises(GoldError, match="duplicate gold set name 'same'"):
        load_gold(tmp_path)


def test_load_gold_refuses_a_folder_file_in_no_format(tmp_path):
    (tmp_path / "a.yaml").write_text(ONE.format("a"))
    (tmp_path / "b.csv").write_text("x,y\n")
    with pytest.raises(GoldError, match="any known format"):
        load_gold(tmp_path)
    assert load_gold(tmp_path, format="native").name == "a"


def test_load_gold_refuses_what_is_not_there_and_what_is_empty(tmp_path):
    with pytest.raises(GoldError, match="no such file"):
        load_gold(tmp_path / "none")
    with pytest.raises(GoldError, match="no gold set in"):
        load_gold(tmp_path)


def test_load_gold_names_a_csv_after_its_file(tmp_path):
    (tmp_path / "my set.csv").write_text("query,path\nq,a.py\n")
    assert load_gold(tmp_path, corpus=CorpusSpec("stdlib")).name == "my-set"


def test_join_keeps_order_and_refuses_one_name_twice(tmp_path):
    for name in ("b", "a"):
        (tmp_path / f"{name}.yaml").write_text(ONE.format(name))
    first, second = (load_gold(tmp_path / f"{name}.yaml") for name in ("b", "a"))
    assert join([first, second]).name == "b+a"
    with pytest.raises(GoldError, match="duplicate gold set name 'b'"):
        join([first, second, first])


@pytest.fixture
def beside_click(tmp_path, monkeypatch):
    """A set in a format that does not name a corpus, in a folder of its own, and the code in another."""
    for folder in ("click", "sets"):
        (tmp_path / folder).mkdir()
    (tmp_path / "click" / "core.py").write_text("def main(): ...\n")
    (tmp_path / "sets" / "eval_set.py").write_text('EVAL_SET = [{"query": "entry point", "expected": ["core.py"]}]\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("given", ["click", "./click", Path("click"), "absolute", assay.CorpusSpec("path", "../click")])
def test_corpus_of_a_format_without_one_is_a_folder(beside_click, given):
    given = str(beside_click / "click") if given == "absolute" else given
    (gold,) = load_gold("sets/eval_set.py", corpus=given).golds
    assert gold.corpus == assay.CorpusSpec("path", "../click")
    run = assay.run({"mine": lambda query: ["core.py"]}, gold)
    assert assay.score(run, ["RR@10"]).values.tolist() == [[[1.0]]]


def test_corpus_of_a_set_behind_a_symbolic_link(beside_click):
    (beside_click / "far" / "deeper").mkdir(parents=True)
    (beside_click / "sets").rename(beside_click / "far" / "deeper" / "sets")
    (beside_click / "sets").symlink_to("far/deeper/sets")
    (gold,) = load_gold("sets/eval_set.py", corpus=str(beside_click / "click")).golds
    assert gold.corpus.value == "../../../click"
    run = assay.run({"mine": lambda query: ["core.py"]}, gold)
    assert assay.score(run, ["RR@10"]).values.tolist() == [[[1.0]]]


def test_corpus_of_a_whole_folder_of_sets(beside_click):
    (beside_click / "sets" / "deep").mkdir()
    for name in ("some.jsonl", "deep/more.jsonl"):
        (beside_click / "sets" / name).write_text('{"query": "main", "path": "core.py"}\n')
    golds = load_gold("sets", corpus="click").golds
    assert sorted(gold.corpus.value for gold in golds) == ["../../click", "../click"]


def test_corpus_is_written_as_on_the_command_line(beside_click):
    (gold,) = load_gold("sets/eval_set.py", corpus="pypi:click==8.1.7?exclude=tests/").golds
    assert gold.corpus == assay.CorpusSpec("pypi", "click==8.1.7", exclude=("tests/",))


def test_corpus_replaces_what_a_native_set_names(beside_click):
    (beside_click / "sets" / "own.yaml").write_text(ONE.format("own"))
    assert load_gold("sets/own.yaml").golds[0].corpus == assay.CorpusSpec("stdlib")
    assert load_gold("sets/own.yaml", corpus="click").golds[0].corpus == assay.CorpusSpec("path", "../click")


@pytest.mark.parametrize("given", [3, ["click"], "svn:click"])
def test_corpus_that_is_none_is_refused_at_once(beside_click, given):
    with pytest.raises(CorpusError):
        load_gold("sets/eval_set.py", corpus=given)
