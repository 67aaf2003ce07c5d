"""`assay gold convert` as a user meets it."""

import json
import shlex

import pytest
import pytrec_eval

from assay import run, score
from assay.cli.main import main
from assay.corpus import open_corpus
from assay.engines import make_engine
from assay.gold import load_gold, resolve
from tests.gold.formats.data_sets import CODESEARCHNET, SWEBENCH, lines
from tests.gold.formats.samples import KARTA_LAYERS, SEMBLE

CODE = "def total(basket):\n    return sum(basket)\n\n\ndef rates():\n    return {}\n"
GOLD = """\
assay: 1
name: shop
corpus: {path: ../code}
queries:
  - id: total
    retrieval: {primary: ["price.py::total"], secondary: [price.py:5-6]}
    cognitive: {human: how is a basket priced?, keyword: basket price}
    tags: {category: pricing}
  - id: rates
    retrieval: {primary: [tax.py]}
    cognitive: {human: "where are rates, by land?"}
"""


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("code", "gold"):
        (tmp_path / name).mkdir()
    (tmp_path / "code" / "price.py").write_text(CODE)
    (tmp_path / "code" / "tax.py").write_text("RATES = {}\n")
    (tmp_path / "gold" / "shop.yaml").write_text(GOLD)
    return tmp_path


def call(capsys, *arguments):
    code = main(["gold", "convert", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_convert_looks_lines_up_and_tells_what_is_lost(shop, capsys):
    code, out, err = call(capsys, "gold/shop.yaml", "shop.csv", "--to", "octocode")
    assert code == 0
    assert (shop / "shop.csv").read_text() == (
        "query,result1,result2,result3\n"
        "how is a basket priced?,price.py:1-2:2,price.py:5-6:1,\n"
        '"where are rates, by land?",tax.py:1-1:2,,\n'
    )
    assert "shop.csv" in out
    for lost in ("1 phrasing (keyword)", "2 ids", "1 whole file", "1 symbol anchor", "1 tag (category)", "1 corpus"):
        assert f"octocode cannot store: {lost}" in err
    assert "name of a set" not in err


def test_convert_as_json_lists_files_sets_and_losses(shop, capsys):
    code, out, err = call(capsys, "gold/shop.yaml", "other.csv", "--to", "plain", "--json", "--quiet")
    data = json.loads(out)
    assert code == 0
    assert (data["schema"], data["to"], data["files"]) == ("assay/gold-convert/1", "plain", ["other.csv"])
    assert data["sets"] == [{"name": "shop", "queries": 2}]
    assert data["lost"][0] == "1 name of a set (shop): the file name is used"
    assert [f"warning: plain cannot store: {sentence}" for sentence in data["lost"]] == err.splitlines()


def test_convert_there_and_back_keeps_what_the_format_holds(shop, capsys):
    assert call(capsys, "gold/shop.yaml", "shop.csv", "--to", "plain")[0] == 0
    code, out, err = call(capsys, "shop.csv", "back/shop.yaml", "--to", "native", "--corpus", "code")
    assert (code, err) == (0, "")
    assert "Nothing was lost." in out
    before, after = load_gold("gold/shop.yaml").golds[0], load_gold("back/shop.yaml").golds[0]
    assert after.corpus.value == "../code"
    assert [(q.id, q.forms, q.targets) for q in after.queries] == [(q.id, q.forms, q.targets) for q in before.queries]


READ_IN_PART = {
    "swe-bench": (
        "swe.jsonl",
        lines(SWEBENCH),
        ["left out: new files of a patch: 3", "not read: hints_text, test_p"],
    ),
    "codesearchnet": (
        "judged.csv",
        CODESEARCHNET,
        ["left out: queries without a relevant function in the repository: 1", "not read: notes by judges (1)"],
    ),
    "semble": ("shop.json", SEMBLE, ["not read: seed"]),
    "karta": ("shop.yaml", KARTA_LAYERS, ["not read: "]),
}


@pytest.mark.parametrize("name", READ_IN_PART)
def test_convert_tells_what_was_not_taken_from_the_source(shop, capsys, name):
    file, text, told = READ_IN_PART[name]
    (shop / file).write_text(text, "utf-8")
    corpus = () if name in ("swe-bench", "codesearchnet") else ("--corpus", "code")
    code, out, err = call(capsys, file, "out/", "--to", "native", *corpus)
    assert code == 0
    assert "Nothing was lost" not in out
    for sentence in told:
        assert err.count(f"not read from {file}: {sentence}") == 1
    _, out, _ = call(capsys, file, "out/", "--to", "native", "--json", "--force", *corpus)
    data = json.loads(out)
    assert data["lost"] == []
    assert all(any(f"{file}: {sentence}" in one for one in data["not_read"]) for sentence in told)


def test_convert_does_not_tell_again_what_an_earlier_reading_left_out(shop, capsys):
    (shop / "shop.json").write_text(SEMBLE)
    assert call(capsys, "shop.json", "shop.yaml", "--to", "native", "--corpus", "code")[0] == 0
    code, out, err = call(capsys, "shop.yaml", "again/shop.yaml", "--to", "native")
    assert (code, err) == (0, "")
    assert "Nothing was lost." in out


def test_convert_warns_that_a_seal_is_lost(shop, capsys):
    (shop / "gold" / "shop.yaml").write_text(GOLD.replace("{category: pricing}", "{split: sealed}"))
    code, out, err = call(capsys, "gold/shop.yaml", "shop.csv", "--to", "plain")
    assert code == 0
    assert "warning: 1 query is no longer sealed" in err.splitlines()[0]
    _, out, _ = call(capsys, "gold/shop.yaml", "shop.csv", "--to", "octocode", "--json", "--force")
    assert any("1 query is no longer sealed" in sentence for sentence in json.loads(out)["lost"])
    _, out, err = call(capsys, "gold/shop.yaml", "shop.yaml", "--to", "native")
    assert ("seal" in err, "Nothing was lost." in out) == (False, True)


def test_convert_keeps_a_local_corpus_where_it_is(shop, capsys):
    assert call(capsys, "gold/shop.yaml", "a/b/shop.yaml", "--to", "native")[0] == 0
    assert load_gold("a/b/shop.yaml").golds[0].corpus.value == "../../code"
    assert call(capsys, "a/b/shop.yaml", "x.csv", "--to", "octocode")[0] == 0


def test_convert_names_a_corpus_from_each_file_of_a_folder(shop, capsys):
    assert call(capsys, "gold/shop.yaml", "sets/deep/shop.csv", "--to", "plain")[0] == 0
    assert call(capsys, "sets", "back.yaml", "--to", "native", "--corpus", "code")[0] == 0
    assert load_gold("back.yaml").golds[0].corpus.value == "code"
    assert call(capsys, "sets", "lines.csv", "--to", "octocode", "--corpus", "code")[0] == 0


def test_convert_writes_several_sets_into_a_folder(shop, capsys):
    (shop / "gold" / "two.yaml").write_text(GOLD.replace("name: shop", "name: two"))
    code, _, _ = call(capsys, "gold", "out", "--to", "plain")
    assert code == 0
    assert sorted(path.name for path in (shop / "out").iterdir()) == ["shop.csv", "two.csv"]


def test_convert_writes_one_set_into_a_folder_that_is_named_as_one(shop, capsys):
    assert call(capsys, "gold/shop.yaml", "out/", "--to", "plain")[0] == 0
    assert (shop / "out" / "shop.csv").is_file()


def test_convert_writes_semble_as_a_folder(shop, capsys):
    code, _, err = call(capsys, "gold/shop.yaml", "out", "--to", "semble")
    assert code == 0
    assert (shop / "out" / "annotations" / "shop.json").is_file()
    assert "1 corpus (../code)" in err
    assert call(capsys, "gold/shop.yaml", "out", "--to", "semble")[0] == 2
    assert call(capsys, "gold/shop.yaml", "out", "--to", "semble", "--force")[0] == 0


def test_convert_overwrites_only_when_forced(shop, capsys):
    (shop / "shop.csv").write_text("mine")
    code, _, err = call(capsys, "gold/shop.yaml", "shop.csv", "--to", "plain")
    assert code == 2
    assert "--force" in err
    assert (shop / "shop.csv").read_text() == "mine"
    assert call(capsys, "gold/shop.yaml", "shop.csv", "--to", "plain", "--force")[0] == 0
    assert (shop / "shop.csv").read_text().startswith("id,query")


BAD = {
    "unknown format": (["gold/shop.yaml", "x", "--to", "octocod"], "did you mean 'octocode'"),
    "a suffix": (
        ["gold/shop.yaml", "x", "--to", "csv"],
        "formats in .csv files: plain: CSV with",
    ),
    "a suffix of YAML": (["gold/shop.yaml", "x", "--to", ".YAML"], "formats in .yaml files: native: YAML"),
    "read only": (["gold/shop.yaml", "x", "--to", "karta"], "cannot write the format karta"),
    "no such file": (["gold/none.yaml", "x", "--to", "plain"], "no such file"),
    "bad corpus": (["gold/shop.yaml", "x", "--to", "plain", "--corpus", "nope:x"], "unknown corpus kind"),
    "wrong format": (["gold/shop.yaml", "x", "--to", "plain", "--format", "octocode"], "--corpus"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD)
def test_convert_says_what_is_wrong_and_writes_nothing(shop, capsys, arguments, message):
    code, _, err = call(capsys, *arguments)
    assert code == 2
    assert message in err
    assert not (shop / "x").exists()


def test_convert_writes_nothing_when_an_anchor_does_not_hold(shop, capsys):
    (shop / "code" / "price.py").write_text("x = 1\n")
    code, _, err = call(capsys, "gold/shop.yaml", "shop.csv", "--to", "octocode")
    assert code == 2
    assert "gold/shop.yaml:5" in err
    assert "symbol 'total' not found in price.py" in err
    assert not (shop / "shop.csv").exists()


def test_convert_writes_the_documents_of_a_beir_set_beside_it(shop, capsys):
    for name, text in {
        "docs/queries.jsonl": '{"_id": "1", "text": "which one?"}\n',
        "docs/qrels/test.tsv": "query-id\tcorpus-id\tscore\n1\td 1\t1\n",
        "docs/corpus.jsonl": '{"_id": "d 1", "title": "One", "text": "the one"}\n{"_id": "d2", "text": "two"}\n',
    }.items():
        (shop / name).parent.mkdir(parents=True, exist_ok=True)
        (shop / name).write_text(text, "utf-8")
    code, out, _ = call(capsys, "docs", "out/docs.yaml", "--to", "native")
    assert code == 0
    assert "Written: out/documents, out/docs.yaml" in out
    assert (shop / "out" / "documents" / "d%201").read_text("utf-8") == "One\n\nthe one"
    [gold] = load_gold(shop / "out" / "docs.yaml").golds
    corpus = open_corpus(gold.corpus, base=shop / "out")
    assert [file.path for file in corpus.files] == ["d%201", "d2"]
    assert not resolve(gold, corpus).problems
    (shop / "out" / "docs.yaml").unlink()
    code, _, err = call(capsys, "docs", "out/docs.yaml", "--to", "native")
    assert (code, "out/documents: file already exists" in err) == (2, True)
    assert call(capsys, "docs", "out/docs.yaml", "--to", "native", "--force")[0] == 0
    (shop / "documents").mkdir()
    (shop / "documents" / "thesis.txt").write_text("mine")
    code, _, err = call(capsys, "docs", "docs.yaml", "--to", "native", "--force")
    assert (code, "the directory has other files than documents" in err) == (2, True)
    assert (shop / "documents" / "thesis.txt").read_text() == "mine"
    assert not (shop / "docs.yaml").exists()


GRADED = "".join(f"{row}\n" for row in ["1\tD0\t3", "1\tD1\t2", "1\tD2\t1", "1\tD3\t0", "2\tD1\t1", "2\tD3\t1"])
FOREIGN = "".join(f"{row} run\n" for row in ["1 Q0 D1 1 9", "1 Q0 D0 2 8", "1 Q0 D3 3 7", "2 Q0 D3 1 2", "2 Q0 D2 2 2"])


#: What is written, and what is read of it.
PLACES = {
    "native": ("{}/docs.yaml", "{}/docs.yaml"),
    "plain": ("{}/docs.csv", "{}/docs.csv"),
    "beir": ("{}", "{}/docs"),
    "trec": ("{}/", "{}/docs.qrels"),
}


@pytest.mark.parametrize("way", ["native", "native beir native", "native plain native", "trec native"])
def test_convert_keeps_grades_and_document_ids_so_that_foreign_runs_keep_their_scores(shop, capsys, way):
    documents = "".join(f'{{"_id": "D{n}", "text": "text {n}"}}\n' for n in range(4))
    questions = '{"_id": "1", "text": "which one?"}\n{"_id": "2", "text": "which other?"}\n'
    for name, text in {"corpus.jsonl": documents, "queries.jsonl": questions, "qrels/test.tsv": GRADED}.items():
        (shop / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (shop / "docs" / name).write_text(text, "utf-8")
    (shop / "run.trec").write_text(FOREIGN, "utf-8")
    source, corpus = "docs", list[str]()
    for number, to in enumerate(way.split()):
        out, after = (place.format(number) for place in PLACES[to])
        code, _, err = call(capsys, source, out, "--to", to, *corpus)
        assert (code, "grade" in err) == (0, False)
        source, corpus = after, ["--corpus", str(shop / "0" / "documents")]
    suite = load_gold(shop / source)
    made = run({"foreign": make_engine("runfile:run.trec", suite=suite, directory=shop)}, suite, k=10)
    qrels = {"1": {"D0": 3, "D1": 2, "D2": 1, "D3": 0}, "2": {"D1": 1, "D3": 1}}
    scored = {"1": {"D1": 9.0, "D0": 8.0, "D3": 7.0}, "2": {"D3": 2.0, "D2": 2.0}}
    peer = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut_10"}).evaluate(scored)
    values = score(made, ["nDCG@10", "Judged@3"]).values[0]
    assert values[0].tolist() == pytest.approx([peer[query]["ndcg_cut_10"] for query in ("1", "2")], abs=1e-12)
    assert values[1].tolist() == [1.0, 0.5]


def test_convert_warns_of_documents_without_a_text(shop, capsys):
    assert call(capsys, "gold/shop.yaml", "beir", "--to", "beir")[0] == 0
    code, out, err = call(capsys, "beir/shop", "stubs.yaml", "--to", "native")
    assert (code, "Nothing was lost" in out) == (0, False)
    assert "3 of 3 documents in beir/shop/corpus.jsonl have no text" in err
    assert "--corpus PATH" in err
    code, out, err = call(capsys, "beir/shop", "code.yaml", "--to", "native", "--corpus", "code")
    assert (code, err, "Nothing was lost." in out) == (0, "", True)


def test_convert_says_that_it_made_a_folder(shop, capsys):
    code, out, _ = call(capsys, "gold/shop.yaml", "new/deep/shop.csv", "--to", "plain")
    assert (code, "Created the directory new/deep." in out) == (0, True)
    code, out, _ = call(capsys, "gold/shop.yaml", "new/deep/two.csv", "--to", "plain", "--json")
    assert json.loads(out)["made"] is None
    assert "made" not in call(capsys, "gold/shop.yaml", "new/deep/three.csv", "--to", "plain")[1]


def test_a_set_without_a_corpus_is_told_a_command_that_gives_it_one(shop, capsys):
    (shop / "my set.csv").write_text("query,path\nq,tax.py\n")
    assert main(["gold", "split", "my set.csv"]) == 2
    command = "assay gold convert 'my set.csv' 'my set.yaml' --to native --corpus PATH"
    assert command in capsys.readouterr().err
    assert main(shlex.split(command.replace("PATH", "code"))[1:]) == 0
    assert load_gold("my set.yaml").golds[0].corpus.value == "code"
