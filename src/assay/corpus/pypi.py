"""Packages of PyPI, or of the index that pip is configured for."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from packaging.version import Version

from assay.corpus.config import ArchiveLimits
from assay.corpus.kinds import CorpusRequest, LocatedCorpus, from_entry
from assay.corpus.package_index import (
    IndexListing,
    PackageLink,
    PipSettings,
    canonical_name,
    download,
    download_wheel,
    parse_version,
    pip_settings,
    read_indexes,
)
from assay.corpus.spec import without_credentials
from assay.corpus.tools import pip_fingerprint
from assay.corpus.tree_cache import FetchedTree
from assay.corpus.unpack import unpack
from assay.errors import CorpusError, SetupError

_FORMS: Final = ("any", "wheel", "sdist")
_SDIST: Final = (".tar.gz", ".zip", ".tgz", ".tar.bz2", ".tar.xz", ".tar")
_EXAMPLE: Final = "write it as flask==3.1.0, flask==3.1.0#wheel or flask==3.1.0#sdist"


@dataclass(frozen=True, slots=True)
class Package:
    """One version of a package, and its form."""

    name: str
    text: str  # the version as written
    version: Version
    form: str

    def __str__(self) -> str:
        return f"{self.name}=={self.text}"


def locate(request: CorpusRequest) -> LocatedCorpus:
    """Fetch a package once."""
    package = parse_package(request.spec.value)

    key = f"pypi {package} {package.form} {pip_fingerprint()} {sys.implementation.cache_tag} {sys.platform}"
    entry = request.trees.obtain(key, lambda work: _fetch(package, work, request.limits))
    return from_entry(request, entry, built_in=True)


def parse_package(value: str) -> Package:
    """Parse `name==version` with an optional `#wheel` or `#sdist`."""
    body, _, form = value.partition("#")
    name, equals, text = (part.strip() for part in body.partition("=="))
    canonical, version = canonical_name(name), parse_version(text)
    if not equals or canonical is None:
        raise CorpusError(f"{value!r} does not name one version of a package", hint=_EXAMPLE)
    if version is None:
        raise CorpusError(f"{text!r} is not a version of a Python package", hint=_EXAMPLE)
    if (form or "any") not in _FORMS:
        raise CorpusError(f"{form!r} is not a form of a package", hint=_EXAMPLE)
    return Package(canonical, text, version, form or "any")


def _fetch(package: Package, work: Path, limits: ArchiveLimits) -> FetchedTree:
    if package.form != "sdist":
        wheel = download_wheel(package.name, package.text, work / "wheel", limits)
        if wheel is not None:
            note = f"pypi:{package} is the wheel {wheel.name}"
            return unpack(wheel, work / "tree", limits=limits, revision=package.text, notes=(note,))
    settings = pip_settings(limits)
    listing = read_indexes(package.name, settings, limits)
    link = None if package.form == "wheel" else find_sdist(package, listing)
    if link is None:
        raise _not_found(package, listing, settings)
    archive = download(link, work, settings, limits)
    notes = [f"pypi:{package} is the sdist {link.filename}"]
    if package.form == "any":
        notes[0] += ", as pip finds no wheel for this interpreter"
    if link.expected is None:
        notes.append(f"the index gives no hash for {link.filename}: it could not be verified")
    if link.yanked:
        notes.append(f"{link.filename} was yanked by its authors")
    return unpack(archive, work / "tree", limits=limits, revision=package.text, notes=tuple(notes))


def find_sdist(package: Package, listing: IndexListing) -> PackageLink | None:
    """Return the sdist of a version, ordered by archive type, then by index."""
    found = [link for link in listing.links if _version_of(link, package) == package.version]
    return next((link for suffix in _SDIST for link in found if link.filename.endswith(suffix)), None)


def _version_of(link: PackageLink, package: Package) -> Version | None:
    stem = link.filename
    for suffix in (*_SDIST, ".whl"):
        stem = stem.removesuffix(suffix)
    parts = stem.split("-")
    for cut in range(1, len(parts)):
        if canonical_name("-".join(parts[:cut])) == package.name:
            rest = parts[cut] if link.filename.endswith(".whl") else "-".join(parts[cut:])
            if version := parse_version(rest):
                return version
    return None


def _not_found(package: Package, listing: IndexListing, settings: PipSettings) -> CorpusError | SetupError:
    offered = [(version, link.filename) for link in listing.links if (version := _version_of(link, package))]
    if listing.silent and not offered:
        return SetupError(
            f"{package} cannot be fetched: {'; '.join(listing.silent)}", hint="check the network and `pip config list`"
        )
    if not offered:
        places = (*settings.indexes, *settings.find_links)
        asked = ", ".join(without_credentials(place) for place in places) or "no index"
        return CorpusError(f"no package {package.name!r} at {asked}", hint="check its name and `pip config list`")
    this = sorted(filename for version, filename in offered if version == package.version)
    if not this:
        newest = ", ".join(filename for _, filename in sorted(set(offered))[-3:])
        return CorpusError(f"{package.name} has no version {package.text}", hint=f"there is {newest}")
    wanted = "file this interpreter can use" if package.form == "any" else package.form
    return CorpusError(f"{package} has no {wanted}", hint=f"there is {', '.join(this[:5])}")
