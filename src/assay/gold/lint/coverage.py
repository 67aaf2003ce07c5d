"""G6: what a set leaves unasked, and what it is too small to show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os.path import commonpath
from pathlib import PurePosixPath

from assay.gold.lint.rules import LintConfig, LintFinding, LintRule
from assay.gold.lint.view import LintContext
from assay.types import Suite

MODULES = LintRule(
    "G601",
    "modules-unasked",
    "info",
    "Parts of the corpus have no query.",
    "What the set says of an engine says nothing of them.",
)
CATEGORIES = LintRule(
    "G602",
    "categories-small",
    "info",
    "A category has only a few queries.",
    "Its mean is noise: add queries, or do not report it apart.",
)
FORMS = LintRule(
    "G603",
    "forms-missing",
    "info",
    "Some queries lack a phrasing that others of the set have.",
    "Scores by phrasing then come from different queries.",
)
SIZE = LintRule(
    "G604",
    "too-few-queries",
    "info",
    "The queries are too few to show a difference of the size that matters.",
    "Most comparisons will end as inconclusive: add queries, or repositories, or claim less.",
)
RULES = (MODULES, CATEGORIES, FORMS, SIZE)


@dataclass(frozen=True, slots=True)
class Power:
    """What some queries in some repositories can show, and what that was worked out from."""

    smallest: Callable[[int, int], float]  # queries, repositories -> the smallest difference
    assuming: str


def check(view: LintContext) -> Iterator[LintFinding]:
    """Yield one finding a set for what it leaves out."""
    yield from _modules(view)
    yield from _categories(view)
    yield from _forms(view)


def check_size(suite: Suite, power: Power, config: LintConfig) -> Iterator[LintFinding]:
    """Yield the finding that all sets together are too small, if they are."""
    queries = sum(len(gold.queries) for gold in suite.golds)
    repositories = len({gold.corpus.repository for gold in suite.golds})
    smallest = power.smallest(queries, repositories)
    if smallest <= config.margin:
        return
    size = f"{_counted(queries, 'query', 'queries')} in {_counted(repositories, 'repository', 'repositories')}"
    shows = "shows" if queries == 1 else "show"
    shown = f"{shows} a difference of {smallest:.2g} at best" if smallest < 1 else "cannot show any difference"
    where = " on this repository" if repositories == 1 and smallest < 1 else ""
    message = f"{size} {shown}{where} ({power.assuming}); the margin is {config.margin:g}"
    source = suite.golds[0].source if len(suite.golds) == 1 else None
    hint = "`assay plan` says how many would be needed"
    yield LintFinding(SIZE.code, SIZE.severity, suite.name, "", "", message, hint, source)


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _modules(view: LintContext) -> Iterator[LintFinding]:
    """Yield the folders below the common one that hold no target, counting files of the kinds that are asked about.

    A file beside a folder of its name, as Ruby, Rust and Elixir have it, speaks for the folder.
    """
    asked = [t.span.path for query in view.resolved() for t in query.targets]
    kinds = sorted({view.files[path].kind for path in asked if path in view.files})
    paths = [path for path, file in view.files.items() if file.kind in kinds]
    groups = _groups(paths)
    aside = [path for path in paths if view.aside(path)]
    beside = _groups(aside, groups.top).sizes
    met = {name for path in asked for name in (_module(path, groups.top), str(PurePosixPath(path).with_suffix("")))}
    least = max(view.config.module_files, view.config.module_share * (len(paths) - len(aside)))
    missed = [
        (count, name)
        for name, count in groups.sizes.items()
        if name not in met and count >= least and 2 * beside.get(name, 0) < count
    ]
    if missed:
        ordered = sorted(missed, key=lambda one: (-one[0], one[1]))
        what = f"{kinds[0]} files" if len(kinds) == 1 else "files"
        listed = ", ".join(f"{name} ({count} {what})" for count, name in ordered[: view.config.listed])
        more = f" and {len(missed) - view.config.listed} more" if len(missed) > view.config.listed else ""
        yield view.finding(MODULES, None, "", f"no target lies in {listed}{more}")


@dataclass(frozen=True, slots=True)
class _Groups:
    """The folder that all files share, and how many files lie in each folder below it."""

    top: str
    sizes: Mapping[str, int]


def _groups(paths: Sequence[str], top: str | None = None) -> _Groups:
    if top is None:
        top = commonpath([PurePosixPath(path).parent for path in paths]) if paths else ""
        top = "" if top == "." else top
    sizes = Counter(module for path in paths if (module := _module(path, top)))
    return _Groups(top, sizes)


def _module(path: str, top: str) -> str:
    below = path[len(top) + 1 :] if top and path.startswith(f"{top}/") else path
    first, slash, _ = below.partition("/")
    return (f"{top}/{first}" if top else first) if slash else ""


def _categories(view: LintContext) -> Iterator[LintFinding]:
    counts = Counter(query.tags["category"] for query in view.gold.queries if "category" in query.tags)
    small = sorted(name for name, count in counts.items() if count < view.config.few_queries)
    if small and len(counts) > 1:
        listed = ", ".join(f"{name} ({counts[name]})" for name in small)
        yield view.finding(
            CATEGORIES, None, "", f"fewer than {view.config.few_queries} queries are of category {listed}"
        )


def _forms(view: LintContext) -> Iterator[LintFinding]:
    counts = Counter(form for query in view.gold.queries for form in query.forms if form != "cross_module")
    total = len(view.gold.queries)
    missing = [(form, total - count) for form, count in sorted(counts.items()) if count < total]
    if missing:
        listed = ", ".join(f"{form} is missing on {count}" for form, count in missing)
        yield view.finding(FORMS, None, "", f"of {total} queries, {listed}")
