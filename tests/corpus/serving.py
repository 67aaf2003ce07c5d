"""A package index and an npm registry on 127.0.0.1, and packages that leave a mark when their code runs."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.corpus.conftest import tar_of, zip_of


@dataclass
class Site:
    """What is served: path -> (content type, body); and what was asked for."""

    pages: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    logins: list[str | None] = field(default_factory=list)
    url: str = ""


@contextmanager
def serve() -> Iterator[Site]:
    """Serve a site until the end of the block."""
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.path)
            site.logins.append(self.headers.get("Authorization"))
            kind, body = site.pages.get(self.path.replace("%2f", "/"), ("", b""))
            self.send_response(200 if kind else 404)
            self.send_header("Content-Type", kind or "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def sdist(folder: Path, name: str, version: str, marker: Path, extra: list[tuple[str, bytes]] | None = None) -> Path:
    """Make an sdist whose setup.py leaves a mark when it runs."""
    top = f"{name}-{version}"
    setup = (
        f"open({str(marker)!r}, 'w').close()\nfrom setuptools import setup\nsetup(name={name!r}, version={version!r})\n"
    )
    members = [
        (f"{top}/setup.py", setup.encode()),
        (f"{top}/PKG-INFO", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()),
        (f"{top}/{name}.py", b"def sdist(): ...\n"),
        (f"{top}/tests/test_{name}.py", b"def test(): ...\n"),
        *(extra or []),
    ]
    return tar_of(folder / f"{top}.tar.gz", [*members])


def wheel(folder: Path, name: str, version: str, extra: list[tuple[str, bytes]] | None = None) -> Path:
    """Make a wheel."""
    info = f"{name}-{version}.dist-info"
    members = [
        (f"{name}.py", b"def wheel(): ...\n"),
        (f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()),
        (f"{info}/WHEEL", b"Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
        (f"{info}/RECORD", b""),
        *(extra or []),
    ]
    return zip_of(folder / f"{name}-{version}-py3-none-any.whl", [*members])


def publish_html(site: Site, name: str, files: list[Path], *, wrong: bool = False, hashes: bool = True) -> None:
    """Offer files on a page of PEP 503."""
    anchors = []
    for file in files:
        sha = hashlib.sha256(b"wrong" if wrong else file.read_bytes()).hexdigest()
        anchors.append(f'<a href="/files/{file.name}{"#sha256=" + sha if hashes else ""}">{file.name}</a>')
        site.pages[f"/files/{file.name}"] = ("application/octet-stream", file.read_bytes())
    site.pages[f"/simple/{name}/"] = ("text/html", f"<html><body>{''.join(anchors)}</body></html>".encode())


def publish_json(site: Site, name: str, files: list[Path], *, wrong: bool = False) -> None:
    """Offer files on a page of PEP 691."""
    listed = []
    for file in files:
        sha = hashlib.sha256(b"wrong" if wrong else file.read_bytes()).hexdigest()
        listed.append({"filename": file.name, "url": f"../../files/{file.name}", "hashes": {"sha256": sha}})
        site.pages[f"/files/{file.name}"] = ("application/octet-stream", file.read_bytes())
    body = json.dumps({"meta": {"api-version": "1.0"}, "name": name, "files": listed}).encode()
    site.pages[f"/simple/{name}/"] = ("application/vnd.pypi.simple.v1+json", body)


def npm_tarball(
    folder: Path, name: str, version: str, marker: Path, extra: list[tuple[str, bytes]] | None = None
) -> Path:
    """Make an npm tarball with a script at every occasion, each of which leaves a mark."""
    occasions = ("prepack", "prepare", "postpack", "preinstall", "install", "postinstall")
    package = {"name": name, "version": version, "scripts": dict.fromkeys(occasions, f"touch {marker}")}
    members = [("package/package.json", json.dumps(package).encode()), ("package/index.js", b"module.exports = 1\n")]
    return tar_of(folder / f"{version}.tgz", [*members, *(extra or [])])


def publish_npm(site: Site, name: str, tarball: Path, version: str, *, wrong: bool = False) -> None:
    """Offer a tarball in a registry."""
    sha = hashlib.sha512(b"wrong" if wrong else tarball.read_bytes()).digest()
    dist = {"tarball": f"{site.url}/t/{tarball.name}", "integrity": "sha512-" + base64.b64encode(sha).decode()}
    manifest = {"name": name, "version": version, "dist": dist}
    packument = {"name": name, "dist-tags": {"latest": version}, "versions": {version: manifest}}
    site.pages[f"/{name}"] = ("application/json", json.dumps(packument).encode())
    site.pages[f"/t/{tarball.name}"] = ("application/octet-stream", tarball.read_bytes())
