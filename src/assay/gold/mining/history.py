"""Intents from git: what a commit or a merged pull request was about, and the definitions it changed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from assay.corpus.git import find_top
from assay.corpus.spec import is_url
from assay.errors import SetupError
from assay.gold.history import Commit, Message, list_commits, list_merges, messages
from assay.gold.leaks import leakage
from assay.gold.mining.codebase import CodeIndex, DefinitionRef, lies_in, stems
from assay.gold.mining.config import CHANGES
from assay.gold.mining.intake import Intent, MinedItems, generator, is_query_length, normalized, sample_by_file
from assay.gold.mining.questions import change_question, stands_alone, tells_change, weight
from assay.gold.review.items import Origin
from assay.gold.synth.sets import ChangedDefinition, SampleSize, is_aside, touched
from assay.syntax.identifiers import parts, split
from assay.syntax.prose import content, is_prose, is_trivial, names_it, plain_subject, sentences
from assay.types import PRIMARY, SECONDARY, Corpus, Target

if TYPE_CHECKING:
    import numpy as np


_PULL_REQUEST: Final = re.compile(
    r"^Merge pull request #(\d+)|^Merged? in .*\(pull request #(\d+)\)|See merge request \S*!(\d+)", re.MULTILINE
)
_SQUASHED: Final = re.compile(r"\(#(\d+)\)\s*$")
#: `feat (WIP): `; what conventions put before a title without a blank goes with the subject's prefix.
_KIND: Final = re.compile(r"^\W*\w+\s*\([^()]*\)\s*!?:\s+|^[a-z]+ [a-z]+: ")
_BOT: Final = re.compile(r"\[bot\]|\b(?:dependabot|renovate|pre-commit-ci|github-actions|greenkeeper)\b", re.IGNORECASE)
#: Changes that leave no behaviour behind which somebody could look for.
_IDLE: Final = re.compile(
    r"^(?:remove|drop|delete|rename|move|reorder|clean|cleanup|tidy|simplify|tweak|polish|minor|misc|more|some|small"
    r"|improve|optimi[sz]e|speed|micro|port|migrate|rework|rewrite|restructure|reorganize|extract|inline|split|modernize"
    r"|nit|oops|attempt|try|temporar\w*|address|apply|respond|follow|update|upgrade|switch|start|begin|finish|tests?"
    r"|deprecate|unused|make \w+ (?:private|public|internal|happy)|merge|sync)\b"
    r"|\b(?:tests?|testing|coverage|ci|benchmarks?|bench|examples?|review|feedback|suggestions?|imports?|msrv|nightly"
    r"|edge cases?|missing|typings?|types?|typed"
    r"|python ?[23]|py[23]\d?|rust ?\d|deps?|dependenc\w+|crates?|packag(?:e|ing)|compile|compilation|builds?|makefile"
    r"|docs?|doc|docstring|regression|version|todo|cleanups?|renam\w+|unused|deprecat\w+|edition|pylint|pyright)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Past:
    """Where git is asked, and from which commit on; its paths are those of the corpus."""

    folder: Path
    revision: str = "HEAD"


@dataclass(frozen=True, slots=True)
class _Told:
    """A commit, and what it was about."""

    commit: Commit
    text: str
    source: str
    reviewed: bool


def mine_history(ground: CodeIndex, wanted: SampleSize) -> MinedItems:
    """Propose what commits and pull requests were about, where what they changed is still there."""
    past = _past(ground.corpus)
    if isinstance(past, str):
        return MinedItems(notes=(f"history: {past}",))
    try:
        intents = _intents(ground, past, wanted, generator(wanted, "history"))
    except SetupError as error:
        return MinedItems(notes=(f"history: {error.message}",))
    if not intents:
        return MinedItems(
            notes=("history: no commit changed a few definitions that are still there and says what it did",)
        )
    reviewed = _without_twins([intent for intent in intents if "pull request" in intent.origin.source])
    drawn = sample_by_file(reviewed, wanted, generator(wanted, "history"))
    others = _without_twins([*reviewed, *(intent for intent in intents if intent not in reviewed)])[len(reviewed) :]
    more = sample_by_file(others, replace(wanted, count=wanted.count - len(drawn)), generator(wanted, "history"))
    return MinedItems((*drawn, *more))


def _past(corpus: Corpus) -> _Past | str:
    spec = corpus.spec
    if spec.kind != "git":
        root = corpus.root.resolve()
        none = "the corpus is not in a git work tree, so no commit can be asked"
        return none if find_top(root) is None else _Past(root)
    if is_url(spec.value):
        return "of a remote repository only the files are here; clone it, and name the folder of the clone"
    top = find_top(Path(spec.value).expanduser().resolve())
    folder = top / (spec.root or "") if top else None
    if folder is None or not folder.is_dir():
        return f"git:{spec.value} has no work tree to read it from; check {spec.rev or 'it'} out, and name that folder"
    return _Past(folder, corpus.revision or "HEAD")


def _without_twins(intents: Sequence[Intent]) -> list[Intent]:
    first: dict[frozenset[str], Intent] = {}
    for intent in intents:
        first.setdefault(frozenset(target.anchor for target in intent.targets), intent)
    return list(first.values())


def _intents(ground: CodeIndex, past: _Past, wanted: SampleSize, rng: np.random.Generator) -> list[Intent]:
    told = _told(ground, past)
    shuffled = [told[i] for i in rng.permutation(len(told))]
    # What was reviewed has a title that somebody else understood, so it comes first.
    sample = sorted(shuffled, key=lambda one: not one.reviewed)[: CHANGES.tried * wanted.count]
    own = {path: file for path, file in ground.files.items() if ground.own(path)}
    found = touched(past.folder, [one.commit.id for one in sample], own)
    made = [_intent(ground, one, found.get(one.commit.id, ())) for one in sample]
    return [intent for intent in made if intent is not None]


def _told(ground: CodeIndex, past: _Past) -> list[_Told]:
    merges = list_merges(past.folder, CHANGES.merges, past.revision)
    plain = list_commits(past.folder, CHANGES.looked_at, past.revision)
    narrow = [commit for commit in (*merges, *plain) if _is_narrow(commit, ground)]
    said = messages(past.folder, [commit.id for commit in narrow])
    merged = frozenset(commit.id for commit in merges)
    told = [one for commit in narrow if (one := _tell(commit, said.get(commit.id), merged)) is not None]
    times = Counter(normalized(one.text) for one in told)
    return [one for one in told if times[normalized(one.text)] == 1]


def _is_narrow(commit: Commit, ground: CodeIndex) -> bool:
    source = [path for path in commit.paths if not is_aside(path) and ground.languages.get(path, "") != "markdown"]
    code = [path for path in source if _is_code(path, ground)]
    return 0 < len(code) <= CHANGES.files and any(ground.own(path) for path in code)


def _is_code(path: str, ground: CodeIndex) -> bool:
    return path in ground.files or path not in ground.languages


def _tell(commit: Commit, message: Message | None, merged: frozenset[str]) -> _Told | None:
    if message is None or _BOT.search(message.author):
        return None
    pull = _PULL_REQUEST.search(f"{commit.subject}\n{message.body}")
    if commit.id in merged and pull is None:
        return None  # a branch was brought up to date: about nothing in particular
    lines = message.body.split("\n") if commit.id in merged else [commit.subject, *message.body.split("\n")]
    title, body = _plain(lines[0] if lines else ""), "\n".join(lines[1:])
    text = next((t for t in (title, _first(body)) if _says(t)), None)
    if text is None or is_trivial(lines[0]) or _IDLE.search(title):
        return None
    number = next((n for n in pull.groups() if n), "") if pull else _squashed(commit.subject)
    if not number and weight(change_question(text)) < CHANGES.unreviewed:
        return None
    source = f"commit {commit.id[:10]}" + (f", pull request {number}" if number else "")
    return _Told(commit, text, source, bool(number))


def _plain(title: str) -> str:
    return plain_subject(_KIND.sub("", title))


def _squashed(subject: str) -> str:
    found = _SQUASHED.search(subject)
    return found[1] if found else ""


def _first(body: str) -> str:
    return next(sentences(body), "")


def _says(text: str) -> bool:
    prose = is_query_length(change_question(text)) and is_prose(text, len(text)) and stands_alone(text)
    return prose and tells_change(text) and not is_trivial(text) and not _IDLE.search(text)


def _intent(ground: CodeIndex, told: _Told, found: Sequence[ChangedDefinition]) -> Intent | None:
    spots = {
        one: spot
        for one in found
        if one.position is not None
        and (spot := ground.spot(one.path, one.position)).lines <= CHANGES.longest
        and ground.answers(spot)
    }
    if not spots or len(spots) > CHANGES.definitions or len(spots) < (1 - CHANGES.lost) * len(found):
        return None
    asked = stems(parts(" ".join(content(told.text))))
    targets = _targets(ground, _without_outer(spots), asked)
    if not targets or leakage(change_question(told.text), targets) >= CHANGES.leak or _gives_away(told.text, spots):
        return None
    origin = Origin("history", told.source)
    return Intent(change_question(told.text), targets, origin, notes=_notes(told.text))


def _without_outer(spots: Mapping[ChangedDefinition, DefinitionRef]) -> dict[ChangedDefinition, DefinitionRef]:
    kept = spots.values()
    return {one: spot for one, spot in spots.items() if not any(lies_in(other, spot) for other in kept)}


def _gives_away(text: str, spots: Mapping[ChangedDefinition, DefinitionRef]) -> bool:
    return any(len(split(spot.name)) > 1 and names_it(text, spot.name) for spot in spots.values())


def _notes(text: str) -> tuple[str, ...]:
    """Keep what the commit said where the question says it otherwise."""
    return (f"the change was called: {text}",) if change_question(text) != text else ()


def _targets(
    ground: CodeIndex, spots: Mapping[ChangedDefinition, DefinitionRef], asked: frozenset[str]
) -> tuple[Target, ...]:
    shared = {one: asked & ground.stems_of(spot) for one, spot in spots.items()}
    best = max((len(words) for words in shared.values()), default=0)
    if best < max(CHANGES.shared, CHANGES.share * len(asked)) or not _tells_apart(ground, shared.values()):
        return ()
    fitting = [one for one in spots if shared[one] and (len(shared[one]) == best or one.written > 1)]
    weight_of = {one: one.written * len(shared[one]) for one in fitting}
    kept: dict[str, Target] = {}
    for one in sorted(fitting, key=lambda one: (-weight_of[one], one.path, one.names)):
        main = weight_of[one] >= CHANGES.main_share * max(weight_of.values())
        target = ground.anchor(spots[one], PRIMARY if main else SECONDARY)
        if target is not None:
            kept.setdefault(target.anchor, target)
    return tuple(kept.values()) if any(target.grade == PRIMARY for target in kept.values()) else ()


def _tells_apart(ground: CodeIndex, shared: Iterable[frozenset[str]]) -> bool:
    few = max(CHANGES.few, CHANGES.rare * len(ground.files))
    return any(ground.rarity[word] <= few for words in shared for word in words)
