"""GitHub output of a gate: job summary, pull-request comment, annotations."""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from assay.clock import Deadline
from assay.digests import text_digest
from assay.errors import AssayError, EngineError
from assay.gold.lint.rules import LintFinding
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
from assay.report.comparison import comparison_blocks
from assay.report.evidence import Regression, regression_blocks, steadiness_blocks
from assay.report.gate import DOUBT, VERDICTS, Gate, GateCheck, check_table
from assay.report.render.document import Block, Code, Document, Heading, Paragraph, Table
from assay.report.render.markup import block_markdown
from assay.report.render.text import SHOWN, clip, count, escape_commands, strip_control

#: The variable that holds the token; its value is read when a request is made, and kept nowhere.
TOKEN = "GITHUB_TOKEN"  # noqa: S105  # the name, not the token
_API = "https://api.github.com"
_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class JobContext:
    """A job of GitHub Actions, as far as it is known; empty outside of one."""

    summary: Path | None = None  # the file that becomes the job summary
    workspace: Path | None = None  # what paths of annotations are relative to
    api: str = _API
    repository: str = ""
    pull: int | None = None  # the number of the pull request
    fork: bool = False  # it comes from another repository, whose jobs may not write here
    key: str = ""  # tells the comments of two jobs of one workflow apart
    page: str = ""  # the address of the run
    commit: str = ""
    has_token: bool = False

    @property
    def marker(self) -> str:
        """The first line of our comment, which nobody sees."""
        return f"<!-- assay-gate:{self.key} -->"


def read_context(environ: Mapping[str, str], subject: str) -> JobContext:
    """Read where we are; `subject` tells two gates of one job apart."""
    event = _event(environ.get("GITHUB_EVENT_PATH", ""))
    repository = environ.get("GITHUB_REPOSITORY", "")
    job = "\0".join([environ.get("GITHUB_WORKFLOW", ""), environ.get("GITHUB_JOB", ""), subject])
    return JobContext(
        summary=_path(environ, "GITHUB_STEP_SUMMARY"),
        workspace=_path(environ, "GITHUB_WORKSPACE"),
        api=environ.get("GITHUB_API_URL", "").rstrip("/") or _API,
        repository=repository if _REPOSITORY.fullmatch(repository) else "",
        pull=_pull(event),
        fork=_is_fork(event),
        key=text_digest(job)[:12],
        page=_page(environ),
        commit=environ.get("GITHUB_SHA", "")[:9],
        has_token=bool(environ.get(TOKEN, "").strip()),
    )


def place_in_checkout(environ: Mapping[str, str], place: str) -> str:
    """Give a folder as it lies in the checkout, from wherever it was named; one that lies elsewhere as it was named."""
    workspace = _path(environ, "GITHUB_WORKSPACE")
    return (inside(place, workspace) if workspace else None) or place


def inside(place: str, folder: Path) -> str | None:
    """Give a path below a folder; None for one that lies elsewhere."""
    try:
        return Path(place).resolve().relative_to(folder.resolve()).as_posix()
    except (OSError, ValueError):
        return None


def _path(environ: Mapping[str, str], name: str) -> Path | None:
    """Read a path; None where there is none."""
    return Path(environ[name]) if environ.get(name) else None


def _event(path: str) -> Mapping[str, Any]:
    try:
        data = json.loads(Path(path).read_bytes()) if path else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _pull(event: Mapping[str, Any]) -> int | None:
    issue, run = _table(event, "issue"), _table(event, "workflow_run")
    pulls = run.get("pull_requests")
    told = [
        _table(event, "pull_request").get("number"),
        issue.get("number") if "pull_request" in issue else None,
        pulls[0].get("number") if isinstance(pulls, list) and pulls and isinstance(pulls[0], dict) else None,
    ]
    return next((one for one in told if isinstance(one, int) and not isinstance(one, bool) and one > 0), None)


def _is_fork(event: Mapping[str, Any]) -> bool:
    pull = _table(event, "pull_request")
    head, base = (_table(_table(pull, side), "repo").get("full_name") for side in ("head", "base"))
    return bool(pull) and head != base


def _table(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _page(environ: Mapping[str, str]) -> str:
    parts = [environ.get(name, "") for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")]
    return "{}/{}/actions/runs/{}".format(*parts) if all(parts) else ""


Level = Literal["error", "warning", "notice"]
#: GitHub shows ten annotations of a level for each step, and drops the rest without a word.
_MOST = 10
_LEVELS: Mapping[str, Level] = {"error": "error", "warning": "warning", "info": "notice"}


@dataclass(frozen=True, slots=True)
class AnnotationLine:
    """A line of a file."""

    file: str | None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Annotation:
    """One remark, at a line where it has one."""

    level: Level
    title: str
    text: str
    spot: AnnotationLine = AnnotationLine(None)


def of_gate(gate: Gate, places: Mapping[tuple[str, str], AnnotationLine]) -> list[Annotation]:
    """Return annotations for failed and doubtful checks, and for the queries behind a significant regression."""
    found = [
        Annotation("warning" if check.passed else "error", "assay gate", f"{check.what}: {check.detail}")
        for check in gate.checks
        if check.warning or not check.passed
    ]
    regressed = any(check.fails_as_regression for check in gate.checks)
    return found + ([_of_loss(loss, places) for loss in gate.losses] if regressed else [])


def _of_loss(loss: Regression, places: Mapping[tuple[str, str], AnnotationLine]) -> Annotation:
    text = f"{loss.engine} lost on {loss.intent}: {loss.measure} {loss.before:.3f} → {loss.after:.3f}"
    return Annotation("notice", "assay gate", text, places.get((loss.gold, loss.query), AnnotationLine(None)))


def of_error(error: AssayError, command: str) -> Annotation:
    """Show what stopped a command, at the line where it is wrong."""
    return Annotation("error", command, str(error), AnnotationLine(error.file, error.line))


def of_findings(findings: Sequence[LintFinding]) -> list[Annotation]:
    """Make annotations of what `assay gold lint` found."""
    return [
        Annotation(
            _LEVELS[one.severity],
            f"assay gold lint {one.code}",
            f"{one.message}{f' → {one.hint}' if one.hint else ''}",
            AnnotationLine(one.file, one.line),
        )
        for one in findings
    ]


def commands(annotations: Sequence[Annotation], workspace: Path | None, rest: str) -> list[str]:
    """Write annotations as the runner reads them; beyond what GitHub shows they are counted, and `rest` says where."""
    lines = []
    for level in _LEVELS.values():
        mine = [one for one in annotations if one.level == level]
        shown = mine if len(mine) <= _MOST else mine[: _MOST - 1]
        more = [Annotation(level, "assay", f"and {len(mine) - len(shown)} more: {rest}")] if len(mine) > _MOST else []
        lines += [_command(one, workspace) for one in (*shown, *more)]
    return lines


def _command(one: Annotation, workspace: Path | None) -> str:
    # GitHub knows paths below the checkout; a file elsewhere has no line to stand beside
    file = None if one.spot.file is None else inside(one.spot.file, workspace or Path())
    given = {"file": file, "line": one.spot.line if file else None, "title": one.title}
    properties = ",".join(f"{key}={_property(str(value))}" for key, value in given.items() if value is not None)
    return f"::{one.level} {properties}::{_data(clip(one.text, SHOWN.stderr))}"


def _data(text: str) -> str:
    return escape_commands(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(clip(text, SHOWN.message)).replace(":", "%3A").replace(",", "%2C")


#: What a comment and the summary of a step hold. GitHub counts characters of the first; bytes are never fewer.
COMMENT_BYTES = 65_536
SUMMARY_BYTES = 1_048_576
#: Signs for those who only glance; the word stands beside each.
_PASSED, _DOUBTED, _FAILED = "✅", "⚠️", "❌"
_LEVEL = 3  # of the title: a comment is no page of its own
#: Characters of an error that are shown.
_ERROR = 4000


@dataclass(frozen=True, slots=True)
class GatePage:
    """What is said of a gate: first what decides, then what is behind it."""

    verdict: str
    exit_code: int
    first: tuple[Block, ...]
    behind: tuple[Block, ...] = ()


def gate_page(gate: Gate) -> GatePage:
    """Show a gate: the verdict in a sentence, the checks, where it hurts; the comparison behind them folded away."""
    first: list[Block] = [
        Paragraph(_sentence(gate)),
        *(Paragraph(note, "warning") for note in gate.notes),
        check_table(gate),
    ]
    behind: list[Block] = []
    if gate.comparison:
        behind = [Heading("The comparison"), *comparison_blocks(gate.comparison)]
    return GatePage(
        gate.verdict,
        gate.exit_code,
        (*first, *regression_blocks(gate.losses)),
        (*behind, *steadiness_blocks(gate.steadiness), *(Paragraph(hint, "quiet") for hint in gate.hints)),
    )


def error_page(error: AssayError) -> GatePage:
    """Show why there is no verdict."""
    why = (Paragraph(_NO_VERDICT), Code(strip_control(str(error))[:_ERROR]))
    return GatePage(VERDICTS.get(error.exit_code, VERDICTS[4]), error.exit_code, why)


_NO_VERDICT = "There is no verdict; this is why:"


def _sentence(gate: Gate) -> str:
    failed = [check for check in gate.checks if not check.passed and check.exit_code == gate.exit_code]
    if gate.exit_code == 1:
        return " ".join([*_regressions(gate), *(_missed(check) for check in failed if check.kind == "floor")])
    if failed:
        return f"{_REASONS[gate.exit_code]}: {'; '.join(check.what for check in failed)}."
    doubtful = [check.what for check in gate.checks if check.doubtful]
    if doubtful:
        return f"Inconclusive, so it passes (--strict would stop it): {'; '.join(doubtful)}."
    return "Nothing that was checked got worse."


def _missed(check: GateCheck) -> str:
    side = "Above" if check.what.rsplit(" ", 2)[1].startswith("<") else "Below"
    return f"{side} threshold: {check.what}: {check.detail}."


def _regressions(gate: Gate) -> list[str]:
    return [
        f"Significant regression: {row.measure} of {row.engine} is {row.mean:.3f}, of {row.baseline} "
        f"{row.baseline_mean:.3f}; of {count(row.queries, 'query', 'queries')} {row.losses} got worse, "
        f"{row.wins} better."
        for row in gate.regressions
    ]


_REASONS = {
    DOUBT: "Inconclusive, which fails under --strict",
    4: "Engines failed, so their scores are not comparable",
    5: "Not everything can be compared",
}


def to_summary(document: Document, limit: int) -> str:
    """Write a document of another command for the job summary."""
    title = block_markdown(Heading(document.title), _LEVEL)
    return f"{title}\n\n{_fitted(document.blocks, limit - _size(title) - 2, CUT)}"


#: What is said where a summary ends before its time.
CUT = "*Cut here: GitHub takes no longer summary. `--json` has everything.*"


def to_github(page: GatePage, limit: int, footer: str, rest: str) -> str:
    """Write a page in at most `limit` bytes; `rest` says where the rest is, should it be cut."""
    title = f"{'#' * _LEVEL} {_sign(page)} assay gate: {page.verdict}"
    room = limit - _size(title) - _size(footer) - _size(_FOLD.format("")) - 10
    first = _fitted(page.first, room, rest)
    folded = ""
    if page.behind and room - _size(first) > _size(rest) * 2:
        folded = _FOLD.format(_fitted(page.behind, room - _size(first), rest))
    return "\n\n".join(part for part in (title, first, folded, footer) if part) + "\n"


def _sign(page: GatePage) -> str:
    if page.exit_code:
        return _FAILED
    return _PASSED if page.verdict == VERDICTS[0] else _DOUBTED


_FOLD = "<details><summary>What is behind it</summary>\n\n{}\n\n</details>"


def _size(text: str) -> int:
    return len(text.encode("utf-8"))


def _fitted(blocks: Sequence[Block], room: int, rest: str) -> str:
    kept: list[str] = []
    left = room - _size(rest) - 4
    for block in blocks:
        text = block_markdown(block, _LEVEL + 1)
        if _size(text) > left:
            part = _cut(block, left) if isinstance(block, Table) else ""
            return "\n\n".join([*kept, *([part] if part else []), rest])
        left -= _size(text) + 2
        kept += [text] if text else []
    return "\n\n".join(kept)


def _cut(block: Table, room: int) -> str:
    low, high = 0, len(block.rows)
    while low < high:
        middle = (low + high + 1) // 2
        shorter = replace(block, rows=block.rows[:middle], note="")
        low, high = (middle, high) if _size(block_markdown(shorter)) <= room else (low, middle - 1)
    return block_markdown(replace(block, rows=block.rows[:low], note="")) if low else ""


@dataclass(frozen=True, slots=True)
class CommentLimits:
    """How GitHub is asked."""

    attempt: float = 20.0  # seconds; it answers within one
    retries: int = 2  # after the first attempt, of whatever is asked
    per_page: int = 100  # GitHub's most
    pages: int = 100  # 10,000 comments: no pull request has more


DEFAULT = CommentLimits()


@dataclass(frozen=True, slots=True)
class Thread:
    """The comments of a pull request, and the variable that holds the token for it."""

    api: str
    repository: str
    pull: int
    token_env: str

    @property
    def comments(self) -> str:
        """The address of its comments."""
        return f"{self.api}/repos/{self.repository}/issues/{self.pull}/comments"

    def comment(self, number: int) -> str:
        """The address of one comment."""
        return f"{self.api}/repos/{self.repository}/issues/comments/{number}"

    @property
    def viewer(self) -> str:
        """The address of whoever the token belongs to."""
        return f"{self.api}/user"


def upsert_comment(
    thread: Thread, marker: str, body: str, *, limits: CommentLimits = DEFAULT, http: HttpLimits = DEFAULT_HTTP
) -> str:
    """Change our comment, or make it where there is none; say which.

    A request that makes one is not repeated blindly: the answer may be lost and the comment there, so it is looked for
    again before another one is made.
    """
    with HttpClient(1, http) as client:
        talk = _GithubClient(thread, client, limits)
        for turn in itertools.count():
            if any(talk.change(number, body) for number in talk.find(marker)):
                return "updated"
            wait = talk.make(body, turn)
            if wait is None:
                return "created"
            time.sleep(wait)
    raise AssertionError("it is made, or not, in the end")


@dataclass(frozen=True, slots=True)
class _GithubClient:
    """A conversation with GitHub's API."""

    thread: Thread
    client: HttpClient
    limits: CommentLimits

    def find(self, marker: str) -> list[int]:
        """Find our comments by the marker they begin with and by who wrote them; pages are read until one is not full.

        Anybody can copy the marker, and GitHub lets us change what others wrote: it would bear their name.
        """
        marked = [one for one in self._comments() if _is_marked(one, marker)]
        login = self._login() if marked else None
        return [one["id"] for one in marked if _is_by(one, login)]

    def _login(self) -> str | None:
        try:
            found = self._ask("GET", self.thread.viewer)
        except AccessDenied:
            return None
        login = found.get("login") if isinstance(found, dict) else None
        return login if isinstance(login, str) else None

    def _comments(self) -> Iterator[dict[str, Any]]:
        for page in range(1, self.limits.pages + 1):
            url = f"{self.thread.comments}?per_page={self.limits.per_page}&page={page}"
            found = self._ask("GET", url)
            if not isinstance(found, list):
                raise EngineError(
                    "answered with no list of comments", file=self.thread.api, hint="check GITHUB_API_URL"
                )
            yield from (one for one in found if isinstance(one, dict))
            if len(found) < self.limits.per_page:
                return

    def change(self, number: int, body: str) -> bool:
        try:
            self._ask("PATCH", self.thread.comment(number), body)
        except AccessDenied:
            return False
        return True

    def make(self, body: str, turn: int) -> float | None:
        request = self._request("POST", self.thread.comments, body)
        outcome = self.client.attempt(request, Deadline(self.limits.attempt))
        if isinstance(outcome, HttpResponse):
            return None
        wait = outcome.delay(turn, self.client.limits) if turn < self.limits.retries else None
        if wait is None:
            raise outcome.error(request)
        return wait

    def _ask(self, method: str, url: str, body: str | None = None) -> object:
        policy = RetryPolicy(self.limits.attempt, self.limits.retries)
        return self.client.send(self._request(method, url, body), policy).json()

    def _request(self, method: str, url: str, body: str | None) -> HttpRequest:
        headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
        headers |= {"Content-Type": "application/json"} if body is not None else {}
        data = None if body is None else json.dumps({"body": body}).encode()
        return make_request(url, method=method, body=data, headers=headers, token_env=self.thread.token_env)


def _is_marked(comment: dict[str, Any], marker: str) -> bool:
    return isinstance(comment.get("id"), int) and str(comment.get("body", "")).startswith(marker)


def _is_by(comment: dict[str, Any], login: str | None) -> bool:
    user = comment.get("user")
    named = user if isinstance(user, dict) else {}
    return named.get("type") == "Bot" if login is None else named.get("login") == login


_Record = TypeVar("_Record")
_IN_SUMMARY = "*Cut here: GitHub takes no longer comment. The job summary has the rest.*"
_NO_RIGHT = "the job needs `permissions: pull-requests: write`"
_FORK = "a pull request from a fork has a token that may not write here"


@dataclass(frozen=True, slots=True)
class JobOutput:
    """Where GitHub listens, and how we say something in its log."""

    context: JobContext
    say: Callable[[str], None]
    comment: bool = True

    def annotate(self, annotations: Sequence[Annotation], rest: str) -> None:
        """Have remarks shown beside their lines; `rest` says where those are that GitHub would not show."""
        for line in commands(annotations, self.context.workspace, rest):
            self.say(line)

    def tell(self, sentence: str) -> None:
        """Say something that is no command, whatever words of others are in it."""
        self.say(escape_commands(sentence))


def publish(stage: JobOutput, page: GatePage, annotations: Sequence[Annotation]) -> None:
    """Say a page everywhere; what does not work is a sentence in the log."""
    hidden = Redactor([_token(stage.context)])  # before anything is escaped: what is escaped is not recognised
    page, annotations = _struck(page, hidden), [_struck(one, hidden) for one in annotations]
    footer = _footer(stage.context)
    stage.annotate(annotations, "the job summary has them all")
    summarise(stage, to_github(page, SUMMARY_BYTES, footer, CUT))
    if stage.comment:
        marker = stage.context.marker
        body = to_github(page, COMMENT_BYTES - len(marker) - 1, footer, _IN_SUMMARY)
        stage.tell(_commented(stage.context, f"{marker}\n{body}"))


def _struck(record: _Record, hidden: Redactor) -> _Record:
    if isinstance(record, str):
        return hidden.text(record)  # type: ignore[return-value]  # a text for a text
    if isinstance(record, tuple):
        return tuple(_struck(one, hidden) for one in record)  # type: ignore[return-value]  # a tuple of the same
    if is_dataclass(record) and not isinstance(record, type):
        return replace(record, **{one.name: _struck(getattr(record, one.name), hidden) for one in fields(record)})
    return record


def summarise(stage: JobOutput, text: str) -> None:
    """Add a text to the job summary; several steps may."""
    if stage.context.summary is None:
        stage.tell("no job summary: GITHUB_STEP_SUMMARY is not set")
        return
    try:
        with open(stage.context.summary, "a", encoding="utf-8") as stream:
            stream.write(f"{text}\n")
    except OSError as error:
        stage.tell(f"no job summary: {stage.context.summary}: {error.strerror or error}")


def _token(context: JobContext) -> str:
    try:
        return read_token(TOKEN) if context.has_token else ""
    except AssayError:
        return ""


def _footer(context: JobContext) -> str:
    run = f"[the run]({context.page})" if context.page else ""
    commit = f"commit {context.commit}" if context.commit else ""
    return " · ".join(part for part in (commit, run) if part)


def _commented(context: JobContext, body: str) -> str:
    if context.pull is None or not context.repository:
        return "no comment: this job is about no pull request"
    if not context.has_token:
        return f"no comment: {TOKEN} is not set; the job summary says the same"
    thread = Thread(context.api, context.repository, context.pull, TOKEN)
    try:
        done = upsert_comment(thread, context.marker, body)
    except AssayError as error:
        why = f" ({_FORK if context.fork else _NO_RIGHT})" if isinstance(error, AccessDenied) else ""
        return f"no comment: {error.message}{why}; the job summary says the same"
    return f"comment on pull request {context.pull} {done}"
