"""Attacks from outside, through commands, HTTP and stdio only; the run ends with a table: attack, tries, failures.

With ASSAY_ATTACKS=docs/how-we-know/attacks.json the table is added to that file, of which `make docs` makes a page.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.attacks.outside import Attack, World, make_world


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.soak)


@pytest.fixture
def attack(request: pytest.FixtureRequest) -> Iterator[Attack]:
    """Count tries and failures of a test; the test fails at its end if a try did."""
    attack = Attack()
    yield attack
    request.node.user_properties.append(("attack", [request.node.name, attack.tries, attack.failures]))
    assert attack.tries, "an attack that tried nothing shows nothing"
    assert not attack.failures, "\n".join(attack.failures[:20])


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A repository with a gold set, a home and a cache of its own."""
    return make_world(tmp_path)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    rows: dict[str, tuple[int, int]] = {}
    growth: dict[str, Any] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == "attack" and report.when == "teardown":
                    rows[value[0].removeprefix("test_").replace("_", " ")] = (value[1], len(value[2]))
                if name == "growth" and report.when == "teardown":
                    growth[value["grammar"]] = value
    if rows:
        if path := os.environ.get("ASSAY_ATTACKS"):
            _add_to_file(Path(path), rows, growth)
        width = max(map(len, rows))
        terminalreporter.section("attacks")
        terminalreporter.write_line(f"{'attack':{width}}   tries  failures")
        for name, (tries, failures) in sorted(rows.items()):
            terminalreporter.write_line(f"{name:{width}}  {tries:6,}  {failures:8,}")


def _add_to_file(path: Path, rows: dict[str, tuple[int, int]], growth: dict[str, Any]) -> None:
    """Add the rows with their commit to the figures."""
    done = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True, check=True)
    old = json.loads(path.read_text()) if path.exists() else {}
    commit = done.stdout.strip()
    counts = {name: [*row, commit] for name, row in rows.items() if not name.startswith("growth[")}
    figures = {
        **old,
        "attacks": dict(sorted({**old.get("attacks", {}), **counts}.items())),
        "growth": dict(sorted({**old.get("growth", {}), **growth}.items())),
    }
    if growth:
        figures["growth commit"] = commit
    path.write_text(json.dumps(figures, indent=1) + "\n")
