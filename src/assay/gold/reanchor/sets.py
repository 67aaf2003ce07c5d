"""Move a whole gold set from one commit to another, and write down what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from assay.errors import GoldError
from assay.gold.reanchor.config import DEFAULT, Reanchoring
from assay.gold.reanchor.deciding import digest_of, move
from assay.gold.reanchor.locating import Located
from assay.gold.reanchor.pair import Pair
from assay.gold.reanchor.records import CONFIDENCES, Confidence, Move
from assay.gold.reanchor.trees import read_tree
from assay.types import Adversary, Gold, Label, Query, Target

Role = Literal["target", "adversary"]
Lost = Literal["refuse", "drop", "keep"]


@dataclass(frozen=True, slots=True)
class Row:
    """The move of one label of one query."""

    query: str
    role: Role
    move: Move


@dataclass(frozen=True, slots=True)
class Moves:
    """Where everything in a gold set went between two commits."""

    gold: Gold
    old: str  # commits
    new: str
    rows: tuple[Row, ...]
    digests: Mapping[Target, str] = field(default_factory=dict, repr=False)  # of the new lines of each old target

    @property
    def counts(self) -> dict[Confidence, int]:
        """How many labels went how."""
        found = Counter(row.move.confidence for row in self.rows)
        return {confidence: found[confidence] for confidence in CONFIDENCES}


@dataclass(frozen=True, slots=True)
class Applied:
    """A gold set at the new commit, and sentences about what had to go."""

    gold: Gold
    notes: tuple[str, ...] = ()


def reanchor(gold: Gold, located: Located, config: Reanchoring = DEFAULT) -> Moves:
    """Find where each target and adversary of a gold set went between two commits."""
    old, new = (read_tree(located.repository, commit, config.file_bytes) for commit in (located.old, located.new))
    pair = Pair(old, new, config)
    known: dict[Target, Move] = {}
    rows: list[Row] = []
    for query in gold.queries:
        for role, target in _labels(query):
            if target not in known:
                known[target] = move(pair, target)
            rows.append(Row(query.id, role, known[target]))
    digests = {one: digest_of(pair, done.new.span) for one, done in known.items() if done.new and _has_lines(done.new)}
    return Moves(gold, located.old, located.new, tuple(rows), digests)


def _labels(query: Query) -> Iterator[tuple[Role, Target]]:
    """Yield all that a query points to."""
    for target in query.targets:
        yield "target", target
    for adversary in query.adversaries:
        yield "adversary", adversary.target


def _has_lines(target: Target) -> bool:
    """Tell whether a target is a line anchor."""
    return target.symbol is None and target.span.start is not None


def apply(moves: Moves, *, lost: Lost = "refuse", digest: bool = False) -> Applied:
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
    return Applied(replace(moves.gold, corpus=corpus, queries=tuple(queries)), tuple(notes))


_Placed = Mapping[Target, Target | None]


def _placed(done: Move, moves: Moves, *, keep: bool, digest: bool) -> Target | None:
    """Give the new target of a move; None for what is dropped."""
    if done.new is None:
        return done.old if keep else None
    if digest and _has_lines(done.new):
        return replace(done.new, digest=moves.digests[done.old])
    return done.new


def _moved(query: Query, placed: _Placed, commit: str, notes: list[str]) -> Query | None:
    """Give a query with its labels moved; none without a primary."""
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
    """Yield the adversaries that are still wrong answers: one that fell together with a target is none."""
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
    """Tell whether an adversary is a target, or one of both is the whole file the other lies in."""
    whole = any(one.symbol is None and one.span.start is None for one in (wrong, right))
    return wrong.anchor == right.anchor or (whole and wrong.span.path == right.span.path)


def _relabelled(query: Query, placed: _Placed, commit: str) -> Iterator[Label]:
    """Yield where the labels come from, under their new anchors, at the new commit where they had one."""
    anchors = {old.anchor: placed[old] for _, old in _labels(query)}
    for label in query.labels:
        new = anchors.get(label.target)
        if new is not None:
            yield replace(label, target=new.anchor, commit=commit if label.commit else "")
