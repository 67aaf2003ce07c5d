"""The draw: as many as wanted, few of a file, the same for a seed."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assay.gold.code_index import SampleSize, draw_by_file

candidates = st.lists(
    st.tuples(st.sampled_from("abcd"), st.integers(1, 30)),
    unique=True,
)


@given(candidates, st.integers(1, 12), st.integers(1, 5), st.integers(0, 3))
def test_draw_is_bounded_balanced_and_does_not_depend_on_order(every, count, most, seed):
    wanted = SampleSize(count, most, seed)
    drawn = draw_by_file(every, tuple, wanted, np.random.default_rng(seed))
    assert drawn == draw_by_file(every[::-1], tuple, wanted, np.random.default_rng(seed))
    assert len(set(drawn)) == len(drawn)
    assert set(drawn) <= set(every)
    sizes = {path: sum(one[0] == path for one in every) for path in {one[0] for one in every}}
    assert len(drawn) == min(count, sum(min(size, most) for size in sizes.values()))
    taken = {path: sum(one[0] == path for one in drawn) for path in sizes}
    full = {path: min(sizes[path], most) for path in sizes}
    short = [taken[path] for path in sizes if taken[path] < full[path]]
    assert max(taken.values(), default=0) <= (min(short) + 1 if short else most)


def test_another_seed_draws_others():
    every = [("a", n) for n in range(1, 100)]
    wanted = SampleSize(4, 4, 0)
    assert draw_by_file(every, tuple, wanted, np.random.default_rng(0)) != draw_by_file(
        every, tuple, wanted, np.random.default_rng(1)
    )
