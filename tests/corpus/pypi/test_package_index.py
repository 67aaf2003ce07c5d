from __future__ import annotations

from pathlib import Path

import pytest

from assay.errors import CorpusError, SetupError
from tests.corpus.conftest import everything_below
from tests.corpus.pypi.conftest import open_package
from tests.corpus.serving import Site, publish_html, sdist


def test_index_reads_files_extra_indexes_and_find_links(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "links").mkdir()
    (tmp_path / "files").mkdir()
    sdist(tmp_path / "links", "linked", "1.0", tmp_path / "ran")
    made = sdist(tmp_path / "files", "local_name", "2.0", tmp_path / "ran")
    page = tmp_path / "simple" / "local-name" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text(f'<a href="../../files/{made.name}">{made.name}</a>')
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"file://{tmp_path}/simple")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "links"))
    assert open_package(tmp_path, "pypi:linked==1.0#sdist").files
    assert open_package(tmp_path, "pypi:Local.Name==2#sdist").files
    assert not (tmp_path / "ran").exists()


def test_index_sends_credentials_and_never_shows_them(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish_html(site, "private", [sdist(tmp_path, "private", "1.0", tmp_path / "ran")])
    secret = site.url.replace("http://", "http://user:s%40cret@")
    monkeypatch.setenv("PIP_INDEX_URL", f"{secret}/simple")
    assert open_package(tmp_path, "pypi:private==1.0#sdist").files
    assert site.logins[0] == "Basic dXNlcjpzQGNyZXQ="
    with pytest.raises(CorpusError) as caught:
        open_package(tmp_path, "pypi:absent==1.0#sdist")
    assert "cret" not in str(caught.value)
    assert not any(b"cret@" in path.read_bytes() for path in everything_below(tmp_path / "cache"))


def test_index_page_cannot_point_at_files_of_this_machine(site: Site, tmp_path: Path) -> None:
    made = sdist(tmp_path, "sly", "1.0", tmp_path / "ran")
    site.pages["/simple/sly/"] = (
        "text/html",
        f'<a href="mailto:x@y">me</a><a href="{made.as_uri()}">{made.name}</a>'.encode(),
    )
    with pytest.raises(SetupError, match="links to"):
        open_package(tmp_path, "pypi:sly==1.0#sdist")
