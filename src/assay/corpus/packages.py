"""Packages of PyPI and npm, or of the indexes that pip and npm are configured for.

No code of a package runs: pip downloads wheels only, sdists are downloaded from the simple API (PEP 503 HTML, PEP 691
JSON), and `npm pack` runs with --ignore-scripts.
"""

from __future__ import annotations

import ast
import base64
import hashlib
import importlib.util
import json
import os
import re
import shutil
import ssl
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from http.client import HTTPException
from netrc import NetrcParseError, netrc
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import unquote, urldefrag, urljoin, urlsplit, urlunsplit

from packaging.utils import InvalidName, canonicalize_name
from packaging.version import InvalidVersion, Version

from assay.corpus.sources import (
    ArchiveLimits,
    CorpusRequest,
    FetchedTree,
    LocatedCorpus,
    locate_tree,
    missing_tool,
    run_tool,
)
from assay.corpus.spec import without_credentials
from assay.corpus.unpack import hash_of, unpack
from assay.errors import CorpusError, SetupError

_SDIST: Final = (".tar.gz", ".zip", ".tgz", ".tar.bz2", ".tar.xz", ".tar")
_EXAMPLE: Final = "use flask==3.1.0, flask==3.1.0#wheel or flask==3.1.0#sdist"
_DEFAULT_INDEX: Final = "https://pypi.org/simple"
_CONFIG_LINE: Final = re.compile(r"(?P<section>[^.=]+)\.(?P<key>[\w-]+)=(?P<value>.*)")
#: Sections that `pip download` reads; later ones win.
_SECTIONS: Final = ("global", "download", ":env:")
_TRUE: Final = frozenset({"1", "true", "yes", "on", "y", "t"})
_PIP_VARIABLES: Final = "PIP_CONFIG_FILE PIP_EXTRA_INDEX_URL PIP_FIND_LINKS PIP_INDEX_URL PIP_NO_INDEX XDG_CONFIG_DIRS"
_ACCEPT: Final = (
    "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html; q=0.2, text/html; q=0.01"  # PEP 691
)
#: Best first; md5 and sha1 only detect damage.
_ALGORITHMS: Final = ("sha512", "sha384", "sha256", "sha224", "sha1", "md5")
#: Five times the page of the largest project on PyPI.
_PAGE_BYTES: Final = 100_000_000
_SCHEMES: Final = frozenset({"file", "http", "https"})
#: Names of an npm registry only: no path, URL, alias or option.
_NPM_NAME: Final = re.compile(r"(?:@[a-z0-9~][a-z0-9._~-]*/)?[A-Za-z0-9~][A-Za-z0-9._~-]*")
_NPM_VERSION: Final = re.compile(r"[~^]?[0-9A-Za-z*][0-9A-Za-z.+*-]*")
_NPM_EXACT: Final = re.compile(r"\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?")
_NPM_VARIABLE: Final = re.compile(r"npm_config_.*(registry|userconfig|globalconfig)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Package:
    """One version of a Python package, and its form."""

    name: str
    text: str  # the version as written
    version: Version
    form: str  # any, wheel or sdist

    def __str__(self) -> str:
        return f"{self.name}=={self.text}"


@dataclass(frozen=True, slots=True)
class PipSettings:
    indexes: tuple[str, ...]
    find_links: tuple[str, ...]
    trusted_hosts: tuple[str, ...]
    cert: str | None
    proxy: str | None


@dataclass(frozen=True, slots=True)
class PackageLink:
    filename: str
    url: str
    algorithm: str | None = None
    expected: str | None = None
    yanked: bool = False


def locate_pypi(request: CorpusRequest) -> LocatedCorpus:
    """Fetch a Python package once."""
    package = parse_package(request.spec.value)
    key = f"pypi {package} {package.form} {_pip_fingerprint()} {sys.implementation.cache_tag} {sys.platform}"
    entry = request.trees.obtain(key, lambda work: _fetch(package, work, request.limits))
    return locate_tree(request, entry, built_in=True)


def parse_package(value: str) -> Package:
    """Parse `name==version` with an optional `#wheel` or `#sdist`."""
    body, _, form = value.partition("#")
    name, equals, text = (part.strip() for part in body.partition("=="))
    canonical, version = _canonical_name(name), parse_version(text)
    if not equals or canonical is None:
        raise CorpusError(f"expected one version of a package, got {value!r}", hint=_EXAMPLE)
    if version is None:
        raise CorpusError(f"invalid version {text!r}", hint=_EXAMPLE)
    if form not in ("", "any", "wheel", "sdist"):
        raise CorpusError(f"expected wheel or sdist, got {form!r}", hint=_EXAMPLE)
    return Package(canonical, text, version, form or "any")


def parse_version(text: str) -> Version | None:
    """Parse a version (PEP 440); None if it is invalid."""
    try:
        return Version(text)
    except InvalidVersion:
        return None


def _canonical_name(name: str) -> str | None:
    try:
        return canonicalize_name(name, validate=True)
    except InvalidName:
        return None


def _fetch(package: Package, work: Path, limits: ArchiveLimits) -> FetchedTree:
    if package.form != "sdist":
        wheel = _download_wheel(package, work / "wheel", limits)
        if wheel is not None:
            note = f"pypi:{package} is the wheel {wheel.name}"
            return unpack(wheel, work / "tree", limits=limits, revision=package.text, notes=(note,))
    settings = _pip_settings(limits)
    links, silent = _read_indexes(package.name, settings, limits)
    files = [(version, link) for link in links if (version := _link_version(link, package.name))]
    sdists = [link for version, link in files if version == package.version and package.form != "wheel"]
    found = next((link for suffix in _SDIST for link in sdists if link.filename.endswith(suffix)), None)
    if found is None:
        raise _not_found(package, [(version, link.filename) for version, link in files], silent, settings)
    archive = _download(found, work, settings, limits)
    notes = [f"pypi:{package} is the sdist {found.filename}"]
    if package.form == "any":
        notes[0] += ", as pip finds no wheel for this interpreter"
    if found.expected is None:
        notes.append(f"not verified: the index has no hash for {found.filename}")
    if found.yanked:
        notes.append(f"{found.filename} was yanked by its authors")
    return unpack(archive, work / "tree", limits=limits, revision=package.text, notes=tuple(notes))


def _link_version(link: PackageLink, name: str) -> Version | None:
    stem = link.filename
    for suffix in (*_SDIST, ".whl"):
        stem = stem.removesuffix(suffix)
    parts = stem.split("-")
    for cut in range(1, len(parts)):
        if _canonical_name("-".join(parts[:cut])) == name:
            rest = parts[cut] if link.filename.endswith(".whl") else "-".join(parts[cut:])
            if version := parse_version(rest):
                return version
    return None


def _not_found(
    package: Package, offered: list[tuple[Version, str]], silent: list[str], settings: PipSettings
) -> CorpusError | SetupError:
    if silent and not offered:
        return SetupError(
            f"cannot fetch {package}: {'; '.join(silent)}", hint="check the network and `pip config list`"
        )
    if not offered:
        places = (*settings.indexes, *settings.find_links)
        asked = ", ".join(without_credentials(place) for place in places) or "no index"
        return CorpusError(f"no package {package.name!r} at {asked}", hint="check its name and `pip config list`")
    this = sorted(filename for version, filename in offered if version == package.version)
    if not this:
        newest = ", ".join(filename for _, filename in sorted(set(offered))[-3:])
        return CorpusError(f"{package.name} has no version {package.text}", hint=f"available: {newest}")
    wanted = "file this interpreter can use" if package.form == "any" else package.form
    return CorpusError(f"{package} has no {wanted}", hint=f"available: {', '.join(this[:5])}")


def _download_wheel(package: Package, into: Path, limits: ArchiveLimits) -> Path | None:
    """Download the wheel of a version, never an sdist, whose setup.py would run; None when pip finds none."""
    into.mkdir()
    # --only-binary comes last, so that it overrides a configured `no-binary`.
    options = ("--no-deps", "--no-input", "--progress-bar=off", "--dest", str(into), "--only-binary=:all:")
    argv = [*_pip(), "download", *options, "--", str(package)]
    done = run_tool(argv, tool="pip", seconds=limits.tool_seconds)
    wheels = sorted(into.glob("*.whl"))
    if done.code == 0 and wheels:
        return wheels[0]
    if "DO NOT MATCH THE HASHES" in done.err or re.search(r"Expected sha\d+", done.err):
        raise CorpusError(
            f"the hash of the wheel of {package} does not match its index",
            hint="run `pip cache purge` and try again; if it fails again, report it to the index",
        )
    return None


def _pip() -> tuple[str, ...]:
    if importlib.util.find_spec("pip") is not None:
        return (sys.executable, "-P", "-m", "pip", "--disable-pip-version-check")
    found = shutil.which("pip") or shutil.which("pip3")
    if found is None:
        raise missing_tool("pip")
    return (found, "--disable-pip-version-check")


def _pip_settings(limits: ArchiveLimits) -> PipSettings:
    listed = run_tool([*_pip(), "config", "list"], tool="pip", seconds=limits.tool_seconds)
    if listed.code:
        raise SetupError(
            f"`pip config list` failed: {listed.last_words}", hint="run `pip config list` and fix the problem"
        )
    return settings_from(parse_config(listed.out.decode("utf-8", "replace")))


def parse_config(text: str) -> dict[str, str]:
    """Parse the output of `pip config list` as `pip download` would use it."""
    by_section: dict[str, dict[str, str]] = {section: {} for section in _SECTIONS}
    for line in text.splitlines():
        if (match := _CONFIG_LINE.fullmatch(line)) and match["section"] in by_section:
            value = match["value"]
            by_section[match["section"]][match["key"]] = str(ast.literal_eval(value)) if value[:1] in "'\"" else value
    return {key: value for section in _SECTIONS for key, value in by_section[section].items()}


def settings_from(config: Mapping[str, str]) -> PipSettings:
    """Return the index settings of a configuration."""
    indexes = (config.get("index-url", _DEFAULT_INDEX), *config.get("extra-index-url", "").split())
    no_index = config.get("no-index", "").lower() in _TRUE
    return PipSettings(
        () if no_index else tuple(url.strip() for url in indexes if url.strip()),
        tuple(config.get("find-links", "").split()),
        tuple(config.get("trusted-host", "").split()),
        config.get("cert") or None,
        config.get("proxy") or None,
    )


def _read_indexes(name: str, settings: PipSettings, limits: ArchiveLimits) -> tuple[list[PackageLink], list[str]]:
    """Return the files of a package in every index and find-links location, and the indexes that did not respond."""
    links: list[PackageLink] = []
    silent: list[str] = []
    pages = [f"{index.rstrip('/')}/{name}/" for index in settings.indexes]
    for place in settings.find_links:
        is_url = urlsplit(place).scheme in _SCHEMES
        pages.append(place if is_url else Path(place).expanduser().absolute().as_uri())
    for page in pages:
        try:
            links.extend(_read_page(page, settings, limits))
        except (OSError, HTTPException, ValueError) as error:
            absent = isinstance(error, FileNotFoundError) or getattr(error, "code", None) in (404, 410)
            if not absent:
                silent.append(f"{without_credentials(page)}: {getattr(error, 'reason', None) or error}")
    return links, silent


def _read_page(url: str, settings: PipSettings, limits: ArchiveLimits) -> Iterator[PackageLink]:
    parts = urlsplit(url)
    folder = Path(unquote(parts.path))
    if parts.scheme == "file" and (folder.is_dir() or not folder.exists()):
        if not (folder / "index.html").is_file():
            yield from (_link(child.as_uri(), child.name, url) for child in sorted(folder.iterdir()))
            return
        url = (folder / "index.html").as_uri()
    with _open(url, settings, limits) as answer:
        body = b"".join(_read_limited(answer, _PAGE_BYTES, url))
        page, kind = answer.geturl(), answer.headers.get_content_type()
    if kind.endswith("+json"):
        for file in json.loads(body)["files"]:
            hashes = file.get("hashes") or {}
            algorithm = next((name for name in _ALGORITHMS if name in hashes), None)
            expected = hashes[algorithm] if algorithm else None
            address = _safe(urljoin(page, file["url"]), page)
            yield PackageLink(_base_name(file["filename"]), address, algorithm, expected, bool(file.get("yanked")))
        return
    anchors = _Anchors()
    anchors.feed(body.decode("utf-8", "replace"))
    base = urljoin(page, anchors.base)
    for href, yanked in anchors.found:
        address = urljoin(base, href)
        if urlsplit(address).scheme in _SCHEMES:  # not mailto: and the like
            yield _link(address, unquote(urlsplit(address).path).rpartition("/")[2], page, yanked)


def _link(url: str, filename: str, page: str, yanked: bool = False) -> PackageLink:
    address, fragment = urldefrag(url)
    algorithm, _, expected = fragment.partition("&")[0].partition("=")
    if algorithm not in _ALGORITHMS or not expected:
        return PackageLink(_base_name(filename), _safe(address, page), yanked=yanked)
    return PackageLink(_base_name(filename), _safe(address, page), algorithm, expected, yanked)


def _safe(url: str, page: str) -> str:
    allowed = _SCHEMES if urlsplit(page).scheme == "file" else _SCHEMES - {"file"}
    if urlsplit(url).scheme not in allowed:
        raise ValueError(f"it links to {without_credentials(url)}")
    return url


def _base_name(filename: str) -> str:
    return os.path.basename(filename.replace("\\", "/").replace("\0", ""))


class _Anchors(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.base = ""
        self.found: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        href = values.get("href")
        if tag == "base" and href:
            self.base = href
        elif tag == "a" and href:
            self.found.append((href, "data-yanked" in values))


def _download(link: PackageLink, into: Path, settings: PipSettings, limits: ArchiveLimits) -> Path:
    target = into / link.filename
    sha = hashlib.new(link.algorithm or "sha256", usedforsecurity=False)
    try:
        with _open(link.url, settings, limits) as answer, open(target, "wb") as stream:
            for chunk in _read_limited(answer, limits.archive_bytes, link.filename):
                sha.update(chunk)
                stream.write(chunk)
    except (urllib.error.URLError, HTTPException, TimeoutError) as error:
        raise SetupError(
            f"cannot download {without_credentials(link.url)}: {error}", hint="check the network, then try again"
        ) from error
    if link.expected is not None and sha.hexdigest() != link.expected.lower():
        raise CorpusError(
            f"expected {link.algorithm} {link.expected}, got {sha.hexdigest()}",
            file=link.filename,
            hint="try again; if it fails again, report it to the index",
        )
    return target


def _open(url: str, settings: PipSettings, limits: ArchiveLimits) -> Any:  # noqa: ANN401 - urllib's responses share no type
    parts = urlsplit(url)
    login, _, host = parts.netloc.rpartition("@")
    request = urllib.request.Request(urlunsplit(parts._replace(netloc=host)), headers={"Accept": _ACCEPT})  # noqa: S310
    if not login and parts.scheme != "file":
        try:
            known = netrc(os.environ.get("NETRC") or None).authenticators(parts.hostname or "")
        except (OSError, NetrcParseError):
            known = None
        login = f"{known[0]}:{known[2]}" if known else ""
    if login:
        secret = base64.b64encode(unquote(login).encode("utf-8")).decode("ascii")
        request.add_unredirected_header("Authorization", f"Basic {secret}")
    context = ssl.create_default_context(cafile=settings.cert)
    if parts.hostname in settings.trusted_hosts or host in settings.trusted_hosts:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    proxies = {"http": settings.proxy, "https": settings.proxy} if settings.proxy else None
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(proxies),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=context),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPRedirectHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.FileHandler(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener.open(request, timeout=limits.http_seconds)


def _read_limited(stream: IO[bytes], allowed: int, what: str) -> Iterator[bytes]:
    left = allowed
    while chunk := stream.read(1 << 20):
        left -= len(chunk)
        if left < 0:
            hint = "use a smaller package"
            raise CorpusError(f"has more than {allowed:,} bytes", file=without_credentials(what), hint=hint)
        yield chunk


def _pip_fingerprint() -> str:
    """Return a hash of pip's index variables and configuration files (listed by `pip config debug`)."""
    home = Path.home()
    shared = (os.environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")
    folders = [
        *(Path(folder) / "pip" for folder in shared),
        Path("/etc"),
        home / ".pip",
        Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "pip",
        home / "Library" / "Application Support" / "pip",
        Path(sys.prefix),
    ]
    files = [folder / "pip.conf" for folder in folders]
    if named := os.environ.get("PIP_CONFIG_FILE"):
        files.append(Path(named))
    return _hash((f"{name}={os.environ.get(name)}" for name in _PIP_VARIABLES.split()), files)


def _hash(values: Iterable[str], files: Iterable[Path]) -> str:
    sha = hashlib.sha256("\n".join(values).encode("utf-8", "surrogateescape"))
    for file in files:
        try:
            sha.update(b"\0" + file.read_bytes())
        except OSError:
            sha.update(b"\0\0")
    return sha.hexdigest()[:16]


def locate_npm(request: CorpusRequest) -> LocatedCorpus:
    """Fetch an npm package; an exact version only once."""
    name, version = parse_npm_package(request.spec.value)
    variables = sorted(item for item in os.environ.items() if _NPM_VARIABLE.fullmatch(item[0]))
    here = Path.cwd()
    named = [Path(value) for variable, value in variables if variable.lower() == "npm_config_userconfig"]
    files = [Path.home() / ".npmrc", *(folder / ".npmrc" for folder in (here, *here.parents)), *named]
    configured = _hash((f"{variable}={value}" for variable, value in variables), files)
    entry = request.trees.obtain(
        f"npm {name}@{version} {configured}",
        lambda work: pack(f"{name}@{version}", work, request.limits),
        refresh=not _NPM_EXACT.fullmatch(version),
    )
    return locate_tree(request, entry, built_in=True)


def parse_npm_package(value: str) -> tuple[str, str]:
    """Parse `name@version`, where a scoped name begins with @."""
    name, at, version = value[1:].partition("@")
    name = value[:1] + name
    if not at or not _NPM_NAME.fullmatch(name):
        raise CorpusError(
            f"expected one version of a package, got {value!r}", hint="use a version such as express@5.1.0"
        )
    if not _NPM_VERSION.fullmatch(version):
        raise CorpusError(f"invalid version {version!r}", hint="use a version such as express@5.1.0")
    return name, version


def pack(what: str, work: Path, limits: ArchiveLimits) -> FetchedTree:
    """Download and unpack a tarball."""
    into = work / "tarball"
    into.mkdir()
    options = ("--ignore-scripts", "--json", f"--pack-destination={into}")
    done = run_tool(["npm", "pack", *options, "--", what], tool="npm", seconds=limits.tool_seconds)
    if done.code:
        output = done.err + done.out.decode("utf-8", "replace")
        if re.search(r"\bEINTEGRITY\b", output):
            raise _hash_error(what)
        if re.search(r"\b(E404|ETARGET|ENOVERSIONS)\b", output):
            raise CorpusError(f"npm has no {what}", hint=f"see `npm view {what.rpartition('@')[0]} versions`")
        raise SetupError(f"npm pack {what} failed: {done.last_words}", hint="check the network and `npm config list`")
    packed = _parse_output(done.out)
    tarballs = sorted(into.glob("*.tgz"))
    if not packed or len(tarballs) != 1:
        raise SetupError(f"npm pack wrote no tarball for {what}", hint=f"run `npm pack {what}` and check its output")
    # integrity is in subresource form: `sha512-BASE64`
    given = dict(part.split("-", 1) for part in str(packed.get("integrity") or "").split() if "-" in part)
    algorithm = next((name for name in ("sha512", "sha384", "sha256", "sha1") if name in given), None)
    if algorithm is not None:
        found = base64.b64encode(hash_of(tarballs[0], algorithm)).decode()
        if found != given[algorithm].partition("?")[0]:
            raise _hash_error(tarballs[0].name)
    version = str(packed.get("version") or what.rpartition("@")[2])
    note = f"npm:{what} is {packed.get('name')}@{version}"
    return unpack(tarballs[0], work / "tree", limits=limits, revision=version, notes=(note,))


def _parse_output(out: bytes) -> dict[str, object]:
    try:
        value = json.loads(out)
    except ValueError:
        return {}
    if isinstance(value, dict) and "filename" not in value:
        value = list(value.values())
    first = value[0] if isinstance(value, list) and value else value
    return first if isinstance(first, dict) else {}


def _hash_error(what: str) -> CorpusError:
    return CorpusError(
        f"the hash of the tarball of {what} does not match its registry",
        hint="try again; if it fails again, report it to the registry",
    )
