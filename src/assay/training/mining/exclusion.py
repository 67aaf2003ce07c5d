"""What is never learned from: repositories by address and by name, and code that was copied from them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from assay.corpus.walking.languages import detect
from assay.errors import ConfigError
from assay.files import read_utf8
from assay.search.store.format import JSON, StoreProblem, read_store, write_store
from assay.training.mining.config import WindowRules
from assay.training.mining.forking import Task, run_tasks
from assay.training.mining.repositories import Repository, list_files, read_files, repository_name
from assay.training.mining.windows import Windows, hash_windows, merge_windows

#: Raised when a window means something else, so that kept ones are made anew.
_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Exclusions:
    """The repositories on the list, as `owner/name`, sorted."""

    names: tuple[str, ...]

    def joined(self, repositories: Iterable[Repository]) -> Exclusions:
        """Put repositories on the list."""
        return Exclusions(tuple(sorted({*self.names, *(one.name for one in repositories)})))

    def why(self, repository: Repository) -> str | None:
        """Say why a repository is excluded: it is on the list, or has the name of one that is (a fork, a mirror)."""
        own = {repository.name.casefold(), (repository_name(repository.url) or "").casefold()}
        for name in self.names:
            if name.casefold() in own:
                return f"excluded: {name} is on the exclusion list"
        base = repository.name.rpartition("/")[2].casefold()
        for name in self.names:
            if name.rpartition("/")[2].casefold() == base:
                return f"excluded: it has the name of {name}, which is on the exclusion list"
        return None


@dataclass(frozen=True, slots=True, eq=False)
class Barrier:
    """The exclusions with the windows of their code."""

    exclusions: Exclusions
    windows: Windows = field(repr=False)
    checked: Mapping[str, str]  # whose windows are known, with the commit
    unchecked: tuple[str, ...]  # whose code is not here, or cannot be read
    digest: str


#: Where nothing is excluded.
OPEN: Final = Barrier(Exclusions(()), merge_windows(()), {}, (), "")


def read_exclusions(path: Path) -> Exclusions:
    """Read a list: a URL or owner/name a line; `#` begins a comment."""
    names: set[str] = set()
    for number, line in enumerate(read_utf8(path, ConfigError).splitlines(), 1):
        text = line.partition("#")[0].strip()
        name = repository_name(text)
        if text and name is None:
            hint = "write a URL or owner/name a line"
            raise ConfigError(f"{text!r} names no repository", file=path, line=number, hint=hint)
        names |= {name} if name else set()
    return Exclusions(tuple(sorted(names)))


def raise_barrier(
    exclusions: Exclusions, found: Sequence[Repository], rules: WindowRules, cache: Path, workers: int
) -> Barrier:
    """Collect the windows of the excluded repositories that are here; those of a commit are kept in a cache."""
    here = [one for one in found if exclusions.why(one)]
    missing = [one for one in here if _stored(_kept(one, rules, cache)) is None]
    tasks = [Task(one.name, partial(_keep, one, rules, cache)) for one in missing]
    unread = {done.name for done in run_tasks(tasks, workers) if done.error is not None}
    read = [one for one in here if one.name not in unread]
    windows = _merged(sorted({_kept(one, rules, cache) for one in read}), cache)
    checked = {one.name: one.commit for one in sorted(read, key=lambda one: one.name)}
    known = {name.casefold() for name in checked}
    unchecked = tuple(name for name in exclusions.names if name.casefold() not in known)
    digest = hashlib.sha256("\n".join(exclusions.names).encode() + windows.tobytes()).hexdigest()
    return Barrier(exclusions, windows, checked, unchecked, digest)


def _kept(repository: Repository, rules: WindowRules, cache: Path) -> Path:
    """Say where the windows of a repository at its commit are kept."""
    cut = (rules.lines, rules.characters, rules.bytes)
    key = hashlib.sha256(f"{_FORMAT} {repository.commit} {cut}".encode()).hexdigest()[:12]
    return cache / f"{repository.file_name}-{key}.windows"


def _keep(repository: Repository, rules: WindowRules, cache: Path) -> None:
    """Collect and keep the windows of a repository."""
    windows = merge_windows(_windows(repository, rules))
    about: dict[str, JSON] = {"windows": _FORMAT, "repository": repository.name}
    write_store(_kept(repository, rules, cache), about, {"windows": windows})


def _windows(repository: Repository, rules: WindowRules) -> Iterator[Windows]:
    """Hash the text files of a repository."""
    listed = (one for one in list_files(repository) if one.size <= rules.bytes)
    entries = [one for one in listed if "." not in one.path.rpartition("/")[2] or detect(one.path, b"").kind != "other"]
    for _, data in read_files(repository, entries):
        if b"\0" not in data:
            yield hash_windows(data, rules)


def _merged(parts: Sequence[Path], cache: Path) -> Windows:
    """Put kept windows together, and keep that too: it is mapped into every process that mines."""
    key = hashlib.sha256("\n".join(part.name for part in parts).encode()).hexdigest()
    place = cache / f"all-{key[:12]}.windows"
    kept = _stored(place)
    if kept is not None:
        return kept
    windows = merge_windows(read_store(part).arrays["windows"] for part in parts)
    write_store(place, {"windows": _FORMAT}, {"windows": windows})
    return read_store(place).arrays["windows"]


def _stored(place: Path) -> Windows | None:
    """Read kept windows; None when there are none that can be read."""
    try:
        return read_store(place).arrays["windows"]
    except (StoreProblem, KeyError):
        return None
