from __future__ import annotations

from pathlib import Path

import pytest

from assay.corpus.packages import parse_package
from assay.errors import CorpusError, SetupError
from assay.types import Corpus
from tests.corpus.conftest import everything_below, paths
from tests.corpus.pypi.conftest import open_package
from tests.corpus.serving import Site, publish_html, publish_json, sdist, serve, wheel


def _real(tmp_path: Path, text: str) -> Corpus:
    """Open a package of the machine's own index; skip loudly when it cannot be reached."""
    try:
        return open_package(tmp_path, text)
    except SetupError as error:
        pytest.skip(f"NOT TESTED against a real index, which cannot be reached: {error}")


@pytest.mark.nightly
def test_pypi_wheel_of_the_real_index(tmp_path: Path) -> None:
    corpus = _real(tmp_path, "pypi:six==1.16.0")
    assert "six.py" in paths(corpus)
    assert any("wheel six-1.16.0-py2.py3-none-any.whl" in note for note in corpus.notes)
    assert corpus.revision == "1.16.0"


@pytest.mark.nightly
def test_pypi_sdist_of_the_real_index(tmp_path: Path) -> None:
    corpus = _real(tmp_path, "pypi:Six==1.16#sdist")
    assert {"six.py", "test_six.py", "setup.py"} <= set(paths(corpus))
    assert any("sdist six-1.16.0.tar.gz" in note for note in corpus.notes)


@pytest.mark.parametrize("publish", [publish_html, pytest.param(publish_json, marks=pytest.mark.nightly)])
def test_pypi_prefers_the_wheel_and_gives_the_sdist_when_asked(publish: object, site: Site, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    files = [sdist(tmp_path, "marked", "1.0", marker), wheel(tmp_path, "marked", "1.0")]
    publish(site, "marked", files)  # type: ignore[operator]
    assert "tests/test_marked.py" not in paths(open_package(tmp_path, "pypi:marked==1.0"))
    assert "tests/test_marked.py" in paths(open_package(tmp_path, "pypi:marked==1.0#sdist"))
    assert not marker.exists()


def test_pypi_falls_back_to_the_sdist_without_running_it(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = tmp_path / "ran"
    publish_html(site, "marked", [sdist(tmp_path, "marked", "1.0", marker)])
    corpus = open_package(tmp_path, "pypi:marked==1.0")
    assert "setup.py" in paths(corpus)
    assert any("no wheel" in note for note in corpus.notes)
    monkeypatch.setenv("PIP_NO_BINARY", ":all:")
    publish_html(site, "other", [sdist(tmp_path, "other", "1.0", marker), wheel(tmp_path, "other", "1.0")])
    assert paths(open_package(tmp_path, "pypi:other==1.0"))[-1] == "other.py"
    assert not marker.exists()


@pytest.mark.parametrize(
    ("form", "publish"),
    [  # pip checks wheels, Assay checks sdists
        ("wheel", publish_html),
        ("sdist", publish_json),
        pytest.param("wheel", publish_json, marks=pytest.mark.nightly),
        pytest.param("sdist", publish_html, marks=pytest.mark.nightly),
    ],
)
def test_pypi_refuses_a_file_with_the_wrong_hash(form: str, publish: object, site: Site, tmp_path: Path) -> None:
    made = wheel(tmp_path, "bad", "1.0") if form == "wheel" else sdist(tmp_path, "bad", "1.0", tmp_path / "ran")
    publish(site, "bad", [made], wrong=True)  # type: ignore[operator]
    with pytest.raises(CorpusError, match="hash|sha256") as caught:
        open_package(tmp_path, f"pypi:bad==1.0#{form}")
    assert caught.value.hint
    assert not (tmp_path / "cache" / "trees").exists()
    assert not list((tmp_path / "cache" / ".tmp").iterdir())


def test_pypi_says_when_there_is_no_hash_to_check(site: Site, tmp_path: Path) -> None:
    publish_html(site, "bare", [sdist(tmp_path, "bare", "1.0", tmp_path / "ran")], hashes=False)
    assert any("not verified" in note for note in open_package(tmp_path, "pypi:bare==1.0#sdist").notes)


@pytest.mark.parametrize("form", [pytest.param("wheel", marks=pytest.mark.nightly), "sdist"])
def test_pypi_archive_that_climbs_out_leaves_nothing(form: str, site: Site, tmp_path: Path) -> None:
    evil = [("../../../evil.py", b"x")]
    made = (
        wheel(tmp_path, "evil", "1.0", evil)
        if form == "wheel"
        else sdist(tmp_path, "evil", "1.0", tmp_path / "r", evil)
    )
    publish_html(site, "evil", [made])
    with pytest.raises(CorpusError, match="outside the archive") as caught:
        open_package(tmp_path, f"pypi:evil==1.0#{form}")
    assert caught.value.file == made.name
    assert "evil.py" in caught.value.message
    assert {path.suffix for path in everything_below(tmp_path / "cache")} <= {".lock"}


def test_pypi_is_fetched_once_and_works_offline_then(site: Site, tmp_path: Path) -> None:
    publish_html(site, "once", [sdist(tmp_path, "once", "1.0", tmp_path / "ran")])
    first = open_package(tmp_path, "pypi:once==1.0#sdist")
    asked = len(site.asked)
    site.pages.clear()
    assert open_package(tmp_path, "pypi:once==1.0#sdist") == first
    assert len(site.asked) == asked


def test_pypi_other_index_does_not_get_the_files_of_this_one(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish_html(site, "twin", [sdist(tmp_path, "twin", "1.0", tmp_path / "ran")])
    open_package(tmp_path, "pypi:twin==1.0#sdist")
    with serve() as other:
        monkeypatch.setenv("PIP_INDEX_URL", f"{other.url}/simple")
        with pytest.raises(CorpusError, match="no package 'twin'"):
            open_package(tmp_path, "pypi:twin==1.0#sdist")


def test_pypi_says_what_is_missing(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish_html(
        site,
        "here",
        [sdist(tmp_path, "here", "1.0", tmp_path / "ran"), sdist(tmp_path, "here", "1.10", tmp_path / "ran")],
    )
    for text, words in [
        ("pypi:absent==1.0#sdist", "no package 'absent'"),
        ("pypi:here==3.0#sdist", "no version 3.0"),
        ("pypi:here==1.0#wheel", "no wheel"),
    ]:
        with pytest.raises(CorpusError, match=words) as caught:
            open_package(tmp_path, text)
        assert caught.value.hint
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    with pytest.raises(SetupError, match="cannot fetch"):
        open_package(tmp_path, "pypi:here==1.0")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(SetupError, match="pip is not installed") as failure:
        open_package(tmp_path, "pypi:here==1.0")
    assert failure.value.hint


@pytest.mark.parametrize(
    "value", ["flask", "flask==", "flask==one", "flask>=1", "-r==1", "a b==1", "flask==1#egg", "../x==1", "flask==1.*"]
)
def test_pypi_refuses_what_is_no_version(value: str, tmp_path: Path) -> None:
    with pytest.raises(CorpusError) as caught:
        open_package(tmp_path, f"pypi:{value}")
    assert "flask==3.1.0" in (caught.value.hint or "")


def test_pypi_spec_allows_spaces_and_any_case() -> None:
    package = parse_package("Foo._Bar == 1.0 #sdist".replace(" #", "#"))
    assert (package.name, package.text, package.form) == ("foo-bar", "1.0", "sdist")
