"""Mine queries from subjects of commits and pull requests; targets are the changed definitions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assay.corpus.file_types import detect_type
from assay.corpus.sources import find_work_tree
from assay.corpus.spec import is_url
from assay.errors import SetupError
from assay.gold.code_index import (
    CodeIndex,
    DefinitionRef,
    SampleSize,
    innermost_definition,
    is_peripheral,
    name_key,
    qualified_name,
    stem_all,
)
from assay.gold.git_history import (
    ChangedLines,
    Commit,
    CommitMessage,
    list_changes,
    list_commits,
    list_merges,
    list_renames,
    read_messages,
    read_old_texts,
)
from assay.gold.mining.intake import (
    MAX_LEAKAGE,
    MIN_TARGET_LINES,
    Intent,
    MinedItems,
    draw_intents,
    normalize,
)
from assay.gold.mining.questions import (
    change_question,
    describes_behavior,
    is_query_length,
    rate_wording,
    stands_alone,
    weight,
    word_set,
)
from assay.gold.query_properties import is_copied, leakage, line_comments
from assay.gold.review.items import ItemOrigin
from assay.syntax.commit_subjects import is_internal, is_trivial, strip_kind, strip_subject
from assay.syntax.identifiers import parts, split
from assay.syntax.outline import parse_outline
from assay.syntax.prose import content_words, is_prose, mentions_name, split_sentences
from assay.types import SECONDARY, Corpus


class HistoryRules:
    files: int = 3  # maximum changed files, without tests and docs; a wider change has no particular location
    definitions: int = 6  # maximum changed definitions that still exist, for the same reason
    telling: int = 8  # characters of a line; shorter lines, such as a brace, recur by chance
    kept: float = 0.4  # minimum share of the written lines that still exist; else the code has changed since
    lost: float = 0.5  # maximum share of the changed definitions that no longer exist
    newest: int = 3_000  # commits read; older code has mostly moved
    merges: int = 1_000  # newest merge commits read; each covers several commits
    main: float = 0.55  # minimum share of the changed lines in the primary target; else the change has no main location
    spread: float = 0.25  # or this share if the target contains most words of the text:
    most: float = 0.75
    minor: float = 0.2  # minimum share of the changed lines in a secondary target
    shared: int = 2  # minimum stems of the text in the primary target; with fewer the text is about other code ...
    share: float = 0.33  # ... and minimum share of the text's stems,
    elsewhere: float = 0.6  # or this share if the lines that the commit wrote contain none of them,
    changed: float = 0.75  # or this share if most of the lines that the commit wrote have changed since,
    replaced: float = 0.9  # or this share if all of them have
    longest: int = 250  # maximum lines of a target
    alike: int = 8  # maximum definitions that contain all shared stems; else the text is too vague
    words: range = range(4, 16)  # of a question
    named: float = 0.75  # minimum share if the text names another definition, which then may be what it is about
    spelled: int = 5  # minimum letters of a stem that must occur in the code,
    vocabulary: int = 1_000  # if the code has this many stems
    unnamed: int = 5  # minimum content words of a text that lost the name of its target
    specific: int = 3  # minimum stems of the text without identifiers and verbs for any change


#: Stems of verbs for any change.
_CHANGES: Final = stem_all(word_set("fix add support handle allow avoid implement ensure make stop prevent"))
_PULL_REQUEST: Final = re.compile(
    r"^Merge pull request #(\d+)|^Merged? in .*\(pull request #(\d+)\)|See merge request \S*!(\d+)", re.MULTILINE
)
_SQUASHED: Final = re.compile(r"\(#(\d+)\)\s*$")
#: Dotted names, calls, names with underscores or inner capitals.
_IDENTIFIER: Final = re.compile(
    r"\b\w+(?:[.:#]+\w+)+(?:\(\))?|\b\w+\(\)|\b\w*[a-z0-9]_\w+|\b\w*[a-z][A-Z]\w*|\b\w+=\w*|\b[A-Z]+_[A-Z_]+\b"
)
#: A dotted name or call with its preposition: the question can do without it.
_NAMED: Final = re.compile(
    r"\s+(?:in|for|of|on|from|to|into|with|(?:when )?using|via|by|inside)\s+(?:the\s+)?"
    r"(?:\w+(?:[.:#]+\w+)+(?:\(.*?\))?|\w+\(.*?\))(?:(?:/|,\s*|\s+(?:and|or)\s+)\w+(?:[.:#]+\w+)+(?:\(.*?\))?)*"
    r"(?:\s+(?:usage|calls?|method|function))?(?=\s|$)"
)
_BOT: Final = re.compile(r"\[bot\]|\b(?:dependabot|renovate|pre-commit-ci|github-actions|greenkeeper)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Subject:
    commit: Commit
    text: str
    source: str  # with the pull request, if any


def mine_history(code: CodeIndex, wanted: SampleSize) -> MinedItems:
    """Propose queries from subjects of commits and pull requests; targets are changed definitions that still exist."""
    try:
        intents = rank_history(code)
    except SetupError as error:
        return MinedItems(notes=(f"history: {error.message}",))
    if not intents:
        empty = "history: no commit with a descriptive subject changed only a few definitions that still exist"
        return MinedItems(notes=(empty,))
    return MinedItems(draw_intents(intents, wanted, "history"))


def rank_history(code: CodeIndex) -> list[Intent]:
    """Return the intents of all commits, those whose main target contains most words of the subject first."""
    directory, revision = _work_tree(code.corpus)
    renames = list_renames(directory, HistoryRules.newest, revision)
    paths = {old: new for old, new in renames.items() if old not in code.languages}
    subjects = _read_subjects(code, paths, directory, revision)
    changed = _changed_definitions(code, paths, directory, [subject.commit.id for subject in subjects])
    ranked = [_intent(code, subject, changed.get(subject.commit.id, ())) for subject in subjects]
    best = sorted((pair for pair in ranked if pair), key=lambda pair: (-pair[0], pair[1].text))
    return [intent for _, intent in best]


@dataclass(frozen=True, slots=True)
class _Change:
    ref: DefinitionRef | None  # None if the definition no longer exists, or not under one name
    written: int
    kept: tuple[str, ...]  # written lines that the definition still contains
    survived: bool  # whether it still contains most of them


def _changed_definitions(
    code: CodeIndex, renames: Mapping[str, str], directory: Path, ids: Sequence[str]
) -> dict[str, list[_Change]]:
    changes = [c for c in list_changes(directory, ids) if code.is_own_code(renames.get(c.path, c.path))]
    changed: dict[str, list[_Change]] = {}
    for change, text in read_old_texts(directory, changes).items():
        path = renames.get(change.path, change.path)
        changed.setdefault(change.commit, []).extend(_trace_definitions(code, path, change, text))
    return changed


def _trace_definitions(code: CodeIndex, path: str, change: ChangedLines, text: str) -> Iterator[_Change]:
    before, lines = parse_outline(text, code.files[path].language).definitions, text.split("\n")
    by_position: dict[int, list[str]] = {}
    for line in change.lines:
        by_position.setdefault(innermost_definition(before, line), []).append(lines[line - 1].strip())
    for position, written in sorted(by_position.items()):
        if position < 0:
            continue
        names, head = qualified_name(before, position), lines[before[position].name_line - 1]
        same = [ref for ref in code.by_name.get(name_key(names[-1]), ()) if ref.names == names]
        refs = [ref for ref in same if ref.path == path] or [ref for ref in same if code.can_be_target(ref)]
        if len(refs) > 1:  # overloads, and methods of Go, which are told apart by the text before their name
            start = head.partition(names[-1])[0].strip()
            refs = [ref for ref in refs if code.text(ref).partition(ref.name)[0].strip().endswith(start) and start]
        ref = refs[0] if len(refs) == 1 else None
        now = {_plain(line) for line in code.text(ref).split("\n")} if ref else set()
        telling = [line for line in written if len(_plain(line)) >= HistoryRules.telling and line[0] not in "#/*"]
        kept = [line for line in telling if _plain(line) in now]
        yield _Change(ref, len(written), tuple(kept), bool(kept) and len(kept) >= HistoryRules.kept * len(telling))


def _plain(line: str) -> str:
    return re.sub(r"\b(?:var|let|const)\b|\W", "", line)  # ignores formatting


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
        raise SetupError(f"git:{spec.value} has no work tree; clone it and use the clone as the corpus")
    directory = top / (spec.root or "")
    if not directory.is_dir():
        raise SetupError(f"the work tree of git:{spec.value} has no directory {spec.root}")
    return directory, corpus.revision or "HEAD"


def _read_subjects(code: CodeIndex, renames: Mapping[str, str], directory: Path, revision: str) -> list[_Subject]:
    def is_narrow(commit: Commit) -> bool:
        paths = {renames.get(path, path) for path in commit.paths}
        source = [p for p in paths if not is_peripheral(p) and detect_type(p, b"").kind == "code"]
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
    text = next((text for text in (title, first) if _describes_behavior(_without_names(text))), None)
    if text is None or is_trivial(lines[0]) or is_internal(title):
        return None
    squashed = _SQUASHED.search(commit.subject)
    number = next((n for n in pull.groups() if n), "") if pull else squashed[1] if squashed else ""
    source = f"commit {commit.id[:10]}" + (f", pull request {number}" if number else "")
    return _Subject(commit, text, source)


def _without_names(text: str) -> str:
    plain = _NAMED.sub("", text)
    return plain if plain != text and _describes_behavior(plain) and weight(plain) >= HistoryRules.unnamed else text


def _describes_behavior(text: str) -> bool:
    question = change_question(text)
    fits = question is not None and len(question.split()) in HistoryRules.words and is_query_length(question)
    prose = fits and is_prose(text, len(text)) and stands_alone(text)
    plain = _IDENTIFIER.sub(" ", text)
    specific = len(stem_all(parts(" ".join(content_words(plain)))) - _CHANGES) >= HistoryRules.specific
    return prose and specific and describes_behavior(text) and not is_trivial(text) and not is_internal(text)


def _intent(code: CodeIndex, subject: _Subject, changes: Sequence[_Change]) -> tuple[float, Intent] | None:
    refs = {
        ref: change
        for change in changes
        if (ref := change.ref) is not None
        and MIN_TARGET_LINES <= ref.lines <= HistoryRules.longest
        and code.can_be_target(ref)
        and not ref.name.startswith("__all")
    }
    text = _without_names(subject.text)
    question = change_question(text)
    if not refs or len(refs) > HistoryRules.definitions or len(refs) < (1 - HistoryRules.lost) * len(changes):
        return None
    inner = {ref: change for ref, change in refs.items() if not any(other.is_inside(ref) for other in refs)}
    main = max(inner, key=lambda ref: (inner[ref].written, ref.path, ref.names))
    lines = sum(change.written for change in changes if change.ref not in refs or change.ref in inner)
    words = stem_all(parts(" ".join(content_words(subject.text)))) - _CHANGES or frozenset({""})
    shared = words & code.stems_of(main)
    share = len(shared) / len(words)
    written = words & stem_all(parts(" ".join(inner[main].kept)))
    least = HistoryRules.replaced
    if inner[main].survived:
        least = HistoryRules.share if written else HistoryRules.elsewhere
    elif inner[main].kept:
        least = HistoryRules.changed
    if (
        question is None
        or main.definition.kind not in ("function", "method", "class")
        or inner[main].written < (HistoryRules.spread if share >= HistoryRules.most else HistoryRules.main) * lines
        or len(shared) < HistoryRules.shared
        or share < least
        or ((alike := code.count_containing(shared)) > HistoryRules.alike and len(changes) > 1)
        or names_target(text, main)
        or (share < HistoryRules.named and _names_definition(code, subject.text))
        or not _has_identifiers(code, subject.text, main)
        or is_copied(question, f"{code.documentation(main)}\n\n{line_comments(code.text(main))}")
        or not _is_spelled(code, subject.text)
    ):
        return None
    others = [ref for ref, change in inner.items() if ref != main and change.written >= HistoryRules.minor * lines]
    targets = [code.anchor(main), *(code.anchor(ref, SECONDARY) for ref in others)]
    if targets[0] is None or leakage(question, (targets[0],)) >= MAX_LEAKAGE:
        return None
    origin = ItemOrigin("history", subject.source)
    found = tuple(dict.fromkeys(target for target in targets if target is not None))
    score = share + len(written) / len(words) + 1 / max(alike, 1) - rate_wording(question)
    return score, Intent(question, found, origin, notes=(f"commit subject: {subject.text}",))


def names_target(text: str, ref: DefinitionRef) -> bool:
    """Return whether a text contains the name of a definition as an identifier."""
    if len(split(ref.name)) > 1:
        return mentions_name(text, ref.name)
    name = re.escape(ref.name)
    quoted = re.search(rf"[.:#`'\"]{name}\b|\b{name}\(", text) is not None
    return quoted or (ref.name[:1].isupper() and re.search(rf"\b{name}\b", text) is not None)


def _has_identifiers(code: CodeIndex, text: str, ref: DefinitionRef) -> bool:
    """Return whether the file of a definition still contains every identifier of a commit subject."""
    source = code.files[ref.path].text
    names = (re.split(r"[.:#=]", name.rstrip("()"))[0] for name in _IDENTIFIER.findall(text))
    return all(name in source for name in names)


def _is_spelled(code: CodeIndex, text: str) -> bool:
    """Return whether the code contains all long words of a text; other words are misspelled or about past code."""
    words = stem_all(parts(" ".join(content_words(text))))
    known = code.file_counts
    return len(known) < HistoryRules.vocabulary or all(w in known for w in words if len(w) >= HistoryRules.spelled)


def _names_definition(code: CodeIndex, text: str) -> bool:
    names = [re.split(r"[.:#]", name.rstrip("()"))[-1] for name in _IDENTIFIER.findall(text)]
    named = [ref for name in names for ref in code.by_name.get(name_key(name), ())]
    return any(ref.definition.kind in ("function", "method", "class") for ref in named)
