"""All rules, by code; the documentation is made from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from assay.errors import ConfigError, nearest
from assay.gold.lint import copies, overlaps, owners, places, reaching, repeats, sets, shims, wording
from assay.gold.lint.records import Finding, Rule
from assay.gold.lint.view import View


@dataclass(frozen=True, slots=True)
class Check:
    """A function over one set, and the rules it may find broken."""

    rules: tuple[Rule, ...]
    run: Callable[[View], Iterator[Finding]]


CHECKS = tuple(
    Check(module.RULES, module.check)
    for module in (places, owners, shims, repeats, overlaps, copies, wording, reaching, sets)
)
RULES = tuple(sorted((rule for check in CHECKS for rule in check.rules), key=lambda rule: rule.code))


@dataclass(frozen=True, slots=True)
class Selection:
    """Which rules count: those whose code begins with one selected and with none ignored."""

    select: tuple[str, ...] = ("G",)
    ignore: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a code that selects nothing: a dead knob is worse than none."""
        for code in (*self.select, *self.ignore):
            if not any(rule.code.startswith(code) for rule in RULES):
                near = nearest(code, [rule.code for rule in RULES], 3)
                raise ConfigError(f"no rule begins with '{code}'", hint=f"such as {', '.join(near or ('G1', 'G201'))}")

    def takes(self, code: str) -> bool:
        """Tell whether a rule counts."""
        return code.startswith(self.select) and not (self.ignore and code.startswith(self.ignore))


EVERY_RULE = Selection()
