"""G2: queries that name something whose definition is not labelled."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from assay.gold.lint.rules import LintFinding, LintRule
from assay.gold.lint.view import LintContext, SourceCache, headline
from assay.syntax.identifiers import split
from assay.syntax.outline import Definition, Outline
from assay.types import Query, SourceFile

#: What makes a file the home of a name; a method, a field or a constant of that name is a namesake.
_HOMES = frozenset({"class", "interface", "enum", "type", "function", "macro"})
#: Words that stand before the name of a definition in the languages that have a grammar here.
_KEYWORDS = (
    r"actor|class|concept|data|def|defmacro|defmodule|defprotocol|defstruct|enum|fn|fun|func|function|interface"
    r"|macro_rules!|mixin|module|newtype|object|protocol|record|struct|trait|type|typealias|typedef|union|using|#define"
)
_NO_KEYWORD = frozenset({"c", "cpp", "csharp", "dart", "java"})  # where a function has only its type before it
#: An addition to something that is defined elsewhere.
_ADDITION = re.compile(r"^\W*(?:[@#]?\w+(?:\([^)]*\))?\s+)*?(?:impl|extension|extend|defimpl|instance)\b")
_DEEPEST = 2  # parts of an Elixir module's name: Phoenix.Channel is Channel, Mix.Tasks.Phx.Gen.Channel is another
_TESTS = re.compile(r"tests?|spec|benches", re.IGNORECASE)
_JOINTS = re.compile(r"::|\.|#")
_SIGNS = "$_@"
_SIGNED = re.compile(r"[$@]")
#: Words that may stand before a name to which something is assigned.
_ASSIGNING = r"(?:export|default|pub|public|private|internal|protected|static|final|const|let|var|val|readonly|type)"


@dataclass(frozen=True, slots=True, order=True)
class DefinitionSite:
    """A place where a name is defined at the top of a file."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


def simple(name: str) -> str:
    """Take scopes and type arguments off the name of a definition."""
    return _JOINTS.split(name.partition("<")[0])[-1]


def defines(outline: Outline, text: str, path: str, name: str, *, exact: bool) -> bool:
    """Tell whether a file may be taken for the home of a name; any doubt is for it.

    Unless it is looked for exactly, `$Name` and `_name` are homes of `Name` and `name` too.
    """
    signs = "" if exact else _SIGNS
    if "".join(split(PurePosixPath(path).stem)) == "".join(split(name)) and not _SIGNED.search(name):
        return True
    if any(simple(one.name).strip(signs) == name.strip(signs) for one in outline.definitions if not _adds(one)):
        return True
    quoted = re.escape(name)
    assigned = rf"^\s*(?:{_ASSIGNING}\s+|[\w$]+\.)*{quoted}\s*(?::[^=\n]*)?:?=(?![=>])"
    return bool(re.search(rf"{assigned}|\bas\s+{quoted}(?![\w$])", text, re.MULTILINE))


def adds_to(outline: Outline, text: str, name: str) -> bool:
    """Tell whether a file holds a part of what a name stands for: an `impl`, an `extension`, methods of a Go type."""
    if any(simple(one.name) == name for one in outline.definitions):
        return True
    quoted = re.escape(name)
    return bool(
        re.search(rf"^func\s*\([^)\n]*\b{quoted}\b[^)\n]*\)|\b{quoted}(?:<[^>\n]*>)?::~?\w+\s*\(", text, re.MULTILINE)
    )


def mentions(text: str, name: str) -> bool:
    """Tell whether a text holds a name as a word."""
    return bool(re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", text))


def definition_sites(
    shelf: SourceCache, names: Sequence[str], skip: Iterable[str] = ()
) -> dict[str, tuple[DefinitionSite, ...]]:
    """Find where names are defined in the code of a corpus, some of its files left out."""
    found: dict[str, set[DefinitionSite]] = {name: set() for name in names}
    left_out = frozenset(skip)
    for file in shelf.corpus.files:
        if file.kind != "code" or file.path in left_out:
            continue
        for name in _candidates(shelf, file, names):
            found[name].update(_homes(shelf, file, name))
    return {name: tuple(sorted(places)) for name, places in found.items()}


def _candidates(shelf: SourceCache, file: SourceFile, names: Sequence[str]) -> Iterator[str]:
    text = shelf.text(file.path)
    for name in names:
        if name not in text:
            continue
        quoted = re.escape(name)
        called = rf"|\b{quoted}\s*\(" if file.language in _NO_KEYWORD else ""
        if re.search(rf"(?:{_KEYWORDS})\b[^\n;={{}}]{{0,160}}?(?<![\w$]){quoted}(?![\w$]){called}", text):
            yield name


def _homes(shelf: SourceCache, file: SourceFile, name: str) -> Iterator[DefinitionSite]:
    outline = shelf.outline(file)
    if outline is None:
        return
    for one in outline.definitions:
        if simple(one.name) == name and _is_home(one, outline, file):
            yield DefinitionSite(file.path, one.name_line)


def _is_home(one: Definition, outline: Outline, file: SourceFile) -> bool:
    modules = {"module"} if file.language == "elixir" and len(_JOINTS.split(one.name)) <= _DEEPEST else set()
    if one.kind not in _HOMES | modules or _adds(one):
        return False
    name = re.escape(simple(one.name))
    if file.language in ("cpp", "c") and re.search(rf"\b{name}\s*<|\)[^{{]*;", one.signature):
        return False  # a specialisation, or a function that is only declared
    if re.search(rf"=\s*(?:type\s+)?[\w.$:]*\b{name}\b", one.signature):
        return False
    return _at_top(one, outline)


def _at_top(one: Definition, outline: Outline) -> bool:
    while one.parent >= 0:
        one = outline.definitions[one.parent]
        if one.kind != "module" or _TESTS.search(one.name):
            return False
    return True


def _adds(one: Definition) -> bool:
    return bool(_ADDITION.match(one.signature))


#: A word of a query with what may join names: `Rack::Response`, `z.record`, `from_fn`, `$state`.
_TOKEN = re.compile(r"[$@_A-Za-z][\w$]*(?:(?:::|\.|#|->)[$_A-Za-z][\w$]*)*(?:\(\))?")
_SEPARATOR = re.compile(r"::|\.|#|->")
#: A question whose subject acts; what `is` made, or `gets` called, is acted upon by others.
_QUESTION = re.compile(
    rf"(?:how|where|when|why)\s+(?:(?:does|do|can|will)\s+)?(?:the\s+|an?\s+)?(?P<name>{_TOKEN.pattern})"
    r"\s+(?!(?:is|are|was|were|be|been|being|gets?|can|could|should|and|or|of|in|for|to|from|with|that|which)\b)\w",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]{2}")
_SNAKE = re.compile(r"[A-Za-z0-9]_[A-Za-z0-9]")
_CAPITAL = re.compile(r"[A-Z][a-z]+[a-z0-9]*")
#: Words with a capital inside that are no identifiers of a program.
_BRANDS = frozenset(
    {
        "GitHub", "GitLab", "JavaScript", "TypeScript", "GraphQL", "OpenAI", "OpenAPI", "PostgreSQL", "MySQL", "SQLite",
        "MongoDB", "NoSQL", "LaTeX", "YouTube", "WebSocket", "WebSockets", "WebAssembly", "DevOps", "macOS", "iOS",
        "OAuth", "IPv4", "IPv6", "HuggingFace", "DeepSeek", "OpenRouter", "JSON", "URLs", "APIs", "IDs", "PCs", "LLMs",
    }
)  # fmt: skip


def is_symbol_query(query: Query) -> bool:
    """Tell whether a query asks for a name: it says so, or is a single identifier."""
    if query.tags.get("category") == "symbol":
        return True
    text = query.headline.strip()
    return bool(_TOKEN.fullmatch(text)) and bool(identifiers(text))


def asked_symbol(query: Query) -> str:
    """Give the one name that a symbol query asks for, without its scopes; nothing when it has several words."""
    text = query.headline.strip()
    if not is_symbol_query(query) or not _TOKEN.fullmatch(text):
        return ""
    return _last(text)


def identifiers(text: str) -> tuple[str, ...]:
    """List what looks like code in a text, each once: camelCase, snake_case, a capital inside a sentence."""
    found: dict[str, None] = {}
    for match in _TOKEN.finditer(text):
        token = match[0].removesuffix("()")
        for name in _SEPARATOR.split(token):
            if _looks_like_code(name) or (_CAPITAL.fullmatch(name) and not _begins(text, match.start())):
                found[name] = None
    return tuple(found)


def subject(text: str) -> str:
    """Give the identifier that a question is about: what acts in `how does Name do it`.

    A name elsewhere in a sentence only takes part: the code that makes, wraps or checks it is rightly elsewhere.
    """
    asked = _QUESTION.match(text.strip())
    name = "" if asked is None else _last(asked["name"])
    return name if _looks_like_code(name) else ""


def _looks_like_code(name: str) -> bool:
    return name not in _BRANDS and bool(_CAMEL.search(name) or _SNAKE.search(name))


def _begins(text: str, position: int) -> bool:
    before = text[:position].rstrip()
    return not before or before[-1] in ".?!:"


def _last(token: str) -> str:
    return _SEPARATOR.split(token.removesuffix("()"))[-1]


ELSEWHERE = LintRule(
    "G201",
    "defined-elsewhere",
    "warning",
    "A query names an identifier that the corpus defines, but in none of the files that are labelled.",
    "An engine that finds the definition is marked wrong. Label it, beside or in place of what is labelled.",
)
OUTSIDE = LintRule(
    "G202",
    "defined-outside",
    "warning",
    "A query names an identifier that only files outside the corpus define; what is labelled does not define it.",
    "Nobody can find the definition: widen the include globs, or ask for something that is there.",
)
SEVERAL = LintRule(
    "G204",
    "several-definitions",
    "info",
    "A query asks for a name that several files define, of which only some are labelled.",
    "Each of them is an answer: label them all, or say in the query which one is meant.",
)
RULES = (ELSEWHERE, OUTSIDE, SEVERAL)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The name that a query asks for, and the files that are labelled."""

    query: Query
    name: str
    symbol: bool  # the name is all that is asked
    paths: tuple[str, ...]


def check(view: LintContext) -> Iterator[LintFinding]:
    """Yield names whose definition is not labelled."""
    topics = _topics(view)
    asked = [
        one for query in view.resolved() if (one := _asked(view, query)) and (one.symbol or one.name not in topics)
    ]
    names = sorted({one.name for one in asked})
    if not names:
        return
    inside = _homes_owners(view, view.shelf, names, ())
    homeless = {one.query.id: one for one in asked if not _at_home(view, one)}
    nowhere = sorted({one.name for one in homeless.values() if not inside[one.name] and _mentioned(view, one)})
    outside = _outside(view, nowhere)
    for one in asked:
        if one.query.id not in homeless:
            yield from _several(view, one, inside)
        else:
            yield from _homeless(view, one, inside, outside)


def _topics(view: LintContext) -> frozenset[str]:
    prose = [headline(query) for query in view.gold.queries if not is_symbol_query(query)]
    said = Counter(name for text in prose for name in identifiers(text))
    common = {name for name, count in said.items() if count >= view.config.topic_queries}
    folders = {part.casefold() for path in view.files for part in path.split("/")[:-1]}
    return frozenset(common | {name for name in said if "".join(split(name)) in folders})


def _asked(view: LintContext, query: Query) -> _Asked | None:
    symbol = asked_symbol(query)
    name = symbol or subject(headline(query))
    paths = tuple(dict.fromkeys(target.span.path for target in query.targets))
    if not name or not all(view.is_code(path) and view.outline(path) is not None for path in paths):
        return None
    return _Asked(query, name, bool(symbol), paths)


def _at_home(view: LintContext, one: _Asked) -> bool:
    for path in one.paths:
        outline, text = view.outline(path), view.text(path)
        if outline is None or defines(outline, text, path, one.name, exact=one.symbol):
            return True
        if not one.symbol and adds_to(outline, text, one.name):
            return True
    return False


def _mentioned(view: LintContext, one: _Asked) -> bool:
    return any(mentions(view.text(path), one.name) for path in one.paths)


def _homes_owners(
    view: LintContext, shelf: SourceCache, names: Sequence[str], skip: Sequence[str]
) -> dict[str, tuple[DefinitionSite, ...]]:
    found = definition_sites(shelf, names, skip)
    return {name: tuple(home for home in places if not view.aside(home.path)) for name, places in found.items()}


def _outside(view: LintContext, names: Sequence[str]) -> dict[str, tuple[DefinitionSite, ...]]:
    if not names or view.tools.whole is None or not (view.corpus.spec.include or view.corpus.spec.exclude):
        return {}
    whole = view.tools.whole()
    return {} if whole is None else _homes_owners(view, SourceCache(whole), names, list(view.files))


def _homeless(
    view: LintContext,
    one: _Asked,
    inside: dict[str, tuple[DefinitionSite, ...]],
    outside: dict[str, tuple[DefinitionSite, ...]],
) -> Iterator[LintFinding]:
    for rule, found in ((ELSEWHERE, inside.get(one.name, ())), (OUTSIDE, outside.get(one.name, ()))):
        if found and len({home.path for home in found}) <= view.config.owners:
            yield _finding(view, rule, one, found)
            return


def _finding(view: LintContext, rule: LintRule, one: _Asked, found: Sequence[DefinitionSite]) -> LintFinding:
    where = ", ".join(map(str, found[: view.config.listed]))
    labelled = one.paths[0] if len(one.paths) == 1 else f"none of what is labelled ({', '.join(one.paths)})"
    outside = ", outside the corpus" if rule is OUTSIDE else ""
    does = "defines" if len(one.paths) > 1 else "does not define"
    message = f"'{one.name}' is defined in {where}{outside}; {labelled} {does} it{_signed(view, one)}"
    hint = f"label {found[0].path}" if rule is ELSEWHERE else "widen the include globs, or ask for what is there"
    return view.finding(rule, one.query, one.query.targets[0].anchor, message, hint)


def _signed(view: LintContext, one: _Asked) -> str:
    for path in one.paths:
        outline = view.outline(path)
        for known in outline.definitions if outline else ():
            if known.name != one.name and known.name.strip("$_@") == one.name:
                return f", only '{known.name}'"
    return ""


def _several(view: LintContext, one: _Asked, inside: dict[str, tuple[DefinitionSite, ...]]) -> Iterator[LintFinding]:
    if not one.symbol:
        return
    name = one.name
    adversaries = {adversary.target.span.path for adversary in one.query.adversaries}
    labelled = [home for home in inside[name] if home.path in one.paths]
    others = [home for home in inside[name] if home.path not in adversaries.union(one.paths)]
    if others and labelled:
        where = ", ".join(map(str, others[: view.config.listed]))
        message = f"'{name}' is defined in {labelled[0]}, which is labelled, and in {where}, which is not"
        yield view.finding(SEVERAL, one.query, one.query.targets[0].anchor, message)
