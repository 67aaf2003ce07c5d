"""Merge a low-rank delta into the int8 weights of an ONNX file, in place.

The delta of a linear layer is up · down, to be added to its weights (Hu et al. 2021, LoRA). The weights are int8 with a
scale per output, so they are restored, changed and rounded again with new scales; no tensor changes its size. The file
is edited as bytes, since the `onnx` package would be needed for nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import ConfigError
from assay.files import write_atomic

#: Field numbers in onnx.proto: ModelProto.graph, GraphProto.node and .initializer, and fields of the messages there.
_GRAPH, _NODE, _INITIALIZER = 7, 1, 5
_NODE_INPUT, _NODE_NAME = 1, 3
_DIMS, _FLOATS, _INTS, _NAME, _RAW = 1, 4, 5, 8, 9
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class _Field(NamedTuple):
    number: int
    value: int  # of a varint
    start: int
    stop: int


def write_merged(model: Path, delta: Mapping[str, NDArray[Any]], target: Path) -> None:
    """Write a copy of the directory of an ONNX model with `delta` merged into its weights."""
    target.mkdir(parents=True, exist_ok=True)
    for file in sorted(model.iterdir()):
        data = file.read_bytes()
        write_atomic(target / file.name, merge_delta(data, delta) if file.suffix == ".onnx" else data)


def merge_delta(weights: bytes, delta: Mapping[str, NDArray[Any]]) -> bytes:
    """Return an ONNX file with `delta` (`LAYER.down` and `LAYER.up`) added to its int8 linear layers."""
    merged = bytearray(weights)
    tensors, quantized = _read_graph(weights)
    for layer in sorted({name.rpartition(".")[0] for name in delta}):
        if layer not in quantized:
            raise ConfigError(f"the ONNX model has no int8 weights of {layer}", hint="use the base of the delta")
        stem = quantized[layer].removesuffix("_quantized")
        values, scales = tensors[f"{stem}_quantized"], tensors[f"{stem}_scale"]
        zeros = tensors[f"{stem}_zero_point"].array(weights, np.int32)
        old = values.array(weights, np.int8).reshape(values.dims).astype(np.float64) - zeros
        scale = scales.array(weights, np.float32).astype(np.float64)
        up, down = (np.asarray(delta[f"{layer}.{side}"], dtype=np.float64) for side in ("up", "down"))
        new = old * scale + (up @ down).T
        peak = np.abs(old).max(axis=0)  # the range that the quantizer used
        step = (np.abs(new).max(axis=0) / np.where(peak > 0, peak, 1)).astype(np.float32)
        step = np.where(step > 0, step, np.float32(1))
        rounded = np.clip(np.rint(new / step) + zeros, -128, 127).astype(np.int8)
        merged[values.start : values.stop] = rounded.tobytes()
        merged[scales.start : scales.stop] = step.astype("<f4").tobytes()
    return bytes(merged)


class _Tensor(NamedTuple):
    dims: tuple[int, ...]
    start: int
    stop: int
    varints: tuple[int, ...] = ()

    def array(self, data: bytes, kind: type[np.generic]) -> NDArray[Any]:
        if self.varints:
            return np.array(self.varints, dtype=np.uint64).astype(np.int64).astype(kind)
        return np.frombuffer(data[self.start : self.stop], dtype=kind)


def _read_graph(data: bytes) -> tuple[dict[str, _Tensor], dict[str, str]]:
    """Return the tensors by name, and the name of the int8 weights of each linear layer."""
    tensors: dict[str, _Tensor] = {}
    quantized: dict[str, str] = {}
    for graph in (field for field in _fields(data, 0, len(data)) if field.number == _GRAPH):
        for entry in _fields(data, graph.start, graph.stop):
            if entry.number == _INITIALIZER:
                name, tensor = _read_tensor(data, entry)
                tensors[name] = tensor
            elif entry.number == _NODE:
                parts = list(_fields(data, entry.start, entry.stop))
                inputs = [_text(data, part) for part in parts if part.number == _NODE_INPUT]
                name = next((_text(data, part) for part in parts if part.number == _NODE_NAME), "")
                # as exporters of PyTorch name it: /encoder/layer.0/attention/self/query/MatMul_quant
                if name.endswith("/MatMul_quant") and len(inputs) > 1 and inputs[1].endswith("_quantized"):
                    quantized[name.removesuffix("/MatMul_quant").strip("/").replace("/", ".")] = inputs[1]
    return tensors, quantized


def _read_tensor(data: bytes, entry: _Field) -> tuple[str, _Tensor]:
    name, dims, place, varints = "", [], (0, 0), []
    for part in _fields(data, entry.start, entry.stop):
        if part.number == _NAME:
            name = _text(data, part)
        elif part.number == _DIMS:
            dims.append(part.value)
        elif part.number in (_RAW, _FLOATS):
            place = (part.start, part.stop)
        elif part.number == _INTS:
            at = part.start
            while at < part.stop:
                value, at = _varint(data, at)
                varints.append(value)
    return name, _Tensor(tuple(dims), *place, tuple(varints))


def _text(data: bytes, field: _Field) -> str:
    return data[field.start : field.stop].decode("utf-8", "replace")


def _fields(data: bytes, start: int, stop: int) -> Iterator[_Field]:
    """Yield the fields of a protobuf message."""
    at = start
    while at < stop:
        tag, at = _varint(data, at)
        number, kind = tag >> 3, tag & 7
        value = 0
        begin = at
        if kind == _VARINT:
            value, at = _varint(data, at)
        elif kind == _BYTES:
            size, begin = _varint(data, at)
            at = begin + size
        else:
            at += {_FIXED64: 8, _FIXED32: 4}[kind]
        yield _Field(number, value, begin, at)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
