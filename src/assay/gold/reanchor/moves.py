"""Find the targets and adversaries of a gold set in another commit, each with a confidence, and update the set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final, Literal

from assay.corpus import ArchiveLimits
from assay.corpus.git import fetch_commit, git, open_mirror
from assay.corpus.spec import is_url
from assay.errors import GoldError
from assay.gold.anchors import content_digest, find_digest
from assay.gold.git_history import written_commits
from assay.gold.reanchor.commits import DEFAULT, CommitPair, CommitTree, GitRepository, ReanchorConfig
from assay.gold.reanchor.matching import MoveCandidate, find_candidates, find_elsewhere, find_in_file, find_scattered
from assay.gold.reanchor.sections import FileRange
from assay.store.kinds import cache_dir
from assay.store.store import Store
from assay.types import GoldSet, Query, Span, Target

_SHORT = 12  # digits of a commit in a message
_NAMED = 3  # commits that a message names; the rest is counted
Role = Literal["target", "adversary"]
LostPolicy = Literal["refuse", "drop", "keep"]
#: Returns the lines of a file of the corpus, or None if there is no such file.
LineReader = Callable[[str], Sequence[str] | None]
Confidence = Literal["unchanged", "exact", "sure", "low", "lost"]
#: From best to worst. Unchanged: same lines, same text. Exact: same text elsewhere. Sure: found by name, or by lines of
#: which most are left. Low: some evidence, needs review. Lost: not enough evidence.
CONFIDENCES: Final[Sequence[Confidence]] = ("unchanged", "exact", "sure", "low", "lost")


@dataclass(frozen=True, slots=True)
class MoveSuggestion:
    span: Span
    likeness: float
    reason: str


@dataclass(frozen=True, slots=True)
class TargetMove:
    """The move of a target; `new` is None if the target is lost, and `candidates` are possible locations."""

    old: Target
    new: Target | None
    confidence: Confidence
    likeness: float
    reason: str
    candidates: tuple[MoveSuggestion, ...] = ()


@dataclass(frozen=True, slots=True)
class LabelMove:
    query: str
    role: Role
    move: TargetMove


@dataclass(frozen=True, slots=True)
class GoldMoves:
    gold: GoldSet
    old: str  # commits
    new: str
    rows: tuple[LabelMove, ...]
    digests: Mapping[Target, str] = field(default_factory=dict, repr=False)  # of the new lines of each old target

    @property
    def counts(self) -> dict[Confidence, int]:
        counts = Counter(row.move.confidence for row in self.rows)
        return {confidence: counts[confidence] for confidence in CONFIDENCES}


@dataclass(frozen=True, slots=True)
class RepoCommits:
    repository: GitRepository
    old: str
    new: str
    written: Mapping[Target, str] = field(default_factory=dict)  # commits of targets labeled at another one than `old`


def locate_commits(gold: GoldSet, repo: str | None, old: str | None, new: str) -> RepoCommits:
    """Resolve `old` and `new` in `repo`, else in the corpus of the set; `old` defaults to the labeled revision."""
    corpus, root = gold.corpus, gold.corpus.root or ""
    old = old or labeled_revision(gold)
    if repo is not None:
        repository = GitRepository(Path(repo), root)
    elif corpus.kind == "git" and is_url(corpus.value):
        with open_mirror(Store(cache_dir().absolute()), corpus.value) as directory:
            first, last = (fetch_commit(directory, corpus.value, rev, ArchiveLimits()) for rev in (old, new))
        return RepoCommits(GitRepository(directory, root), first, last)
    elif corpus.kind in ("git", "path"):
        directory = (Path(gold.source).parent if gold.source else Path()) / Path(corpus.value).expanduser()
        if corpus.kind == "path" and directory.is_dir():
            result = git("rev-parse", "--show-prefix", cwd=directory)
            prefix = "" if result.code else result.out.decode("utf-8", "surrogateescape").strip().rstrip("/")
            root = "/".join(part for part in (prefix, root) if part)
        repository = GitRepository(directory, root)
    else:
        message = f"the corpus of '{gold.name}' is {corpus.repository}, which has no history"
        raise GoldError(message, file=gold.source, hint="set a Git repository with --repo")
    return RepoCommits(repository, repository.commit(old), repository.commit(new))


def labeled_revision(gold: GoldSet) -> str:
    """Return the revision of the set's corpus, else the only commit in its labels; raise GoldError without either."""
    if gold.corpus.rev is not None:
        return gold.corpus.rev
    commits = Counter(label.commit for query in gold.queries for label in query.labels)
    if gold.corpus.kind in ("git", "path") and len(commits) == 1 and any(commits):
        return next(iter(commits))
    listed = ", ".join(f"{commit[:_SHORT] or 'none'} ({count})" for commit, count in sorted(commits.items())[:_NAMED])
    more = f" and {len(commits) - _NAMED} more" if len(commits) > _NAMED else ""
    labels = f": its labels name {listed}{more}" if any(commits) else ""
    message = f"'{gold.name}' does not state the commit of its labels{labels}"
    hint = f"name the commit that it was written for: assay gold reanchor {gold.source} --from COMMIT --to HEAD"
    raise GoldError(message, file=gold.source, hint=hint)


def find_written(gold: GoldSet) -> dict[Target, str]:
    """Return the commit that wrote each target into the gold file, or HEAD if the line is not committed.

    The result is empty if the set or its labels name a commit, or if Git does not track the gold file.
    """
    labeled = gold.corpus.rev or any(label.commit for query in gold.queries for label in query.labels)
    if labeled or gold.corpus.kind != "path" or not gold.source:
        return {}
    root = Path(gold.source).parent / Path(gold.corpus.value).expanduser()
    written = written_commits(gold, root / (gold.corpus.root or ""))
    every = [target for query in gold.queries for _, target in _targets(query)]
    return {target: written.get(target, "HEAD") for target in every} if written else {}


def count_unlabeled(gold: GoldSet) -> int:
    return sum(
        len({target.anchor for _, target in _targets(query)} - {label.target for label in query.labels})
        for query in gold.queries
    )


def _targets(query: Query) -> Iterator[tuple[Role, Target]]:
    yield from (("target", target) for target in query.targets)
    yield from (("adversary", adversary.target) for adversary in query.adversaries)


def reanchor(gold: GoldSet, located: RepoCommits, config: ReanchorConfig = DEFAULT) -> GoldMoves:
    new = CommitTree(located.repository, located.new, config.file_bytes)
    pairs = cache(lambda commit: CommitPair(CommitTree(located.repository, commit, config.file_bytes), new, config))
    known: dict[Target, TargetMove] = {}
    rows: list[LabelMove] = []
    for query in gold.queries:
        for role, target in _targets(query):
            if target not in known:
                known[target] = _relocate(pairs(located.written.get(target, located.old)), target)
            rows.append(LabelMove(query.id, role, known[target]))
    moved = {target: move.new for target, move in known.items() if move.new and _has_lines(move.new)}
    digests = {target: _digest(pairs(located.old), new.span) for target, new in moved.items()}
    return GoldMoves(gold, located.old, located.new, tuple(rows), digests)


def _has_lines(target: Target) -> bool:
    return target.symbol is None and target.span.start is not None


def _relocate(pair: CommitPair, target: Target) -> TargetMove:
    span = target.span
    if span.path not in pair.old:
        return _lost(target, f"{span.path} is not in the old revision")
    if target.symbol is not None:
        return _move_symbol(pair, target, target.symbol)
    if span.start is None or span.end is None:
        return _move_file(pair, target)
    return _move_lines(pair, target, FileRange(span.path, span.start, span.end))


def _digest(pair: CommitPair, span: Span) -> str:
    return content_digest(pair.after(span.path).lines[(span.start or 1) - 1 : span.end or 1])


def judge_confidence(old: FileRange, candidate: MoveCandidate, config: ReanchorConfig) -> Confidence:
    if candidate.exact:
        return "unchanged" if candidate.span == old.span else "exact"
    if candidate.by in ("scattered", "words"):
        least = config.scattered if candidate.by == "scattered" else config.scattered_sure
        sure = candidate.by == "scattered" and candidate.likeness >= config.scattered_sure
        return "sure" if sure else "low" if candidate.likeness >= least else "lost"
    if candidate.by == "new name":
        return "sure" if candidate.likeness >= config.renamed_sure else "low"
    if candidate.by == "around" or candidate.contained < config.named:
        return "lost"
    length = (candidate.span.end or 0) - (candidate.span.start or 0) + 1
    grown = length > config.grown * old.length + config.grown_lines  # it includes other code
    shrunk = length < config.shrunk * old.length  # most of the old range moved elsewhere or was removed
    return "sure" if candidate.likeness >= config.sure and not grown and not shrunk else "low"


def _lost(target: Target, reason: str, candidates: Iterable[MoveSuggestion] = (), likeness: float = 0.0) -> TargetMove:
    return TargetMove(target, None, "lost", likeness, reason, tuple(candidates))


def _move_lines(pair: CommitPair, target: Target, old: FileRange) -> TargetMove:
    before = pair.before(old.path)
    starts = [old.start] if old.end <= len(before.lines) else []
    if target.digest is not None and content_digest(before.text(old)) != target.digest:
        starts = list(find_digest(before.lines, target.digest, old.length))
    if len(starts) != 1:
        return _lost(target, "the range is not valid in the old revision")
    old = FileRange(old.path, starts[0], starts[0] + old.length - 1)
    candidates = find_candidates(pair, old)
    if not candidates:
        return _lost(target, "no similar code in the new revision")
    best, others = candidates[0], _suggest(pair, candidates[1:])
    confidence = judge_confidence(old, best, pair.config)
    if confidence == "lost":
        return _lost(target, "no sufficiently similar code", (*_suggest(pair, candidates[:1]), *others), best.likeness)
    new = replace(target, span=best.span, unit=None, digest=target.digest and _digest(pair, best.span))
    return TargetMove(target, new, confidence, best.likeness, best.reason, others if confidence == "low" else ())


def _suggest(pair: CommitPair, candidates: Iterable[MoveCandidate]) -> tuple[MoveSuggestion, ...]:
    likely = [c for c in candidates if c.likeness >= pair.config.candidate or c.by in ("name", "around")]
    return tuple(MoveSuggestion(c.span, c.likeness, c.reason) for c in likely[: pair.config.listed])


def _move_symbol(pair: CommitPair, target: Target, symbol: str) -> TargetMove:
    path = target.span.path
    part = next((part for part in pair.before(path).parts if part.name == symbol), None)
    if part is None or pair.before(path).is_document:
        return _lost(target, f"symbol '{symbol}' is not in the old revision")
    here = [mate for other in pair.successors(path) if (mate := find_in_file(pair, part, other)) is not None]
    best = max(here, key=lambda mate: (mate.named, mate.likeness, mate.part.path), default=None)
    if best is None or (best.likeness < pair.config.moved and (best.part.path, best.part.name) != (path, symbol)):
        best = find_elsewhere(pair, part) or best
    if best is None:
        return _lost(target, "the definition was removed", _suggest(pair, find_candidates(pair, part)))
    new = best.part
    confidence: Confidence
    if pair.before(path).text(part) == pair.after(new.path).text(new):
        confidence = "unchanged" if (new.path, new.name) == (path, symbol) else "exact"
    elif not best.named:
        confidence = "sure" if best.likeness >= pair.config.renamed_sure else "low"
    else:
        confidence = "sure" if max(best.likeness, pair.share_in(part, new)) >= pair.config.sure else "low"
    moved = Target(Span(new.path), target.grade, new.name)
    return TargetMove(target, moved, confidence, best.likeness, best.reason)


def _move_file(pair: CommitPair, target: Target) -> TargetMove:
    path = target.span.path
    old = pair.before(path).whole

    def alike(other: str) -> float:
        return pair.compare(old, pair.after(other).whole)

    confidence: Confidence
    if path in pair.new:
        changed: Confidence = "sure" if pair.share_in(old, pair.after(path).whole) >= pair.config.named else "low"
        confidence = "unchanged" if pair.old.blobs[path] == pair.new.blobs[path] else changed
        return TargetMove(target, target, confidence, alike(path), "same path")
    scored_successors = [(alike(other), other) for other in pair.successors(path)]
    if scored_successors:
        likeness, other = max(scored_successors)
        exact = pair.before(path).lines == pair.after(other).lines
        confidence = "exact" if exact else "sure" if likeness >= pair.config.sure else "low"
        return TargetMove(target, replace(target, span=Span(other)), confidence, likeness, f"renamed to {other}")
    name = PurePosixPath(path).name
    named = {other for other in pair.new.blobs if PurePosixPath(other).name == name}
    holding = {lines.path for lines in find_scattered(pair, old, whole=False)}
    scored = [(-alike(other), other) for other in named | holding]
    suggested = [
        MoveSuggestion(Span(other), -worth, "same file name" if other in named else "some old lines")
        for worth, other in sorted(scored)[: pair.config.listed]
        if -worth >= pair.config.candidate
    ]
    return _lost(target, "the file was removed", suggested)


@dataclass(frozen=True, slots=True)
class ReanchoredGold:
    gold: GoldSet
    notes: tuple[str, ...] = ()  # on dropped labels and missing hashes


def apply_moves(moves: GoldMoves, *, lost: LostPolicy = "refuse", digest: bool = False) -> ReanchoredGold:
    """Return the gold set at the new commit; raise on lost targets, drop them or keep them, depending on `lost`."""
    lost_count = sum(row.move.confidence == "lost" for row in moves.rows)
    if lost_count and lost == "refuse":
        noun = "anchor" if lost_count == 1 else "anchors"
        message = f"{lost_count} {noun} of '{moves.gold.name}' could not be moved, so nothing is written"
        hint = "list lost anchors without --in-place and --out, then correct the set, or use --drop-lost or --keep-lost"
        raise GoldError(message, file=moves.gold.source, hint=hint)
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
        message = f"no query of '{moves.gold.name}' has a primary target at {moves.new[:_SHORT]}"
        raise GoldError(message, file=moves.gold.source, hint="check --repo, --from and --to")
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
            notes.append(f"query '{query.id}': the adversary {new.anchor} overlaps another label and is dropped")
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
    whole = any(target.symbol is None and target.span.start is None for target in (wrong, right))
    return wrong.anchor == right.anchor or (whole and wrong.span.path == right.span.path)


def add_digests(gold: GoldSet, lines: LineReader) -> ReanchoredGold:
    """Return the set with content hashes on its line anchors, and notes on anchors that are not in the corpus."""
    notes: list[str] = []

    def add_digest(target: Target, query: Query) -> Target:
        start, end = target.span.start, target.span.end
        if target.symbol is not None or start is None or end is None or target.digest is not None:
            return target
        text = lines(target.span.path)
        if text is None or end > len(text):
            notes.append(f"query '{query.id}': {target.anchor} is not in the corpus and gets no hash")
            return target
        return replace(target, digest=content_digest(text[start - 1 : end]))

    queries: list[Query] = []
    for query in gold.queries:
        new = {old.anchor: add_digest(old, query) for _, old in _targets(query)}
        anchors = {old: target.anchor for old, target in new.items()}
        targets = tuple(new[old.anchor] for old in query.targets)
        adversaries = tuple(replace(adversary, target=new[adversary.target.anchor]) for adversary in query.adversaries)
        labels = tuple(replace(label, target=anchors.get(label.target, label.target)) for label in query.labels)
        queries.append(replace(query, targets=targets, adversaries=adversaries, labels=labels))
    return ReanchoredGold(replace(gold, queries=tuple(queries)), tuple(notes))
