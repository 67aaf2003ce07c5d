"""Git repositories under a directory, their files and their licenses. Nothing is checked out or fetched."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from assay.corpus.file_types import detect_type
from assay.corpus.git import git, read_blobs
from assay.corpus.unpack import ArchiveLimits
from assay.errors import CorpusError
from assay.redaction import strip_credentials

_DEPTH: Final = 4  # directories below the given one: DIR/GROUP/OWNER+NAME/repo/.git
_PARTIAL: Final = ".part"  # an unfinished download
_NAME_PART: Final = re.compile(r"[\w.+~-]+")


@dataclass(frozen=True, slots=True)
class GitRepo:
    name: str  # owner/name where known
    url: str  # "" where unknown
    commit: str
    directory: Path  # its git directory
    bytes: int  # of its objects

    @property
    def file_name(self) -> str:
        return re.sub(r"[^\w.+-]", "_", self.name.replace("/", "+"))


@dataclass(frozen=True, slots=True)
class TreeEntry:
    path: str
    oid: str
    size: int
    script: bool = False  # executable


@dataclass(frozen=True)
class LearningScope:
    own: bool = False  # the user's code: any license is permitted
    withheld: frozenset[str] = frozenset()  # held-out paths; commits that touch one are skipped as well

    def withholds(self, path: str, here: Container[str]) -> bool:
        """Return whether a path of the history is withheld; `here` has the paths of the newest commit.

        A path that no longer exists may be an earlier location of a withheld file, so its file name is compared.
        """
        return path in self.withheld or (path not in here and _file_name(path) in self._names)

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(map(_file_name, self.withheld))


PUBLIC: Final = LearningScope()


def find_repositories(directory: Path) -> tuple[GitRepo, ...]:
    """Return the repositories with commits under a directory, sorted by name; of equal names, the first path counts."""
    if not directory.is_dir():
        raise CorpusError("directory not found", file=directory, hint="pass a directory with git repositories")
    by_name: dict[str, GitRepo] = {}
    for git_dir in _git_dirs(directory, _DEPTH):
        repository = _read_repository(git_dir, directory)
        if repository is not None:
            by_name.setdefault(repository.name, repository)
    return tuple(by_name[name] for name in sorted(by_name))


def open_repository(directory: Path) -> GitRepo:
    """Open one repository: a checkout, a linked work tree or a bare repository; raise CorpusError without a commit."""
    file = directory / ".git"  # of a linked work tree
    text = file.read_text(encoding="utf-8", errors="surrogateescape") if file.is_file() else ""
    git_dir = next(_git_dirs(directory, 0), None) if directory.is_dir() else None
    if text.startswith("gitdir:"):
        git_dir = (directory / text.removeprefix("gitdir:").strip()).resolve()
    repository = _read_repository(git_dir, directory.parent) if git_dir else None
    if repository is None:
        problem = "the directory is not a git repository" if git_dir is None else "the repository has no commit"
        raise CorpusError(problem, file=directory, hint="pass the directory of a git repository with commits")
    return repository


def _git_dirs(directory: Path, depth: int) -> Iterator[Path]:
    if (directory / ".git" / "objects").is_dir():
        yield directory / ".git"
    elif (directory / "objects").is_dir() and (directory / "HEAD").is_file():
        yield directory
    elif depth:
        for child in sorted(directory.iterdir()):
            if child.is_dir() and child.suffix != _PARTIAL:
                yield from _git_dirs(child, depth - 1)


def _read_repository(git_dir: Path, top: Path) -> GitRepo | None:
    commit = _git(git_dir, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if commit is None:
        return None
    remote = _git(git_dir, "config", "--get", "remote.origin.url") if (git_dir / "config").is_file() else None
    address = (remote or b"").decode("utf-8", "replace").strip()
    name, url = repository_name(address), strip_credentials(address)
    if name is None:  # by its path
        directory = git_dir.parent if git_dir.name == ".git" else git_dir
        if directory.name == "repo" and directory != top:
            directory = directory.parent
        owner, plus, base = directory.name.removesuffix(".git").partition("+")
        name, url = owner, ""
        if plus and owner and base:
            name, url = f"{owner}/{base}", f"https://github.com/{owner}/{base}"
    size = sum(file.stat().st_size for file in (git_dir / "objects").rglob("*") if file.is_file())
    return GitRepo(name, url, commit.decode("ascii").strip(), git_dir, size)


def repository_name(address: str) -> str | None:
    """Parse a URL, `user@host:owner/name` or `owner/name` as `owner/name`; return None for anything else."""
    plain = re.sub(r"^\w+://", "", address.strip()).removesuffix("/").removesuffix(".git").rpartition("@")[2]
    parts = [part for part in re.split("[/:]", plain) if part]
    return "/".join(parts[-2:]) if len(parts) > 1 and all(map(_NAME_PART.fullmatch, parts)) else None


def list_files(repository: GitRepo) -> tuple[TreeEntry, ...]:
    """List the files of the commit by path, without links, submodules and files whose content is missing."""
    listed = _git(repository.directory, "ls-tree", "-r", "-l", "-z", "--full-tree", repository.commit)
    if listed is None:
        raise CorpusError("cannot list the files of the repository", file=repository.directory, hint="run `git fsck`")
    entries: list[TreeEntry] = []
    for line in filter(None, listed.split(b"\0")):
        about, _, path = line.partition(b"\t")
        mode, _, oid, size = about.split()
        if mode in (b"100644", b"100755") and size.isdigit():
            name = path.decode("utf-8", "surrogateescape")
            entries.append(TreeEntry(name, oid.decode("ascii"), int(size), mode == b"100755"))
    return tuple(entries)


def read_files(repository: GitRepo, entries: Sequence[TreeEntry]) -> Iterator[tuple[TreeEntry, bytes]]:
    """Read files in order with one git process, skipping those whose content is missing."""
    contents = read_blobs((entry.oid for entry in entries), "--git-dir=.", cwd=repository.directory)
    yield from ((entry, data) for entry, data in zip(entries, contents, strict=True) if data is not None)


def _git(directory: Path, *arguments: str) -> bytes | None:
    answer = git("--git-dir=.", *arguments, cwd=directory, limits=ArchiveLimits())
    return None if answer.code else answer.out


def _file_name(path: str) -> str:
    return path.rpartition("/")[2]


#: Licenses that require no more than a notice.
PERMISSIVE: Final = frozenset(
    ("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "ISC", "MIT", "MIT-0", "Unlicense")
) | {"Zlib"}
_FILE: Final = re.compile(
    r"(?:[\w.]+[-_])?(?:un)?licen[cs]e(?:[-_.][\w.+-]*)?|copying(?:[-_.][\w.+-]*)?|(?:.*/)?licenses/[\w.+-]+\.txt",
    re.IGNORECASE,
)
#: Licenses of dependencies and assets, not of the code.
_THIRD_PARTY: Final = re.compile(r"depend|3rd|third|binary|vendor|logo|font|asset|docs?\b|images?\b", re.IGNORECASE)
_NEAR: Final = 2  # distance of a license from the root: at most one directory
_MIT: Final = "permission is hereby granted free of charge to any person obtaining a copy"
_MIT_NOTICE: Final = "permission notice shall be included in all copies"
_BSD: Final = "with or without modification are permitted provided that the following conditions are met"
#: SPDX identifier -> phrases that are all in the license text, as `_plain_text` returns it.
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
#: Names of licenses in a text that only refers to them.
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
#: A statement at the top that the user may choose: a dual license, or `MIT or Apache 2.0` and the like.
_NAME: Final = "|".join(f"(?:{pattern})" for pattern in _NAMED.values())
_CHOICE: Final = re.compile(rf"\bdual(?:ly)? licensed?\b|(?:{_NAME})(?: \w+){{0,12}} or(?: \w+){{0,12}} (?:{_NAME})")
_TOP: Final = 2_500  # characters; a reference or a note on the choice is shorter, a license text mostly longer
#: Of two licenses with common phrases, the first hides the second.
_HIDES: Final = (
    ("BSD-4-Clause", "BSD-3-Clause"),
    ("BSD-4-Clause", "BSD-2-Clause"),
    ("BSD-3-Clause", "BSD-2-Clause"),
    ("MIT", "MIT-0"),
    ("ISC", "0BSD"),
)
#: A header under which a single file has a more restrictive license.
_HEADER: Final = re.compile(
    r"gnu (?:lesser |library |affero )?general public licen[cs]e|mozilla public licen[cs]e|eclipse public licen[cs]e"
    r"|spdx-license-identifier:\s*(?:[al]?gpl|mpl|epl|cddl|sspl|busl|eupl)|\bgpl ?v?[23]|server side public licen[cs]e"
    r"|business source licen[cs]e|all rights reserved\.? *proprietary",
    re.IGNORECASE,
)
#: Phrases of license texts only.
LICENSE_TEXT: Final = re.compile(
    r"copyright (?:\(c\)|©|\d{4})|licensed under|all rights reserved|spdx-license|permission is hereby granted"
    r"|without warrant(?:y|ies)|provided [\"“']*as is|redistribution and use",
    re.IGNORECASE,
)
#: Words by which a comment at the top of a file counts as a license header.
LICENSE_WORD: Final = re.compile(r"copyright|licen[cs]e|\(c\)|©|all rights reserved|spdx", re.IGNORECASE)
_HEADER_BYTES: Final = 3_000  # a header that names its license does so on its first page
#: Reason for not reading a file.
DIRECTORY_LICENSE: Final = "license of the directory"
#: A reference to the license above: a relative path, or a word for the root.
_ABOVE: Final = re.compile(r"(?:^|[\s(\"'`<])\.\.?/|\b(?:root|top[- ]?level|parent|main)\b", re.IGNORECASE)
_REFERENCE: Final = 500  # characters; a text that only refers to another is a sentence or a path
#: Files with `license` in their name that are not license texts.
_NO_TEXT: Final = re.compile(r"\.(?:png|svg|jpe?g|gif|ico|pdf|json|ya?ml|toml|xml|csv|lock|snap|map)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class License:
    found: tuple[str, ...]  # recognized in the license files
    permissive: str | None  # SPDX expression; None if learning is forbidden

    @property
    def problem(self) -> str:
        return f"license: {' and '.join(self.found) or 'none recognized'}"


def is_license_path(path: str) -> bool:
    name = path if path.lower().startswith("licenses/") else _file_name(path)
    return _FILE.fullmatch(name) is not None


def find_root_licenses(paths: Iterable[str]) -> list[str]:
    """Return the license files of the whole repository.

    These are the ones at the root, else those in `LICENSES`, else those one directory below, as in monorepos.
    """

    def distance(path: str) -> int:
        return 1 if path.lower().startswith("licenses/") else 2 * path.count("/")

    found = [path for path in paths if is_license_path(path) and not _THIRD_PARTY.search(path)]
    nearest = min(map(distance, found), default=0)
    return [path for path in found if distance(path) == nearest <= _NEAR]


def decide_license(files: Mapping[str, str]) -> License:
    """Decide the license of a repository or directory; `files` maps the paths of its license files to their texts.

    Several permissive licenses are accepted, as a choice (LICENSE-MIT and LICENSE-APACHE) or together. A license that
    is not permissive forbids learning, unless a file offers a choice.
    """
    found = {path: classify_license(text) for path, text in files.items()}
    names = tuple(sorted({spdx for each in found.values() for spdx in each}))
    permissive = [spdx for spdx in names if spdx in PERMISSIVE]
    choice = any(_CHOICE.search(_plain_text(text[:_TOP])) for text in files.values())
    if not permissive or (len(permissive) < len(names) and not choice):
        return License(names, None)
    separate = choice or all(len(each) < 2 for each in found.values())
    return License(names, (" OR " if separate else " AND ").join(permissive))


def classify_license(text: str) -> tuple[str, ...]:
    """Return the licenses whose text a file contains, else the licenses that the file names at the top."""
    plain = _plain_text(text)
    known = {spdx.strip() for spdx, phrases in _TEXTS.items() if all(phrase in plain for phrase in phrases)}
    if not known:
        top = _plain_text(text[:_TOP])
        known = {spdx for spdx, pattern in _NAMED.items() if re.search(pattern, top)}
    return tuple(sorted(known - {hidden for longer, hidden in _HIDES if longer in known}))


def _plain_text(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9]+", text.lower().replace("licence", "license")))


def has_restrictive_header(text: str) -> bool:
    return _HEADER.search(text, 0, _HEADER_BYTES) is not None


@dataclass(frozen=True, slots=True)
class LicensedDirectories:
    permits: Mapping[str, bool] = field(default_factory=dict)
    forbidden: frozenset[str] = frozenset()  # names of the files that are not read

    def forbids(self, path: str) -> bool:
        """Return whether the nearest license above a file, except the root license, forbids learning from the file."""
        directory = path
        while directory := directory.rpartition("/")[0]:
            if directory in self.permits:
                return not self.permits[directory]
        return False

    def forbids_past(self, path: str, here: Container[str]) -> bool:
        """Return whether a license forbids a past path; for paths that no longer exist, compare the file name too."""
        return self.forbids(path) or (path not in here and _file_name(path) in self.forbidden)


def find_directory_licenses(paths: Iterable[str]) -> list[str]:
    """Return the license files below the root that apply to their directory."""
    return [
        path
        for path in paths
        if "/" in path
        and not path.lower().startswith("licenses/")
        and is_license_path(path)
        and detect_type(path, b"").kind != "code"
        and not _NO_TEXT.search(path)
        and not _THIRD_PARTY.search(_file_name(path))
    ]


def judge_directories(texts: Mapping[str, str], root: Collection[str], paths: Iterable[str]) -> LicensedDirectories:
    """Decide for each directory with license files whether they permit learning; an unrecognized license does not.

    `texts` maps the paths of license files to their texts; `root` has the texts of the root licenses. Directories whose
    license files repeat the root licenses, or refer to them and name no restrictive license, are omitted.
    """
    known = frozenset(map(_plain_text, root))

    def defers_to_root(text: str) -> bool:
        refers = len(text) <= _REFERENCE and "licen" in text.lower() and _ABOVE.search(text) is not None
        return refers or _plain_text(text) in known

    by_directory: dict[str, dict[str, str]] = defaultdict(dict)
    for path, text in texts.items():
        by_directory[path.rpartition("/")[0]][path] = text
    permits: dict[str, bool] = {}
    for directory, files in sorted(by_directory.items()):
        decided = decide_license(files)
        repeats = all(map(defers_to_root, files.values())) and set(decided.found) <= PERMISSIVE
        if not repeats and frozenset(map(_plain_text, files.values())) != known:
            permits[directory] = decided.permissive is not None
    licensed = LicensedDirectories(permits)
    return LicensedDirectories(permits, frozenset(_file_name(path) for path in paths if licensed.forbids(path)))
