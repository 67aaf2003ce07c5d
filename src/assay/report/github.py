from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from assay.clock import Deadline
from assay.digests import text_digest
from assay.errors import AssayError, EngineError
from assay.http import (
    DEFAULT_HTTP,
    AccessDenied,
    HttpClient,
    HttpLimits,
    HttpRequest,
    HttpResponse,
    RetryPolicy,
    make_request,
    read_token,
)
from assay.redaction import Redactor
from assay.report.comparison_text import card, comparison_blocks
from assay.report.gate_checks import VERDICTS, Gate
from assay.report.gate_document import (
    check_table,
    largest_regressions,
    regression_blocks,
    stability_blocks,
    trend_blocks,
)
from assay.report.render.document import Block, Code, Document, Heading, Paragraph, Table, block_markdown
from assay.report.render.formatting import SHOWN, clip, escape_commands, strip_control

if TYPE_CHECKING:
    from assay.gold.lint.rules import LintFinding

#: The variable of the token; its value is read for each request and stored nowhere.
TOKEN = "GITHUB_TOKEN"  # noqa: S105  # the name, not the token
_API = "https://api.github.com"
_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+")
#: GitHub shows ten annotations per level and step, and drops the rest silently.
_MAX_ANNOTATIONS = 10
#: Sizes of a comment and of a step's summary. GitHub counts characters of a comment, which are at most its bytes.
COMMENT_BYTES = 65_536
SUMMARY_BYTES = 1_048_576
_TITLE_LEVEL = 3  # heading of a comment
_ERROR_LENGTH = 4000  # characters of an error
_FOLD = "<details><summary>Details</summary>\n\n{}\n\n</details>"
#: Ends of a summary and of a comment that were cut.
CUT = "*Cut here, at the size limit of GitHub. `--json` has everything.*"
_IN_SUMMARY = "*Cut here, at the size limit of GitHub. The job summary has the rest.*"
_NO_RIGHT = "the job needs `permissions: pull-requests: write`"
_FORK = "the token of a pull request from a fork cannot write comments"

_Record = TypeVar("_Record")


@dataclass(frozen=True, slots=True)
class JobContext:
    """The environment of a GitHub Actions job; empty outside of a job."""

    summary: Path | None = None  # the file of the job summary
    workspace: Path | None = None  # that paths of annotations are relative to
    api: str = _API
    repository: str = ""
    pull: int | None = None  # the number of the pull request
    fork: bool = False  # from another repository, whose jobs may not write here
    key: str = ""  # distinguishes the comments of two jobs of one workflow
    page: str = ""  # the address of the run
    commit: str = ""
    has_token: bool = False

    @property
    def marker(self) -> str:
        """The first line of our comment, an HTML comment."""
        return f"<!-- assay-gate:{self.key} -->"


def read_context(environ: Mapping[str, str], subject: str) -> JobContext:
    """Read the environment of a job; `subject` distinguishes the gates of one job."""
    event = _read_event(environ.get("GITHUB_EVENT_PATH", ""))
    pull = _mapping(event, "pull_request")
    head, base = (_mapping(_mapping(pull, side), "repo").get("full_name") for side in ("head", "base"))
    repository = environ.get("GITHUB_REPOSITORY", "")
    job = "\0".join([environ.get("GITHUB_WORKFLOW", ""), environ.get("GITHUB_JOB", ""), subject])
    address = [environ.get(name, "") for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")]
    return JobContext(
        summary=_path(environ, "GITHUB_STEP_SUMMARY"),
        workspace=_path(environ, "GITHUB_WORKSPACE"),
        api=environ.get("GITHUB_API_URL", "").rstrip("/") or _API,
        repository=repository if _REPOSITORY.fullmatch(repository) else "",
        pull=_pull_number(event),
        fork=bool(pull) and head != base,
        key=text_digest(job)[:12],
        page="{}/{}/actions/runs/{}".format(*address) if all(address) else "",
        commit=environ.get("GITHUB_SHA", "")[:9],
        has_token=bool(environ.get(TOKEN, "").strip()),
    )


def _path(environ: Mapping[str, str], name: str) -> Path | None:
    return Path(environ[name]) if environ.get(name) else None


def _read_event(path: str) -> Mapping[str, Any]:
    try:
        data = json.loads(Path(path).read_bytes()) if path else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _mapping(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _pull_number(event: Mapping[str, Any]) -> int | None:
    issue, pulls = _mapping(event, "issue"), _mapping(event, "workflow_run").get("pull_requests")
    numbers = [
        _mapping(event, "pull_request").get("number"),
        issue.get("number") if "pull_request" in issue else None,
        pulls[0].get("number") if isinstance(pulls, list) and pulls and isinstance(pulls[0], dict) else None,
    ]
    return next(
        (number for number in numbers if isinstance(number, int) and not isinstance(number, bool) and number > 0), None
    )


def place_in_checkout(environ: Mapping[str, str], path: str) -> str:
    """Return a path relative to the checkout, or unchanged if the path is outside or there is no checkout."""
    workspace = _path(environ, "GITHUB_WORKSPACE")
    return (_relative(path, workspace) if workspace else None) or path


def _relative(path: str, directory: Path) -> str | None:
    try:
        return Path(path).resolve().relative_to(directory.resolve()).as_posix()
    except (OSError, ValueError):
        return None


Level = Literal["error", "warning", "notice"]
_LEVELS: Mapping[str, Level] = {"error": "error", "warning": "warning", "info": "notice"}


@dataclass(frozen=True, slots=True)
class AnnotationLine:
    file: str | None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Annotation:
    level: Level
    title: str
    text: str
    spot: AnnotationLine = AnnotationLine(None)


def of_gate(gate: Gate, places: Mapping[tuple[str, str], AnnotationLine]) -> list[Annotation]:
    """Return annotations for failed checks, warnings, and the queries of a significant regression."""
    annotations = [
        Annotation("warning" if check.passed else "error", "assay gate", f"{check.what}: {check.detail}")
        for check in gate.checks
        if check.warning or not check.passed
    ]
    if any(check.fails_as_regression for check in gate.checks):
        for loss in largest_regressions(gate.regressions):
            text = f"{loss.engine} lost on {loss.intent}: {loss.measure} {loss.before:.3f} → {loss.after:.3f}"
            line = places.get((loss.gold, loss.query), AnnotationLine(None))
            annotations.append(Annotation("notice", "assay gate", text, line))
    return annotations


def of_error(error: AssayError, command: str) -> Annotation:
    return Annotation("error", command, str(error), AnnotationLine(error.file, error.line))


def of_findings(findings: Sequence[LintFinding]) -> list[Annotation]:
    return [
        Annotation(
            _LEVELS[finding.severity],
            f"assay gold lint {finding.code}",
            f"{finding.message}{f' → {finding.hint}' if finding.hint else ''}",
            AnnotationLine(finding.file, finding.line),
        )
        for finding in findings
    ]


def commands(annotations: Sequence[Annotation], workspace: Path | None, rest: str) -> list[str]:
    """Format annotations as workflow commands; `rest` is a note on the ones that GitHub would drop."""
    lines = []
    for level in _LEVELS.values():
        of_level = [annotation for annotation in annotations if annotation.level == level]
        shown = of_level if len(of_level) <= _MAX_ANNOTATIONS else of_level[: _MAX_ANNOTATIONS - 1]
        lines += [_command(annotation, workspace) for annotation in shown]
        if len(shown) < len(of_level):
            lines.append(
                _command(Annotation(level, "assay", f"and {len(of_level) - len(shown)} more: {rest}"), workspace)
            )
    return lines


def _command(annotation: Annotation, workspace: Path | None) -> str:
    # GitHub shows lines of files in the checkout only
    file = None if annotation.spot.file is None else _relative(annotation.spot.file, workspace or Path())
    values = {"file": file, "line": annotation.spot.line if file else None, "title": annotation.title}
    properties = ",".join(f"{key}={_escape_property(str(value))}" for key, value in values.items() if value is not None)
    return f"::{annotation.level} {properties}::{_escape_data(clip(annotation.text, SHOWN.stderr))}"


def _escape_data(text: str) -> str:
    return escape_commands(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_data(clip(text, SHOWN.message)).replace(":", "%3A").replace(",", "%2C")


@dataclass(frozen=True, slots=True)
class GatePage:
    """The blocks of a gate on GitHub; those in `behind` are collapsed."""

    verdict: str
    exit_code: int
    first: tuple[Block, ...]
    behind: tuple[Block, ...] = ()


def gate_page(gate: Gate) -> GatePage:
    """Return the page of a gate, with the details of the comparison collapsed."""
    first: list[Block] = [
        *([card(gate.decision, show="")] if gate.decision else []),
        *(Paragraph(note, "warning") for note in gate.notes),
        *(Paragraph(change) for change in gate.changes),
        *trend_blocks(gate),
        check_table(gate),
        *regression_blocks(gate.regressions),
    ]
    behind: list[Block] = []
    if gate.comparison:
        behind = [Heading("The comparison"), *comparison_blocks(gate.comparison)]
    behind += [*stability_blocks(gate.stability), *(Paragraph(hint, "quiet") for hint in gate.hints)]
    return GatePage(gate.verdict, gate.exit_code, tuple(first), tuple(behind))


def error_page(error: AssayError) -> GatePage:
    text = strip_control(str(error))[:_ERROR_LENGTH]
    why = (Paragraph("No verdict because of an error:"), Code(text))
    return GatePage(VERDICTS.get(error.exit_code, VERDICTS[4]), error.exit_code, why)


def to_summary(document: Document, limit: int) -> str:
    """Format a document for the job summary, in at most `limit` bytes."""
    title = block_markdown(Heading(document.title), _TITLE_LEVEL)
    return f"{title}\n\n{_fit(document.blocks, limit - _size(title) - 2, CUT)}"


def to_github(page: GatePage, limit: int, footer: str, rest: str) -> str:
    """Format a page in at most `limit` bytes; `rest` ends a page that was cut."""
    sign = "❌" if page.exit_code else "✅" if page.verdict == VERDICTS[0] else "⚠️"
    title = f"{'#' * _TITLE_LEVEL} {sign} assay gate: {page.verdict}"
    free = limit - _size(title) - _size(footer) - _size(_FOLD.format("")) - 10
    first = _fit(page.first, free, rest)
    folded = ""
    if page.behind and free - _size(first) > _size(rest) * 2:
        folded = _FOLD.format(_fit(page.behind, free - _size(first), rest))
    return "\n\n".join(part for part in (title, first, folded, footer) if part) + "\n"


def _size(text: str) -> int:
    return len(text.encode("utf-8"))


def _fit(blocks: Sequence[Block], size: int, rest: str) -> str:
    kept: list[str] = []
    left = size - _size(rest) - 4
    for block in blocks:
        text = block_markdown(block, _TITLE_LEVEL + 1)
        if _size(text) > left:
            part = _cut_table(block, left) if isinstance(block, Table) else ""
            return "\n\n".join([*kept, *([part] if part else []), rest])
        left -= _size(text) + 2
        kept += [text] if text else []
    return "\n\n".join(kept)


def _cut_table(block: Table, size: int) -> str:
    """Return the longest prefix of a table that fits, by bisection; empty if no row fits."""

    def first_rows(number: int) -> str:
        return block_markdown(replace(block, rows=block.rows[:number], note=""))

    low, high = 0, len(block.rows)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _size(first_rows(middle)) <= size else (low, middle - 1)
    return first_rows(low) if low else ""


@dataclass(frozen=True, slots=True)
class CommentLimits:
    attempt: float = 20.0  # seconds; it usually answers within one
    retries: int = 2  # after the first attempt
    per_page: int = 100  # GitHub's maximum
    pages: int = 100  # 10,000 comments: more than any pull request has


DEFAULT = CommentLimits()


class Thread(NamedTuple):
    """The comments of a pull request, and the environment variable with the token."""

    api: str
    repository: str
    pull: int
    token_env: str

    @property
    def comments(self) -> str:
        return f"{self.api}/repos/{self.repository}/issues/{self.pull}/comments"


def upsert_comment(
    thread: Thread, marker: str, body: str, *, limits: CommentLimits = DEFAULT, http: HttpLimits = DEFAULT_HTTP
) -> str:
    """Update the comment with this marker or create it; return "updated" or "created".

    The comment is looked up before each retry, because it may exist although the response was lost.
    """
    with HttpClient(1, http) as client:
        github = _GithubClient(thread, client, limits)
        for attempt in itertools.count():
            if any(github.update(number, body) for number in github.find(marker)):
                return "updated"
            wait = github.create(body, attempt)
            if wait is None:
                return "created"
            time.sleep(wait)
    raise AssertionError("unreachable: the last attempt succeeds or raises")


class _GithubClient(NamedTuple):
    thread: Thread
    client: HttpClient
    limits: CommentLimits

    def find(self, marker: str) -> list[int]:
        """Return the ids of comments with this marker by the author of the token, or by a bot if the author is unknown.

        The marker is not enough, because other authors can copy it.
        """
        marked = [
            comment
            for comment in self._comments()
            if isinstance(comment.get("id"), int) and str(comment.get("body", "")).startswith(marker)
        ]
        if not marked:
            return []
        key, own = "login", self._login()
        if own is None:
            key, own = "type", "Bot"
        return [comment["id"] for comment in marked if _mapping(comment, "user").get(key) == own]

    def _login(self) -> str | None:
        try:
            user = self._send("GET", f"{self.thread.api}/user")
        except AccessDenied:
            return None
        login = user.get("login") if isinstance(user, dict) else None
        return login if isinstance(login, str) else None

    def _comments(self) -> Iterator[dict[str, Any]]:
        for page in range(1, self.limits.pages + 1):
            comments = self._send("GET", f"{self.thread.comments}?per_page={self.limits.per_page}&page={page}")
            if not isinstance(comments, list):
                raise EngineError(
                    "the response is not a list of comments", file=self.thread.api, hint="check GITHUB_API_URL"
                )
            yield from (comment for comment in comments if isinstance(comment, dict))
            if len(comments) < self.limits.per_page:
                return

    def update(self, number: int, body: str) -> bool:
        try:
            self._send("PATCH", f"{self.thread.api}/repos/{self.thread.repository}/issues/comments/{number}", body)
        except AccessDenied:
            return False
        return True

    def create(self, body: str, attempt: int) -> float | None:
        """Create the comment; return the seconds to wait before the next attempt, None after success."""
        request = self._request("POST", self.thread.comments, body)
        outcome = self.client.attempt(request, Deadline(self.limits.attempt))
        if isinstance(outcome, HttpResponse):
            return None
        wait = outcome.delay(attempt, self.client.limits) if attempt < self.limits.retries else None
        if wait is None:
            raise outcome.error(request)
        return wait

    def _send(self, method: str, url: str, body: str | None = None) -> object:
        policy = RetryPolicy(self.limits.attempt, self.limits.retries)
        return self.client.send(self._request(method, url, body), policy).json()

    def _request(self, method: str, url: str, body: str | None) -> HttpRequest:
        headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
        headers |= {"Content-Type": "application/json"} if body is not None else {}
        data = None if body is None else json.dumps({"body": body}).encode()
        return make_request(url, method=method, body=data, headers=headers, token_env=self.thread.token_env)


@dataclass(frozen=True, slots=True)
class JobOutput:
    context: JobContext
    say: Callable[[str], None]
    comment: bool = True

    def annotate(self, annotations: Sequence[Annotation], rest: str) -> None:
        """Print annotations up to GitHub's limit; `rest` says where the others are."""
        for line in commands(annotations, self.context.workspace, rest):
            self.say(line)

    def tell(self, sentence: str) -> None:
        self.say(escape_commands(sentence))


def write_job_output(job: JobOutput, page: GatePage, annotations: Sequence[Annotation]) -> None:
    """Write the annotations, the summary and, if enabled, the comment; failures are printed."""
    context = job.context
    redactor = Redactor([_token(context)])  # before escaping, which would hide the token from it
    page, annotations = _redact(page, redactor), [_redact(annotation, redactor) for annotation in annotations]
    commit = f"commit {context.commit}" if context.commit else ""
    footer = " · ".join(part for part in (commit, f"[the run]({context.page})" if context.page else "") if part)
    job.annotate(annotations, "the job summary has them all")
    summarize(job, to_github(page, SUMMARY_BYTES, footer, CUT))
    if job.comment:
        body = to_github(page, COMMENT_BYTES - len(context.marker) - 1, footer, _IN_SUMMARY)
        job.tell(_comment(context, f"{context.marker}\n{body}"))


def _token(context: JobContext) -> str:
    try:
        return read_token(TOKEN) if context.has_token else ""
    except AssayError:
        return ""


def _redact(record: _Record, redactor: Redactor) -> _Record:
    if isinstance(record, str):
        return redactor.text(record)  # type: ignore[return-value]  # a text for a text
    if isinstance(record, tuple):
        return tuple(_redact(item, redactor) for item in record)  # type: ignore[return-value]  # a tuple of the same
    if is_dataclass(record) and not isinstance(record, type):
        return replace(record, **{item.name: _redact(getattr(record, item.name), redactor) for item in fields(record)})
    return record


def summarize(job: JobOutput, text: str) -> None:
    """Append a text to the job summary, or print the reason for a failure."""
    summary = job.context.summary
    if summary is None:
        job.tell("no job summary: GITHUB_STEP_SUMMARY is not set")
        return
    try:
        with open(summary, "a", encoding="utf-8") as stream:
            stream.write(f"{text}\n")
    except OSError as error:
        job.tell(f"no job summary: {summary}: {error.strerror or error}")


def _comment(context: JobContext, body: str) -> str:
    if context.pull is None or not context.repository:
        return "no comment: this job does not belong to a pull request"
    if not context.has_token:
        return f"no comment: {TOKEN} is not set; see the job summary"
    thread = Thread(context.api, context.repository, context.pull, TOKEN)
    try:
        done = upsert_comment(thread, context.marker, body)
    except AssayError as error:
        why = f" ({_FORK if context.fork else _NO_RIGHT})" if isinstance(error, AccessDenied) else ""
        return f"no comment: {error.message}{why}; see the job summary"
    return f"comment on pull request {context.pull} {done}"
