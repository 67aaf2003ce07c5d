"""Tiny models of our own: random numbers in the formats that real ones have."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

WORDS = ["[UNK]", "[PAD]", "def", "retry", "backoff", "the", "a", "of", "socket", "close", "open", "file", "(", ")"]
NAMES = {"float32": "F32", "float16": "F16", "int8": "I8", "int64": "I64", "float64": "F64", "int32": "I32"}


def write_safetensors(
    path: Path, tensors: Mapping[str, NDArray[Any]], *, types: Mapping[str, str] | None = None
) -> None:
    """Write the format by hand."""
    header: dict[str, object] = {"__metadata__": {"format": "np"}}
    data = b""
    for name, tensor in tensors.items():
        dtype = (types or {}).get(name) or NAMES[tensor.dtype.name]
        header[name] = {
            "dtype": dtype,
            "shape": list(tensor.shape),
            "data_offsets": [len(data), len(data) + tensor.nbytes],
        }
        data += tensor.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def write_tokenizer(path: Path) -> None:
    """Write a tokenizer of whole words."""
    tokenizers = pytest.importorskip("tokenizers", reason="the tokenizers package is not installed")
    vocabulary = {word: number for number, word in enumerate(WORDS)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(path))


def table(dimension: int = 16, seed: int = 0) -> NDArray[np.float32]:
    """Draw a vector for each word."""
    return np.random.default_rng(seed).standard_normal((len(WORDS), dimension)).astype(np.float32)


def write_model2vec(
    folder: Path, tensors: Mapping[str, NDArray[Any]] | None = None, config: Mapping[str, object] | None = None
) -> Path:
    """Write a model2vec folder."""
    folder.mkdir(parents=True, exist_ok=True)
    write_safetensors(folder / "model.safetensors", tensors or {"embeddings": table()})
    write_tokenizer(folder / "tokenizer.json")
    (folder / "config.json").write_text(json.dumps({"normalize": True, **(config or {})}))
    return folder


def write_onnx(folder: Path, *, pooled: bool = False, strange: bool = False) -> Path:
    """Write an ONNX folder: its network looks each token up in `table`; `pooled` gives the first token's vector."""
    onnx = pytest.importorskip("onnx", reason="the onnx package is not installed")
    helper, tensor = onnx.helper, onnx.TensorProto
    folder.mkdir(parents=True, exist_ok=True)
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"], axis=0)]
    outputs = [helper.make_tensor_value_info("last_hidden_state", tensor.FLOAT, ["batch", "length", 16])]
    weights = [onnx.numpy_helper.from_array(table(), "table")]
    if pooled:
        weights.append(onnx.numpy_helper.from_array(np.array(0, dtype=np.int64), "first"))
        nodes.append(helper.make_node("Gather", ["last_hidden_state", "first"], ["sentence_embedding"], axis=1))
        outputs.append(helper.make_tensor_value_info("sentence_embedding", tensor.FLOAT, ["batch", 16]))
    names = ["input_ids", "attention_mask", *(["pixel_values"] if strange else [])]
    inputs = [helper.make_tensor_value_info(name, tensor.INT64, ["batch", "length"]) for name in names]
    graph = helper.make_graph(nodes, "tiny", inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(folder / "model.onnx"))
    write_tokenizer(folder / "tokenizer.json")
    return folder
