"""A model2vec folder of random weights: what semble's dense part costs without its download.

The words of the standard library make the vocabulary, so that code is cut into about as many tokens as by a real one:
random words would cut it into letters, and semble would pay for that.
"""

from __future__ import annotations

import json
import re
import string
import sysconfig
from collections import Counter
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Shape:
    """The size of the weights that semble 0.7.0 ships for code."""

    rows: int = 62_000
    columns: int = 256
    seed: int = 0


def write_model(folder: Path, shape: Shape = Shape()) -> Path:
    """Write tokenizer, weights and configuration."""
    tokenizers = import_module("tokenizers")
    folder.mkdir(parents=True)
    vocabulary = {word: number for number, word in enumerate(_words(shape))}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    rng = np.random.default_rng(shape.seed)
    save_model(folder, rng.standard_normal((shape.rows, shape.columns), dtype=np.float32))
    return folder


def save_model(folder: Path, weights: NDArray[np.float32]) -> None:
    """Write weights and configuration beside a tokenizer."""
    import_module("safetensors.numpy").save_file({"embeddings": weights}, str(folder / "model.safetensors"))
    columns = weights.shape[1]
    settings = {"model_type": "model2vec", "hidden_dim": columns, "normalize": True, "seq_length": 1_000_000}
    (folder / "config.json").write_text(json.dumps(settings), encoding="utf-8")


def _words(shape: Shape) -> list[str]:
    """List marks, letters and pairs of letters, at the beginning of a word and inside, then the commonest words."""
    letters = string.ascii_lowercase + string.digits
    pieces = [*letters, *(a + b for a in letters for b in letters)]
    fixed = ["[PAD]", "[UNK]", *string.punctuation, *pieces, *(f"##{piece}" for piece in pieces)]
    found = Counter(
        word
        for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py"))
        for word in re.findall(r"[a-z]{3,}", path.read_text("utf-8", "replace").lower())
    )
    common = sorted(found, key=lambda word: (-found[word], word))
    random = (f"{number:x}z" for number in range(shape.rows))
    return list(dict.fromkeys([*fixed, *common, *random]))[: shape.rows]
