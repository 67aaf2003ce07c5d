"""What decides an answer beside corpus and question, as digests: settings, code, models."""

from __future__ import annotations

import hashlib
import os
import platform
from dataclasses import asdict
from functools import cache
from importlib import metadata, resources
from pathlib import Path
from typing import Final

from assay.artefacts import code_digest
from assay.digests import digest_of
from assay.search.config import SearchConfig
from assay.search.models import SHIPPED, DenseSettings
from assay.search.question import Per
from assay.search.refreshing import shape

#: The code that decides an answer: all of the engine, and what reads and parses files for it. Who asks adds its own.
_CODE: Final = ("search", "syntax", "corpus")
#: The code that decides which bytes a table is kept as, beside what is in it.
_STORING: Final = ("corpus", "search/columns.py", "search/store", "search/building.py")
#: The code that makes vectors.
_EMBEDDING: Final = ("search/static", "search/dense", "search/embedding.py")
#: Packages that compute with vectors and models; those that are not installed decide nothing.
_PACKAGES: Final = ("numpy", "onnxruntime", "tokenizers", "fastembed", "sentence-transformers", "torch", "transformers")
#: Settings that have had their say when the order is decided.
_BEFORE: Final = frozenset({"index", "lexical", "translation", "dense"})
#: Settings of a model that decide the vectors of units; the others are about questions.
_OF_VECTORS: Final = ("model", "docs_model", "vectors", "token_env", "query_prefix", "code_prefix", "docs_prefix")


def table_digest(config: SearchConfig) -> str:
    """Digest what decides the table of a corpus, as it is kept."""
    return digest_of([shape(config.index), code_digest(*_STORING)])


def vectors_digest(settings: DenseSettings) -> str:
    """Digest what decides the vectors of a table; no model is opened for that."""
    if not settings.model:
        return digest_of(["no model"])
    models = [model_digest(spec) for spec in (settings.model, settings.docs_model)]
    return digest_of([[getattr(settings, name) for name in _OF_VECTORS], models, _versions(), code_digest(*_EMBEDDING)])


def candidates_digest(config: SearchConfig, per: Per) -> str:
    """Digest what decides how well each unit matches a question."""
    settings = [asdict(config.lexical), asdict(config.translation), asdict(config.dense), per]
    return digest_of([settings, model_digest(config.translation.model), _versions(), code_digest(*_CODE)])


def ranking_digest(config: SearchConfig, per: Per) -> str:
    """Digest what decides the order of the answer: all settings that did not decide anything before."""
    rest = {name: value for name, value in asdict(config).items() if name not in _BEFORE}
    return digest_of([rest, per, model_digest(config.rerank.model), code_digest(*_CODE)])


def search_identity(config: SearchConfig, per: Per) -> str | None:
    """Digest all that decides an answer; None when a model is asked that may change without our noticing."""
    described = config.index.description
    models = (config.dense.model, config.dense.docs_model, config.translation.model, config.rerank.model)
    if (described.url and described.weight) or any(model_digest(spec) is None for spec in models):
        return None
    steps = (
        table_digest(config),
        vectors_digest(config.dense),
        candidates_digest(config, per),
        ranking_digest(config, per),
    )
    return digest_of([*steps, platform.python_version()])


def model_digest(spec: str) -> str | None:
    """Digest the files of a model; None when they are not on this machine in a folder that is named."""
    kind, _, target = spec.partition(":")
    if not spec:
        return ""
    if kind == SHIPPED and not target:
        with resources.as_file(resources.files("assay.data").joinpath("model")) as shipped:
            return _folder_digest(str(shipped))
    folder = Path(target).expanduser()
    return _folder_digest(str(folder.resolve())) if target and "://" not in target and folder.is_dir() else None


def _folder_digest(folder: str) -> str:
    """Digest the files of a folder, read again only when one of them has another size or date."""
    found = sorted(os.path.join(path, name) for path, _, names in os.walk(folder) for name in names)
    facts = tuple((path, (stat := os.stat(path)).st_size, stat.st_mtime_ns) for path in found)
    return _files_digest(folder, facts)


@cache
def _files_digest(folder: str, facts: tuple[tuple[str, int, int], ...]) -> str:
    """Digest files by their names in a folder and their contents."""
    digest = hashlib.sha256()
    for path, _, _ in facts:
        with open(path, "rb") as stream:
            inside = hashlib.file_digest(stream, "sha256").hexdigest()
        digest.update(f"{os.path.relpath(path, folder)}\0{inside}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


@cache
def _versions() -> dict[str, str]:
    """List the versions of the packages that compute, where they are there."""
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
