from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Final

from assay.gold.code_index import CodeIndex, DefinitionRef, name_key, stem_all
from assay.gold.mining.intake import MAX_TARGET_LINES, Intent, MinedItems, Rejection, UnlocatedQuery, normalize
from assay.gold.mining.logs import LoggedSearch, LogRules, OpenedFile, parse_command, read_shell, read_transcript
from assay.gold.mining.privacy import private_names, private_part
from assay.gold.mining.questions import is_query_length
from assay.gold.review.items import ItemOrigin, ProposalSource
from assay.syntax.identifiers import parts, split
from assay.syntax.prose import content_words
from assay.types import SECONDARY, Span, Target

_WORDS_OF_A_NAME: Final = 2  # minimum; a single word may be plain English
_SENTENCE: Final = re.compile(r"[^.?!\n]+(?:[.](?=\w)[^.?!\n]*)*[?!.]?")
_ASKING: Final = re.compile(
    r"\b(?:where|how|which|what|why)\b[^?\n]*\??$|^\s*(?:please\s+)?(?:find|locate)\b.+$", re.IGNORECASE
)
#: Polite openings of a question.
_POLITE: Final = re.compile(
    r"^(?:(?:so|ok|okay|hi|hey|now|and|but|please|also|well|thanks|first)[,\s]+|(?:can|could|would) you\s+"
    r"|(?:tell|show|explain(?: to)?|help|let) me\s+"
    r"|(?:find(?: out)?|explain|understand|know|see|check|look up|figure out)\s+"
    r"(?=where|how|which|what|why)|i(?:'d| would)? (?:want|need|like) to\s+)+",
    re.IGNORECASE,
)
_MARKED: Final = re.compile(r"^\s*<|```")


#: A line number, and the actions of a command or one action of a transcript; a string is a user message.
_Step = tuple[int, Iterable[str | LoggedSearch | OpenedFile]]


@dataclass(slots=True)
class _LoggedQuery:
    text: str
    form: str
    line: int
    raw: str  # the original text
    left: int  # steps
    opened: list[OpenedFile] = field(default_factory=list)
    next: list[OpenedFile] = field(default_factory=list)  # by the very next command


def mine_shell(code: CodeIndex, path: Path) -> MinedItems:
    """Propose queries from searches in a shell history; targets are in the files opened next, or named in the query.

    The file that the very next command opens is a target even if it has no word of the search.
    """
    commands, too_long = read_shell(path)
    names = private_names("\n".join(text for _, text in commands))
    steps = [(line, parse_command(text)) for line, text in commands]
    return _mine(code, "shell", path.name, steps, names, {"too long": too_long})


def mine_transcript(code: CodeIndex, path: Path) -> MinedItems:
    """Propose queries from questions and searches in a transcript; targets are located as for a shell history."""
    steps, malformed, too_long = read_transcript(path)
    names = private_names("\n".join(step.path for _, step in steps if isinstance(step, OpenedFile)))
    skipped = {"too long": too_long, "not JSON": malformed}
    return _mine(code, "transcript", path.name, [(line, [step]) for line, step in steps], names, skipped)


def _mine(
    code: CodeIndex,
    how: ProposalSource,
    file: str,
    steps: Sequence[_Step],
    names: frozenset[str],
    skipped: Mapping[str, int],
) -> MinedItems:
    notes = [f"{file}: skipped {count} lines that are {problem}" for problem, count in skipped.items() if count]
    if not steps:
        notes.append(f"{file}: no known command, message or tool call found; the format may be unsupported")
    locator = _Locator(code)
    intents: dict[str, Intent] = {}
    opened_next: dict[str, Intent] = {}
    unlocated: dict[str, UnlocatedQuery] = {}
    refused: list[Rejection] = []
    for logged in _read_queries(steps):
        where, key = f"line {logged.line} of {file}", normalize(logged.text)
        private = private_part(f"{logged.raw}\n{logged.text}", names, code.names)
        if private is not None:
            refused.append(Rejection(where, f"contains {private}"))
        elif targets := locator.locate(logged.text, logged.opened):
            intents.setdefault(key, Intent(logged.text, targets, ItemOrigin(how, where), logged.form))
        elif how == "shell" and (target := locator.only_file(logged.text, logged.next)):
            opened_next.setdefault(key, Intent(logged.text, (target,), ItemOrigin(how, where), logged.form))
        else:
            unlocated.setdefault(key, UnlocatedQuery(logged.text, where))
    intents |= {key: intent for key, intent in opened_next.items() if key not in intents}
    lost = tuple(query for text, query in unlocated.items() if text not in intents)
    return MinedItems(tuple(intents.values()), lost, tuple(refused), tuple(notes))


def _read_queries(steps: Iterable[_Step]) -> Iterator[_LoggedQuery]:
    questions: list[_LoggedQuery] = []
    searched: list[_LoggedQuery] = []  # at most one
    for line, actions in steps:
        for query in (*questions, *searched):
            query.left -= 1
        for action in actions:
            if isinstance(action, str):
                yield from (*questions, *searched)
                paragraphs = action.split("\n") if not _MARKED.search(action) else ()
                texts = [(text, whole) for whole in paragraphs for text in find_questions(whole)]
                questions = [_LoggedQuery(text, "human", line, whole, LogRules.steps) for text, whole in texts]
                searched = []
            elif isinstance(action, LoggedSearch):
                yield from searched
                searched = [_LoggedQuery(action.text, action.form, line, action.raw, LogRules.after)]
            else:
                for query in (*questions, *searched):
                    query.opened += [action] if query.left >= 0 else []
                for query in searched:
                    query.next += [action] if query.left == LogRules.after - 1 else []
    yield from (*questions, *searched)


def find_questions(paragraph: str) -> Iterator[str]:
    for sentence in _SENTENCE.findall(paragraph):
        plain = _POLITE.sub("", " ".join(sentence.split()))
        if _ASKING.search(plain) and is_query_length(plain):
            yield plain.rstrip(".!")


class _Locator:
    def __init__(self, code: CodeIndex) -> None:
        self.code = code
        self._by_base: dict[str, list[str]] = {}
        for path in sorted(code.languages):
            self._by_base.setdefault(PurePosixPath(path).name, []).append(path)

    def locate(self, text: str, files: Sequence[OpenedFile]) -> tuple[Target, ...]:
        """Return the targets of a query in the files opened next, else the definitions whose name is the query."""
        if stem_all(parts(text)).isdisjoint(self.code.file_counts):
            return ()  # without a word of the code, the files opened next are unrelated
        opened: tuple[Target, ...] = ()
        places = {path: file for file in files if (path := self._path(file.path)) and self.code.is_own_code(path)}
        if 0 < len(places) <= LogRules.opened:
            targets = [self._in_file(text, path, file.line) for path, file in places.items()]
            first, *others = [target for target in targets if _is_definition(target)] or targets
            opened = _unique([first, *(replace(target, grade=SECONDARY) for target in others)])
        if opened and (any(map(_is_definition, opened)) or is_query_length(text) or self._has_words(opened, text)):
            return opened
        if len(split(text.replace(" ", "_"))) < _WORDS_OF_A_NAME:
            return ()
        own = [ref for ref in self.code.by_name.get(name_key(text), ()) if self.code.can_be_target(ref)]
        if not 0 < len(own) <= LogRules.matches:
            return ()
        return _unique(target for ref in own if (target := self.code.anchor(ref)) is not None)

    def only_file(self, text: str, files: Sequence[OpenedFile]) -> Target | None:
        """Return the only file opened, if the code has a word of the search."""
        paths = {path for file in files if (path := self._path(file.path)) and self.code.is_own_code(path)}
        known = not stem_all(parts(text)).isdisjoint(self.code.file_counts)
        return Target(Span(paths.pop())) if known and len(paths) == 1 else None

    def _has_words(self, opened: Sequence[Target], text: str) -> bool:
        """Return whether the first opened file has every word of a search too short to be a query by itself."""
        source = self.code.files.get(opened[0].span.path)
        return source is not None and stem_all(parts(text)) <= stem_all(parts(source.text))

    def _path(self, written: str) -> str | None:
        plain = written.replace("\\", "/").strip("'\"").removeprefix("./")
        if plain in self.code.languages:
            return plain
        same = self._by_base.get(PurePosixPath(plain).name, ()) if plain else ()
        above = [path for path in same if plain.endswith(f"/{path}")]
        if above:
            return max(above, key=len)
        below = [path for path in same if path.endswith(f"/{plain}")]
        return below[0] if len(below) == 1 else None

    def _in_file(self, text: str, path: str, line: int | None) -> Target:
        same = [ref for ref in self.code.by_name.get(name_key(text), ()) if ref.path == path]
        ref = min(same, key=lambda ref: (-ref.lines, ref.key), default=None)
        ref = ref or (self.code.definition_at(path, line) if line else None)
        if ref is None or ref.lines > MAX_TARGET_LINES:
            short = [ref for ref in self.code.definitions_in(path) if ref.lines <= MAX_TARGET_LINES]
            ref = _by_partial_name(text, short) or self._by_content(text, short)
        return (self.code.anchor(ref) if ref else None) or Target(Span(path))

    def _by_content(self, text: str, refs: Sequence[DefinitionRef]) -> DefinitionRef | None:
        wanted = stem_all(parts(" ".join(content_words(text))))
        shares = {ref: len(wanted & self.code.stems_of(ref)) / len(wanted) for ref in refs if wanted}
        fitting = [ref for ref, share in shares.items() if share >= LogRules.fitting]

        def rank(ref: DefinitionRef) -> tuple[object, ...]:
            return -shares[ref], ref.lines, ref.key

        if not fitting:
            return None
        best = min(fitting, key=rank)
        inner = [ref for ref in fitting if ref.is_inside(best) and shares[ref] >= LogRules.inner * shares[best]]
        return min(inner, key=rank, default=best)


def _by_partial_name(text: str, refs: Sequence[DefinitionRef]) -> DefinitionRef | None:
    wanted = split(text.replace(" ", "_"))

    def matches(name: str) -> bool:
        has = split(name)
        return bool(wanted) and any(has[i : i + len(wanted)] == wanted for i in range(len(has) - len(wanted) + 1))

    own = [ref for ref in refs if matches(ref.name)]
    return min(own, key=lambda ref: (len(split(ref.name)), ref.lines, ref.key), default=None)


def _is_definition(target: Target) -> bool:
    return target.symbol is not None or target.span.start is not None


def _unique(targets: Iterable[Target]) -> tuple[Target, ...]:
    unique: dict[str, Target] = {}
    for target in targets:
        unique.setdefault(target.anchor, target)
    return tuple(unique.values())
