"""Package indexes: versions, pip's configuration, and the simple API (PEP 503 HTML, PEP 691 JSON) with find-links."""

from __future__ import annotations

import ast
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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import unquote, urldefrag, urljoin, urlsplit, urlunsplit

from packaging.utils import InvalidName, canonicalize_name
from packaging.version import InvalidVersion, Version

from assay.corpus.config import ArchiveLimits
from assay.corpus.spec import without_credentials
from assay.corpus.tools import missing_tool, run
from assay.errors import CorpusError, SetupError


def parse_version(text: str) -> Version | None:
    """Parse a version (PEP 440); None if it is invalid."""
    try:
        return Version(text)
    except InvalidVersion:
        return None


def canonical_name(name: str) -> str | None:
    """Normalize a package name (PEP 503); None if it is invalid."""
    try:
        return canonicalize_name(name, validate=True)
    except InvalidName:
        return None


_DEFAULT_INDEX: Final = "https://pypi.org/simple"
_LINE: Final = re.compile(r"(?P<section>[^.=]+)\.(?P<key>[\w-]+)=(?P<value>.*)")
#: Sections that `pip download` reads; later ones win.
_SECTIONS: Final = ("global", "download", ":env:")
_TRUE: Final = frozenset({"1", "true", "yes", "on", "y", "t"})


@dataclass(frozen=True, slots=True)
class PipSettings:
    """pip's index configuration."""

    indexes: tuple[str, ...]
    find_links: tuple[str, ...]
    trusted_hosts: tuple[str, ...]
    cert: str | None
    proxy: str | None


def pip_settings(limits: ArchiveLimits) -> PipSettings:
    """Return the index configuration of pip."""
    listed = run([*_pip(), "config", "list"], tool="pip", seconds=limits.tool_seconds)
    if listed.code:
        raise SetupError(f"`pip config list` failed: {listed.last_words}", hint="run it by hand and fix the problem")
    return settings_from(parse_config(listed.out.decode("utf-8", "replace")))


def parse_config(text: str) -> dict[str, str]:
    """Parse the output of `pip config list` as `pip download` would use it."""
    by_section: dict[str, dict[str, str]] = {section: {} for section in _SECTIONS}
    for line in text.splitlines():
        if (match := _LINE.fullmatch(line)) and match["section"] in by_section:
            value = match["value"]
            by_section[match["section"]][match["key"]] = str(ast.literal_eval(value)) if value[:1] in "'\"" else value
    merged: dict[str, str] = {}
    for section in _SECTIONS:
        merged |= by_section[section]
    return merged


def settings_from(config: Mapping[str, str]) -> PipSettings:
    """Return the settings of the index."""
    indexes = (config.get("index-url", _DEFAULT_INDEX), *config.get("extra-index-url", "").split())
    no_index = config.get("no-index", "").lower() in _TRUE
    return PipSettings(
        () if no_index else tuple(url.strip() for url in indexes if url.strip()),
        tuple(config.get("find-links", "").split()),
        tuple(config.get("trusted-host", "").split()),
        config.get("cert") or None,
        config.get("proxy") or None,
    )


def download_wheel(name: str, version: str, into: Path, limits: ArchiveLimits) -> Path | None:
    """Download the wheel of a version, never an sdist, whose setup.py would run; None when pip finds none."""
    into.mkdir()
    # --only-binary comes last, so that it overrides a configured `no-binary`.
    options = ("--no-deps", "--no-input", "--progress-bar=off", "--dest", str(into), "--only-binary=:all:")
    done = run([*_pip(), "download", *options, "--", f"{name}=={version}"], tool="pip", seconds=limits.tool_seconds)
    wheels = sorted(into.glob("*.whl"))
    if done.code == 0 and wheels:
        return wheels[0]
    if "DO NOT MATCH THE HASHES" in done.err or re.search(r"Expected sha\d+", done.err):
        raise CorpusError(
            f"the wheel of {name}=={version} does not have the hash its index gives; it was not used",
            hint="the file or the index was tampered with or damaged: run `pip cache purge`, try again, else report it",
        )
    return None


def _pip() -> tuple[str, ...]:
    if importlib.util.find_spec("pip") is not None:
        return (sys.executable, "-P", "-m", "pip", "--disable-pip-version-check")
    found = shutil.which("pip") or shutil.which("pip3")
    if found is None:
        raise missing_tool("pip")
    return (found, "--disable-pip-version-check")


_ACCEPT: Final = (
    "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html; q=0.2, text/html; q=0.01"  # PEP 691
)
#: Best first; md5 and sha1 only detect damage.
_ALGORITHMS: Final = ("sha512", "sha384", "sha256", "sha224", "sha1", "md5")
#: Five times the page of the largest project on PyPI.
_PAGE_BYTES: Final = 100_000_000
_CHUNK: Final = 1 << 20
_SCHEMES: Final = frozenset({"file", "http", "https"})


@dataclass(frozen=True, slots=True)
class PackageLink:
    """A file in an index."""

    filename: str
    url: str
    algorithm: str | None = None
    expected: str | None = None
    yanked: bool = False


@dataclass(frozen=True, slots=True)
class IndexListing:
    """The files in the indexes, and the indexes that did not respond."""

    links: tuple[PackageLink, ...]
    silent: tuple[str, ...]


def read_indexes(name: str, settings: PipSettings, limits: ArchiveLimits) -> IndexListing:
    """Return the files of a package in every index and find-links location."""
    links: list[PackageLink] = []
    silent: list[str] = []
    pages = [f"{index.rstrip('/')}/{name}/" for index in settings.indexes]
    for page in (*pages, *(_as_url(place) for place in settings.find_links)):
        try:
            links.extend(_page(page, settings, limits))
        except (OSError, HTTPException, ValueError) as error:
            absent = isinstance(error, FileNotFoundError) or getattr(error, "code", None) in (404, 410)
            if not absent:
                silent.append(f"{without_credentials(page)}: {getattr(error, 'reason', None) or error}")
    return IndexListing(tuple(links), tuple(silent))


def download(link: PackageLink, into: Path, settings: PipSettings, limits: ArchiveLimits) -> Path:
    """Download a file and check its hash."""
    target = into / link.filename
    sha = hashlib.new(link.algorithm or "sha256", usedforsecurity=False)
    try:
        with _open(link.url, settings, limits) as answer, open(target, "wb") as stream:
            for chunk in _read_limited(answer, limits.archive_bytes, link.filename):
                sha.update(chunk)
                stream.write(chunk)
    except (urllib.error.URLError, HTTPException, TimeoutError) as error:
        raise SetupError(
            f"{without_credentials(link.url)} cannot be downloaded: {error}", hint="check the network, then try again"
        ) from error
    if link.expected is not None and sha.hexdigest() != link.expected.lower():
        raise CorpusError(
            f"has {link.algorithm} {sha.hexdigest()}, but its index says {link.expected}; it was not used",
            file=link.filename,
            hint="the file or the index was tampered with or damaged: try again, else report it to the index",
        )
    return target


def _page(url: str, settings: PipSettings, limits: ArchiveLimits) -> Iterator[PackageLink]:
    folder = _folder(url)
    if folder is not None and not (folder / "index.html").is_file():
        for child in sorted(folder.iterdir()):
            yield _link(child.as_uri(), child.name, url)
        return
    where = (folder / "index.html").as_uri() if folder is not None else url
    with _open(where, settings, limits) as answer:
        body = b"".join(_read_limited(answer, _PAGE_BYTES, url))
        final, kind = answer.geturl(), answer.headers.get_content_type()
    yield from _from_json(body, final) if kind.endswith("+json") else _from_html(body, final)


def _from_json(body: bytes, page: str) -> Iterator[PackageLink]:
    # PEP 691
    for file in json.loads(body)["files"]:
        hashes = file.get("hashes") or {}
        algorithm = next((name for name in _ALGORITHMS if name in hashes), None)
        url = _safe(urljoin(page, file["url"]), page)
        yield PackageLink(
            _plain(file["filename"]), url, algorithm, hashes[algorithm] if algorithm else None, bool(file.get("yanked"))
        )


def _from_html(body: bytes, page: str) -> Iterator[PackageLink]:
    # PEP 503
    anchors = _Anchors()
    anchors.feed(body.decode("utf-8", "replace"))
    base = urljoin(page, anchors.base)
    for href, yanked in anchors.found:
        url = urljoin(base, href)
        if urlsplit(url).scheme not in _SCHEMES:
            continue  # mailto: and the like
        yield _link(url, unquote(urlsplit(url).path).rpartition("/")[2], page, yanked)


def _link(url: str, filename: str, page: str, yanked: bool = False) -> PackageLink:
    address, fragment = urldefrag(url)
    algorithm, _, expected = fragment.partition("&")[0].partition("=")
    known = algorithm in _ALGORITHMS and bool(expected)
    return PackageLink(
        _plain(filename), _safe(address, page), algorithm if known else None, expected if known else None, yanked
    )


def _safe(url: str, page: str) -> str:
    allowed = _SCHEMES if urlsplit(page).scheme == "file" else _SCHEMES - {"file"}
    if urlsplit(url).scheme not in allowed:
        raise ValueError(f"it points at {without_credentials(url)}")
    return url


def _plain(filename: str) -> str:
    return os.path.basename(filename.replace("\\", "/").replace("\0", ""))


class _Anchors(HTMLParser):
    """Collects the links of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.base = ""
        self.found: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "base" and values.get("href"):
            self.base = values["href"] or ""
        elif tag == "a" and values.get("href"):
            self.found.append((values["href"] or "", "data-yanked" in values))


def _open(url: str, settings: PipSettings, limits: ArchiveLimits) -> Any:  # noqa: ANN401 - urllib's responses share no type
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    request = urllib.request.Request(urlunsplit(parts._replace(netloc=host)), headers={"Accept": _ACCEPT})  # noqa: S310
    if at:
        request.add_unredirected_header("Authorization", _basic(user))
    elif parts.scheme != "file" and (login := _netrc(parts.hostname or "")):
        request.add_unredirected_header("Authorization", _basic(login))
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


def _basic(login: str) -> str:
    from base64 import b64encode

    return "Basic " + b64encode(unquote(login).encode("utf-8")).decode("ascii")


def _netrc(hostname: str) -> str | None:
    from netrc import NetrcParseError, netrc

    try:
        found = netrc(os.environ.get("NETRC") or None).authenticators(hostname)
    except (OSError, NetrcParseError):
        return None
    return f"{found[0]}:{found[2]}" if found else None


def _as_url(place: str) -> str:
    return place if urlsplit(place).scheme in _SCHEMES else Path(place).expanduser().absolute().as_uri()


def _folder(url: str) -> Path | None:
    parts = urlsplit(url)
    path = Path(unquote(parts.path))
    return path if parts.scheme == "file" and (path.is_dir() or not path.exists()) else None


def _read_limited(stream: IO[bytes], allowed: int, what: str) -> Iterator[bytes]:
    left = allowed
    while chunk := stream.read(_CHUNK):
        left -= len(chunk)
        if left < 0:
            raise CorpusError(
                f"has more than {allowed:,} bytes",
                file=without_credentials(what),
                hint="too large for a source package",
            )
        yield chunk
