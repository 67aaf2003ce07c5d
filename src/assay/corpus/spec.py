"""Parse and format corpus specs: `stdlib`, `pypi:flask==3.1.0`, `git:../repo@v1`, a directory.

A subdirectory and globs may follow after a question mark: `git:../repo@v1?root=src&exclude=tests/`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote, unquote

from assay.corpus.sources import KINDS, OPTIONS, kind_examples
from assay.errors import CorpusError
from assay.types import CorpusSpec

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/]*/?")
_SCP: Final = re.compile(r"[^/:]+:(?!:)")


def parse_spec(text: str) -> CorpusSpec:
    """Parse a corpus spec, such as `stdlib` or `git:URL@REV`; raise CorpusError if the spec is invalid."""
    body, options = _split_options(text.strip())
    if not body or "\0" in body:
        raise CorpusError(f"invalid corpus {text!r}", hint=f"use {kind_examples()}")
    if body == "stdlib":
        return replace(CorpusSpec("stdlib"), **options)
    scheme = _SCHEME.match(body)
    if scheme:
        return replace(_parse_with_scheme(scheme.group(1), body[scheme.end() :].strip(), text), **options)
    while body.startswith("./"):
        body = body[2:].lstrip("/")
    return replace(CorpusSpec("path", body or "."), **options)


def spec_text(spec: CorpusSpec) -> str:
    """Format a spec as text for `parse_spec`."""
    body = f"{spec.kind}:{spec.value}"
    if spec.kind == "stdlib":
        body = "stdlib"
    elif spec.kind == "path":
        body = f"./{spec.value}" if spec.value == "stdlib" or _SCHEME.match(spec.value) else spec.value
    elif spec.rev is not None and KINDS[spec.kind].has_revision:
        body += f"@{spec.rev}"
    elif KINDS[spec.kind].has_revision and _split_revision(spec.value)[1] is not None:
        body += "@"  # prevents an @ in the path from starting a revision
    pairs = [("root", spec.root)] if spec.root is not None else []
    pairs += [*(("include", glob) for glob in spec.include), *(("exclude", glob) for glob in spec.exclude)]
    tail = "&".join(f"{key}={quote(str(value), safe='/*')}" for key, value in pairs)
    return f"{body}?{tail}" if tail or _split_options(body)[0] != body else body


def is_url(value: str) -> bool:
    return bool(_URL.match(value) or _SCP.match(value))


def _parse_with_scheme(scheme: str, value: str, text: str) -> CorpusSpec:
    kind = KINDS.get(scheme)
    if kind is None or not kind.word.startswith(f"{scheme}:"):
        hint = f"use {kind_examples()}; write a directory whose name contains a colon as ./{text}"
        if scheme in ("http", "https", "ssh", "file"):
            hint = f"use git:{text} for a git repository, otherwise {kind_examples()}"
        raise CorpusError(f"{text!r}: unknown corpus kind {scheme!r}", hint=hint)
    if value.startswith("//") and scheme == "git":
        raise CorpusError(f"{text!r} is a URL without a corpus kind", hint=f"use git:{text}")
    if not value:
        raise CorpusError(f"{text!r}: expected a value after {scheme}:", hint=f"use {kind_examples()}")
    value, rev = _split_revision(value) if kind.has_revision else (value, None)
    return CorpusSpec(kind.name, value, rev=rev or None)


def _split_revision(value: str) -> tuple[str, str | None]:
    match = _URL.match(value) or _SCP.match(value)
    start = match.end() if match else 0
    at = value.rfind("@", start)
    return (value, None) if at <= start else (value[:at], value[at + 1 :])


def _split_options(text: str) -> tuple[str, dict[str, Any]]:
    body, mark, tail = text.rpartition("?")
    pairs = [part.partition("=") for part in tail.split("&") if part]
    if not mark or any(not equals or key not in OPTIONS for key, equals, _ in pairs):
        return text, {}  # a tail with any other key belongs to the value
    values = {name: tuple(unquote(value) for key, _, value in pairs if key == name) for name in OPTIONS}
    return body, values | {"root": values["root"][-1] if values["root"] else None}
