"""Symbols of a file and their lines, from `ast` for Python and from the outline for other languages.

The lines of a definition include its decorators and, except in Python, the comments directly above it.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import PurePosixPath
from typing import Final

from assay.syntax.outline import Definition, parse_outline
from assay.syntax.parsing import grammar_name
from assay.types import Symbol

SUPPORTED: frozenset[str] = frozenset({".py", ".pyi", ".pyw"})

_OVERLOAD = re.compile(r"\s*@(?:\w+\.)*overload\s*(?:#.*)?$")
_JAVASCRIPT = (".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx")
_ALIAS = re.compile(r"\s*(?:[\w$]+\.)*exports\.([\w$]+)\s*=\s*\1\s*;?\s*(?://.*)?")
_EXPORTED = re.compile(r"\s*(?:module\.)?exports\s*=\s*(?:async\s+)?(?:class|function)\b[\s*]*([\w$]+)")
_DEFINED = re.compile(r"\s*(?:async\s+)?(?:def|class)\b")
_LONE_RETURN = re.compile(r"\r(?!\n)")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BLOCKS = (ast.stmt, ast.excepthandler, ast.match_case)  # nodes that can contain a definition
_PARTS = frozenset({"constant", "property"})  # never enclosing definitions
_TYPE_ALIAS: type[ast.AST] | None = getattr(ast, "TypeAlias", None)  # from Python 3.12


def extract_symbols(path: str, text: str, language: str | None = None) -> tuple[Symbol, ...]:
    """Return the definitions of a file in line order; none if the file cannot be parsed or has no grammar."""
    if _is_python(path, language):
        parsed = _parse(text)
        return () if isinstance(parsed, str) else tuple(sorted(_number(_definitions(parsed))))
    grammar = grammar_name(path, language, text)
    if grammar is None:
        return ()
    definitions = parse_outline(text, grammar).definitions
    named = zip(definitions, qualified_names(definitions, grammar), strict=True)
    return tuple(sorted(_number(Symbol(found.start, found.end, name, found.kind) for found, name in named)))


def find_symbol(name: str, symbols: Sequence[Symbol], lines: Sequence[str], path: str) -> Symbol | None:
    """Return the first definition of a name, or the only one that is no overload stub, ignoring export aliases."""
    first = next((symbol for symbol in symbols if symbol.name == name), None)
    if first is None and path.endswith(_JAVASCRIPT) and name.split(".")[0] == "exports":
        # Gold sets of 0.1: `module.exports = class Store` was `exports`, and its methods `exports.buy`.
        exported = next(filter(None, map(_EXPORTED.match, lines)), None)
        return find_symbol(exported[1] + name.removeprefix("exports"), symbols, lines, path) if exported else None
    repeated = [symbol for symbol in symbols if symbol == first or symbol.name.startswith(f"{name}~")]
    if first is None or len(repeated) == 1:
        return first
    repeated = [symbol for symbol in repeated if not is_export_alias(lines[symbol.end - 1], path)] or repeated
    bodies = [symbol for symbol in repeated if not _is_overload(lines[symbol.start - 1 : symbol.end], path)]
    return bodies[0] if len(bodies) == 1 else repeated[0]


def is_export_alias(line: str, path: str) -> bool:
    """Return whether a line of JavaScript only exports a name under the same name: `exports.open = open`."""
    return path.endswith(_JAVASCRIPT) and _ALIAS.fullmatch(line) is not None


def _is_overload(lines: Sequence[str], path: str) -> bool:
    if path.endswith((".ts", ".tsx", ".mts", ".cts")):  # a signature without a body
        return lines[-1].rstrip().endswith(";") and not lines[-1].lstrip().startswith("}")
    decorators = takewhile(lambda line: not _DEFINED.match(line), lines)
    return any(_OVERLOAD.match(line) for line in decorators)


def parse_problem(path: str, text: str, language: str | None = None) -> str | None:
    """Return why a file in a supported language cannot be parsed (`line 3: invalid syntax`), or None."""
    if _is_python(path, language):
        parsed = _parse(text)
        return parsed if isinstance(parsed, str) else None
    grammar = grammar_name(path, language, text)
    return parse_outline(text, grammar).problem if grammar else None


def is_supported(path: str, language: str | None) -> bool:
    return _is_python(path, language) or grammar_name(path, language, "") is not None


def find_enclosing(symbols: Sequence[Symbol], start: int, end: int) -> Symbol | None:
    """Return the innermost definition that contains lines `start` to `end`, ignoring constants and properties."""
    holders = [s for s in symbols if s.kind not in _PARTS and s.start <= start and end <= s.end]
    return min(holders, key=lambda s: (s.end - s.start, -s.start, s.name), default=None)


def _is_python(path: str, language: str | None) -> bool:
    return language == "python" or (language is None and PurePosixPath(path).suffix in SUPPORTED)


def _parse(text: str) -> ast.Module | str:
    # ast ends a line at a lone \r too; everything else in Assay, and most editors, only at \n.
    source = _LONE_RETURN.sub(" ", text.removeprefix("\ufeff"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in the source
            return ast.parse(source)
    except SyntaxError as error:
        return f"line {error.lineno or 1}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:  # NUL bytes; brackets or blocks nested too deeply
        return f"cannot be parsed: {error or type(error).__name__}"


def _definitions(module: ast.Module) -> Iterator[Symbol]:
    """Yield the definitions in file order; an explicit stack avoids deep recursion in long `elif` chains."""
    stack: list[tuple[ast.AST, tuple[str, ...], str]] = [(module, (), "module")]
    while stack:
        node, names, around = stack.pop()  # names of the enclosing definitions, kind of the innermost
        defined: list[tuple[str, str]] = []
        inner, kind = names, around
        if isinstance(node, ast.ClassDef):
            defined, inner, kind = [(node.name, "class")], (*names, node.name), "class"
        elif isinstance(node, _FUNCTIONS):
            defined = [(node.name, "method" if around == "class" else "function")]
            inner, kind = (*names, node.name), "function"
        elif around != "function" and isinstance(node, ast.stmt):
            defined = [(name, "constant") for name in _assigned_names(node)]
        if defined and isinstance(node, ast.stmt):
            decorators: list[ast.expr] = getattr(node, "decorator_list", [])
            start = min([node.lineno, *(decorator.lineno for decorator in decorators)])
            for name, own in defined:
                yield Symbol(start, node.end_lineno or start, ".".join((*names, name)), own)
        children = [child for child in ast.iter_child_nodes(node) if isinstance(child, _BLOCKS)]
        stack.extend((child, inner, kind) for child in reversed(children))


def _assigned_names(statement: ast.stmt) -> Iterator[str]:
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = list(statement.targets)
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    elif _TYPE_ALIAS is not None and isinstance(statement, _TYPE_ALIAS):
        targets = [statement.name]  # type: ignore[attr-defined]  # typeshed knows it from 3.12 on
    while targets:
        target = targets.pop(0)
        if isinstance(target, ast.Name):
            yield target.id
        elif isinstance(target, ast.Tuple | ast.List):
            targets = [*target.elts, *targets]
        elif isinstance(target, ast.Starred):
            targets = [target.value, *targets]


def _number(definitions: Iterable[Symbol]) -> Iterator[Symbol]:
    counts: Counter[str] = Counter()
    for symbol in definitions:
        counts[symbol.name] += 1
        count = counts[symbol.name]
        yield symbol if count == 1 else Symbol(symbol.start, symbol.end, f"{symbol.name}~{count}", symbol.kind)


_ARGUMENTS = r"(?:<[^<>]*(?:<[^<>]*>[^<>]*)*>)"
#: grammar -> separator of qualifier and name.
_JOINTS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("javascript", "kotlin", "sql", "tsx", "typescript"), r"\."),
    "cpp": "::",
    "lua": "[.:]",
    "ruby": r"::|\.",
}
#: Words before a name that are not scopes.
_NO_SCOPE: Final = frozenset({"exports", "module", "prototype", "self", "this"})
_WORD = r"[\w$]+"
_RECEIVER = re.compile(r"func\s*\(\s*(?:\w+\s+)?\**\s*(\w+)")
_BLANKS = re.compile(r"\s+")
_UNWRITABLE = re.compile(r"[:\x00-\x1f\x7f]|(?:^|(?<=\.))\.|\.(?=\.|$)|~(?=[0-9]+$)")


def qualified_names(definitions: Sequence[Definition], grammar: str) -> tuple[str, ...]:
    """Return the qualified name of each definition; enclosing definitions must come first."""
    names: list[str] = []
    for definition in definitions:
        outer = names[definition.parent] if definition.parent >= 0 else ""
        name = _writable(definition.name)
        scopes = ".".join(_writable(scope) for scope in _scopes(definition, grammar))
        if scopes and not f".{outer}".endswith(f".{scopes}"):
            name = f"{scopes}.{name}"
        names.append(f"{outer}.{name}" if outer else name)
    return tuple(names)


def _scopes(definition: Definition, grammar: str) -> list[str]:
    if grammar == "go":
        receiver = _RECEIVER.match(definition.signature) if definition.kind == "method" else None
        return [receiver[1]] if receiver else []
    separator = _JOINTS.get(grammar)
    if separator is None:
        return []
    step = rf"({_WORD}){_ARGUMENTS}?\??(?:{separator})"
    name = re.escape(definition.name)
    steps = rf"(?<![\w$])(?P<scopes>(?:{step})*){name}(?![\w$])(?!{_ARGUMENTS}?(?:{separator})[\w~])"
    match = re.search(steps, definition.signature)
    return [word for word in re.findall(step, match["scopes"]) if word not in _NO_SCOPE] if match else []


def _writable(name: str) -> str:
    bare = name[1:-1] if len(name) > 2 and name[0] == name[-1] and name[0] in "'\"`" else name
    joined = _BLANKS.sub("_", bare.replace("::", "."))
    return _UNWRITABLE.sub(lambda match: f"%{ord(match[0]):02X}", joined)
