"""The commands assay model install, list, path and remove, and a search with what they install."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from assay.cli.main import main
from assay.search.models import INSTALLABLE, TOKENIZER, WEIGHTS, _normalize
from tests.search.dense.models import write_onnx


def test_model_is_installed_used_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "cache"))
    model = write_onnx(tmp_path / "tiny")
    pins = {
        WEIGHTS: hashlib.sha256((model / WEIGHTS).read_bytes()).hexdigest(),
        TOKENIZER: hashlib.sha256(_normalize(model / TOKENIZER)).hexdigest(),
    }
    monkeypatch.setitem(INSTALLABLE, "minilm", replace(INSTALLABLE["minilm"], sha256=pins))
    code = tmp_path / "code"
    code.mkdir()
    (code / "net.py").write_text("def retry(socket):\n    return socket\n")
    (code / "file.py").write_text("def close(socket):\n    return open(file)\n")

    def call(*words: str) -> str:
        assert main(list(words)) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    search = ("search", "retry the socket", str(code), "--json", "--set", "dense.encoder=minilm", "--per", "span")
    assert main(list(search)) == 2
    assert "hint: run `assay model install minilm`" in capsys.readouterr().err
    plain = call(*search[:4], "--per", "span")
    call("model", "install", "minilm", "--from", str(model))
    assert call(*search[:4], "--per", "span") == plain, "an installed model that is not configured changes nothing"
    (listed,) = json.loads(call("model", "list", "--json"))["models"]
    assert listed["sha256"] == pins
    directory = call("model", "path", "minilm").strip()
    assert directory == listed["path"]
    assert (Path(directory) / WEIGHTS).read_bytes() == (model / WEIGHTS).read_bytes()
    with_encoder = json.loads(call(*search))["hits"]
    assert with_encoder != json.loads(plain)["hits"]
    call("index", str(code), "--set", "dense.encoder=minilm", "--set", "encoder.mode=full")
    assert json.loads(call(*search, "--set", "encoder.mode=full"))["hits"]
    call("model", "remove", "minilm")
    assert main(["model", "path", "minilm"]) == 2
