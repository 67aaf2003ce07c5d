"""Every mutant of tests/mutations.toml applies to the source; `python -m tests.mutate` runs them."""

import pytest

from tests.mutate import load_mutants

MUTANTS = load_mutants()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.rule)
def test_mutant_applies(mutant):
    assert mutant.misfit() is None


def test_there_are_as_many_mutants_as_ever():
    assert len(MUTANTS) >= 53
