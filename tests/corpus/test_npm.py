from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.corpus import open_corpus, parse_spec
from assay.corpus.packages import pack, parse_npm_package
from assay.corpus.unpack import ArchiveLimits
from assay.errors import CorpusError, SetupError
from assay.types import Corpus
from tests.corpus.conftest import everything_below, paths, write
from tests.corpus.serving import Site, npm_tarball, publish_npm, serve

needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="NOT TESTED: npm is not installed")


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Site]:
    """Serve an empty registry, and point npm at it alone."""
    with serve() as served:
        monkeypatch.setenv("npm_config_registry", served.url)
        monkeypatch.setenv("npm_config_userconfig", "/dev/null")
        monkeypatch.setenv("npm_config_fetch_retries", "0")
        yield served


def _open(tmp_path: Path, text: str) -> Corpus:
    return open_corpus(parse_spec(text), cache=tmp_path / "cache")


@pytest.mark.nightly
@needs_npm
def test_npm_package_of_the_real_registry(tmp_path: Path) -> None:
    try:
        corpus = _open(tmp_path, "npm:is-number@7.0.0")
    except SetupError as error:
        pytest.skip(f"NOT TESTED against a real registry, which cannot be reached: {error}")
    assert paths(corpus) == ["LICENSE", "README.md", "index.js", "package.json"]
    assert corpus.revision == "7.0.0"


@needs_npm
def test_npm_brings_a_package_without_running_it_and_only_once(site: Site, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    publish_npm(site, "@scope/marked", npm_tarball(tmp_path, "@scope/marked", "1.2.3", marker), "1.2.3")
    corpus = _open(tmp_path, "npm:@scope/marked@1.2.3")
    assert (paths(corpus), corpus.revision) == (["index.js", "package.json"], "1.2.3")
    site.pages.clear()
    assert _open(tmp_path, "npm:@scope/marked@1.2.3") == corpus
    assert not marker.exists()


@needs_npm
def test_npm_range_is_resolved_and_said(site: Site, tmp_path: Path) -> None:
    publish_npm(site, "ranged", npm_tarball(tmp_path, "ranged", "1.2.3", tmp_path / "ran"), "1.2.3")
    corpus = _open(tmp_path, "npm:ranged@1")
    assert corpus.revision == "1.2.3"
    assert any("ranged@1.2.3" in note for note in corpus.notes)


def _folder_with_scripts(tmp_path: Path) -> tuple[Path, Path]:
    """Write a package and return it with the file that its scripts make."""
    marker = tmp_path / "ran"
    scripts = {"prepack": f"touch {marker}", "postinstall": f"touch {marker}", "prepare": f"touch {marker}"}
    folder = write(
        tmp_path / "p", {"package.json": json.dumps({"name": "p", "version": "1.0.0", "scripts": scripts}), "i.js": "1"}
    )
    return folder, marker


@needs_npm
def test_npm_pack_of_a_folder_runs_no_script(tmp_path: Path) -> None:
    folder, marker = _folder_with_scripts(tmp_path)
    (tmp_path / "work").mkdir()
    pack(str(folder), tmp_path / "work", ArchiveLimits())
    assert not marker.exists()


@pytest.mark.nightly
@needs_npm
def test_npm_pack_of_a_folder_runs_scripts_unless_told_otherwise(tmp_path: Path) -> None:
    folder, marker = _folder_with_scripts(tmp_path)
    subprocess.run(["npm", "pack", "--silent", str(folder)], cwd=tmp_path, check=True, capture_output=True)
    assert marker.exists(), "the control: without --ignore-scripts the script runs"


@needs_npm
def test_npm_refuses_a_tarball_with_the_wrong_hash(site: Site, tmp_path: Path) -> None:
    publish_npm(site, "bad", npm_tarball(tmp_path, "bad", "1.0.0", tmp_path / "ran"), "1.0.0", wrong=True)
    with pytest.raises(CorpusError, match="hash") as caught:
        _open(tmp_path, "npm:bad@1.0.0")
    assert caught.value.hint
    assert {path.suffix for path in everything_below(tmp_path / "cache")} <= {".lock"}


@pytest.mark.nightly
@needs_npm
def test_npm_tarball_that_climbs_out_leaves_nothing(site: Site, tmp_path: Path) -> None:
    made = npm_tarball(tmp_path, "evil", "1.0.0", tmp_path / "ran", [("package/../../../evil.js", b"x")])
    publish_npm(site, "evil", made, "1.0.0")
    with pytest.raises(CorpusError, match="outside the archive"):
        _open(tmp_path, "npm:evil@1.0.0")
    assert {path.suffix for path in everything_below(tmp_path / "cache")} <= {".lock"}


@needs_npm
def test_npm_says_what_is_missing(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish_npm(site, "here", npm_tarball(tmp_path, "here", "1.0.0", tmp_path / "ran"), "1.0.0")
    for text in ("npm:absent@1.0.0", "npm:here@9.9.9"):
        with pytest.raises(CorpusError, match="npm has no") as caught:
            _open(tmp_path, text)
        assert caught.value.hint
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9")
    with pytest.raises(SetupError, match="failed"):
        _open(tmp_path, "npm:here@1.0.0")
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(SetupError, match="npm is not installed") as failure:
        _open(tmp_path, "npm:here@1.0.1")
    assert failure.value.hint


@pytest.mark.parametrize(
    "value",
    [
        "express",
        "express@",
        "@scope/x",
        "../x@1",
        "file:x@1.0.0",
        "x@file:../y",
        "x@npm:y",
        "x@https://h/t.tgz",
        "-x@1",
        "x@1 y",
        "a/b@1",
    ],
)
def test_npm_refuses_what_is_no_version_of_a_package(value: str, tmp_path: Path) -> None:
    with pytest.raises(CorpusError) as caught:
        _open(tmp_path, f"npm:{value}")
    assert "express@5.1.0" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("value", "name", "version"),
    [
        ("express@5.1.0", "express", "5.1.0"),
        ("@s/x@1", "@s/x", "1"),
        ("x@^1.2.0-rc.1", "x", "^1.2.0-rc.1"),
        ("x@next", "x", "next"),
    ],
)
def test_npm_package_is_read(value: str, name: str, version: str) -> None:
    assert parse_npm_package(value) == (name, version)
