"""A model2vec folder: a vector for each token, a text is the mean of its tokens'.

Read here rather than by the model2vec package, which takes 0.7 s to import and brings a hub client; the tests hold the
two against each other. A text's vector does not depend on what it is embedded with.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from assay.errors import ConfigError
from assay.search.dense.config import EmbedderConfig
from assay.search.dense.embedders import Role, digest_files, find_file, in_batches, load_tokenizer, most_tokens
from assay.search.dense.matrices import Matrix, unit_rows
from assay.search.dense.safetensors import read_tensors

_EXTRA: Final = "model2vec"
#: Texts tokenized at a time: enough for the tokenizer's threads, and its answers of one batch fit a few megabytes.
_TOKENIZED: Final = 1024


@dataclass(frozen=True, slots=True)
class Model2Vec:
    """A static model: tokenizer and table."""

    identity: str
    tokenizer: Any
    unknown: int | None  # the token of what the tokenizer does not know; it says nothing and is left out
    longest: int  # characters of a text that can matter, by model2vec's rule: most tokens × median token
    table: Matrix
    mapping: NDArray[Any] | None  # token -> row of the table, when tokens share rows
    weights: NDArray[Any] | None  # by token

    @property
    def dimension(self) -> int:
        """Numbers of one vector."""
        return int(self.table.shape[1])

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:  # noqa: ARG002 (a static model has one way to read)
        """Average the tokens of each text."""
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        batches = in_batches(texts, _TOKENIZED)
        for row, tokens in enumerate(tokens for batch in batches for tokens in self._tokens(batch)):
            rows[row] = self._sum(tokens)
        return unit_rows(rows)

    def _tokens(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        """Tokenize texts, without special and unknown tokens."""
        cut = [text[: self.longest] for text in texts]
        encoded = self.tokenizer.encode_batch_fast(cut, add_special_tokens=False)
        tokens = [np.array(each.ids, dtype=np.int64) for each in encoded]
        return tokens if self.unknown is None else [each[each != self.unknown] for each in tokens]

    def _sum(self, tokens: NDArray[np.int64]) -> Matrix:
        """Add up the vectors of tokens; their mean has the same direction."""
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
    tokenizer = load_tokenizer(words, _EXTRA)
    tokenizer.no_padding()
    tokenizer.enable_truncation(most)
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
    """Find the token of unknown words: by name in word models, by number in unigram ones."""
    model = json.loads(tokenizer.to_str())["model"]
    if "unk_id" in model:
        return None if model["unk_id"] is None else int(model["unk_id"])
    found = tokenizer.token_to_id(model["unk_token"]) if model.get("unk_token") else None
    return None if found is None else int(found)


def _table(tensors: dict[str, NDArray[Any]], path: Path) -> Matrix:
    """Find the table of vectors; halves and bytes are widened once, numpy adds them nine times more slowly."""
    for name in ("embeddings", "embedding.weight"):
        if name in tensors and tensors[name].ndim == 2:
            return np.asarray(tensors[name], dtype=np.float32)
    raise ConfigError("holds no table of vectors", file=path, hint="name the folder of a model2vec model")


def _check(model: Model2Vec, tokens: int, path: Path) -> None:
    """Refuse tables that do not fit the tokenizer: a token without a vector would fail in the middle of an index."""
    short = len(model.table if model.mapping is None else model.mapping) < tokens
    short = short or (model.weights is not None and len(model.weights) < tokens)
    wrong = model.mapping is not None and len(model.mapping) and not 0 <= model.mapping.max() < len(model.table)
    if short or wrong:
        hint = "tokenizer.json and model.safetensors must come from one model"
        raise ConfigError(f"the table does not fit a tokenizer of {tokens:,} tokens", file=path, hint=hint)
