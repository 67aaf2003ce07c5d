"""`assay related` as a user meets it, and what it finds."""

import json

import pytest

from assay.cli.main import main
from assay.search import Index
from tests.conftest import write_tree

FILES = {
    "bank/ledger.py": '''\
"""Where money is written down."""

from bank.rates import exchange_rate


def post_entry(account, amount, currency):
    """Write an amount down, in the currency of the account."""
    factor = exchange_rate(currency, account.currency)
    value = amount * factor
    account.entries.append(value)
    account.balance = account.balance + value
    account.touched = True
    return value
''',
    "bank/rates.py": '''\
"""What currencies are worth."""

TABLE = {("eur", "usd"): 1.1, ("usd", "eur"): 0.9}


def exchange_rate(source, target):
    """Look up what a currency is worth in another one."""
    if source == target:
        return 1.0
    found = TABLE.get((source, target))
    if found is None:
        raise LookupError((source, target))
    return found
''',
    "bank/transfer.py": '''\
"""Money that moves."""

from bank.ledger import post_entry


def transfer(origin, goal, amount, currency):
    """Take an amount from one account and give it to another, each in its own currency."""
    taken = post_entry(origin, -amount, currency)
    given = post_entry(goal, amount, currency)
    origin.last = goal
    goal.last = origin
    return taken, given
''',
    "bank/weather.py": '''\
"""Nothing to do with money."""


def forecast(clouds, wind):
    """Guess whether rain falls."""
    wet = clouds > 0.5
    windy = wind > 30
    storm = wet and windy
    calm = not windy
    return {"wet": wet, "storm": storm, "calm": calm}
''',
}


@pytest.fixture
def bank(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("ASSAY_INDEX_DIR", str(tmp_path / "index"))
    monkeypatch.setenv("NO_COLOR", "1")
    root = write_tree(tmp_path / "bank-repo", FILES)
    monkeypatch.chdir(root)
    return root


def as_json(capsys, *arguments: str) -> dict:
    code = main(["related", *arguments, "--json", "--quiet"])
    out, err = capsys.readouterr()
    assert code == 0, err
    data: dict = json.loads(out)
    return data


def test_definitions_that_are_used_and_those_that_use(bank, capsys):
    data = as_json(capsys, "bank/ledger.py:8")
    assert data["schema"] == "assay/related/1"
    assert "post_entry" in data["unit"]["names"]
    assert [(one["path"], one["shared"]) for one in data["uses"]] == [("bank/rates.py", ["exchange_rate"])]
    assert [(one["path"], one["shared"]) for one in data["used_by"]] == [("bank/transfer.py", ["post_entry"])]


def test_what_speaks_of_the_same_things_comes_before_what_does_not(bank, capsys):
    paths = [one["path"] for one in as_json(capsys, "bank/ledger.py:8", "-k", "10")["alike"]]
    assert "bank/transfer.py" in paths
    assert "bank/weather.py" not in paths[:1]
    assert "bank/ledger.py" not in paths


def test_files_are_those_of_the_relatives_without_its_own(bank, capsys):
    data = as_json(capsys, "bank/ledger.py:8")
    files = [one["path"] for one in data["files"]]
    assert {"bank/rates.py", "bank/transfer.py"} <= set(files)
    assert "bank/ledger.py" not in files
    assert [one["score"] for one in data["files"]] == sorted((one["score"] for one in data["files"]), reverse=True)


def test_namesake_is_not_a_definition_that_is_used(bank):
    filler = "".join(f"    step_{i} = {i}\n" for i in range(10))
    write_tree(
        bank,
        {
            "one.py": f"def settle():\n{filler}\n\ndef night():\n{filler}    settle()\n",
            "two.py": f"def settle():\n{filler}",
        },
    )
    index = Index.build(bank)
    assert index.related("one.py", 1, 5).uses == ()
    assert [one.hit.path for one in index.related("one.py", 16, 5).uses] == ["one.py", "two.py"]


def test_more_relatives_begin_with_the_fewer(bank):
    index = Index.build(bank)
    few, many = index.related("bank/ledger.py", 8, 1), index.related("bank/ledger.py", 8, 5)
    for kind in ("uses", "used_by", "alike"):
        assert getattr(few, kind) == getattr(many, kind)[:1]


def test_every_line_of_every_file_has_a_unit(bank):
    index = Index.build(bank)
    for path, text in FILES.items():
        for line in range(1, text.count("\n") + 1):
            unit = index.related(path, line, 1).chunk
            assert unit.start is not None
            assert unit.end is not None
            assert unit.path == path
            assert unit.start <= line <= unit.end


def test_people_see_names_and_places(bank, capsys):
    assert main(["related", "bank/ledger.py:8", "--quiet"]) == 0
    out = capsys.readouterr().out
    for text in ("Uses", "exchange_rate", "Used by", "bank/transfer.py:", "Similar code", "Files"):
        assert text in out


def test_file_may_be_named_as_seen_from_here_or_from_the_folder(bank, capsys, monkeypatch):
    expected = as_json(capsys, "bank/ledger.py:8")
    monkeypatch.chdir(bank / "bank")
    assert as_json(capsys, "ledger.py:8", "..") == expected
    assert as_json(capsys, "bank/ledger.py:8", "..") == expected
    assert as_json(capsys, f"{bank}/bank/ledger.py:8", "..") == expected


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["bank/ledger.py:999"], "from 1 to 13"),
        (["bank/ledgr.py:1"], "bank/ledger.py"),
        (["bank/ledger.py"], "FILE:LINE"),
        (["bank/ledger.py:0"], "FILE:LINE"),
        (["/etc/hostname:1"], "not in the searched directory"),
        (["bank/ledger.py:1", "nowhere"], "nowhere"),
        (["bank/ledger.py:1", "-k", "0"], "1 or more"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else None,
)
def test_bad_input_ends_in_two_with_the_next_step(bank, capsys, arguments, word):
    code = main(["related", *arguments, "--quiet"])
    out, err = capsys.readouterr()
    assert code == 2, err
    assert out == ""
    assert word in err
    assert "\nhint: " in err
