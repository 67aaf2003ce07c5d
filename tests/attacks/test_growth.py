"""Time per byte of indexing hostile files stays within 20 times that of ordinary code, in every language."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assay.syntax.parsing import GRAMMARS
from tests.attacks.outside import Attack


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_growth(grammar: str, attack: Attack, request: pytest.FixtureRequest) -> None:
    share = os.environ.get("ASSAY_SHARE", "40")
    done = subprocess.run(
        [sys.executable, "-m", "tests.attacks.growth", grammar, "--share", share, "--json"],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True,
    )  # fmt: skip
    row: dict[str, Any] = json.loads(done.stdout)[0]
    request.node.user_properties.append(("growth", row))
    for _ in range(row["tries"] - len(row["over"])):
        attack.expect(True, "")
    for ratio, kind, name in row["over"]:
        attack.expect(False, f"{grammar} {kind} {name}: {ratio:.0f} times the time of ordinary code")
