"""Which git repositories lie under a folder, and what is in them. Nothing is checked out, fetched or run."""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Final

from assay.corpus.config import ArchiveLimits
from assay.corpus.git import git, git_stream
from assay.corpus.languages import detect
from assay.corpus.spec import without_credentials
from assay.errors import CorpusError

#: Licences that ask for no more than a notice.
PERMISSIVE: Final = frozenset(
    {
        "0BSD",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "BSL-1.0",
        "CC0-1.0",
        "ISC",
        "MIT",
        "MIT-0",
        "Unlicense",
        "Zlib",
    }
)
_FILE: Final = re.compile(
    r"(?:[\w.]+[-_])?(?:un)?licen[cs]e(?:[-_.][\w.+-]*)?|copying(?:[-_.][\w.+-]*)?|(?:.*/)?licenses/[\w.+-]+\.txt",
    re.IGNORECASE,
)
#: Licences of what a project uses or shows, not of its code.
_OF_OTHERS: Final = re.compile(r"depend|3rd|third|binary|vendor|logo|font|asset|docs?\b|images?\b", re.IGNORECASE)
_NEAR: Final = 2  # how far from the root a licence may lie: in one folder
_MIT: Final = "permission is hereby granted free of charge to any person obtaining a copy"
_MIT_NOTICE: Final = "permission notice shall be included in all copies"
_BSD: Final = "with or without modification are permitted provided that the following conditions are met"
#: SPDX -> phrases that all stand in its text, as `plain_text` writes it.
_TEXTS: Final[Mapping[str, tuple[str, ...]]] = {
    "AGPL-3.0": ("gnu affero general public license version 3",),
    "LGPL-3.0": ("gnu lesser general public license version 3",),
    "LGPL-2.1": ("gnu lesser general public license version 2 1",),
    "GPL-3.0": ("gnu general public license version 3",),
    "GPL-2.0": ("gnu general public license version 2",),
    "MPL-2.0": ("mozilla public license version 2 0",),
    "EPL": ("eclipse public license",),
    "Artistic": ("artistic license",),
    "SSPL": ("server side public license",),
    "BUSL-1.1": ("business source license",),
    "Elastic-2.0": ("elastic license 2 0",),
    "Commons-Clause": ("commons clause",),
    "Apache-2.0": ("apache license version 2 0", "grant of copyright license", "grant of patent license"),
    "BSL-1.0": ("boost software license version 1 0", "permission is hereby granted free of charge"),
    "CC0-1.0": ("cc0 1 0 universal", "waive"),
    "Unlicense": ("this is free and unencumbered software released into the public domain",),
    "BSD-4-Clause": (_BSD, "all advertising materials mentioning features"),
    "BSD-3-Clause": (_BSD, "may be used to endorse or promote products", "neither the name"),
    "BSD-3-Clause ": (_BSD, "may not be used to endorse or promote products"),
    "BSD-2-Clause": (_BSD, "redistributions in binary form must reproduce", "this software is provided"),
    "Zlib": ("this software is provided as is", "altered source versions must be plainly marked"),
    "MIT": (_MIT, _MIT_NOTICE, "the software is provided as is"),
    "MIT-0": (_MIT, "without limitation the rights to use copy modify", "the software is provided as is"),
    "ISC": (
        "permission to use copy modify and or distribute this software for any purpose with or without fee",
        "provided that the above copyright notice and this permission notice appear in all copies",
    ),
    "ISC ": (
        "permission to use copy modify and distribute this software for any purpose with or without fee",
        "provided that the above copyright notice and this permission notice appear in all copies",
    ),
    "0BSD": (
        "permission to use copy modify and or distribute this software for any purpose with or without fee is hereby "
        "granted",
        "the software is provided as is",
    ),
}
#: How a text that points at licences which lie elsewhere names them.
_NAMED: Final[Mapping[str, str]] = {
    "MIT": r"\bmit(?: license)?\b",
    "Apache-2.0": r"\bapache(?: license)?(?: version)? 2 0\b",
    "Unlicense": r"\bunlicense\b",
    "BSD-3-Clause": r"\bbsd 3 clause\b",
    "BSD-2-Clause": r"\bbsd 2 clause\b",
    "ISC": r"\bisc license\b",
    "Zlib": r"\bzlib license\b",
    "BSL-1.0": r"\bboost software license\b",
    "GPL": r"\b(?:a?gpl|lgpl|gnu \w* ?general public license)\b",
    "MPL-2.0": r"\b(?:mpl|mozilla public license)\b",
}
#: Says at the top that one may choose: a dual licence, or `MIT or Apache 2.0` and its kin.
_NAME: Final = "|".join(f"(?:{pattern})" for pattern in _NAMED.values())
_CHOICE: Final = re.compile(rf"\bdual(?:ly)? licensed?\b|(?:{_NAME})(?: \w+){{0,12}} or(?: \w+){{0,12}} (?:{_NAME})")
_TOP: Final = 2_500  # characters; a pointer or a note on the choice is shorter, a licence's own text mostly longer


@dataclass(frozen=True, slots=True)
class Licence:
    """What a repository's licence files say: the licences in them, and which of them lets us learn from it."""

    found: tuple[str, ...]
    permissive: str | None

    @property
    def problem(self) -> str:
        """Say why a repository is left out."""
        return f"licence: {' and '.join(self.found) or 'none that is recognised'}"


def is_licence(path: str) -> bool:
    """Tell whether a file may hold a licence, by its name."""
    name = path if path.lower().startswith("licenses/") else path.rpartition("/")[2]
    return _FILE.fullmatch(name) is not None


def of_others(path: str) -> bool:
    """Tell whether a licence is of what a project uses or shows, by the name."""
    return _OF_OTHERS.search(path) is not None


def licence_paths(paths: Iterable[str]) -> list[str]:
    """Choose the files that decide: those at the root, else those in `LICENSES`, else one a folder, as monorepos do."""
    found = [path for path in paths if is_licence(path) and not of_others(path)]
    near = min(map(_distance, found), default=0)
    return [path for path in found if _distance(path) == near <= _NEAR]


def _distance(path: str) -> int:
    return 1 if path.lower().startswith("licenses/") else 2 * path.count("/")


def decide(files: Mapping[str, str]) -> Licence:
    """Decide from the licence files of a repository, by path.

    Files with permissive texts only are fine, whether one may choose (LICENSE-MIT beside LICENSE-APACHE) or all of them
    apply. One that is not permissive spoils all the others, unless a file says that one may choose.
    """
    found = {path: classify(text) for path, text in files.items()}
    names = tuple(sorted({spdx for each in found.values() for spdx in each}))
    permissive = [spdx for spdx in names if spdx in PERMISSIVE]
    choice = any(map(_offers_choice, files.values()))
    spoilt = not permissive or (len(permissive) < len(names) and not choice)
    apart = choice or all(len(each) < 2 for each in found.values())
    return Licence(names, None if spoilt else (" OR " if apart else " AND ").join(permissive))


def classify(text: str) -> tuple[str, ...]:
    """Name the licences whose text or, at the top, whose names a file holds."""
    plain = plain_text(text)
    known = [spdx.strip() for spdx, phrases in _TEXTS.items() if all(phrase in plain for phrase in phrases)]
    if not known:
        top = plain_text(text[:_TOP])
        known = [spdx for spdx, pattern in _NAMED.items() if re.search(pattern, top)]
    return tuple(sorted(set(_without_lesser(known))))


def _without_lesser(known: Sequence[str]) -> list[str]:
    hidden: set[str] = set()
    for longer, shorter in (
        ("BSD-4-Clause", "BSD-3-Clause"),
        ("BSD-4-Clause", "BSD-2-Clause"),
        ("BSD-3-Clause", "BSD-2-Clause"),
        ("MIT", "MIT-0"),
        ("ISC", "0BSD"),
    ):
        hidden |= {shorter} if longer in known else set()
    return [spdx for spdx in known if spdx not in hidden]


def _offers_choice(text: str) -> bool:
    return _CHOICE.search(plain_text(text[:_TOP])) is not None


def plain_text(text: str) -> str:
    """Write a text as lower-case words with single blanks, comment signs and punctuation gone."""
    return " ".join(re.findall(r"[a-z0-9]+", text.lower().replace("licence", "license")))


#: A file that carries a licence of its own which asks for more.
_HEADER: Final = re.compile(
    r"gnu (?:lesser |library |affero )?general public licen[cs]e|mozilla public licen[cs]e|eclipse public licen[cs]e"
    r"|spdx-license-identifier:\s*(?:[al]?gpl|mpl|epl|cddl|sspl|busl|eupl)|\bgpl ?v?[23]|server side public licen[cs]e"
    r"|business source licen[cs]e|all rights reserved\.? *proprietary",
    re.IGNORECASE,
)
#: What only licence texts say.
LICENCE_TEXT: Final = re.compile(
    r"copyright (?:\(c\)|©|\d{4})|licensed under|all rights reserved|spdx-license|permission is hereby granted"
    r"|without warrant(?:y|ies)|provided [\"“']*as is|redistribution and use",
    re.IGNORECASE,
)
#: What a comment at the top of a file says of its licence.
LICENCE_WORD: Final = re.compile(r"copyright|licen[cs]e|\(c\)|©|all rights reserved|spdx", re.IGNORECASE)
_HEADER_BYTES: Final = 3_000  # a header that names its licence does so on its first page


def restricts(text: str) -> bool:
    """Tell whether the head of a file names a licence that asks for more than a notice."""
    return _HEADER.search(text, 0, _HEADER_BYTES) is not None


#: Why a file is not read.
FOLDER_LICENCE: Final = "licence of its folder"
#: What a text says that sends the reader to the licence above: a path, or where it lies.
_ABOVE: Final = re.compile(r"(?:^|[\s(\"'`<])\.\.?/|\b(?:root|top[- ]?level|parent|main)\b", re.IGNORECASE)
_POINTER: Final = 500  # characters; a text that only points is a sentence or a path
#: Files whose name has `license` in it, but that are no text for people.
_NO_TEXT: Final = re.compile(r"\.(?:png|svg|jpe?g|gif|ico|pdf|json|ya?ml|toml|xml|csv|lock|snap|map)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LicensedFolders:
    """Whether the licence of a folder lets us learn from it, for the folders that have one of their own."""

    lets: Mapping[str, bool] = field(default_factory=dict)
    gone: frozenset[str] = frozenset()  # names of the files that are not read: an earlier place may be anywhere

    def bars(self, path: str) -> bool:
        """Tell whether the nearest licence above a file forbids it; the root's is decided elsewhere."""
        folder = path
        while folder := folder.rpartition("/")[0]:
            if folder in self.lets:
                return not self.lets[folder]
        return False

    def bars_past(self, path: str, here: Container[str]) -> bool:
        """Tell it of a path of the history; one that is gone goes by its name too, since folders move."""
        return self.bars(path) or (path not in here and path.rpartition("/")[2] in self.gone)


def folder_licences(paths: Iterable[str]) -> list[str]:
    """List the licence files below the root, as far as they are about the folder that they lie in."""
    return [path for path in paths if "/" in path and _is_text(path) and not of_others(path.rpartition("/")[2])]


def judge_folders(texts: Mapping[str, str], root: Collection[str], paths: Iterable[str]) -> LicensedFolders:
    """Judge each folder by its licence files; `texts` are theirs by path, `root` those that the repository goes by.

    A folder whose files repeat the root's or point to it is as if it had none. A text that nobody knows forbids.
    """
    known = frozenset(map(plain_text, root))
    by_folder: dict[str, dict[str, str]] = defaultdict(dict)
    for path, text in texts.items():
        by_folder[path.rpartition("/")[0]][path] = text
    lets = {
        folder: decide(files).permissive is not None
        for folder, files in sorted(by_folder.items())
        if not _passes(files, known)
    }
    folders = LicensedFolders(lets)
    return LicensedFolders(lets, frozenset(path.rpartition("/")[2] for path in paths if folders.bars(path)))


def _passes(files: Mapping[str, str], root: frozenset[str]) -> bool:
    plain = frozenset(map(plain_text, files.values()))
    if plain == root:
        return True
    said = all(plain_text(text) in root or _points(text) for text in files.values())
    return said and set(decide(files).found) <= PERMISSIVE


def _points(text: str) -> bool:
    return len(text) <= _POINTER and "licen" in text.lower() and _ABOVE.search(text) is not None


def _is_text(path: str) -> bool:
    if path.lower().startswith("licenses/") or not is_licence(path):
        return False
    return detect(path, b"").kind != "code" and _NO_TEXT.search(path) is None


_DEPTH: Final = 4  # folders below the given one: FOLDER/GROUP/OWNER+NAME/repo/.git
_UNDER_WAY: Final = ".part"  # a download that has not ended
_PART: Final = re.compile(r"[\w.+~-]+")


@dataclass(frozen=True, slots=True)
class GitRepo:
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
class TreeEntry:
    """A file of a commit."""

    path: str
    oid: str
    size: int
    script: bool = False  # may be run


def find_repositories(folder: Path) -> tuple[GitRepo, ...]:
    """Find the repositories under a folder that have a commit, by name; of two of one name the first path counts."""
    if not folder.is_dir():
        raise CorpusError("there is no such folder", file=folder, hint="name a folder that holds git repositories")
    found: dict[str, GitRepo] = {}
    for place in _git_folders(folder, _DEPTH):
        repository = _repository(place, folder)
        if repository is not None:
            found.setdefault(repository.name, repository)
    return tuple(found[name] for name in sorted(found))


def open_repository(folder: Path) -> GitRepo:
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


def list_files(repository: GitRepo) -> tuple[TreeEntry, ...]:
    """List the files of the commit, by path; links, submodules and files whose content is not here are none."""
    listed = _git(repository.folder, "ls-tree", "-r", "-l", "-z", "--full-tree", repository.commit)
    if listed is None:
        raise CorpusError("git cannot list its files", file=repository.folder, hint="run `git fsck` on it")
    return tuple(entry for line in listed.split(b"\0") if line and (entry := _entry(line)) is not None)


def read_files(repository: GitRepo, entries: Sequence[TreeEntry]) -> Iterator[tuple[TreeEntry, bytes]]:
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
    if (folder / ".git" / "objects").is_dir():
        yield folder / ".git"
    elif (folder / "objects").is_dir() and (folder / "HEAD").is_file():
        yield folder
    elif depth:
        for child in sorted(folder.iterdir()):
            if child.is_dir() and child.suffix != _UNDER_WAY:
                yield from _git_folders(child, depth - 1)


def _git_file(folder: Path) -> Path | None:
    file = folder / ".git"
    text = file.read_text(encoding="utf-8", errors="surrogateescape") if file.is_file() else ""
    return (folder / text.removeprefix("gitdir:").strip()).resolve() if text.startswith("gitdir:") else None


def _repository(place: Path, top: Path) -> GitRepo | None:
    commit = _git(place, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if commit is None:
        return None
    remote = _remote(place) if (place / "config").is_file() else ""
    known = repository_name(remote)
    name, url = (known, without_credentials(remote)) if known else _named(place, top)
    size = sum(file.stat().st_size for file in (place / "objects").rglob("*") if file.is_file())
    return GitRepo(name, url, commit.decode("ascii").strip(), place, size)


def _remote(place: Path) -> str:
    return (_git(place, "config", "--get", "remote.origin.url") or b"").decode("utf-8", "replace").strip()


def _named(place: Path, top: Path) -> tuple[str, str]:
    folder = place.parent if place.name == ".git" else place
    if folder.name == "repo" and folder != top:
        folder = folder.parent
    owner, plus, name = folder.name.removesuffix(".git").partition("+")
    return (f"{owner}/{name}", f"https://github.com/{owner}/{name}") if plus and owner and name else (owner, "")


def _entry(line: bytes) -> TreeEntry | None:
    about, _, path = line.partition(b"\t")
    mode, _, oid, size = about.split()
    if mode not in (b"100644", b"100755") or not size.isdigit():
        return None
    return TreeEntry(path.decode("utf-8", "surrogateescape"), oid.decode("ascii"), int(size), mode == b"100755")


def _blob(stream: IO[bytes]) -> bytes | None:
    header = stream.readline().split()
    if len(header) != 3 or not header[2].isdigit():
        return None
    data = stream.read(int(header[2]))
    stream.read(1)
    return data if header[1] == b"blob" else None


def _git(folder: Path, *arguments: str) -> bytes | None:
    """Ask git about a repository; None when it has no answer."""
    answer = git("--git-dir=.", *arguments, cwd=folder, limits=ArchiveLimits())
    return None if answer.code else answer.out


@dataclass(frozen=True)
class LearningScope:
    """Whose a repository is, and what of it is kept for a test."""

    own: bool = False  # one's own code may be learned from whatever its licence
    withheld: frozenset[str] = frozenset()  # paths that are not read; nor is a commit that touches one

    def withholds(self, path: str, here: Container[str]) -> bool:
        """Tell whether a path of the history is withheld; `here` are the paths that there are today.

        One that is gone may be an earlier place of a withheld file, so it goes by its name.
        """
        return path in self.withheld or (path not in here and _name(path) in self._names)

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(map(_name, self.withheld))


def _name(path: str) -> str:
    return path.rpartition("/")[2]


EVERYBODYS: Final = LearningScope()
