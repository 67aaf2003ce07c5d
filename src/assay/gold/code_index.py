"""The definitions and comments of a corpus, from which queries are mined or synthesized."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain, groupby
from typing import TYPE_CHECKING, Final, TypeVar

from assay.corpus import read_text
from assay.gold.anchors import AnchorIndex, content_digest, path_problem
from assay.syntax.identifiers import parts, split, stem
from assay.syntax.outline import Definition, parse_outline
from assay.syntax.parsing import PARSING, grammar_name, parse_in_process, query_matches
from assay.syntax.prose import content_words, is_idle, is_prose, mentions_name, split_sentences, strip_leading_name
from assay.syntax.symbols import extract_symbols
from assay.syntax.text import count_lines
from assay.types import PRIMARY, Corpus, Span, Target

if TYPE_CHECKING:
    import numpy as np

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class SampleSize:
    count: int = 40  # per kind; fewer than thirty are unreliable, and some are lost to duplicates
    max_per_file: int = 4  # otherwise one large file would dominate the set
    seed: int = 0

    def rng(self, stream: int) -> np.random.Generator:
        """Return a random generator that is independent of the generators of other streams."""
        import numpy as np

        return np.random.default_rng([self.seed, stream])


class SentenceRules:
    fewest: int = 4  # content words; fewer are a label, not a description
    most: int = 40  # words; more are a paragraph without a full stop
    keywords: int = 3  # words of a keyword query: what people type into a search box


#: Kinds of definitions that can be targets. Properties and fields belong to their class.
TARGET_KINDS: Final = frozenset({"function", "method", "class", "interface", "enum", "type", "macro", "constant"})
_LARGEST_FILE: Final = 1_000_000  # bytes; larger source files are usually generated
#: Languages that have a grammar but define no code.
_NO_CODE: Final = frozenset({"css", "html", "json", "toml", "yaml"})
#: Tests, examples and vendored code, which real queries seldom target. Wider than `file_role` (docs/, any part of a
#: name), and not shared with it: synthetic sets are reproduced from their seed only with exactly these patterns.
_PERIPHERAL: Final = re.compile(
    r"(?:^|[/_.-])(?:tests?|specs?|testdata|fixtures?|examples?|benchmarks?|vendor|third_party|conftest)(?:[/_.-]|$)"
    r"|(?:^|/)docs/|Tests?\.\w+$|Spec\.\w+$"
)
#: Names of test modules and functions next to the code, as in Rust.
_TEST: Final = re.compile(r"tests?_|Tests?[A-Z_]|test[A-Z]|[Tt]ests?$")
#: Benchmarks, mocks, and files that only declare.
_NO_TARGET: Final = re.compile(r"(?:^|/)(?:benches|bench|mocks?|stubs?|e2e)/|\.d\.[cm]?ts$|\.pyi$")
#: The opening quotes of a docstring. Stripping keeps the quotes, since an empty body would not parse.
_QUOTES: Final = re.compile(rb"""[rRbBuUfF]{0,2}(\"\"\"|'''|"|')""")


@dataclass(frozen=True, slots=True)
class CommentSpan:
    """A comment, or a docstring without its quotes."""

    start: int  # lines, inclusive
    end: int
    first: int  # bytes of the UTF-8 source, end excluded
    last: int
    text: str
    inside: bool  # whether this is a docstring in the body of its definition
    alone: bool  # whether only whitespace precedes it on its first line


@dataclass(frozen=True, slots=True)
class ParsedSource:
    path: str
    language: str
    text: str
    definitions: tuple[Definition, ...]
    comments: tuple[CommentSpan, ...]


def is_peripheral(path: str) -> bool:
    """Return whether a path is a test, benchmark, example, document or vendored file, or is invalid in a gold file."""
    return bool(_PERIPHERAL.search(path)) or path_problem(path) is not None


def qualified_name(definitions: Sequence[Definition], position: int) -> tuple[str, ...]:
    names: list[str] = []
    while position >= 0:
        names.append(definitions[position].name)
        position = definitions[position].parent
    return tuple(reversed(names))


def innermost_definition(definitions: Sequence[Definition], line: int) -> int:
    around = (i for i, d in enumerate(definitions) if d.kind in TARGET_KINDS and d.start <= line <= d.end)
    return max(around, default=-1)


def list_comments(text: str, grammar: str) -> tuple[CommentSpan, ...]:
    source = text.encode("utf-8", "surrogatepass")
    tree = parse_in_process(source, grammar, PARSING)
    matches = query_matches(tree, grammar, PARSING)[0] if tree else []
    spans: dict[tuple[int, int], CommentSpan] = {}
    for capture in ("comment", "doc"):
        for node in chain.from_iterable(captures.get(capture, ()) for _, captures in matches):
            first, last = node.start_byte, node.end_byte
            quotes = _QUOTES.match(source, first, last) if capture == "doc" else None
            if quotes is not None:
                first, last = quotes.end(), max(quotes.end(), last - len(quotes[1]))
            elif source[first:last].endswith(b"\n"):
                last -= 1  # some grammars include the line end
            line_start = source.rfind(b"\n", 0, node.start_byte) + 1
            start = node.start_point[0] + 1
            spans[node.start_byte, node.end_byte] = CommentSpan(
                start=start,
                end=start + source.count(b"\n", node.start_byte, last),
                first=first,
                last=last,
                text=source[first:last].decode("utf-8", "replace"),
                inside=capture == "doc",
                alone=not source[line_start : node.start_byte].strip(),
            )
    return tuple(spans[byte_range] for byte_range in sorted(spans))


def find_documentation(
    definitions: Sequence[Definition], spans: Sequence[CommentSpan], *, apart: bool = False
) -> tuple[tuple[CommentSpan, ...], ...]:
    """Return the documentation of each definition: its docstring, or else the comments on lines before its name.

    With `apart`, also a comment of the kind `/** ... */` that one blank line separates from the definition.
    """
    starts = [definition.start for definition in definitions]
    strings: dict[int, CommentSpan] = {}
    for span in spans:
        if span.inside:
            for position in range(bisect_right(starts, span.start) - 1, -1, -1):
                if definitions[position].name_line <= span.start and span.end <= definitions[position].end:
                    strings.setdefault(position, span)
                    break
    alone = [span for span in spans if span.alone and not span.inside]
    lines = [span.start for span in alone]
    documented: list[tuple[CommentSpan, ...]] = []
    for position, definition in enumerate(definitions):
        above = alone[bisect_left(lines, definition.start) : bisect_left(lines, definition.name_line)]
        comments = tuple(span for span in above if span.end < definition.name_line)
        if apart and not comments:
            before = alone[max(bisect_left(lines, definition.start) - 1, 0) : bisect_left(lines, definition.start)]
            comments = tuple(s for s in before if s.end == definition.start - 2 and s.text.startswith("/**"))
        documented.append((strings[position],) if position in strings else comments)
    return tuple(documented)


def first_sentence(comment: str) -> str | None:
    """Return the first sentence of a comment without markers and markup, or None if it is unsuitable as a query."""
    sentence = next(split_sentences(comment), "")
    return sentence if is_prose(sentence, SentenceRules.most) and not is_idle(sentence) else None


def doc_sentence(comments: Sequence[CommentSpan], definition: Definition, language: str) -> str | None:
    """Return the first sentence of comments, or None if it names the definition or is unsuitable as a query."""
    sentence = first_sentence("\n".join(comment.text for comment in comments))
    if sentence and language == "go":
        sentence = strip_leading_name(sentence, definition.name)
    if not sentence or mentions_name(sentence, definition.name) or len(content_words(sentence)) < SentenceRules.fewest:
        return None
    return sentence


def draw_by_file(
    candidates: Sequence[_T], key: Callable[[_T], tuple[object, ...]], wanted: SampleSize, rng: np.random.Generator
) -> tuple[_T, ...]:
    """Draw up to `wanted.count` candidates in rounds, at most one per file and round; return them sorted by `key`.

    `key` must return a tuple that starts with the path and differs for all candidates.
    """
    by_file = groupby(sorted(candidates, key=key), key=lambda candidate: key(candidate)[0])
    queues = [[own[i] for i in rng.permutation(len(own))] for own in (list(group) for _, group in by_file)]
    order = rng.permutation(len(queues))
    rounds = [queues[i][turn] for turn in range(wanted.max_per_file) for i in order if turn < len(queues[i])]
    return tuple(sorted(rounds[: wanted.count], key=key))


@dataclass(frozen=True, slots=True)
class DefinitionRef:
    path: str
    position: int
    names: tuple[str, ...]  # qualified name, outermost scope first
    definition: Definition

    @property
    def name(self) -> str:
        return self.names[-1]

    @property
    def lines(self) -> int:
        return self.definition.end - self.definition.start + 1

    @property
    def key(self) -> tuple[str, int]:
        return self.path, self.position

    def is_inside(self, other: DefinitionRef) -> bool:
        inner, whole = self.definition, other.definition
        contained = whole.start <= inner.start <= inner.end <= whole.end
        return self.key != other.key and self.path == other.path and contained


def name_key(name: str) -> str:
    """Return a key that is equal for fooBar, foo_bar and FooBar."""
    return "".join(split(name)) or name.lower()


def stem_all(words: Iterable[str]) -> frozenset[str]:
    return frozenset(stem(word) for word in words)


class CodeIndex:
    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.files: dict[str, ParsedSource] = {}
        for file in corpus.files:
            if file.size > _LARGEST_FILE or file.kind != "code" or file.language in _NO_CODE:
                continue
            text = read_text(corpus, file.path)
            grammar = grammar_name(file.path, file.language, text)
            if grammar is not None:
                parsed = parse_outline(text, grammar)
                # a text that was too slow to outline is not parsed for comments either
                spans = list_comments(text, grammar) if parsed.problem is None or parsed.definitions else ()
                self.files[file.path] = ParsedSource(file.path, grammar, text, parsed.definitions, spans)
        self._anchors = AnchorIndex(corpus)
        self._symbols = cache(lambda path: extract_symbols(path, self.files[path].text, self.languages[path]))
        self._lines = cache(lambda path: self.files[path].text.split("\n"))
        #: The stems of all words of a definition and of its qualified name.
        self.stems_of = cache(lambda ref: stem_all(parts(f"{self.text(ref)} {' '.join(ref.names)}")))

    @cached_property
    def languages(self) -> dict[str, str | None]:
        return {file.path: file.language for file in self.corpus.files}

    @cached_property
    def definitions(self) -> tuple[DefinitionRef, ...]:
        """All definitions of a kind that can be a target, including tests and examples, in path order."""
        return tuple(ref for path in sorted(self.files) for ref in self.definitions_in(path))

    @cached_property
    def by_name(self) -> dict[str, tuple[DefinitionRef, ...]]:
        groups: dict[str, list[DefinitionRef]] = {}
        for ref in self.definitions:
            groups.setdefault(name_key(ref.name), []).append(ref)
        return {name: tuple(group) for name, group in groups.items()}

    @cached_property
    def names(self) -> frozenset[str]:
        """All names that the corpus defines, and the words of its paths."""
        defined = {d.name for file in self.files.values() for d in file.definitions}
        return frozenset(defined.union(*(re.findall(r"\w+", path) for path in self.languages)))

    @cached_property
    def file_counts(self) -> Counter[str]:
        return Counter(word for file in self.files.values() for word in stem_all(parts(file.text)))

    @cached_property
    def _functions(self) -> tuple[DefinitionRef, ...]:
        return tuple(
            ref for ref in self.definitions if ref.definition.kind in ("function", "method") and self.can_be_target(ref)
        )

    def definitions_in(self, path: str) -> Iterator[DefinitionRef]:
        definitions = self.files[path].definitions
        return (self.definition(path, at) for at, d in enumerate(definitions) if d.kind in TARGET_KINDS)

    def definition(self, path: str, position: int) -> DefinitionRef:
        definitions = self.files[path].definitions
        return DefinitionRef(path, position, qualified_name(definitions, position), definitions[position])

    def definition_at(self, path: str, line: int) -> DefinitionRef | None:
        position = innermost_definition(self.files[path].definitions, line) if path in self.files else -1
        return self.definition(path, position) if position >= 0 else None

    def definitions_of(self, target: Target) -> tuple[DefinitionRef, ...]:
        """Return the definition at a target, or all top-level definitions for a whole file; empty if there are none."""
        resolved = self.resolve(target)
        if resolved is None or resolved.span.path not in self.files:
            return ()
        every = tuple(self.definitions_in(resolved.span.path))
        if resolved.span.start is None or resolved.span.end is None:
            return tuple(ref for ref in every if ref.definition.parent < 0)
        span = resolved.unit or resolved.span
        start, end = span.start or 1, span.end or 1
        for ref in every:
            definition = ref.definition
            if definition.start <= start <= definition.name_line <= end and abs(definition.end - end) <= 1:
                return (ref,)
        around = self.definition_at(resolved.span.path, resolved.span.start)
        return (around,) if around else ()

    def is_own_code(self, path: str) -> bool:
        """Return whether a path is parsed project code, and not a test, example, mock, stub or vendored file."""
        return path in self.files and not is_peripheral(path) and _NO_TARGET.search(path) is None

    def can_be_target(self, ref: DefinitionRef) -> bool:
        """Return whether a definition is in project code, and neither it nor an outer scope is named like a test."""
        return self.is_own_code(ref.path) and not any(_TEST.match(name) for name in ref.names)

    def text(self, ref: DefinitionRef) -> str:
        return "\n".join(self._lines(ref.path)[ref.definition.start - 1 : ref.definition.end])

    def documentation(self, ref: DefinitionRef) -> str:
        """Return the docstring of a definition, or else the comment above it, as written."""
        file = self.files[ref.path]
        documents = find_documentation(file.definitions, file.comments, apart=True)
        return "\n".join(comment.text for comment in documents[ref.position])

    def count_containing(self, stems: frozenset[str]) -> int:
        """Return the number of functions and methods of the project that contain all stems."""
        return sum(stems <= self.stems_of(ref) for ref in self._functions)

    def resolve(self, target: Target) -> Target | None:
        resolved = self._anchors.look_up(target)
        return resolved if isinstance(resolved, Target) else None

    def anchor(self, ref: DefinitionRef, grade: int = PRIMARY) -> Target | None:
        """Return a target anchored by symbol, or else by lines and content hash, or None if neither resolves."""
        path, definition = ref.path, ref.definition
        here = [
            (symbol.end - symbol.start, symbol.start, symbol.name)
            for symbol in self._symbols(path)
            if symbol.start <= definition.name_line <= symbol.end
            and symbol.name.partition("~")[0].rpartition(".")[2] == ref.name
        ]
        for _, _, name in sorted(here):
            target = Target(Span(path), grade, name)
            if self.resolve(target) is not None:
                return target
        if definition.end > count_lines(self.files[path].text):
            return None
        digest = content_digest(self._lines(path)[definition.start - 1 : definition.end])
        target = Target(Span(path, definition.start, definition.end), grade, digest=digest)
        return target if self.resolve(target) is not None else None
