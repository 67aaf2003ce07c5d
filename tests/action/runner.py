"""GitHub's runner, as far as a composite action needs one: its steps are read from action.yml and run by bash."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

import assay
from tests.waiting import WATCHDOG

ROOT = Path(__file__).parents[2]
ACTION = ROOT / "action.yml"
TOKEN = "ghs_averysecrettoken0123456789"


#: What pip writes for a console script.
_SCRIPT = "from assay.cli.main import main\nsys.exit(main())\n"


def action() -> dict[str, Any]:
    """Read the action."""
    return yaml.safe_load(ACTION.read_text("utf-8"))


@dataclass
class Outcome:
    """What a job came to."""

    code: int
    log: str
    outputs: dict[str, str]
    summary: str
    ran: list[str] = field(default_factory=list)


def job(
    repository: Path,
    inputs: dict[str, str],
    *,
    temp: Path,
    api: str = "http://127.0.0.1:9",
    event: dict[str, Any] | None = None,
    last: str = "gate",
    env: dict[str, str] | None = None,
) -> Outcome:
    """Run the steps of the action in a checkout, one after the other, until one fails or the last one is done."""
    made = action()
    given = {name: str(about.get("default", "")) for name, about in made["inputs"].items()} | inputs
    values = {f"inputs.{name}": text for name, text in given.items()}
    values |= {"github.token": TOKEN, "github.action_path": str(ROOT)}
    outside = _environment(repository, api, temp, event) | (env or {})
    code, log, ran = 0, "", []
    for step in made["runs"]["steps"]:
        done = _step(step, values, outside, repository, temp)
        code, log = done.returncode, log + done.stdout + done.stderr
        ran.append(step["id"])
        values |= {f"steps.{step['id']}.outputs.{name}": text for name, text in _outputs(temp).items()}
        if code or step["id"] == last:
            break
    return Outcome(code, log, _outputs(temp), _text(temp / "summary"), ran)


def _outputs(temp: Path) -> dict[str, str]:
    """Read what steps have put out so far."""
    return dict(line.split("=", 1) for line in _text(temp / "output").splitlines())


def _step(
    step: dict[str, Any], values: dict[str, str], outside: dict[str, str], repository: Path, temp: Path
) -> subprocess.CompletedProcess[str]:
    """Run one step as the runner does."""
    assert step["shell"] == "bash"
    script = temp / f"{step['id']}.sh"
    script.write_text(step["run"], "utf-8")
    own = {name: _filled(text, values) for name, text in step["env"].items()}
    added = _text(temp / "path").split()
    path = os.pathsep.join([*reversed(added), outside["PATH"]])
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
        cwd=repository / _filled(step.get("working-directory", "."), values),
        env={**outside, **own, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=WATCHDOG,
    )


def _filled(text: str, values: dict[str, str]) -> str:
    """Fill expressions in; one input may stand for another expression, as a default does."""
    for _ in range(2):
        text = re.sub(r"\$\{\{\s*([\w.-]+)\s*\}\}", lambda found: _value(found[1], values), text)
    return text


def _value(name: str, values: dict[str, str]) -> str:
    """Give what an expression stands for; what a step did not put out is empty."""
    return values.get(name, "") if name.startswith("steps.") else values[name]


def _environment(repository: Path, api: str, temp: Path, event: dict[str, Any] | None) -> dict[str, str]:
    """Set what a runner sets."""
    temp.mkdir(parents=True, exist_ok=True)
    tools = temp / "tools"
    tools.mkdir(exist_ok=True)
    tree = Path(assay.__file__).parents[1]  # the Assay that is tested, wherever another one is installed
    (tools / "assay").write_text(f"#!{sys.executable}\nimport sys\nsys.path.insert(1, {str(tree)!r})\n{_SCRIPT}")
    (tools / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    for name in ("output", "summary", "path"):
        (temp / name).write_text("")
    (temp / "event.json").write_text(json.dumps(event or {}))
    return {
        "PATH": os.pathsep.join([str(tools), os.environ["PATH"]]),
        "HOME": str(temp),
        "ASSAY_CACHE_DIR": str(repository.parent / "cache"),
        "RUNNER_TEMP": str(temp),
        "GITHUB_OUTPUT": str(temp / "output"),
        "GITHUB_STEP_SUMMARY": str(temp / "summary"),
        "GITHUB_PATH": str(temp / "path"),
        "GITHUB_EVENT_PATH": str(temp / "event.json"),
        "GITHUB_WORKSPACE": str(repository),
        "GITHUB_API_URL": api,
        "GITHUB_REPOSITORY": "octo/shop",
        "GITHUB_WORKFLOW": "search",
        "GITHUB_JOB": "gate",
        "GITHUB_SHA": "0123456789abcdef",
    }


def _text(path: Path) -> str:
    """Read a file of the runner."""
    return path.read_text("utf-8")
