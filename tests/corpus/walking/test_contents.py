from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assay.corpus.contents import FileContents, WalkConfig, binary_format, examine
from tests.corpus.conftest import Opener, paths, reasons, write

WALKING = WalkConfig()
ENCODINGS = ("latin-1", "cp1252", "koi8-r", "iso8859-5", "shift_jis", "euc_jp", "gbk", "gb18030", "big5", "euc_kr")

_seeds = st.integers(0, 2**32)


def _noise(seed: int, size: int) -> bytes:
    """Draw bytes as a compressor or a cipher would give them, without NUL."""
    return bytes(random.Random(seed).choices(range(1, 256), k=size))


@given(_seeds, st.integers(400, 8192))  # below 400 bytes chance alone may look like text
@example(1, 100)
def test_binary_without_nul_is_binary(seed: int, size: int) -> None:
    assert binary_format(_noise(seed, size), WALKING)


@given(_seeds, st.integers(400, 2000))
def test_binary_before_or_after_text_is_binary(seed: int, size: int) -> None:
    text = b"x = 1\n" * (size // 6)
    assert binary_format(text + _noise(seed, size), WALKING)
    assert binary_format(_noise(seed, size) + text, WALKING)


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_nul_is_binary_whatever_is_around_it(before: bytes, after: bytes) -> None:
    assert binary_format(before + b"\0" + after, WALKING)


_letters = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\t\n\r\f\x1b"), max_size=300)


@given(_letters, st.sampled_from(ENCODINGS))
@example("naïve café\n" * 30, "latin-1")
@example("日本語の文章\n" * 30, "shift_jis")
@example("日本語の文章\n" * 30, "euc_jp")
@example("中文的文字\n" * 30, "gbk")
@example("中文的文字\n" * 30, "big5")
@example("한국어 문장\n" * 30, "euc_kr")
@example("русский текст\n" * 30, "koi8-r")
def test_text_of_any_encoding_stays_text(text: str, encoding: str) -> None:
    assert binary_format(b"# " + text.encode(encoding, "ignore"), WALKING) is None


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=300), st.integers(0, 3))
def test_utf8_stays_text_whatever_controls_it_holds_and_wherever_it_is_cut(text: str, cut: int) -> None:
    data = b"#" + b" " * cut + b"\x01" * 9 + "€".encode() + text.encode()
    assert binary_format(data, WALKING) is None
    head = WalkConfig(head_bytes=max(1, len(data) - cut))
    assert binary_format(data[: head.head_bytes], head) is None


def test_cut_character_at_the_end_of_a_whole_file_is_not_utf8() -> None:
    assert binary_format(b"#\x01\x01\xe2\x82", WALKING)


@pytest.mark.parametrize("stray", [b"\x1a", b"\x07", b"\x08", b"\x0b"])
def test_latin1_with_a_stray_control_stays_text(stray: bytes) -> None:
    assert binary_format("größe = 1  # naïve\n".encode("latin-1") * 4 + stray, WALKING) is None


def test_contents_are_refused_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "n").write_bytes(_noise(1, 100))
    found = examine(os.fspath(tmp_path / "n"), WALKING)
    assert found == FileContents(reason="binary", detail="control characters, not UTF-8")


def test_walk_leaves_binaries_without_nul_out_and_keeps_foreign_text(tmp_path: Path, opened: Opener) -> None:
    root = write(
        tmp_path / "r",
        {"raw/b.bin": _noise(1, 100), "a.py": "# café\n".encode("latin-1"), "b.py": "# 日本語\n".encode("shift_jis")},
    )
    corpus = opened(root)
    assert paths(corpus) == ["a.py", "b.py"]
    assert reasons(corpus) == {"raw/b.bin": "binary"}
