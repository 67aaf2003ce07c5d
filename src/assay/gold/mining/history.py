"""Mine queries from subjects of commits and pull requests; targets are the changed definitions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from assay.corpus.sources import find_work_tree
from assay.corpus.spec import is_url
from assay.errors import SetupError
from assay.gold.code_index import (
    ChangedDefinition,
    CodeIndex,
    DefinitionRef,
    SampleSize,
    changed_definitions,
    is_peripheral,
    stem_all,
)
from assay.gold.git_history import Commit, CommitMessage, list_commits, list_merges, read_messages
from assay.gold.mining.intake import MAX_LEAKAGE, MAX_TARGET_LINES, SOURCES, Intent, MinedItems, draw_intents, normalize
from assay.gold.mining.questions import change_question, describes_behavior, is_query_length, stands_alone, weight
from assay.gold.query_properties import leakage
from assay.gold.review.items import ItemOrigin
from assay.syntax.commit_subjects import is_internal, is_trivial, strip_kind, strip_subject
from assay.syntax.identifiers import parts, split
from assay.syntax.prose import content_words, is_prose, mentions_name, split_sentences
from assay.types import PRIMARY, SECONDARY, Corpus, Target


class HistoryRules:
    files: int = 3  # maximum changed files, without tests and docs; a wider change has no particular location
    definitions: int = 4  # maximum changed definitions that still exist, for the same reason
    lost: float = 0.5  # maximum share of the changed definitions that no longer exist
    newest: int = 3_000  # commits read; older code has mostly moved
    merges: int = 1_000  # newest merge commits read; each covers several commits
    tried: int = 10  # commits per wanted query; most commits changed code that no longer exists
    main_share: float = 0.34  # of the highest weight (lines written × words shared), from which a target is primary
    shared: int = 2  # minimum stems of the text in a definition; with fewer the text is about other code ...
    share: float = 0.5  # ... and minimum share of the text's stems
    rare: float = 0.05  # maximum share of the files with the rarest shared word; else the text is too vague ...
    few: int = 5  # ... or maximum number of those files
    unreviewed: int = 4  # minimum content words of a subject without a pull request


_PULL_REQUEST: Final = re.compile(
    r"^Merge pull request #(\d+)|^Merged? in .*\(pull request #(\d+)\)|See merge request \S*!(\d+)", re.MULTILINE
)
_SQUASHED: Final = re.compile(r"\(#(\d+)\)\s*$")
_BOT: Final = re.compile(r"\[bot\]|\b(?:dependabot|renovate|pre-commit-ci|github-actions|greenkeeper)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Subject:
    commit: Commit
    text: str
    source: str  # with the pull request, if any


def mine_history(code: CodeIndex, wanted: SampleSize) -> MinedItems:
    """Propose queries from subjects of commits and pull requests; targets are changed definitions that still exist."""
    try:
        directory, revision = _work_tree(code.corpus)
        subjects = _read_subjects(code, directory, revision)
        shuffled = [subjects[i] for i in wanted.rng(SOURCES.index("history")).permutation(len(subjects))]
        # Titles of pull requests come first: another person has read them.
        shuffled.sort(key=lambda subject: "pull request" not in subject.source)
        sample = shuffled[: HistoryRules.tried * wanted.count]
        own = {path: file for path, file in code.files.items() if code.is_own_code(path)}
        changed = changed_definitions(directory, [subject.commit.id for subject in sample], own)
    except SetupError as error:
        return MinedItems(notes=(f"history: {error.message}",))
    intents = (_intent(code, subject, changed.get(subject.commit.id, ())) for subject in sample)
    fitting = [intent for intent in intents if intent is not None]
    if not fitting:
        empty = "history: no commit with a descriptive subject changed only a few definitions that still exist"
        return MinedItems(notes=(empty,))
    reviewed = _without_duplicates([intent for intent in fitting if "pull request" in intent.origin.source])
    drawn = draw_intents(reviewed, wanted, "history")
    rest = [intent for intent in fitting if intent not in reviewed]
    others = _without_duplicates([*reviewed, *rest])[len(reviewed) :]
    more = draw_intents(others, replace(wanted, count=wanted.count - len(drawn)), "history")
    return MinedItems((*drawn, *more))


def _work_tree(corpus: Corpus) -> tuple[Path, str]:
    spec = corpus.spec
    if spec.kind != "git":
        root = corpus.root.resolve()
        if find_work_tree(root) is None:
            raise SetupError("the corpus is not in a Git work tree")
        return root, "HEAD"
    if is_url(spec.value):
        raise SetupError("the history of a remote repository is not available; use a local clone as the corpus")
    top = find_work_tree(Path(spec.value).expanduser().resolve())
    if top is None:
        raise SetupError(f"git:{spec.value} has no work tree; check out {spec.rev or 'HEAD'} and use the work tree")
    directory = top / (spec.root or "")
    if not directory.is_dir():
        raise SetupError(f"the work tree of git:{spec.value} has no directory {spec.root}")
    return directory, corpus.revision or "HEAD"


def _without_duplicates(intents: Iterable[Intent]) -> list[Intent]:
    first: dict[frozenset[str], Intent] = {}
    for intent in intents:
        first.setdefault(frozenset(target.anchor for target in intent.targets), intent)
    return list(first.values())


def _read_subjects(code: CodeIndex, directory: Path, revision: str) -> list[_Subject]:
    def is_narrow(commit: Commit) -> bool:
        known, languages = code.files, code.languages
        source = [p for p in commit.paths if not is_peripheral(p) and (p in known or p not in languages)]
        return 0 < len(source) <= HistoryRules.files and any(code.is_own_code(path) for path in source)

    merges = list_merges(directory, HistoryRules.merges, revision)
    narrow = [c for c in (*merges, *list_commits(directory, HistoryRules.newest, revision)) if is_narrow(c)]
    messages = read_messages(directory, [commit.id for commit in narrow])
    merged = frozenset(commit.id for commit in merges)
    subjects = [s for commit in narrow if (s := _subject(commit, messages.get(commit.id), merged)) is not None]
    times = Counter(normalize(subject.text) for subject in subjects)
    return [subject for subject in subjects if times[normalize(subject.text)] == 1]


def _subject(commit: Commit, message: CommitMessage | None, merged: frozenset[str]) -> _Subject | None:
    if message is None or _BOT.search(message.author):
        return None
    pull = _PULL_REQUEST.search(f"{commit.subject}\n{message.body}")
    if commit.id in merged and pull is None:
        return None  # an update of a branch
    lines = message.body.split("\n") if commit.id in merged else [commit.subject, *message.body.split("\n")]
    title = strip_subject(strip_kind(lines[0]))
    first = next(split_sentences("\n".join(lines[1:])), "")
    text = next((text for text in (title, first) if _describes_behavior(text)), None)
    if text is None or is_trivial(lines[0]) or is_internal(title):
        return None
    squashed = _SQUASHED.search(commit.subject)
    number = next((n for n in pull.groups() if n), "") if pull else squashed[1] if squashed else ""
    if not number and weight(change_question(text)) < HistoryRules.unreviewed:
        return None
    source = f"commit {commit.id[:10]}" + (f", pull request {number}" if number else "")
    return _Subject(commit, text, source)


def _describes_behavior(text: str) -> bool:
    prose = is_query_length(change_question(text)) and is_prose(text, len(text)) and stands_alone(text)
    return prose and describes_behavior(text) and not is_trivial(text) and not is_internal(text)


def _intent(code: CodeIndex, subject: _Subject, changes: Sequence[ChangedDefinition]) -> Intent | None:
    refs = {
        change: ref
        for change in changes
        if change.position is not None
        and (ref := code.definition(change.path, change.position)).lines <= MAX_TARGET_LINES
        and code.can_be_target(ref)
    }
    if not refs or len(refs) > HistoryRules.definitions or len(refs) < (1 - HistoryRules.lost) * len(changes):
        return None
    text, query_text = subject.text, change_question(subject.text)
    targets = _find_targets(code, text, refs)
    named = any(len(split(ref.name)) > 1 and mentions_name(text, ref.name) for ref in refs.values())
    if named or all(target.grade != PRIMARY for target in targets) or leakage(query_text, targets) >= MAX_LEAKAGE:
        return None
    notes = (f"commit subject: {text}",) if query_text != text else ()
    return Intent(query_text, targets, ItemOrigin("history", subject.source), notes=notes)


def _find_targets(code: CodeIndex, text: str, refs: Mapping[ChangedDefinition, DefinitionRef]) -> tuple[Target, ...]:
    words = stem_all(parts(" ".join(content_words(text))))
    shared = {
        change: words & code.stems_of(ref)
        for change, ref in refs.items()
        if not any(other.is_inside(ref) for other in refs.values())
    }
    best = max(map(len, shared.values()), default=0)
    few = max(HistoryRules.few, HistoryRules.rare * len(code.files))
    rare = any(code.file_counts[word] <= few for own in shared.values() for word in own)
    if best < max(HistoryRules.shared, HistoryRules.share * len(words)) or not rare:
        return ()
    weights = {
        change: change.written * len(own)
        for change, own in shared.items()
        if own and (len(own) == best or change.written > 1)
    }
    targets: dict[str, Target] = {}
    for change in sorted(weights, key=lambda change: (-weights[change], change.path, change.names)):
        main = weights[change] >= HistoryRules.main_share * max(weights.values())
        target = code.anchor(refs[change], PRIMARY if main else SECONDARY)
        if target is not None:
            targets.setdefault(target.anchor, target)
    return tuple(targets.values())
