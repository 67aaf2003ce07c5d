from __future__ import annotations

from pathlib import Path

import pytest

from assay.corpus.unpack import ArchiveLimits, TreeWriter
from assay.errors import CorpusError


def test_writer_never_writes_through_what_is_already_there(tmp_path: Path) -> None:
    """As on a file system that folds case, where `a` may turn out to be the link `A`."""
    writer = TreeWriter(tmp_path / "out", source="x", limits=ArchiveLimits())
    (tmp_path / "victim").write_text("safe")
    (tmp_path / "out" / "a").symlink_to(tmp_path / "victim")
    (tmp_path / "out" / "d").symlink_to(tmp_path)
    for name in ("a", "d/victim"):
        with pytest.raises(CorpusError):
            writer.add_file(name, [b"evil"])
    assert (tmp_path / "victim").read_text() == "safe"


@pytest.mark.parametrize("error", [CorpusError("no"), OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_writer_keeps_all_or_nothing(error: BaseException, tmp_path: Path) -> None:
    def fill() -> None:
        with TreeWriter(tmp_path / "out", source="x", limits=ArchiveLimits()) as writer:
            writer.add_file("d/e/a.py", [b"1"])
            writer.add_link("l", "d")
            writer.finish(outside_links=False)
            raise error

    with pytest.raises(type(error)):
        fill()
    assert list(tmp_path.iterdir()) == []


def test_writer_does_not_remove_what_was_there_before(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("1")
    with pytest.raises(FileExistsError), TreeWriter(tmp_path / "out", source="x", limits=ArchiveLimits()):
        pass
    assert (tmp_path / "out" / "mine").read_text() == "1"
