"""The parsed source files of a corpus, the comments on its definitions, and the drawing of queries from them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from assay.corpus import read_text
from assay.gold.anchors import path_problem
from assay.gold.history import ChangedLines, changes, old_texts
from assay.syntax.grammars import grammar_name, load_grammar
from assay.syntax.outline import Definition, outline
from assay.syntax.prose import content, is_idle, is_prose, names_it, sentences, without_leading_name
from assay.types import Corpus, SourceFile

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class SampleSize:
    """How many queries are drawn, and with which seed."""

    count: int = 40  # per kind; fewer than thirty are unreliable, and some are lost to duplicates
    max_per_file: int = 4  # one large file would otherwise be the set
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Sentences:
    """Which sentences can be a query."""

    fewest: int = 4  # content words; fewer are a label, not a description
    most: int = 40  # words; more are a paragraph without a full stop
    keywords: int = 3  # words of a keyword query: what people type into a search box


SENTENCES = Sentences()
#: Kinds of definitions that can be targets. Properties and fields belong to their class.
TARGET_KINDS: Final = frozenset({"function", "method", "class", "interface", "enum", "type", "macro", "constant"})
_LARGEST_FILE: Final = 1_000_000  # bytes; larger source files are generated
#: They have grammars, but define no code.
_NO_CODE: Final = frozenset({"css", "html", "json", "toml", "yaml"})
#: Directories and files whose code is about other code: real queries seldom mean them.
_PERIPHERAL: Final = re.compile(
    r"(?:^|[/_.-])(?:tests?|specs?|testdata|fixtures?|examples?|benchmarks?|vendor|third_party|conftest)(?:[/_.-]|$)"
    r"|(?:^|/)docs/|Tests?\.\w+$|Spec\.\w+$"
)
#: The quotes of a documentation string. Blanking keeps them, since a body of nothing else would not parse.
_QUOTES: Final = re.compile(rb"""[rRbBuUfF]{0,2}(\"\"\"|'''|"|')""")


@dataclass(frozen=True, slots=True)
class CommentSpan:
    """A comment or documentation string: its lines, and its bytes in the UTF-8 of the text."""

    start: int
    end: int
    first: int
    last: int
    text: str
    inside: bool  # a documentation string in the body of its definition
    alone: bool  # only blanks before it on its line


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """A source file with its definitions and comments."""

    path: str
    language: str
    text: str
    definitions: tuple[Definition, ...]
    comments: tuple[CommentSpan, ...]


@dataclass(frozen=True, slots=True)
class Survey:
    """A corpus and its parsed source files, in path order."""

    corpus: Corpus
    files: tuple[ParsedFile, ...]


def survey(corpus: Corpus) -> Survey:
    """Read and parse the source files of a corpus."""
    found = (_parse(corpus, file) for file in corpus.files if file.size <= _LARGEST_FILE)
    return Survey(corpus, tuple(parsed for parsed in found if parsed is not None))


def _parse(corpus: Corpus, file: SourceFile) -> ParsedFile | None:
    if file.kind != "code" or file.language in _NO_CODE:
        return None
    text = read_text(corpus, file.path)
    grammar = grammar_name(file.path, file.language, text)
    if grammar is None:
        return None
    parsed = outline(text, grammar)
    # A text that is too slow to outline is not parsed for its comments either.
    found = comments(text, grammar) if parsed.problem is None or parsed.definitions else ()
    return ParsedFile(file.path, grammar, text, parsed.definitions, found)


def is_peripheral(path: str) -> bool:
    """Return whether a path is a test, an example or vendored, or cannot be written in a gold file."""
    return bool(_PERIPHERAL.search(path)) or path_problem(path) is not None


def qualified_name(definitions: Sequence[Definition], position: int) -> tuple[str, ...]:
    """Return the names of a definition and those around it, the outermost first."""
    names: list[str] = []
    while position >= 0:
        names.append(definitions[position].name)
        position = definitions[position].parent
    return tuple(reversed(names))


def innermost_definition(definitions: Sequence[Definition], line: int) -> int:
    """Return the position of the innermost definition around a line, or -1."""
    around = [i for i, d in enumerate(definitions) if d.kind in TARGET_KINDS and d.start <= line <= d.end]
    return around[-1] if around else -1


def comments(text: str, grammar: str) -> tuple[CommentSpan, ...]:
    """List the comments and documentation strings of a text, in order."""
    from tree_sitter import QueryCursor

    loaded = load_grammar(grammar)
    source = text.encode("utf-8", "surrogatepass")
    captures = QueryCursor(loaded.query).captures(loaded.parser.parse(source).root_node)
    found = {
        (node.start_byte, node.end_byte): _comment_span(node, source, inside=capture == "doc")
        for capture in ("comment", "doc")
        for node in captures.get(capture, ())
    }
    return tuple(found[place] for place in sorted(found))


def _comment_span(node: Node, source: bytes, *, inside: bool) -> CommentSpan:
    first, last = node.start_byte, node.end_byte
    quotes = _QUOTES.match(source, first, last) if inside else None
    if quotes is not None:
        first, last = quotes.end(), max(quotes.end(), last - len(quotes[1]))
    elif source[first:last].endswith(b"\n"):
        last -= 1  # some grammars include the line end
    line_start = source.rfind(b"\n", 0, node.start_byte) + 1
    start = node.start_point[0] + 1
    end = start + source.count(b"\n", node.start_byte, last)
    text = source[first:last].decode("utf-8", "replace")
    return CommentSpan(start, end, first, last, text, inside, not source[line_start : node.start_byte].strip())


def documentation(
    definitions: Sequence[Definition], spans: Sequence[CommentSpan]
) -> tuple[tuple[CommentSpan, ...], ...]:
    """Return the documentation of each definition: the string in its body, else the comments directly above."""
    starts = [definition.start for definition in definitions]
    strings: dict[int, CommentSpan] = {}
    for span in spans:
        if span.inside:
            strings.setdefault(_documented_position(definitions, starts, span), span)
    alone = [span for span in spans if span.alone and not span.inside]
    lines = [span.start for span in alone]
    found: list[tuple[CommentSpan, ...]] = []
    for position, definition in enumerate(definitions):
        above = alone[bisect_left(lines, definition.start) : bisect_left(lines, definition.name_line)]
        comments = tuple(span for span in above if span.end < definition.name_line)
        found.append((strings[position],) if position in strings else comments)
    return tuple(found)


def _documented_position(definitions: Sequence[Definition], starts: Sequence[int], span: CommentSpan) -> int:
    for position in range(bisect_right(starts, span.start) - 1, -1, -1):
        if definitions[position].name_line <= span.start and span.end <= definitions[position].end:
            return position
    return -1


def blank(text: str, spans: Sequence[CommentSpan]) -> str:
    """Remove comments from a text without changing line numbers."""
    source = text.encode("utf-8", "surrogatepass")
    parts: list[bytes] = []
    at = 0
    for span in sorted(set(spans), key=lambda span: (span.first, span.last)):
        parts += [source[at : span.first], re.sub(rb"[^\r\n]+", b"", source[span.first : span.last])]
        at = span.last
    return b"".join([*parts, source[at:]]).decode("utf-8", "surrogatepass")


def first_sentence(comment: str) -> str | None:
    """Return the first sentence of a comment without markers and markup, or None if it is not a sentence."""
    sentence = next(sentences(comment), "")
    return sentence if is_prose(sentence, SENTENCES.most) and not is_idle(sentence) else None


def doc_sentence(comments: Sequence[CommentSpan], definition: Definition, language: str) -> str | None:
    """Return the first sentence of a comment, or None if it is too short or names the definition."""
    sentence = first_sentence("\n".join(comment.text for comment in comments))
    if sentence and language == "go":
        sentence = without_leading_name(sentence, definition.name)
    if not sentence or names_it(sentence, definition.name) or len(content(sentence)) < SENTENCES.fewest:
        return None
    return sentence


@dataclass(frozen=True, slots=True, order=True)
class SynthQuery:
    """A candidate query: its first target, its text, and further targets (path, start, end)."""

    path: str
    start: int
    end: int
    text: str
    others: tuple[tuple[str, int, int], ...] = ()


def draw(candidates: Sequence[SynthQuery], wanted: SampleSize, rng: np.random.Generator) -> tuple[SynthQuery, ...]:
    """Draw candidates in rounds, one per file and round, until there are enough; return them in path order."""
    by_file: dict[str, list[SynthQuery]] = {}
    for candidate in sorted(candidates):
        by_file.setdefault(candidate.path, []).append(candidate)
    queues = [[own[i] for i in rng.permutation(len(own))] for own in by_file.values()]
    order = rng.permutation(len(queues))
    rounds = [queues[i][turn] for turn in range(wanted.max_per_file) for i in order if turn < len(queues[i])]
    return tuple(sorted(rounds[: wanted.count]))


@dataclass(frozen=True, slots=True)
class ChangedDefinition:
    """A definition that a commit changed, and its position among the current definitions of the file."""

    path: str
    names: tuple[str, ...]  # its own name last
    position: int | None  # None if it is gone, ambiguous or unknown
    written: int = 0  # lines of it that the commit wrote


def changed_definitions(
    root: Path, ids: Sequence[str], now: Mapping[str, ParsedFile]
) -> dict[str, tuple[ChangedDefinition, ...]]:
    """Return the definitions that each commit changed in the current files."""
    written = [change for change in changes(root, ids) if change.path in now]
    then = old_texts(root, written)
    found: dict[str, tuple[ChangedDefinition, ...]] = {}
    for change in written:
        if change in then:
            changed = tuple(_match_definitions(change, then[change], now[change.path]))
        else:
            changed = (ChangedDefinition(change.path, (), None),)
        found[change.commit] = (*found.get(change.commit, ()), *changed)
    return found


def _match_definitions(change: ChangedLines, text: str, file: ParsedFile) -> Iterator[ChangedDefinition]:
    before = outline(text, file.language).definitions
    lines: dict[tuple[str, ...], int] = {}
    for line in change.lines:
        position = innermost_definition(before, line)
        if position >= 0:
            name = qualified_name(before, position)
            lines[name] = lines.get(name, 0) + 1
    names = [qualified_name(file.definitions, i) for i in range(len(file.definitions))]
    for name in sorted(lines):
        here = [i for i, known in enumerate(names) if known == name]
        yield ChangedDefinition(file.path, name, here[0] if len(here) == 1 else None, lines[name])
