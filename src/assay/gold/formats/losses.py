"""Report what a conversion loses: read written gold sets back and compare them with the originals."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from assay.corpus import read_text
from assay.corpus.spec import spec_text
from assay.errors import GoldError
from assay.gold.anchors import AnchorIndex, UnresolvedTarget
from assay.gold.build import GoldLocation, GoldSource, is_whole_file, read_source
from assay.gold.split import SEALED, TAG
from assay.syntax.text import count_lines
from assay.types import Corpus, CorpusSpec, GoldSet, Query, Span, Suite, Target

_LONGEST_NAME = 200  # bytes; file systems allow 255, and temporary names are longer


@dataclass(frozen=True, slots=True)
class WriterOutput:
    """Rendered files by relative POSIX path, and the losses of the conversion."""

    files: Mapping[str, str | bytes] = field(default_factory=dict)
    lost: tuple[str, ...] = ()


class FieldLoss(NamedTuple):
    """The kind of a value that a format cannot represent, and a name or detail for the report."""

    kind: str
    detail: str = ""


#: Kinds of losses in the order of the report: singular, plural, consequence.
KINDS: Mapping[str, tuple[str, str, str]] = {
    "seal": ("query is no longer sealed", "queries are no longer sealed", "open to tuning"),
    "name": ("name of a set", "names of sets", "the file name is used"),
    "corpus": ("corpus", "corpora", "pass --corpus when reading the set"),
    "provenance": ("provenance note of a set", "provenance notes of sets", ""),
    "order": ("order of queries or sets", "orders of queries or sets", ""),
    "id": ("id", "ids", "queries get new ids"),
    "form": ("phrasing", "phrasings", ""),
    "blank": ("phrasing with surrounding whitespace", "phrasings with surrounding whitespace", "whitespace is trimmed"),
    "text": ("phrasing", "phrasings", "the text differs"),
    "symbol": ("symbol anchor", "symbol anchors", "written as a line range"),
    "whole": ("whole file", "whole files", "written as the range of all lines"),
    "same": ("target", "targets", "another target has the same lines"),
    "digest": ("content hash of a line range", "content hashes of line ranges", ""),
    "grade": ("grade of a target", "grades of targets", ""),
    "target": ("target", "targets", "the anchor differs"),
    "irrelevant": ("location judged irrelevant", "locations judged irrelevant", "counted as unjudged"),
    "adversary": ("adversary", "adversaries", ""),
    "rationale": ("rationale", "rationales", ""),
    "measure": ("measure of an evaluation layer", "measures of evaluation layers", ""),
    "tag": ("tag", "tags", ""),
    "label": ("provenance record of a label", "provenance records of labels", ""),
}


def file_name(gold: GoldSet, suffix: str) -> str:
    name = gold.name + suffix
    hidden = name.startswith(".")  # includes `.` and `..`
    if hidden or "\0" in name or "\\" in name or len(name.encode("utf-8", "surrogatepass")) > _LONGEST_NAME:
        raise GoldError(f"set name '{gold.name}' is not a valid file name", file=gold.source, hint="rename the set")
    return name


def verify_output(
    suite: Suite,
    files: Mapping[str, str | bytes],
    read: Callable[[Path], Sequence[GoldSet]],
    *,
    lost: Sequence[FieldLoss] = (),
) -> WriterOutput:
    """Return the files with the losses found by reading them back, plus those in `lost`; raise if reading fails."""
    with tempfile.TemporaryDirectory() as directory:
        for name, data in files.items():
            path = Path(directory, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)
        try:
            back = read(Path(directory))
        except GoldError as error:
            stem = Path(error.file).stem if error.file else ""
            gold = next((gold for gold in suite.golds if gold.name == stem), suite.golds[0])
            message = f"this format cannot represent gold set '{gold.name}': {error.message}"
            raise GoldError(message, file=gold.source, hint=error.hint) from error
    return WriterOutput(files, describe_losses([*lost, *_suite_losses(suite, back)]))


def read_back(
    suite: Suite, suffix: str, read: Callable[[GoldSource, str, CorpusSpec | None], GoldSet]
) -> Callable[[Path], list[GoldSet]]:
    return lambda directory: [
        read(read_source(directory / file_name(gold, suffix)), gold.name, gold.corpus) for gold in suite.golds
    ]


def corpus_losses(suite: Suite, matches: Callable[[GoldSource], bool] | None = None) -> list[FieldLoss]:
    """Return the losses of a format that cannot store the corpus, one per gold set.

    A set read from a file that `matches` accepts loses nothing, since that file has no corpus either.
    """
    golds = [gold for gold in suite.golds if matches is None or not find_source(gold, matches)]
    return [FieldLoss("corpus", spec_text(gold.corpus)) for gold in golds]


def find_source(gold: GoldSet, matches: Callable[[GoldSource], bool]) -> GoldSource | None:
    """Return the source file of a gold set if it exists and `matches` accepts it, else None."""
    path = Path(gold.source) if gold.source else None
    try:
        source = read_source(path) if path is not None and path.is_file() else None
    except GoldError:  # Parquet, or too large: not a hand-written file
        return None
    return source if source is not None and matches(source) else None


def unseals(sentence: str) -> bool:
    return any(words in sentence for words in KINDS["seal"][:2])


def describe_losses(losses: Sequence[FieldLoss]) -> tuple[str, ...]:
    sentences = []
    for kind, (singular, many, instead) in KINDS.items():
        details_of_kind = [loss.detail for loss in losses if loss.kind == kind]
        if details_of_kind:
            details = sorted({detail for detail in details_of_kind if detail})
            names = f" ({', '.join(details)})" if details else ""
            result = f": {instead}" if instead else ""
            sentences.append(f"{len(details_of_kind)} {singular if len(details_of_kind) == 1 else many}{names}{result}")
    return tuple(sentences)


def _suite_losses(suite: Suite, back: Sequence[GoldSet]) -> Iterator[FieldLoss]:
    by_name = {gold.name: gold for gold in back}
    if len(back) != len(suite.golds):
        message = f"only {len(back)} of {len(suite.golds)} gold sets can be read back"
        raise GoldError(message, file=suite.golds[0].source, hint="write the sets one by one, or use the native format")
    names = [gold.name for gold in suite.golds]
    if sorted(by_name) == sorted(names) and list(by_name) != names:
        yield FieldLoss("order")
    for gold, other in zip(suite.golds, back, strict=True):
        yield from _set_losses(gold, by_name.get(gold.name, other))


def _set_losses(gold: GoldSet, back: GoldSet) -> Iterator[FieldLoss]:
    if gold.name != back.name:
        yield FieldLoss("name", gold.name)
    if gold.corpus != back.corpus:
        yield FieldLoss("corpus", spec_text(gold.corpus))
    yield from (FieldLoss("provenance", key) for key in _unequal_keys(gold.provenance, back.provenance))
    if len(gold.queries) != len(back.queries):
        message = f"only {len(back.queries)} of the {len(gold.queries)} queries of '{gold.name}' can be read back"
        raise GoldError(message, file=gold.source, hint="use the native format, or make the text of each query unique")
    by_id = {query.id: query for query in back.queries}
    ids = [query.id for query in gold.queries]
    same = sorted(by_id) == sorted(ids)
    if same and list(by_id) != ids:
        yield FieldLoss("order")
    for query, other in zip(gold.queries, back.queries, strict=True):
        yield from _query_losses(query, by_id[query.id] if same else other)


def _query_losses(query: Query, back: Query) -> Iterator[FieldLoss]:
    if query.id != back.id:
        yield FieldLoss("id")
    if query.tags.get(TAG) == SEALED != back.tags.get(TAG):
        yield FieldLoss("seal")
    for form in _unequal_keys(query.forms, back.forms):
        if form not in back.forms:
            yield FieldLoss("form", form)
        elif form in query.forms:
            yield FieldLoss("blank" if query.forms[form].strip() == back.forms[form] else "text", form)
    yield from _target_losses(query, back)
    if query.irrelevant != back.irrelevant:
        yield from [FieldLoss("irrelevant")] * max(len(query.irrelevant) - len(back.irrelevant), 1)
    if query.adversaries != back.adversaries:
        yield from [FieldLoss("adversary")] * max(len(query.adversaries), 1)
    if query.rationale != back.rationale:
        yield FieldLoss("rationale")
    if query.measures != back.measures:
        yield from (FieldLoss("measure", measure) for measure in query.measures)
    yield from (FieldLoss("tag", key) for key in _unequal_keys(query.tags, back.tags))
    if query.labels != back.labels:
        yield from [FieldLoss("label")] * max(len(query.labels), 1)


def _target_losses(query: Query, back: Query) -> Iterator[FieldLoss]:
    if len(query.targets) != len(back.targets):
        yield from [FieldLoss("target")] * abs(len(query.targets) - len(back.targets))
        return
    for target, other in zip(query.targets, back.targets, strict=True):
        if target.grade != other.grade:
            yield FieldLoss("grade", f"{target.grade} becomes {other.grade}")
        if target.digest != other.digest:
            yield FieldLoss("digest")
        if target.symbol != other.symbol:
            yield FieldLoss("symbol" if target.span == other.span else "target")
        elif target.span.path != other.span.path or (target.symbol is None and target.span != other.span):
            yield FieldLoss("target")  # lines of a symbol are not written


def _unequal_keys(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    return sorted(key for key in {*before, *after} if before.get(key) != after.get(key))


class LineAnchored(NamedTuple):
    gold: GoldSet
    lost: tuple[str, ...] = ()


def resolve_lines(gold: GoldSet, corpus: Corpus, *, whole_files: bool) -> LineAnchored:
    """Resolve symbols to lines, and also whole files unless `whole_files`; merge targets with the same lines."""
    index = AnchorIndex(corpus)
    losses: list[FieldLoss] = []
    queries = []
    for query in gold.queries:
        location = GoldLocation(gold.source or gold.name, query.line)
        targets = [_with_lines(target, index, corpus, location, whole_files) for target in query.targets]
        distinct: dict[Span, Target] = {}
        for target in targets:
            distinct.setdefault(target.span, target)
        queries.append(replace(query, targets=tuple(distinct.values())))
        losses += [FieldLoss("whole")] * sum(is_whole_file(t) for t in query.targets if not whole_files)
        losses += [FieldLoss("same")] * (len(targets) - len(distinct))
    return LineAnchored(replace(gold, queries=tuple(queries)), describe_losses(losses))


def needs_lines(gold: GoldSet, *, symbols: bool, whole_files: bool) -> bool:
    """Return whether a set has symbols or whole files as targets that the format does not support."""
    targets = [target for query in gold.queries for target in query.targets if target.span.start is None]
    return any(not whole_files if is_whole_file(target) else not symbols for target in targets)


def _with_lines(target: Target, index: AnchorIndex, corpus: Corpus, at: GoldLocation, whole_files: bool) -> Target:
    if target.span.start is not None or (is_whole_file(target) and whole_files):
        return target
    resolved = index.look_up(target)
    if isinstance(resolved, UnresolvedTarget):
        raise at.error(resolved.message, resolved.hint)
    if not is_whole_file(target):
        return resolved
    lines = count_lines(read_text(corpus, target.span.path))
    if not lines:
        raise at.error(f"cannot resolve {target.span.path} to lines: the file is empty", "use another target")
    return replace(target, span=Span(target.span.path, 1, lines))
