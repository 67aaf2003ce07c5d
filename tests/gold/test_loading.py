"""Files, folders and the shipped set."""

import pytest

from assay.errors import GoldError
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
    with pytest.raises(GoldError, match="two gold sets are called 'same'"):
        load_gold(tmp_path)


def test_load_gold_refuses_a_folder_file_in_no_format(tmp_path):
    (tmp_path / "a.yaml").write_text(ONE.format("a"))
    (tmp_path / "b.csv").write_text("x,y\n")
    with pytest.raises(GoldError, match="any format"):
        load_gold(tmp_path)
    assert load_gold(tmp_path, format="native").name == "a"


def test_load_gold_refuses_what_is_not_there_and_what_is_empty(tmp_path):
    with pytest.raises(GoldError, match="no such file"):
        load_gold(tmp_path / "none")
    with pytest.raises(GoldError, match="holds no gold set"):
        load_gold(tmp_path)


def test_load_gold_names_a_csv_after_its_file(tmp_path):
    (tmp_path / "my set.csv").write_text("query,path\nq,a.py\n")
    assert load_gold(tmp_path, corpus=CorpusSpec("stdlib")).name == "my-set"


def test_join_keeps_order_and_refuses_one_name_twice(tmp_path):
    for name in ("b", "a"):
        (tmp_path / f"{name}.yaml").write_text(ONE.format(name))
    first, second = (load_gold(tmp_path / f"{name}.yaml") for name in ("b", "a"))
    assert join([first, second]).name == "b+a"
    with pytest.raises(GoldError, match="two gold sets are called 'b'"):
        join([first, second, first])
