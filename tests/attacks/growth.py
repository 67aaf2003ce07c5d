"""Time per byte of indexing hostile files, relative to ordinary code of the same language, for every grammar.

python -m tests.attacks.growth [--size BYTES] [--share N] [--jobs N] [GRAMMAR ...]

Every input is analyzed in a forked process. `PYTHONPATH` selects another version of Assay. `--share 10` takes a tenth
of the inputs, by seed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import resource
import select
import signal
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

if __name__ == "__main__":  # before numpy is imported: a process with threads does not fork
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    sys.path.insert(0, str(Path(__file__).parents[2]))

from assay.corpus.file_types import detect_type
from assay.search.analysis import analyze
from assay.search.chunking import SourceText
from assay.search.config import IndexConfig
from assay.syntax.parsing import GRAMMARS, PARSING, grammar_name, load_grammar, parse
from tests.search.samples import SAMPLES

KINDS: Final = ("tokens", "nesting", "line", "random")
#: The bound of time per byte over that of ordinary code.
MOST: Final = 20.0
#: An input is given up after this multiple of the bound.
PATIENCE: Final = 2
#: Inputs that every measurement tries.
_ALWAYS: Final = frozenset({repr("$"), repr("$ a "), "words", "letters", "code", "tokens 0"})
_SIGNS: Final = "()[]{}<>;:,.=+-*/!?&|^%$#@'\"\\ \n"
#: Parts of names in the samples, not of keywords.
_NAMES: Final = re.compile(r"[Ii]tem|otal|rice|idth|creen|oney|ents|plus|asket|art\b|dd\b")
#: What may only be at the beginning of a file.
_FIRST: Final = re.compile(
    r"<\?php\n|^package .*\n\nimport java.time.LocalDate\n|import 'dart:math';|module Money where"
)


class Input(NamedTuple):
    kind: str
    name: str
    text: str


class Growth(NamedTuple):
    grammar: str
    tries: int
    ordinary: float  # seconds per byte
    worst: dict[str, tuple[float, str]]  # kind -> ratio and input
    over: tuple[tuple[float, str, str], ...]  # ratio, kind and input of all above the bound


def sample_path(grammar: str) -> str:
    for path, text in SAMPLES.items():
        if grammar_name(path, detect_type(path, b"").language, text) == grammar:
            return path
    raise KeyError(grammar)


def ordinary(grammar: str, size: int) -> str:
    """Return ordinary code: the sample with other names and numbers, again and again."""
    sample = SAMPLES[sample_path(grammar)].removesuffix("\nreturn M\n")
    parts, total, number = [], 0, 0
    while total < size:
        number += 1
        digest = hashlib.sha256(str(number).encode()).hexdigest()  # so that it compresses like code
        part = _NAMES.sub(rf"\g<0>{digest[:32]}", _FIRST.sub("", sample) if number > 1 else sample)
        part = part.replace("10", str(number))
        parts.append(part)
        total += len(part)
    code = "[" + ",".join(parts) + "]" if grammar == "json" else "\n".join(parts)
    if not isinstance(tree := parse(code.encode(), grammar, PARSING), str) and not tree.root_node.has_error:
        return code
    raise ValueError(f"the parser rejects the ordinary code of {grammar}")


def tokens_of(grammar: str) -> list[str]:
    """Return all literal tokens of a grammar."""
    language = load_grammar(grammar).parser.language
    assert language is not None
    found = set()
    for number in range(language.node_kind_count):
        if language.node_kind_is_visible(number) and not language.node_kind_is_named(number):
            found.add(language.node_kind_for_id(number) or "")
    return sorted(found - {""} | {"$", "\\", '"', "'", "`", "/*", "//", "#", "<!--", "@", "<?", "é", "\t", "<<A\n"})


def inputs(grammar: str, size: int, seed: int) -> Iterator[Input]:
    draw = random.Random(f"{grammar} {seed}")
    tokens = tokens_of(grammar)

    def numbered(before: str, after: str) -> str:
        parts, total, number = [], 0, 0
        while total < size:
            part = f"{before}{number}{after}"
            parts.append(part)
            total += len(part)
            number += 1
        return "".join(parts)

    def filled(unit: str) -> str:
        return unit * (size // max(len(unit), 1) + 1)

    for token in tokens:
        yield Input("tokens", repr(token), filled(token))
        yield Input("tokens", repr(token + " a "), filled(token + " a "))
        yield Input("tokens", repr(token + " aN "), numbered(token + " a", " "))
        yield Input("tokens", repr(token + "aN newline"), numbered(token + "a", "\n"))
        yield Input("tokens", repr("(aN) " + token), numbered("(a", ") " + token))
    for count in (2, 3, 4):
        for _ in range(20):
            chosen = draw.choices(tokens, k=count)
            yield Input("tokens", repr(chosen), numbered(" ".join(chosen) + " a", " "))
    opening = [
        ("(", ")"),
        ("[", "]"),
        ("{", "}"),
        ("<", ">"),
        ("a(", ")"),
        ("if (a) {", "}"),
        ("a[", "]"),
        ("{a:", "}"),
    ]
    opening += [("<a>", "</a>"), ("begin ", " end"), ("do ", " end"), ("(a => ", ")"), ("f(function(){", "})")]
    opening += [("a ? b : (", ")"), ("- ", ""), ("! ", ""), ("not ", ""), ("a.", ""), ("a + ", ""), ("a, ", "")]
    opening += [("else if (a) {} ", ""), ("List<", ">"), ("${", "}"), ('"#{', '}"'), ("/* ", " */"), ("{- ", " -}")]
    for begin, end in opening:
        for depth in (900, 5_000, size // (len(begin) + len(end))):
            # beyond `depth`, the nesting begins anew
            unit = begin * depth + "a" + end * depth + "\n"
            yield Input("nesting", f"{begin!r} {depth}", filled(unit)[:size] if len(unit) > size else filled(unit))
            yield Input("nesting", f"{begin!r} {depth} open", filled(begin * depth + "a\n")[:size])
        yield Input("nesting", f"{begin!r} aN", numbered(begin + "a", " "))
    for indent in (" ", "  ", "\t"):
        for step in ("a:\n", "- a\n", "if a:\n", "x\n", "else\n", "- - a: b\n"):
            rows, total, deep = [], 0, 0
            while total < size:
                rows.append(indent * (deep % 300) + step)
                total += len(rows[-1])
                deep += 1
            yield Input("nesting", f"{indent!r} {step!r}", "".join(rows))
    code = ordinary(grammar, size)
    yield Input("line", "code", code.replace("\n", " "))
    yield Input("line", "code and ;", code.replace("\n", ";"))
    for name, text in {
        "letters": filled("x"), "digits": filled("1"), "string": '"' + filled("x") + '"', "blanks": filled(" "),
        "escapes": '"' + filled("\\n") + '"', "words": numbered("a", " "), "calls": numbered("f", "(x); "),
        "sum": numbered("a", " + "), "list": numbered("a", ", "), "camel": numbered("aB", ""),
        "path": numbered("a", "/"),
        "assign": numbered("a", " = 1; "), "comment": "/* " + filled("x ") + "*/", "hash": "# " + filled("x "),
        "dashes": filled("-"), "unicode": filled("é日"), "dots": filled("a."), "keys": numbered('"a', '": 1, '),
    }.items():  # fmt: skip
        yield Input("line", name, text)
    for number in range(4):
        raw = draw.randbytes(size)
        yield Input("random", f"latin {number}", raw.decode("latin-1"))
        yield Input("random", f"printable {number}", "".join(chr(32 + byte % 95) for byte in raw))
        yield Input("random", f"lines {number}", "".join(chr(32 + b % 95) if b % 20 else "\n" for b in raw))
        yield Input("random", f"punctuation {number}", "".join(_SIGNS[byte % len(_SIGNS)] for byte in raw))
        yield Input("random", f"tokens {number}", " ".join(draw.choices(tokens, k=size // 4))[:size])
        words = draw.choices([*tokens, "a", "b1", "0", '"s"', "\n"], k=size // 3)
        yield Input("random", f"tokens, names and lines {number}", " ".join(words)[:size])
        torn = bytearray(code.encode())
        for _ in range(len(torn) // 20):
            torn[draw.randrange(len(torn))] = draw.randrange(32, 127)
        yield Input("random", f"torn code {number}", torn.decode("utf-8", "replace"))


def seconds(grammar: str, text: str, times: int = 1, patience: float = 60.0) -> float:
    """Return the CPU time of analyzing a text in a forked process, or `patience` if that takes longer."""
    path = sample_path(grammar)
    kind = detect_type(path, b"")
    source = SourceText(path, text, kind.kind, kind.language)
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        best = patience
        try:
            for _ in range(times):
                begin = _spent()
                analyze([source], IndexConfig())
                best = min(best, _spent() - begin)
            os.write(write, repr(best).encode())
        finally:
            os._exit(0)
    os.close(write)
    end = time.monotonic() + 60 * patience  # a busy machine
    try:
        while not select.select([read], [], [], 0.25)[0]:
            if time.monotonic() > end or _used(child) > patience:
                return patience
        data = os.read(read, 100)
        return float(data) if data else float("inf")  # it crashed
    finally:
        os.close(read)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _spent() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _used(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(grammar: str, size: int, share: int = 1, seed: int = 1) -> Growth:
    load_grammar(grammar)
    code = ordinary(grammar, size)
    path = sample_path(grammar)
    analyze([SourceText(path, SAMPLES[path], "code", detect_type(path, b"").language)], IndexConfig())  # load it all
    base = seconds(grammar, code, 3) / len(code.encode())
    worst = dict.fromkeys(KINDS, (0.0, ""))
    over: list[tuple[float, str, str]] = []
    tries = 0
    for kind, name, text in inputs(grammar, size, seed):
        if name not in _ALWAYS and zlib.crc32(f"{seed} {grammar} {name}".encode()) % share:
            continue
        tries += 1
        length = len(text.encode("utf-8", "replace"))
        unit = base * length
        ratio = seconds(grammar, text, patience=PATIENCE * MOST * unit) / unit
        if MOST < ratio < PATIENCE * MOST:  # once more, without the disturbance of other programs
            ratio = min(ratio, seconds(grammar, text, patience=PATIENCE * MOST * unit) / unit)
        if ratio > MOST:
            over.append((ratio, kind, name))
        if ratio > worst[kind][0]:
            worst[kind] = (ratio, name)
    return Growth(grammar, tries, base, worst, tuple(sorted(over, reverse=True)))


def format_table(rows: list[Growth]) -> str:
    lines = ["| grammar | tries | ordinary µs/byte | " + " | ".join(KINDS) + " | above 20 | worst input |"]
    lines.append("|---|--:|--:|" + "--:|" * len(KINDS) + "--:|---|")
    for row in rows:
        cells = " | ".join(f"{row.worst[kind][0]:.1f}" for kind in KINDS)
        name = max(row.worst.values())[1].replace("|", "\\|").replace("`", "'")
        lines.append(
            f"| {row.grammar} | {row.tries} | {row.ordinary * 1e6:.2f} | {cells} | {len(row.over)} | `{name}` |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("grammars", nargs="*", default=list(GRAMMARS), metavar="GRAMMAR")
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--share", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    parser.add_argument("--detail", action="store_true", help="list all inputs above the bound")
    args = parser.parse_args()
    rows = []
    for grammar in args.grammars:
        begin = time.monotonic()
        rows.append(measure(grammar, args.size, args.share, args.seed))
        print(f"{grammar}: {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
        if args.detail:
            for ratio, kind, name in rows[-1].over:
                print(f"  {ratio:6.1f} {kind:8} {name}", file=sys.stderr, flush=True)
    if args.json:
        print(json.dumps([{**row._asdict(), "worst": dict(row.worst)} for row in rows]))
    else:
        print(format_table(rows))


if __name__ == "__main__":
    main()
