"""G205: a symbol anchor whose name the file defines several times."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.gold.lint.rules import LintFinding, LintRule
from assay.gold.lint.view import LintContext
from assay.types import Symbol, Target

REPEATED = LintRule(
    "G205",
    "symbol-repeated",
    "warning",
    "A symbol anchor names something that its file defines several times, and does not say which.",
    "The first is taken, be it the stub of an overload. Write `~2` for the second, or label both.",
)
RULES = (REPEATED,)

_DEFINING = r"^[ \t]*(?:async[ \t]+)?(?:(?:def|class)[ \t]+{name}\b|{name}[ \t]*(?::[^=\n]*)?=)"
#: The other half of a property, which nobody would take for the property.
_ACCESSOR = re.compile(r"@[\w.]+\.(?:setter|deleter|getter)\b")


def check(view: LintContext) -> Iterator[LintFinding]:
    """Yield the anchors that mean the first of several."""
    for query in view.resolved():
        names = {(target.span.path, target.symbol) for target in query.targets}
        for target in query.targets:
            if target.symbol is None or "~" in target.symbol:
                continue
            others = [one for one in _repeats(view, target) if (target.span.path, one.name) not in names]
            if others:
                lines = " and ".join(str(one.start) for one in others[: view.config.listed])
                message = (
                    f"{target.span.path} defines '{target.symbol}' in line {target.span.start}, which is taken, and in "
                    f"{'line' if len(others) == 1 else 'lines'} {lines}"
                )
                yield view.finding(REPEATED, query, target.anchor, message, f"write {target.anchor}~2 if it is meant")


def _repeats(view: LintContext, target: Target) -> list[Symbol]:
    path = target.span.path
    if not _may_repeat(target, view.text(path)):
        return []
    lines = view.text(path).split("\n")
    known = view.shelf.symbols(view.files[path])
    later = [one for one in known if one.name.startswith(f"{target.symbol}~")]
    return [one for one in later if not _ACCESSOR.search("\n".join(lines[one.start - 1 : one.start + 2]))]


def _may_repeat(target: Target, text: str) -> bool:
    name = re.escape((target.symbol or "").rpartition(".")[2])
    if not target.span.path.endswith((".py", ".pyi")):
        return True
    return len(re.findall(_DEFINING.format(name=name), text, re.MULTILINE)) > 1
