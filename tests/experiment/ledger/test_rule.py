"""A rule is a value: what it asks for, what it says, and what it makes of a comparison."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from assay.errors import ConfigError
from assay.experiment.ledger import PRESETS, AcceptanceRule, apply_rule, read_rule
from assay.stats import compare
from assay.stats.compare import RepositoryChange
from assay.stats.records import Verdict
from assay.types import Scores, Unit

SEED = PRESETS["seed-001"]


@pytest.fixture(scope="module")
def row():
    """A comparison with the verdict better: half of the queries gain 0.4, a quarter lose 0.1."""
    units = tuple(Unit("g", f"q{i}", "human", "r") for i in range(40))
    old = np.linspace(0.2, 0.6, 40)
    new = old + np.where(np.arange(40) % 4 < 2, 0.4, np.where(np.arange(40) % 4 == 2, 0.0, -0.1))
    scores = Scores(("old", "new"), ("nDCG@10",), units, np.stack([old, new])[:, None, :])
    return compare(scores, baseline="old", primary="nDCG@10").rows[0]


def accepted(rule, row, changes):
    return all(reason.held for reason in apply_rule(rule, row, changes))


def change(name, queries, gain):
    return RepositoryChange(name, queries, gain, gain)


def test_a_significant_gain_is_accepted_and_says_why(row):
    found = apply_rule(AcceptanceRule(), row, [change("r", 40, 0.175)])
    assert all(reason.held for reason in found)
    assert [reason.text for reason in found] == [
        "the verdict is better",
        "the gain is +0.1750",
        "none of 1 repositories loses 0.02",
    ]


@pytest.mark.parametrize("verdict", [v for v in Verdict if v is not Verdict.BETTER])
def test_the_usual_rule_wants_the_verdict(row, verdict):
    assert not accepted(AcceptanceRule(), replace(row, verdict=verdict), ())
    assert accepted(SEED, replace(row, verdict=verdict), ())


@pytest.mark.parametrize(
    ("loss", "queries", "usual", "seed"),
    [
        (-0.02, 30, False, False),
        (-0.02, 29, True, False),
        (-0.0199, 300, True, True),
        (-0.5, 1, True, False),
        (0.0, 30, True, True),
    ],
)
def test_a_repository_that_loses_too_much_vetoes(row, loss, queries, usual, seed):
    changes = [change("good", 100, 0.2), change("bad", queries, loss)]
    assert accepted(AcceptanceRule(), row, changes) is usual
    assert accepted(SEED, row, changes) is seed
    assert accepted(replace(SEED, worst_repository=-1.0), row, changes)


def test_the_seed_rejects_what_is_not_net_positive(row):
    for difference in (0.0, 1e-12, -0.001):
        assert not accepted(SEED, replace(row, difference=difference), ())
    assert accepted(SEED, replace(row, difference=0.0004), ())
    assert not accepted(replace(SEED, least=0.01), replace(row, difference=0.01), ())


def test_less_is_a_gain_where_less_is_better(row):
    lower = replace(row, higher_is_better=False)
    assert not accepted(SEED, lower, ())
    assert accepted(SEED, replace(lower, difference=-0.05), ())


def test_a_rule_is_read_by_name_or_as_a_table():
    assert read_rule("seed-001") == SEED
    assert read_rule({}) == AcceptanceRule()
    assert read_rule({"preset": "seed-001", "least": 0.001}) == replace(SEED, least=0.001)
    assert read_rule(asdict(SEED)) == SEED
    assert read_rule({"verdict": ["better", "not inferior"], "worst_repository": -0.1}).verdict == (
        "better",
        "not inferior",
    )


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("significance", "did you mean 'significant'"),
        ({"verdicts": []}, "did you mean 'verdict'"),
        ({"verdict": ["bettr"]}, "did you mean 'better'"),
        ({"least": "much"}, "least"),
        ({"repository_queries": 0}, "repository_queries"),
        (7, "rule: expected a table or a name, got 7"),
    ],
)
def test_what_is_wrong_with_a_rule_is_told(wrong, said):
    with pytest.raises(ConfigError) as error:
        read_rule(wrong)
    assert said in str(error.value)


def test_a_rule_says_itself_in_a_sentence():
    assert str(AcceptanceRule()) == (
        "accepted when the verdict is better, the gain is more than 0 and no repository with 30 queries or more loses "
        "0.02 or more"
    )
    assert str(SEED) == "accepted when the gain is more than 0 and no repository loses 0.02 or more"
    assert str(replace(SEED, worst_repository=-1.0)) == "accepted when the gain is more than 0"


def test_the_schema_for_editors_knows_every_key():
    import json
    from dataclasses import fields
    from importlib import resources

    from assay.experiment.ledger import LedgerSettings
    from assay.experiment.tuning import TuneSettings

    text = resources.files("assay.data").joinpath("schemas/assay.schema.json").read_text(encoding="utf-8")
    tables = json.loads(text)["properties"]
    for name, record in (("tune", TuneSettings), ("ledger", LedgerSettings)):
        assert list(tables[name]["properties"]) == [field.name for field in fields(record)]
    named, table = tables["ledger"]["properties"]["rule"]["oneOf"]
    assert named["enum"] == list(PRESETS)
    assert list(table["properties"]) == [field.name for field in fields(AcceptanceRule)]
    assert table["properties"]["verdict"]["items"]["enum"] == [str(verdict) for verdict in Verdict]
