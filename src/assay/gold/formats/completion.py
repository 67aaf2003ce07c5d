"""What completion benchmarks have in common: the query is the code before the cursor, the target is what comes next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assay.gold.building import GoldLocation, GoldSource, build_query, ranged_span
from assay.gold.formats.export import renamed, safe_ids
from assay.gold.formats.multi_repo import RepoQuery, RepoRevision, in_folders, split
from assay.gold.formats.rows import Record, read_entries, unread
from assay.types import CorpusSpec, GoldSet, Target

#: Said in the provenance of every such set, and as a tag of each query, so that its scores can be told apart.
LEAK = "the query is text of its target's file, word for word: an engine that finds it recognises, it does not search"
_TAGS = {"leak": "verbatim"}


@dataclass(frozen=True, slots=True)
class Completion:
    """One task: the folder of its repository, the code before the cursor, and the lines that come next."""

    repository: str
    prompt: str
    target: Target


@dataclass(frozen=True, slots=True)
class PromptStyle:
    """How a question is made of a prompt."""

    lines: int = 10  # the last of the prompt; CrossCodeEval's own retrieval asks with as many


def read_completions(
    source: GoldSource,
    name: str,
    corpus: CorpusSpec | None,
    keys: Sequence[str],
    completion: Callable[[Record, Record], Completion],
    asking: PromptStyle | None = None,
) -> list[GoldSet]:
    """Read one task an entry; each repository is a set of its own, and a folder of the corpus given."""
    spec = in_folders(source, corpus)
    records = read_entries(source)
    tasks = [record.mapping("metadata") for record in records]
    originals = _numbered([task.text("task_id") for task in tasks])
    ids = safe_ids(originals)
    asked: list[RepoQuery] = []
    for record, task, original in zip(records, tasks, originals, strict=True):
        found = completion(record, task)
        forms = {"human": _question(found.prompt, asking or PromptStyle())}
        query = build_query(ids[original], forms, [found.target], record.place, tags=_TAGS)
        asked.append(RepoQuery(RepoRevision(found.repository), query))
    provenance = {"leak": LEAK, **unread([*records, *tasks], keys), **renamed(ids)}
    return split(source, name, asked, spec, provenance)


def completed(path: str, before: int, text: str, place: GoldLocation) -> Target:
    """Give the lines that a completion takes; these sets count lines from 0, so `before` lines stand above it."""
    return Target(ranged_span(path, before + 1, before + 1 + text.rstrip("\r\n").count("\n"), place))


def _question(prompt: str, asking: PromptStyle) -> str:
    return "\n".join(prompt.rstrip().split("\n")[-asking.lines :]).strip("\r\n")


def _numbered(task_ids: Sequence[str]) -> list[str]:
    times, seen = Counter(task_ids), Counter[str]()
    numbered: list[str] = []
    for task_id in task_ids:
        seen[task_id] += 1
        numbered.append(f"{task_id}/{seen[task_id]}" if times[task_id] > 1 else task_id)
    return numbered
