"""Timed runs: private indexes, and resuming after an interrupt."""

from pathlib import Path

import pytest

from assay import Suite, load_gold, run
from assay.engines import make_engine
from assay.experiment.cell_cache import ResultCache
from assay.experiment.records.directory import UNFINISHED


class Logging:
    """An engine that logs its queries, and is interrupted or fails on request."""

    def __init__(self, name, log, stop=None):
        self.name, self.log, self.stop = name, log, stop

    @property
    def config(self):
        return {"kind": "test", "name": self.name}

    def open(self, corpus):
        self.corpus = corpus.root.name
        return self

    def search(self, query, k):
        self.log.append((self.name, self.corpus))
        return ["shop/cart.py"]

    def open_within(self, corpus, seconds):
        return self.open(corpus)

    def search_within(self, query, k, seconds):
        if self.stop == self.corpus:
            raise KeyboardInterrupt
        if self.stop == f"fail {self.corpus}":
            raise RuntimeError("no index")
        return self.search(query, k)

    def close(self):
        pass


@pytest.fixture
def suite(shop):
    """Two gold sets on two copies of one repository."""
    other = shop.parent / "other"
    for path in shop.rglob("*"):
        if path.is_file():
            (other / path.relative_to(shop)).parent.mkdir(parents=True, exist_ok=True)
            (other / path.relative_to(shop)).write_bytes(path.read_bytes())
    text = (other / "gold.yaml").read_text()
    (other / "gold.yaml").write_text(text.replace("name: shop", "name: other"))
    golds = (*load_gold("gold.yaml").golds, *load_gold(other / "gold.yaml").golds)
    return Suite(golds)


def engines(log, stop=None):
    return {"a": Logging("a", log), "b": Logging("b", log, stop)}


def test_timed_run_resumes_with_the_next_gold_set(shop, suite, tmp_path):
    log: list[tuple[str, str]] = []
    cache = ResultCache(tmp_path / "results")
    with pytest.raises(KeyboardInterrupt):
        run(engines(log, "other"), suite, keeper=cache)
    assert {name for name, corpus in log if corpus == shop.name} == {"a", "b"}
    log.clear()
    resumed = run(engines(log), suite, keeper=cache)
    assert {corpus for _, corpus in log} == {"other"}
    assert [len(engine.rankings) for engine in resumed.engines] == [18, 18]
    assert all(set(engine.index_seconds) == {"shop", "other"} for engine in resumed.engines)
    cache.finish()
    assert not (tmp_path / "results" / UNFINISHED).exists()


def test_interleaved_engines_are_repeated_together(shop, suite, tmp_path):
    log: list[tuple[str, str]] = []
    cache = ResultCache(tmp_path / "results")
    run(engines(log, f"fail {shop.name}"), suite, keeper=cache)
    log.clear()
    run(engines(log), suite, keeper=cache)
    assert {(name, corpus) for name, corpus in log} == {("a", shop.name), ("b", shop.name)}


def test_one_at_a_time_resumes_with_the_next_engine(shop, suite, tmp_path):
    log: list[tuple[str, str]] = []
    cache = ResultCache(tmp_path / "results")
    with pytest.raises(KeyboardInterrupt):
        run(engines(log, shop.name), suite, keeper=cache, interleave=False)
    log.clear()
    run(engines(log), suite, keeper=cache, interleave=False)
    assert ("a", shop.name) not in log
    assert {("b", shop.name), ("a", "other"), ("b", "other")} == set(log)


def test_other_companions_or_processors_are_measured_again(suite, tmp_path):
    log: list[tuple[str, str]] = []
    cache = ResultCache(tmp_path / "results")
    run(engines(log), suite, keeper=cache, threads=1)
    both = len(log)
    run({"a": Logging("a", log)}, suite, keeper=cache, threads=1)
    assert len(log) == both * 3 // 2
    run(engines(log), suite, keeper=cache, threads=1, interleave=False)
    assert len(log) == both * 5 // 2


def test_timed_task_opens_no_shared_cache(shop, monkeypatch, tmp_path):
    def refuse(*args, **options):
        raise AssertionError("a timed task opened a shared cache")

    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("assay.experiment.worker.SharedCache", refuse)
    made = run({"one": make_engine("builtin"), "two": make_engine("builtin")}, load_gold("gold.yaml"))
    assert all(engine.index_seconds["shop"] > 0 for engine in made.engines)
    assert not [path for path in Path(tmp_path / "cache").rglob("*") if path.is_file() and "cells" in path.parts]
