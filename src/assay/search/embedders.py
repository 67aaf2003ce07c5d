"""Embedding models, opened by a spec such as `onnx:DIRECTORY`.

Optional packages are imported only when a model that needs them is opened.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field, replace
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeVar
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import ConfigError, EngineError, EngineTimeoutError, SetupError, did_you_mean, install_hint
from assay.files import read_utf8
from assay.records import dataclass
from assay.redaction import redact_url
from assay.search.vectors import Matrix, unit_rows

TextRole = Literal["query", "code", "docs"]
T = TypeVar("T")


class Embedder(Protocol):
    """A model that maps each text to a unit vector, or to a zero vector if the text has no content."""

    @property
    def identity(self) -> str:
        """String that changes whenever the vectors of a text may change, used in cache keys."""

    @property
    def dimension(self) -> int:
        """Length of each vector."""

    def embed(self, texts: Sequence[str], role: TextRole) -> Matrix:
        """Return one float32 row per text, without NaN or infinity."""


@dataclass(frozen=True, slots=True)
class EmbedderConfig:
    #: Name of the environment variable that contains the API token; the token is never stored.
    token_env: str | None = None
    #: Prefixes by role. Some models expect them ("query: ", "passage: "); see their model cards.
    query_prefix: str = ""
    code_prefix: str = ""
    docs_prefix: str = ""
    #: Maximum tokens per text, as in BERT-like models and model2vec; a smaller limit of the model takes precedence.
    max_tokens: int = 512
    #: How a network's token vectors become one; "auto" reads the model's files.
    pooling: Literal["auto", "mean", "cls"] = "auto"
    #: Texts per call of a local network. In a batch the last bits of a vector depend on its neighbors, so an updated
    #: index would differ from a fresh one, and a CPU gains little from larger batches.
    batch: int = 1
    #: Texts per request: 32 of the longest stay below the 300,000 tokens that OpenAI accepts.
    http_batch: int = 32
    #: OpenAI's models reject more than 8,191 tokens; code has about three characters per token.
    http_characters: int = 24_000
    #: Minimum characters of a rejected text for a retry with three quarters of the text. Every model accepts shorter
    #: texts, so their rejection has another reason.
    http_least: int = 200
    #: Timeout per request; a small server without a GPU takes about ten seconds per batch.
    http_seconds: float = 60.0
    #: Retries of the first request, after 0.5, 1, 2 and 4 s: enough for a restart or a limit per second.
    http_retries: int = 4
    #: Retries of later requests. A server that fails half of the time fails 17 times in a row once in 130,000
    #: requests, or 4 million texts; a dead one costs about 80 s.
    http_patience: int = 16


DEFAULT_EMBEDDER: Final = EmbedderConfig()

_SPECS: Final = (
    "fastembed:NAME, model2vec:DIRECTORY, onnx:DIRECTORY, openai:URL#MODEL, sentence-transformers:NAME, static, "
    "static:DIRECTORY"
)
EMBEDDERS: Final = ("fastembed", "model2vec", "onnx", "openai", "sentence-transformers")


def make_embedder(spec: str, config: EmbedderConfig = DEFAULT_EMBEDDER) -> Embedder:
    kind, _, target = spec.partition(":")
    openers: dict[str, Callable[[str, EmbedderConfig], ModelEmbedder]] = dict(
        zip(
            EMBEDDERS,
            (_open_fastembed, _open_model2vec, _open_onnx, _open_openai, _open_sentence_transformers),
            strict=True,
        )
    )
    if kind not in openers:
        hint = did_you_mean(kind, (*openers, "static")) or f"use one of {_SPECS}"
        raise ConfigError(f"unknown embedder {kind!r}; expected {', '.join(openers)} or static", hint=hint)
    if not target:
        raise ConfigError(f"no model given for embedder {kind!r}", hint=f"use one of {_SPECS}")
    embedder = openers[kind](target, config)
    prefixes = {"query": config.query_prefix, "code": config.code_prefix, "docs": config.docs_prefix}
    if not any(prefixes.values()):
        return embedder
    shown = " ".join(f"{role}={prefix!r}" for role, prefix in prefixes.items())
    return replace(embedder, identity=f"{embedder.identity} {shown}", prefixes=prefixes)


@dataclass(frozen=True, slots=True)
class ModelEmbedder:
    """An embedder that adds prefixes to texts and normalizes the vectors of `encode`."""

    identity: str
    dimension: int
    encode: Callable[[Sequence[str], TextRole], ArrayLike] = field(repr=False)
    prefixes: Mapping[str, str] = field(default_factory=dict)  # by role

    def embed(self, texts: Sequence[str], role: TextRole) -> Matrix:
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        prefix = self.prefixes.get(role, "")
        return unit_rows(self.encode([prefix + text for text in texts], role))


def _in_batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[start : start + size] for start in range(0, len(items), size))


@dataclass(frozen=True, slots=True)
class _OpenAI:
    """A model on a server with OpenAI's `/v1/embeddings` API, such as Ollama, vLLM or llama.cpp.

    Servers do not report their limits: Ollama and TEI limit tokens per text, llama.cpp tokens per batch, others texts
    or tokens per request. So a batch that is rejected or times out is split in half and sent again, and a rejected
    single text is cut by a quarter until the server accepts it or `http_least` characters are left.
    """

    url: str = field(repr=False)  # the query string may contain a key
    model: str
    config: EmbedderConfig

    def encode(self, dimension: int, texts: Sequence[str], _: TextRole) -> Matrix:
        rows = np.zeros((len(texts), dimension), dtype=np.float32)
        filled = [row for row, text in enumerate(texts) if text.strip()]  # the API rejects blank texts
        for batch in _in_batches(filled, self.config.http_batch):
            rows[batch] = self._split([texts[row][: self.config.http_characters] for row in batch], dimension)
        return rows

    def _split(self, texts: Sequence[str], dimension: int) -> Matrix:
        from assay.http import RequestRejected

        try:
            rows = self.request(texts, self.config.http_patience)
        except (RequestRejected, EngineTimeoutError) as problem:
            if len(texts) > 1:
                middle = len(texts) // 2
                return np.concatenate([self._split(some, dimension) for some in (texts[:middle], texts[middle:])])
            (text,) = texts
            if isinstance(problem, EngineTimeoutError) or len(text) <= self.config.http_least:
                raise
            return self._split([text[: len(text) * 3 // 4]], dimension)
        if rows.shape[1] != dimension:
            raise self._error(f"expected vectors of {dimension} numbers, got {rows.shape[1]}")
        return rows

    def request(self, texts: Sequence[str], retries: int) -> Matrix:
        from assay.http import post_json

        config = self.config
        payload = {"model": self.model, "input": list(texts), "encoding_format": "float"}
        answer = post_json(self.url, payload, token_env=config.token_env, timeout=config.http_seconds, retries=retries)
        try:
            entries = answer["data"] if isinstance(answer, dict) else []
            by_index = {entry.get("index", position): entry["embedding"] for position, entry in enumerate(entries)}
            exact = np.array([by_index[position] for position in range(len(texts))], dtype=np.float64)
            if exact.ndim != 2 or not exact.shape[1] or len(entries) != len(texts):
                raise ValueError(f"{exact.shape} for {len(texts)} texts")
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            raise self._error("expected one vector per text in the response") from error
        with np.errstate(over="ignore"):  # values beyond float32 become infinite, which is an error below
            rows = exact.astype(np.float32)
        if not np.isfinite(rows).all():
            raise self._error("expected finite vectors in the response, got NaN or infinity")
        return rows

    def _error(self, message: str) -> EngineError:
        hint = f"check that {self.model} is an embedding model and that the URL is its embeddings endpoint"
        return EngineError(message, file=redact_url(self.url), hint=hint)


def _open_openai(target: str, config: EmbedderConfig) -> ModelEmbedder:
    """Open the embedding server `URL#MODEL`; one request determines the length of its vectors."""
    address, _, model = target.rpartition("#")
    hint = "write openai:https://host/v1#model"
    if not address or not model:
        raise ConfigError("the embedder openai needs a URL and a model", hint=hint)
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise ConfigError("cannot parse the URL of the embedding server", hint=hint) from error
    path = parts.path.rstrip("/")
    if not path.endswith("/embeddings"):
        path = f"{path or '/v1'}/embeddings"
    server = _OpenAI(parts._replace(path=path).geturl(), model, config)
    dimension = server.request(["a"], config.http_retries).shape[1]
    identity = f"openai/1 {redact_url(server.url)}#{model} characters={config.http_characters}"
    return ModelEmbedder(identity, dimension, partial(server.encode, dimension))


def _open_fastembed(name: str, config: EmbedderConfig) -> ModelEmbedder:
    """Open a fastembed model by name; the first use downloads the model."""
    fastembed = load_package("fastembed", "fastembed")
    known = sorted(str(model["model"]) for model in fastembed.TextEmbedding.list_supported_models())
    if name.lower() not in {model.lower() for model in known}:
        raise ConfigError(f"unknown fastembed model {name!r}", hint=f"use one of {', '.join(known)}")
    try:
        model = fastembed.TextEmbedding(model_name=name)
    except Exception as error:  # the download and onnxruntime raise various errors
        hint = "check the network, or set FASTEMBED_CACHE_PATH to a directory that contains the model"
        raise SetupError(f"fastembed cannot load {name}: {error}", hint=hint) from error
    return wrap_fastembed(name, model, config)


def wrap_fastembed(name: str, model: Any, config: EmbedderConfig) -> ModelEmbedder:  # noqa: ANN401
    def encode(texts: Sequence[str], role: TextRole) -> ArrayLike:
        embed = model.query_embed if role == "query" else model.passage_embed
        return list(embed(list(texts), batch_size=config.batch))

    dimension = len(next(iter(model.embed(["a"]))))
    return ModelEmbedder(f"fastembed/1 {name} {version('fastembed')}", dimension, encode)


#: File names that ONNX exporters use.
ONNX_FILES: Final = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
_INPUTS: Final = frozenset({"input_ids", "attention_mask", "token_type_ids", "position_ids"})
_POOLING: Final = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}


def _open_onnx(path: str, config: EmbedderConfig) -> ModelEmbedder:
    directory = Path(path).expanduser()
    pooling_file = directory / "1_Pooling" / "config.json"
    modes = [name for name, on in _read_json(pooling_file, {"pooling_mode_mean_tokens": True}).items() if on is True]
    pooling: str | None = next((pooling for mode, pooling in _POOLING.items() if mode in modes), None)
    pooling = pooling if config.pooling == "auto" else config.pooling
    if pooling is None:
        message = f"unsupported pooling: {', '.join(modes) or 'none'}"
        raise ConfigError(message, file=pooling_file, hint="use a model with mean or CLS pooling")
    most = _token_limit(directory / "sentence_bert_config.json", "max_seq_length", config)
    run = partial(_run_network, *open_onnx(directory, most), pooling)

    def encode(texts: Sequence[str], _: TextRole) -> ArrayLike:
        if len(texts) <= config.batch:
            return run(texts)
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        with ThreadPoolExecutor(cores) as pool:
            return np.concatenate(list(pool.map(run, _in_batches(texts, config.batch))))

    identity = f"onnx/1 {digest_model(directory)} tokens={most} pooling={pooling}"
    return ModelEmbedder(identity, run(["a"]).shape[1], encode)


def open_onnx(directory: Path, max_tokens: int) -> tuple[Any, Any]:
    """Open the network and tokenizer of an ONNX model; one thread per call, so that threads do not change a sum."""
    graph, words = _onnx_files(directory)
    onnxruntime = load_package("onnxruntime", "onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors share no base class
        message = f"onnxruntime cannot load the model: {error}"
        raise ConfigError(message, file=graph, hint="export the model again") from error
    if unknown := sorted({entry.name for entry in session.get_inputs()} - _INPUTS):
        hint = "export the model with `optimum-cli export onnx --task feature-extraction`"
        raise ConfigError(f"the ONNX model has unknown inputs: {', '.join(unknown)}", file=graph, hint=hint)
    return session, _load_tokenizer(words, "onnx", max_tokens)


def digest_model(directory: Path) -> str:
    """Return a digest of the weights and tokenizer of an ONNX model."""
    graph, words = _onnx_files(directory)
    outside = sorted(graph.parent.glob(f"{graph.name}?data"))  # weights beyond 2 GB are in a separate file
    return _digest_files([graph, *outside, words])


def _onnx_files(directory: Path) -> tuple[Path, Path]:
    return _find_file(directory, *ONNX_FILES), _find_file(directory, "tokenizer.json", "onnx/tokenizer.json")


def onnx_inputs(session: Any, encoded: Sequence[Any]) -> dict[str, NDArray[np.int64]]:  # noqa: ANN401
    """Return the inputs of a network for tokenized texts, padded to equal length."""
    length = max(1, *(len(each.ids) for each in encoded))

    def padded(rows: Sequence[Sequence[int]]) -> NDArray[np.int64]:
        return np.array([[*row, *[0] * (length - len(row))] for row in rows], dtype=np.int64)

    known = {
        "input_ids": padded([each.ids for each in encoded]),
        "attention_mask": padded([each.attention_mask for each in encoded]),
        "token_type_ids": padded([each.type_ids for each in encoded]),
        "position_ids": np.broadcast_to(np.arange(length, dtype=np.int64), (len(encoded), length)),
    }
    return {entry.name: known[entry.name] for entry in session.get_inputs()}


def _run_network(session: Any, tokenizer: Any, pooling: str, texts: Sequence[str]) -> Matrix:  # noqa: ANN401
    encoded = tokenizer.encode_batch(list(texts))
    outputs = [str(entry.name) for entry in session.get_outputs()]
    output = "sentence_embedding" if "sentence_embedding" in outputs else outputs[0]
    vectors = np.asarray(session.run([output], onnx_inputs(session, encoded))[0], dtype=np.float32)
    if vectors.ndim == 2:
        return vectors
    if pooling == "cls":
        return vectors[:, 0]
    length = vectors.shape[1]
    mask = np.array([[1] * len(each.ids) + [0] * (length - len(each.ids)) for each in encoded])
    weight = mask[:, :, None].astype(np.float32)
    return np.asarray((vectors * weight).sum(axis=1) / np.maximum(weight.sum(axis=1), 1))


#: numpy has no bfloat16: its bits are the upper half of a float32.
_TYPES: Final = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I8": "i1"}


def read_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """Read the tensors of a safetensors file by name; raise ConfigError if the file is unreadable or invalid."""
    tensors: dict[str, NDArray[Any]] = {}
    try:
        raw = np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))
        begin = 8 + int(raw[:8].view("<u8")[0])
        header = json.loads(raw[8:begin].tobytes())
        header.pop("__metadata__", None)
        for name, entry in header.items():
            start, end = entry["data_offsets"]
            values = raw[begin:][start:end].view(_TYPES[entry["dtype"]]).reshape(entry["shape"])
            bfloat16 = entry["dtype"] == "BF16"
            tensors[name] = (values.astype(np.uint32) << 16).view(np.float32) if bfloat16 else values
    except OSError as error:
        message = f"cannot read the file: {error.strerror or error}"
        raise ConfigError(message, file=path, hint="check the path") from error
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise ConfigError("invalid safetensors file", file=path, hint="copy or export the model again") from error
    return tensors


#: Texts tokenized at a time: enough for the tokenizer's threads, and a few megabytes of results.
_TOKENIZED: Final = 1024


def _open_model2vec(path: str, config: EmbedderConfig) -> ModelEmbedder:
    """Open a model directory written by `StaticModel.save_pretrained` or sentence-transformers' StaticEmbedding."""
    directory = Path(path).expanduser()
    file = _find_file(directory, "model.safetensors", "0_StaticEmbedding/model.safetensors")
    words = _find_file(directory, "tokenizer.json", "0_StaticEmbedding/tokenizer.json")
    most = _token_limit(directory / "config.json", "max_length", config)
    tokenizer = _load_tokenizer(words, "model2vec", most)
    tensors = read_tensors(file)
    table = np.asarray(tensors.get("embeddings", tensors.get("embedding.weight", ())), dtype=np.float32)
    if table.ndim != 2:
        raise ConfigError("no embedding matrix found", file=file, hint="pass the directory of a model2vec model")
    mapping = tensors.get("mapping")  # token -> row of the table, when tokens share rows
    weights, tokens = tensors.get("weights"), tokenizer.get_vocab_size()
    short = len(table if mapping is None else mapping) < tokens or (weights is not None and len(weights) < tokens)
    if short or (mapping is not None and len(mapping) and not 0 <= mapping.max() < len(table)):
        hint = "use tokenizer.json and model.safetensors from the same model"
        raise ConfigError(f"expected an embedding for each of the tokenizer's {tokens:,} tokens", file=file, hint=hint)
    model = json.loads(tokenizer.to_str())["model"]
    unknown = model.get("unk_id")  # tokens of unknown text are skipped
    if "unk_id" not in model and model.get("unk_token"):
        unknown = tokenizer.token_to_id(model["unk_token"])
    # maximum characters of a text, as in model2vec: maximum tokens × median token length
    longest = most * max(1, int(np.median([len(token) for token in tokenizer.get_vocab()] or [1])))

    def sum_vectors(ids: Sequence[int]) -> NDArray[Any]:
        row = np.array(ids, dtype=np.int64)
        row = row if unknown is None else row[row != unknown]
        vectors = table[row if mapping is None else mapping[row]]
        return np.asarray((vectors if weights is None else vectors * weights[row][:, None]).sum(axis=0))

    def encode(texts: Sequence[str], _: TextRole) -> ArrayLike:
        rows = np.zeros((len(texts), table.shape[1]), dtype=np.float32)
        for first, batch in enumerate(_in_batches([text[:longest] for text in texts], _TOKENIZED)):
            encoded = tokenizer.encode_batch_fast(list(batch), add_special_tokens=False)
            for row, encoding in enumerate(encoded, first * _TOKENIZED):
                rows[row] = sum_vectors(encoding.ids)
        return rows

    return ModelEmbedder(f"model2vec/1 {_digest_files([file, words])} tokens={most}", table.shape[1], encode)


def _open_sentence_transformers(name: str, config: EmbedderConfig) -> ModelEmbedder:
    """Open a sentence-transformers model by directory or name; the prompts of the model apply."""
    package = load_package("sentence_transformers", "sentence-transformers")
    try:
        model = package.SentenceTransformer(name, device="cpu")
    except Exception as error:  # torch, transformers and the hub share no base class
        hint = "pass a directory that contains the model, or check the network"
        raise SetupError(f"sentence-transformers cannot load {name}: {error}", hint=hint) from error
    if isinstance(model.max_seq_length, int):  # a static model has no limit
        model.max_seq_length = min(model.max_seq_length, config.max_tokens)

    def encode(texts: Sequence[str], role: TextRole) -> ArrayLike:
        encode = model.encode_query if role == "query" else model.encode_document
        rows: Matrix = encode(list(texts), batch_size=config.batch, show_progress_bar=False, convert_to_numpy=True)
        return rows

    directory = Path(name).expanduser()
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    content = _digest_files(files) if directory.is_dir() else name
    identity = f"sentence-transformers/1 {content} {version('sentence-transformers')} tokens={model.max_seq_length}"
    return ModelEmbedder(identity, len(model.encode(["a"], show_progress_bar=False)[0]), encode)


def load_package(module: str, extra: str) -> Any:  # noqa: ANN401 - packages without stubs
    try:
        return import_module(module)
    except ImportError as error:
        message = f"cannot import {module}, required by the embedder: {error}"
        raise SetupError(message, hint=install_hint(extra)) from error


def _find_file(directory: Path, *names: str) -> Path:
    for name in names:
        if (directory / name).is_file():
            return directory / name
    hint = "pass the directory that contains the model; nothing is downloaded"
    raise ConfigError(f"no {' or '.join(names)} in the model directory", file=directory, hint=hint)


def _read_json(path: Path, default: dict[str, Any]) -> dict[str, Any]:
    try:
        value = json.loads(read_utf8(path, ConfigError)) if path.is_file() else default
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ConfigError("invalid model configuration", file=path, hint="export the model again")
    return value


def _token_limit(path: Path, name: str, config: EmbedderConfig) -> int:
    own = _read_json(path, {}).get(name)
    return min(config.max_tokens, max(1, own)) if isinstance(own, int) and own else config.max_tokens


def _load_tokenizer(path: Path, extra: str, most: int) -> Any:  # noqa: ANN401 - the package has no stubs
    tokenizers = load_package("tokenizers", extra)
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the package raises bare Exception
        raise ConfigError(f"invalid tokenizer: {error}", file=path, hint="export the model again") from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(most)
    return tokenizer


def _digest_files(paths: Sequence[Path]) -> str:
    total = hashlib.sha256()
    for path in paths:
        with path.open("rb") as stream:
            total.update(hashlib.file_digest(stream, "sha256").digest())
    return total.hexdigest()[:32]
