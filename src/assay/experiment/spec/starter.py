"""The files that `assay init` writes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from assay.corpus import read_text
from assay.errors import CorpusError
from assay.syntax.identifiers import split
from assay.syntax.symbols import symbols
from assay.syntax.text import split_lines
from assay.types import Corpus, SourceFile, Symbol

_CONFIG = """\
# What to measure. Every key with its default; unknown keys are errors.
# extends = "base.toml"     # change what another file says, or "preset:NAME" that ships; also a list
# drop = ["variants.old"]   # take that out of it: a variant, a sweep, a knob, any key by its dotted name
[run]
gold = ["gold.yaml"]        # gold files or folders, relative to this file
# corpus = "."              # only for gold formats that name no corpus (CSV)
# tags = ["difficulty=hard:101-127"]  # tags for rows of a CSV
k = 10                      # results asked for and scored
# forms = ["human"]         # phrasings to ask; all by default
# split = ["dev"]           # parts of a divided set; by default all but the sealed one
# measures = ["nDCG@10", "RR@10", "Hit@5", "R@10", "nDCG(level=lines)@10",
#             "SpanR(iou=0.3)@10", "RecallAtTokens(2000)"]
# primary = "nDCG@10"       # the measure that verdicts are about
baseline = "keywords"       # the engine the others are compared with
# family = ["no-stem", "weights:*"]  # the engines that get a verdict, names or globs; all but the baseline
# cluster = "auto"          # drawn independently: repositories from six up, else intents; or "tag:team"
margin = 0.02               # the smallest difference you would act on
# alpha = 0.05
# seed = 0
# timeout = 60.0            # seconds for one query; a query that takes longer scores worst
# index_timeout = 3600.0    # seconds to open an engine on one corpus
# give_up = 10              # time-outs in a row after which an engine is not asked any more; 0: never
# threads = 0               # processors that every engine has; 0: all there are
# interleave = true         # engines take turns at every question; false: one is open at a time
# times = false             # true: engines take turns and are timed; false: side by side, sharing work
# jobs = 0                  # processes to run side by side in; 0: as many as processors
# tables = ["matrix"]       # beside the usual ones: matrix, bootstrap, forest, ranks, pairs
# references = true         # add random, keywords and oracle: floor, yardstick and ceiling
out = "results"             # records, RESULTS.md, results.json, per-query.csv, report.html

# The engines under test: `assay engines` lists the kinds, and `assay engines builtin` the settings of one.
[engines.builtin]
kind = "builtin"
# per = "file"              # what a result is: a whole file, or a span of lines in it ("span")

# Any command line that prints `path`, `path:line` or JSON:
# [engines.mine]
# kind = "command"
# argv = ["my-search", "--limit", "{k}", "--", "{query}"]

# A variant is an engine with some settings changed, under a name of its own. What it requires and is not there
# makes a skipped row: env:NAME is set, tool:NAME is on the PATH, extra:NAME of Assay is installed.
# [variants.no-stem]
# engine = "builtin"
# set = { "search.without" = ["stem"] }
# requires = ["tool:git"]

# A sweep is many variants: way = "grid", "one-at-a-time" or "leave-one-out" (with parts instead of knobs).
# [sweeps.weights]
# engine = "builtin"
# way = "grid"
# knobs = { "search.stem.files" = [0.2, 0.4], "search.stem.spans" = [0.1, 0.3] }
# name = "weights:{files},{spans}"   # by default SWEEP:key=value,key=value
# requires = ["tool:git"]

# An engine that is a template is there to be varied and does not run itself.
# [engines.centre]
# kind = "builtin"
# per = "span"
# template = true
# requires = ["tool:git"]
# [sweeps.ablation]
# engine = "centre"
# way = "leave-one-out"
# parts = { stem = { "search.without" = ["stem"] }, scope = { "search.without" = ["scope"] } }
# name = "without {part}"

# What `assay tune` tries, on dev queries only.
# [tune]
# engine = "builtin"
# knobs = { "search.stem.files" = [0.0, 0.2, 0.4] }
# partitions = 20           # random halvings of the data
# measure = "nDCG@10"       # what is maximised; by default the primary measure
# most = 500                # points that a grid may have

# Where changes are written down (`assay ablate`, `tune` and `ledger`), and the rule that accepts them.
# [ledger]
# file = "ledger.jsonl"
# rule = "significant"      # or "seed-001", or a table of what a rule asks for

# What report.html holds.
# [report]
# max_size = "3MB"          # the most that it may have
# source = true             # false: no line of source
# traces = 40               # queries of the builtin engine that are traced after a run

# What `assay search` and its kin do in this folder; `assay search --show-config` prints every setting.
# [search.stem]
# files = 0.5

# Any Python function (query, k) or (query) that returns paths:
# [engines.ours]
# kind = "python"
# target = "our_search:search"
"""

_HEAD = """\
# Gold: what counts as right. One entry is one intent in up to five phrasings.
# The drafts below are real places in this repository; the questions are placeholders. For each one:
#   1. rewrite `human` as somebody who does not know the code would ask it, without the names in it;
#   2. add `keyword` (two to five words) and, if you like, ai_optimized and wrong_terminology;
#   3. name under `interference` the file people would wrongly open;
#   4. delete the `status: draft` tag.
# Thirty intents are the least that says anything: every table warns below that.
"""

_DRAFTS = 5
#: A definition worth a question: long enough to hold a decision, short enough to be one answer.
_LINES = range(8, 121)


_TEST_FILE = re.compile(r"^test_|^tests?\.\w+$|[_.-](?:tests?|spec)\.\w+$|^__tests__$")
_TEST_WORDS = (("test",), ("tests",))
#: What marks a test that is not called one: Rust's #[test], #[tokio::test] and #[cfg(test)], Java's @Test.
_MARK = re.compile(r"#\[(?:cfg\(test\)|(?:\w+::)*test\b)|@(?:\w+\.)*Test\b")


@dataclass(frozen=True, slots=True)
class _Draft:
    """A place worth asking about."""

    anchor: str
    words: str
    lines: int


def starter_config() -> str:
    """Give the commented assay.toml."""
    return _CONFIG


def starter_gold(corpus: Corpus) -> tuple[str, tuple[str, ...]]:
    """Give the text of a first gold file, and the anchors of its drafts."""
    drafts = _pick(corpus)
    if not drafts:
        raise CorpusError("no source file to ask about", file=corpus.root, hint="run it in a folder that holds code")
    parts = [_HEAD, "assay: 1", f"name: {_quoted(_name(corpus))}", "corpus: {path: .}", "queries:"]
    parts += [_entry(number, draft) for number, draft in enumerate(drafts, start=1)]
    return "\n".join(parts) + "\n", tuple(d.anchor for d in drafts)


def _pick(corpus: Corpus) -> list[_Draft]:
    """Choose five places from different files: definitions where the parser knows the language, files elsewhere.

    No two are asked about in the same words: no engine could answer both.
    """
    sources = [f for f in corpus.files if f.kind == "code" and not _is_test(f.path)] or list(corpus.files)
    best = sorted((_best(corpus, f) for f in sources), key=lambda d: (-d.lines, d.anchor))
    known = [d for d in best if "::" in d.anchor]
    chosen: dict[str, _Draft] = {}
    for draft in (*known, *(d for d in best if d not in known)):
        chosen.setdefault(draft.words, draft)
    return list(chosen.values())[:_DRAFTS]


def _best(corpus: Corpus, file: SourceFile) -> _Draft:
    found = sorted(_definitions(corpus, file), key=lambda d: (-d.lines, d.anchor))
    stem = re.sub(r"\.\w+$", "", file.path.rpartition("/")[2])
    return found[0] if found else _Draft(file.path, " ".join(split(stem)) or stem, 0)


def _definitions(corpus: Corpus, file: SourceFile) -> Iterator[_Draft]:
    text = read_text(corpus, file.path)
    found = symbols(file.path, text, file.language)
    tests = _tests(found, text)
    repeated = {name for name, number, _ in (one.name.partition("~") for one in found) if number}  # which one is meant?
    for symbol in found:
        length = symbol.end - symbol.start + 1
        private = any(part.startswith("_") for part in symbol.name.split("."))
        again = symbol.name.partition("~")[0] in repeated
        tested = any(test.start <= symbol.start and symbol.end <= test.end for test in tests)
        if symbol.kind in ("function", "method") and length in _LINES and not (private or tested or again):
            yield _Draft(f"{file.path}::{symbol.name}", " ".join(split(symbol.name.rpartition(".")[2])), length)


def _tests(found: Sequence[Symbol], text: str) -> list[Symbol]:
    lines = split_lines(text)
    return [one for one in found if _is_test_name(one.name) or any(map(_MARK.match, _head(lines, one)))]


def _is_test_name(name: str) -> bool:
    return split(name.rpartition(".")[2])[:1] in _TEST_WORDS


def _head(lines: Sequence[str], symbol: Symbol) -> Iterator[str]:
    inside = (line.strip() for line in lines[symbol.start - 1 : symbol.end])
    return takewhile(lambda line: not line or line.startswith(("#", "@", "/", "*")), inside)


def _is_test(path: str) -> bool:
    names = ("test", "tests", "testing", "conftest.py")
    return any(part in names or _TEST_FILE.search(part) for part in path.split("/"))


def _entry(number: int, draft: _Draft) -> str:
    return (
        f"  - id: draft-{number}\n"
        f"    retrieval: {{primary: [{_quoted(draft.anchor)}]}}\n"
        f"    cognitive:\n"
        f"      human: {_quoted(f'where is {draft.words} decided?')}\n"
        f"    tags: {{status: draft}}"
    )


def _name(corpus: Corpus) -> str:
    return corpus.root.resolve().name or "gold"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
