"""Declared clusters: what is drawn independently when somebody says so, and that every table says it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ConfigError, NotComparableError
from assay.stats import all_pairs, compare, compare_scores, compare_slices, means, means_only, plan_comparison
from assay.stats.clustered import cluster_table, estimate
from assay.stats.score_table import partition
from assay.types import Scores, Unit
from tests.stats.conftest import B, or_none

FORMS = ("human", "keyword", "ai_optimized")
Q = "nDCG@10"


def unit(query: str, repository: str, team: str | None = None, form: str = "human") -> Unit:
    tags = {"kind": "x"} | ({} if team is None else {"team": team})
    return Unit("g", query, form, repository, f"h-{query}", form == "human", tags)


@st.composite
def worlds(draw) -> list[Unit]:
    """Draw intents in repositories, some with a team, each in some phrasings."""
    size = draw(st.integers(1, 25))
    units = []
    for number in range(size):
        home, team = draw(st.integers(0, 8)), draw(st.sampled_from([None, "a", "b", "c"]))
        units += [unit(f"q{number}", f"r{home}", team, form) for form in FORMS[: draw(st.integers(1, 3))]]
    return draw(st.permutations(units))


@given(worlds())
def test_partition_has_as_many_clusters_as_there_are_things_to_draw(units):
    homes = {u.repository for u in units}
    teams = {u.tags.get("team") or (None, u.repository) for u in units}
    assert partition(units, "repository").count == len(homes)
    assert partition(units, "intent").count == len({u.intent for u in units})
    assert partition(units, "tag:team").count == len(teams)
    assert partition(units).count == partition(units, "repository" if len(homes) >= 6 else "intent").count


@given(worlds(), st.sampled_from(["auto", "repository", "intent", "tag:team"]))
def test_phrasings_are_never_separate_units(units, cluster):
    found = partition(units, cluster)
    numbers: dict[str, set[int]] = {}
    for at, one in enumerate(units):
        numbers.setdefault(one.intent, set()).add(int(found.clusters[at]))
    assert all(len(clusters) == 1 for clusters in numbers.values())
    assert sorted(set(found.clusters.tolist())) == list(range(found.count))
    assert list(found.strata) == sorted(found.strata)


@given(worlds())
def test_values_of_a_tag_reach_over_repositories(units):
    found = partition(units, "tag:team")
    for i, one in enumerate(units):
        for j, other in enumerate(units):
            same = found.clusters[i] == found.clusters[j]
            if one.tags.get("team") or other.tags.get("team"):
                assert same == (one.tags.get("team") == other.tags.get("team"))
            else:
                assert same == (one.repository == other.repository)
    assert not found.strata.any()


def test_query_without_the_tag_is_not_taken_for_one_that_is_tagged_so():
    units = [unit("a", "r", "(none)"), unit("b", "r"), unit("c", "(none)", "r")]
    assert partition(units, "tag:team").count == 3


def test_intent_stays_whole_where_its_phrasings_are_tagged_apart():
    units = [unit("a", "r", "x"), unit("a", "r", "y", "keyword"), unit("b", "r", "y")]
    assert partition(units, "tag:team").clusters.tolist() == [0, 0, 1]


MANY = [unit(f"q{i}", f"r{i % 9}", "abcdefgh"[i % 8]) for i in range(72)]
FEW = [unit(f"q{i}", f"r{i % 3}", "ab"[i % 2]) for i in range(24)]


@pytest.mark.parametrize(
    ("units", "cluster", "label"),
    [
        (MANY, "auto", "over 9 repositories"),
        (MANY, "repository", "over 9 repositories"),
        (MANY, "intent", "on these 9 repositories only, by intent"),
        (MANY, "tag:team", "over 8 clusters by the tag team"),
        (FEW, "auto", "on these 3 repositories only"),
        (FEW, "repository", "over 3 repositories, fewer than the 6 that a p-value needs"),
        (FEW, "intent", "on these 3 repositories only, by intent"),
        (FEW, "tag:team", "over 2 clusters by the tag team, fewer than the 6 that a p-value needs"),
        (FEW[::3], "repository", "over 1 repository, fewer than the 6 that a p-value needs"),
        (FEW[::3], "intent", "on this repository, by intent"),
    ],
)
def test_label_says_which_unit_was_used(units, cluster, label):
    assert partition(units, cluster).label == label


def scored(units: list[Unit], engines: tuple[str, ...] = ("old", "new", "other")) -> Scores:
    values = np.random.default_rng(3).random((len(engines), 1, len(units)))
    return Scores(engines, (Q,), tuple(units), values)


@pytest.mark.parametrize(("cluster", "clusters"), [("repository", 9), ("intent", 72), ("tag:team", 8), ("auto", 9)])
def test_every_table_counts_the_declared_clusters(cluster, clusters):
    scores = scored(MANY)
    found = compare(scores, baseline="old", primary=Q, cluster=cluster, B=B)
    pairs = all_pairs(scores, Q, cluster=cluster, B=B)
    between = compare_scores(scores, scores, primary=Q, cluster=cluster, B=B)
    alone = means_only(scores, baseline="old", primary=Q, cluster=cluster)
    said = {(row.clusters, row.label) for one in (found, pairs, between) for row in one.rows}
    said |= {(row.clusters, row.label) for one in (found, pairs, between, alone) for row in one.means}
    said |= {(row.clusters, row.label) for row in means(scores, cluster=cluster)}
    assert said == {(clusters, partition(MANY, cluster).label)}
    assert found.label == between.label == partition(MANY, cluster).label


def test_slices_are_clustered_as_declared():
    units = [
        Unit(u.gold, u.query, u.form, u.repository, u.hash, True, {**u.tags, "half": str(i % 2)})
        for i, u in enumerate(MANY)
    ]
    rows = compare_slices(scored(units), baseline="old", primary=Q, cluster="tag:team", B=B)
    assert {row.row.clusters for row in rows if row.by == "half"} == {4}  # every second team


def test_standard_error_is_that_of_the_clusters():
    values = np.array([[float(i % 8)] for i in range(72)])  # all of the spread lies between the teams
    by_team, by_home = (estimate(cluster_table(values, partition(MANY, c))).se[0] for c in ("tag:team", "repository"))
    assert by_team > 5 * by_home


def test_icc_is_that_of_the_declared_clusters():
    values = np.zeros((2, 1, 72))
    values[1, 0] = [(i % 8) / 8 for i in range(72)]
    scores = Scores(("old", "new"), (Q,), tuple(MANY), values)
    icc = {c: compare(scores, baseline="old", primary=Q, cluster=c, B=B).rows[0].icc for c in ("tag:team", "auto")}
    assert icc == {"tag:team": pytest.approx(1.0), "auto": pytest.approx(0.0)}


@pytest.mark.parametrize("cluster", ["tag:tean", "team", "tag:", "repositories", ""])
def test_unit_that_is_not_there_is_refused(cluster):
    for call in (
        lambda: compare(scored(MANY), baseline="old", primary=Q, cluster=cluster, B=B),
        lambda: all_pairs(scored(MANY), Q, cluster=cluster, B=B),
        lambda: compare_slices(scored(MANY), baseline="old", primary=Q, cluster=cluster, B=B),
        lambda: plan_comparison(scored(MANY), baseline="old", engine="new", primary=Q, delta=0.1, cluster=cluster),
    ):
        with pytest.raises(ConfigError, match="cluster") as caught:
            call()
        assert caught.value.hint


def test_few_declared_repositories_give_no_p_value():
    row = compare(scored(FEW), baseline="old", primary=Q, cluster="repository", B=B).rows[0]
    assert row.p is None
    assert "no p-value: 3 repositories, at least 6 are needed" in row.notes
    row = compare(scored(FEW), baseline="old", primary=Q, cluster="tag:team", B=B).rows[0]
    assert "no p-value: 2 clusters, at least 6 are needed" in row.notes


def test_plan_is_made_for_the_declared_unit():
    scores = scored(MANY)
    plans = {
        c: plan_comparison(scores, baseline="old", engine="new", primary=Q, delta=0.05, cluster=c)
        for c in ("auto", "intent", "repository", "tag:team")
    }
    assert plans["auto"] == plans["repository"]
    assert "8 clusters by the tag team" in plans["tag:team"].sentence
    assert or_none(plans["intent"].mde_now) <= or_none(plans["auto"].mde_now)
    alone = plan_comparison(scored(FEW[::3]), baseline="old", engine="new", primary=Q, delta=0.05, cluster="repository")
    assert alone.queries is None


def test_plan_counts_the_spread_between_what_is_drawn_and_no_other():
    def now(units: list[Unit], cluster: str) -> float | None:
        values = np.zeros((2, 1, len(units)))
        values[1, 0] = [0.1 * int(u.repository[1:]) + 0.01 * (i % 5) for i, u in enumerate(units)]
        scores = Scores(("old", "new"), (Q,), tuple(units), values)
        return plan_comparison(scores, baseline="old", engine="new", primary=Q, delta=0.05, cluster=cluster).mde_now

    assert now(FEW, "auto") == now(FEW, "intent") is not None
    assert now(FEW, "repository") is None  # three clusters give no p-value
    assert or_none(now(MANY, "intent")) < or_none(now(MANY, "auto")) == now(MANY, "repository")


def test_family_of_two_runs_is_the_declared_one():
    scores = scored(MANY)
    found = compare_scores(scores, scores, primary=Q, family=["new"], B=B)
    assert [(row.engine, row.in_family) for row in found.rows][0] == ("new (b)", True)
    assert [row.verdict is None for row in found.rows] == [False, True, True]
    assert found.family_size == 1
    with pytest.raises(NotComparableError, match="family"):
        compare_scores(scores, scores, primary=Q, family=["nobody"], B=B)
