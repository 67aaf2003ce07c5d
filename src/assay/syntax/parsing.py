"""Load tree-sitter grammars, parse sources, and detect sources on which a parser may hang or crash.

All grammars are installed as wheels, so nothing is downloaded at run time.
"""

from __future__ import annotations

import re
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module, resources
from typing import TYPE_CHECKING, Final, TypeAlias

from assay.records import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Point, Query, Tree

    Captures: TypeAlias = dict[str, list[Node]]

#: Comments and strings. An unclosed comment runs to the end, so the search stays linear.
_NO_CODE = r"""//[^\n]*|/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""

#: Syntax that C++ has and C lacks. The C++ grammar parses nearly all of C, but not vice versa, so one match decides.
#: Blanks never cross a line, and a class head has at most 200 characters: both keep the search linear.
_CPP = r"""^[ \t]*(?:
          (?:inline[ \t]+)?namespace\b
        | template[ \t]*<
        | (?:class|enum[ \t]+class|enum[ \t]+struct)[ \t]+\w[^=()*;:{}]{0,200}[;:{]
        | using[ \t]+\w
        | (?:public|private|protected)[ \t]*:
        | \#[ \t]*include[ \t]*<\w+>
        )
        | \w::[\w~]
        | \b(?:constexpr|decltype|noexcept|nullptr|static_cast|virtual)\b
        | \boperator[ \t]*[-+*/%^&|~!=<>(\[]"""
_CPP_FLAGS = re.MULTILINE | re.VERBOSE

#: Grammar names: those of the files in `queries/` and, except for tsx, of the languages in `corpus.file_types`.
GRAMMARS: Final = (
    "bash", "c", "cpp", "csharp", "css", "dart", "elixir", "go", "haskell", "html", "java", "javascript", "json",
    "kotlin", "lua", "php", "python", "ruby", "rust", "scala", "sql", "swift", "toml", "tsx", "typescript", "yaml",
    "zig",
)  # fmt: skip
#: Module and function of grammars whose wheel is not `tree_sitter_NAME` with `language`.
_WHEELS: Final[Mapping[str, tuple[str, str]]] = {
    "csharp": ("tree_sitter_c_sharp", "language"),
    "php": ("tree_sitter_php", "language_php"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
}


@dataclass(frozen=True, slots=True)
class Grammar:
    parser: Parser
    query: Query


def grammar_name(path: str, language: str | None, text: str) -> str | None:
    if language == "typescript" and path.lower().endswith(".tsx"):
        return "tsx"
    if language == "c" and path.lower().endswith(".h"):
        return "cpp" if re.search(_CPP, re.sub(_NO_CODE, " ", text, flags=re.DOTALL), _CPP_FLAGS) else "c"
    return language if language in GRAMMARS else None


@cache
def load_grammar(name: str) -> Grammar:
    from tree_sitter import Language, Parser, Query

    module, function = _WHEELS.get(name, (f"tree_sitter_{name}", "language"))
    language = Language(getattr(import_module(module), function)())
    queries = resources.files("assay.syntax").joinpath("queries")
    names = ("typescript", "tsx") if name == "tsx" else (name,)
    source = "".join(queries.joinpath(f"{part}.scm").read_text(encoding="utf-8") for part in names)
    return Grammar(Parser(language), Query(language, source))


def query_matches(tree: Tree, grammar: str, limits: ParsingLimits) -> tuple[list[tuple[int, Captures]], bool]:
    """Return the matches of the grammar's query, and whether there were too many; local declarations are left out."""
    from tree_sitter import QueryCursor

    cursor = QueryCursor(load_grammar(grammar).query, match_limit=limits.open_matches)
    cursor.set_max_start_depth(limits.start)
    matches = cursor.matches(tree.root_node)
    if grammar in ("c", "cpp"):
        counted = {node for _, captures in matches for node in captures.get("global", ())}
        matches = [match for match in matches if "only_global" not in match[1] or match[1]["only_global"][0] in counted]
    return matches, cursor.did_exceed_match_limit


def grammar_packages() -> tuple[str, ...]:
    modules = {_WHEELS.get(name, (f"tree_sitter_{name}", ""))[0] for name in GRAMMARS}
    return tuple(sorted(module.replace("_", "-") for module in modules))


@dataclass(frozen=True, slots=True)
class ParsingLimits:
    piece: int = 2_048  # bytes per read of the parser; the time limit is checked before each read
    text: int = 256  # bytes per read of a query predicate; names are shorter
    #: Maximum reads per piece: a count, so every machine agrees. Code needs up to 55 (Kotlin), unclosed comments 5,000.
    reads: int = 200
    #: CPU seconds per file and per byte: the last resort. The slowest of 7,460 files took 0.2 s, or 2 µs per byte, so
    #: that only machines several times slower disagree; random tokens may take hours.
    seconds: float = 0.3
    seconds_per_byte: float = 8e-6
    #: Maximum sum of squared child counts of nodes with errors, and the part that grows with each byte of the source.
    #: A query takes 20 ns for each; code has up to 6,000,000, or 22 per byte.
    tangle: int = 8_000_000
    tangle_per_byte: int = 20
    #: Bytes of a long source that are parsed first, because recovery takes most of the time, and the errors that end it
    #: there. Of 2,100 files, code has up to 27, templates 137; tokens that make the Java grammar slow have 300.
    head: int = 4_096
    head_errors: int = 200
    #: The same for malformed sources (up to 4; random lines 40 to 860), and the maximum sum of squared child counts (up
    #: to 114,000; tokens that make the JavaScript grammar slow have 360,000).
    malformed_errors: int = 64
    malformed_tangle: int = 250_000
    start: int = 1_000  # levels at which matches begin; a query takes time with the levels above each match
    depth: int = 30_000  # maximum levels of a tree; above 32,767 the time of a query grows with their square
    open_matches: int = 512  # maximum matches in progress; code needs some dozens, and more take longer


PARSING = ParsingLimits()


def time_limit(source: bytes, limits: ParsingLimits) -> float:
    return limits.seconds + limits.seconds_per_byte * len(source)


#: Parsers are shared, and another thread may run while a parser reads.
_PARSING = threading.Lock()
#: The buffer of reads. py-tree-sitter 0.26 never releases it, so there is only one.
_PIECE = bytearray()


#: Problem of a file that reached the time limit; a faster machine may parse the file.
TIMED_OUT: Final = "parsing timed out"
TOO_MANY_ERRORS: Final = "too many syntax errors"


def parse(source: bytes, grammar: str, limits: ParsingLimits) -> Tree | str:
    """Parse a source; return the problem if it has too many errors or reached the limit of reads or time."""
    if 4 * limits.head < len(source):
        head = _parse_in_pieces(_complete(source[: limits.head]), grammar, limits)
        if isinstance(head, str):
            return head
        nodes, malformed = list(_nodes_with_errors(head)), is_malformed(source, grammar)
        errors = sum(node.is_error or node.is_missing for node in nodes)
        if errors > (limits.malformed_errors if malformed else limits.head_errors):
            return TOO_MANY_ERRORS
        if malformed and sum(node.child_count**2 for node in nodes) > limits.malformed_tangle:
            return TOO_MANY_ERRORS
    return _parse_in_pieces(source, grammar, limits)


def _parse_in_pieces(source: bytes, grammar: str, limits: ParsingLimits) -> Tree | str:
    """Feed the parser in pieces until the time limit; a source of a single piece has none.

    The parser's `progress_callback` crashes py-tree-sitter 0.26 before Python 3.14.
    """
    parser = load_grammar(grammar).parser
    parsing, late, reads = True, "", limits.reads * (len(source) // limits.piece + 5)

    def feed(offset: int, _point: Point) -> bytes | bytearray:
        nonlocal late, reads
        if not parsing:  # a query predicate reads
            return source[offset : offset + limits.text]
        reads -= 1
        if not late and (reads < 0 or time.thread_time() > end):
            late = "the parser reads it again and again" if reads < 0 else TIMED_OUT
        _PIECE[:] = b"" if late else source[offset : offset + limits.piece]
        return _PIECE

    with _PARSING:
        if len(source) <= limits.piece:
            return parser.parse(source)
        # CPU time, so that a busy machine cuts off no more than an idle one
        end = time.thread_time() + time_limit(source, limits)
        tree = parser.parse(feed)
        parsing = False
    return late or tree


def _complete(head: bytes) -> bytes:
    """Cut off what the end of a head leaves open, and close brackets, so that a long table has no errors."""
    for opening, closing in ((b"/*", b"*/"), (b"<!--", b"-->"), (b"{-", b"-}")):
        if (start := head.rfind(opening)) > head.rfind(closing):
            head = head[:start]
    for quotes in (b'"""', b"'''", b"`", b'"'):
        if head.count(quotes) % 2:
            head = head[: head.rfind(quotes)]
    head = head[: max(map(head.rfind, (b",", b";", b"\n")))].rstrip(b", \r\n\t")
    expected: list[int] = []
    for bracket in head.translate(None, _NO_BRACKETS):
        if bracket in _OPENING:
            expected.append(_CLOSING[_OPENING.index(bracket)])
        elif bracket in expected:
            while expected.pop() != bracket:
                pass
    return head + bytes(reversed(expected))


def tree_problem(tree: Tree, limits: ParsingLimits) -> str | None:
    """Return why queries over a tree would take too long, or None; both limits are counts, so every machine agrees."""
    tangle = sum(node.child_count**2 for node in _nodes_with_errors(tree))
    if tangle > limits.tangle + limits.tangle_per_byte * tree.root_node.end_byte:
        return TOO_MANY_ERRORS
    return f"more than {limits.depth:,} nested expressions" if _is_too_deep(tree, limits) else None


def _is_too_deep(tree: Tree, limits: ParsingLimits) -> bool:
    stack = [(tree.root_node, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > limits.depth:
            return True
        if depth + node.descendant_count > limits.depth:  # the tree may be deep enough below this node
            stack.extend((child, depth + 1) for child in node.children)
    return False


def _nodes_with_errors(tree: Tree) -> Iterator[Node]:
    stack = [tree.root_node] if tree.root_node.has_error else []
    while stack:
        node = stack.pop()
        yield node
        stack.extend(child for child in node.children if child.has_error)


@dataclass(frozen=True, slots=True)
class NestingLimits:
    brackets: int = 1_000  # maximum depth; the C# grammar needs 2 s for 10,000 open `<`, and 8 s for 20,000
    comments: int = 200  # maximum depth; the Swift grammar needs 20 s for 5,000
    hashes: int = 255  # maximum `#` in a row; the Swift grammar scans from each `#`
    unmatched: int = 10  # surplus of opening or closing brackets; exceeded by 13 of 10,000 files of 18 repositories
    bare: int = 1_000  # maximum bytes per bracket in languages with braces; code has about 20
    columns: int = 240  # maximum indentation; the YAML grammar supports 255 levels of one column
    repetition: int = 40  # maximum ratio of compression of a source with errors; 16 in 7,460 files, 60 for a token
    head: int = 256  # parsed bytes of such a source, and of its end; the Ruby grammar needs 1 s for 2 KB of `<!--`
    context: int = 32  # bytes in which two places of such a source are alike


LIMITS = NestingLimits()

_OPENING, _CLOSING = b"([{", b")]}"
_NO_BRACKETS = bytes(set(range(256)) - set(_OPENING + _CLOSING))
#: Angle brackets of types, not of comparisons, shifts, streams or arrows.
_ANGLES = re.compile(rb"(?<![<=-])[<>](?![<=])|[;{}()]")
#: Languages with type arguments in angle brackets.
_GENERIC = frozenset({"cpp", "csharp", "dart", "java", "kotlin", "rust", "scala", "swift", "tsx", "typescript"})
_BRACED = _GENERIC | {"c", "css", "go", "javascript", "json", "php", "zig"}
_INDENTED = re.compile(rb"^[ \t?:-]{%d}" % (LIMITS.columns + 1), re.MULTILINE)
_COMMENTS = re.compile(rb"/\*|\*/")
_HASHES = re.compile(rb"#{%d}" % (LIMITS.hashes + 1))


def nesting_problem(source: bytes, grammar: str) -> str | None:
    depth = _bracket_depth(source)
    if grammar in _GENERIC and source.count(b"<") > LIMITS.brackets:
        depth = max(depth, _depth(_ANGLES.findall(source), b"<", b">"))
    if depth > LIMITS.brackets:
        return f"more than {LIMITS.brackets:,} open brackets"
    if grammar == "yaml" and _INDENTED.search(source):
        return f"more than {LIMITS.columns} columns of indentation"
    if grammar == "swift" and _depth(_COMMENTS.findall(source), b"/*", b"*/") > LIMITS.comments:
        return f"more than {LIMITS.comments} open comments"
    if grammar == "swift" and _HASHES.search(source):
        return f"more than {LIMITS.hashes} # in a row"
    return None


def repeats_errors(source: bytes, grammar: str) -> bool:
    """Return whether a source is mostly one malformed text, repeated: the time of parsers grows with its square."""
    least = len(source) / LIMITS.repetition
    # for most code a quarter decides: the whole is not compressed to half as much
    if len(zlib.compress(source[: len(source) // 4], 1)) > 2 * least or len(zlib.compress(source, 1)) >= least:
        return False
    # without the repetitions in the middle, so that brackets match as in the source
    last = source.rfind(source[LIMITS.head : LIMITS.head + LIMITS.context], LIMITS.head)
    with _PARSING:
        return (
            load_grammar(grammar).parser.parse(source[: LIMITS.head] + source[last:][: LIMITS.head]).root_node.has_error
        )


def is_malformed(source: bytes, grammar: str) -> bool:
    """Return whether a source has many unmatched brackets, few brackets for its language, or NUL bytes.

    Some parsers hang or crash on malformed sources.
    """
    brackets = source.translate(None, _NO_BRACKETS)
    pairs = zip(_OPENING, _CLOSING, strict=True)
    unmatched = sum(abs(brackets.count(opening) - brackets.count(closing)) for opening, closing in pairs)
    bare = grammar in _BRACED and len(source) > LIMITS.bare * (len(brackets) + 1)
    return unmatched > LIMITS.unmatched or bare or b"\0" in source


def _bracket_depth(source: bytes) -> int:
    brackets = source.translate(None, _NO_BRACKETS)
    if len(brackets) <= LIMITS.brackets:
        return 0
    import numpy as np

    step = np.zeros(256, dtype=np.int8)
    step[list(_OPENING)], step[list(_CLOSING)] = 1, -1
    depth = np.cumsum(step[np.frombuffer(brackets, dtype=np.uint8)], dtype=np.int32)
    return int((depth - np.minimum(np.minimum.accumulate(depth), 0)).max())


def _depth(signs: Iterable[bytes], opening: bytes, closing: bytes) -> int:
    depth = deepest = 0
    for sign in signs:
        depth = depth + 1 if sign == opening else max(depth - 1, 0) if sign == closing else 0
        deepest = max(deepest, depth)
    return deepest


def parse_in_process(source: bytes, grammar: str, limits: ParsingLimits) -> Tree | None:
    """Parse a source without a fork; return None for one on which a parser or a query may hang or crash."""
    if nesting_problem(source, grammar) or is_malformed(source, grammar) or repeats_errors(source, grammar):
        return None
    tree = parse(source, grammar, limits)
    return None if isinstance(tree, str) or tree_problem(tree, limits) else tree
