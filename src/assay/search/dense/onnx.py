"""A folder with a network and tokenizer.json, as Optimum exports them: it runs in onnxruntime, on the CPU.

By default one text goes through at a time. What a matrix product gives for one row may depend in its last bits on the
rows beside it, so only then is a vector a function of its text; and on a CPU it costs little: 64 texts of 40 to 300
tokens took a network of six layers of 384 6.2 s one by one, 5.7 s in batches of 16 sorted by length, and 8.3 s in
batches of 32 as they came, for the padding (two busy cores). Each core takes texts of its own: cores that share a text
wait for each other, which took MiniLM 85 ms of processor and 140 ms a text instead of 47 and 81 (two busy cores).
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from assay.errors import ConfigError
from assay.files import read_utf8
from assay.search.dense.config import EmbedderConfig
from assay.search.dense.embedders import (
    Role,
    digest_files,
    find_file,
    in_batches,
    load_package,
    load_tokenizer,
    most_tokens,
)
from assay.search.dense.matrices import Matrix, unit_rows

_EXTRA: Final = "onnx"
_INPUTS: Final = frozenset({"input_ids", "attention_mask", "token_type_ids", "position_ids"})

#: What exporters call the network, quantised or not, in the folder or in one of its own.
_GRAPHS: Final = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")

Pooling = Literal["mean", "cls"]


@dataclass(frozen=True, slots=True)
class Onnx:
    """A network of transformers' kind."""

    identity: str
    dimension: int
    network: _Network
    batch: int

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:  # noqa: ARG002 (what differs by role is `Prefixed`)
        """Run the texts through the network, some at a time, on every core."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        with ThreadPoolExecutor(_cores()) as pool:
            return unit_rows(np.concatenate(list(pool.map(self.network.run, in_batches(texts, self.batch)))))


@dataclass(frozen=True, slots=True)
class _Network:
    """Tokenizer, session, and how tokens become a vector."""

    tokenizer: Any
    session: Any
    inputs: tuple[str, ...]
    output: str
    pooling: Pooling

    def run(self, texts: Sequence[str]) -> Matrix:
        """Embed one batch; rows are not yet of length one."""
        encoded = self.tokenizer.encode_batch(list(texts))
        length = max(1, *(len(each.ids) for each in encoded))
        ids = _padded([each.ids for each in encoded], length)
        mask = _padded([each.attention_mask for each in encoded], length)
        kinds = _padded([each.type_ids for each in encoded], length)
        places = np.broadcast_to(np.arange(length, dtype=np.int64), ids.shape)
        known = {"input_ids": ids, "attention_mask": mask, "token_type_ids": kinds, "position_ids": places}
        answer = self.session.run([self.output], {name: known[name] for name in self.inputs})[0]
        return _pool(np.asarray(answer, dtype=np.float32), mask, self.pooling)


def open_onnx(path: str, config: EmbedderConfig) -> Onnx:
    """Open a folder with a network, such as model.onnx, and tokenizer.json."""
    folder = Path(path).expanduser()
    graph = find_file(folder, *_GRAPHS)
    words = find_file(folder, "tokenizer.json", "onnx/tokenizer.json")
    pooling = _pooling(folder / "1_Pooling" / "config.json")
    most = most_tokens(folder / "sentence_bert_config.json", "max_seq_length", config)
    session = _session(graph)
    tokenizer = load_tokenizer(words, _EXTRA)
    tokenizer.no_padding()
    tokenizer.enable_truncation(most)
    network = _Network(tokenizer, session, _inputs(session, graph), _output(session), pooling)
    outside = sorted(graph.parent.glob(f"{graph.name}?data"))  # weights beyond 2 GB stand in a file of their own
    digest = digest_files([graph, *outside, words])
    identity = f"onnx/1 {digest} tokens={most} pooling={pooling}"
    return Onnx(identity, network.run(["a"]).shape[1], network, config.batch)


def _cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _session(graph: Path) -> Any:  # noqa: ANN401
    """Load the network, to run on the thread that asks."""
    onnxruntime = load_package("onnxruntime", _EXTRA)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    try:
        return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own errors share no base class
        raise ConfigError(f"not a network onnxruntime can load: {error}", file=graph, hint="export it again") from error


def _inputs(session: Any, graph: Path) -> tuple[str, ...]:  # noqa: ANN401
    """List what the network wants to be given; anything that is not made from tokens is refused."""
    names = tuple(entry.name for entry in session.get_inputs())
    if strange := sorted(set(names) - _INPUTS):
        hint = "export it with `optimum-cli export onnx --task feature-extraction`"
        raise ConfigError(f"the network asks for {', '.join(strange)}, which no tokenizer gives", file=graph, hint=hint)
    return names


def _output(session: Any) -> str:  # noqa: ANN401
    """Choose the output: a ready sentence vector if there is one, else the first, which holds the tokens'."""
    names = [str(entry.name) for entry in session.get_outputs()]
    return "sentence_embedding" if "sentence_embedding" in names else names[0]


def _pooling(path: Path) -> Pooling:
    """Read how sentence-transformers pools this model; without a word about it, by the mean."""
    if not path.is_file():
        return "mean"
    try:
        modes = [name for name, on in json.loads(read_utf8(path, ConfigError)).items() if on is True]
    except (ValueError, AttributeError) as error:
        raise ConfigError("not a pooling configuration", file=path, hint="export the model again") from error
    if "pooling_mode_cls_token" in modes:
        return "cls"
    if "pooling_mode_mean_tokens" in modes:
        return "mean"
    hint = "models that are pooled by the mean or the first token are known"
    raise ConfigError(f"pooling by {', '.join(modes) or 'nothing'}", file=path, hint=hint)


def _padded(rows: Sequence[Sequence[int]], length: int) -> NDArray[np.int64]:
    """Fill rows up with zeros, which the mask strikes out."""
    return np.array([[*row, *[0] * (length - len(row))] for row in rows], dtype=np.int64)


def _pool(answer: Matrix, mask: NDArray[np.int64], pooling: Pooling) -> Matrix:
    """Make one vector of the tokens': their mean over the mask, or the first one's."""
    if answer.ndim == 2:
        return answer
    if pooling == "cls":
        return answer[:, 0]
    weight = mask[:, :, None].astype(np.float32)
    return np.asarray((answer * weight).sum(axis=1) / np.maximum(weight.sum(axis=1), 1))
