"""Is a `.h` file C or C++? Its text tells."""

from __future__ import annotations

import re

#: What may mention C++ without being it. An unclosed comment runs to the end, so the search stays linear.
_SAID = re.compile(r"""//[^\n]*|/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)

#: What only C++ has. The C++ grammar reads nearly all of C and not the other way round, so one sign is enough.
#: Blanks never cross a line, and a class head is at most 200 characters long: both keep the search linear.
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
    """Tell C++ from C by what only C++ has, outside comments and strings."""
    return "cpp" if _CPP.search(_SAID.sub(" ", text)) else "c"
