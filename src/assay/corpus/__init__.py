"""Where the code comes from, and which files count."""

from assay.corpus.cache import cache_dir
from assay.corpus.config import Limits, Walking
from assay.corpus.opening import open_corpus
from assay.corpus.read import read_bytes, read_text
from assay.corpus.spec import parse_spec, spec_text

__all__ = ["Limits", "Walking", "cache_dir", "open_corpus", "parse_spec", "read_bytes", "read_text", "spec_text"]
