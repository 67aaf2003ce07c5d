"""Tree-sitter grammars by language; each is in an installed wheel, so nothing is downloaded at run time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module, resources
from typing import TYPE_CHECKING, Final

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

#: Grammars. The name is that of the language in `corpus.languages`, and of its file in `queries/`.
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
    """A parser, and the query for definitions, comments and references."""

    parser: Parser
    query: Query


def grammar_name(path: str, language: str | None, text: str) -> str | None:
    """Return the grammar of a file; `.tsx` has its own, a `.h` may be C++, and most languages have none."""
    if language == "typescript" and path.lower().endswith(".tsx"):
        return "tsx"
    if language == "c" and path.lower().endswith(".h"):
        return "cpp" if _CPP.search(_NO_CODE.sub(" ", text)) else "c"
    return language if language in GRAMMARS else None


@cache
def load_grammar(name: str) -> Grammar:
    """Load a grammar and compile its query, once per process."""
    from tree_sitter import Language, Parser, Query

    module, function = _WHEELS.get(name, (f"tree_sitter_{name}", "language"))
    language = Language(getattr(import_module(module), function)())
    source = resources.files("assay.syntax").joinpath("queries", f"{name}.scm").read_text(encoding="utf-8")
    return Grammar(Parser(language), Query(language, source))


def packages() -> tuple[str, ...]:
    """Return the packages of the grammars."""
    modules = {_WHEELS.get(name, (f"tree_sitter_{name}", ""))[0] for name in GRAMMARS}
    return tuple(sorted(module.replace("_", "-") for module in modules))
