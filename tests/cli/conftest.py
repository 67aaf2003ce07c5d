"""What several commands are tried on."""

import pytest

from tests.cli.changing import WORDS, write


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Ten files whose stems say nothing, so that only their words do; two of the queries are for others' eyes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_CACHE_DIR", f"{tmp_path}-cache")  # beside the corpus, as it is for anybody
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("COLUMNS", raising=False)
    (tmp_path / "code").mkdir()
    for at, word in enumerate(WORDS):
        other = WORDS[(at + 1) % len(WORDS)]
        text = f'"""Keeps the {word}."""\n\n\ndef {word}_of({other}):\n    return "{other}", "{other}"\n'
        (tmp_path / "code" / f"thing{at}.py").write_text(text)
    write(tmp_path, ["dev"] * 8 + ["test"] * 2)
    return tmp_path
