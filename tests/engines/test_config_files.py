"""Configuration files from templates: exactly the edited keys differ, and what was wrong is told with its file."""

from __future__ import annotations

import configparser
import json
import string
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from assay.engines.config_files import (
    ConfigSettings,
    ConfigTemplate,
    apply_changes,
    flatten,
    leaves,
    load_config_template,
    nodes,
    same,
)
from assay.errors import ConfigError
from assay.settings import split_key
from assay.toml import write_key, write_value
from tests.properties import examples

TOML = """\
# of the tool
name = "x"   # kept
"a.b" = 1
[search]
weight = 0.5 # of vectors
kinds = [ "code",
  "text" ]  # two
hybrid = { on = true, k = 60 }
[[server]]
url = 'http://one'
[[server]]
url = "{root}/two"
"""
YAML = """\
# of the tool
name: x   # kept
search:
  weight: 0.5  # of vectors
  kinds:
  - code
  - text
  hybrid: {on: true, k: 60}
  prompt: |
    two
    lines
  empty:
"""
INI = """\
# of the tool
[search.vector]
Weight = 0.5
many = one
    two
; kept
flag
[other]
x: 1
"""


def made(folder: Path, name: str, text: str, edits: dict[str, object], **more: Any) -> ConfigTemplate:
    """Read a template, as an engine does."""
    (folder / name).write_bytes(text.encode())
    template = load_config_template(
        ConfigSettings(template=name, edits=edits, **more), {"here": str(folder)}, "engine x"
    )
    assert template is not None
    return template


def rendered(folder: Path, name: str, text: str, edits: dict[str, object], **more: Any) -> str:
    """Render a template."""
    return made(folder, name, text, edits, **more).render({"here": str(folder), "root": "/R", "store": "/S"})


def parsed(name: str, text: str) -> dict[str, Any]:
    """Parse a rendered file as `ConfigTemplate` does."""
    return ConfigTemplate(Path("t"), name, text, {}).tree


def test_toml_differs_in_the_edited_keys_only(tmp_path: Path) -> None:
    edits = {
        "search.weight": 0.7,
        '"a.b"': 2,
        "search": {"hybrid": {"k": 10}},
        "search.kinds": ['a"b'],
        "server.0.url": "z",
    }
    assert tomllib.loads(rendered(tmp_path, "t.toml", TOML, edits)) == {
        "name": "x",
        "a.b": 2,
        "search": {"weight": 0.7, "kinds": ['a"b'], "hybrid": {"on": True, "k": 10}},
        "server": [{"url": "z"}, {"url": "/R/two"}],
    }


def test_yaml_differs_in_the_edited_keys_only(tmp_path: Path) -> None:
    edits = {"name": "no", "search.weight": 1, "search.kinds": [1], "search.hybrid.on": False, "search.empty": "e"}
    assert parsed("yaml", rendered(tmp_path, "t.yaml", YAML, edits)) == {
        "name": "no",
        "search": {
            "weight": 1.0,
            "kinds": [1],
            "hybrid": {"on": False, "k": 60},
            "prompt": "two\nlines\n",
            "empty": "e",
        },
    }


def test_yaml_scalars_that_are_not_edited_stay_as_written(tmp_path: Path) -> None:
    text = "on: yes\nmode: 0o17\nrate: 1e-5\nat: 2024-01-01\n1: x\nk: 1\n"
    assert rendered(tmp_path, "t.yaml", text, {"k": "no"}) == text.replace("k: 1", "k: 'no'")


def test_ini_differs_in_the_edited_keys_only(tmp_path: Path) -> None:
    edits = {"search.vector.Weight": 0.7, "search.vector.many": True, "other.x": "y z", "search.vector.flag": 1}
    assert parsed("ini", rendered(tmp_path, "t.cfg", INI, edits)) == {
        "search.vector": {"Weight": "0.7", "many": "true", "flag": "1"},
        "other": {"x": "y z"},
    }
    assert parsed("ini", rendered(tmp_path, "t.cfg", INI, {"other.x": "2"}))["search.vector"] == {
        "Weight": "0.5",
        "many": "one\ntwo",
        "flag": None,
    }


def test_text_has_marks_with_and_without_values(tmp_path: Path) -> None:
    said = "weight: @weight=0.5@\nroot: {root}\non: @on@ me@example.org\n"
    assert rendered(tmp_path, "t.conf", said, {"on": True}) == "weight: 0.5\nroot: /R\non: true me@example.org\n"
    with pytest.raises(ConfigError, match="@on@ has no value"):
        rendered(tmp_path, "t.conf", said, {"weight": 1})
    with pytest.raises(ConfigError, match="unknown key 'wait'; did you mean 'weight'"):
        rendered(tmp_path, "t.conf", said, {"wait": 1, "on": 1})


@pytest.mark.parametrize(("name", "text"), [("t.toml", TOML), ("t.yaml", YAML), ("t.ini", INI)])
def test_unknown_keys_are_errors_with_the_nearest_unless_they_may_be_new(tmp_path: Path, name: str, text: str) -> None:
    key = "search.vector.Wight" if name.endswith("ini") else "search.wight"
    with pytest.raises(ConfigError) as told:
        rendered(tmp_path, name, text, {key: 1})
    assert told.value.file == str(tmp_path / name)
    assert "eight'?" in told.value.message
    new = rendered(tmp_path, name, text, {key: "1", "brand.new": "2", "brand.newer": "3"}, new_keys=True)
    assert parsed(name.partition(".")[2], new)["brand"] == {"new": "2", "newer": "3"}


def test_json_is_written_anew_only_when_it_is_edited(tmp_path: Path) -> None:
    said = '{"b": [1,\n    {"c": "{root}"}], "a": 1.50}'
    assert json.loads(rendered(tmp_path, "t.json", said, {"b.1.c": "x"})) == {"b": [1, {"c": "x"}], "a": 1.5}
    plain = '{"b":   1}'
    assert rendered(tmp_path, "t.json", plain, {"b": 1}) == plain


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.toml", "a = "), ("a.json", "[1]"), ("a.yaml", "a: !!python/name:os.system"), ("a.ini", "a = 1")],
)
def test_template_that_cannot_be_read_is_told_with_its_file(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(ConfigError) as told:
        rendered(tmp_path, name, text, {"a": 1})
    assert told.value.file == str(tmp_path / name)


def test_value_that_cannot_be_set_is_an_error(tmp_path: Path) -> None:
    assert parsed("yaml", rendered(tmp_path, "t.yaml", "a: &one 1\nb: *one\n", {"a": 2})) == {"a": 2, "b": 1}
    with pytest.raises(ConfigError, match=r"cannot set a\.k without changing"):
        rendered(tmp_path, "t.yaml", "a: &one {k: 1}\nb: *one\n", {"a.k": 2})
    with pytest.raises(ConfigError, match="expected a string, number or boolean"):
        rendered(tmp_path, "t.ini", INI, {"other.x": [1]})


def test_missing_template_is_told_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"tool\.toml: cannot read the file"):
        load_config_template(ConfigSettings(template="tool.toml"), {"here": str(tmp_path)}, "engine x")


def test_file_is_ours_alone_and_the_template_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOL_KEY", 'quo"te\n[x]')
    template = made(tmp_path, "t.toml", 'key = "{env:TOOL_KEY}"\nother = "{query} {stay}"\n', {"other": "{store}"})
    (tmp_path / "out").mkdir()
    file = template.write(tmp_path / "out", {"here": str(tmp_path), "store": "/S"})
    assert tomllib.loads(file.read_text()) == {"key": 'quo"te\n[x]', "other": "/S"}
    assert file.stat().st_mode & 0o777 == 0o600
    assert "env:TOOL_KEY" in (tmp_path / "t.toml").read_text()
    assert template.secrets == ('quo"te\n[x]',)
    assert "quo" not in repr(template) + json.dumps(template.recorded())
    with pytest.raises(FileExistsError):
        template.write(tmp_path / "out", {"here": str(tmp_path)})


def test_link_in_the_way_is_not_followed(tmp_path: Path) -> None:
    template = made(tmp_path, "t.toml", "a = 1\n", {"a": 2})
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "t.toml").symlink_to(tmp_path / "victim")
    with pytest.raises(FileExistsError):
        template.write(tmp_path / "out", {})
    assert not (tmp_path / "victim").exists()


def test_secret_that_is_written_out_is_hidden_in_a_template_and_refused_in_edits(tmp_path: Path) -> None:
    template = made(tmp_path, "t.toml", '[llm]\napi_key = "hush-hush-17"\n', {})
    assert template.secrets == ("hush-hush-17",)
    with pytest.raises(ConfigError, match="contains a literal secret"):
        made(tmp_path, "t.toml", '[llm]\napi_key = ""\n', {"llm.api_key": "hush-hush-17"})


def test_later_edits_hold_and_tables_are_longer_keys() -> None:
    assert flatten({"a.b": 1, "a": {"b": 2, "c": {"d": 3}}}) == {("a", "b"): 2, ("a", "c", "d"): 3}
    assert split_key('a."b.c".d') == ("a", "b.c", "d")
    assert write_key(("a", "b.c", "d")) == 'a."b.c".d'
    for wrong in ("", "a.", ".a", "a..b", 'a."b'):
        with pytest.raises(ConfigError, match="invalid dotted key"):
            split_key(wrong)


# ------------------------------------------------------------------------------------------------ laws

NAMES = st.text(string.ascii_letters + "_-.é", min_size=1, max_size=6)
TEXTS = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\x85\u2028\u2029\ufeff"), max_size=8)
SCALARS = st.one_of(
    st.booleans(), st.integers(-(2**40), 2**40), st.floats(allow_nan=False), TEXTS.filter(lambda t: "{" not in t)
)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=3))
TREES = st.recursive(
    st.dictionaries(NAMES, VALUES, min_size=1, max_size=4),
    lambda inner: st.dictionaries(NAMES, st.one_of(VALUES, inner), min_size=1, max_size=4),
    max_leaves=8,
)
FEW = examples(60)


def to_toml(tree: dict[str, Any], before: tuple[str, ...] = ()) -> str:
    """Write a tree with a header for each table, comments between."""
    plain = [f"{write_key((k,))} = {write_value(v)}  # c\n" for k, v in tree.items() if not isinstance(v, dict)]
    tables = [(k, v) for k, v in tree.items() if isinstance(v, dict)]
    inner = "".join(f"[{write_key((*before, k))}] # t\n{to_toml(v, (*before, k))}" for k, v in tables)
    return "# top\n" + "".join(plain) + inner


WRITERS = {
    "toml": to_toml,
    "json": lambda tree: json.dumps(tree, indent=3),
    "yaml": lambda tree: "# top\n" + yaml.safe_dump(tree, allow_unicode=True),
    "yaml in braces": lambda tree: yaml.safe_dump(tree, default_flow_style=True),
}


@pytest.mark.parametrize("name", WRITERS)
@FEW
@given(data=st.data(), tree=TREES)
def test_law_what_is_read_back_is_the_tree_with_those_keys_changed(
    name: str, data: st.DataObject, tree: dict[str, Any]
) -> None:
    text, form = WRITERS[name](tree), name.split()[0]
    read = parsed(form, text)
    paths = [path for path in leaves(read) if not path[-1].isdecimal()] or [next(iter(leaves(read)))]
    changed = data.draw(st.lists(st.sampled_from(paths), min_size=1, max_size=3, unique=True))
    edits = {write_key(path): data.draw(SCALARS) for path in changed}
    template = ConfigTemplate(Path("t"), form, text, flatten(edits))
    expected = parsed(form, text)
    for path, value in flatten(edits).items():
        old = nodes(expected)[path]
        new = float(value) if isinstance(old, float) and type(value) is int else value
        expected = apply_changes(expected, {path: new})
    assert same(parsed(form, template.render({})), expected)


@FEW
@given(
    data=st.data(),
    tree=st.dictionaries(
        st.from_regex(r"[a-z]{1,4}(\.[a-z]{1,3})?", fullmatch=True),
        st.dictionaries(
            st.from_regex(r"[A-Za-z]{1,5}", fullmatch=True),
            st.from_regex(r"(\w[\w =;#-]*\w)?", fullmatch=True),
            min_size=1,
            max_size=4,
        ),
        min_size=1,
        max_size=3,
    ),
)
def test_law_of_ini(data: st.DataObject, tree: dict[str, dict[str, str]]) -> None:
    text = "".join(f"[{s}]\n# note\n" + "".join(f"{k} = {v}\n" for k, v in of.items()) for s, of in tree.items())
    expected = parsed("ini", text)
    section = data.draw(st.sampled_from(sorted(tree)))
    key = data.draw(st.sampled_from(sorted(tree[section])))
    new = data.draw(st.one_of(st.integers(), st.booleans(), st.from_regex(r"\w([\w =;#-]*\w)?", fullmatch=True)))
    template = ConfigTemplate(Path("t"), "ini", text, {(*section.split("."), key): new})
    expected[section][key] = str(new).lower() if isinstance(new, bool) else str(new)
    found = template.render({})
    parser = configparser.RawConfigParser(default_section="\0", allow_no_value=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(found)
    assert {name: dict(parser.items(name)) for name in parser.sections()} == expected
