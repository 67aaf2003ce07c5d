"""Tell GitHub: the job summary, the comment and the annotations. None of it can change the verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TypeVar

from assay.errors import AssayError
from assay.http import Denied, read_token
from assay.redaction import Redactor
from assay.report.github.annotations import Annotation, commands
from assay.report.github.context import TOKEN, Context
from assay.report.github.page import COMMENT_BYTES, CUT, SUMMARY_BYTES, Page, to_github
from assay.report.github.thread import Thread, stick
from assay.report.pages.texts import inert

_Record = TypeVar("_Record")
_IN_SUMMARY = "*Cut here: GitHub takes no longer comment. The job summary has the rest.*"
_NO_RIGHT = "the job needs `permissions: pull-requests: write`"
_FORK = "a pull request from a fork has a token that may not write here"


@dataclass(frozen=True, slots=True)
class Stage:
    """Where GitHub listens, and how we say something in its log."""

    context: Context
    say: Callable[[str], None]
    comment: bool = True

    def annotate(self, annotations: Sequence[Annotation], rest: str) -> None:
        """Have remarks shown beside their lines; `rest` says where those are that GitHub would not show."""
        for line in commands(annotations, self.context.workspace, rest):
            self.say(line)

    def tell(self, sentence: str) -> None:
        """Say something that is no command, whatever words of others are in it."""
        self.say(inert(sentence))


def publish(stage: Stage, page: Page, annotations: Sequence[Annotation]) -> None:
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
    """Give a record whose texts are without secrets, however deep they lie."""
    if isinstance(record, str):
        return hidden.text(record)  # type: ignore[return-value]  # a text for a text
    if isinstance(record, tuple):
        return tuple(_struck(one, hidden) for one in record)  # type: ignore[return-value]  # a tuple of the same
    if is_dataclass(record) and not isinstance(record, type):
        return replace(record, **{one.name: _struck(getattr(record, one.name), hidden) for one in fields(record)})
    return record


def summarise(stage: Stage, text: str) -> None:
    """Add a text to the job summary; several steps may."""
    if stage.context.summary is None:
        stage.tell("no job summary: GITHUB_STEP_SUMMARY is not set")
        return
    try:
        with open(stage.context.summary, "a", encoding="utf-8") as stream:
            stream.write(f"{text}\n")
    except OSError as error:
        stage.tell(f"no job summary: {stage.context.summary}: {error.strerror or error}")


def _token(context: Context) -> str:
    """Read the token, only to strike it out of everything."""
    try:
        return read_token(TOKEN) if context.has_token else ""
    except AssayError:
        return ""


def _footer(context: Context) -> str:
    """Say which commit and which run it is about; both are GitHub's own words."""
    run = f"[the run]({context.page})" if context.page else ""
    commit = f"commit {context.commit}" if context.commit else ""
    return " · ".join(part for part in (commit, run) if part)


def _commented(context: Context, body: str) -> str:
    """Write the comment, and say what came of it."""
    if context.pull is None or not context.repository:
        return "no comment: this job is about no pull request"
    if not context.has_token:
        return f"no comment: {TOKEN} is not set; the job summary says the same"
    thread = Thread(context.api, context.repository, context.pull, TOKEN)
    try:
        done = stick(thread, context.marker, body)
    except AssayError as error:
        why = f" ({_FORK if context.fork else _NO_RIGHT})" if isinstance(error, Denied) else ""
        return f"no comment: {error.message}{why}; the job summary says the same"
    return f"comment on pull request {context.pull} {done}"
