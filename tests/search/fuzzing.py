"""Sources that are none: made by seed, indexed in a process of its own, which says what that took and what it skipped.

python -m tests.search.fuzzing FOLDER SEED broken|soup|torn|shapes|long|plain
"""

from __future__ import annotations

import json
import random
import resource
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from assay.search import Index
from tests.search.conftest import write_files
from tests.search.samples import SAMPLES

_SOUP = [
    *"()[]{}<>'\"`\\#;:,.=?!@$%&|~^+-*/\n\t \ré日", "/*", "*/", "//", "--", "=>", "->", "::", "\n    ", "a", "x1", "0",
    "1.5", "def ", "class ", "fn ", "func ", "if ", "else ", "do ", "end ", "let ", "in ", "match ", "case ", "return ",
    "import ", "<<EOF\n", "EOF\n", '"""', "'''", "${", "#{", "\\(", 'r#"', 'R"(', "%w(", "=begin\n", "{-", "-}",
    "<?php ", "<div>", "</div>", "<script>", "- ", "? ", "| \n", "&a ", "*a ", "---\n", "key: ", "[[", "[=[", "#if x\n",
    "#define A \\\n", "@doc ", "~s(", "SELECT ", "$$", 'f"{', "\ufeff", "\u2028",
]  # fmt: skip


def broken(draw: random.Random) -> Iterator[tuple[str, bytes]]:
    """A short soup and a torn sample of each language."""
    yield from ((path, data[:400]) for path, data in soup(draw) if path.startswith("soup/a_"))
    yield from (one for number, one in enumerate(torn(draw)) if number % 3 == number // 3 % 3)


def soup(draw: random.Random) -> Iterator[tuple[str, bytes]]:
    """Tokens of every language, at random or over and over, under the name of each."""
    for path in SAMPLES:
        chosen = draw.choices(_SOUP, k=draw.randint(2, 9))
        yield f"soup/a_{path}", "".join(draw.choices(_SOUP, k=3000)).encode()
        yield f"soup/b_{path}", "".join(draw.choices(chosen, k=2000)).encode()
        yield f"soup/c_{path}", ("".join(draw.choices(_SOUP, k=3)) * 1500).encode()


def torn(draw: random.Random) -> Iterator[tuple[str, bytes]]:
    """Samples cut at a random byte, or with bytes of one knocked out."""
    for path, text in SAMPLES.items():
        data = text.encode()
        yield f"torn/a_{path}", data[: draw.randrange(len(data))]
        yield f"torn/b_{path}", data[draw.randrange(len(data)) :]
        holes = {draw.randrange(len(data)) for _ in range(8)}
        yield f"torn/c_{path}", bytes(255 if n in holes else byte for n, byte in enumerate(data))


def shapes(draw: random.Random) -> Iterator[tuple[str, bytes]]:
    """Give files of every awkward size, depth and encoding."""
    ends = ("py", "js", "json", "c", "cpp", "cs", "java", "rs", "go", "yaml", "html", "md", "txt", "swift", "ex")
    for end in ends:
        yield f"deep/brackets.{end}", b"[" * 10_000
        yield f"deep/closed.{end}", b"(" * 900 + b")" * 900
        yield f"deep/generics.{end}", b"a<" * 3_000
        yield f"deep/letters.{end}", b"x" * 50_000
    yield "deep/blocks.js", b"function f() {\n" * 2_000 + b"}\n" * 2_000
    yield "deep/blocks.c", b"int f() {" + b"{\n" * 2_000 + b"}\n" * 2_000 + b"}"
    yield "deep/fewer.go", b"package p\nfunc f() {" + b"if x {\n" * 900 + b"}\n" * 900 + b"}"
    yield "deep/blocks.py", b"".join(b" " * n + b"if x:\n" for n in range(1000)) + b" " * 1000 + b"pass\n"
    yield "deep/levels.yaml", b"".join(b" " * n + b"k:\n" for n in range(400))
    yield "deep/dashes.yaml", b"- " * 2_000
    yield "deep/tags.html", b"<div>" * 2_000 + b"</div>" * 2_000
    yield "deep/comments.swift", b"/*" * 5_000
    yield "deep/hashes.swift", b"#" * 70_000
    yield "rows/newlines.py", b"\n" * 300_000
    yield "rows/nothing.py", b""
    yield "rows/unended.py", b"cart = 1"
    yield "code/bom.py", b"\xef\xbb\xbfdef with_mark():\n    pass\n"
    yield "code/latin.py", "größe = 'für'\n".encode("latin-1")
    yield "code/japanese.py", "# 日本語\nx = 1\n".encode("shift-jis")
    yield "code/wide.py", "x = 1\n".encode("utf-16")
    yield "code/mixed.py", "größe = 1\n".encode() + "größe = 2\n".encode("latin-1")
    yield "code/returns.py", b"def one():\r    return 1\rdef two():\r    return 2\r"
    yield "code/late_nul.py", b"x = 1\n" * 2_000 + b"\0\0\n" + b"y = 2\n"
    yield "code/random.py", bytes(draw.randrange(256) for _ in range(20_000))
    yield "code/high.py", bytes(draw.randrange(128, 256) for _ in range(5_000))
    yield "code/elf.py", b"\x7fELF" + bytes(5_000)


def long(draw: random.Random) -> Iterator[tuple[str, bytes]]:
    """Give files that are as long as files may be, in one line or in very many."""
    for end in ("py", "json", "cpp", "md"):
        yield f"line/letters.{end}", b"x" * 990_000
    yield "line/calls.js", b"f(x);" * 190_000
    yield "line/keys.json", b'{"k":[' + b'{"a":1},' * 110_000 + b"{}]}"
    yield "line/comments.js", b"/**/" * 200_000
    yield "line/functions.js", b"/* a */\n" * 20_000 + b"function f(){}" * 50_000
    yield "line/defs.json", b"{" + b",".join(b'"k%d":1' % n for n in range(80_000)) + b"}"
    yield "line/over.txt", b"word " * 1_000_000
    yield "rows/numbers.py", b"T = [\n" + b"1,\n" * 300_000 + b"]\n"


def plain(draw: random.Random) -> Iterator[tuple[str, bytes]]:
    """Ordinary source files: what the time of odd ones is compared with."""
    for path, text in SAMPLES.items():
        yield f"plain{draw.randrange(10**9)}/{path}", text.encode()


def write_huge(place: Path, size: int) -> None:
    """Make a file that is as long and takes no space; it begins as text."""
    with open(place, "wb") as stream:
        stream.write(b"x = 1\n" * 2_000)
        stream.truncate(size)


_KINDS = {"broken": broken, "soup": soup, "torn": torn, "shapes": shapes, "long": long, "plain": plain}


def main() -> None:
    """Index, ask, report."""
    folder, seed, what = sys.argv[1:]
    files: Mapping[str, bytes] = dict(_KINDS[what](random.Random(int(seed))))
    root = write_files(Path(folder), files)
    if what == "shapes":
        write_huge(root / "huge.py", 200_000_000)
    begin, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    index = Index.build(root, workers=1)
    for query in ("cart total", "x", "", "größe"):
        for per in ("file", "span"):
            index.search(query, 20, per=per)
    report = {
        "seconds": time.process_time() - begin + resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime,
        "megabytes": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024,
        "indexed": len(index.table.files),
        "skipped": {one.path: [one.reason, one.detail] for one in index.skipped},
        "problems": {p: why for p, why in zip(index.table.files.paths, index.table.files.problems, strict=True) if why},
        "largest": max(map(len, files.values())),
        "written": len(files) + (what == "shapes"),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
