"""The public API as the README and DESIGN.md write it."""

import inspect
from typing import Any

import assay
from assay.measures import RR, Hit, nDCG


def test_api_runs_from_gold_to_verdict(shop):
    gold = assay.load_gold("gold.yaml")
    engines: dict[str, Any] = {
        "mine": lambda query, k: ["shop/cart.py", "shop/tax.py"],
        "yours": lambda query, k: [assay.Hit("shop/tax.py", 6, 8, 1.0)],
    }
    run = assay.run(engines, gold, k=10)
    scores = assay.score(run, [nDCG @ 10, RR @ 10, Hit(grade=2) @ 5])
    verdict = assay.compare(scores, baseline="mine", primary=nDCG @ 10, margin=0.02)
    assert scores.values.shape == (2, 3, 9)
    assert [row.engine for row in verdict.rows] == ["yours"]
    assert verdict.rows[0].p is None  # three queries are too few clusters for a p-value
    assert verdict.rows[0].verdict is not None


def test_api_takes_a_retriever_without_k(shop):
    gold = assay.load_gold("gold.yaml")
    ranked = ["shop/cart.py", "shop/tax.py", "shop/retry.py"]
    run = assay.run({"query": lambda query: ranked, "query-k": lambda query, k: ranked[:k]}, gold, k=2)
    values = assay.score(run, [nDCG @ 2, RR @ 2]).values
    assert values[0].tolist() == values[1].tolist()
    assert values[0].any()
    assert not [note for engine in run.engines for ranking in engine.rankings for note in ranking.notes]


def test_source_date_epoch_fixes_the_date_of_a_run(shop, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    run = assay.run({"mine": lambda query, k: []}, assay.load_gold(shop / "gold.yaml"), k=1)
    assert run.header.date == "1970-01-02T00:00:00+00:00"


def test_api_takes_one_gold_set_as_well_as_a_suite(shop):
    gold = assay.load_gold("gold.yaml").golds[0]
    assert len(assay.run({"mine": lambda q, k: []}, gold).engines[0].rankings) == 9


def test_api_runs_an_experiment_on_any_executor(shop, monkeypatch, tmp_path):
    from concurrent.futures import ThreadPoolExecutor
    from pathlib import Path

    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "cache"))
    Path("assay.toml").write_text(
        '[run]\ngold = "gold.yaml"\n[engines.mine]\nkind = "builtin"\n'
        '[sweeps.s]\nengine = "mine"\nparams = { "search.stem.files" = [0.1, 0.9] }\n'
    )
    with ThreadPoolExecutor(2) as pool:
        run = assay.run_experiment(executor=pool, only=["mine", "s:*"], sets=["run.k=4"])
    assert [engine.name for engine in run.engines] == ["mine", "s:files=0.1", "s:files=0.9"]
    assert run.k == 4
    assert assay.run_experiment(only=["mine", "s:*"], sets=["run.k=4", "run.jobs=1"]) == run


def test_public_names_and_their_methods_are_documented():
    public = {name: getattr(assay, name) for name in assay.__all__ if callable(getattr(assay, name))}
    methods = {
        f"{name}.{attribute}": value
        for name, item in public.items()
        if isinstance(item, type)
        for attribute, value in vars(item).items()
        if not attribute.startswith("_") and inspect.isfunction(value)
    }
    assert [name for name, item in {**public, **methods}.items() if not inspect.getdoc(item)] == []
