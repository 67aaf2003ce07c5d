"""Packages of npm, or of the registry that npm is configured for: `express@5.1.0`, `@scope/x@1`.

`npm pack` downloads the tarball and checks its hash; with --ignore-scripts it runs no script.
"""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Final, NoReturn

from assay.corpus.config import ArchiveLimits
from assay.corpus.kinds import CorpusRequest, LocatedCorpus, from_entry
from assay.corpus.tools import CommandOutput, npm_fingerprint, run
from assay.corpus.tree_cache import FetchedTree
from assay.corpus.unpack import hash_of, unpack
from assay.errors import CorpusError, SetupError

#: Registry names only: no path, URL, alias or option.
_NAME: Final = re.compile(r"(?:@[a-z0-9~][a-z0-9._~-]*/)?[A-Za-z0-9~][A-Za-z0-9._~-]*")
_VERSION: Final = re.compile(r"[~^]?[0-9A-Za-z*][0-9A-Za-z.+*-]*")
_EXACT: Final = re.compile(r"\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?")
_NOT_FOUND: Final = re.compile(r"\b(E404|ETARGET|ENOVERSIONS)\b")
_TAMPERED: Final = re.compile(r"\bEINTEGRITY\b")
_HASHES: Final = ("sha512", "sha384", "sha256", "sha1")


def locate(request: CorpusRequest) -> LocatedCorpus:
    """Fetch a package; an exact version only once."""
    name, version = parse_package(request.spec.value)

    def fetch(work: Path) -> FetchedTree:
        return pack(f"{name}@{version}", work, request.limits)

    key = f"npm {name}@{version} {npm_fingerprint()}"
    entry = request.trees.obtain(key, fetch, refresh=not _EXACT.fullmatch(version))
    return from_entry(request, entry, built_in=True)


def parse_package(value: str) -> tuple[str, str]:
    """Parse `name@version`, where a scoped name begins with @."""
    name, at, version = value[:1] + value[1:].partition("@")[0], "@" in value[1:], value[1:].partition("@")[2]
    if not at or not _NAME.fullmatch(name):
        raise CorpusError(f"{value!r} does not name one version of a package", hint="write it as express@5.1.0")
    if not _VERSION.fullmatch(version):
        raise CorpusError(f"{version!r} is not a version of an npm package", hint="write it as express@5.1.0")
    return name, version


def pack(what: str, work: Path, limits: ArchiveLimits) -> FetchedTree:
    """Download and unpack a tarball."""
    into = work / "tarball"
    into.mkdir()
    options = ("--ignore-scripts", "--json", f"--pack-destination={into}")
    done = run(["npm", "pack", *options, "--", what], tool="npm", seconds=limits.tool_seconds)
    if done.code:
        _raise_failure(what, done)
    packed = _parse_output(done)
    tarballs = sorted(into.glob("*.tgz"))
    if not packed or len(tarballs) != 1:
        raise SetupError(f"npm pack wrote no tarball for {what}", hint=f"run `npm pack {what}` by hand")
    _verify(tarballs[0], str(packed.get("integrity") or ""))
    version = str(packed.get("version") or what.rpartition("@")[2])
    note = f"npm:{what} is {packed.get('name')}@{version}"
    return unpack(tarballs[0], work / "tree", limits=limits, revision=version, notes=(note,))


def _parse_output(done: CommandOutput) -> dict[str, object]:
    try:
        value = json.loads(done.out)
    except ValueError:
        return {}
    if isinstance(value, dict) and "filename" not in value:
        value = list(value.values())
    first = value[0] if isinstance(value, list) and value else value
    return first if isinstance(first, dict) else {}


def _verify(tarball: Path, integrity: str) -> None:
    # integrity is in subresource form: `sha512-BASE64`
    given = dict(part.split("-", 1) for part in integrity.split() if "-" in part)
    algorithm = next((name for name in _HASHES if name in given), None)
    if algorithm and base64.b64encode(hash_of(tarball, algorithm)).decode() != given[algorithm].partition("?")[0]:
        raise _hash_error(tarball.name)


def _raise_failure(what: str, done: CommandOutput) -> NoReturn:
    output = done.err + done.out.decode("utf-8", "replace")
    if _TAMPERED.search(output):
        raise _hash_error(what)
    if _NOT_FOUND.search(output):
        raise CorpusError(f"npm has no {what}", hint=f"see `npm view {what.rpartition('@')[0]} versions`")
    raise SetupError(f"npm pack {what} failed: {done.last_words}", hint="check the network and `npm config list`")


def _hash_error(what: str) -> CorpusError:
    return CorpusError(
        f"the tarball of {what} does not have the hash its registry gives; it was not used",
        hint="the file or the registry was tampered with or damaged: try again, else report it",
    )
