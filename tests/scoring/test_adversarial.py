"""Displacement and rank gap: censored at k + 1, over every query that has adversaries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.scoring import breakdown, score
from assay.scoring.measures import Displacement, RankGap
from assay.types import Adversary, Hit, Query, Span, Status, Target


@pytest.mark.parametrize(
    ("found", "displaced", "gap"),
    [
        ("w r x", 1, -1),
        ("r w x", 0, 1),
        ("x w y", 1, -2),  # the primary is missing: its rank is k + 1 = 4
        ("x r y", 0, 2),  # the adversary is missing
        ("x y z", 0, 0),  # both are
        ("", 0, 0),
        ("r", 0, 3),
        ("w", 1, -3),
    ],
)
def test_displacement_and_rank_gap_censor_at_k_plus_one(value, hits, targets, adversaries, found, displaced, gap):
    ranked, right, wrong = hits(*found.split()), targets("r"), adversaries("w")
    assert value(Displacement @ 3, ranked, right, wrong) == displaced
    assert value(RankGap @ 3, ranked, right, wrong) == gap


def test_displacement_ignores_what_lies_below_the_cutoff(value, hits, targets, adversaries):
    assert value(Displacement @ 2, hits("x", "y", "w"), targets("r"), adversaries("w")) == 0
    assert value(RankGap @ 2, hits("x", "y", "w"), targets("r"), adversaries("w")) == 0


def test_displacement_asks_for_the_primary_not_for_any_target(value, hits, targets, adversaries):
    assert value(Displacement @ 5, hits("s", "w", "r"), targets("r", "s=1"), adversaries("w")) == 1


def test_adversarial_measures_do_not_apply_without_adversaries(value, hits, targets, adversaries):
    assert math.isnan(value(Displacement @ 5, hits("r"), targets("r")))
    assert math.isnan(value(RankGap @ 5, hits("r"), targets("r")))
    assert math.isnan(value(RankGap @ 5, hits("r"), targets("r=1"), adversaries("w")))


def test_adversary_in_a_targets_file_counts_by_line_and_not_by_file(value, hits, targets, adversaries):
    right, wrong = targets("a:1-10"), adversaries("a:20-30")
    assert math.isnan(value(Displacement @ 5, hits("a:25-26"), right, wrong))
    assert value(Displacement(level="lines") @ 5, hits("a:25-26", "a:1-2"), right, wrong) == 1
    assert value(Displacement(level="lines") @ 5, hits("a:1-2", "a:25-26"), right, wrong) == 0


def test_hit_that_holds_a_target_is_not_the_adversary(value, hits, targets, adversaries):
    right, wrong = targets("a:1-10", "a:15-16=1"), adversaries("a:12-30")
    assert value(RankGap(level="lines") @ 3, hits("a:1-30"), right, wrong) == 3
    assert value(RankGap(level="lines") @ 3, hits("a:14-15", "a:1-2"), right, wrong) == 2  # it found the secondary
    assert value(RankGap(level="lines") @ 3, hits("a:20-21", "a:1-2"), right, wrong) == -1


def test_adversary_inside_a_target_is_ignored(value, hits, targets, adversaries):
    assert math.isnan(value(Displacement(level="lines") @ 3, hits("a:4-5"), targets("a:1-10"), adversaries("a:4-5")))
    assert math.isnan(value(Displacement(level="lines") @ 3, hits("a:4-5"), targets("a"), adversaries("a:4-5")))
    assert value(Displacement(level="lines") @ 3, hits("a:11-11"), targets("a:1-10"), adversaries("a:4-11")) == 1


def test_failed_query_is_displaced_with_the_widest_gap(make_run, targets, adversaries):
    query = Query("q", {"human": "?"}, targets("r"), adversaries("w"))
    run = make_run([query], {"e": {"q": {"human": Status.TIMEOUT}}})
    assert score(run, [Displacement @ 10, RankGap @ 10]).values[0, :, 0].tolist() == [1, -10]


FILES = [f"f{n}" for n in range(8)]


@given(st.permutations(FILES), st.integers(0, 8), st.integers(1, 10), st.integers(1, 3), st.integers(1, 3))
def test_adversarial_measures_equal_their_definition(value, ranked, length, k, primaries, rivals):
    ranked = ranked[:length]
    right, wrong = FILES[:primaries], FILES[primaries : primaries + rivals]
    best = [min([ranked[:k].index(f) + 1 for f in files if f in ranked[:k]] or [k + 1]) for files in (right, wrong)]
    found = [Hit(path) for path in ranked]
    targets = [Target(Span(path)) for path in right]
    adversaries = [Adversary(Target(Span(path)), "sibling", "strong", "") for path in wrong]
    displaced = value(Displacement @ k, found, targets, adversaries)
    assert displaced == (best[1] <= k and best[1] < best[0])
    assert value(RankGap @ k, found, targets, adversaries) == best[1] - best[0]


def test_breakdown_counts_each_sort_alone(make_run, hits, targets, adversaries):
    both = (*adversaries("near", strength="strong"), *adversaries("far", relationship="mock", strength="weak"))
    queries = [
        Query("one", {"human": "?"}, targets("r"), both),
        Query("two", {"human": "?"}, targets("r"), adversaries("near")),
    ]
    answers = {"one": {"human": hits("far", "r", "near")}, "two": {"human": hits("near", "r")}}
    run = make_run(queries, {"e": answers})
    slices = breakdown(run, [Displacement @ 5], "relationship")
    assert [(s.by, s.label, s.adversaries) for s in slices] == [
        ("relationship", "mock", 1),
        ("relationship", "sibling", 2),
    ]
    np.testing.assert_array_equal(slices[0].scores.values[0, 0], [1, math.nan])
    np.testing.assert_array_equal(slices[1].scores.values[0, 0], [0, 1])
    assert [s.label for s in breakdown(run, [RankGap @ 5], "strength")] == ["strong", "weak"]
