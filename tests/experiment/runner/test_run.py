"""The runner: every engine is asked everything, and nothing an engine does stops it."""

import threading

import pytest

from assay import Hit, load_gold, run, score
from assay.errors import ConfigError, CorpusError, GoldError, InputError
from assay.experiment import write_run
from assay.scoring import RR, nDCG
from assay.types import Status


@pytest.fixture
def never():
    """An event that happens after the test, so that no thread is left waiting."""
    event = threading.Event()
    yield event
    event.set()


def everything(query, k):
    return ["shop/cart.py", "shop/tax.py", "shop/retry.py"][:k]


def test_run_asks_every_form_of_every_query(shop):
    made = run({"mine": everything}, load_gold("gold.yaml"), k=3)
    asked = [(r.query, r.form) for r in made.engines[0].rankings]
    forms = ["human", "keyword", "wrong_terminology"]
    assert asked == [(q, f) for q in ("cart-total", "tax-lookup", "retry-wait") for f in forms]


def test_run_asks_only_the_forms_that_are_wanted(shop):
    made = run({"mine": everything}, load_gold("gold.yaml"), k=3, forms=["keyword"])
    assert {r.form for r in made.engines[0].rankings} == {"keyword"}


def test_run_with_a_form_that_nobody_has_is_refused(shop):
    with pytest.raises(GoldError, match="unknown phrasing 'cross_module'"):
        run({"mine": everything}, load_gold("gold.yaml"), forms=["cross_module"])


def test_run_asks_each_engine_for_the_k_that_is_scored(shop):
    seen = []

    def engine(query, k):
        seen.append(k)
        return []

    run({"mine": engine}, load_gold("gold.yaml"), k=7)
    assert set(seen) == {7}


def test_run_cuts_what_was_not_asked_for_and_says_so(shop):
    made = run({"greedy": lambda q, k: ["shop/cart.py"] * 50}, load_gold("gold.yaml"), k=5)
    first = made.engines[0].rankings[0]
    assert len(first.hits) == 5
    assert any("at most 5 results, got 50" in note for note in first.notes)


def test_run_counts_tokens_of_the_lines_of_a_hit(shop):
    hits = [Hit("shop/tax.py", 1, 1), Hit("shop/tax.py")]
    made = run({"mine": lambda q, k: hits}, load_gold("gold.yaml"))
    text = (shop / "shop/tax.py").read_bytes()
    first_line = text.index(b"\n") + 1
    assert made.engines[0].rankings[0].tokens == (-(-first_line // 4), -(-len(text) // 4))


def test_run_scores_a_raising_engine_by_the_worst_value_and_goes_on(shop):
    def flaky(query, k):
        if "total" in query:
            raise RuntimeError("boom")
        return everything(query, k)

    made = run({"flaky": flaky, "fine": everything}, load_gold("gold.yaml"), k=3)
    statuses = {r.query: r.status for r in made.engines[0].rankings if r.form == "human"}
    assert statuses == {"cart-total": Status.ERROR, "tax-lookup": Status.OK, "retry-wait": Status.OK}
    values = score(made, [RR @ 3]).values
    assert values[0, 0, 0] == 0.0
    assert values[1, 0, 0] == 1.0


def test_run_scores_a_hanging_engine_as_a_timeout(shop, never):
    def hangs(query, k):
        never.wait()
        return everything(query, k)

    made = run({"slow": hangs}, load_gold("gold.yaml"), k=3, timeout=0.05, forms=["human"], failed="report")
    assert [str(r.status) for r in made.engines[0].rankings] == ["timeout"] * 3
    assert list(score(made, [RR @ 3]).values[0, 0]) == [0.0] * 3


def test_run_with_an_engine_that_does_not_open_scores_it_worst_and_keeps_the_others(shop):
    class Broken:
        config = {"kind": "broken"}

        def open(self, corpus):
            raise RuntimeError("no index for you")

    made = run({"broken": Broken(), "fine": everything}, load_gold("gold.yaml"), k=3, failed="report")
    assert all(r.status == Status.ERROR for r in made.engines[0].rankings)
    assert any("no index for you" in note for note in made.engines[0].notes)
    assert score(made, [nDCG @ 3]).values[0].max() == 0.0
    assert score(made, [RR @ 3]).values[1].max() == 1.0


def test_run_checks_gold_before_any_engine_starts(shop):
    text = (shop / "gold.yaml").read_text().replace("Cart.total", "Cart.sum")
    (shop / "gold.yaml").write_text(text)
    asked: list[str] = []

    def engine(query, k):
        asked.append(query)
        return []

    with pytest.raises(GoldError, match=r"Cart\.sum"):
        run({"mine": engine}, load_gold("gold.yaml"))
    assert asked == []


def test_run_can_report_what_is_missing_and_go_on(shop):
    text = (shop / "gold.yaml").read_text().replace("Cart.total", "Cart.sum")
    (shop / "gold.yaml").write_text(text)
    made = run({"mine": everything}, load_gold("gold.yaml"), missing="report")
    assert {r.query for r in made.engines[0].rankings} == {"tax-lookup", "retry-wait"}
    assert "Cart.sum" in str(made.header.corpora)


def test_run_on_a_vanished_corpus_is_an_input_error(shop):
    text = (shop / "gold.yaml").read_text().replace("{path: .}", "{path: gone}")
    (shop / "gold.yaml").write_text(text)
    with pytest.raises(CorpusError, match="gone"):
        run({"mine": everything}, load_gold("gold.yaml"))


def test_run_refuses_a_k_below_one(shop):
    with pytest.raises(InputError, match="k of at least 1, got 0"):
        run({"mine": everything}, load_gold("gold.yaml"), k=0)


def test_run_refuses_a_name_that_no_file_can_hold(shop):
    with pytest.raises(ConfigError, match=r"'half\\ud800': character 5"):
        run({"mine": everything, "half\ud800": everything}, load_gold("gold.yaml"))


def test_run_refuses_what_is_no_engine(shop):
    with pytest.raises(ConfigError):
        run({"mine": 7}, load_gold("gold.yaml"))  # type: ignore[dict-item]


def test_run_keeps_no_source_code(shop):
    secret = "PRICELESS-SNIPPET"
    made = run({"mine": lambda q, k: [Hit("shop/cart.py", 1, 2, 1.0, secret)]}, load_gold("gold.yaml"))
    assert all(hit.snippet is None for r in made.engines[0].rankings for hit in r.hits)


def test_run_knows_the_line_sizes_of_targets_that_nobody_returned(shop):
    made = run({"mine": lambda q, k: []}, load_gold("gold.yaml"))
    assert {"shop/cart.py", "shop/tax.py", "shop/retry.py"} <= set(made.lines["shop"])


def found_paths(shop, gold: str) -> list[str]:
    """What an engine that returns all it is given sees of the corpus."""
    seen: list[str] = []

    class All:
        config = {"kind": "all"}

        def open(self, corpus):
            seen.extend(file.path for file in corpus.files)
            return self

        def search(self, query, k):
            return []

        def close(self):
            pass

    run({"all": All()}, load_gold(gold))
    return seen


def test_gold_set_inside_its_corpus_is_hidden_from_the_engines(shop):
    (shop / "assay.toml").write_text("[run]\n")
    (shop / "odd [x] #1.yaml").write_text((shop / "gold.yaml").read_text())
    assert {"gold.yaml", "assay.toml"} & set(found_paths(shop, "gold.yaml")) == set()
    assert "odd [x] #1.yaml" not in found_paths(shop, "odd [x] #1.yaml")
    assert "shop/cart.py" in found_paths(shop, "gold.yaml")


def test_results_inside_the_corpus_are_hidden_from_the_next_run(shop):
    write_run(run({"mine": everything}, load_gold("gold.yaml")), shop / "results")
    assert not [path for path in found_paths(shop, "gold.yaml") if path.startswith("results/")]


def test_oversampling_engine_is_asked_for_more_and_it_is_printed(shop):
    class Chunky:
        config = {"kind": "chunky"}
        oversample = 3

        def open(self, corpus):
            return self

        def search(self, query, k):
            assert k == 6
            return [Hit("shop/cart.py", n, n) for n in range(1, 6)] + [Hit("shop/tax.py")]

        def close(self):
            pass

    made = run({"chunky": Chunky()}, load_gold("gold.yaml"), k=2, forms=["human"])
    assert any("3 × k" in note for note in made.engines[0].notes)
    assert list(score(made, [RR @ 2]).values[0, 0]) == [1.0, 0.5, 0.0]


def test_engine_that_hangs_while_opening_is_given_up(shop, never):
    class Slow:
        config = {"kind": "slow"}

        def open(self, corpus):
            never.wait()

    made = run({"slow": Slow()}, load_gold("gold.yaml"), index_timeout=0.1, failed="report")
    assert all(r.status == Status.ERROR for r in made.engines[0].rankings)
    assert any("0.1 s" in note for note in made.engines[0].notes)
