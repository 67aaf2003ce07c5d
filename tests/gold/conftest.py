"""A small corpus and gold files to break."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from assay.types import Corpus, CorpusSpec, SkippedFile, SourceFile

NATIVE = """\
assay: 1
name: small
corpus: {path: .}
queries:
  - id: float-text
    retrieval:
      primary: ["json/encoder.py::JSONEncoder.iterencode"]
      secondary: ["json/encoder.py:1-2"]
    cognitive:
      human: how is a float written out?
      keyword: no
    interference:
      - {target: json/decoder.py, relationship: sibling, strength: strong, confusion: reads floats}
    rationale: {owner: JSONEncoder, reason: it writes, boundary: the decoder only reads}
    evaluation: {measures: [RR@10, "nDCG(level=lines)@10"]}
    tags: {category: semantic, version: 1.10}
  - id: whole-file
    retrieval: {primary: [json/decoder.py]}
    cognitive: {human: where is text read}
"""

FILES = {
    "json/encoder.py": "import x\n\n\nclass JSONEncoder:\n    def iterencode(self):\n        return 1\n",
    "json/decoder.py": "def decode():\n    pass\n",
    "README.md": "one\ntwo",
}


@pytest.fixture
def native(tmp_path: Path) -> Callable[..., Path]:
    """Write the native sample with some texts replaced."""

    def write(*changes: tuple[str, str]) -> Path:
        text = NATIVE
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new, 1)
        path = tmp_path / "small.yaml"
        path.write_text(text, "utf-8")
        return path

    return write


@pytest.fixture
def make_corpus(tmp_path: Path) -> Callable[..., Corpus]:
    """Build the record of a corpus by hand over files on disk."""

    def build(files: Mapping[str, str] = FILES, skipped: tuple[SkippedFile, ...] = ()) -> Corpus:
        root = tmp_path / "corpus"
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(text.encode())
        records = tuple(SourceFile(path, len(text.encode()), "code") for path, text in sorted(files.items()))
        return Corpus(root, CorpusSpec("path", "."), records, digest="0", skipped=skipped)

    return build
