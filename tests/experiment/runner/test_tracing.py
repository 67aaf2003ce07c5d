"""Queries of a run, asked again stage by stage: the run's settings, the run's corpus, or a sentence."""

from dataclasses import replace

import pytest

from assay.engines import make_engine
from assay.engines.base import EngineReply, ExplainingSession
from assay.errors import ConfigError
from assay.experiment import run
from assay.experiment.tracing import TraceQuery, trace_queries
from assay.gold import load_gold
from assay.search import Index
from tests.conftest import FILES, GOLD, write_tree

TAX = ("shop", "tax-lookup", "human")
CART = ("shop", "cart-total", "keyword")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run of two builtin engines, one of them without two of its stages."""
    folder = tmp_path_factory.mktemp("finished")
    write_tree(folder / "repo", FILES | {"gold.yaml": GOLD})
    engines = {
        "whole": make_engine("builtin"),
        "bare": make_engine({"kind": "builtin", "search": {"without": ["stem", "noise"]}}),
        "grep": make_engine("keywords"),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder / "repo")
        patch.setenv("ASSAY_CACHE_DIR", str(folder / "cache"))
        return run(engines, load_gold("gold.yaml"), k=2)


@pytest.fixture
def made(finished, shop):
    """That run, where its repository is the current folder."""
    return finished


def test_builtin_session_says_why(shop):
    from assay.corpus import open_corpus, parse_spec

    session = make_engine("builtin").open(open_corpus(parse_spec(str(shop))))
    assert isinstance(session, ExplainingSession)
    found = session.explain("tax rate of a country", 2, ("README.md",))
    hits = session.search("tax rate of a country", 2)
    assert not isinstance(hits, EngineReply)
    assert [row.path for row in found.candidates[:2]] == [hit.path for hit in hits]
    assert [row.steps[-1].score for row in found.candidates[:2]] == [hit.score for hit in hits]
    assert "README.md" in [row.path for row in found.candidates[2:]]
    assert all([step.stage for step in row.steps] == list(found.stages) for row in found.candidates)
    assert "tax" in found.terms


def test_traces_follow_the_settings_of_the_run(made):
    whole, bare = (trace_queries(made, [TAX, CART], name, 10) for name in ("whole", "bare"))
    assert list(whole.made) == [TraceQuery(*TAX), TraceQuery(*CART)]
    assert {one.engine for one in bare.made.values()} == {"bare"}
    assert {"stem", "noise"} <= set(whole.made[TraceQuery(*TAX)].waterfall.stages)
    assert not {"stem", "noise"} & set(bare.made[TraceQuery(*TAX)].waterfall.stages)
    assert whole.notes == bare.notes == ()


def test_traces_are_of_the_query_and_end_in_the_answer_of_the_run(made):
    found = trace_queries(made, [CART], "whole", 10).made[TraceQuery(*CART)].waterfall
    engine = next(engine for engine in made.engines if engine.name == "whole")
    ranking = next(r for r in engine.rankings if (r.gold, r.query, r.form) == CART)
    assert [row.path for row in found.candidates[:2]] == [hit.path for hit in ranking.hits]
    assert "shop/receipt.py" in [row.path for row in found.candidates]  # what is right is followed, wherever it stands


def test_no_more_than_wanted_are_traced(made):
    assert list(trace_queries(made, [CART, TAX], "whole", 1).made) == [TraceQuery(*CART)]
    assert trace_queries(made, [CART, TAX], "whole", 0).made == {}


def test_corpus_that_changed_is_not_traced_and_that_is_said(made, shop):
    (shop / "shop/tax.py").write_text("changed = True\n")
    found = trace_queries(made, [TAX], "whole", 10)
    assert found.made == {}
    assert found.notes == ("No traces of shop: its corpus changed since the run.",)


def test_corpus_that_is_gone_is_said(made, shop, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # the gold file is named from the folder of the run
    found = trace_queries(made, [TAX], "whole", 10)
    assert found.made == {}
    assert found.notes[0].startswith("No traces of shop: ")


def test_cheap_traces_are_of_small_corpora_only_whether_an_index_is_kept_or_not(shop):
    for number in range(3):  # more than two megabytes that are quickly indexed
        (shop / f"blank{number}.txt").write_text(" " * 700_000 + "\n")
    made = run({"whole": make_engine("builtin")}, load_gold("gold.yaml"), k=2)
    cheap = trace_queries(made, [TAX], "whole", 10, cheap=True)
    assert (cheap.made, len(cheap.notes)) == ({}, 1)
    assert "too large to trace" in cheap.notes[0]
    dear = trace_queries(made, [TAX], "whole", 10)
    assert len(dear.made) == 1
    assert trace_queries(made, [TAX], "whole", 10, cheap=True) == cheap  # though its index is in the cache now


def test_corpus_of_many_files_is_not_even_opened(made, shop):
    facts = {"shop": replace(made.header.corpora["shop"], files=501)}
    many = replace(made, header=replace(made.header, corpora=facts))
    (shop / "shop/tax.py").unlink()  # a corpus that is opened is found to be another one
    assert "too large to trace" in trace_queries(many, [TAX], "whole", 10, cheap=True).notes[0]
    assert "changed since the run" in trace_queries(many, [TAX], "whole", 10).notes[0]


def test_small_corpus_is_traced_at_once(made):
    assert len(trace_queries(made, [TAX], "whole", 10, cheap=True).made) == 1


def test_settings_of_another_assay_are_a_sentence(made):
    engines = tuple(replace(e, config={**e.config, "nonsense": 1}) if e.name == "whole" else e for e in made.engines)
    found = trace_queries(replace(made, engines=engines), [TAX], "whole", 10)
    assert found.made == {}
    assert "nonsense" in found.notes[0]


def test_engine_must_be_one_that_can_tell(made):
    with pytest.raises(ConfigError, match="several"):
        trace_queries(made, [TAX], None, 10)
    with pytest.raises(ConfigError, match="cannot trace 'grep'"):
        trace_queries(made, [TAX], "grep", 10)


def test_expected_files_may_be_several(shop):
    index = Index.build(shop)
    alone = {row.path for row in index.explain("tax", k=2).candidates()}
    every = {
        row.path for row in index.explain("tax", k=2, expect=("README.md", "shop/receipt.py", "x.py")).candidates()
    }
    assert every - alone == {"README.md", "shop/receipt.py"}
