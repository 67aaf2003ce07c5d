"""`assay cache` as a user meets it."""

import json
import os

import pytest

from assay.cli.main import main
from assay.store.kinds import KINDS
from assay.store.store import Store
from tests.store.working import put


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("ASSAY_INDEX_DIR", raising=False)
    monkeypatch.delenv("ASSAY_CACHE_LIMIT", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def filled(cache):
    with Store() as store:
        for number in range(5):
            store.put("cells", str(number), bytes(1_000))
        store.directory("tables", "a", put("x", bytes(50_000)))
        for key in ("one", "two"):
            store.directory("trees", key, put("a.py", bytes(10_000)))
    os.utime(next(cache.glob("trees/*/*/finished")), (0, 0))
    with Store().workspace("index", "shop") as folder:
        (folder / "index.assay").write_bytes(bytes(10_000))
    return cache


def as_json(capsys, *arguments):
    code = main(["cache", *arguments, "--json", "--quiet"])
    out, err = capsys.readouterr()
    assert code == 0, err
    return json.loads(out)


def kinds(capsys):
    return {one["kind"]: one for one in as_json(capsys)["kinds"]}


def test_empty_cache_is_told(capsys):
    assert main(["cache"]) == 0
    assert "The cache is empty." in capsys.readouterr().out
    assert as_json(capsys)["kinds"] == []


def test_every_kind_is_told_with_its_size_and_share(filled, capsys, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE_LIMIT", "1MB")
    data = as_json(capsys)
    found = {one["kind"]: one for one in data["kinds"]}
    assert data["schema"] == "assay/cache/2"
    assert {kind: one["entries"] for kind, one in found.items()} == {"cells": 5, "tables": 1, "trees": 2, "index": 1}
    assert data["limit"] == 1_000_000
    assert 0.05 < found["tables"]["share"] < 0.06
    assert 20_000 < found["trees"]["bytes"] < 21_000
    assert found["trees"]["share"] is None
    assert found["trees"]["oldest"] == "1970-01-01" < found["trees"]["newest"]
    assert data["bytes"] == sum(one["bytes"] for one in found.values())
    assert main(["cache"]) == 0
    out = capsys.readouterr().out
    assert "tables" in out
    assert f"{found['tables']['bytes'] / 1000:.1f} kB" in out


def test_pruning_takes_artefacts_and_leaves_the_rest(filled, capsys):
    told = as_json(capsys, "prune", "--to", "0", "--dry-run")
    assert told["entries"] == 6
    assert len(kinds(capsys)) == 4
    assert as_json(capsys, "prune", "--to", "0")["entries"] == 6
    assert sorted(kinds(capsys)) == ["index", "trees"]


def test_kinds_that_are_named_are_pruned_alone(filled, capsys):
    assert as_json(capsys, "prune", "--to", "0", "--kind", "tables")["entries"] == 1
    assert as_json(capsys, "prune", "--older-than", "1d", "--kind", "trees")["entries"] == 1
    assert len(list(filled.glob("trees/*/*"))) == 1
    assert {kind: one["entries"] for kind, one in kinds(capsys).items()} == {"cells": 5, "trees": 1, "index": 1}
    assert main(["cache", "prune", "--to", "3kB", "--kind", "cells"]) == 0
    assert "3 entries removed" in capsys.readouterr().out


def test_what_is_in_use_is_told(filled, capsys):
    with Store() as store:
        store.directory("tables", "a", lambda _: None)
        assert main(["cache", "prune", "--to", "0"]) == 0
        assert "1 in use were kept." in capsys.readouterr().out
        assert store.has("tables", "a")


def test_verify_names_what_is_broken_and_removes_it(filled, capsys):
    (table,) = filled.glob("tables/*/*/content/x")
    table.write_bytes(b"!" * 50_000)
    assert main(["cache", "verify"]) == 4
    out = capsys.readouterr().out
    assert "8 artifacts checked; 1 broken and removed" in " ".join(out.split())
    assert table.parent.parent.name[:10] in out
    assert as_json(capsys, "verify") == {"schema": "assay/cache-verify/1", "checked": 7, "broken": []}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--to", "much"], "--to: expected a size, got 'much'"),
        (["--older-than", "30"], "--older-than: expected an age, got '30'"),
        (["--kind", "tabels", "--to", "0"], "did you mean 'tables'?"),
        (["--kind", "trees"], "add --to SIZE or --older-than AGE"),
    ],
)
def test_bad_input_is_refused(filled, capsys, arguments, said):
    assert main(["cache", "prune", *arguments]) == 2
    assert said in capsys.readouterr().err
    assert len(kinds(capsys)) == 4


def test_bad_limit_is_refused(monkeypatch, capsys):
    monkeypatch.setenv("ASSAY_CACHE_LIMIT", "lots")
    assert main(["cache"]) == 2
    assert "ASSAY_CACHE_LIMIT: expected a size, got 'lots'" in capsys.readouterr().err


def test_every_kind_is_listed_with_what_it_is(filled, capsys):
    assert main(["cache"]) == 0
    out = capsys.readouterr().out
    for kind in KINDS:
        assert kind.name in out
        assert kind.about.split()[0] in out
    assert kinds(capsys)["trees"]["about"] == "fetched corpora"


def test_what_runs_have_not_finished_is_listed_and_pruned(cache, capsys):
    place = cache / "unfinished" / "0123456789abcdef" / ".unfinished" / "cells" / "aa" / "one"
    place.parent.mkdir(parents=True)
    place.write_bytes(bytes(3_000))
    assert kinds(capsys)["unfinished"]["bytes"] == 3_000
    told = as_json(capsys, "prune", "--kind", "unfinished", "--to", "0")
    assert (told["entries"], told["bytes"]) == (1, 3_000)
    assert list((cache / "unfinished").iterdir()) == []


def test_verify_of_a_whole_cache_ends_well(filled, capsys):
    assert main(["cache", "verify"]) == 0
    assert "8 artifacts checked; none broken" in " ".join(capsys.readouterr().out.split())


def test_workspace_with_a_writer_is_not_pruned(filled, capsys):
    with Store().workspace("index", "shop"):
        assert as_json(capsys, "prune", "--to", "0", "--kind", "index")["held"] == 1
    assert as_json(capsys, "prune", "--to", "0", "--kind", "index")["entries"] == 1
