"""Tree-sitter grammars by language; each is in an installed wheel, so nothing is downloaded at run time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module, resources
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Parser, Query


#: Comments and strings. An unclosed comment runs to the end, so the search stays linear.
_NO_CODE = re.compile(r"""//[^\n]*|/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)

#: Syntax of C++ alone. The C++ grammar parses nearly all of C and not vice versa, so one match is enough.
#: Blanks never cross a line, and a class head has at most 200 characters: both keep the search linear.
_CPP = re.compile(
    r"""^[ \t]*(?:
          (?:inline[ \t]+)?namespace\b
        | template[ \t]*<
        | (?:class|enum[ \t]+class|enum[ \t]+struct)[ \t]+\w[^=()*;:{}]{0,200}[;:{]
        | using[ \t]+\w
        | (?:public|private|protected)[ \t]*:
        | \#[ \t]*include[ \t]*<\w+>
        )
        | \w::[\w~]
        | \b(?:constexpr|decltype|noexcept|nullptr|static_cast|virtual)\b
        | \boperator[ \t]*[-+*/%^&|~!=<>(\[]""",
    re.MULTILINE | re.VERBOSE,
)


def header_language(text: str) -> str:
    """Return `cpp` or `c` for a header, by syntax of C++ outside comments and strings."""
    return "cpp" if _CPP.search(_NO_CODE.sub(" ", text)) else "c"


class _Wheel(NamedTuple):
    """The module of a grammar, and the function that returns it."""

    module: str
    function: str = "language"


#: grammar -> wheel. The name is that of the language in `corpus.languages`, and of its file in `queries/`.
_WHEELS: Final[Mapping[str, _Wheel]] = {
    "bash": _Wheel("tree_sitter_bash"),
    "c": _Wheel("tree_sitter_c"),
    "cpp": _Wheel("tree_sitter_cpp"),
    "csharp": _Wheel("tree_sitter_c_sharp"),
    "css": _Wheel("tree_sitter_css"),
    "dart": _Wheel("tree_sitter_dart"),
    "elixir": _Wheel("tree_sitter_elixir"),
    "go": _Wheel("tree_sitter_go"),
    "haskell": _Wheel("tree_sitter_haskell"),
    "html": _Wheel("tree_sitter_html"),
    "java": _Wheel("tree_sitter_java"),
    "javascript": _Wheel("tree_sitter_javascript"),
    "json": _Wheel("tree_sitter_json"),
    "kotlin": _Wheel("tree_sitter_kotlin"),
    "lua": _Wheel("tree_sitter_lua"),
    "php": _Wheel("tree_sitter_php", "language_php"),
    "python": _Wheel("tree_sitter_python"),
    "ruby": _Wheel("tree_sitter_ruby"),
    "rust": _Wheel("tree_sitter_rust"),
    "scala": _Wheel("tree_sitter_scala"),
    "sql": _Wheel("tree_sitter_sql"),
    "swift": _Wheel("tree_sitter_swift"),
    "toml": _Wheel("tree_sitter_toml"),
    "tsx": _Wheel("tree_sitter_typescript", "language_tsx"),
    "typescript": _Wheel("tree_sitter_typescript", "language_typescript"),
    "yaml": _Wheel("tree_sitter_yaml"),
    "zig": _Wheel("tree_sitter_zig"),
}

GRAMMARS: Final = tuple(sorted(_WHEELS))


@dataclass(frozen=True, slots=True)
class Grammar:
    """A parser, and the query for definitions, comments and references."""

    parser: Parser
    query: Query


def grammar_name(path: str, language: str | None, text: str) -> str | None:
    """Return the grammar of a file; `.tsx` has its own, a `.h` may be C++, and most languages have none."""
    if language == "typescript" and path.lower().endswith(".tsx"):
        return "tsx"
    if language == "c" and path.lower().endswith(".h"):
        return header_language(text)
    return language if language in _WHEELS else None


@cache
def load_grammar(name: str) -> Grammar:
    """Load a grammar and compile its query, once per process."""
    from tree_sitter import Language, Parser, Query

    wheel = _WHEELS[name]
    language = Language(getattr(import_module(wheel.module), wheel.function)())
    source = resources.files("assay.syntax").joinpath("queries", f"{name}.scm").read_text(encoding="utf-8")
    return Grammar(Parser(language), Query(language, source))


def packages() -> tuple[str, ...]:
    """Return the packages of the grammars."""
    return tuple(sorted({wheel.module.replace("_", "-") for wheel in _WHEELS.values()}))
