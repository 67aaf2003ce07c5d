"""The three corpora under `corpora/`, copied out of the work tree, and accessors for their indexes.

Only this module uses internals, so that a refactoring needs changes in one place.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import assay
from assay.corpus import open_corpus, parse_spec, read_text
from assay.engines import make_engine
from assay.search import Per
from assay.search.config import load_search_config
from assay.search.table import CHUNK_KINDS, table_arrays
from assay.syntax.symbols import extract_symbols
from assay.types import Corpus

__all__ = [
    "CORPORA",
    "Per",
    "build_index",
    "chunks",
    "columns",
    "copy_corpus",
    "corpus_root",
    "gold_file",
    "index_of",
    "make_engine",
    "open_index",
    "problems",
    "symbol_lines",
    "walked",
]

CORPORA = ("python_package", "web_app", "systems_mix")
SOURCE = Path(__file__).parent / "corpora"

#: Files that Git, an editor or a packaging tool would drop or rewrite, so they are created with each copy.
EXTRA_FILES: Mapping[str, Mapping[str, bytes]] = {
    "python_package": {
        ".venv/pyvenv.cfg": b"home = /usr\n",
        ".venv/lib/site.py": b"SITE = 1\n",
        "build/lib/hydrolog/client.py": b"STALE_COPY = True\n",
        "data/cache/feed.json": b"{}\n",
        "data/cache/keep.txt": b"Feeds are cached here.\n",
        "docs/gauge.png": b"\x89PNG\r\n\x1a\n0000",
        "docs/notiz.txt": "Der Pegel in Köln fällt.\n".encode("latin-1"),
        "poll.log": b"polling\n",
    },
    "web_app": {
        "client/logo.bin": b"\0\1\2\3",
        "coverage/README.md": b"Coverage reports are written here.\n",
        "coverage/report.html": b"<p>97 %</p>\n",
        "db/dump.sql": b"INSERT INTO seat VALUES (1);\n" * 40_000,
        "dist/bundle.min.js": b"var a=1;\n",
        "node_modules/pad/index.js": b"module.exports = 1;\n",
        "server/windows.ts": b"export const newline = true;\r\nexport function carriage() {\r\n  return 13;\r\n}\r\n",
        "settings.local": b"debug=1\n",
    },
    "systems_mix": {
        "docs/generated/api.md": b"# API\n",
        "docs/réglages.md": "# Réglages\n\nLa fréquence de sauvegarde se règle avec `-interval`.\n".encode(),
        "native/ring.o": b"\x7fELF",
        "target/bindings.rs": b"pub fn generated_binding() -> u32 {\n    7\n}\n",
    },
}
EXTRA_LINKS: Mapping[str, Mapping[str, str]] = {
    "python_package": {"docs/gone.md": "nowhere.md", "docs/outside.md": "../../elsewhere.md"},
    "web_app": {"client/shared": "../server"},
    "systems_mix": {"core/src/bindings.rs": "../../target/bindings.rs"},
}


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="assay-corpora-")).resolve()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def copy_corpus(name: str, root: Path) -> Path:
    """Copy a corpus to a new directory; `dot-gitignore` becomes `.gitignore`."""
    shutil.copytree(SOURCE / name, root, symlinks=True)
    for path in sorted(root.rglob("dot-*")):
        path.rename(path.with_name(path.name.replace("dot-", ".", 1)))
    for extra, data in EXTRA_FILES[name].items():
        (root / extra).parent.mkdir(parents=True, exist_ok=True)
        (root / extra).write_bytes(data)
    for link, target in EXTRA_LINKS[name].items():
        (root / link).symlink_to(target)
    return root


@cache
def corpus_root(name: str) -> Path:
    """Return the copy of a corpus that all tests in a process share; do not modify it."""
    return copy_corpus(name, _folder() / name)


@cache
def gold_file(name: str) -> Path:
    """Return the gold set of a corpus, next to its shared copy."""
    corpus_root(name)
    return Path(shutil.copy(SOURCE / f"{name}.gold.yaml", _folder()))


@cache
def index_of(name: str, *settings: str) -> assay.Index:
    """Return the index of a corpus; `settings` have the syntax of `assay search --set`."""
    return build_index(corpus_root(name), *settings)


def build_index(root: Path, *settings: str) -> assay.Index:
    return assay.Index.build(root, load_search_config(settings))


def open_index(root: Path, *settings: str) -> assay.Index:
    return assay.Index.open(root, load_search_config(settings))


def walked(root: Path, include: tuple[str, ...] = (), exclude: tuple[str, ...] = ()) -> Corpus:
    """Return the corpus found by walking a directory."""
    return open_corpus(replace(parse_spec(str(root)), include=include, exclude=exclude))


def symbol_lines(root: Path) -> list[str]:
    """Return every definition as `path:start-end kind qualified.name`."""
    corpus = walked(root)
    return [
        f"{file.path}:{one.start}-{one.end} {one.kind} {one.name}"
        for file in corpus.files
        for one in extract_symbols(file.path, read_text(corpus, file.path), file.language)
    ]


@dataclass(frozen=True)
class Chunk:
    path: str
    start: int
    end: int
    kind: str
    names: tuple[str, ...]
    scope: str

    def __str__(self) -> str:
        around = f"{self.scope} > " if self.scope else ""
        return f"{self.path}:{self.start}-{self.end} {self.kind} {around}{', '.join(self.names)}".rstrip()


def chunks(index: assay.Index) -> list[Chunk]:
    """Return the chunks of an index in index order."""
    table = index.table
    owned: dict[int, list[str]] = {}
    for owner, text in zip(table.own.owner.tolist(), table.own.texts, strict=True):
        owned.setdefault(owner, []).append(text)
    scopes = dict(zip(table.scope.owner.tolist(), table.scope.texts, strict=True))
    chunks = table.chunks
    return [
        Chunk(
            table.files.paths[chunks.file[chunk]],
            int(chunks.start[chunk]),
            int(chunks.end[chunk]),
            CHUNK_KINDS[chunks.kind[chunk]],
            tuple(owned.get(chunk, ())),
            scopes.get(chunk, ""),
        )
        for chunk in range(len(chunks))
    ]


def problems(index: assay.Index) -> list[str]:
    """Return the files that failed to parse, with the reason."""
    files = index.table.files
    return [f"{path}: {text}" for path, text in zip(files.paths, files.problems, strict=True) if text]


def columns(index: assay.Index) -> dict[str, NDArray[Any]]:
    """Return every array of an index by name: the table columns, then the vectors."""
    named = dict(table_arrays(index.table))
    for number, part in enumerate(index.view.dense.parts if index.view.dense else ()):
        named[f"vectors.{number}.rows"] = np.asarray(part.rows)
        named |= {f"vectors.{number}.{name}": array for name, array in part.vectors.columns().items()}
        if part.paths is not None:
            named[f"vectors.{number}.path"] = part.paths.path
    return named
