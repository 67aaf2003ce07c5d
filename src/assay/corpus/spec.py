"""A corpus as one word on a command line: `stdlib`, `pypi:flask==3.1.0`, `git:../repo@v1`, a folder.

Sub-folder and globs follow a question mark: `git:../repo@v1?root=src&exclude=tests/`.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import quote, unquote

from assay.corpus.kinds import KINDS, kind_examples
from assay.errors import CorpusError
from assay.types import CorpusSpec

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/]*/?")
_SCP: Final = re.compile(r"[^/:]+:(?!:)")
_OPTIONS: Final = ("root", "include", "exclude")


@dataclass(frozen=True, slots=True)
class _Options:
    """What stands after the question mark."""

    root: str | None = None
    include: tuple[str, ...] = field(default=())
    exclude: tuple[str, ...] = field(default=())


def parse_spec(text: str) -> CorpusSpec:
    """Read a corpus from one word."""
    body, options = _split_options(text.strip())
    if not body or "\0" in body:
        raise CorpusError(f"{text!r} does not name a corpus", hint=f"name {kind_examples()}")
    if body == "stdlib":
        return CorpusSpec("stdlib", root=options.root, include=options.include, exclude=options.exclude)
    scheme = _SCHEME.match(body)
    if scheme is None:
        return _folder(body, options)
    return _with_scheme(scheme.group(1), body[scheme.end() :].strip(), text, options)


def spec_text(spec: CorpusSpec) -> str:
    """Write a corpus as the word that `parse_spec` reads."""
    body = _body(spec)
    options = [("root", spec.root)] if spec.root is not None else []
    pairs = [*options, *(("include", glob) for glob in spec.include), *(("exclude", glob) for glob in spec.exclude)]
    tail = "&".join(f"{key}={quote(str(value), safe='/*')}" for key, value in pairs)
    return f"{body}?{tail}" if tail or _split_options(body)[0] != body else body


def is_url(value: str) -> bool:
    """Tell a remote repository (`https://…`, `git@host:path`) from a local folder."""
    return bool(_URL.match(value) or _SCP.match(value))


def _body(spec: CorpusSpec) -> str:
    if spec.kind == "stdlib":
        return "stdlib"
    if spec.kind == "path":
        special = spec.value == "stdlib" or _SCHEME.match(spec.value)
        return f"./{spec.value}" if special else spec.value
    word = f"{spec.kind}:{spec.value}"
    if not KINDS[spec.kind].has_revision:
        return word
    if spec.rev is not None:
        return f"{word}@{spec.rev}"
    # A trailing @ keeps an @ of the path from being read as the start of a revision.
    return f"{word}@" if _split_revision(spec.value)[1] is not None else word


def _folder(body: str, options: _Options) -> CorpusSpec:
    while body.startswith("./"):
        body = body[2:].lstrip("/")
    return CorpusSpec("path", body or ".", root=options.root, include=options.include, exclude=options.exclude)


def _with_scheme(scheme: str, value: str, text: str, options: _Options) -> CorpusSpec:
    kind = KINDS.get(scheme)
    if kind is None or not kind.has_prefix:
        raise CorpusError(f"{text!r}: unknown kind of corpus {scheme!r}", hint=_scheme_hint(scheme, text))
    if value.startswith("//") and scheme == "git":
        raise CorpusError(f"{text!r} is a URL without its kind", hint=f"write git:{text}")
    if not value:
        raise CorpusError(f"{text!r} names nothing after {scheme}:", hint=f"name {kind_examples()}")
    rev = None
    if kind.has_revision:
        value, rev = _split_revision(value)
    return CorpusSpec(
        kind.name,
        value,
        rev=rev or None,
        root=options.root,
        include=options.include,
        exclude=options.exclude,
    )


def _scheme_hint(scheme: str, text: str) -> str:
    if scheme in ("http", "https", "ssh", "file"):
        return f"for a git repository write git:{text}; otherwise name {kind_examples()}"
    return f"name {kind_examples()}; a folder whose name holds a colon is written ./{text}"


def _split_revision(value: str) -> tuple[str, str | None]:
    match = _URL.match(value) or _SCP.match(value)
    start = match.end() if match else 0
    at = value.rfind("@", start)
    return (value, None) if at <= start else (value[:at], value[at + 1 :])


def _split_options(text: str) -> tuple[str, _Options]:
    """Cut `?root=…&include=…` off; a tail with any other key belongs to the value."""
    body, mark, tail = text.rpartition("?")
    if not mark:
        return text, _Options()
    pairs = [part.partition("=") for part in tail.split("&") if part]
    if any(not equals or key not in _OPTIONS for key, equals, _ in pairs):
        return text, _Options()
    values = {name: tuple(unquote(value) for key, _, value in pairs if key == name) for name in _OPTIONS}
    return body, _Options(values["root"][-1] if values["root"] else None, values["include"], values["exclude"])


#: In a message a URL ends at a space: a closing quote after a query is lost, as a quote may be part of a token.
#: The authority ends at the first / ? or #, and its credentials at the last @ before that (RFC 3986, 3.2).
_URLS_URL: Final = re.compile(
    r"""(?P<scheme>\b[A-Za-z][A-Za-z0-9+.-]*://|^//)
    (?:[^\s/?#]*@)?
    (?P<rest>[^\s?#]*)
    (?:[?#]\S*)?""",
    re.VERBOSE,
)


def without_credentials(text: str) -> str:
    """Leave user, password, query and fragment out of a URL, or of every URL in a message; tokens stand in all four."""
    return _URLS_URL.sub(r"\g<scheme>\g<rest>", text)


_STEP = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_-])?")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]|^[.-]|\.\Z")
_LONGEST = 100  # characters of a name: file systems end at 255 bytes
_LONGEST_PATH = 400  # and of a path: some end at 1,024 bytes, with the folders above
_DIGITS = 16  # of the hash that tells apart names which would be the same


def document_paths(ids: Iterable[str]) -> dict[str, str]:
    """Return the file of each document; names differ where case is ignored, and none is a folder of another."""
    names = {name: document_path(name) for name in ids}
    apart: set[str] = set()
    while clash := _clashing(names) - apart:  # again, since an id may be the very name that another was given
        names |= {name: _hashed(name) for name in clash}
        apart |= clash
    return names


def document_path(name: str) -> str:
    """Return the file of a document whose name clashes with no other."""
    steps = name.split("/")
    if len(name) <= _LONGEST_PATH and all(len(step) <= _LONGEST and _STEP.fullmatch(step) for step in steps):
        return name
    encoded = _encoded(name)
    return encoded if len(encoded) <= _LONGEST else _hashed(name)


def find_document(name: str, paths: Container[str]) -> str | None:
    """Return the file of a document among those of a corpus."""
    return next((path for path in (name, document_path(name), _hashed(name)) if path in paths), None)


def _encoded(name: str) -> str:
    return _UNSAFE.sub(lambda found: _percent(found[0].encode("utf-8", "surrogatepass")), name)


def _percent(data: bytes) -> str:
    return "".join(f"%{byte:02X}" for byte in data)


def _hashed(name: str) -> str:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{_encoded(name)[:_LONGEST]}-{digest}"


def _clashing(names: Mapping[str, str]) -> set[str]:
    files = Counter(path.casefold() for path in names.values())
    folders = {str(above) for path in files for above in PurePosixPath(path).parents}
    return {name for name, path in names.items() if files[path.casefold()] > 1 or path.casefold() in folders}
