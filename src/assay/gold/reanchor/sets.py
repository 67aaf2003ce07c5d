"""Move a whole gold set from one commit to another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from assay.corpus import ArchiveLimits, cache_dir
from assay.corpus.cache import CorpusCache
from assay.corpus.git import git
from assay.corpus.git_source import fetch_commit
from assay.corpus.spec import is_url
from assay.errors import GoldError
from assay.gold.anchors import content_digest
from assay.gold.reanchor.moves import digest_of, relocate
from assay.gold.reanchor.records import CONFIDENCES, DEFAULT, Confidence, Move, Reanchoring
from assay.gold.reanchor.trees import CommitPair, GitRepository, read_tree
from assay.types import GoldSet, Query, Target

_SHORT = 12  # digits of a commit in a message
_NAMED = 3  # commits that a message names; the rest is counted
Role = Literal["target", "adversary"]
Lost = Literal["refuse", "drop", "keep"]
#: Returns the lines of a file of the corpus, or None without such a file.
Lines = Callable[[str], Sequence[str] | None]


@dataclass(frozen=True, slots=True)
class RepoCommits:
    """A repository and two of its commits."""

    repository: GitRepository
    old: str
    new: str


def locate(gold: GoldSet, repo: str | None, old: str | None, new: str) -> RepoCommits:
    """Find the repository that holds both revisions: the given one, else the corpus of the set."""
    corpus, root = gold.corpus, gold.corpus.root or ""
    old = old or made_at(gold)
    if repo is None and corpus.kind == "git" and is_url(corpus.value):
        store = CorpusCache(cache_dir().absolute())
        with store.lock(f"mirror {corpus.value}"):
            first, last = (fetch_commit(store, corpus.value, rev, ArchiveLimits()) for rev in (old, new))
        return RepoCommits(GitRepository(last.folder, root), first.commit, last.commit)
    repository = _local_repository(gold) if repo is None else GitRepository(Path(repo), root)
    return RepoCommits(repository, repository.commit(old), repository.commit(new))


def made_at(gold: GoldSet) -> str:
    """Return the revision that a set was made at: that of its corpus, else the one commit of all its labels."""
    if gold.corpus.rev is not None:
        return gold.corpus.rev
    commits = Counter(label.commit for query in gold.queries for label in query.labels)
    if gold.corpus.kind in ("git", "path") and len(commits) == 1 and any(commits):
        return next(iter(commits))
    listed = ", ".join(f"{commit[:_SHORT] or 'none'} ({count})" for commit, count in sorted(commits.items())[:_NAMED])
    more = f" and {len(commits) - _NAMED} more" if len(commits) > _NAMED else ""
    labels = f": its labels name {listed}{more}" if any(commits) else ""
    raise GoldError(
        f"'{gold.name}' does not state the commit it was made at{labels}",
        file=gold.source,
        hint="set it with --from",
    )


def _local_repository(gold: GoldSet) -> GitRepository:
    corpus = gold.corpus
    if corpus.kind not in ("git", "path"):
        raise GoldError(
            f"the corpus of '{gold.name}' is {corpus.repository}, which has no history",
            file=gold.source,
            hint="set the git repository it was made from with --repo",
        )
    folder = (Path(gold.source).parent if gold.source else Path()) / Path(corpus.value).expanduser()
    prefix = ""
    if corpus.kind == "path" and folder.is_dir():
        found = git("rev-parse", "--show-prefix", cwd=folder, limits=ArchiveLimits())
        prefix = "" if found.code else found.out.decode("utf-8", "surrogateescape").strip().rstrip("/")
    return GitRepository(folder, "/".join(part for part in (prefix, corpus.root or "") if part))


def unlabelled(gold: GoldSet) -> int:
    """Count the anchors without a label, whose commit is therefore unknown."""
    return sum(
        len({target.anchor for _, target in _targets(query)} - {label.target for label in query.labels})
        for query in gold.queries
    )


def _targets(query: Query) -> Iterator[tuple[Role, Target]]:
    for target in query.targets:
        yield "target", target
    for adversary in query.adversaries:
        yield "adversary", adversary.target


@dataclass(frozen=True, slots=True)
class LabelMove:
    """The move of one target or adversary of one query."""

    query: str
    role: Role
    move: Move


@dataclass(frozen=True, slots=True)
class Moves:
    """The moves of all targets of a gold set between two commits."""

    gold: GoldSet
    old: str  # commits
    new: str
    rows: tuple[LabelMove, ...]
    digests: Mapping[Target, str] = field(default_factory=dict, repr=False)  # of the new lines of each old target

    @property
    def counts(self) -> dict[Confidence, int]:
        """Number of targets by confidence."""
        found = Counter(row.move.confidence for row in self.rows)
        return {confidence: found[confidence] for confidence in CONFIDENCES}


def reanchor(gold: GoldSet, located: RepoCommits, config: Reanchoring = DEFAULT) -> Moves:
    """Find where each target and adversary of a gold set moved between two commits."""
    old, new = (read_tree(located.repository, commit, config.file_bytes) for commit in (located.old, located.new))
    pair = CommitPair(old, new, config)
    known: dict[Target, Move] = {}
    rows: list[LabelMove] = []
    for query in gold.queries:
        for role, target in _targets(query):
            if target not in known:
                known[target] = relocate(pair, target)
            rows.append(LabelMove(query.id, role, known[target]))
    digests = {one: digest_of(pair, move.new.span) for one, move in known.items() if move.new and _has_lines(move.new)}
    return Moves(gold, located.old, located.new, tuple(rows), digests)


def _has_lines(target: Target) -> bool:
    return target.symbol is None and target.span.start is not None


@dataclass(frozen=True, slots=True)
class ReanchoredGold:
    """A gold set at the new commit, with notes on dropped labels."""

    gold: GoldSet
    notes: tuple[str, ...] = ()


def apply(moves: Moves, *, lost: Lost = "refuse", digest: bool = False) -> ReanchoredGold:
    """Return the gold set at the new commit; refuse, drop or keep lost targets."""
    gone = sum(row.move.confidence == "lost" for row in moves.rows)
    if gone and lost == "refuse":
        what = "anchor" if gone == 1 else "anchors"
        raise GoldError(
            f"{gone} {what} of '{moves.gold.name}' could not be moved, so nothing is written",
            file=moves.gold.source,
            hint="list them without --in-place and --out; correct them, or use --drop-lost or --keep-lost",
        )
    placed: dict[Target, Target | None] = {}
    for move in (row.move for row in moves.rows):
        placed[move.old] = move.new
        if move.new is None and lost == "keep":
            placed[move.old] = move.old
        elif move.new is not None and digest and _has_lines(move.new):
            placed[move.old] = replace(move.new, digest=moves.digests[move.old])
    notes: list[str] = []
    queries = [new for query in moves.gold.queries if (new := _move_query(query, placed, moves.new, notes)) is not None]
    if not queries:
        raise GoldError(
            f"no query of '{moves.gold.name}' is left at {moves.new[:_SHORT]}",
            file=moves.gold.source,
            hint="check the repository; set it with --repo",
        )
    corpus = moves.gold.corpus
    if corpus.kind == "git":
        corpus = replace(corpus, rev=moves.new)
    return ReanchoredGold(replace(moves.gold, corpus=corpus, queries=tuple(queries)), tuple(notes))


def _move_query(query: Query, placed: Mapping[Target, Target | None], commit: str, notes: list[str]) -> Query | None:
    targets: dict[str, Target] = {}
    for old in query.targets:
        new = placed[old]
        if new is None:
            notes.append(f"query '{query.id}': {old.anchor} was lost and is dropped")
        elif new.anchor in targets:
            notes.append(f"query '{query.id}': {old.anchor} is now {new.anchor}, which the query already has")
        else:
            targets[new.anchor] = new
    if all(placed[target] is None for target in query.primaries):
        notes.append(f"query '{query.id}' has no primary target left and is removed")
        return None
    adversaries = {}
    for adversary in query.adversaries:
        new = placed[adversary.target]
        if new is None:
            notes.append(f"query '{query.id}': the adversary {adversary.target.anchor} was lost and is dropped")
        elif new.anchor in adversaries or any(_is_conflict(new, target) for target in targets.values()):
            notes.append(f"query '{query.id}': the adversary {new.anchor} duplicates another label and is dropped")
        else:
            adversaries[new.anchor] = replace(adversary, target=new)
    anchors = {old.anchor: placed[old] for _, old in _targets(query)}
    labels = tuple(
        replace(label, target=new.anchor, commit=commit if label.commit else "")
        for label in query.labels
        if (new := anchors.get(label.target)) is not None
    )
    return replace(query, targets=tuple(targets.values()), adversaries=tuple(adversaries.values()), labels=labels)


def _is_conflict(wrong: Target, right: Target) -> bool:
    whole = any(one.symbol is None and one.span.start is None for one in (wrong, right))
    return wrong.anchor == right.anchor or (whole and wrong.span.path == right.span.path)


def with_digests(gold: GoldSet, lines: Lines) -> ReanchoredGold:
    """Return a set whose line anchors have content hashes, with notes on anchors outside the corpus."""
    notes: list[str] = []
    queries = []
    for query in gold.queries:
        new = {old.anchor: _add_digest(old, query, lines, notes) for old in query.targets}
        wrong = {one.target.anchor: _add_digest(one.target, query, lines, notes) for one in query.adversaries}
        anchors = {old: target.anchor for old, target in (new | wrong).items()}
        changed = replace(
            query,
            targets=tuple(new[old.anchor] for old in query.targets),
            adversaries=tuple(replace(one, target=wrong[one.target.anchor]) for one in query.adversaries),
            labels=tuple(replace(label, target=anchors.get(label.target, label.target)) for label in query.labels),
        )
        queries.append(changed)
    return ReanchoredGold(replace(gold, queries=tuple(queries)), tuple(notes))


def _add_digest(target: Target, query: Query, lines: Lines, notes: list[str]) -> Target:
    start, end = target.span.start, target.span.end
    if target.symbol is not None or start is None or end is None or target.digest is not None:
        return target
    text = lines(target.span.path)
    if text is None or end > len(text):
        notes.append(f"query '{query.id}': {target.anchor} is not in the corpus, so it gets no hash")
        return target
    return replace(target, digest=content_digest(text[start - 1 : end]))
