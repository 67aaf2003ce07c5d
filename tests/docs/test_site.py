"""The documentation site builds without a warning and asks no other host for anything."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.docs.running import DOCS, pages
from tests.sharing import shared_folder

ROOT = DOCS.parent
#: What a browser fetches by itself, as opposed to a link that a reader may follow.
FETCHED = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc=[\"']?([^\"'\s>]+)"
    r"|<link\b(?=[^>]*\brel=[\"']?(?:stylesheet|icon|preload|preconnect|dns-prefetch|prefetch|manifest))[^>]*\bhref=[\"']?([^\"'\s>]+)"
)
ELSEWHERE = re.compile(r"^(?:[a-z]+:)?//", re.I)
#: What runs the search of a page that was opened from a disk.
SHIM = "images/iframe-worker.js"
LARGEST_PICTURE = 200_000  # bytes: pages are read over slow lines too


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site, or skip and say why."""
    if importlib.util.find_spec("material") is None:
        pytest.skip("the site was NOT built: mkdocs-material is not installed (`make test` installs it)")
    return shared_folder(tmp_path_factory, "site", _build)


def _build(folder: Path) -> None:
    # A process of its own: mkdocs warns of its own future on import, and warnings are errors here.
    command = [sys.executable, "-m", "mkdocs", "--quiet", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.nightly
def test_site_has_every_page(site):
    missing = [page for page in pages() if not (site / page).with_suffix(".html").exists()]
    assert missing == []


@pytest.mark.nightly
def test_site_asks_no_other_host(site):
    fetched = {
        (path.name, address)
        for path in site.rglob("*.html")
        for found in FETCHED.findall(path.read_text("utf-8"))
        for address in found
        if address
    }
    assert len(fetched) > len(pages())
    assert {one for one in fetched if ELSEWHERE.match(one[1])} == set()
    styles = " ".join(path.read_text("utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^)\"']+", styles) == []


@pytest.mark.nightly
def test_pages_from_a_disk_find_what_they_ask_for(site):
    lost = []
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        asked = {address for found in FETCHED.findall(text) for address in found if address}
        asked |= set(re.findall(r"<a\b[^>]*\bhref=[\"']?([^\"'\s>]+)", text))
        inside = [re.split(r"[?#]", one)[0] for one in asked if not re.match(r"[a-z]+:", one)]
        assert f"{'../' * (len(page.relative_to(site).parts) - 1)}{SHIM}" in inside
        lost += [(page.name, one) for one in inside if one.startswith("/") or not (page.parent / one).exists()]
    assert lost == []


@pytest.mark.nightly
def test_search_has_its_index_as_a_script(site):
    index = (site / "search/search_index.js").read_text("utf-8")
    assert index.startswith("var __index = {")
    assert "quick-start.html" in index
    assert "IFrameWorker" in (site / SHIM).read_text("utf-8")


def test_every_page_is_in_the_navigation():
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert set(re.findall(r": ([\w/-]+\.md)$", text, flags=re.M)) == set(pages())
    assert yaml.safe_load(text)["theme"]["font"] is False
    assert yaml.safe_load(text)["plugins"] == ["search", "offline"]
    assert yaml.safe_load(text)["extra"]["polyfills"] == [SHIM]


def test_pictures_are_small_and_shown():
    shown = {name for page in pages() for name in re.findall(r"images/([\w-]+\.png)", (DOCS / page).read_text("utf-8"))}
    kept = {path.name: path.stat().st_size for path in (DOCS / "images").glob("*.png")}
    assert shown == set(kept)
    assert {name: size for name, size in kept.items() if size >= LARGEST_PICTURE} == {}
