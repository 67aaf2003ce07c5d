from __future__ import annotations

from pathlib import Path

import pytest

from assay.corpus import open_corpus
from assay.corpus.opening import corpus_digest
from assay.errors import CorpusError
from assay.types import CorpusSpec
from tests.corpus.conftest import Opener, paths, write


def test_walk_gives_the_same_digest_anywhere(tmp_path: Path, opened: Opener) -> None:
    names = ["b.py", "a/c.py", "a.py", "ä.py", "Z.py", "a-b.py"]
    one = write(tmp_path / "one", {name: name for name in names})
    two = write(tmp_path / "else" / "two", {name: name for name in reversed(names)})
    first, second = opened(one), opened(two)
    assert first.digest == second.digest
    assert paths(first) == sorted(names)
    (two / "a.py").rename(two / "a2.py")
    assert opened(two).digest != first.digest
    (one / "a.py").write_text("changed")
    assert opened(one).digest != first.digest


def test_digest_does_not_confuse_names_with_contents() -> None:
    assert corpus_digest({"a": "1" * 64, "b": "2" * 64}) != corpus_digest({"a\n": "1" * 64, "b": "2" * 64})
    assert corpus_digest({"b": "2" * 64, "a": "1" * 64}) == corpus_digest({"a": "1" * 64, "b": "2" * 64})


@pytest.mark.parametrize(
    "spec",
    [
        CorpusSpec("path", "nowhere"),
        CorpusSpec("path", "a.py"),
        CorpusSpec("path", "empty"),
        CorpusSpec("path", ".", include=("*.nothing",)),
        CorpusSpec("path", ".", root="nowhere"),
        CorpusSpec("path", "empty", root=".."),
        CorpusSpec("path", ".", root="/etc"),
        CorpusSpec("path", ".", root="out"),
        CorpusSpec("path", ".", rev="v1"),
        CorpusSpec("path", "a\0b"),
        CorpusSpec("nonsense", "x"),  # type: ignore[arg-type]
    ],
)
def test_open_corpus_refuses_bad_input_with_a_next_step(spec: CorpusSpec, tmp_path: Path) -> None:
    base = write(tmp_path / "base", {"a.py": "1"})
    (base / "empty").mkdir()
    (base / "out").symlink_to("/etc")
    with pytest.raises(CorpusError) as caught:
        open_corpus(spec, base=base, cache=tmp_path / "c")
    assert caught.value.hint
    assert caught.value.exit_code == 2
