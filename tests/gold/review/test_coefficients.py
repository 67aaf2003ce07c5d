"""Agreement equals what was published, obeys its laws, and is what other people's code computes."""

import itertools
import random

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from assay.errors import ConfigError
from assay.gold.review.agreement import (
    METRICS,
    Ratings,
    Resampling,
    bootstrap_interval,
    cohen_kappa,
    confusion_matrix,
    krippendorff_alpha,
    percent_agreement,
)
from tests.properties import examples

GRADES = ("0", "1", "2")


def table(counts, values):
    """Two reviewers whose confusion table is given."""
    return Ratings.of(
        {"a": one, "b": other}
        for one, row in zip(values, counts, strict=True)
        for other, count in zip(values, row, strict=True)
        for _ in range(count)
    )


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        (((20, 5), (10, 15)), 0.4),  # the grant proposals of the textbook example
        (((45, 15), (25, 15)), 0.1304),  # the same percent agreement ...
        (((25, 35), (5, 35)), 0.2593),  # ... and other margins
        (((88, 14, 18), (10, 40, 10), (2, 6, 12)), 0.492),  # Cohen 1960, table 1, in 200ths
    ],
)
def test_kappa_equals_published_examples(counts, expected):
    values = ("yes", "no", "maybe")[: len(counts)]
    assert cohen_kappa(table(counts, values), "a", "b", values) == pytest.approx(expected, abs=5e-4)


def test_weighted_kappa_equals_the_worked_example():
    # Fleiss, Levin & Paik, Statistical Methods for Rates and Proportions: 3 ordered categories, n = 100
    counts, values = ((75, 1, 4), (5, 4, 1), (0, 0, 10)), ("1", "2", "3")
    ratings = table(counts, values)
    assert cohen_kappa(ratings, "a", "b", values) == pytest.approx(0.676, abs=5e-4)
    # by hand: Σ w·o = 1 + 4·2 + 5 + 1 = 15 of 100; Σ w·e = (80·5 + 80·15·2 + 10·80 + 10·15 + 10·80·2 + 10·5)/100 = 54
    assert cohen_kappa(ratings, "a", "b", values, "linear") == pytest.approx(1 - 15 / 54)


#: Krippendorff 2011, the reliability data of four observers and twelve units; None is a missing value.
OBSERVERS = (
    (1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None),
    (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3),
    (None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None),
    (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None),
)


def units(observers):
    """Turn a row an observer into a mapping an item."""
    return [
        {f"r{row}": str(value) for row, value in enumerate(column) if value is not None}
        for column in zip(*observers, strict=True)
    ]


@pytest.mark.parametrize(("metric", "expected"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_equals_krippendorffs_own_example(metric, expected):
    ratings = Ratings.of(units(OBSERVERS))
    assert krippendorff_alpha(ratings, ("1", "2", "3", "4", "5"), metric) == pytest.approx(expected, abs=5e-4)


def test_alpha_of_two_observers_and_binary_data_equals_krippendorffs_own_example():
    observers = ((0, 1, 0, 0, 0, 0, 0, 0, 1, 0), (1, 1, 1, 0, 0, 1, 0, 0, 0, 0))
    assert krippendorff_alpha(Ratings.of(units(observers)), ("0", "1")) == pytest.approx(0.095, abs=5e-4)


votes = st.lists(
    st.dictionaries(st.sampled_from(["ada", "bob", "cy", "dee"]), st.sampled_from(GRADES), max_size=4),
    min_size=1,
    max_size=30,
)
pairs = st.lists(st.tuples(st.sampled_from(GRADES), st.sampled_from(GRADES)), min_size=1, max_size=40)


@examples(60)
@given(items=votes)
def test_alpha_equals_the_krippendorff_package(items):
    names = ("ada", "bob", "cy", "dee")
    data = np.array([[float(item[name]) if name in item else np.nan for item in items] for name in names])
    for metric in METRICS:
        ours = krippendorff_alpha(Ratings.of(items), GRADES, metric)
        if ours is None:
            continue
        theirs = krippendorff.alpha(reliability_data=data, level_of_measurement=metric, value_domain=[0.0, 1.0, 2.0])
        assert ours == pytest.approx(theirs, abs=1e-9)


@examples(60)
@given(said=pairs, weights=st.sampled_from(["none", "linear", "quadratic"]))
def test_kappa_equals_scikit_learn(said, weights):
    ratings = Ratings.of({"a": one, "b": other} for one, other in said)
    ours = cohen_kappa(ratings, "a", "b", GRADES, weights)
    first, second = zip(*said, strict=True)
    if ours is None:
        assert len(set(first) | set(second)) == 1
        return
    theirs = cohen_kappa_score(first, second, labels=GRADES, weights=None if weights == "none" else weights)
    assert ours == pytest.approx(theirs, abs=1e-9)


@examples(60)
@given(items=votes, data=st.data())
def test_neither_the_order_of_items_nor_the_names_of_reviewers_matter(items, data):
    shuffled = data.draw(st.permutations(items))
    renamed = dict(zip(["ada", "bob", "cy", "dee"], data.draw(st.permutations(["w", "x", "y", "z"])), strict=True))
    other = [{renamed[name]: value for name, value in item.items()} for item in shuffled]
    for metric in METRICS:
        one, two = (krippendorff_alpha(Ratings.of(some), GRADES, metric) for some in (items, other))
        assert one == two or one == pytest.approx(two, abs=1e-9)
    assert percent_agreement(Ratings.of(items)) == percent_agreement(Ratings.of(other))


@examples(60)
@given(items=votes, order=st.permutations(["x", "y", "z"]))
def test_nominal_values_are_only_names(items, order):
    names = dict(zip(GRADES, order, strict=True))
    other = [{who: names[value] for who, value in item.items()} for item in items]
    one = krippendorff_alpha(Ratings.of(items), GRADES)
    two = krippendorff_alpha(Ratings.of(other), ("x", "y", "z"))
    assert one == two or one == pytest.approx(two, abs=1e-9)


@given(values=st.lists(st.sampled_from(GRADES), min_size=2, max_size=20).filter(lambda said: len(set(said)) > 1))
def test_perfect_agreement_is_one(values):
    ratings = Ratings.of({"a": value, "b": value, "c": value} for value in values)
    assert all(krippendorff_alpha(ratings, GRADES, metric) == pytest.approx(1) for metric in METRICS)
    assert cohen_kappa(ratings, "a", "b", GRADES) == 1
    assert percent_agreement(ratings) == 1


def test_votes_by_chance_agree_by_chance():
    rng = random.Random(5)
    ratings = Ratings.of({name: rng.choice(GRADES) for name in "abc"} for _ in range(4000))
    assert all(abs(krippendorff_alpha(ratings, GRADES, metric) or 1) < 0.03 for metric in METRICS)
    assert abs(cohen_kappa(ratings, "a", "b", GRADES) or 1) < 0.05


def test_agreement_that_chance_would_reach_is_not_a_number():
    ratings = Ratings.of({"a": "2", "b": "2"} for _ in range(5))
    assert cohen_kappa(ratings, "a", "b", GRADES) is None
    assert krippendorff_alpha(ratings, GRADES) is None
    assert bootstrap_interval(lambda r: krippendorff_alpha(r, GRADES), ratings).value is None
    assert percent_agreement(ratings) == 1


def test_a_lone_vote_says_nothing():
    some = [{"a": "2", "b": "1"}, {"a": "0", "b": "0"}]
    with_lone = [*some, {"a": "1"}, {}]
    assert Ratings.of(with_lone) == Ratings.of(some)
    assert percent_agreement(Ratings.of([{"a": "1"}])) is None


def test_graded_metrics_forgive_near_votes_more_than_far_ones():
    near = Ratings.of([{"a": "2", "b": "1"}, *({"a": g, "b": g} for g in GRADES * 3)])
    far = Ratings.of([{"a": "2", "b": "0"}, *({"a": g, "b": g} for g in GRADES * 3)])
    for metric in ("ordinal", "interval"):
        assert (krippendorff_alpha(near, GRADES, metric) or 0) > (krippendorff_alpha(far, GRADES, metric) or 0)
    assert krippendorff_alpha(near, GRADES) == pytest.approx(krippendorff_alpha(far, GRADES))


def test_interval_holds_the_value_and_is_the_same_each_time():
    rng = random.Random(3)
    ratings = Ratings.of(
        {"a": (one := rng.choice(GRADES)), "b": one if rng.random() < 0.7 else rng.choice(GRADES)} for _ in range(80)
    )
    found = [bootstrap_interval(lambda r: krippendorff_alpha(r, GRADES, "ordinal"), ratings) for _ in range(2)]
    assert found[0] == found[1]
    low, value, high = found[0].low, found[0].value, found[0].high
    assert low is not None
    assert value is not None
    assert high is not None
    assert low < value < high
    wider = bootstrap_interval(lambda r: krippendorff_alpha(r, GRADES, "ordinal"), ratings, Resampling(level=0.99))
    assert wider.low is not None
    assert wider.low < low


@pytest.mark.nightly
def test_interval_covers_the_truth_about_as_often_as_it_says():
    rng, inside, trials = random.Random(11), 0, 150
    agree = 0.6  # with uniform margins κ of "copy with probability p, else draw" is p
    for trial in range(trials):
        ratings = Ratings.of(
            {"a": (one := rng.choice(GRADES)), "b": one if rng.random() < agree else rng.choice(GRADES)}
            for _ in range(100)
        )
        found = bootstrap_interval(
            lambda r: cohen_kappa(r, "a", "b", GRADES), ratings, Resampling(draws=200, seed=trial)
        )
        inside += (found.low or 0) <= agree <= (found.high or 0)
    assert 0.88 <= inside / trials <= 0.99


def test_confusion_counts_every_item_that_both_voted_on():
    ratings = Ratings.of([{"a": "2", "b": "1"}, {"a": "2", "b": "1", "c": "0"}, {"a": "0", "c": "0"}])
    assert confusion_matrix(ratings, "a", "b", GRADES) == ((0, 0, 0), (0, 0, 0), (0, 2, 0))
    assert sum(itertools.chain(*confusion_matrix(ratings, "a", "c", GRADES))) == 2


def test_a_value_nobody_named_is_refused():
    ratings = Ratings.of([{"a": "2", "b": "3"}])
    with pytest.raises(ConfigError, match="got '3'"):
        krippendorff_alpha(ratings, GRADES)
    with pytest.raises(ConfigError, match="got '3'"):
        cohen_kappa(ratings, "a", "b", GRADES)
    with pytest.raises(ConfigError, match="expected numbers as votes, got x, y"):
        krippendorff_alpha(Ratings.of([{"a": "x", "b": "y"}]), ("x", "y"), "interval")
