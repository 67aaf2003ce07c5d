"""Splitting a set, running its parts, and the log of looks at what is sealed."""

import json
from pathlib import Path

import pytest

from assay.cli.main import main
from assay.gold import load_gold
from assay.gold.access_log import read_access_log
from assay.gold.split import split_of


def call(capsys, *arguments):
    code = main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def divided(shop, capsys):
    code, out, _ = call(
        capsys,
        "gold",
        "split",
        "gold.yaml",
        "--by",
        "query",
        "--dev",
        ".34",
        "--test",
        ".33",
        "--sealed",
        ".33",
        "--json",
    )
    assert code == 0
    assert json.loads(out)["sizes"] == {"dev": 1, "test": 1, "sealed": 1}
    return shop


def part(name):
    return next(query.id for query in load_gold("gold.yaml").golds[0].queries if split_of(query) == name)


def asked():
    lines = [line for path in sorted(Path("results/engines").glob("*.jsonl")) for line in path.read_text().splitlines()]
    return {row["query"] for row in map(json.loads, lines) if "query" in row}


def run(capsys, *arguments):
    return call(capsys, "run", "--gold", "gold.yaml", "--no-references", "--engine", "builtin", *arguments)


def test_a_split_is_written_into_the_tags_and_kept(divided, capsys):
    before = (divided / "gold.yaml").read_bytes()
    code, out, _ = call(capsys, "gold", "split", "gold.yaml", "--by", "query", "--seed", "9")
    assert code == 0
    assert "3 queries kept their split" in out
    assert (divided / "gold.yaml").read_bytes() == before


def test_force_divides_anew(divided, capsys):
    found = set()
    for seed in range(6):
        flags = ["--by", "query", "--dev", ".34", "--test", ".33", "--sealed", ".33", "--force", "--seed", str(seed)]
        assert call(capsys, "gold", "split", "gold.yaml", *flags)[0] == 0
        found.add(part("sealed"))
    assert len(found) > 1


def test_dividing_anew_after_a_look_is_told_and_written_down(divided, capsys):
    flags = ["--by", "query", "--dev", ".34", "--test", ".33", "--sealed", ".33", "--force"]
    before = part("sealed")
    for seed in range(6):
        assert "were seen before" not in call(capsys, "gold", "split", "gold.yaml", *flags, "--seed", str(seed))[1]
    assert read_access_log(divided / "gold.yaml") == ()
    assert run(capsys, "--split", "sealed")[0] == 0
    before, said = part("sealed"), []
    for seed in range(6):
        said.append(" ".join(call(capsys, "gold", "split", "gold.yaml", *flags, "--seed", str(seed))[1].split()))
        if part("sealed") != before:
            break
    assert "sealed results were seen before this split; 1 unsealed, 1 newly sealed" in said[-1]
    access, *anew = read_access_log(divided / "gold.yaml")
    assert (access.command, access.divided) == ("run", "")
    assert [(one.command, one.sealed) for one in anew] == [("gold split --force", 1)]
    out = call(capsys, "gold", "access-log", "gold.yaml")[1]
    assert "1 access to the sealed queries of gold.yaml; split again 1 time since." in out


def test_a_second_split_goes_on_as_the_first(divided, capsys):
    new = "  - {id: new, retrieval: {primary: [shop/receipt.py]}, cognitive: {human: who prints?}}\n"
    with open("gold.yaml", "a") as file:
        file.write(new)
    code, out, err = call(capsys, "gold", "split", "gold.yaml", "--json")
    assert code == 0, err
    assert json.loads(out)["by"] == "query"
    assert "split: by query, seed 0" in (divided / "gold.yaml").read_text()
    out = " ".join(call(capsys, "gold", "split", "gold.yaml", "--by", "query", "--seed", "3")[1].split())
    assert "Every query already has a split: nothing changed." in out
    code, _, err = call(capsys, "gold", "split", "gold.yaml", "--by", "module")
    assert code == 2
    assert "both have a target in the directory shop" in err
    assert "use --by file for smaller groups, or reassign all queries, including sealed ones, with --force" in err


def test_another_way_than_the_sets_own_is_told(divided, capsys):
    out = " ".join(call(capsys, "gold", "split", "gold.yaml", "--by", "file")[1].split())
    assert "It is split by query; --force splits it by file." in out


def test_parts_that_miss_their_share_are_told(shop, capsys):
    out = " ".join(
        call(capsys, "gold", "split", "gold.yaml", "--by", "query", "--dev", ".5", "--test", ".5")[1].split()
    )
    assert "dev has 33% instead of 50%, test has 67% instead of 50%, because groups stay together: add" in out


def test_shares_that_are_not_named_divide_the_rest(shop, capsys):
    code, out, err = call(capsys, "gold", "split", "gold.yaml", "--by", "query", "--sealed", "0", "--json")
    assert code == 0, err
    assert json.loads(out)["sizes"] == {"dev": 2, "test": 1, "sealed": 0}


def test_the_table_says_what_each_part_could_show(shop, capsys):
    code, out, _ = call(
        capsys, "gold", "split", "gold.yaml", "--by", "query", "--dev", ".67", "--test", ".33", "--sealed", "0"
    )
    assert code == 0
    assert "MDE" in out
    assert "difficulty=hard" in out


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--by", "module"], "1 group of queries cannot form"),
        (["--by", "query", "--dev", "1", "--test", "1"], "sum to 1"),
        (["--by", "query", "--depth", "0"], "--depth: expected 1 or more"),
        (["--by", "query", "--sd", "0"], "--sd: expected a number above 0"),
    ],
)
def test_a_split_that_cannot_be_changes_nothing(shop, capsys, flags, message):
    before = (shop / "gold.yaml").read_bytes()
    code, _, err = call(capsys, "gold", "split", "gold.yaml", *flags)
    assert code == 2
    assert message in err
    assert (shop / "gold.yaml").read_bytes() == before


def test_a_run_leaves_sealed_queries_out_and_says_so(divided, capsys):
    code, _, err = run(capsys)
    assert code == 0
    assert "1 sealed query left out; --split sealed includes them and logs the access" in err
    assert asked() == {part("dev"), part("test")}
    assert read_access_log(divided / "gold.yaml") == ()


def test_a_run_of_the_sealed_part_is_a_look(divided, capsys):
    assert run(capsys, "--split", "sealed")[0] == 0
    assert asked() == {part("sealed")}
    assert [access.command for access in read_access_log(divided / "gold.yaml")] == ["run"]
    assert call(capsys, "score", "results")[0] == 0
    assert call(capsys, "compare", "results")[0] in (0, 2)  # a single engine has nobody to compare with
    accesses = read_access_log(divided / "gold.yaml")
    assert [access.command for access in accesses] == ["run", "score", "compare"]
    code, out, _ = call(capsys, "gold", "access-log", "gold.yaml")
    assert code == 0
    assert "3 accesses to the sealed queries" in out
    code, out, _ = call(capsys, "gold", "access-log", "gold.yaml", "--json")
    assert [access["sealed"] for access in json.loads(out)["accesses"]] == [1, 1, 1]


def test_parts_can_be_named_in_the_configuration_and_by_flag(divided, capsys):
    (divided / "assay.toml").write_text(
        '[run]\ngold = ["gold.yaml"]\nsplit = "dev"\nreferences = false\n[engines.builtin]\nkind = "builtin"\n'
    )
    assert call(capsys, "run")[0] == 0
    assert asked() == {part("dev")}
    assert call(capsys, "run", "--split", "dev, test")[0] == 0
    assert asked() == {part("dev"), part("test")}
    code, _, err = call(capsys, "run", "--split", "tset")
    assert code == 2
    assert "did you mean test?" in err


def test_explaining_what_was_missed_is_refused_sealed_queries(divided, capsys):
    run(capsys, "--split", "sealed,dev")
    code, _, err = call(capsys, "explain", "--run", "results", "--missed")
    assert code == 2
    assert "explaining what was missed would access 1 sealed query" in err
    run(capsys)
    assert call(capsys, "explain", "--run", "results", "--missed")[0] == 0


def test_a_set_that_ships_is_not_changed(shop, capsys):
    code, _, err = call(capsys, "gold", "split", "stdlib")
    assert code == 2
    assert "pass a gold file; shipped sets are read-only" in err


def test_looks_of_a_set_that_is_not_there(shop, capsys):
    code, _, err = call(capsys, "gold", "access-log", "none.yaml")
    assert code == 2
    assert "no such file" in err
