"""G203: a label on a file that only passes on what others define."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.gold.lint.rules import LintFinding, LintRule
from assay.gold.lint.view import LintContext, headline
from assay.syntax.identifiers import parts
from assay.syntax.outline import Outline

SHIM = LintRule(
    "G203",
    "target-is-shim",
    "warning",
    "A target is a file that only includes, imports or re-exports others.",
    "What answers the query stands where it is defined: label the file that defines it.",
)
RULES = (SHIM,)

#: What passes on what others define, in any language here; a list in brackets may go over many lines.
_PASSING = re.compile(
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
#: A comment on a line, from its mark to its end; of one that goes over many lines, the first and the last line.
_BESIDE = re.compile(
    r"//.*|/\*.*?(?:\*/|$)|^(?:[^/]|/(?!\*))*\*/"
    r"|(?:^|[ \t])(?:#(?!\s*(?:include|import|define|pragma|if|endif|el|undef|!?\[))|--|;).*"
)
#: Queries about what a file passes on: the roots of these words are in them.
_ABOUT_EXPORTS = ("export", "import", "public", "entry", "api", "module", "package", "index", "include", "header")


def check(view: LintContext) -> Iterator[LintFinding]:
    """Yield the labels that point to shims; a query about what is exported may mean one."""
    known: dict[str, bool] = {}
    for query in view.resolved():
        if any(word.startswith(_ABOUT_EXPORTS) for word in parts(headline(query))):
            continue
        for path in dict.fromkeys(target.span.path for target in query.targets):
            if path not in known:
                known[path] = _is_shim(view, path)
            if known[path]:
                anchor = next(t.anchor for t in query.targets if t.span.path == path)
                message = f"{path} defines nothing: all its code is includes, imports or re-exports"
                yield view.finding(SHIM, query, anchor, message, "label the file that defines it")


def is_shim(text: str, outline: Outline) -> bool:
    """Tell whether a file only passes on what others define."""
    if any(one.kind not in ("constant", "macro", "property") for one in outline.definitions):
        return False
    code = _without_comments(text, outline)
    return bool(_IMPORTING.search(code)) and not re.search(r"\w", _PASSING.sub("", code))


def _is_shim(view: LintContext, path: str) -> bool:
    if not view.is_code(path) or view.text(path).count("\n") > view.config.shim_lines:
        return False
    outline = view.outline(path)
    return outline is not None and is_shim(view.text(path), outline)


def _without_comments(text: str, outline: Outline) -> str:
    lines = text.split("\n")
    for comment in outline.comments:
        for number in range(comment.start, min(comment.end, len(lines)) + 1):
            inside = comment.start < number < comment.end
            lines[number - 1] = "" if inside else _BESIDE.sub("", lines[number - 1])
    return "\n".join(lines)
