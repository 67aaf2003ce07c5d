"""What miners find, and the intake that it passes before it is queued: nothing private, nothing twice, nothing lost."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.corpus.spec import spec_text, without_credentials
from assay.errors import GoldError
from assay.gold.building import GoldLocation, build_query
from assay.gold.leaks import leakage
from assay.gold.lint import LintDependencies, LintFinding, lint
from assay.gold.mining.codebase import CodeIndex
from assay.gold.mining.config import SOURCES, TEXTS
from assay.gold.mining.privacy import private_part
from assay.gold.mining.questions import ADDED, weight
from assay.gold.review.items import Item, ItemKind, Origin, make_item
from assay.gold.synth.sets import SampleSize, SynthQuery, draw
from assay.syntax.identifiers import split
from assay.syntax.prose import content
from assay.types import Corpus, CorpusSpec, GoldSet, Query, Target

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True)
class Intent:
    """What somebody asked or may ask, and where the answer lies."""

    text: str
    targets: tuple[Target, ...]
    origin: Origin
    form: str = "human"
    notes: tuple[str, ...] = ()
    forms: Mapping[str, str] = field(default_factory=dict)  # further phrasings, where the source has them


@dataclass(frozen=True, slots=True)
class UnlocatedQuery:
    """What somebody asked that nothing is known to answer."""

    text: str
    source: str


@dataclass(frozen=True, slots=True)
class Rejection:
    """What was not queued, and why; of something private only the place is told."""

    source: str
    reason: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class MinedItems:
    """What a miner brought."""

    intents: tuple[Intent, ...] = ()
    unplaced: tuple[UnlocatedQuery, ...] = ()
    refused: tuple[Rejection, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LintNotes:
    """What a check says of a query: reasons not to queue it, and what reviewers should know."""

    refusals: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


#: Looks at proposals together with the set there is: id of a query -> what is to be said of it.
Check = Callable[[Sequence[Query]], Mapping[str, LintNotes]]


def unchecked(_queries: Sequence[Query]) -> Mapping[str, LintNotes]:
    """Say nothing: anchors are looked up in any case."""
    return {}


@dataclass(frozen=True, slots=True)
class ProposalInfo:
    """What every proposal of one call carries."""

    on: str = ""
    commit: str = ""


@dataclass(frozen=True, slots=True)
class IntakeResult:
    """What was let through, what was not, how many were there already, and what the user should know."""

    items: tuple[Item, ...] = ()
    refused: tuple[Rejection, ...] = ()
    known: int = 0
    notes: tuple[str, ...] = ()


class Intake:
    """Makes items of proposals, each once; it remembers what the set and its queue hold."""

    def __init__(
        self,
        ground: CodeIndex,
        gold: GoldSet | None,
        queued: Iterable[Item] = (),
        *,
        stamp: ProposalInfo,
        check: Check = unchecked,
    ) -> None:
        self.ground = ground
        self._stamp, self._check = stamp, check
        queries = [*(gold.queries if gold else ()), *(item.query for item in queued if item.kind == "query")]
        self._texts = {normalized(text) for query in queries for text in query.forms.values()}
        self._ids = {query.id for query in queries}

    def queries(self, intents: Sequence[Intent]) -> IntakeResult:
        """Let queries through."""
        made: list[tuple[Query, Intent]] = []
        refused: list[Rejection] = []
        known = 0
        for intent in intents:
            text = " ".join(intent.text.split())
            outcome = None if normalized(text) in self._texts else self._query(intent, text)
            if isinstance(outcome, Query):
                made.append((outcome, intent))
                self._texts.add(normalized(text))
                self._ids.add(outcome.id)
            elif outcome is not None:
                refused.append(outcome)
            else:
                known += 1
        remarks = self._check([query for query, _ in made]) if made else {}
        items = list[Item]()
        for query, intent in made:
            said = remarks.get(query.id, LintNotes())
            if said.refusals:
                refused.append(Rejection(intent.origin.source, "; ".join(said.refusals), query.forms[intent.form]))
            else:
                notes = (*intent.notes, *leak_notes(query), *said.notes)
                items.append(self.item("query", query, intent.origin, notes))
        return IntakeResult(tuple(items), tuple(refused), known)

    def _query(self, intent: Intent, text: str) -> Query | Rejection:
        texts = {intent.form: text, **intent.forms}
        said = (*texts.values(), *intent.notes)
        private = next((kind for one in said if (kind := private_part(one, known=self.ground.known))), None)
        if private is not None:
            return Rejection(intent.origin.source, f"it holds {private}")
        missing = [target.anchor for target in intent.targets if self.ground.resolved(target) is None]
        if missing or not intent.targets:
            return Rejection(intent.origin.source, f"not in the corpus: {', '.join(missing) or 'no location'}", text)
        try:
            return build_query(self._id(text), texts, intent.targets, GoldLocation("the proposal"))
        except GoldError as error:
            return Rejection(intent.origin.source, error.message, text)

    def item(self, kind: ItemKind, query: Query, origin: Origin, notes: Sequence[str] = ()) -> Item:
        """Make an item of this call."""
        bare = replace(query, line=None)
        return make_item(kind, bare, origin, on=self._stamp.on, commit=self._stamp.commit, notes=notes)

    def _id(self, text: str) -> str:
        said = [word for word in content(text) if word not in ADDED]
        words = [part for word in said for part in split(word) if part.isascii()] or ["query"]
        name = "-".join(words[: TEXTS.slug])
        taken = name in self._ids
        return f"{name}-{hashlib.sha256(normalized(text).encode()).hexdigest()[: TEXTS.digits]}" if taken else name


def leak_notes(query: Query) -> tuple[str, ...]:
    """Tell reviewers how much of the answer a query gives away."""
    share = leakage(query.headline, query.targets)
    return (f"{share:.0%} of its words are words of the answer's path or name",) if share else ()


def normalized(text: str) -> str:
    """Give what makes two texts the same question to a reader: words, not case, blanks or a last stop."""
    return " ".join(text.casefold().split()).rstrip("?.! ")


def is_query_length(text: str) -> bool:
    """Tell whether a text has words enough, and not too many, to be a question."""
    if not text.isprintable() or len(text) > TEXTS.longest or len(text.split()) > TEXTS.most:
        return False
    return weight(text) >= TEXTS.fewest


def lint_check(gold: GoldSet | None, corpus: Corpus, tools: LintDependencies | None = None) -> Check:
    """Make the check that lints proposals together with the set there is: only so does it see what is asked twice."""

    def check(queries: Sequence[Query]) -> Mapping[str, LintNotes]:
        there = gold.queries if gold else ()
        together = replace(gold or GoldSet("proposals", corpus.spec, ()), queries=(*there, *queries))
        report = lint(together, corpus, tools=tools)
        found: dict[str, list[LintFinding]] = {query.id: [] for query in queries}
        for finding in report.findings:
            if finding.query in found:
                found[finding.query].append(finding)
        return {name: _remarks(findings) for name, findings in found.items()}

    return check


def _remarks(findings: Sequence[LintFinding]) -> LintNotes:
    said = [(finding.severity, f"{finding.code} {finding.message}") for finding in findings]
    refusals = tuple(text for severity, text in said if severity == "error")
    return LintNotes(refusals, tuple(text for severity, text in said if severity != "error"))


def check_same_corpus(corpus: Corpus, gold: GoldSet) -> str | None:
    """Refuse code that lacks most of the set's targets; of another version or copy give a warning."""
    base = Path(gold.source).parent if gold.source else Path()
    if _identity(corpus.spec, Path()) == _identity(gold.corpus, base):
        return None
    named, own = (without_credentials(spec_text(spec)) for spec in (corpus.spec, gold.corpus))
    paths = {file.path for file in corpus.files}
    targets = {target.span.path for query in gold.queries for target in query.targets}
    missing = targets - paths
    if 2 * len(missing) > len(targets):
        told = f"it lacks {len(missing)} of the {len(targets)} files that the set's targets lie in"
        hint = f"name the set's own corpus, which is {own}, or another --set"
        raise GoldError(f"{named} is not the code of this set: {told}", file=gold.source, hint=hint)
    return f"{named} is not the corpus that the set names, {own}: what is proposed may not be there"


def _identity(spec: CorpusSpec, base: Path) -> tuple[str, ...]:
    """Name a corpus so that two names of one are the same; folders are followed to where they are."""
    if spec.kind == "path":
        return spec.kind, str((base / Path(spec.value).expanduser() / (spec.root or "")).resolve())
    folder = base / Path(spec.value).expanduser()
    value = str(folder.resolve()) if spec.kind == "git" and folder.is_dir() else spec.value
    return spec.kind, value, spec.root or "", spec.rev or ""


def sample_by_file(intents: Sequence[Intent], wanted: SampleSize, rng: np.random.Generator) -> tuple[Intent, ...]:
    """Draw intents, one of each file a round; they come in path order."""
    ordered = sorted(intents, key=lambda intent: (intent.targets[0].anchor, intent.text, intent.origin.source))
    asked = [SynthQuery(intent.targets[0].span.path, n, n, intent.text) for n, intent in enumerate(ordered)]
    return tuple(ordered[one.start] for one in draw(asked, wanted, rng))


def generator(wanted: SampleSize, source: str) -> np.random.Generator:
    """Give each source a stream of its own, so that leaving one out changes no other."""
    import numpy as np

    return np.random.default_rng([wanted.seed, SOURCES.index(source)])
