from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from assay.errors import ConfigError
from assay.search.dense import Fusion, parse_fusion

ALL = [Fusion("relative"), Fusion("max"), Fusion("zscore"), Fusion("rrf"), Fusion("rrf", 5)]
#: Multiples of a quarter: differences survive the arithmetic, and ties happen.
VALUE = st.integers(-40, 40).map(lambda v: v / 4)
WEIGHT = st.integers(0, 8).map(lambda v: v / 4)


@st.composite
def fused(draw, least=1):
    """Some signals over the same candidates, and a weight each."""
    candidates, count = draw(st.integers(least, 8)), draw(st.integers(1, 4))
    signals = [np.array(draw(st.lists(VALUE, min_size=candidates, max_size=candidates))) for _ in range(count)]
    return signals, draw(st.lists(WEIGHT, min_size=count, max_size=count))


@pytest.mark.parametrize("fusion", ALL, ids=repr)
@given(data=st.data(), given_=fused())
def test_order_of_candidates_does_not_matter(fusion, data, given_):
    signals, weights = given_
    order = np.array(data.draw(st.permutations(range(len(signals[0])))))
    assert np.allclose(fusion([s[order] for s in signals], weights), fusion(signals, weights)[order], atol=1e-12)


@pytest.mark.parametrize("fusion", ALL, ids=repr)
@given(given_=fused(), scale=st.sampled_from([0.25, 3, 1000]), shift=st.sampled_from([-7.5, 0, 4]))
def test_scale_of_a_signal_does_not_matter(fusion, given_, scale, shift):
    signals, weights = given_
    moved = 0 if fusion.method == "max" else shift  # zero means something to it
    assert np.allclose(fusion([s * scale + moved for s in signals], weights), fusion(signals, weights), atol=1e-9)


@given(given_=fused())
def test_reciprocal_rank_sees_only_the_order(given_):
    signals, weights = given_
    assert (Fusion("rrf")([np.exp(s) for s in signals], weights) == Fusion("rrf")(signals, weights)).all()


@pytest.mark.parametrize("fusion", ALL, ids=repr)
@given(data=st.data(), given_=fused(least=2))
def test_raising_a_candidate_never_lowers_its_score(fusion, data, given_):
    signals, weights = given_
    which, who = data.draw(st.integers(0, len(signals) - 1)), data.draw(st.integers(0, len(signals[0]) - 1))
    raised = [s.copy() for s in signals]
    raised[which][who] += data.draw(st.integers(1, 20)) / 4
    before, after = fusion(signals, weights), fusion(raised, weights)
    if fusion.method == "zscore":
        assume(np.ptp(np.delete(signals[which], who)) > 0)  # with the others alike, z is ±sqrt(n-1) whatever the height
    assert after[who] >= before[who] - 1e-9
    if fusion.method != "zscore":
        assert (after[who] - after >= before[who] - before - 1e-9).all()


@pytest.mark.parametrize("fusion", ALL, ids=repr)
@given(given_=fused())
def test_weight_zero_leaves_a_signal_out(fusion, given_):
    signals, weights = given_
    noise = np.full(len(signals[0]), np.nan)  # not even looked at
    assert (fusion([noise, *signals], [0, *weights]) == fusion(signals, weights)).all()


@given(given_=fused())
def test_sums_stay_within_their_bounds(given_):
    signals, weights = given_
    for fusion in (Fusion("relative"), Fusion("max")):
        assert (fusion(signals, weights) >= 0).all()
        assert (fusion(signals, weights) <= sum(weights) + 1e-9).all()
    ranked = Fusion("rrf", 5)(signals, weights)
    assert (ranked <= sum(weights) / 6 + 1e-12).all()
    assert (ranked >= sum(weights) / (5 + len(signals[0])) - 1e-12).all()
    assert (np.abs(Fusion("zscore")(signals, weights)) <= sum(weights) * np.sqrt(len(signals[0])) + 1e-9).all()


@pytest.mark.parametrize("fusion", ALL, ids=repr)
@pytest.mark.parametrize("value", [0.0, 1.0, -2.0, 0.1, 1e-300])
def test_signal_that_is_the_same_everywhere_changes_no_difference(fusion, value):
    other = np.array([1.0, 3.0, 2.0, 5.0, 4.0, 0.0, 7.0, 6.0, 9.0, 8.0])
    alone, together = fusion([other], [1]), fusion([np.full(10, value), other], [5, 1])
    assert np.isfinite(together).all()
    assert np.allclose(together - together[0], alone - alone[0], atol=1e-12)


@pytest.mark.parametrize("fusion", [Fusion("relative"), Fusion("zscore")], ids=repr)
def test_signal_that_is_the_same_everywhere_says_nothing(fusion):
    assert np.full(7, 0.1).std() > 0  # rounding, which must not be taken for a deviation
    assert (fusion([np.full(7, 0.1)], [1.0]) == 0).all()


@pytest.mark.parametrize("fusion", ALL, ids=repr)
def test_no_candidates_and_no_signals_give_nothing(fusion):
    assert fusion([np.zeros(0), np.zeros(0)], [1, 1]).shape == (0,)
    assert fusion([], []).shape == (0,)


@pytest.mark.parametrize("fusion", ALL, ids=repr)
def test_signals_are_not_changed(fusion):
    signal = np.array([1.0, -1.0, 3.0])
    fusion([signal], [2.0])
    assert signal.tolist() == [1.0, -1.0, 3.0]


def test_values_are_the_textbook_ones():
    signals, weights = [np.array([4.0, 2.0, 0.0]), np.array([0.0, 0.0, 5.0])], [1.0, 0.5]
    assert Fusion("relative")(signals, weights).tolist() == [1.0, 0.5, 0.5]
    assert Fusion("max")([np.array([4.0, 2.0, -1.0])], [1.0]).tolist() == [1.0, 0.5, 0.0]
    assert np.allclose(Fusion("zscore")([np.array([1.0, 2.0, 3.0])], [2.0]), np.array([-1, 0, 1]) * np.sqrt(1.5) * 2)
    # the two that the second signal did not find are both last in it
    assert np.allclose(Fusion("rrf")(signals, weights), [1 / 61 + 0.5 / 63, 1 / 62 + 0.5 / 63, 1 / 63 + 0.5 / 61])


@pytest.mark.parametrize("fusion", ALL, ids=repr)
def test_repr_reads_back(fusion):
    assert parse_fusion(repr(fusion)) == fusion
    assert len({repr(other) for other in ALL}) == len(ALL)


def test_names_are_known():
    fusions = [Fusion("relative"), Fusion("max"), Fusion("zscore"), Fusion("rrf", 60)]
    assert [parse_fusion(name) for name in ("relative", "max", "zscore", "rrf")] == fusions


@pytest.mark.parametrize("text", ["", "rff", "rrf(k=-1)", "rrf(k=x)", "maximum of all"])
def test_unknown_name_is_refused_with_the_known(text):
    with pytest.raises(ConfigError, match="relative, max, zscore, rrf"):
        parse_fusion(text)
