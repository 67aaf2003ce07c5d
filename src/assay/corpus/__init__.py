"""Open a corpus of source files from disk, git, PyPI, npm or the standard library, and read its files."""

from assay.corpus.contents import StatCache, WalkConfig, decode_text
from assay.corpus.opening import open_corpus, path_resolver, read_bytes, read_text
from assay.corpus.spec import parse_spec, spec_text
from assay.corpus.unpack import ArchiveLimits

__all__ = [
    "ArchiveLimits",
    "StatCache",
    "WalkConfig",
    "decode_text",
    "open_corpus",
    "parse_spec",
    "path_resolver",
    "read_bytes",
    "read_text",
    "spec_text",
]
