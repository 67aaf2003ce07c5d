"""Symbols of a file and their lines: Python by `ast`, other languages by their outline.

The lines are those of the parser: decorators belong to a definition, and in all languages but Python the comments
directly above it do too.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from assay.syntax.grammars import grammar_name
from assay.syntax.outline import Definition
from assay.types import Symbol

SUPPORTED: frozenset[str] = frozenset({".py", ".pyi", ".pyw"})

_LONE_RETURN = re.compile(r"\r(?!\n)")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BLOCKS = (ast.stmt, ast.excepthandler, ast.match_case)  # what can contain a definition
_PARTS = frozenset({"constant", "property"})  # parts of a definition
_TYPE_ALIAS: type[ast.AST] | None = getattr(ast, "TypeAlias", None)  # from Python 3.12


def symbols(path: str, text: str, language: str | None = None) -> tuple[Symbol, ...]:
    """Return the definitions of a file by first line; none when it does not parse."""
    if not _is_python(path, language):
        return _outline_symbols(path, text, language)
    parsed = _parse(text)
    if not isinstance(parsed, ast.Module):
        return ()
    return tuple(sorted(_number(_definitions(parsed))))


def parse_problem(path: str, text: str, language: str | None = None) -> str | None:
    """Return why a file of a supported language has no symbols: `line 3: invalid syntax`."""
    if _is_python(path, language):
        parsed = _parse(text)
        return parsed if isinstance(parsed, str) else None
    from assay.syntax.outline import outline

    grammar = grammar_name(path, language, text)
    return outline(text, grammar).problem if grammar else None


def is_supported(path: str, language: str | None) -> bool:
    """Return whether the language of a file is supported."""
    return _is_python(path, language) or grammar_name(path, language, "") is not None


def enclosing(symbols: Sequence[Symbol], start: int, end: int) -> Symbol | None:
    """Return the innermost definition around lines `start` to `end`; constants and fields do not count."""
    holders = [s for s in symbols if s.kind not in _PARTS and s.start <= start and end <= s.end]
    return min(holders, key=lambda s: (s.end - s.start, -s.start, s.name), default=None)


def _is_python(path: str, language: str | None) -> bool:
    return language == "python" or (language is None and PurePosixPath(path).suffix in SUPPORTED)


def _outline_symbols(path: str, text: str, language: str | None) -> tuple[Symbol, ...]:
    grammar = grammar_name(path, language, text)
    if grammar is None:
        return ()
    from assay.syntax.outline import outline

    found = outline(text, grammar).definitions
    named = zip(found, qualified_names(found, grammar), strict=True)
    return tuple(sorted(_number(Symbol(one.start, one.end, name, one.kind) for one, name in named)))


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


@dataclass(frozen=True, slots=True)
class _Scope:
    """Names of the definitions around a statement, and the kind of the innermost one."""

    names: tuple[str, ...] = ()
    kind: str = "module"

    def inside(self, name: str, kind: str) -> _Scope:
        return _Scope((*self.names, name), kind)


def _definitions(module: ast.Module) -> Iterator[Symbol]:
    """Yield the definitions in file order, with an explicit stack: a chain of `elif` nests as deep as it is long."""
    stack: list[tuple[ast.AST, _Scope]] = [(module, _Scope())]
    while stack:
        node, scope = stack.pop()
        inner = scope
        if isinstance(node, ast.ClassDef):
            yield _symbol(node, scope, node.name, "class")
            inner = scope.inside(node.name, "class")
        elif isinstance(node, _FUNCTIONS):
            yield _symbol(node, scope, node.name, "method" if scope.kind == "class" else "function")
            inner = scope.inside(node.name, "function")
        elif scope.kind != "function" and isinstance(node, ast.stmt):
            for name in _assigned_names(node):
                yield _symbol(node, scope, name, "constant")
        children = [child for child in ast.iter_child_nodes(node) if isinstance(child, _BLOCKS)]
        stack.extend((child, inner) for child in reversed(children))


def _symbol(node: ast.stmt, scope: _Scope, name: str, kind: str) -> Symbol:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    start = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return Symbol(start, node.end_lineno or start, ".".join((*scope.names, name)), kind)


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
    seen: Counter[str] = Counter()
    for symbol in definitions:
        seen[symbol.name] += 1
        count = seen[symbol.name]
        yield symbol if count == 1 else Symbol(symbol.start, symbol.end, f"{symbol.name}~{count}", symbol.kind)


_ARGUMENTS = r"(?:<[^<>]*(?:<[^<>]*>[^<>]*)*>)"
#: grammar -> what joins a qualifier to a name.
_JOINTS: Final[Mapping[str, str]] = {
    "cpp": "::",
    "javascript": r"\.",
    "kotlin": r"\.",
    "lua": "[.:]",
    "ruby": r"::|\.",
    "sql": r"\.",
    "tsx": r"\.",
    "typescript": r"\.",
}
#: Words before a name that are no scope.
_NO_SCOPE: Final = frozenset({"exports", "module", "prototype", "self", "this"})
_WORD = r"[\w$]+"
_RECEIVER = re.compile(r"func\s*\(\s*(?:\w+\s+)?\**\s*(\w+)")
_BLANKS = re.compile(r"\s+")
_UNWRITABLE = re.compile(r"[:\x00-\x1f\x7f]|(?:^|(?<=\.))\.|\.(?=\.|$)|~(?=[0-9]+$)")


def qualified_names(definitions: Sequence[Definition], grammar: str) -> tuple[str, ...]:
    """Return the qualified name of each definition; outer ones come before inner ones."""
    names: list[str] = []
    for one in definitions:
        outer = names[one.parent] if one.parent >= 0 else ""
        names.append(f"{outer}.{_own(one, grammar, outer)}" if outer else _own(one, grammar, ""))
    return tuple(names)


def _own(one: Definition, grammar: str, outer: str) -> str:
    name = _writable(one.name)
    scopes = ".".join(_writable(scope) for scope in _scopes(one, grammar))
    if not scopes or f".{outer}".endswith(f".{scopes}"):
        return name
    return f"{scopes}.{name}"


def _scopes(one: Definition, grammar: str) -> list[str]:
    if grammar == "go":
        receiver = _RECEIVER.match(one.signature) if one.kind == "method" else None
        return [receiver[1]] if receiver else []
    joint = _JOINTS.get(grammar)
    found = _before(one.name, joint).search(one.signature) if joint else None
    words = re.findall(rf"({_WORD}){_ARGUMENTS}?\??(?:{joint})", found["scopes"]) if found else []
    return [word for word in words if word not in _NO_SCOPE]


def _before(name: str, joint: str | None) -> re.Pattern[str]:
    step = rf"{_WORD}{_ARGUMENTS}?\??(?:{joint})"
    return re.compile(rf"(?<![\w$])(?P<scopes>(?:{step})*){re.escape(name)}(?![\w$])(?!{_ARGUMENTS}?(?:{joint})[\w~])")


def _writable(name: str) -> str:
    bare = name[1:-1] if len(name) > 2 and name[0] == name[-1] and name[0] in "'\"`" else name
    joined = _BLANKS.sub("_", bare.replace("::", "."))
    return _UNWRITABLE.sub(lambda found: f"%{ord(found[0]):02X}", joined)
