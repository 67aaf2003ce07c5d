"""CodeSearchNet's annotations: a query, a function on GitHub, and how relevant people found it, from 0 to 3.

The relevance is the grade; functions with relevance 0 are kept as judged and irrelevant. Where several people judged,
their mean counts, a half rounded up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from assay.gold.building import GoldSource, build_query, ranged_span
from assay.gold.formats.export import safe_ids
from assay.gold.formats.multi_repo import Omitted, RepoQuery, RepoRevision, from_github, github_code
from assay.gold.formats.rows import CsvRow, CsvTable, header, read_table
from assay.types import CorpusSpec, GoldSet, Span, Target

COLUMNS = ("Language", "Query", "GitHubUrl", "Relevance", "Notes")
_URL = re.compile(
    r"https?://github\.com/(?P<repository>[^/]+/[^/]+)/blob/(?P<commit>[0-9a-f]+)/(?P<path>[^#]+)"
    r"#L(?P<start>[0-9]{1,9})(?:-L(?P<end>[0-9]{1,9}))?"
)
_RELEVANCE = ("0", "1", "2", "3")
_APART = 2  # judgements of one function that differ by so much disagree on whether it answers


@dataclass(frozen=True, slots=True)
class _Question:
    """One query about one repository: rows of several languages are several questions."""

    code: RepoRevision
    language: str
    text: str

    @property
    def id(self) -> str:
        return f"{self.language.lower()} {self.text}"


@dataclass(frozen=True, slots=True)
class _Judgement:
    """What one person said of one function."""

    question: _Question
    span: Span
    relevance: int
    row: CsvRow


def matches(source: GoldSource) -> bool:
    """Tell whether a header is that of the annotations."""
    columns = header(source.text)
    return "GitHubUrl" in columns and "Relevance" in columns


def read_codesearchnet(source: GoldSource, name: str, corpus: CorpusSpec | None) -> list[GoldSet]:
    """Read the annotations; each repository and commit is a set of its own."""
    table = read_table(source)
    if set(table.columns) != set(COLUMNS):
        raise source.at(1).error(f"the header is {','.join(table.columns)}", f"CodeSearchNet's is {','.join(COLUMNS)}")
    questions: dict[_Question, dict[Span, list[_Judgement]]] = {}
    for judgement in map(_judgement, table.rows):
        questions.setdefault(judgement.question, {}).setdefault(judgement.span, []).append(judgement)
    ids = safe_ids(question.id for question in questions)
    entries = [entry for question in questions for entry in _entries(question, questions[question], ids)]
    return from_github(source, name, corpus, entries, {**_agreement(questions), **_notes(table)})


def _judgement(row: CsvRow) -> _Judgement:
    url = _URL.fullmatch(row.text("GitHubUrl"))
    if url is None:
        raise row.place.error(
            f"'{row.get('GitHubUrl')}' does not name lines of a file at a commit",
            "write it as https://github.com/owner/name/blob/COMMIT/path#L1-L9",
        )
    if row.text("Relevance") not in _RELEVANCE:
        raise row.place.error(f"the relevance is '{row.get('Relevance')}'", f"it is one of {', '.join(_RELEVANCE)}")
    code = github_code(url["repository"], url["commit"], row.place)
    span = ranged_span(unquote(url["path"]), int(url["start"]), int(url["end"] or url["start"]), row.place)
    return _Judgement(_Question(code, row.text("Language"), row.text("Query")), span, int(row.text("Relevance")), row)


def _entries(
    question: _Question, judged: Mapping[Span, Sequence[_Judgement]], ids: Mapping[str, str]
) -> list[RepoQuery | Omitted]:
    means = {span: _mean([one.relevance for one in judgements]) for span, judgements in judged.items()}
    here = f"'{question.text}' in {question.code.label}"
    targets = [Target(span, mean) for span, mean in means.items()]
    if not any(target.grade > 0 for target in targets):
        return [Omitted("queries without an answer in the repository", here)]
    first = next(iter(judged.values()))[0].row.place
    tags = {"language": question.language}
    query = build_query(ids[question.id], {"human": question.text}, targets, first, tags=tags, least=1)
    return [RepoQuery(question.code, query)]


def _mean(relevance: Sequence[int]) -> int:
    return (2 * sum(relevance) + len(relevance)) // (2 * len(relevance))


def _agreement(questions: Mapping[_Question, Mapping[Span, Sequence[_Judgement]]]) -> dict[str, str]:
    several = [
        [j.relevance for j in spans[span]] for spans in questions.values() for span in spans if len(spans[span]) > 1
    ]
    if not several:
        return {}
    apart = sum(max(relevance) - min(relevance) >= _APART for relevance in several)
    return {"judges": f"{len(several)} judged by several people, whose mean counts; {apart} of them differ by 2 or 3"}


def _notes(table: CsvTable) -> dict[str, str]:
    notes = sum(bool(row.get("Notes")) for row in table.rows)
    return {"not read": f"{notes} notes of judges"} if notes else {}
