"""What decides the answers of an engine that is part of Assay: its settings and the code that reads them."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Final

from assay.artefacts import code_digest
from assay.digests import digest_of

#: What every engine of ours reads its corpus with.
_READING: Final = ("corpus", "syntax", "engines/reading")


def identity_of(config: Mapping[str, object], *places: str, facts: object = None) -> str:
    """Digest settings, the code of some modules, and whatever else decides an answer."""
    code = code_digest(*places, *_READING)
    return digest_of([config, code, facts, platform.python_version()])
