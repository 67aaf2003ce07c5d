"""Attacks from outside, through commands, HTTP and stdio only; the run ends with a table: attack, tries, failures."""

from __future__ import annotations

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
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == "attack" and report.when == "teardown":
                    rows[value[0]] = (value[1], len(value[2]))
                if name == "growth" and report.when == "teardown":
                    terminalreporter.write_line(value)
    if rows:
        width = max(map(len, rows))
        terminalreporter.section("attacks")
        terminalreporter.write_line(f"{'attack':{width}}   tries  failures")
        for name, (tries, failures) in sorted(rows.items()):
            terminalreporter.write_line(f"{name:{width}}  {tries:6,}  {failures:8,}")
