"""assay.toml is found from directories below it, up to the root of the repository."""

from pathlib import Path

from assay.cli.main import main
from assay.files import find_upward


def test_find_upward_stops_at_the_root_of_the_repository(tmp_path, monkeypatch):
    (tmp_path / "assay.toml").touch()
    below = tmp_path / "repo" / "a" / "b"
    below.mkdir(parents=True)
    assert find_upward(below, "assay.toml") is None  # not a repository: no parent is read
    assert find_upward(tmp_path, "assay.toml") == tmp_path / "assay.toml"
    (tmp_path / "repo" / ".git").mkdir()
    assert find_upward(below, "assay.toml") is None
    (tmp_path / "repo" / "assay.toml").touch()
    assert find_upward(below, "assay.toml") == tmp_path / "repo" / "assay.toml"
    monkeypatch.chdir(below)
    assert find_upward(Path(), "assay.toml") == Path("../../assay.toml")
    (below / "assay.toml").touch()
    assert find_upward(Path(), "assay.toml") == Path("assay.toml")


def test_commands_below_assay_toml_use_its_gold_engines_and_results(shop, monkeypatch, capsys):
    (shop / ".git").mkdir()
    (shop / "assay.toml").write_text(
        '[run]\ngold = "gold.yaml"\nout = "measured"\n\n[engines.mine]\nkind = "builtin"\n'
    )
    below = shop / "shop"
    monkeypatch.chdir(below)
    assert main(["run", "--no-references", "--no-times"]) == 0
    assert capsys.readouterr().err.count("using ../assay.toml\n") == 1
    assert (shop / "measured" / "run.json").is_file()
    assert sorted(path.suffix for path in below.iterdir()) == [".py"] * len(list(below.iterdir()))
    for command in (
        ["score"],
        ["report"],
        ["gate", "--require", "Hit@10>=0"],
        ["gold", "lint"],
        ["gold", "access-log"],
        ["audit", "mine", "--only", "prefix", "--queries", "2"],
        ["engines", "query", "mine", "total"],
        ["engines", "show", "mine"],
        ["doctor"],
        ["search", "total", "--set", "dense.model="],
    ):
        assert main([*command, "--quiet"]) == 0, command
    out, err = capsys.readouterr()
    assert "../assay.toml: " in out  # doctor
    assert not err


def test_verbose_names_the_assay_toml_of_this_directory_too(shop, capsys):
    (shop / "assay.toml").write_text('[run]\ngold = "gold.yaml"\n')
    for flags, shown in ((["-v"], True), ([], False), (["-v", "-q"], False)):
        assert main([*flags, "gold", "lint"]) == 0
        assert ("using assay.toml" in capsys.readouterr().err) is shown


def test_without_assay_toml_the_error_names_it(shop, monkeypatch, capsys):
    monkeypatch.chdir(shop / "shop")
    assert main(["run"]) == 2
    assert "no assay.toml names a gold set" in capsys.readouterr().err
