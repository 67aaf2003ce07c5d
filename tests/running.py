"""Run an experiment as a user does, with an assay.toml and `assay run`."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.cli.main import main


def run_experiment(config: str, folder: Path, out: Path) -> None:
    """Write an assay.toml to a directory and run it, with the cache in the same directory."""
    (folder / "assay.toml").write_text(config, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_CACHE_DIR", str(folder / "cache"))
        assert main(["run", "--config", str(folder / "assay.toml"), "--out", str(out), "--quiet"]) == 0
