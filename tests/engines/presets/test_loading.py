"""Presets as files: what is wrong with one is told with its line, and what a user changes is theirs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from assay.engines import make_engine
from assay.engines.calls import close_session, open_session, query_session
from assay.engines.presets import load_preset, preset_settings
from assay.errors import ConfigError
from assay.settings import merge
from assay.types import Corpus, Hit

FINDER = 'import sys\nprint("json/encoder.py:2-3")\nprint(sys.argv[1], file=sys.stderr)\n'


@pytest.fixture
def preset_file(tmp_path: Path) -> Path:
    """A preset of the user's own, with the program that it runs beside it."""
    (tmp_path / "finder.py").write_text(FINDER)
    path = tmp_path / "mine.toml"
    path.write_text(
        "# mine\n"
        "[preset]\n"
        'about = "a finder"\n'
        'docs = "version 1.0"\n'
        'note = "finds one thing"\n'
        "\n"
        "[engine]\n"
        'kind = "command"\n'
        f'argv = ["{sys.executable}", "{{preset}}/finder.py", "{{query}}"]\n'
        'env = { ONE = "1", TWO = "2" }\n'
    )
    return path


def rewritten(path: Path, old: str, new: str) -> Path:
    """Change the file."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return path


def test_an_engine_is_made_from_a_file_relative_to_the_folder_and_tells_where_it_comes_from(
    preset_file: Path, corpus: Corpus
) -> None:
    engine = make_engine("./mine.toml", directory=preset_file.parent)
    assert engine.notes == ("preset mine, unverified: written from version 1.0", "finds one thing")
    session = open_session(engine, corpus).session
    assert query_session(session, "x", 3).hits == (Hit("json/encoder.py", 2, 3),)
    assert close_session(session) is None


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("about =", "abuot =", 3, "unknown setting 'abuot'"),
        ('docs = "version 1.0"', "docs = 1", 4, "docs: expected a string, got 1"),
        ('kind = "command"', 'kind = "comand"', 8, "unknown kind of engine 'comand'"),
        ('kind = "command"\n', "", 7, "missing `kind` in [engine]"),
        ("argv =", "argvv =", 9, "unknown setting 'argvv'"),
        ("{query}", "{qeury}", 9, "{qeury}"),
        ('env = { ONE = "1"', 'oversample = 0\nenv = { ONE = "1"', 10, "oversample: expected at least 1, got 0"),
        ("[preset]", "[presett]", 2, "unknown table 'presett'"),
        ("[engine]", "[engine", 7, "invalid TOML"),
    ],
)
def test_a_mistake_in_a_preset_is_told_with_file_and_line(
    preset_file: Path, old: str, new: str, line: int, says: str
) -> None:
    rewritten(preset_file, old, new)
    with pytest.raises(ConfigError) as caught:
        make_engine(str(preset_file))
    assert says in caught.value.message
    assert (caught.value.file, caught.value.line) == (str(preset_file), line)


def test_a_preset_without_one_of_its_tables_is_refused(preset_file: Path) -> None:
    rewritten(preset_file, "[engine]\n", "")
    with pytest.raises(ConfigError, match="unknown setting|missing table"):
        load_preset(str(preset_file))
    preset_file.write_text("[engine]\nkind = 'random'\n")
    with pytest.raises(ConfigError, match=r"missing table \[preset\]"):
        load_preset(str(preset_file))


def test_a_mistake_of_the_user_is_not_blamed_on_the_preset(preset_file: Path) -> None:
    with pytest.raises(ConfigError, match="timeout: expected more than 0, got -1") as caught:
        make_engine({"preset": str(preset_file), "timeout": -1})
    assert caught.value.file is None


def test_keys_override_those_of_a_preset_and_tables_are_changed_key_by_key(preset_file: Path) -> None:
    changed = make_engine({"preset": str(preset_file), "oversample": 3, "env": {"TWO": "3", "THREE": "4"}})
    assert changed.oversample == 3
    assert changed.config["env"] == ["ONE", "THREE", "TWO"]
    assert merge({"env": {"a": 1}, "k": 1}, {"env": {"b": 2}, "k": 2}) == {"env": {"a": 1, "b": 2}, "k": 2}
    preset = load_preset(str(preset_file))
    assert preset_settings(preset, {"env": {"TWO": "3"}})["env"] == {"ONE": "1", "TWO": "3"}
    assert preset.settings["env"] == {"ONE": "1", "TWO": "2"}


def test_the_kind_of_a_preset_cannot_be_changed(preset_file: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be combined with `kind`"):
        make_engine({"preset": str(preset_file), "kind": "random"})


def test_a_command_of_a_preset_is_asked_for_its_version_unless_told_otherwise() -> None:
    preset = load_preset("semble-cli")
    assert preset_settings(preset, {})["version"] == ["semble", "--version"]
    assert preset_settings(preset, {"version": "x"})["version"] == "x"
    assert "version" not in preset_settings(load_preset("semble-mcp"), {})


@pytest.mark.parametrize(
    ("spec", "meant"), [("sembel", "semble"), ("bultin", "builtin"), ("comand:x {query}", "command")]
)
def test_an_unknown_name_is_compared_with_kinds_and_presets(spec: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=f"did you mean '{meant}'"):
        make_engine(spec)


def test_a_file_that_is_not_there_is_told() -> None:
    with pytest.raises(ConfigError) as caught:
        make_engine("./nowhere.toml")
    assert "nowhere.toml" in str(caught.value)
