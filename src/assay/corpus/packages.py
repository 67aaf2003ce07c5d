"""Packages from PyPI and npm, or from the indexes that pip and npm are configured to use.

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
from contextlib import suppress
from html.parser import HTMLParser
from http.client import HTTPException
from netrc import NetrcParseError, netrc
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import unquote, urldefrag, urljoin, urlsplit, urlunsplit

from packaging.utils import InvalidName, canonicalize_name
from packaging.version import InvalidVersion, Version

from assay.corpus.sources import CorpusRequest, LocatedCorpus, locate_tree, missing_tool, run_fetch_tool
from assay.corpus.unpack import ArchiveLimits, FetchedTree, hash_of, unpack
from assay.errors import CorpusError, SetupError
from assay.records import dataclass
from assay.redaction import strip_credentials

_SDIST: Final = (".tar.gz", ".zip", ".tgz", ".tar.bz2", ".tar.xz", ".tar")
_EXAMPLE: Final = "use a package and a version, such as flask==3.1.0, flask==3.1.0#wheel or flask==3.1.0#sdist"
_CONFIG_LINE: Final = re.compile(r"(?P<section>[^.=]+)\.(?P<key>[\w-]+)=(?P<value>.*)")
#: Sections that `pip download` reads; later sections take precedence.
_SECTIONS: Final = ("global", "download", ":env:")
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
class PythonPackage:
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
    algorithm: str | None
    expected: str
    yanked: bool


def locate_pypi(request: CorpusRequest) -> LocatedCorpus:
    package = parse_package(request.spec.value)
    key = f"pypi {package} {package.form} {_pip_fingerprint()} {sys.implementation.cache_tag} {sys.platform}"
    entry = request.trees.obtain(key, lambda work: fetch_pypi(package, work, request.limits))
    return locate_tree(request, entry, built_in=True)


def parse_package(value: str) -> PythonPackage:
    """Parse `name==version` with an optional `#wheel` or `#sdist`; raise CorpusError for any other text."""
    body, _, form = value.partition("#")
    name, equals, text = (part.strip() for part in body.partition("=="))
    try:
        package = PythonPackage(canonicalize_name(name, validate=True), text, Version(text), form or "any")
    except (InvalidName, InvalidVersion) as error:
        if equals and isinstance(error, InvalidVersion):
            raise CorpusError(f"invalid version {text!r}", hint=_EXAMPLE) from None
        raise CorpusError(f"expected NAME==VERSION, got {value!r}", hint=_EXAMPLE) from None
    if package.form not in ("any", "wheel", "sdist"):
        raise CorpusError(f"expected wheel or sdist, got {form!r}", hint=_EXAMPLE)
    return package


def fetch_pypi(package: PythonPackage, work: Path, limits: ArchiveLimits) -> FetchedTree:
    pip = _find_pip()
    if package.form != "sdist" and (wheel := _download_wheel(package, pip, work / "wheel", limits)):
        note = f"pypi:{package} is the wheel {wheel.name}"
        return unpack(wheel, work / "tree", limits=limits, revision=package.text, notes=(note,))
    listed = run_fetch_tool([*pip, "config", "list"], tool="pip", seconds=limits.tool_seconds)
    if listed.code:
        hint = "run `pip config list` and fix the problem"
        raise SetupError(f"`pip config list` failed: {listed.last_error_line}", hint=hint)
    settings = parse_settings(listed.out.decode("utf-8", "replace"))
    link = _find_sdist(package, settings, limits)
    archive = work / link.filename
    try:
        with _open(link.url, settings, limits) as answer, open(archive, "wb") as stream:
            stream.writelines(_read_limited(answer, limits.archive_bytes, link.filename))
    except (urllib.error.URLError, HTTPException, TimeoutError) as error:
        hint = "check the network, then try again"
        raise SetupError(f"cannot download {strip_credentials(link.url)}: {error}", hint=hint) from error
    notes = [f"pypi:{package} is the sdist {link.filename}"]
    if package.form == "any":
        notes[0] += ", as pip finds no wheel for this interpreter"
    if link.algorithm is None:
        notes.append(f"not verified: the index has no hash for {link.filename}")
    elif (actual := hash_of(archive, link.algorithm)) != link.expected.lower():
        hint = "try again; if that fails, report the file to the index"
        raise CorpusError(f"expected {link.algorithm} {link.expected}, got {actual}", file=link.filename, hint=hint)
    if link.yanked:
        notes.append(f"{link.filename} was yanked by its authors")
    return unpack(archive, work / "tree", limits=limits, revision=package.text, notes=tuple(notes))


def _find_pip() -> tuple[str, ...]:
    if importlib.util.find_spec("pip") is not None:
        return (sys.executable, "-P", "-m", "pip", "--disable-pip-version-check")
    program = shutil.which("pip") or shutil.which("pip3")
    if program is None:
        raise missing_tool("pip")
    return (program, "--disable-pip-version-check")


def _download_wheel(package: PythonPackage, pip: tuple[str, ...], into: Path, limits: ArchiveLimits) -> Path | None:
    """Download a wheel, or return None if pip fails; never download an sdist, since pip would run its setup.py."""
    # --only-binary comes last, so that it overrides a configured `no-binary`.
    options = ("--no-deps", "--no-input", "--progress-bar=off", "--dest", str(into), "--only-binary=:all:")
    done = run_fetch_tool([*pip, "download", *options, "--", str(package)], tool="pip", seconds=limits.tool_seconds)
    if "DO NOT MATCH THE HASHES" in done.err or re.search(r"Expected sha\d+", done.err):
        raise CorpusError(
            f"the wheel of {package} does not match the hash in the index",
            hint="run `pip cache purge` and try again; if that fails, report the file to the index",
        )
    return None if done.code else next(into.glob("*.whl"), None)


def parse_settings(text: str) -> PipSettings:
    """Parse the output of `pip config list`; return the options that apply to `pip download`."""
    lines = [match for line in text.splitlines() if (match := _CONFIG_LINE.fullmatch(line))]
    config = {
        match["key"]: str(ast.literal_eval(match["value"])) if match["value"][:1] in ("'", '"') else match["value"]
        for section in _SECTIONS
        for match in lines
        if match["section"] == section
    }
    indexes = f"{config.get('index-url', 'https://pypi.org/simple')} {config.get('extra-index-url', '')}".split()
    no_index = config.get("no-index", "").lower() in ("1", "true", "yes", "on", "y", "t")
    return PipSettings(
        () if no_index else tuple(indexes),
        tuple(config.get("find-links", "").split()),
        tuple(config.get("trusted-host", "").split()),
        config.get("cert") or None,
        config.get("proxy") or None,
    )


def _find_sdist(package: PythonPackage, settings: PipSettings, limits: ArchiveLimits) -> PackageLink:
    pages = [f"{index.rstrip('/')}/{package.name}/" for index in settings.indexes]
    for location in settings.find_links:
        is_url = urlsplit(location).scheme in _SCHEMES
        pages.append(location if is_url else Path(location).expanduser().absolute().as_uri())
    links: list[PackageLink] = []
    failures = []
    for page in pages:
        try:
            links.extend(_read_page(page, settings, limits))
        except (OSError, HTTPException, ValueError) as error:
            if not isinstance(error, FileNotFoundError) and getattr(error, "code", None) not in (404, 410):
                failures.append(f"{strip_credentials(page)}: {getattr(error, 'reason', None) or error}")
    files = [(version, link) for link in links if (version := _link_version(link.filename, package.name))]
    sdists = [link for version, link in files if version == package.version and package.form != "wheel"]
    for suffix in _SDIST:
        if sdist := next((link for link in sdists if link.filename.endswith(suffix)), None):
            return sdist
    if failures and not files:
        reasons = "; ".join(failures)
        raise SetupError(f"cannot fetch {package}: {reasons}", hint="check the network and `pip config list`")
    if not files:
        locations = ", ".join(map(strip_credentials, (*settings.indexes, *settings.find_links))) or "any index"
        raise CorpusError(f"no package {package.name!r} at {locations}", hint="check the name and `pip config list`")
    available = sorted(link.filename for version, link in files if version == package.version)[:5]
    problem = f"{package} has no {'file this interpreter can use' if package.form == 'any' else package.form}"
    if not available:
        problem = f"{package.name} has no version {package.text}"
        available = [filename for _, filename in sorted({(version, link.filename) for version, link in files})[-3:]]
    raise CorpusError(problem, hint=f"available: {', '.join(available)}")


def _link_version(filename: str, name: str) -> Version | None:
    stem = filename
    for suffix in (*_SDIST, ".whl"):
        stem = stem.removesuffix(suffix)
    parts = stem.split("-")
    for cut in range(1, len(parts)):
        with suppress(InvalidName, InvalidVersion):
            if canonicalize_name("-".join(parts[:cut]), validate=True) == name:
                return Version(parts[cut] if filename.endswith(".whl") else "-".join(parts[cut:]))
    return None


def _read_page(url: str, settings: PipSettings, limits: ArchiveLimits) -> Iterator[PackageLink]:
    parts = urlsplit(url)
    directory = Path(unquote(parts.path))
    if parts.scheme == "file" and (directory.is_dir() or not directory.exists()):
        if not (directory / "index.html").is_file():
            yield from (_make_link(url, child.as_uri(), child.name) for child in sorted(directory.iterdir()))
            return
        url = (directory / "index.html").as_uri()
    with _open(url, settings, limits) as answer:
        body = b"".join(_read_limited(answer, _PAGE_BYTES, url))
        page, kind = answer.geturl(), answer.headers.get_content_type()
    if kind.endswith("+json"):
        for file in json.loads(body)["files"]:
            address = urljoin(page, file["url"])
            yield _make_link(page, address, file["filename"], file.get("hashes"), bool(file.get("yanked")))
        return
    anchors = _Anchors()
    anchors.feed(body.decode("utf-8", "replace"))
    for href, yanked in anchors.found:
        address = urljoin(urljoin(page, anchors.base), href)
        if urlsplit(address).scheme in _SCHEMES:  # not mailto: and the like
            yield _make_link(page, address, unquote(urlsplit(address).path), yanked=yanked)


def _make_link(
    page: str, url: str, filename: str, hashes: Mapping[str, str] | None = None, yanked: bool = False
) -> PackageLink:
    address, fragment = urldefrag(url)
    scheme = urlsplit(address).scheme
    if scheme not in _SCHEMES or (scheme == "file" and urlsplit(page).scheme != "file"):
        raise ValueError(f"the page links to {strip_credentials(address)}, which is not allowed")
    if not hashes:
        name, _, value = fragment.partition("&")[0].partition("=")
        hashes = {name: value}
    algorithm = next((name for name in _ALGORITHMS if hashes.get(name)), None)
    basename = os.path.basename(filename.replace("\\", "/").replace("\0", ""))
    return PackageLink(basename, address, algorithm, hashes[algorithm] if algorithm else "", yanked)


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


def _open(url: str, settings: PipSettings, limits: ArchiveLimits) -> Any:  # noqa: ANN401 - urllib's responses share no type
    parts = urlsplit(url)
    login, _, host = parts.netloc.rpartition("@")
    request = urllib.request.Request(urlunsplit(parts._replace(netloc=host)), headers={"Accept": _ACCEPT})  # noqa: S310
    if not login and parts.scheme != "file":
        with suppress(OSError, NetrcParseError):
            if known := netrc(os.environ.get("NETRC") or None).authenticators(parts.hostname or ""):
                login = f"{known[0]}:{known[2]}"
    if login:
        secret = base64.b64encode(unquote(login).encode("utf-8")).decode("ascii")
        request.add_unredirected_header("Authorization", f"Basic {secret}")
    context = ssl.create_default_context(cafile=settings.cert)
    if parts.hostname in settings.trusted_hosts or host in settings.trusted_hosts:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    proxies = {"http": settings.proxy, "https": settings.proxy} if settings.proxy else None
    handlers = urllib.request.ProxyHandler(proxies), urllib.request.HTTPSHandler(context=context)
    opener = urllib.request.build_opener(*handlers)
    opener.handle_open.pop("ftp")  # type: ignore[attr-defined]  # not in typeshed; refuses redirects to FTP
    return opener.open(request, timeout=limits.http_seconds)


def _read_limited(stream: IO[bytes], allowed: int, name: str) -> Iterator[bytes]:
    left = allowed
    while chunk := stream.read(1 << 20):
        left -= len(chunk)
        if left < 0:
            hint = "use a smaller package"
            raise CorpusError(f"the download has more than {allowed:,} bytes", file=strip_credentials(name), hint=hint)
        yield chunk


def _pip_fingerprint() -> str:
    """Return a hash of pip's index variables and configuration files (listed by `pip config debug`)."""
    home = Path.home()
    shared = (os.environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")
    directories = [
        *(Path(directory) / "pip" for directory in shared),
        Path("/etc"),
        home / ".pip",
        Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "pip",
        home / "Library" / "Application Support" / "pip",
        Path(sys.prefix),
    ]
    files = [directory / "pip.conf" for directory in directories]
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
    name, version = parse_npm_package(request.spec.value)
    variables = sorted(item for item in os.environ.items() if _NPM_VARIABLE.fullmatch(item[0]))
    here = Path.cwd()
    named = [Path(value) for variable, value in variables if variable.lower() == "npm_config_userconfig"]
    files = [Path.home() / ".npmrc", *(directory / ".npmrc" for directory in (here, *here.parents)), *named]
    configured = _hash((f"{variable}={value}" for variable, value in variables), files)
    entry = request.trees.obtain(
        f"npm {name}@{version} {configured}",
        lambda work: pack(f"{name}@{version}", work, request.limits),
        refresh=not _NPM_EXACT.fullmatch(version),
    )
    return locate_tree(request, entry, built_in=True)


def parse_npm_package(value: str) -> tuple[str, str]:
    """Parse `name@version` or `@scope/name@version`; raise CorpusError if either part is missing or invalid."""
    name, at, version = value[1:].partition("@")
    name = value[:1] + name
    hint = "use a package and a version, such as express@5.1.0"
    if not at or not _NPM_NAME.fullmatch(name):
        raise CorpusError(f"expected NAME@VERSION, got {value!r}", hint=hint)
    if not _NPM_VERSION.fullmatch(version):
        raise CorpusError(f"invalid version {version!r}", hint=hint)
    return name, version


def pack(package: str, work: Path, limits: ArchiveLimits) -> FetchedTree:
    into = work / "tarball"
    into.mkdir()
    options = ("--ignore-scripts", "--json", f"--pack-destination={into}")
    done = run_fetch_tool(["npm", "pack", *options, "--", package], tool="npm", seconds=limits.tool_seconds)
    if done.code:
        output = done.err + done.out.decode("utf-8", "replace")
        if re.search(r"\bEINTEGRITY\b", output):
            raise CorpusError(
                f"the tarball of {package} does not match the hash in the registry",
                hint="try again; if that fails, report the file to the registry",
            )
        if re.search(r"\b(E404|ETARGET|ENOVERSIONS)\b", output):
            raise CorpusError(f"npm has no {package}", hint=f"see `npm view {package.rpartition('@')[0]} versions`")
        raise SetupError(
            f"npm pack {package} failed: {done.last_error_line}", hint="check the network and `npm config list`"
        )
    try:
        (tarball,) = into.glob("*.tgz")
        packed = json.loads(done.out)
        if "filename" not in packed:  # a list, or an object by package name
            (packed,) = packed.values() if isinstance(packed, dict) else packed
    except ValueError:
        hint = f"run `npm pack {package}` and check its output"
        raise SetupError(f"expected one tarball and JSON from `npm pack {package}`", hint=hint) from None
    version = str(packed.get("version") or package.rpartition("@")[2])
    note = f"npm:{package} is {packed.get('name')}@{version}"
    return unpack(tarball, work / "tree", limits=limits, revision=version, notes=(note,))
