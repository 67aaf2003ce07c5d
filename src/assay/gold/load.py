from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay.corpus import parse_spec
from assay.errors import AssayError, ConfigError, CorpusError, GoldError
from assay.files import relative_path
from assay.gold.build import GoldLocation
from assay.gold.formats.registry import FORMATS, SUFFIXES, GoldFormat, detect, find_format
from assay.gold.formats.rows import open_source
from assay.gold.journal import ACCESS_LOG_SUFFIX, REVIEW_SUFFIX
from assay.gold.split import TAG
from assay.types import CorpusSpec, GoldSet, Query, Suite

#: Shipped sets: code and docstrings of the standard library; click from PyPI and p-queue from npm, which are fetched.
SHIPPED = ("stdlib", "stdlib-docs", "click", "pqueue")
_SHIPPED_DIRECTORY = Path(__file__).parent.parent / "data" / "gold"
#: A file that marks a directory of synthetic gold sets; its subdirectories contain their corpus, not gold sets.
SYNTHETIC_MARK = ".assay-synth"


def load_gold(
    source: str | Path,
    *,
    format: str | None = None,  # noqa: A002  # the public name; nothing here formats
    corpus: str | Path | CorpusSpec | None = None,
    tags: Sequence[TagRule] = (),
) -> Suite:
    """Load a gold file, every gold file below a directory, or a shipped set: stdlib, stdlib-docs, click, pqueue.

    `corpus` replaces the corpus named in the file, and is required if the format cannot name one. Pass a directory, or
    a string as for `--corpus`, such as `git:URL@REV` or `pypi:NAME==VERSION`. Directories are relative to the working
    directory, except in a `CorpusSpec`, where they are relative to the gold file.
    """
    known = find_format(format) if format is not None else None
    path = _SHIPPED_DIRECTORY / f"{source}.yaml" if source in SHIPPED else Path(source)
    spec = _corpus_spec(corpus)
    if path.is_dir():
        golds = list(_read_directory(path, known, spec))
    elif path.exists():
        golds = _read_file(path, known, spec)
    else:
        hint = f"check the path, or use one of {', '.join(SHIPPED)}"
        raise GoldError("no such file or directory", file=path, hint=hint)
    if not golds:
        hint = f"add a file that ends in one of {', '.join(sorted(SUFFIXES))}"
        raise GoldError("no gold set in the directory", file=path, hint=hint)
    if spec is not None and spec is not corpus:
        golds = [
            replace(gold, corpus=relative_corpus(gold.corpus, gold.source))
            if gold.source is not None and (gold.corpus.kind, gold.corpus.value) == (spec.kind, spec.value)
            else gold
            for gold in golds
        ]
    return _suite([_apply_tags(gold, tags) for gold in golds])


def _corpus_spec(corpus: str | Path | CorpusSpec | None) -> CorpusSpec | None:
    if corpus is None or isinstance(corpus, CorpusSpec):
        return corpus
    if isinstance(corpus, os.PathLike):
        return CorpusSpec("path", os.fspath(corpus))
    if isinstance(corpus, str):
        return parse_spec(corpus)
    hint = 'pass a directory, such as corpus="src", or an assay.CorpusSpec'
    raise CorpusError(f"expected a path or a CorpusSpec as corpus, got {corpus!r}", hint=hint)


def relative_corpus(corpus: CorpusSpec, source: str) -> CorpusSpec:
    if corpus.kind not in ("path", "git") or "://" in corpus.value or not Path(corpus.value).exists():
        return corpus
    directory = Path(source) if Path(source).is_dir() else Path(source).parent
    return replace(corpus, value=relative_path(corpus.value, directory))


def _read_directory(directory: Path, known: GoldFormat | None, corpus: CorpusSpec | None) -> Iterator[GoldSet]:
    suffixes = known.suffixes if known else SUFFIXES
    formats = (known,) if known else FORMATS
    for base, below, files in os.walk(directory):
        below[:] = sorted(name for name in below if not name.startswith(".") and not name.endswith(REVIEW_SUFFIX))
        whole = next((f for f in formats if f.matches_directory and f.matches_directory(Path(base))), None)
        if whole is not None and whole.read_directory is not None:
            below.clear()
            yield from whole.read_directory(Path(base), corpus)
            continue
        if SYNTHETIC_MARK in files:
            below.clear()
        for name in sorted(files):
            if not name.startswith(".") and not name.endswith(ACCESS_LOG_SUFFIX) and Path(name).suffix in suffixes:
                yield from _read_file(Path(base, name), known, corpus, walked=True)


def _read_file(
    path: Path, known: GoldFormat | None, corpus: CorpusSpec | None, *, walked: bool = False
) -> list[GoldSet]:
    source = open_source(path)
    if walked and any(other.is_companion is not None and other.is_companion(source) for other in FORMATS):
        return []
    golds = (known or detect(source)).read(source, "-".join(path.stem.split()), corpus)
    return golds if isinstance(golds, list) else [golds]


def join(suites: Sequence[Suite]) -> Suite:
    """Join suites into one; raise if two gold sets have the same name."""
    return _suite([gold for suite in suites for gold in suite.golds])


def _suite(golds: Sequence[GoldSet]) -> Suite:
    first: dict[str, GoldSet] = {}
    for gold in golds:
        if gold.name in first:
            message = f"duplicate gold set name '{gold.name}', also used by {first[gold.name].source}"
            hint = "use unique names; a set without a name is named after its file"
            raise GoldError(message, file=gold.source, hint=hint)
        first[gold.name] = gold
    return Suite(tuple(golds))


_RULE = re.compile(
    r"(?P<key>[^=:\s]+)=(?P<value>[^=:\s]+):(?P<rows>[0-9]{1,9}(-[0-9]{1,9})?(,[0-9]{1,9}(-[0-9]{1,9})?)*)"
)


@dataclass(frozen=True, slots=True)
class TagRule:
    key: str
    value: str
    rows: tuple[tuple[int, int], ...]  # first and last row, counted from 1, both included

    @classmethod
    def parse(cls, text: str) -> TagRule:
        """Parse a tag rule such as `key=value:101-127` or `key=value:3,7-9`."""
        match = _RULE.fullmatch(text)
        if match is None:
            raise ConfigError(f"invalid tag rule '{text}'", hint="use KEY=VALUE:ROWS, such as difficulty=hard:101-127")
        if match["key"] == TAG:
            raise ConfigError(f"tag rule '{text}' would change the split of queries", hint="use `assay gold split`")
        ranges = []
        for part in match["rows"].split(","):
            first, _, last = part.partition("-")
            ranges.append((int(first), int(last or first)))
            if not 1 <= ranges[-1][0] <= ranges[-1][1]:
                hint = "count rows from 1 and write the smaller number first"
                raise ConfigError(f"invalid row range {part} in tag rule '{text}'", hint=hint)
        return cls(match["key"], match["value"], tuple(ranges))


def _apply_tags(gold: GoldSet, rules: Sequence[TagRule]) -> GoldSet:
    for rule in rules:
        last = max(last for _, last in rule.rows)
        if last > len(gold.queries):
            raise GoldLocation(gold.source or gold.name).error(
                f"tag rule {rule.key}={rule.value}: row {last} is out of range, there are {len(gold.queries)} queries",
                "count rows from 1, without the header",
            )
    queries = []
    for row, query in enumerate(gold.queries, 1):
        fitting = (rule for rule in rules if any(first <= row <= last for first, last in rule.rows))
        queries.append(replace(query, tags={**query.tags, **{rule.key: rule.value for rule in fitting}}))
    return replace(gold, queries=tuple(queries))


#: Share of the queries that a reloaded set must still contain. Edited sets retain most queries; another set made from
#: the same template has other targets.
SHARE = 0.5


def reload_set(gold: GoldSet) -> GoldSet | None:
    """Load a gold set again; return None if the file is missing or invalid, or has less than half of its queries."""
    if gold.source is None or not Path(gold.source).exists():
        return None
    try:
        golds = load_gold(gold.source, corpus=gold.corpus).golds
    except AssayError:  # the user may be editing the file
        return None
    for now in golds:
        current = {query.id: query for query in now.queries}
        same = sum(query.id in current and _is_same(current[query.id], query) for query in gold.queries)
        if now.name == gold.name and same >= SHARE * len(gold.queries):
            return now
    return None


def _is_same(now: Query, before: Query) -> bool:
    files, old = ({target.link or target.span.path for target in query.targets} for query in (now, before))
    return all(now.forms.get(form) == text for form, text in before.forms.items()) and not old.isdisjoint(files)
