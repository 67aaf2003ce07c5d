"""What [ledger] of assay.toml says: where the ledger is, and which rule is in force."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from assay.errors import ConfigError
from assay.experiment.ledger.files import FILE
from assay.experiment.ledger.rule import Rule, read_rule
from assay.experiment.spec import Spec
from assay.experiment.spec.own_tables import placed, read_table


@dataclass(frozen=True, slots=True)
class LedgerSettings:
    """The keys of [ledger]."""

    file: str = field(default=FILE, metadata={"about": "the ledger, relative to assay.toml"})
    rule: object = field(default="significant", metadata={"about": "a rule's name, or a table of what it asks for"})


@dataclass(frozen=True, slots=True)
class LedgerPlan:
    """Where entries go, and by which rule."""

    path: Path
    rule: Rule


def ledger_plan(spec: Spec, file: str | None = None, rule: str | None = None) -> LedgerPlan:
    """Read [ledger]; flags go before it."""
    settings = read_table(LedgerSettings, spec, "ledger", spec.ledger)
    try:
        in_force = read_rule(settings.rule) if rule is None else read_rule(rule, "--rule")
    except ConfigError as error:
        raise (error if rule is not None else placed(error, spec, "ledger", spec.ledger)) from error
    path = Path(file) if file else spec.folder / settings.file
    if not path.name.endswith(FILE):
        problem = ConfigError(f"file = {str(path)!r}", hint=f"its name ends in {FILE}, so that no engine finds it")
        raise problem if file else placed(problem, spec, "ledger", spec.ledger)
    return LedgerPlan(path, in_force)
