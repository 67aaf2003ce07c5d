"""When is a change accepted? A rule is a value: it stands in every entry that it decided on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from assay.errors import ConfigError
from assay.settings import read_settings, unknown
from assay.stats.config import DEFAULT
from assay.stats.records import Verdict

if TYPE_CHECKING:
    from assay.stats.records import ComparisonRow
    from assay.stats.slices import RepositoryChange


@dataclass(frozen=True, slots=True)
class Rule:
    """What a change must do to be accepted; gains are in the measure's good direction."""

    preset: str = field(default="significant", metadata={"about": "the named rule that the rest changes"})
    verdict: tuple[str, ...] = field(
        # Net positive is what half of all changes are that do nothing; the verdict keeps such luck below alpha.
        default=("better",),
        metadata={"about": "verdicts that are accepted; empty for any"},
    )
    least: float = field(default=0.0, metadata={"about": "the gain must be more than this"})
    worst_repository: float = field(
        default=-0.02,  # the usual margin: what nobody would act on may be lost
        metadata={"about": "a repository vetoes the change when its gain is this or less; -1 for no veto"},
    )
    repository_queries: int = field(
        # One query of 30 that falls from rank 1 to 2 moves its repository by 0.012, one of ten by 0.037: below 30 a
        # single query would veto.
        default=DEFAULT.small_set,
        metadata={"about": "queries that a repository needs to veto"},
    )

    def __post_init__(self) -> None:
        """Refuse what could never be meant."""
        known = [str(verdict) for verdict in Verdict]
        for name in self.verdict:
            if name not in known:
                raise unknown("rule: verdict: unknown verdict", name, known, "verdicts")
        if self.repository_queries < 1:
            raise ConfigError(f"rule: repository_queries = {self.repository_queries}", hint="it must be 1 or more")

    def __str__(self) -> str:
        """Say the whole rule in a sentence."""
        parts = [f"the verdict is {' or '.join(self.verdict)}"] if self.verdict else []
        parts.append(f"the gain is more than {self.least:g}")
        if self.worst_repository > -1.0:
            size = f" with {self.repository_queries} queries or more" if self.repository_queries > 1 else ""
            parts.append(f"no repository{size} loses {-self.worst_repository:g} or more")
        return (
            f"accepted when {', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else f"accepted when {parts[0]}"
        )


#: Rules by name. seed-001 is how ColGREP's ledger was kept: net positive, and no dataset regresses by 0.02 or more.
PRESETS: Mapping[str, Rule] = {
    "significant": Rule(),
    "seed-001": Rule("seed-001", verdict=(), least=0.0, worst_repository=-0.02, repository_queries=1),
}


def read_rule(values: object, where: str = "rule") -> Rule:
    """Read a rule: the name of a preset, or a table that may name one and change it."""
    table: Mapping[str, Any] = {"preset": values} if isinstance(values, str) else values  # type: ignore[assignment]  # checked next
    if not isinstance(table, Mapping):
        raise ConfigError(f"{where} = {values!r}", hint="a table, or the name of a rule: " + ", ".join(PRESETS))
    name = table.get("preset", Rule.__dataclass_fields__["preset"].default)
    if name not in PRESETS:
        raise unknown(f"{where}: unknown rule", str(name), sorted(PRESETS), "rules")
    return read_settings(Rule, {**asdict(PRESETS[name]), **table}, where)


@dataclass(frozen=True, slots=True)
class Reason:
    """One condition of a rule, and whether it held."""

    text: str
    held: bool


@dataclass(frozen=True, slots=True)
class Decision:
    """What a rule says of a change, and why."""

    accepted: bool
    reasons: tuple[Reason, ...]


def judge(rule: Rule, row: ComparisonRow, repositories: Sequence[RepositoryChange]) -> Decision:
    """Put a comparison to a rule."""
    reasons = tuple(_reasons(rule, row, repositories))
    return Decision(all(reason.held for reason in reasons), reasons)


def _reasons(rule: Rule, row: ComparisonRow, repositories: Sequence[RepositoryChange]) -> Iterator[Reason]:
    """Check one condition after the other."""
    if rule.verdict:
        named = str(row.verdict or "none")
        yield Reason(f"the verdict is {named}", named in rule.verdict)
    gain = row.difference if row.higher_is_better else -row.difference
    yield Reason(f"the gain is {gain:+.4f}", gain > rule.least + DEFAULT.tie)
    if rule.worst_repository > -1.0:
        yield _veto(rule, repositories)


def _veto(rule: Rule, repositories: Sequence[RepositoryChange]) -> Reason:
    """Find the repositories that lose too much; those with too few queries for it are said to have no veto."""
    heard = [change for change in repositories if change.queries >= rule.repository_queries]
    lost = sorted((c for c in heard if c.gain <= rule.worst_repository + DEFAULT.tie), key=lambda c: c.gain)
    if lost:
        named = ", ".join(f"{c.repository} {c.gain:+.3f} (n={c.queries})" for c in lost)
        return Reason(f"too much is lost on {named}", False)
    if not heard:
        return Reason(f"no repository has the {rule.repository_queries} queries that a veto needs", True)
    return Reason(f"none of {len(heard)} repositories loses {-rule.worst_repository:g}", True)
