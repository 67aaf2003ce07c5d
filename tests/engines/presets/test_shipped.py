"""Every preset that ships: what it says, and that its settings can be read without its tool."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.engines.base import EngineContext
from assay.engines.kinds import KINDS
from assay.engines.presets import check_installed, load_preset, preset_notes, preset_settings, shipped_presets
from assay.engines.templates import PATH_PLACEHOLDERS, QUERY_PLACEHOLDERS

#: What DESIGN promises, and the other ways in which some of the tools are asked.
PROMISED = {
    "semble", "semble-cli", "semble-mcp", "colgrep", "octocode", "chunkhound", "ck",
    "probe", "sia-code", "pyckle", "assay-mcp",
}  # fmt: skip
OTHERS = {"ripgrep-literal", "chunkhound-regex", "sia-code-lexical", "octocode-variants"}
_PLACE = re.compile(r"\{(\w+)(?::[\w-]+)?\}")
_VERSION = re.compile(r"\d+\.\d+|November 2026")

each = pytest.mark.parametrize("name", shipped_presets())


def texts(value: object) -> Iterator[str]:
    """List the texts in settings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)


def test_every_promised_tool_has_a_preset() -> None:
    assert set(shipped_presets()) == PROMISED | OTHERS
    assert not PROMISED & set(KINDS)


@each
def test_preset_can_be_made_into_an_engine_without_its_tool(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    preset = load_preset(name)
    for variable in preset.facts.variables:
        monkeypatch.setenv(variable, "a-value-of-a-variable")
    kind = KINDS[preset.kind]
    made = kind.make_engine(preset_settings(preset, {}), EngineContext(preset=preset.path.parent))
    assert made.config["kind"] == preset.kind


@each
def test_preset_says_what_it_is_where_it_comes_from_and_how_to_get_the_tool(name: str) -> None:
    facts = load_preset(name).facts
    assert 10 < len(facts.about) < 90
    assert facts.home.startswith("https://")
    assert facts.install
    assert facts.needs or facts.variables or name == "assay-mcp"  # it is here, with us
    assert (facts.version is None) == (name == "pyckle")


@each
def test_preset_names_the_version_it_ran_with_or_the_version_of_the_docs(name: str) -> None:
    preset = load_preset(name)
    assert bool(preset.facts.verified) != bool(preset.facts.docs)
    assert _VERSION.search(preset.facts.verified or preset.facts.docs)
    assert ("unverified" in preset_notes(preset)[0]) == (not preset.facts.verified)


@each
def test_preset_uses_known_placeholders_and_drivers_that_ship(name: str) -> None:
    preset = load_preset(name)
    known = {*PATH_PLACEHOLDERS, *QUERY_PLACEHOLDERS, "env", "python", "path", "language", "id"}
    for text in texts(dict(preset.settings)):
        assert set(_PLACE.findall(text)) <= known, text
        for driver in re.findall(r"\{preset\}/([\w./]+)", text):
            assert (preset.path.parent / driver).is_file()


@each
def test_preset_needs_the_programs_that_it_runs(name: str) -> None:
    preset = load_preset(name)
    for key in ("argv", "index", "command"):
        argv = preset.settings.get(key)
        if isinstance(argv, list):
            program = re.sub(r"^\{python:([\w-]+)\}$", r"\1", str(argv[0]))
            assert program in (*preset.facts.needs, "{python}")
    if preset.facts.version:
        assert preset.facts.version.argv[0] in (*preset.facts.needs, "{python}")


def test_presets_are_in_the_order_of_their_names() -> None:
    assert list(shipped_presets()) == sorted(shipped_presets())


def test_assay_is_asked_by_the_python_that_runs_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from assay import __version__

    monkeypatch.setenv("PATH", str(tmp_path))
    found = check_installed(load_preset("assay-mcp"))
    assert (found.ready, found.version) == (True, __version__)


def test_what_a_preset_was_run_with_is_not_told_of_this_run() -> None:
    assert preset_notes(load_preset("semble"))[0] == "preset semble, last verified with semble 0.7.0 (stand-in weights)"


@each
def test_preset_is_short_and_tells_about_itself_first(name: str) -> None:
    text = load_preset(name).text
    assert text.startswith("# ")
    assert len(text.splitlines()) <= 45
    assert all(len(line) <= 130 for line in text.splitlines())
    assert list(tomllib.loads(text)) == ["preset", "engine"]


def test_a_tool_that_is_not_here_is_missing_and_has_no_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = check_installed(load_preset("colgrep"))
    assert (found.ready, found.missing, found.version) == (False, ("colgrep",), "")
