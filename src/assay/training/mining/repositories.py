"""Which git repositories lie under a folder, and what is in them. Nothing is checked out, fetched or run."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from assay.corpus.config import Limits
from assay.corpus.git.command import git, git_stream
from assay.corpus.urls import without_credentials
from assay.errors import CorpusError

_DEPTH: Final = 4  # folders below the given one: FOLDER/GROUP/OWNER+NAME/repo/.git
_UNDER_WAY: Final = ".part"  # a download that has not ended
_PART: Final = re.compile(r"[\w.+~-]+")


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository at its newest commit."""

    name: str  # owner/name where that is known
    url: str  # "" where it is not known
    commit: str
    folder: Path  # its git directory
    bytes: int  # of its packs

    @property
    def file_name(self) -> str:
        """Name files after it: `owner+name`."""
        return re.sub(r"[^\w.+-]", "_", self.name.replace("/", "+"))


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a commit."""

    path: str
    oid: str
    size: int
    script: bool = False  # may be run


def find_repositories(folder: Path) -> tuple[Repository, ...]:
    """Find the repositories under a folder that have a commit, by name; of two of one name the first path counts."""
    if not folder.is_dir():
        raise CorpusError("there is no such folder", file=folder, hint="name a folder that holds git repositories")
    found: dict[str, Repository] = {}
    for place in _git_folders(folder, _DEPTH):
        repository = _repository(place, folder)
        if repository is not None:
            found.setdefault(repository.name, repository)
    return tuple(found[name] for name in sorted(found))


def open_repository(folder: Path) -> Repository:
    """Open one repository: a checkout, one of its further work trees, or a bare one."""
    place = _git_file(folder) or next(_git_folders(folder, 0), None) if folder.is_dir() else None
    found = _repository(place, folder.parent) if place else None
    if found is None:
        problem = "this is no git repository" if place is None else "this repository has no commit yet"
        raise CorpusError(problem, file=folder, hint="name the folder of a git repository with some history")
    return found


def repository_name(address: str) -> str | None:
    """Read a URL, `user@host:owner/name` or `owner/name` as `owner/name`; None for what is none of them."""
    plain = re.sub(r"^\w+://", "", address.strip()).removesuffix("/").removesuffix(".git").rpartition("@")[2]
    parts = [part for part in re.split("[/:]", plain) if part]
    return "/".join(parts[-2:]) if len(parts) > 1 and all(map(_PART.fullmatch, parts)) else None


def list_files(repository: Repository) -> tuple[Entry, ...]:
    """List the files of the commit, by path; links, submodules and files whose content is not here are none."""
    listed = _git(repository.folder, "ls-tree", "-r", "-l", "-z", "--full-tree", repository.commit)
    if listed is None:
        raise CorpusError("git cannot list its files", file=repository.folder, hint="run `git fsck` on it")
    return tuple(entry for line in listed.split(b"\0") if line and (entry := _entry(line)) is not None)


def read_files(repository: Repository, entries: Sequence[Entry]) -> Iterator[tuple[Entry, bytes]]:
    """Read files in turn out of one git process; one whose content is not here is left out."""
    with tempfile.TemporaryFile() as names:
        names.write("".join(f"{entry.oid}\n" for entry in entries).encode("ascii"))
        names.seek(0)
        with git_stream("--git-dir=.", "cat-file", "--batch", cwd=repository.folder, stdin=names) as stream:
            for entry in entries:
                data = _blob(stream)
                if data is not None:
                    yield entry, data


def _git_folders(folder: Path, depth: int) -> Iterator[Path]:
    """Walk down until a folder is a repository; what lies in one belongs to it."""
    if (folder / ".git" / "objects").is_dir():
        yield folder / ".git"
    elif (folder / "objects").is_dir() and (folder / "HEAD").is_file():
        yield folder
    elif depth:
        for child in sorted(folder.iterdir()):
            if child.is_dir() and child.suffix != _UNDER_WAY:
                yield from _git_folders(child, depth - 1)


def _git_file(folder: Path) -> Path | None:
    """Follow the file that a work tree or a submodule has in place of its git directory."""
    file = folder / ".git"
    text = file.read_text(encoding="utf-8", errors="surrogateescape") if file.is_file() else ""
    return (folder / text.removeprefix("gitdir:").strip()).resolve() if text.startswith("gitdir:") else None


def _repository(place: Path, top: Path) -> Repository | None:
    """Name a repository by its remote, else by its folder; None for one without a commit."""
    commit = _git(place, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if commit is None:
        return None
    remote = _remote(place) if (place / "config").is_file() else ""
    known = repository_name(remote)
    name, url = (known, without_credentials(remote)) if known else _named(place, top)
    size = sum(file.stat().st_size for file in (place / "objects").rglob("*") if file.is_file())
    return Repository(name, url, commit.decode("ascii").strip(), place, size)


def _remote(place: Path) -> str:
    """Read where a repository was cloned from."""
    return (_git(place, "config", "--get", "remote.origin.url") or b"").decode("utf-8", "replace").strip()


def _named(place: Path, top: Path) -> tuple[str, str]:
    """Name a repository without a remote: `OWNER+NAME` is how mirrors of GitHub are named."""
    folder = place.parent if place.name == ".git" else place
    if folder.name == "repo" and folder != top:
        folder = folder.parent
    owner, plus, name = folder.name.removesuffix(".git").partition("+")
    return (f"{owner}/{name}", f"https://github.com/{owner}/{name}") if plus and owner and name else (owner, "")


def _entry(line: bytes) -> Entry | None:
    """Read a line of `git ls-tree -l`: mode, kind, object, size, path."""
    about, _, path = line.partition(b"\t")
    mode, _, oid, size = about.split()
    if mode not in (b"100644", b"100755") or not size.isdigit():
        return None
    return Entry(path.decode("utf-8", "surrogateescape"), oid.decode("ascii"), int(size), mode == b"100755")


def _blob(stream: IO[bytes]) -> bytes | None:
    """Read one answer of `git cat-file --batch`: `<oid> blob <size>`, the bytes, a newline."""
    header = stream.readline().split()
    if len(header) != 3 or not header[2].isdigit():
        return None
    data = stream.read(int(header[2]))
    stream.read(1)
    return data if header[1] == b"blob" else None


def _git(folder: Path, *arguments: str) -> bytes | None:
    """Ask git about a repository; None when it has no answer."""
    answer = git("--git-dir=.", *arguments, cwd=folder, limits=Limits())
    return None if answer.code else answer.out
