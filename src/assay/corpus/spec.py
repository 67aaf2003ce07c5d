"""Corpus specs on the command line: `stdlib`, `pypi:flask==3.1.0`, `git:../repo@v1`, a directory.

Subdirectory and globs follow a question mark: `git:../repo@v1?root=src&exclude=tests/`.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import quote, unquote

from assay.corpus.sources import KINDS, OPTIONS, kind_examples
from assay.errors import CorpusError
from assay.types import CorpusSpec

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/]*/?")
_SCP: Final = re.compile(r"[^/:]+:(?!:)")


def parse_spec(text: str) -> CorpusSpec:
    """Parse the spec of a corpus, such as `stdlib` or `git:URL@REV`."""
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
    """Format a spec so that `parse_spec` can parse it."""
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
    """Return whether a value is a remote repository (`https://…`, `git@host:path`) rather than a directory."""
    return bool(_URL.match(value) or _SCP.match(value))


def _parse_with_scheme(scheme: str, value: str, text: str) -> CorpusSpec:
    kind = KINDS.get(scheme)
    if kind is None or not kind.word.startswith(f"{scheme}:"):
        hint = f"use {kind_examples()}; write a directory whose name contains a colon as ./{text}"
        if scheme in ("http", "https", "ssh", "file"):
            hint = f"use git:{text} for a git repository, otherwise {kind_examples()}"
        raise CorpusError(f"{text!r}: unknown kind of corpus {scheme!r}", hint=hint)
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


#: In a message a URL ends at a space; a closing quote after a query is lost, since it may be part of a token.
#: The authority ends at the first / ? or #, and its credentials at the last @ before that (RFC 3986, 3.2).
_CREDENTIALS: Final = re.compile(
    r"""(?P<scheme>\b[A-Za-z][A-Za-z0-9+.-]*://|^//)
    (?:[^\s/?#]*@)?
    (?P<rest>[^\s?#]*)
    (?:[?#]\S*)?""",
    re.VERBOSE,
)


def without_credentials(text: str) -> str:
    """Remove user, password, query and fragment, which may contain tokens, from every URL in a text."""
    return _CREDENTIALS.sub(r"\g<scheme>\g<rest>", text)


_STEP = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_-])?")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]|^[.-]|\.\Z")
_LONGEST = 100  # characters of a name: file systems allow 255 bytes
_LONGEST_PATH = 400  # and of a path: some systems allow 1,024 bytes including parent directories
_DIGITS = 16  # hexadecimal digits of the hash that distinguishes clashing names


def document_paths(ids: Iterable[str]) -> dict[str, str]:
    """Map document ids to paths that are unique even ignoring case; no path is a parent directory of another."""
    names = {name: document_path(name) for name in ids}
    hashed: set[str] = set()
    while True:  # repeated, since an id may equal the new path of another
        files = Counter(path.casefold() for path in names.values())
        directories = {str(above) for path in files for above in PurePosixPath(path).parents}
        folded = {name: path.casefold() for name, path in names.items() if name not in hashed}
        clash = {name for name, path in folded.items() if files[path] > 1 or path in directories}
        if not clash:
            return names
        names |= {name: _add_hash(name) for name in clash}
        hashed |= clash


def document_path(name: str) -> str:
    """Return the path of a document id, encoded or hashed if it is not a portable path."""
    steps = name.split("/")
    if len(name) <= _LONGEST_PATH and all(len(step) <= _LONGEST and _STEP.fullmatch(step) for step in steps):
        return name
    encoded = _percent_encode(name)
    return encoded if len(encoded) <= _LONGEST else _add_hash(name)


def find_document(name: str, paths: Container[str]) -> str | None:
    """Return which of the paths of a corpus belongs to a document id, or None."""
    return next((path for path in (name, document_path(name), _add_hash(name)) if path in paths), None)


def _percent_encode(name: str) -> str:
    def percent(match: re.Match[str]) -> str:
        return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass"))

    return _UNSAFE.sub(percent, name)


def _add_hash(name: str) -> str:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{_percent_encode(name)[:_LONGEST]}-{digest}"
