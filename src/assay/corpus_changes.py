"""Whether a corpus changed between two runs, since a run or during one, and which files changed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from assay.digests import text_digest
from assay.errors import CorpusError, NotComparableError
from assay.types import CorpusInfo

Corpora = Mapping[str, CorpusInfo]  # by gold set

#: Changed files that a sentence names.
_NAMED_FILES: Final = 5


class CorpusChange(NamedTuple):
    gold: str
    old: CorpusInfo
    new: CorpusInfo


def changed_names(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Return the names that have another digest in the second mapping."""
    return sorted(name for name in old.keys() & new.keys() if old[name] != new[name])


def find_changes(old: Corpora, new: Corpora) -> list[CorpusChange]:
    """Return the corpora that changed between two runs."""
    digests = ({name: facts.digest for name, facts in side.items()} for side in (old, new))
    return [CorpusChange(name, old[name], new[name]) for name in changed_names(*digests)]


def changed_since(recorded: CorpusInfo | None, digest: str) -> bool:
    """Return whether a corpus with this digest differs from that of a run, or the run records none."""
    return recorded is None or recorded.digest != digest


def changed_during_run(gold: str, root: Path) -> CorpusError:
    return CorpusError(
        f"the corpus of {gold} changed during the run",
        file=root,
        hint="exclude files that change, such as logs, in .assayignore; finished cells are reused",
    )


def require_same_repositories(old: Corpora, new: Corpora) -> None:
    """Raise NotComparableError if a corpus is of another repository; a changed one of the same is comparable."""
    for name, before, after in find_changes(old, new):
        if before.root_commit and after.root_commit:
            same = before.root_commit == after.root_commit
        else:
            same = _repository_name(before) == _repository_name(after)
        if not same:
            raise NotComparableError(
                f"the corpus of {name} is another repository: expected {_repository_text(before)}, "
                f"got {_repository_text(after)}",
                hint="compare runs of one repository; a full clone is identified by its first commit, not by its name",
            )


def _repository_name(facts: CorpusInfo) -> str:
    """Return the declared name; that of a directory without the hash of its place on the machine."""
    kind, _, name = facts.repository.partition(":")
    return f"{kind}:{name.rpartition('-')[0] or name}" if kind == "path" else facts.repository


def _repository_text(facts: CorpusInfo) -> str:
    name = _repository_name(facts).removeprefix("path:")
    return f"{name} (first commit {facts.root_commit[:9]})" if facts.root_commit else name


def change_sentences(old: Corpora, new: Corpora) -> list[str]:
    """Return a sentence with the changed files for each corpus that changed between two runs."""
    return [
        f"The corpus of {name} changed between the runs: {_changes_text(before, after)}."
        for name, before, after in find_changes(old, new)
    ]


def _changes_text(old: CorpusInfo, new: CorpusInfo) -> str:
    """Name the first changed files; a baseline file holds no paths, so files removed since are only counted."""
    if not old.file_digests or not new.file_digests:
        return f"{old.files} → {new.files} files"
    before, after = ({path_key(path): digest for path, digest in side.file_digests.items()} for side in (old, new))
    paths = {path_key(path): path for side in (old, new) for path in side.file_digests if not path.startswith("/")}
    changes = {
        "modified": [key for key in after.keys() & before.keys() if after[key] != before[key]],
        "added": after.keys() - before.keys(),
        "removed": before.keys() - after.keys(),
    }
    parts, room = [], _NAMED_FILES
    for change, keys in changes.items():
        names = sorted(paths[key] for key in keys if key in paths)[:room]
        room -= len(names)
        rest = ", …" if names and len(names) < len(keys) else ""
        parts += [f"{len(keys)} {change}" + (f" ({', '.join(names)}{rest})" if names else "")] if keys else []
    return ", ".join(parts)


def path_key(path: str) -> str:
    """Return a slash and a short digest of a path; a path that begins with a slash is returned unchanged."""
    return path if path.startswith("/") else f"/{text_digest(path)[:6]}"
