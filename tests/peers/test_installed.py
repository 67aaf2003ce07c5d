"""The presets of tools that install from PyPI or npm, with the programs themselves."""

import os
import platform

import pytest

from assay import run
from assay.engines import make_engine
from assay.engines.presets import load_preset, shipped_presets
from assay.gold import load_gold
from benchmarks.pages import Unavailable
from benchmarks.peers.programs import CHUNKHOUND, PROBE, SIA, give_vectors, programs
from benchmarks.peers.serving import embedding, serving
from tests.peers.asking import rankings, read_gold

pytestmark = pytest.mark.nightly
#: Presets that the tests of this directory run, with the module of the test.
TESTED = {
    "assay-mcp": "test_transports",
    "chunkhound": "test_installed",
    "chunkhound-regex": "test_installed",
    "probe": "test_installed",
    "ripgrep-literal": "test_adapters",
    "semble": "test_adapters",
    "semble-cli": "test_adapters",
    "semble-mcp": "test_adapters",
    "sia-code-lexical": "test_installed",
}


def test_every_preset_is_run_here_or_names_the_reason():
    presets = {name: load_preset(name).facts for name in shipped_presets()}
    assert {name for name, facts in presets.items() if facts.verified} == set(TESTED)
    reasons = ("not on PyPI, npm or Debian", "needs a paid key", "needs a hub")
    assert all(facts.verified or any(reason in facts.docs for reason in reasons) for facts in presets.values())


def check(name, peer, library, tmp_path, monkeypatch, **settings):
    """Run a preset with its program; its results for a class have the file of the class, with lines."""
    try:
        folder = programs(peer)
    except Unavailable as reason:
        pytest.skip(f"LOUD: {reason}; the preset {name} was NOT tested")
    monkeypatch.setenv("PATH", os.pathsep.join([str(folder), os.environ["PATH"]]))
    found = rankings(run({name: make_engine({"preset": name, **settings})}, read_gold(library, tmp_path)))[name]
    assert any(hit.path == "json/encoder.py" and hit.start for hit in found[1])
    assert len({hit.path for hits in found for hit in hits}) > 1  # not one answer for every query


def test_chunkhound_without_embeddings(library, tmp_path, monkeypatch):
    try:
        folder, home = programs(CHUNKHOUND), give_vectors(tmp_path / "home")
    except Unavailable as reason:
        pytest.skip(f"LOUD: {reason}; the preset chunkhound-regex was NOT tested")
    monkeypatch.setenv("PATH", os.pathsep.join([str(folder), os.environ["PATH"]]))
    (tmp_path / "names.jsonl").write_text('{"query": "class JSONEncoder", "path": "json/encoder.py"}\n')
    (gold,) = load_gold(tmp_path / "names.jsonl", corpus=str(library)).golds
    engine = make_engine({"preset": "chunkhound-regex", "env": {"HOME": str(home)}})
    assert any(hit.path == "json/encoder.py" for hit in rankings(run({"regex": engine}, gold))["regex"][0])


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the pinned program is for x86-64")
def test_probe(library, tmp_path, monkeypatch):
    check("probe", PROBE, library, tmp_path, monkeypatch)


def test_sia_code_without_embeddings(library, tmp_path, monkeypatch):
    check("sia-code-lexical", SIA, library, tmp_path, monkeypatch)


def test_chunkhound_with_embeddings_of_a_local_server(library, tmp_path, monkeypatch):
    with serving(embedding()) as address:
        for variable, value in {
            "PROVIDER": "openai",
            "BASE_URL": f"{address}/v1",
            "API_KEY": "none-is-needed",
            "MODEL": "assay-static",
        }.items():
            monkeypatch.setenv(f"CHUNKHOUND_EMBEDDING__{variable}", value)
        try:
            home = give_vectors(tmp_path / "home")
        except Unavailable as reason:
            pytest.skip(f"LOUD: {reason}; the preset chunkhound was NOT tested")
        check("chunkhound", CHUNKHOUND, library, tmp_path, monkeypatch, env={"HOME": str(home)})
