from __future__ import annotations

from pathlib import Path

import pytest

from assay.corpus import open_corpus, parse_spec
from assay.errors import SetupError
from tests.corpus.conftest import paths, write
from tests.timing import fastest


def test_stdlib_opens_without_installed_packages(tmp_path: Path) -> None:
    corpus = open_corpus(parse_spec("stdlib"), cache=tmp_path)
    listed = set(paths(corpus))
    assert {"json/encoder.py", "os.py", "asyncio/base_events.py"} <= listed
    assert not any(path.startswith(("site-packages/", "dist-packages/")) or "__pycache__" in path for path in listed)
    assert not any(path.endswith((".so", ".pyc")) for path in listed)
    assert corpus.revision is not None


@pytest.mark.soak
def test_stdlib_opens_as_fast_as_its_files_are_listed(tmp_path: Path) -> None:
    corpus = open_corpus(parse_spec("stdlib"), cache=tmp_path)
    listing = fastest(lambda: [path.stat() for path in Path(corpus.root).rglob("*.py")])
    assert fastest(lambda: open_corpus(parse_spec("stdlib"), cache=tmp_path)) < 4 * listing


def test_stdlib_reports_missing_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = write(tmp_path / "lib", {"os.py": "1", "test/support/__init__.py": "1", "site-packages/x.py": "1"})
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(library))
    corpus = open_corpus(parse_spec("stdlib"), cache=tmp_path)
    assert paths(corpus) == ["os.py", "test/support/__init__.py"]
    assert any("has no complete test/ package" in note for note in corpus.notes)
    write(library, {"test/test_support.py": "1"})  # Debian leaves this one
    assert open_corpus(parse_spec("stdlib"), cache=tmp_path).notes
    write(library, {f"test/test_{number}.py": "1" for number in range(60)})
    assert not open_corpus(parse_spec("stdlib"), cache=tmp_path).notes
    (library / "os.py").unlink()
    with pytest.raises(SetupError, match="no standard library"):
        open_corpus(parse_spec("stdlib"), cache=tmp_path)
