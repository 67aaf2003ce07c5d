"""Pairs from the history: the subject of a commit with the lines that it wrote and those around them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from assay.corpus.walking.languages import FileType, detect
from assay.search.words import runs
from assay.syntax.secrets import secret_lines
from assay.training.mining.choosing import Chosen, is_code, is_foreign, is_test
from assay.training.mining.config import MiningConfig
from assay.training.mining.drawing import Candidate, Collection, draw_rank
from assay.training.mining.folders import Folders
from assay.training.mining.history import Change, changed_paths, list_subjects, read_changes
from assay.training.mining.prose import ask_subject
from assay.training.mining.repositories import Entry, Repository, read_files
from assay.training.mining.scope import EVERYBODYS, Scope
from assay.training.mining.sources import COPIED_FILE, OTHER_LICENCE, open_source
from assay.training.mining.terms import path_terms
from assay.training.mining.windows import Windows, copied_lines


@dataclass(frozen=True, slots=True)
class _Commit:
    """A commit whose subject says something."""

    id: str
    asked: str
    rank: int
    paths: tuple[str, ...] = ()  # what it changed


class _Languages(dict[str, str]):
    """The languages of changed files by path; "" for what is no code of the project's own, tests included."""

    def __init__(self, scripts: Mapping[str, FileType], folders: Folders, here: Container[str]) -> None:
        super().__init__()
        self._scripts = scripts
        self._folders = folders
        self._here = here

    def __missing__(self, path: str) -> str:
        kind = self._scripts.get(path) or detect(path, b"")
        code = is_code(kind) and not is_test(path) and not is_foreign(path)
        code = code and not self._folders.bars_past(path, self._here)
        found = self[path] = (kind.language or "") if code else ""
        return found


@dataclass(frozen=True, slots=True)
class CommitMiner:
    """What is needed to read the history of a repository."""

    repository: Repository
    entries: Mapping[str, tuple[int, Entry]]  # the files that are there now, with their numbers
    scripts: Mapping[str, FileType]  # programs without an extension
    refused: Mapping[str, str | None]  # files that were read: why they were not learned from, None where they were
    known: Windows
    folders: Folders
    config: MiningConfig
    collection: Collection
    scope: Scope = EVERYBODYS

    def mine(self) -> None:
        """Offer the commits that changed a few code files, in the order of the draw."""
        languages = _Languages(self.scripts, self.folders, self.entries)
        numbers = {path: number for path, (number, _) in self.entries.items()}
        told = {commit.id: commit for commit in self._narrow(languages)}
        refused = self._refused(told.values(), languages)
        for each in read_changes(self.repository, list(told), lambda path: bool(languages[path]), self.config):
            if each.change is None:
                self.collection.dropped["commit without its content"] += 1
                continue
            number = numbers.setdefault(each.change.path, len(numbers))
            if reason := refused.get(each.change.path):
                self.collection.dropped[reason] += 1
                continue
            self._offer(told[each.commit], each.change, languages[each.change.path], number)

    def _refused(self, commits: Iterable[_Commit], languages: Mapping[str, str]) -> dict[str, str]:
        """Say of which files nothing is learned: copies, and those under another licence. Reads what was not yet."""
        found = dict(self.refused)
        changed = {path for commit in commits for path in commit.paths if languages[path]}
        new = [self.entries[path] for path in sorted(changed & self.entries.keys() - found.keys())]
        small = {entry.path: (number, entry) for number, entry in new if entry.size <= self.config.files.bytes}
        for entry, data in read_files(self.repository, [entry for _, entry in small.values()]):
            file = Chosen(small[entry.path][0], entry, languages[entry.path], test=False)
            source = open_source(file, data, self.known, self.config, self.scope)
            found[entry.path] = source if isinstance(source, str) else None
        return {path: reason for path, reason in found.items() if reason in (COPIED_FILE, OTHER_LICENCE)}

    def _narrow(self, languages: Mapping[str, str]) -> list[_Commit]:
        """Keep the first commits of the draw that are about one place."""
        rules = self.config.commits
        kept: list[_Commit] = []
        telling = sorted(self._telling(), key=lambda commit: (commit.rank, commit.id))
        for begin in range(0, len(telling), rules.read):
            part = telling[begin : begin + rules.read]
            paths = changed_paths(self.repository, [commit.id for commit in part])
            changed = [replace(commit, paths=tuple(paths.get(commit.id, ()))) for commit in part]
            kept += [commit for commit in changed if self._fits(commit.paths, languages)]
            if len(kept) >= rules.read:
                break
        return kept[: rules.read]

    def _fits(self, paths: Sequence[str], languages: Mapping[str, str]) -> bool:
        """Tell whether a commit is about one place, and touches nothing that is withheld."""
        code = sum(bool(languages[path]) for path in paths)
        fits = 0 < code <= self.config.commits.files and len(paths) <= self.config.commits.paths
        return fits and not any(self.scope.withholds(path, self.entries) for path in paths)

    def _telling(self) -> Iterator[_Commit]:
        """List the commits whose subjects say something."""
        for commit, subject in list_subjects(self.repository):
            asked = ask_subject(subject, self.config.pairs)
            if asked is None:
                self.collection.dropped["subject says little"] += 1
            else:
                yield _Commit(commit, asked, draw_rank(self.config.seed, "commit", commit))

    def _offer(self, commit: _Commit, change: Change, language: str, number: int) -> None:
        """Offer a subject with what it did to one file."""
        rank = draw_rank(self.config.seed, "change", commit.id, change.path)
        if self.collection.wants("commit", rank):
            text = change.text.decode("utf-8", "replace")
            path = path_terms(change.path)
            candidate = Candidate("commit", rank, commit.asked, Counter(runs(text)), path, language, number)
            self.collection.offer(candidate, self._taint(change, text))

    def _taint(self, change: Change, text: str) -> str | None:
        """Say why a change must not be learned from."""
        if copied_lines(change.text, self.known, self.config.windows).any():
            return "copied"
        return "secret" if next(secret_lines(text), None) is not None else None
