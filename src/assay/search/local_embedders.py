"""Embedders that run on this machine: fastembed, ONNX, model2vec and sentence-transformers."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from assay.errors import ConfigError, SetupError, install_hint
from assay.files import read_utf8
from assay.search.embedders import EmbedderConfig, Role, in_batches
from assay.search.vectors import Matrix, unit_rows


@dataclass(frozen=True, slots=True)
class Fastembed:
    """A fastembed model, which adds its words for queries and passages itself."""

    identity: str
    dimension: int
    model: Any
    batch: int

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        """Embed as a query or as a passage."""
        embed = self.model.query_embed if role == "query" else self.model.passage_embed
        rows = list(embed(list(texts), batch_size=self.batch)) if texts else []
        return unit_rows(np.array(rows, dtype=np.float32).reshape(len(texts), self.dimension))


def open_fastembed(name: str, config: EmbedderConfig) -> Fastembed:
    """Open a model by its name in fastembed, which downloads it at first use (the download is not tested)."""
    fastembed = load_package("fastembed", "fastembed")
    known = sorted(str(model["model"]) for model in fastembed.TextEmbedding.list_supported_models())
    if name.lower() not in {model.lower() for model in known}:
        raise ConfigError(f"fastembed has no model {name!r}", hint=f"it has {', '.join(known)}")
    try:
        model = fastembed.TextEmbedding(model_name=name)
    except Exception as error:  # whatever the download or onnxruntime raises
        hint = "check the network; FASTEMBED_CACHE_PATH names a folder that already holds the model"
        raise SetupError(f"fastembed cannot load {name}: {error}", hint=hint) from error
    return wrap_fastembed(name, model, config)


def wrap_fastembed(name: str, model: Any, config: EmbedderConfig) -> Fastembed:  # noqa: ANN401
    """Return the embedder of a loaded model; name and package version identify it."""
    dimension = len(next(iter(model.embed(["a"]))))
    return Fastembed(f"fastembed/1 {name} {version('fastembed')}", dimension, model, config.batch)


_INPUTS: Final = frozenset({"input_ids", "attention_mask", "token_type_ids", "position_ids"})

#: File names of exporters, quantized or not.
_GRAPHS: Final = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")

Pooling = Literal["mean", "cls"]


@dataclass(frozen=True, slots=True)
class Onnx:
    """A transformer network."""

    identity: str
    dimension: int
    network: _Network
    batch: int

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:  # noqa: ARG002 (what differs by role is `Prefixed`)
        """Run the texts through the network, some at a time, on every core."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        with ThreadPoolExecutor(cores) as pool:
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
    tokenizer = load_tokenizer(words, "onnx", most)
    network = _Network(tokenizer, session, _inputs(session, graph), _output(session), pooling)
    outside = sorted(graph.parent.glob(f"{graph.name}?data"))  # weights beyond 2 GB are in a separate file
    digest = digest_files([graph, *outside, words])
    identity = f"onnx/1 {digest} tokens={most} pooling={pooling}"
    return Onnx(identity, network.run(["a"]).shape[1], network, config.batch)


def _session(graph: Path) -> Any:  # noqa: ANN401
    onnxruntime = load_package("onnxruntime", "onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    try:
        return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own errors share no base class
        raise ConfigError(f"not a network onnxruntime can load: {error}", file=graph, hint="export it again") from error


def _inputs(session: Any, graph: Path) -> tuple[str, ...]:  # noqa: ANN401
    names = tuple(entry.name for entry in session.get_inputs())
    if strange := sorted(set(names) - _INPUTS):
        hint = "export it with `optimum-cli export onnx --task feature-extraction`"
        raise ConfigError(f"the network asks for {', '.join(strange)}, which no tokenizer gives", file=graph, hint=hint)
    return names


def _output(session: Any) -> str:  # noqa: ANN401
    names = [str(entry.name) for entry in session.get_outputs()]
    return "sentence_embedding" if "sentence_embedding" in names else names[0]


def _pooling(path: Path) -> Pooling:
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
    return np.array([[*row, *[0] * (length - len(row))] for row in rows], dtype=np.int64)


def _pool(answer: Matrix, mask: NDArray[np.int64], pooling: Pooling) -> Matrix:
    if answer.ndim == 2:
        return answer
    if pooling == "cls":
        return answer[:, 0]
    weight = mask[:, :, None].astype(np.float32)
    return np.asarray((answer * weight).sum(axis=1) / np.maximum(weight.sum(axis=1), 1))


#: numpy has no bfloat16: its bits are the upper half of a float32.
_TYPES: Final = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I8": "i1"}


def read_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """Read the tensors of a file by name; a damaged file is a ConfigError."""
    try:
        raw = np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))
        size = int(raw[:8].view("<u8")[0])
        header = json.loads(raw[8 : 8 + size].tobytes())
        data = raw[8 + size :]
        return {name: _tensor(data, entry) for name, entry in header.items() if name != "__metadata__"}
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror or error}", file=path, hint="check the path") from error
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise ConfigError("not a safetensors file", file=path, hint="copy or export the model again") from error


def _tensor(data: NDArray[np.uint8], entry: Mapping[str, Any]) -> NDArray[Any]:
    start, end = entry["data_offsets"]
    if not 0 <= start <= end <= len(data):
        raise ValueError(f"bytes {start}-{end} of {len(data)}")
    values = data[start:end].view(_TYPES[entry["dtype"]]).reshape(entry["shape"])
    if entry["dtype"] == "BF16":
        return (values.astype(np.uint32) << 16).view(np.float32)
    return values


#: Texts tokenized at a time: enough for the tokenizer's threads, and a few megabytes of results.
_TOKENIZED: Final = 1024


@dataclass(frozen=True, slots=True)
class Model2Vec:
    """A static model: tokenizer and table."""

    identity: str
    tokenizer: Any
    unknown: int | None  # the token for unknown text, which is left out
    longest: int  # characters of a text that count, by model2vec's rule: most tokens × median token
    table: Matrix
    mapping: NDArray[Any] | None  # token -> row of the table, when tokens share rows
    weights: NDArray[Any] | None  # by token

    @property
    def dimension(self) -> int:
        """Numbers of one vector."""
        return int(self.table.shape[1])

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:  # noqa: ARG002 (a static model has no roles)
        """Average the tokens of each text."""
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        batches = in_batches(texts, _TOKENIZED)
        for row, tokens in enumerate(tokens for batch in batches for tokens in self._tokens(batch)):
            rows[row] = self._sum(tokens)
        return unit_rows(rows)

    def _tokens(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        cut = [text[: self.longest] for text in texts]
        encoded = self.tokenizer.encode_batch_fast(cut, add_special_tokens=False)
        tokens = [np.array(each.ids, dtype=np.int64) for each in encoded]
        return tokens if self.unknown is None else [each[each != self.unknown] for each in tokens]

    def _sum(self, tokens: NDArray[np.int64]) -> Matrix:
        vectors = self.table[tokens if self.mapping is None else self.mapping[tokens]]
        if self.weights is not None:
            vectors = vectors * self.weights[tokens][:, None]
        return np.asarray(vectors.sum(axis=0))


def open_model2vec(path: str, config: EmbedderConfig) -> Model2Vec:
    """Open a folder as `StaticModel.save_pretrained` or sentence-transformers' StaticEmbedding writes it."""
    folder = Path(path).expanduser()
    weights = find_file(folder, "model.safetensors", "0_StaticEmbedding/model.safetensors")
    words = find_file(folder, "tokenizer.json", "0_StaticEmbedding/tokenizer.json")
    most = most_tokens(folder / "config.json", "max_length", config)
    tokenizer = load_tokenizer(words, "model2vec", most)
    lengths = [len(token) for token in tokenizer.get_vocab()]
    tensors = read_tensors(weights)
    model = Model2Vec(
        identity=f"model2vec/1 {digest_files([weights, words])} tokens={most}",
        tokenizer=tokenizer,
        unknown=_unknown(tokenizer),
        longest=most * max(1, int(np.median(lengths or [1]))),
        table=_table(tensors, weights),
        mapping=tensors.get("mapping"),
        weights=tensors.get("weights"),
    )
    _check(model, tokenizer.get_vocab_size(), weights)
    return model


def _unknown(tokenizer: Any) -> int | None:  # noqa: ANN401
    model = json.loads(tokenizer.to_str())["model"]
    if "unk_id" in model:
        return None if model["unk_id"] is None else int(model["unk_id"])
    found = tokenizer.token_to_id(model["unk_token"]) if model.get("unk_token") else None
    return None if found is None else int(found)


def _table(tensors: dict[str, NDArray[Any]], path: Path) -> Matrix:
    for name in ("embeddings", "embedding.weight"):
        if name in tensors and tensors[name].ndim == 2:
            return np.asarray(tensors[name], dtype=np.float32)
    raise ConfigError("holds no table of vectors", file=path, hint="name the folder of a model2vec model")


def _check(model: Model2Vec, tokens: int, path: Path) -> None:
    short = len(model.table if model.mapping is None else model.mapping) < tokens
    short = short or (model.weights is not None and len(model.weights) < tokens)
    wrong = model.mapping is not None and len(model.mapping) and not 0 <= model.mapping.max() < len(model.table)
    if short or wrong:
        hint = "tokenizer.json and model.safetensors must come from one model"
        raise ConfigError(f"the table does not fit a tokenizer of {tokens:,} tokens", file=path, hint=hint)


@dataclass(frozen=True, slots=True)
class SentenceTransformers:
    """A sentence-transformers model, with the prompts for queries and documents that it brings."""

    identity: str
    dimension: int
    model: Any
    batch: int

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        """Embed as a query or as a document."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        encode = self.model.encode_query if role == "query" else self.model.encode_document
        return unit_rows(encode(list(texts), batch_size=self.batch, show_progress_bar=False, convert_to_numpy=True))


def open_sentence_transformers(name: str, config: EmbedderConfig) -> SentenceTransformers:
    """Open a folder or a name (the download of a published model is not tested)."""
    package = load_package("sentence_transformers", "sentence-transformers")
    try:
        model = package.SentenceTransformer(name, device="cpu")
    except Exception as error:  # torch, transformers and the hub share no base class
        hint = "name a folder with the model, or check the network"
        raise SetupError(f"sentence-transformers cannot load {name}: {error}", hint=hint) from error
    if isinstance(model.max_seq_length, int):  # a static model has no limit
        model.max_seq_length = min(model.max_seq_length, config.max_tokens)
    dimension = len(model.encode(["a"], show_progress_bar=False)[0])
    identity = (
        f"sentence-transformers/1 {_content(name)} {version('sentence-transformers')} tokens={model.max_seq_length}"
    )
    return SentenceTransformers(identity, dimension, model, config.batch)


def _content(name: str) -> str:
    folder = Path(name).expanduser()
    return digest_files(sorted(path for path in folder.rglob("*") if path.is_file())) if folder.is_dir() else name


def load_package(module: str, extra: str) -> Any:  # noqa: ANN401 (packages without stubs)
    """Import an optional package; raise SetupError with an install hint."""
    try:
        return import_module(module)
    except ImportError as error:
        raise SetupError(
            f"the embedder needs the package {module}, which cannot be imported: {error}",
            hint=install_hint(extra),
        ) from error


def find_file(folder: Path, *names: str) -> Path:
    """Return the first existing file of a model."""
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise ConfigError(
        f"no {' or '.join(names)} in the model's folder",
        file=folder,
        hint="name the folder that holds the model's files; nothing is downloaded",
    )


def most_tokens(path: Path, name: str, config: EmbedderConfig) -> int:
    """Return how many tokens of a text count: ours, or a smaller number under `name` in a file of the model."""
    if not path.is_file():
        return config.max_tokens
    try:
        own = json.loads(read_utf8(path, ConfigError)).get(name)
        return min(config.max_tokens, max(1, int(own))) if own else config.max_tokens
    except (ValueError, TypeError, AttributeError) as error:
        raise ConfigError("not a model's configuration", file=path, hint="export the model again") from error


def load_tokenizer(path: Path, extra: str, most: int) -> Any:  # noqa: ANN401 (the package has no stubs)
    """Read a tokenizer.json; texts are cut after `most` tokens and not padded."""
    tokenizers = load_package("tokenizers", extra)
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the package raises bare Exception
        raise ConfigError(f"not a tokenizer: {error}", file=path, hint="export the model again") from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(most)
    return tokenizer


def digest_files(paths: Sequence[Path]) -> str:
    """Hash the contents of files."""
    total = hashlib.sha256()
    for path in paths:
        with path.open("rb") as stream:
            total.update(hashlib.file_digest(stream, "sha256").digest())
    return total.hexdigest()[:32]
