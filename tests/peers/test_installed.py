"""The presets of tools that install from PyPI or npm, with the programs themselves."""

import os
import platform

import pytest

from assay import run
from assay.engines import make_engine
from benchmarks.pages import Unavailable
from benchmarks.peers.programs import CHUNKHOUND, PROBE, SIA, give_vectors, programs
from benchmarks.peers.serving import embedding, serving
from tests.peers.asking import rankings, read_gold

pytestmark = pytest.mark.nightly


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
