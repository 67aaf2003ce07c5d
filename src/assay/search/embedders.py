"""Embedders, opened by a spec such as `onnx:DIRECTORY`.

Optional packages are imported when an embedder of their kind is opened.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeVar
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from assay.errors import ConfigError, EngineError, EngineTimeoutError, SetupError, did_you_mean, install_hint
from assay.files import read_utf8
from assay.search.vectors import Matrix, unit_rows

Role = Literal["query", "code", "docs"]
T = TypeVar("T")


class Embedder(Protocol):
    """Turns texts into vectors of length one, or of zeros for texts without content."""

    @property
    def identity(self) -> str:
        """Identifies the vectors, given text and role."""

    @property
    def dimension(self) -> int:
        """Numbers per vector."""

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        """Return one row per text, float32, never NaN."""


@dataclass(frozen=True, slots=True)
class EmbedderConfig:
    """Settings of an embedder; those that shape its vectors are part of its identity."""

    #: The environment variable with the token of an API; the token is never stored.
    token_env: str | None = None
    #: Prefixes by role. Some models expect them ("query: ", "passage: "); see their model cards.
    query_prefix: str = ""
    code_prefix: str = ""
    docs_prefix: str = ""
    #: The limit of BERT-like models and of model2vec; a smaller limit of the model wins.
    max_tokens: int = 512
    #: Texts per call of a local network. In a batch the last bits of a vector depend on its neighbors, so an updated
    #: index would differ from a fresh one, and a CPU gains little from larger batches.
    batch: int = 1
    #: Texts per request: 32 of the longest stay below the 300,000 tokens that OpenAI accepts.
    http_batch: int = 32
    #: OpenAI's models reject more than 8,191 tokens; code has about three characters per token.
    http_characters: int = 24_000
    #: A rejected text is cut to three quarters and sent again while it is longer than this. Every model accepts that
    #: many characters, so a later rejection has another reason.
    http_least: int = 200
    #: A small server without a GPU takes about ten seconds per batch.
    http_seconds: float = 60.0
    #: Retries of the first request: after 0.5, 1, 2 and 4 s a restart or a limit per second is over.
    http_retries: int = 4
    #: Retries of later requests. A server that fails half of the time fails 17 times in a row once in 130,000
    #: requests, or 4 million texts; a dead one costs about 80 s.
    http_patience: int = 16


DEFAULT_EMBEDDER: Final = EmbedderConfig()

_SPECS: Final = (
    "fastembed:NAME, model2vec:DIRECTORY, onnx:DIRECTORY, openai:URL#MODEL, sentence-transformers:NAME, static, "
    "static:DIRECTORY"
)


def make_embedder(spec: str, config: EmbedderConfig = DEFAULT_EMBEDDER) -> Embedder:
    """Open the embedder of a spec; relative paths start at the working directory."""
    kind, _, target = spec.partition(":")
    if kind == "static":
        from assay.search.static import StaticEmbedder, open_static

        return StaticEmbedder(open_static(target or None))
    openers: dict[str, Callable[[str, EmbedderConfig], Embedder]] = {
        "fastembed": open_fastembed,
        "model2vec": open_model2vec,
        "onnx": open_onnx,
        "openai": open_openai,
        "sentence-transformers": open_sentence_transformers,
    }
    if kind not in openers:
        hint = did_you_mean(kind, (*openers, "static")) or f"use one of {_SPECS}"
        raise ConfigError(f"unknown embedder {kind!r}; expected {', '.join(openers)} or static", hint=hint)
    if not target:
        raise ConfigError(f"the embedder {kind!r} needs a model", hint=f"use one of {_SPECS}")
    embedder = openers[kind](target, config)
    if not (config.query_prefix or config.code_prefix or config.docs_prefix):
        return embedder
    return Prefixed(embedder, config.query_prefix, config.code_prefix, config.docs_prefix)


@dataclass(frozen=True, slots=True)
class Prefixed:
    """An embedder that puts a prefix before each text, by role."""

    inner: Embedder
    query: str
    code: str
    docs: str

    @property
    def identity(self) -> str:
        return f"{self.inner.identity} query={self.query!r} code={self.code!r} docs={self.docs!r}"

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        prefix = {"query": self.query, "code": self.code, "docs": self.docs}[role]
        return self.inner.embed([prefix + text for text in texts], role)


def in_batches(things: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Split a sequence into batches of a size; the last may be shorter."""
    return (things[start : start + size] for start in range(0, len(things), size))


@dataclass(frozen=True, slots=True)
class OpenAI:
    """A model behind OpenAI's `/v1/embeddings`: OpenAI, Ollama, vLLM, llama.cpp, LM Studio, TEI.

    Servers do not report their limits: Ollama and TEI stop at the model's tokens, llama.cpp at its batch, others at a
    number of texts or of tokens in total. So a batch that is rejected or times out is sent again in halves, and a
    single rejected text loses its last quarter until it is accepted. A vector still depends on its text alone.
    """

    identity: str
    dimension: int
    url: str = field(repr=False)  # its query may contain a key
    model: str
    config: EmbedderConfig

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:  # noqa: ARG002 - `Prefixed` applies the role
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        filled = [row for row, text in enumerate(texts) if text.strip()]  # the API rejects blank texts
        for batch in in_batches(filled, self.config.http_batch):
            rows[batch] = self._embed([texts[row][: self.config.http_characters] for row in batch])
        return unit_rows(rows)

    def _embed(self, texts: Sequence[str]) -> Matrix:
        from assay.http import RequestRejected

        try:
            rows = _request_vectors(self.url, self.model, texts, self.config, self.config.http_patience)
        except (RequestRejected, EngineTimeoutError) as problem:
            if len(texts) > 1:
                middle = len(texts) // 2
                return np.concatenate([self._embed(texts[:middle]), self._embed(texts[middle:])])
            (text,) = texts
            if isinstance(problem, EngineTimeoutError) or len(text) <= self.config.http_least:
                raise
            return self._embed([text[: len(text) * 3 // 4]])
        if rows.shape[1] != self.dimension:
            message = f"expected vectors of {self.dimension} numbers, got {rows.shape[1]}"
            raise _unusable_response(message, self.url, self.model)
        return rows


def open_openai(target: str, config: EmbedderConfig) -> OpenAI:
    """Open `url#model`; a first request finds the length of its vectors."""
    from assay.http import redact_url

    address, _, model = target.rpartition("#")
    hint = "write openai:https://host/v1#model"
    if not address or not model:
        raise ConfigError("an embedding server needs a URL and a model", hint=hint)
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise ConfigError("invalid URL of an embedding server", hint=hint) from error
    path = parts.path.rstrip("/")
    if not path.endswith("/embeddings"):
        path = f"{path or '/v1'}/embeddings"
    url = parts._replace(path=path).geturl()
    dimension = _request_vectors(url, model, ["a"], config, config.http_retries).shape[1]
    identity = f"openai/1 {redact_url(url)}#{model} characters={config.http_characters}"
    return OpenAI(identity, dimension, url, model, config)


def _request_vectors(url: str, model: str, texts: Sequence[str], config: EmbedderConfig, retries: int) -> Matrix:
    from assay.http import post_json, redact_url

    payload = {"model": model, "input": list(texts), "encoding_format": "float"}
    answer = post_json(url, payload, token_env=config.token_env, timeout=config.http_seconds, retries=retries)
    try:
        entries = answer["data"] if isinstance(answer, dict) else []
        by_index = {entry.get("index", place): entry["embedding"] for place, entry in enumerate(entries)}
        exact = np.array([by_index[place] for place in range(len(texts))], dtype=np.float64)
        if exact.ndim != 2 or not exact.shape[1] or len(entries) != len(texts):
            raise ValueError(f"{exact.shape} for {len(texts)} texts")
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise _unusable_response("the response lacks a vector for each text", url, model) from error
    with np.errstate(over="ignore"):  # values beyond float32 become infinite, which is an error below
        rows = exact.astype(np.float32)
    if not np.isfinite(rows).all():
        hint = "check the log of the server, or use another model"
        raise EngineError("the server returned vectors with NaN or infinity", file=redact_url(url), hint=hint)
    return rows


def _unusable_response(message: str, url: str, model: str) -> EngineError:
    from assay.http import redact_url

    hint = f"check that {model} is an embedding model and that the URL is its embeddings endpoint"
    return EngineError(message, file=redact_url(url), hint=hint)


@dataclass(frozen=True, slots=True)
class Fastembed:
    """A fastembed model, which adds its prefixes for queries and passages itself."""

    identity: str
    dimension: int
    model: Any
    batch: int

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        embed = self.model.query_embed if role == "query" else self.model.passage_embed
        rows = list(embed(list(texts), batch_size=self.batch)) if texts else []
        return unit_rows(np.array(rows, dtype=np.float32).reshape(len(texts), self.dimension))


def open_fastembed(name: str, config: EmbedderConfig) -> Fastembed:
    """Open a model by its fastembed name; the first use downloads it (the download is not tested)."""
    fastembed = load_package("fastembed", "fastembed")
    known = sorted(str(model["model"]) for model in fastembed.TextEmbedding.list_supported_models())
    if name.lower() not in {model.lower() for model in known}:
        raise ConfigError(f"fastembed has no model {name!r}", hint=f"use one of {', '.join(known)}")
    try:
        model = fastembed.TextEmbedding(model_name=name)
    except Exception as error:  # the download and onnxruntime raise various errors
        hint = "check the network, or set FASTEMBED_CACHE_PATH to a directory that contains the model"
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

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:  # noqa: ARG002 - `Prefixed` applies the role
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        with ThreadPoolExecutor(cores) as pool:
            return unit_rows(np.concatenate(list(pool.map(self.network.run, in_batches(texts, self.batch)))))


@dataclass(frozen=True, slots=True)
class _Network:
    tokenizer: Any
    session: Any
    inputs: tuple[str, ...]
    output: str
    pooling: Pooling

    def run(self, texts: Sequence[str]) -> Matrix:
        encoded = self.tokenizer.encode_batch(list(texts))
        length = max(1, *(len(each.ids) for each in encoded))

        def padded(rows: Sequence[Sequence[int]]) -> NDArray[np.int64]:
            return np.array([[*row, *[0] * (length - len(row))] for row in rows], dtype=np.int64)

        ids, mask = padded([each.ids for each in encoded]), padded([each.attention_mask for each in encoded])
        known = {
            "input_ids": ids,
            "attention_mask": mask,
            "token_type_ids": padded([each.type_ids for each in encoded]),
            "position_ids": np.broadcast_to(np.arange(length, dtype=np.int64), ids.shape),
        }
        answer = self.session.run([self.output], {name: known[name] for name in self.inputs})[0]
        vectors = np.asarray(answer, dtype=np.float32)
        if vectors.ndim == 2:
            return vectors
        if self.pooling == "cls":
            return vectors[:, 0]
        weight = mask[:, :, None].astype(np.float32)
        return np.asarray((vectors * weight).sum(axis=1) / np.maximum(weight.sum(axis=1), 1))


def open_onnx(path: str, config: EmbedderConfig) -> Onnx:
    """Open a directory with a network, such as model.onnx, and tokenizer.json."""
    folder = Path(path).expanduser()
    graph = find_file(folder, *_GRAPHS)
    words = find_file(folder, "tokenizer.json", "onnx/tokenizer.json")
    pooling = _read_pooling(folder / "1_Pooling" / "config.json")
    most = most_tokens(folder / "sentence_bert_config.json", "max_seq_length", config)
    onnxruntime = load_package("onnxruntime", "onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own errors share no base class
        raise ConfigError(
            f"onnxruntime cannot load the network: {error}", file=graph, hint="export the model again"
        ) from error
    inputs = tuple(entry.name for entry in session.get_inputs())
    if unknown := sorted(set(inputs) - _INPUTS):
        hint = "export it with `optimum-cli export onnx --task feature-extraction`"
        raise ConfigError(f"the network has unknown inputs: {', '.join(unknown)}", file=graph, hint=hint)
    outputs = [str(entry.name) for entry in session.get_outputs()]
    output = "sentence_embedding" if "sentence_embedding" in outputs else outputs[0]
    network = _Network(load_tokenizer(words, "onnx", most), session, inputs, output, pooling)
    outside = sorted(graph.parent.glob(f"{graph.name}?data"))  # weights beyond 2 GB are in a separate file
    identity = f"onnx/1 {digest_files([graph, *outside, words])} tokens={most} pooling={pooling}"
    return Onnx(identity, network.run(["a"]).shape[1], network, config.batch)


def _read_pooling(path: Path) -> Pooling:
    if not path.is_file():
        return "mean"
    try:
        modes = [name for name, on in json.loads(read_utf8(path, ConfigError)).items() if on is True]
    except (ValueError, AttributeError) as error:
        raise ConfigError("invalid pooling configuration", file=path, hint="export the model again") from error
    if "pooling_mode_cls_token" in modes:
        return "cls"
    if "pooling_mode_mean_tokens" in modes:
        return "mean"
    hint = "use a model with mean or CLS pooling"
    raise ConfigError(f"unsupported pooling: {', '.join(modes) or 'none'}", file=path, hint=hint)


#: numpy has no bfloat16: its bits are the upper half of a float32.
_TYPES: Final = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I8": "i1"}


def read_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """Read the tensors of a safetensors file by name; raise ConfigError if it is damaged."""
    try:
        raw = np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))
        size = int(raw[:8].view("<u8")[0])
        header = json.loads(raw[8 : 8 + size].tobytes())
        data = raw[8 + size :]
        return {name: _tensor(data, entry) for name, entry in header.items() if name != "__metadata__"}
    except OSError as error:
        raise ConfigError(f"cannot read: {error.strerror or error}", file=path, hint="check the path") from error
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise ConfigError("invalid safetensors file", file=path, hint="copy or export the model again") from error


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
    """A static model: a tokenizer and a table of vectors."""

    identity: str
    tokenizer: Any
    unknown: int | None  # the token for unknown text, which is skipped
    longest: int  # characters of a text that count, by model2vec's rule: maximum tokens × median token length
    table: Matrix
    mapping: NDArray[Any] | None  # token -> row of the table, when tokens share rows
    weights: NDArray[Any] | None  # by token

    @property
    def dimension(self) -> int:
        return int(self.table.shape[1])

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:  # noqa: ARG002 - a static model has no roles
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for first, batch in zip(range(0, len(texts), _TOKENIZED), in_batches(texts, _TOKENIZED), strict=True):
            cut = [text[: self.longest] for text in batch]
            for row, encoded in enumerate(self.tokenizer.encode_batch_fast(cut, add_special_tokens=False), first):
                tokens = np.array(encoded.ids, dtype=np.int64)
                tokens = tokens if self.unknown is None else tokens[tokens != self.unknown]
                vectors = self.table[tokens if self.mapping is None else self.mapping[tokens]]
                if self.weights is not None:
                    vectors = vectors * self.weights[tokens][:, None]
                rows[row] = vectors.sum(axis=0)
        return unit_rows(rows)


def open_model2vec(path: str, config: EmbedderConfig) -> Model2Vec:
    """Open a directory written by `StaticModel.save_pretrained` or sentence-transformers' StaticEmbedding."""
    folder = Path(path).expanduser()
    file = find_file(folder, "model.safetensors", "0_StaticEmbedding/model.safetensors")
    words = find_file(folder, "tokenizer.json", "0_StaticEmbedding/tokenizer.json")
    most = most_tokens(folder / "config.json", "max_length", config)
    tokenizer = load_tokenizer(words, "model2vec", most)
    tensors = read_tensors(file)
    tables = [tensors[name] for name in ("embeddings", "embedding.weight") if name in tensors]
    table = next((np.asarray(one, dtype=np.float32) for one in tables if one.ndim == 2), None)
    if table is None:
        raise ConfigError("no table of vectors found", file=file, hint="pass the directory of a model2vec model")
    mapping, weights, tokens = tensors.get("mapping"), tensors.get("weights"), tokenizer.get_vocab_size()
    short = len(table if mapping is None else mapping) < tokens or (weights is not None and len(weights) < tokens)
    if short or (mapping is not None and len(mapping) and not 0 <= mapping.max() < len(table)):
        hint = "use tokenizer.json and model.safetensors of the same model"
        raise ConfigError(f"the table does not match a tokenizer of {tokens:,} tokens", file=file, hint=hint)
    model = json.loads(tokenizer.to_str())["model"]
    unknown = model.get("unk_id")
    if "unk_id" not in model and model.get("unk_token"):
        unknown = tokenizer.token_to_id(model["unk_token"])
    return Model2Vec(
        identity=f"model2vec/1 {digest_files([file, words])} tokens={most}",
        tokenizer=tokenizer,
        unknown=None if unknown is None else int(unknown),
        longest=most * max(1, int(np.median([len(token) for token in tokenizer.get_vocab()] or [1]))),
        table=table,
        mapping=mapping,
        weights=weights,
    )


@dataclass(frozen=True, slots=True)
class SentenceTransformers:
    """A sentence-transformers model, with its prompts for queries and documents."""

    identity: str
    dimension: int
    model: Any
    batch: int

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        encode = self.model.encode_query if role == "query" else self.model.encode_document
        return unit_rows(encode(list(texts), batch_size=self.batch, show_progress_bar=False, convert_to_numpy=True))


def open_sentence_transformers(name: str, config: EmbedderConfig) -> SentenceTransformers:
    """Open a directory or a model name (the download of a published model is not tested)."""
    package = load_package("sentence_transformers", "sentence-transformers")
    try:
        model = package.SentenceTransformer(name, device="cpu")
    except Exception as error:  # torch, transformers and the hub share no base class
        hint = "pass a directory that contains the model, or check the network"
        raise SetupError(f"sentence-transformers cannot load {name}: {error}", hint=hint) from error
    if isinstance(model.max_seq_length, int):  # a static model has no limit
        model.max_seq_length = min(model.max_seq_length, config.max_tokens)
    dimension = len(model.encode(["a"], show_progress_bar=False)[0])
    folder = Path(name).expanduser()
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    content = digest_files(files) if folder.is_dir() else name
    package_version = version("sentence-transformers")
    identity = f"sentence-transformers/1 {content} {package_version} tokens={model.max_seq_length}"
    return SentenceTransformers(identity, dimension, model, config.batch)


def load_package(module: str, extra: str) -> Any:  # noqa: ANN401 - packages without stubs
    """Import an optional package; raise SetupError with an install hint."""
    try:
        return import_module(module)
    except ImportError as error:
        raise SetupError(
            f"cannot import {module}, which the embedder needs: {error}", hint=install_hint(extra)
        ) from error


def find_file(folder: Path, *names: str) -> Path:
    """Return the first existing file of a model."""
    for name in names:
        if (folder / name).is_file():
            return folder / name
    hint = "pass the directory that contains the model; nothing is downloaded"
    raise ConfigError(f"no {' or '.join(names)} in the model directory", file=folder, hint=hint)


def most_tokens(path: Path, name: str, config: EmbedderConfig) -> int:
    """Return the maximum number of tokens of a text: the configured one, or a smaller `name` in a model file."""
    if not path.is_file():
        return config.max_tokens
    try:
        own = json.loads(read_utf8(path, ConfigError)).get(name)
        return min(config.max_tokens, max(1, int(own))) if own else config.max_tokens
    except (ValueError, TypeError, AttributeError) as error:
        raise ConfigError("invalid model configuration", file=path, hint="export the model again") from error


def load_tokenizer(path: Path, extra: str, most: int) -> Any:  # noqa: ANN401 - the package has no stubs
    """Read a tokenizer.json that truncates texts to `most` tokens and does not pad."""
    tokenizers = load_package("tokenizers", extra)
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the package raises bare Exception
        raise ConfigError(f"invalid tokenizer: {error}", file=path, hint="export the model again") from error
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
