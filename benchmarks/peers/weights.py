"""Weights for semble, whose own are on a hub that is not here: those of wordllama's wheel, as a model2vec folder."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

import numpy as np

from assay.corpus import open_corpus
from assay.errors import SetupError
from assay.search.embedders import read_tensors
from assay.types import CorpusSpec
from benchmarks.pages import Unavailable
from benchmarks.search.standin import save_model

#: A static model of 32,000 tokens and 256 numbers, MIT; trained on English, not on code.
CARRIER: Final = "wordllama==0.4.0.post1"


def write_weights(folder: Path) -> Path:
    """Write a folder that semble takes for a model."""
    try:
        package = open_corpus(CorpusSpec("pypi", CARRIER)).root / "wordllama"
    except SetupError as error:
        raise Unavailable(f"{CARRIER} cannot be had: {error.message}") from error
    (vectors,) = read_tensors(package / "weights" / "l2_supercat_256.safetensors").values()
    folder.mkdir(parents=True)
    shutil.copyfile(package / "tokenizers" / "l2_supercat_tokenizer_config.json", folder / "tokenizer.json")
    save_model(folder, np.asarray(vectors, dtype=np.float32))
    return folder
