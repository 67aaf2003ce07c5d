"""The experiments that ship, each run on a part of the standard library: the tables have the shape of the seeds'."""

import csv
import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from assay.cli.main import main
from assay.errors import ConfigError
from assay.experiment.spec.assay_toml import load_spec, shipped_experiments
from assay.search import SearchConfig
from assay.search.rerank import make_reranker
from tests.serving import Reply, serving

GOLD = """\
assay: 1
name: library
corpus: {stdlib: true, include: ["json/*", "csv.py", "textwrap.py", "shlex.py", "fnmatch.py", "heapq.py", "sched.py"]}
queries:
  - id: float-text
    retrieval: {primary: ["json/encoder.py::JSONEncoder.iterencode"], secondary: ["json/encoder.py::_make_iterencode"]}
    cognitive: {human: "how is it decided how a float is written out as JSON?", keyword: json float repr nan}
    interference:
      - {target: json/decoder.py, relationship: sibling, strength: strong, confusion: reads numbers}
    tags: {difficulty: hard, category: semantic}
  - id: sniff
    retrieval: {primary: ["csv.py::Sniffer"]}
    cognitive: {human: how does it guess which character separates the columns?, keyword: csv sniffer delimiter}
    tags: {difficulty: hard, category: semantic}
  - id: wrap
    retrieval: {primary: ["textwrap.py::TextWrapper"]}
    cognitive: {human: how are long lines broken into paragraphs of a width?, keyword: TextWrapper wrap width}
    tags: {category: architecture}
  - id: split-shell
    retrieval: {primary: ["shlex.py::shlex.read_token"]}
    cognitive: {human: how is a command line cut into words when there are quotes?, keyword: shlex read_token quotes}
    tags: {category: semantic}
  - id: translate
    retrieval: {primary: ["fnmatch.py::translate"]}
    cognitive: {human: how does a shell pattern become a regular expression?, keyword: fnmatch translate pattern}
    tags: {category: symbol}
  - id: merge
    retrieval: {primary: ["heapq.py::merge"]}
    cognitive: {human: how are several sorted inputs joined into one sorted output?, keyword: heapq merge sorted}
    tags: {category: symbol}
"""
REFERENCES = ["random", "keywords", "oracle"]


@pytest.fixture
def bench(tmp_path, tmp_path_factory, monkeypatch):
    """A folder with the gold set; what experiments share, such as the corpus, is kept between the tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "experiments-cache"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.delenv("ASSAY_RERANK_URL", raising=False)
    Path("gold.yaml").write_text(GOLD)
    return tmp_path


def ran(name, *flags):
    """Run an experiment here, in this process; give its report and results."""
    assert main(["run", "--preset", name, "--gold", "gold.yaml", "--quiet", *flags]) == 0
    folder = Path(f"results-{name}")
    page = (folder / "RESULTS.md").read_text().replace("\\", "")
    return page, json.loads((folder / "results.json").read_text())


def matrix(page, title="Matrix ("):
    """The rows of a Markdown table under a heading, header first."""
    section = next(part for part in page.split("\n## ") if part.startswith(title))
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")]
    return [rows[0], *rows[2:]]


def searches(name):
    """The settings of the reference engine in an experiment, by variant."""
    subjects = load_spec(preset=name).entries()
    return {
        s.name: s.settings["search"] for s in subjects if isinstance(s.settings, Mapping) and "search" in s.settings
    }


def test_every_preset_describes_the_original_and_the_differences():
    for name, path in shipped_experiments().items():
        text = path.read_text()
        assert "# Original: " in text, name
        assert "# Differences:" in text, name
        assert f"assay run --preset {name} " in text, name


def test_the_five_seeds_are_there():
    names = ["a-or-b", "chunk-sizes", "chunking", "colgrep-ladder", "octocode-matrix", "semble-ablation"]
    assert list(shipped_experiments()) == names


@pytest.mark.parametrize("name", shipped_experiments())
def test_each_experiment_has_a_folder_of_its_own(name):
    assert load_spec(preset=name).out == f"results-{name}"


def test_octocode_matrix_prints_the_seeds_rows_and_says_what_it_skipped(bench):
    page, results = ran("octocode-matrix", "--jobs", "1")
    head, *rows = matrix(page)
    assert {cut.replace("(level=lines)", "") for cut in head[1:]} == {
        *("Hit@5", "Hit@10", "RR@10", "nDCG@10", "R@5", "R@10")
    }
    variants = ["vector_only", "hybrid_70_30", "hybrid_30_70", "+graph"]
    assert [row[0] for row in rows] == [*variants, *REFERENCES, "+rerank (skipped)", "+graph+rerank (skipped)"]
    assert all(re.fullmatch(r"\**\d\.\d{3}\**", cell) for row in rows[:-2] for cell in row[1:])
    assert "the environment variable ASSAY_RERANK_URL is not set" in page
    assert "## Matrix, difficulty = hard (2 queries)" in page
    assert list(results["header"]["skipped"]) == ["+rerank", "+graph+rerank"]
    kinds = {alarm["kind"] for alarm in results["diagnostics"]}
    assert "identical rankings" not in kinds  # every param is connected


def test_vector_only_is_meaning_alone():
    """No setting of words changes it."""
    settings = searches("octocode-matrix")
    dense = settings["vector_only"]["dense"]
    assert dense["words"] == 0
    assert set(settings["vector_only"]["without"]) == set(_stages())
    for name, words in (("hybrid_70_30", 0.3), ("hybrid_30_70", 0.7)):
        dense = settings[name]["dense"]
        assert dense["words"] == words
        assert [dense[kind] for kind in ("language", "keywords", "symbol")] == [pytest.approx(1 - words)] * 3


def _stages():
    from assay.search.config import STAGES

    return STAGES


def test_vector_only_ranks_the_same_whatever_words_say(bench):
    changed = (
        "variants.deaf = { engine = 'index', set = { search = { lexical = { b = 0.1 }, "
        "dense = { words = 0.0, language = 1.0, keywords = 1.0, symbol = 1.0 } } } }"
    )
    _, results = ran("octocode-matrix", "--jobs", "1", "--set", changed, "--only", "vector_only", "--only", "deaf")
    assert [a["names"] for a in results["diagnostics"] if a["kind"] == "dead parameter"] == [["search.lexical.b"]]


def reranker(asked):
    """Like passages the better, the longer they are."""
    documents = asked.payload["documents"]
    return Reply({"results": [{"index": i, "relevance_score": len(text)} for i, text in enumerate(documents)]})


def test_octocode_matrix_reranks_by_a_served_model_whose_address_is_in_no_record(bench, monkeypatch):
    with serving(reranker) as server:
        address = f"{server.url}/v1/rerank"
        monkeypatch.setenv("ASSAY_RERANK_URL", address)
        page, results = ran("octocode-matrix", "--jobs", "1")
        assert server.asked
        assert {asked.payload["model"] for asked in server.asked} == {"bge-reranker-base"}
    rows = [row[0] for row in matrix(page)[1:]]
    assert rows[:6] == ["vector_only", "hybrid_70_30", "hybrid_30_70", "+graph", "+rerank", "+graph+rerank"]
    engine = next(e for e in results["engines"] if e["name"] == "+rerank")
    assert engine["failed"] == 0
    written = [path for path in Path("results-octocode-matrix").rglob("*") if path.is_file()]
    assert not [path for path in written if address.encode() in path.read_bytes()]
    assert any(b"{env:ASSAY_RERANK_URL}" in path.read_bytes() for path in written)


def test_a_reranker_that_fails_does_not_give_its_address_away(bench, monkeypatch):
    with serving(lambda _: Reply({"error": "no"}, status=400)) as server:
        address = f"{server.url}/v1/rerank?key=hush-hush"
        monkeypatch.setenv("ASSAY_RERANK_URL", address)
        flags = ["--jobs", "1", "--only", "+rerank", "--only", "vector_only", "--quiet", "--gold", "gold.yaml"]
        assert main(["run", "--preset", "octocode-matrix", *flags]) == 4
    for path in Path("results-octocode-matrix").rglob("*"):
        assert not path.is_file() or server.url.encode() not in path.read_bytes(), path


def test_a_reranker_without_its_variable_is_told_by_name(monkeypatch):
    monkeypatch.delenv("ASSAY_RERANK_URL", raising=False)
    with pytest.raises(ConfigError, match="ASSAY_RERANK_URL"):
        make_reranker("rerank:{env:ASSAY_RERANK_URL}#m")


def test_what_is_shown_of_a_reranker_is_the_name_of_its_variable():
    from assay.search.config import RerankSettings

    shown = SearchConfig(rerank=RerankSettings(model="rerank:{env:X_URL}#m")).as_dict()
    assert shown["rerank"]["model"] == "rerank:{env:X_URL}#m"


@pytest.mark.nightly
def test_chunking_prints_each_cut_off_and_what_size_costs(bench):
    page, results = ran("chunking", "--jobs", "1")
    head, *rows = matrix(page)
    chunkings = ["ast", "fixed-line-50", "fixed-line-100", "fixed-token-512", "fixed-token-1024", "whole-file"]
    assert [row[0] for row in rows] == [*chunkings, *REFERENCES]
    for measure in ("R", "P", "nDCG", "Hit"):
        assert {f"{measure}(level=lines)@{k}" for k in (1, 5, 10)} <= set(head)
    assert {"RR(level=lines)@10", "SpanR(iou=0.3)@10", "RecallAtTokens(2000)"} <= set(head)
    at = {row[0]: dict(zip(head[1:], (float(c.strip("*")) for c in row[1:]), strict=True)) for row in rows}
    assert at["whole-file"]["nDCG(level=lines)@10"] <= at["ast"]["nDCG(level=lines)@10"]  # no gain by size
    assert at["whole-file"]["RecallAtTokens(2000)"] < at["ast"]["RecallAtTokens(2000)"]
    assert results["comparison"]["baseline"] == "fixed-line-50"


def test_tokens_are_tokens():
    sizes = {name: s["index"]["chunks"] for name, s in searches("chunking").items() if name.startswith("fixed-token")}
    assert sizes == {
        "fixed-token-512": {"kind": "tokens", "size": 512},
        "fixed-token-1024": {"kind": "tokens", "size": 1024},
    }


def test_chunk_sizes_leave_forest_data_and_the_paired_bootstrap(bench):
    page, results = ran("chunk-sizes", "--jobs", "1")
    head, *rows = matrix(page)
    assert set(head[1:]) == {"Hit@1", "Hit@3", "Hit@10", "RR@10", "Displacement@10", "RankGap@10"}
    sizes = ["c500-o100", "c750-o100", "c1500-o200", "c3000-o300", "c6000-o500"]
    assert [row[0] for row in rows] == [*sizes, *REFERENCES]
    points = list(csv.DictReader(Path("results-chunk-sizes/forest.csv").read_text().splitlines()))
    assert {p["engine"] for p in points if p["interval"] == "paired percentile bootstrap"} == {*sizes} - {"c1500-o200"}
    assert {p["n"] for p in points if p["measure"] == "RankGap@10"} == {"1"}  # only one query has an adversary
    assert "Percentile bootstrap, B = 2,000" in page
    assert "## By form" in page
    assert all(-10 <= float(p["mean"]) <= 10 for p in points if p["measure"] == "RankGap@10" and not p["against"])
    assert results["tables"] == ["matrix", "forest", "bootstrap"]


def test_colgrep_ladder_has_every_tokenizer_with_both_operators_and_adds_one_signal_per_row(bench):
    page, results = ran("colgrep-ladder", "--jobs", "1", "--no-references")
    lexical = [
        f"{name}, {terms}" for name in ("trigram", "unicode", "identifier") for terms in ("all terms", "any term")
    ]
    signals = ["noise", "coherence", "definition", "stem"]
    assert [row[0] for row in matrix(page)[1:]] == ["full", *lexical, "+ dense", *(f"+ {name}" for name in signals)]
    assert results["comparison"]["baseline"] == "trigram, all terms"
    means = {m["engine"]: m["mean"] for m in results["comparison"]["means"] if m["measure"] == "R@10"}
    assert all(
        means[f"{name}, all terms"] < means[f"{name}, any term"] for name in ("trigram", "unicode", "identifier")
    )
    settings = searches("colgrep-ladder")
    left_out = set(settings["+ dense"]["without"])
    for signal in signals:
        if signal == "coherence":
            assert settings["+ coherence"]["coherence"]["chunks"] == SearchConfig().coherence.chunks
        else:
            left_out -= {signal}
        assert set(settings[f"+ {signal}"]["without"]) == left_out


@pytest.mark.parametrize(("flags", "primary"), [((), "nDCG(level=lines)@10"), (("--level", "file"), "nDCG@10")])
def test_colgrep_ladder_is_measured_at_the_level_of_the_gold_set(bench, flags, primary):
    steps = ("--only", "trigram, all terms", "--only", "identifier, any term")
    results = ran("colgrep-ladder", "--jobs", "1", "--no-references", *steps, *flags)[1]
    assert results["comparison"]["primary"] == primary


def test_a_or_b_says_who_has_the_larger_number_and_what_may_be_claimed(bench):
    page, results = ran("a-or-b")
    head, *rows = matrix(page, "Ranks")
    assert head == ["Engine", "RR@10", "Guide", *(str(rank) for rank in range(1, 11)), "Not found"]
    assert [row[0] for row in rows] == ["A", "B", "keywords"]
    assert all(sum(map(int, row[3:])) == 6 for row in rows)
    assert rows[0][2] in ("strong", "usable", "poor")
    assert re.search(r"Largest RR@10: ([AB] \(0\.\d{3}\)|none)", page)
    assert re.search(r"A against B: \w+.*, MDE ([\d.]+|none)", page)
    assert results["header"]["timed"] is True


def test_a_and_b_are_yours_to_replace(bench):
    Path("mine.toml").write_text(
        'extends = "preset:a-or-b"\n[run]\ngold = "gold.yaml"\n[engines.A.search.dense]\nmodel = ""\n'
    )
    spec = load_spec(Path("mine.toml"))
    assert spec.engines["A"] == {"kind": "builtin", "search": {"dense": {"model": ""}}}
    assert spec.engines["B"] == {"kind": "keywords"}
    assert spec.analysis_plan().tables == ("ranks", "bootstrap")


@pytest.mark.nightly
def test_semble_ablation_has_each_retriever_raw_and_ranked_and_each_signal_both_ways(bench):
    page, results = ran("semble-ablation", "--jobs", "1")
    names = [row[0] for row in matrix(page)[1:]]
    first = ["hybrid+ranking", "hybrid raw", "words raw", "words+ranking", "meaning raw", "meaning+ranking"]
    assert names[:6] == first
    signals = [name.removeprefix("without ") for name in names if name.startswith("without ")]
    assert [name.removeprefix("raw + ") for name in names if name.startswith("raw + ")] == signals
    assert set(_stages()) - {"neighbours"} <= set(signals)  # neighbours have a say among spans alone
    assert "## By category" in page
    means = {m["engine"]: m["mean"] for m in results["comparison"]["means"] if m["measure"] == "nDCG@10"}
    assert means["hybrid+ranking"] >= means["words raw"]  # equal on these six queries
    assert results["comparison"]["baseline"] == "hybrid+ranking"
    assert {row["baseline"] for row in results["comparison"]["rows"]} == {"hybrid+ranking"}
