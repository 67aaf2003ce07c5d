"""Files that change other files: who wins, whose paths, and whose mistake it is."""

from pathlib import Path

import pytest

from assay.errors import ConfigError
from assay.experiment.own_files import own_files
from assay.experiment.spec import engine_factory, load_spec
from tests.experiment.spec.files import BASE, written


def test_tables_are_changed_key_by_key_and_lists_replaced(tmp_path):
    written(
        tmp_path,
        '[run]\nk = 5\nmargin = 0.1\nmeasures = ["RR@5", "P@5"]\n'
        '[engines.mine]\nkind = "builtin"\n[engines.mine.search.stem]\nfiles = 0.1\nspans = 0.2\n'
        '[variants.v]\nengine = "mine"\nset = { "search.stem.files" = 0.3, per = "span" }\n',
        "base.toml",
    )
    text = (
        'extends = "base.toml"\n[run]\nmargin = 0.2\nmeasures = ["nDCG@5"]\n'
        '[engines.mine.search.stem]\nfiles = 0.9\n[variants.v.set]\n"search.stem.files" = 0.4\n'
    )
    spec = load_spec(written(tmp_path, text))
    assert (spec.k, spec.margin, spec.measures) == (5, 0.2, ("nDCG@5",))
    assert spec.engines["mine"] == {"kind": "builtin", "search": {"stem": {"files": 0.9, "spans": 0.2}}}
    assert spec.variants["v"].set == {"search.stem.files": 0.4, "per": "span"}


def test_later_files_win_and_a_file_counts_once(tmp_path):
    written(tmp_path, "[run]\nk = 1\nseed = 1\nmax_timeouts = 1\n", "a.toml")
    written(tmp_path, 'extends = "a.toml"\n[run]\nk = 2\nseed = 2\n', "b.toml")
    written(tmp_path, 'extends = "a.toml"\n[run]\nk = 3\n', "c.toml")
    spec = load_spec(written(tmp_path, 'extends = ["b.toml", "c.toml"]\n[run]\nprimary = "RR@3"\n'))
    assert (spec.k, spec.seed, spec.max_timeouts) == (3, 2, 1)
    assert [Path(file).name for file in spec.files] == ["assay.toml", "c.toml", "b.toml", "a.toml"]


def test_extending_twice_is_extending_once(tmp_path):
    written(tmp_path, BASE + "[variants.v]\nengine = 'mine'\nset = { per = 'span' }\n", "base.toml")
    once = load_spec(written(tmp_path, 'extends = "base.toml"\n'))
    assert load_spec(written(tmp_path, 'extends = ["base.toml", "./base.toml"]\n')).entries() == once.entries()
    plain = load_spec(tmp_path / "base.toml")
    assert plain.names() == once.names()


def test_relative_paths_are_of_the_file_that_says_them(tmp_path):
    written(
        tmp_path,
        '[run]\ngold = "g.yaml"\nout = "base-results"\n'
        '[engines.tool]\nkind = "command"\nargv = ["{here}/x", "{query}"]\n',
        "lib/base.toml",
    )
    text = 'extends = "lib/base.toml"\n[engines.own]\nkind = "builtin"\n'
    text += '[variants.v]\nengine = "tool"\nset = { git = true }\n'
    spec = load_spec(written(tmp_path, text))
    assert (spec.gold, spec.out) == ((str(tmp_path / "lib/g.yaml"),), str(tmp_path / "lib/base-results"))
    folders = {name: engine_factory(spec, name).directory.name for name in ("tool", "own", "v")}
    assert folders == {"tool": "lib", "own": tmp_path.name, "v": "lib"}
    assert load_spec(written(tmp_path, text + '[run]\ngold = "h.yaml"\n')).gold == (str(tmp_path / "h.yaml"),)


def test_engine_stays_where_it_is_declared_when_another_file_changes_it(tmp_path):
    written(tmp_path, '[engines.tool]\nkind = "command"\nargv = ["x", "{query}"]\n', "lib/base.toml")
    spec = load_spec(written(tmp_path, 'extends = "lib/base.toml"\n[engines.tool]\ngit = true\n'))
    assert engine_factory(spec, "tool").directory == tmp_path / "lib"


def test_files_that_are_extended_are_hidden_from_the_corpus_too(tmp_path):
    written(tmp_path, '[run]\ngold = "g.yaml"\n', "base.toml")
    names = {path.name for path in own_files(load_spec(written(tmp_path, 'extends = "base.toml"\n')))}
    assert {"assay.toml", "base.toml", "g.yaml"} <= names


def test_mistake_is_told_in_the_file_that_makes_it(tmp_path):
    base = written(tmp_path, "[run]\n\nmesures = []\n", "lib/base.toml")
    with pytest.raises(ConfigError, match="mesures") as caught:
        load_spec(written(tmp_path, 'extends = "lib/base.toml"\n[run]\nk = 3\n'))
    assert (caught.value.file, caught.value.line) == (str(base), 3)


def test_mistake_that_two_files_make_together_is_the_last_ones(tmp_path):
    written(tmp_path, '[run]\nprimary = "nDCG@10"\n', "base.toml")
    path = written(tmp_path, 'extends = "base.toml"\n[run]\nk = 3\n')
    with pytest.raises(ConfigError, match="k = 3") as caught:
        load_spec(path)
    assert (caught.value.file, caught.value.line) == (str(path), 3)


BAD = {
    "missing file": ('\nextends = "gone.toml"\n', 2, "gone.toml"),
    "number": ("extends = 3\n", 1, "got 3"),
    "empty name": ('extends = [""]\n', 1, "extends"),
    "preset that does not ship": ('extends = "preset:octocod-matrix"\n', 1, "octocod-matrix"),
    "itself": ('\n\nextends = "assay.toml"\n', 3, "assay.toml → assay.toml"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_extends_is_told_with_its_line(tmp_path, case):
    text, line, word = BAD[case]
    path = written(tmp_path, text)
    with pytest.raises(ConfigError, match=word) as caught:
        load_spec(path)
    assert (caught.value.file, caught.value.exit_code, bool(caught.value.hint)) == (str(path), 2, True)
    assert caught.value.line == line


def test_circle_of_files_is_told_where_it_closes(tmp_path):
    written(tmp_path, 'extends = "b.toml"\n', "a.toml")
    closing = written(tmp_path, "[run]\n", "b.toml")
    closing.write_text('# back\nextends = "a.toml"\n')
    with pytest.raises(ConfigError, match="a.toml → b.toml → a.toml") as caught:
        load_spec(written(tmp_path, 'extends = "a.toml"\n'))
    assert (caught.value.file, caught.value.line) == (str(closing), 2)


def test_preset_is_extended_by_a_file_or_by_a_flag(tmp_path):
    alone = load_spec(preset="octocode-matrix")
    spec = load_spec(written(tmp_path, 'extends = "preset:octocode-matrix"\n[run]\nseed = 7\n'))
    assert [s.name for s in spec.entries()] == [s.name for s in alone.entries()]
    assert (spec.seed, alone.file, spec.file) == (7, None, str(tmp_path / "assay.toml"))


def test_what_ships_writes_nothing_beside_itself(tmp_path):
    assert load_spec(preset="chunking").out == "results-chunking"
    extended = load_spec(written(tmp_path, 'extends = "preset:chunking"\n'))
    assert extended.out == str(tmp_path / "results-chunking")


def test_unknown_preset_of_a_flag_is_told_with_the_nearest():
    with pytest.raises(ConfigError, match="--preset") as caught:
        load_spec(preset="octocode-matrx")
    assert "octocode-matrix" in str(caught.value.hint)
