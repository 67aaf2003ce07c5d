"""Where we are: what GitHub's runner says of the job in variables, and of its reason in a file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.digests import text_digest

#: The variable that holds the token; its value is read when a request is made, and kept nowhere.
TOKEN = "GITHUB_TOKEN"  # noqa: S105  # the name, not the token
_API = "https://api.github.com"
_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class Context:
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


def read_context(environ: Mapping[str, str], subject: str) -> Context:
    """Read where we are; `subject` tells two gates of one job apart."""
    event = _event(environ.get("GITHUB_EVENT_PATH", ""))
    repository = environ.get("GITHUB_REPOSITORY", "")
    job = "\0".join([environ.get("GITHUB_WORKFLOW", ""), environ.get("GITHUB_JOB", ""), subject])
    return Context(
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
    """Read why the job runs; nothing where that is not told."""
    try:
        data = json.loads(Path(path).read_bytes()) if path else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _pull(event: Mapping[str, Any]) -> int | None:
    """Find the number of the pull request: of its own event, of a comment on it, of a workflow that ran for it."""
    issue, run = _table(event, "issue"), _table(event, "workflow_run")
    pulls = run.get("pull_requests")
    told = [
        _table(event, "pull_request").get("number"),
        issue.get("number") if "pull_request" in issue else None,
        pulls[0].get("number") if isinstance(pulls, list) and pulls and isinstance(pulls[0], dict) else None,
    ]
    return next((one for one in told if isinstance(one, int) and not isinstance(one, bool) and one > 0), None)


def _is_fork(event: Mapping[str, Any]) -> bool:
    """Tell whether a pull request comes from another repository."""
    pull = _table(event, "pull_request")
    head, base = (_table(_table(pull, side), "repo").get("full_name") for side in ("head", "base"))
    return bool(pull) and head != base


def _table(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Take a table out of another one; an empty one where there is none."""
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _page(environ: Mapping[str, str]) -> str:
    """Give the address of the run, where all its parts are told."""
    parts = [environ.get(name, "") for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")]
    return "{}/{}/actions/runs/{}".format(*parts) if all(parts) else ""
