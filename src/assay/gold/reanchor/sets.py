"""Move a whole gold set from one commit to another, and write down what became of it."""

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
from assay.types import Adversary, GoldSet, LabelProvenance, Query, Target

_SHORT = 12  # digits of a commit in a message
_NAMED = 3  # commits that a message names; the rest is counted


@dataclass(frozen=True, slots=True)
class RepoCommits:
    """A repository and two of its commits."""

    repository: GitRepository
    old: str
    new: str


def locate(gold: GoldSet, repo: str | None, old: str | None, new: str) -> RepoCommits:
    """Find the repository that holds both revisions: the one that is named, else the corpus of the set."""
    corpus = gold.corpus
    old = old or made_at(gold)
    if repo is None and corpus.kind == "git" and is_url(corpus.value):
        return _mirrored(corpus.value, corpus.root or "", old, new)
    repository = _local(gold) if repo is None else GitRepository(Path(repo), corpus.root or "")
    return RepoCommits(repository, repository.commit(old), repository.commit(new))


def made_at(gold: GoldSet) -> str:
    """Say at which revision a set was made: that of its corpus, else the one commit that all of its labels name."""
    if gold.corpus.rev is not None:
        return gold.corpus.rev
    labels = [label for query in gold.queries for label in query.labels]
    commits = sorted({label.commit for label in labels})
    if gold.corpus.kind in ("git", "path") and len(commits) == 1 and commits[0]:
        return commits[0]
    raise GoldError(
        f"'{gold.name}' does not say which commit it was made at{_said(labels)}",
        file=gold.source,
        hint="name it with --from",
    )


def unlabelled(gold: GoldSet) -> int:
    """Count the anchors that no label says the commit of."""
    count = 0
    for query in gold.queries:
        labels = {label.target for label in query.labels}
        anchors = {target.anchor for target in (*query.targets, *(one.target for one in query.adversaries))}
        count += len(anchors - labels)
    return count


def _said(labels: Sequence[LabelProvenance]) -> str:
    commits = Counter(label.commit for label in labels)
    told = ", ".join(f"{commit[:_SHORT] or 'none'} ({count})" for commit, count in sorted(commits.items())[:_NAMED])
    more = f" and {len(commits) - _NAMED} more" if len(commits) > _NAMED else ""
    return f": its labels name {told}{more}" if any(commits) else ""


def _local(gold: GoldSet) -> GitRepository:
    corpus = gold.corpus
    if corpus.kind not in ("git", "path"):
        raise GoldError(
            f"the corpus of '{gold.name}' is {corpus.repository}, which has no history",
            file=gold.source,
            hint="name the git repository it was made from with --repo",
        )
    folder = (Path(gold.source).parent if gold.source else Path()) / Path(corpus.value).expanduser()
    inner = _prefix(folder) if corpus.kind == "path" and folder.is_dir() else ""
    return GitRepository(folder, "/".join(part for part in (inner, corpus.root or "") if part))


def _prefix(folder: Path) -> str:
    found = git("rev-parse", "--show-prefix", cwd=folder, limits=ArchiveLimits())
    return "" if found.code else found.out.decode("utf-8", "surrogateescape").strip().rstrip("/")


def _mirrored(url: str, root: str, old: str, new: str) -> RepoCommits:
    store = CorpusCache(cache_dir().absolute())
    with store.lock(f"mirror {url}"):
        first, last = (fetch_commit(store, url, rev, ArchiveLimits()) for rev in (old, new))
    return RepoCommits(GitRepository(last.folder, root), first.commit, last.commit)


Role = Literal["target", "adversary"]
Lost = Literal["refuse", "drop", "keep"]


@dataclass(frozen=True, slots=True)
class LabelMove:
    """The move of one label of one query."""

    query: str
    role: Role
    move: Move


@dataclass(frozen=True, slots=True)
class Moves:
    """Where everything in a gold set went between two commits."""

    gold: GoldSet
    old: str  # commits
    new: str
    rows: tuple[LabelMove, ...]
    digests: Mapping[Target, str] = field(default_factory=dict, repr=False)  # of the new lines of each old target

    @property
    def counts(self) -> dict[Confidence, int]:
        """How many labels went how."""
        found = Counter(row.move.confidence for row in self.rows)
        return {confidence: found[confidence] for confidence in CONFIDENCES}


@dataclass(frozen=True, slots=True)
class ReanchoredGold:
    """A gold set at the new commit, and sentences about what had to go."""

    gold: GoldSet
    notes: tuple[str, ...] = ()


def reanchor(gold: GoldSet, located: RepoCommits, config: Reanchoring = DEFAULT) -> Moves:
    """Find where each target and adversary of a gold set went between two commits."""
    old, new = (read_tree(located.repository, commit, config.file_bytes) for commit in (located.old, located.new))
    pair = CommitPair(old, new, config)
    known: dict[Target, Move] = {}
    rows: list[LabelMove] = []
    for query in gold.queries:
        for role, target in _labels(query):
            if target not in known:
                known[target] = relocate(pair, target)
            rows.append(LabelMove(query.id, role, known[target]))
    digests = {one: digest_of(pair, done.new.span) for one, done in known.items() if done.new and _has_lines(done.new)}
    return Moves(gold, located.old, located.new, tuple(rows), digests)


def _labels(query: Query) -> Iterator[tuple[Role, Target]]:
    for target in query.targets:
        yield "target", target
    for adversary in query.adversaries:
        yield "adversary", adversary.target


def _has_lines(target: Target) -> bool:
    return target.symbol is None and target.span.start is not None


def apply(moves: Moves, *, lost: Lost = "refuse", digest: bool = False) -> ReanchoredGold:
    """Give the gold set at the new commit. What was lost is refused, dropped, or kept as it was."""
    gone = sum(row.move.confidence == "lost" for row in moves.rows)
    if gone and lost == "refuse":
        what = "anchor" if gone == 1 else "anchors"
        raise GoldError(
            f"{gone} {what} of '{moves.gold.name}' could not be moved, so nothing is written",
            file=moves.gold.source,
            hint="look at them without --in-place and --out; anchor them anew, or give --drop-lost or --keep-lost",
        )
    placed = {row.move.old: _placed(row.move, moves, keep=lost == "keep", digest=digest) for row in moves.rows}
    notes: list[str] = []
    queries = [kept for query in moves.gold.queries if (kept := _moved(query, placed, moves.new, notes)) is not None]
    if not queries:
        raise GoldError(
            f"nothing is left of '{moves.gold.name}' at {moves.new[:12]}",
            file=moves.gold.source,
            hint="is this the right repository? name it with --repo",
        )
    corpus = moves.gold.corpus
    if corpus.kind == "git":
        corpus = replace(corpus, rev=moves.new)
    return ReanchoredGold(replace(moves.gold, corpus=corpus, queries=tuple(queries)), tuple(notes))


_Placed = Mapping[Target, Target | None]


def _placed(done: Move, moves: Moves, *, keep: bool, digest: bool) -> Target | None:
    if done.new is None:
        return done.old if keep else None
    if digest and _has_lines(done.new):
        return replace(done.new, digest=moves.digests[done.old])
    return done.new


def _moved(query: Query, placed: _Placed, commit: str, notes: list[str]) -> Query | None:
    targets: dict[str, Target] = {}
    for old in query.targets:
        new = placed[old]
        if new is None:
            notes.append(f"query '{query.id}': {old.anchor} was lost and is dropped")
        elif new.anchor in targets:
            notes.append(f"query '{query.id}': {old.anchor} is now {new.anchor}, which it names already")
        else:
            targets[new.anchor] = new
    if all(placed[target] is None for target in query.primaries):
        notes.append(f"query '{query.id}' has no primary target left and is removed")
        return None
    adversaries = tuple(_adversaries(query, placed, targets, notes))
    return replace(
        query,
        targets=tuple(targets.values()),
        adversaries=adversaries,
        labels=tuple(_relabelled(query, placed, commit)),
    )


def _adversaries(query: Query, placed: _Placed, targets: Mapping[str, Target], notes: list[str]) -> Iterator[Adversary]:
    seen: set[str] = set()
    for adversary in query.adversaries:
        new = placed[adversary.target]
        if new is None:
            notes.append(f"query '{query.id}': the adversary {adversary.target.anchor} was lost and is dropped")
        elif new.anchor in seen or any(_clash(new, target) for target in targets.values()):
            notes.append(f"query '{query.id}': the adversary {new.anchor} is named already and is dropped")
        else:
            seen.add(new.anchor)
            yield replace(adversary, target=new)


def _clash(wrong: Target, right: Target) -> bool:
    whole = any(one.symbol is None and one.span.start is None for one in (wrong, right))
    return wrong.anchor == right.anchor or (whole and wrong.span.path == right.span.path)


def _relabelled(query: Query, placed: _Placed, commit: str) -> Iterator[LabelProvenance]:
    anchors = {old.anchor: placed[old] for _, old in _labels(query)}
    for label in query.labels:
        new = anchors.get(label.target)
        if new is not None:
            yield replace(label, target=new.anchor, commit=commit if label.commit else "")


#: Gives the lines of a file of the corpus; None when it has no such file.
Lines = Callable[[str], Sequence[str] | None]


def with_digests(gold: GoldSet, lines: Lines) -> ReanchoredGold:
    """Give a set whose line anchors carry hashes; one that does not hold stays as it is and is told."""
    notes: list[str] = []
    queries = tuple(_hashed(query, lines, notes) for query in gold.queries)
    return ReanchoredGold(replace(gold, queries=queries), tuple(notes))


def _hashed(query: Query, lines: Lines, notes: list[str]) -> Query:
    new = {old.anchor: _target(old, query, lines, notes) for old in query.targets}
    wrong = {one.target.anchor: _target(one.target, query, lines, notes) for one in query.adversaries}
    anchors = {old: target.anchor for old, target in (new | wrong).items()}
    return replace(
        query,
        targets=tuple(new[old.anchor] for old in query.targets),
        adversaries=tuple(replace(one, target=wrong[one.target.anchor]) for one in query.adversaries),
        labels=tuple(replace(label, target=anchors.get(label.target, label.target)) for label in query.labels),
    )


def _target(target: Target, query: Query, lines: Lines, notes: list[str]) -> Target:
    start, end = target.span.start, target.span.end
    if target.symbol is not None or start is None or end is None or target.digest is not None:
        return target
    text = lines(target.span.path)
    if text is None or end > len(text):
        notes.append(f"query '{query.id}': {target.anchor} is not in the corpus, so it gets no hash")
        return target
    return replace(target, digest=content_digest(text[start - 1 : end]))
