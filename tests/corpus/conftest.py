"""Repositories, archives and indexes made on the spot."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from assay.corpus import open_corpus
from assay.types import Corpus, CorpusSpec

Opener = Callable[..., Corpus]


@pytest.fixture(autouse=True)
def _own_caches(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep every cache out of $HOME, and git away from the machine's own settings."""
    caches = tmp_path_factory.mktemp("caches")
    for name, value in {
        "ASSAY_CACHE_DIR": str(caches / "assay"),
        "PIP_CACHE_DIR": str(caches / "pip"),
        "npm_config_cache": str(caches / "npm"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.org",
    }.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def opened(tmp_path: Path) -> Opener:
    """Open a folder, with globs and the like as keywords."""

    def _open(folder: Path, **options: object) -> Corpus:
        return open_corpus(CorpusSpec("path", str(folder), **options), cache=tmp_path / "cache")  # type: ignore[arg-type]

    return _open


def write(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files, making folders on the way."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    root.mkdir(parents=True, exist_ok=True)
    return root


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder."""
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def repository(folder: Path, files: Mapping[str, str | bytes], *, force: bool = False) -> str:
    """Make a repository with one commit; its hash is returned."""
    write(folder, files)
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", *(["--force"] if force else []), "--all", ".")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "one")
    return git(folder, "rev-parse", "HEAD")


def paths(corpus: Corpus) -> list[str]:
    """Name the files of a corpus."""
    return [file.path for file in corpus.files]


def reasons(corpus: Corpus) -> dict[str, str]:
    """Say what was left out and why."""
    return {skipped.path: skipped.reason for skipped in corpus.skipped}


def tar_of(path: Path, members: list[tarfile.TarInfo | tuple[str, bytes]], mode: str = "w:gz") -> Path:
    """Make a tar of files and of whatever else a TarInfo can say."""
    with tarfile.open(path, mode) as tar:  # type: ignore[call-overload]
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                tar.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                tar.addfile(info, io.BytesIO(member[1]))
    return path


def zip_of(path: Path, members: list[tuple[str | zipfile.ZipInfo, bytes]]) -> Path:
    """Make a zip."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, content in members:
            zipped.writestr(name, content)
    return path


def everything_below(folder: Path) -> Iterator[Path]:
    """List a folder, for tests that nothing was left behind."""
    return (path for path in sorted(folder.rglob("*")) if not path.is_dir())
