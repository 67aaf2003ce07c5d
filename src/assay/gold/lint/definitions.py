"""Lint rules G2xx: unlabeled definitions that a query names, targets that only re-export, and ambiguous anchors."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from assay.corpus.file_types import file_role
from assay.gold.lint.rules import LintContext, LintFinding, SourceCache
from assay.gold.query_properties import CODE_TOKEN, NAME_SEPARATOR, find_identifiers, is_symbol_query, looks_like_code
from assay.syntax.identifiers import parts, split
from assay.syntax.outline import Definition, Outline
from assay.syntax.symbols import is_export_alias
from assay.types import Query

#: Kinds of definitions that a query may name; methods, fields and constants of the same name do not count.
_DEFINING_KINDS = frozenset({"class", "interface", "enum", "type", "function", "macro"})
#: Keywords before the name of a definition in the supported languages.
_KEYWORDS = (
    r"actor|class|concept|data|def|defmacro|defmodule|defprotocol|defstruct|enum|fn|fun|func|function|interface"
    r"|macro_rules!|mixin|module|newtype|object|protocol|record|struct|trait|type|typealias|typedef|union|using|#define"
)
_NO_KEYWORD = frozenset({"c", "cpp", "csharp", "dart", "java"})  # functions start with their type
#: An addition to a type that is defined elsewhere.
_ADDITION = re.compile(r"^\W*(?:[@#]?\w+(?:\([^)]*\))?\s+)*?(?:impl|extension|extend|defimpl|instance)\b")
_DEEPEST = 2  # parts of an Elixir module's name: Phoenix.Channel is Channel, Mix.Tasks.Phx.Gen.Channel is not
_TESTS = re.compile(r"tests?|spec|benches", re.IGNORECASE)
_JOINTS = re.compile(r"::|\.|#")
_SIGNS = "$_@"
#: Words that may precede the name in an assignment.
_ASSIGNING = r"(?:export|default|pub|public|private|internal|protected|static|final|const|let|var|val|readonly|type)"
#: A question in the active voice. In the passive voice (`is`, `gets`), the target is other code.
_QUESTION = re.compile(
    rf"(?:how|where|when|why)\s+(?:(?:does|do|can|will)\s+)?(?:the\s+|an?\s+)?(?P<name>{CODE_TOKEN.pattern})"
    r"\s+(?!(?:is|are|was|were|be|been|being|gets?|can|could|should|and|or|of|in|for|to|from|with|that|which)\b)\w",
    re.IGNORECASE,
)


def simple_name(name: str) -> str:
    """Return a name without scopes and type arguments: `Map` for `std::Map<K, V>`."""
    return _JOINTS.split(name.partition("<")[0])[-1]


_Site = tuple[str, int]  # path and line of a definition at the top level of a file
_Sites = Mapping[str, Sequence[_Site]]


class _NamedQuery(NamedTuple):
    query: Query
    name: str
    symbol: bool  # the query is nothing but the name
    paths: tuple[str, ...]


def check_definitions(view: LintContext) -> Iterator[LintFinding]:
    named = _named_queries(view)
    if not named:
        return
    inside = _definition_sites(view, sorted({entry.name for entry in named}))
    undefined = {entry.query.id: entry for entry in named if not _is_defined(view, entry)}
    outside = _sites_outside(view, [entry for entry in undefined.values() if not inside[entry.name]])
    for entry in named:
        name, anchor = entry.name, entry.query.targets[0].anchor
        if entry.query.id not in undefined:
            adversaries = {adversary.target.span.path for adversary in entry.query.adversaries}
            labeled = [site for site in inside[name] if site[0] in entry.paths]
            others = [site for site in inside[name] if site[0] not in adversaries.union(entry.paths)]
            if entry.symbol and others and labeled:
                listed, label = _list_sites(others, view), _list_sites(labeled[:1], view)
                message = f"'{name}' is defined in {label} (labeled) and in {listed} (not labeled)"
                yield view.finding("several-definitions", entry.query, anchor, message)
        elif _is_specific(inside[name], view):
            yield _report_unlabeled(view, "defined-elsewhere", entry, inside[name])
        elif _is_specific(outside.get(name, ()), view):
            yield _report_unlabeled(view, "defined-outside", entry, outside[name])


def _named_queries(view: LintContext) -> list[_NamedQuery]:
    prose = [query.headline for query in view.gold.queries if not is_symbol_query(query)]
    counts = Counter(name for text in prose for name in find_identifiers(text))
    directories = {part.casefold() for path in view.files for part in path.split("/")[:-1]}
    entries = [entry for query in view.resolved() if (entry := _parse_name(view, query)) is not None]

    def is_topic(name: str) -> bool:
        return counts[name] >= view.config.topic_queries or (name in counts and "".join(split(name)) in directories)

    return [entry for entry in entries if entry.symbol or not is_topic(entry.name)]


def _sites_outside(view: LintContext, missing: Sequence[_NamedQuery]) -> _Sites:
    names = {
        entry.name
        for entry in missing
        if any(re.search(rf"(?<![\w$]){re.escape(entry.name)}(?![\w$])", view.text(path)) for path in entry.paths)
    }
    if not names or view.tools.whole is None or not (view.corpus.spec.include or view.corpus.spec.exclude):
        return {}
    whole = view.tools.whole()
    return {} if whole is None else _definition_sites(SourceCache(whole), sorted(names), skip=view.files)


def _is_specific(sites: Sequence[_Site], view: LintContext) -> bool:
    return 0 < len({path for path, _ in sites}) <= view.config.owners


def _parse_name(view: LintContext, query: Query) -> _NamedQuery | None:
    """Find the name that a symbol query consists of, or the subject of a question such as `how does Name work`.

    Return None for a name elsewhere in a sentence, since the target may be code that creates, wraps or checks the named
    object, and for queries with targets in files that are not code or do not parse.
    """
    text = query.headline.strip()
    symbol = is_symbol_query(query) and CODE_TOKEN.fullmatch(text) is not None
    question = None if symbol else _QUESTION.match(text)
    token = text if symbol else question["name"] if question else ""
    name = NAME_SEPARATOR.split(token.removesuffix("()"))[-1]
    paths = tuple(dict.fromkeys(target.span.path for target in query.targets))
    if not name or not (symbol or looks_like_code(name)):
        return None
    if not all(view.is_code(path) and view.outline(path) is not None for path in paths):
        return None
    return _NamedQuery(query, name, symbol, paths)


def _definition_sites(sources: SourceCache, names: Sequence[str], skip: Mapping[str, object] | None = None) -> _Sites:
    by_name: dict[str, set[_Site]] = {name: set() for name in names}
    for file in sources.corpus.files:
        if file.kind != "code" or file.path in (skip or {}) or file_role(file.path) != "none":
            continue
        text = sources.text(file.path)
        for name in names:
            quoted = re.escape(name)
            called = rf"|\b{quoted}\s*\(" if file.language in _NO_KEYWORD else ""
            defined = rf"(?:{_KEYWORDS})\b[^\n;={{}}]{{0,160}}?(?<![\w$]){quoted}(?![\w$]){called}"
            if name in text and re.search(defined, text):
                outline = sources.outline(file.path)
                for definition in outline.definitions if outline else ():
                    is_site = outline and _is_definition(definition, outline, file.language)
                    if is_site and simple_name(definition.name) == name:
                        by_name[name].add((file.path, definition.name_line))
    return {name: sorted(sites) for name, sites in by_name.items()}


def _is_definition(definition: Definition, outline: Outline, language: str | None) -> bool:
    modules = {"module"} if language == "elixir" and len(_JOINTS.split(definition.name)) <= _DEEPEST else set()
    if definition.kind not in _DEFINING_KINDS | modules or _ADDITION.match(definition.signature):
        return False
    name = re.escape(simple_name(definition.name))
    if language in ("cpp", "c") and re.search(rf"\b{name}\s*<|\)[^{{]*;", definition.signature):
        return False  # a specialization, or only a declaration
    if re.search(rf"=\s*(?:type\s+)?[\w.$:]*\b{name}\b", definition.signature):
        return False  # an alias of the same name
    while definition.parent >= 0:
        definition = outline.definitions[definition.parent]
        if definition.kind != "module" or _TESTS.search(definition.name):
            return False
    return True


def _is_defined(view: LintContext, named: _NamedQuery) -> bool:
    """Return whether a labeled file may define the name or, for a question, add methods to it; True if in doubt.

    In a question, `$Name` and `_name` count as `Name` and `name`.
    """
    name, quoted, signs = named.name, re.escape(named.name), "" if named.symbol else _SIGNS
    assigned = rf"^\s*(?:{_ASSIGNING}\s+|[\w$]+\.)*{quoted}\s*(?::[^=\n]*)?:?=(?![=>])|\bas\s+{quoted}(?![\w$])"
    # methods of a Go type, or of a C++ or Rust one
    methods = rf"^func\s*\([^)\n]*\b{quoted}\b[^)\n]*\)|\b{quoted}(?:<[^>\n]*>)?::~?\w+\s*\("
    for path in named.paths:
        outline, text = view.outline(path), view.text(path)
        if outline is None or re.search(assigned, text, re.MULTILINE):
            return True
        if "".join(split(PurePosixPath(path).stem)) == "".join(split(name)) and not re.search(r"[$@]", name):
            return True
        definitions = [simple_name(d.name) for d in outline.definitions if not _ADDITION.match(d.signature)]
        if any(defined.strip(signs) == name.strip(signs) for defined in definitions):
            return True
        added = any(simple_name(definition.name) == name for definition in outline.definitions)
        if not named.symbol and (added or re.search(methods, text, re.MULTILINE)):
            return True
    return False


def _list_sites(sites: Sequence[_Site], view: LintContext) -> str:
    return ", ".join(f"{path}:{line}" for path, line in sites[: view.config.listed])


def _report_unlabeled(view: LintContext, rule: str, named: _NamedQuery, sites: Sequence[_Site]) -> LintFinding:
    where = _list_sites(sites, view)
    labeled = named.paths[0] if len(named.paths) == 1 else f"none of the labeled files ({', '.join(named.paths)})"
    outside = ", outside the corpus" if rule == "defined-outside" else ""
    does = "defines" if len(named.paths) > 1 else "does not define"
    names = [d.name for path in named.paths if (outline := view.outline(path)) for d in outline.definitions]
    signed = [name for name in names if name != named.name and name.strip(_SIGNS) == named.name]
    only = f", only '{signed[0]}'" if signed else ""
    message = f"'{named.name}' is defined in {where}{outside}; {labeled} {does} it{only}"
    hint = f"label {sites[0][0]}" if rule == "defined-elsewhere" else "widen the include globs, or change the query"
    return view.finding(rule, named.query, named.query.targets[0].anchor, message, hint)


#: Includes, imports and re-exports in any supported language; a bracketed list may span lines.
_REEXPORT = re.compile(
    r"""^[ \t]*(?:
      \#[ \t]*(?:include|import|pragma|ifndef|ifdef|if|endif|else|elif|undef)\b[^\n]*
    | \#[ \t]*define[ \t]+\w+[ \t]*$                             # the guard of a header
    | (?:pub(?:\([^)]*\))?[ \t]+)?use\b[^;]*;
    | (?:pub(?:\([^)]*\))?[ \t]+)?(?:mod|extern[ \t]+crate)\b[^;{]*;
    | \#!?\[[^\]\n]*\]
    | import\b(?:[^\n({]*|[^({]*[({][^)}]*[)}][^\n]*)$
    | from\b[^\n]*\bimport\b(?:[^\n(]*|[ \t]*\([^)]*\))$
    | export\b[ \t]*(?:type[ \t]*)?(?:\*|\{[^}]*\})[^\n;]*\bfrom\b[^\n]*
    | export\b[ \t]*(?:type[ \t]*)?\{[^}]*\}[ \t]*;?$
    | (?:module\.exports|exports\.\w+)[ \t]*=[ \t]*require\([^)\n]*\)[.\w]*[ \t]*;?$
    | (?:const|let|var)\b[^=\n]*=[ \t]*require\([^)\n]*\)[.\w]*[ \t]*;?$
    | (?:require|require_relative|autoload|package|using)\b[^\n]*$
    | ['"]use[ ]strict['"];?
    | __all__[ \t]*(?::[^=\n]*)?\+?=[ \t]*[\[(][^\])]*[\])]
    )""",
    re.MULTILINE | re.VERBOSE,
)
_IMPORTING = re.compile(r"\b(?:include|import|use|from|require|require_relative|export|autoload)\b")
#: A comment on one line, or the first or last line of a longer one.
_LINE_COMMENT = re.compile(
    r"//.*|/\*.*?(?:\*/|$)|^(?:[^/]|/(?!\*))*\*/"
    r"|(?:^|[ \t])(?:#(?!\s*(?:include|import|define|pragma|if|endif|el|undef|!?\[))|--|;).*"
)
#: Stems of words in queries about re-exports.
_ABOUT_EXPORTS = ("export", "import", "public", "entry", "api", "module", "package", "index", "include", "header")


def check_shims(view: LintContext) -> Iterator[LintFinding]:
    known: dict[str, bool] = {}
    for query in view.resolved():
        if any(word.startswith(_ABOUT_EXPORTS) for word in parts(query.headline)):
            continue
        for path in dict.fromkeys(target.span.path for target in query.targets):
            if path not in known:
                known[path] = _is_shim(view, path)
            if known[path]:
                anchor = next(t.anchor for t in query.targets if t.span.path == path)
                message = f"{path} defines nothing: all its code is includes, imports or re-exports"
                yield view.finding("target-is-shim", query, anchor, message, "label the file that defines the code")


def _is_shim(view: LintContext, path: str) -> bool:
    if not view.is_code(path) or view.text(path).count("\n") > view.config.shim_lines:
        return False
    outline = view.outline(path)
    if outline is None or not {"constant", "macro", "property"}.issuperset(d.kind for d in outline.definitions):
        return False
    lines = view.text(path).split("\n")
    for comment in outline.comments:
        for number in range(comment.start, min(comment.end, len(lines)) + 1):
            inside = comment.start < number < comment.end
            lines[number - 1] = "" if inside else _LINE_COMMENT.sub("", lines[number - 1])
    code = "\n".join(lines)
    return bool(_IMPORTING.search(code)) and not re.search(r"\w", _REEXPORT.sub("", code))


#: A definition of a name in Python; files with fewer than two are not parsed.
_PYTHON_DEFINITION = r"^[ \t]*(?:async[ \t]+)?(?:(?:def|class)[ \t]+{name}\b|{name}[ \t]*(?::[^=\n]*)?=)"
#: Accessors share the name of their property, but an anchor means the property.
_ACCESSOR = re.compile(r"@[\w.]+\.(?:setter|deleter|getter)\b")


def check_repeats(view: LintContext) -> Iterator[LintFinding]:
    for query in view.resolved():
        names = {(target.span.path, target.symbol) for target in query.targets}
        for target in query.targets:
            path, symbol = target.span.path, target.symbol
            if symbol is None or "~" in symbol:
                continue
            text = view.text(path)
            if path.endswith((".py", ".pyi")):
                pattern = _PYTHON_DEFINITION.format(name=re.escape(symbol.rpartition(".")[2]))
                if len(re.findall(pattern, text, re.MULTILINE)) < 2:
                    continue
            source = text.split("\n")
            others = [
                other
                for other in view.symbols(path)
                if other.name.startswith(f"{symbol}~")
                and (path, other.name) not in names
                and not is_export_alias(source[other.end - 1], path)
                and not _ACCESSOR.search("\n".join(source[other.start - 1 : other.start + 2]))
            ]
            overloads = any(other.start == target.span.start for other in others)  # the target is the implementation
            if others and not overloads:
                lines = " and ".join(str(other.start) for other in others[: view.config.listed])
                where = f"{'line' if len(others) == 1 else 'lines'} {lines}"
                message = f"{path} defines '{symbol}' on line {target.span.start} (the target) and again on {where}"
                hint = f"write {path}::{others[0].name} for the definition on line {others[0].start}"
                yield view.finding("symbol-repeated", query, target.anchor, message, hint)
