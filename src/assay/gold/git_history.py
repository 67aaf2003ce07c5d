from __future__ import annotations

import getpass
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from assay.corpus import decode_text, read_text
from assay.corpus.git import git, parse_hunk, read_blobs
from assay.corpus.sources import find_work_tree
from assay.corpus.unpack import ArchiveLimits
from assay.errors import AssayError, SetupError
from assay.gold.anchors import AnchorLines, all_targets, content_digest
from assay.syntax.text import split_lines
from assay.types import Corpus, GoldSet, Target

#: Starts a commit in the output of git; paths and diff lines never start with it.
_BEGIN: Final = "\x01"
#: Paths are not quoted; a rename is a removed and an added file.
_PLAIN: Final = ("-c", "core.quotePath=false")
_DIFF: Final = ("--relative", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv", "--submodule=short")
#: Merges are compared to their first parent.
_FIRST_PARENT: Final = ("-m", "--first-parent")


class Commit(NamedTuple):
    id: str
    subject: str
    paths: tuple[str, ...]


class CommitMessage(NamedTuple):
    author: str
    body: str


class ChangedLines(NamedTuple):
    """The lines of the new file that a commit changed; a pure removal counts as the line before it, or as line 1."""

    commit: str
    path: str
    lines: tuple[int, ...] = ()


def list_commits(directory: Path, most: int, revision: str = "HEAD") -> tuple[Commit, ...]:
    """List up to `most` of the newest commits that changed a file below a directory, without merge commits."""
    return _list(directory, most, "--no-merges", revision)


def list_merges(directory: Path, most: int, revision: str = "HEAD") -> tuple[Commit, ...]:
    """List up to `most` of the newest merges along first parents, with the files of a directory that each changed."""
    return _list(directory, most, "--merges", *_FIRST_PARENT, revision)


def _list(directory: Path, most: int, *which: str) -> tuple[Commit, ...]:
    printed = _run(directory, "log", *which, f"-n{most}", f"--format={_BEGIN}%H %s", "--name-only", *_DIFF, "--", ".")
    commits = []
    for part in _split_commits(printed):
        head, *names = part.split("\n")
        commit, _, subject = head.partition(" ")
        paths = tuple(name for name in names if name and not name.startswith('"'))
        commits.append(Commit(commit, subject.strip(), paths))
    return tuple(commits)


def _run(directory: Path, *arguments: str) -> str:
    answer = git(*_PLAIN, *arguments, cwd=directory, limits=ArchiveLimits())
    if answer.code:
        raise SetupError(f"cannot read the git history of {directory}: {answer.last_error_line}")
    return answer.out.decode("utf-8", "surrogateescape")


def _split_commits(printed: str) -> list[str]:
    return f"\n{printed}".split(f"\n{_BEGIN}")[1:]


def list_renames(directory: Path, most: int, revision: str = "HEAD") -> dict[str, str]:
    """Return the newest path of each file below a directory that the newest `most` commits renamed."""
    options = ("--no-merges", f"-n{most}", "--format=", "--name-status", "-M", "--diff-filter=R", "--relative")
    newest: dict[str, str] = {}
    for line in _run(directory, "log", *options, revision, "--", ".").split("\n"):
        status, _, paths = line.partition("\t")
        old, _, new = paths.partition("\t")
        if status.startswith("R"):
            newest.setdefault(old, newest.get(new, new))
    return newest


def list_changes(directory: Path, ids: Sequence[str]) -> tuple[ChangedLines, ...]:
    if not ids:
        return ()
    prefixes = ("--src-prefix=a/", "--dst-prefix=b/")
    printed = _run(directory, "show", "-U0", f"--format={_BEGIN}%H", *_FIRST_PARENT, *_DIFF, *prefixes, *ids, "--", ".")
    return tuple(change for part in _split_commits(printed) for change in _parse_changes(part))


def _parse_changes(printed: str) -> Iterator[ChangedLines]:
    lines = iter(printed.split("\n"))
    commit, path, written = next(lines), "", list[int]()
    for line in lines:
        hunk = parse_hunk(line)
        if line.startswith("+++ "):
            yield from [ChangedLines(commit, path, tuple(written))] if written else []
            path, written = line.removeprefix("+++ ").removeprefix("b/").rstrip("\t"), []
        elif hunk is not None:
            start, added = hunk.new_start, hunk.new_count
            written += range(start, start + added) if added else [max(start, 1)]
            left = hunk.old_count + added
            while left > 0:  # skip the hunk, whose lines may resemble headers
                left -= not next(lines, "").startswith("\\ ")
    yield from [ChangedLines(commit, path, tuple(written))] if written else []


def read_messages(directory: Path, ids: Sequence[str]) -> Mapping[str, CommitMessage]:
    if not ids:
        return {}
    printed = _run(directory, "log", "--no-walk", "-z", "--format=%H%x00%an%x00%b", *ids)
    fields = printed.split("\0")
    rows = zip(fields[::3], fields[1::3], fields[2::3], strict=False)
    return {commit.strip(): CommitMessage(author, body.strip()) for commit, author, body in rows}


def read_old_texts(directory: Path, wanted: Sequence[ChangedLines]) -> Mapping[ChangedLines, str]:
    texts = read_blobs((f"{change.commit}:./{change.path}" for change in wanted), cwd=directory)
    pairs = ((change, data) for change, data in zip(wanted, texts, strict=True) if data is not None)
    return {change: data.decode("utf-8", "replace").removeprefix("\ufeff") for change, data in pairs}


def commit_of(corpus: Corpus) -> str:
    """Return the revision of a corpus, or else the HEAD of its work tree, or an empty string."""
    if corpus.revision:
        return corpus.revision
    top = find_work_tree(corpus.root)
    return _try_git("rev-parse", "--verify", "--quiet", "HEAD", directory=top) if top else ""


def written_commits(gold: GoldSet, root: Path) -> dict[Target, str]:
    """Return the commit that wrote each target into the gold file, if the corpus is in the same work tree.

    Targets in uncommitted lines are left out.
    """
    source = Path(gold.source or "").absolute()
    top = find_work_tree(root.absolute())
    if top is None or not source.is_file() or find_work_tree(source.parent) != top:
        return {}
    blame = _try_git("blame", "--porcelain", "-w", "--no-textconv", "--", source.name, directory=source.parent)
    commits = re.findall(r"^([0-9a-f]{40,64}) [0-9]+ [0-9]+", blame, re.MULTILINE)  # one per line of the file
    lines, written = AnchorLines(gold), {}
    for query in gold.queries:
        for target in all_targets(query):
            number = lines.find(query, target.anchor)
            if number is not None and number <= len(commits) and commits[number - 1].strip("0"):
                written[target] = commits[number - 1]
    return written


def reanchor_hint(source: str) -> str:
    return f"assay gold reanchor {source} --to HEAD --digest --in-place"


def find_stale_ranges(gold: GoldSet, corpus: Corpus) -> tuple[Target, ...]:
    """Return the line ranges without a content hash whose text changed since the commit that wrote them."""
    unguarded = {t for query in gold.queries for t in all_targets(query) if t.span.start and not (t.symbol or t.digest)}
    if gold.corpus.kind != "path" or not unguarded:
        return ()
    known = {file.path for file in corpus.files}
    commits = written_commits(gold, corpus.root)
    ranges = [target for target in commits if target in unguarded and target.span.path in known]
    names = dict.fromkeys(f"{commits[target]}:./{target.span.path}" for target in ranges)
    texts = dict(zip(names, read_blobs(names, cwd=corpus.root), strict=True)) if names else {}
    stale = []
    for target in ranges:
        path, lines = target.span.path, slice((target.span.start or 1) - 1, target.span.end)
        before = texts[f"{commits[target]}:./{path}"]
        if before is not None:
            old, new = split_lines(decode_text(before)), split_lines(read_text(corpus, path))
            if content_digest(old[lines]) != content_digest(new[lines]):
                stale.append(target)
    return tuple(stale)


def user_name(directory: Path) -> str:
    """Return Git's user.name, or else the login name, or "unknown"."""
    name = _try_git("config", "user.name", directory=directory)
    try:
        return name or getpass.getuser()
    except (KeyError, OSError):  # containers may have no user entry
        return "unknown"


def _try_git(*arguments: str, directory: Path) -> str:
    try:
        answer = git(*arguments, cwd=directory, limits=ArchiveLimits())
    except (AssayError, OSError):
        return ""
    return answer.out.decode("utf-8", "replace").strip() if answer.code == 0 else ""
