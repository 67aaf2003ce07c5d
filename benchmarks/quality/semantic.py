"""Search by meaning: the default with a contextual encoder beside it. `python -m benchmarks semantic`.

ASSAY_BENCH_ENCODER   the encoder, as `dense.encoder` names it               default minilm
ASSAY_BENCH_DELTA     another encoder to compare: the same with a delta      default none
ASSAY_BENCH_LAZY      1: lazy mode alone (full mode encodes the 45,000 chunks of the standard library)
ASSAY_BENCH_PARTS     the sets to ask, separated by semicolons               default all
"""

from __future__ import annotations

import os
import resource
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np

from assay.corpus import open_corpus
from assay.engines.base import SharedCache
from assay.engines.builtin import BuiltinEngine
from assay.errors import ConfigError
from assay.experiment.execution import run
from assay.scoring import score
from assay.search import Index, SearchConfig
from assay.search.dense import passage_text
from assay.search.embedders import EmbedderConfig, make_embedder
from assay.search.encoder import resolve_encoder
from assay.search.query import parse_query
from assay.stats.records import ComparisonRow
from assay.store.store import Store
from assay.types import Corpus, GoldSet, Query, Scores, Suite
from benchmarks.pages import Section, Unavailable, difference_text, table
from benchmarks.quality.measuring import Asking, by_repository, chosen, differences, housed, joined
from benchmarks.quality.pool import (
    CODE,
    DOCS,
    STDLIB,
    SYNTHETIC,
    VISIBLE,
    Source,
    octocode_sources,
    stdlib_source,
    synthetic_sources,
    visible_sources,
)
from benchmarks.quality.sources import visible
from benchmarks.quality.synthetic import reported
from benchmarks.quality.variants import SharedEngine, Shelves, Variant, configure, variant

DEFAULT: Final = "default"
LAZY: Final = "+ encoder, lazy"
FULL: Final = "+ encoder, full"
DELTA: Final = "+ encoder with delta, lazy"
DELTA_FULL: Final = "+ encoder with delta, full"
#: The share of a query's stems that its target may have in the stratum "few shared words".
FEW: Final = 0.15
BY_FILE: Final = f"{STDLIB}, by file"
#: Sets on which all chunks are encoded; elsewhere lazy mode alone is asked, since hundreds of thousands would be.
ENCODED: Final = frozenset({STDLIB, BY_FILE, CODE, DOCS})
#: Queries drawn from each synthetic set; a query encodes up to 100 chunks.
SAMPLE: Final = 6
#: Weights of the encoder for covered queries and for those whose words the first results lack; the default is chosen
#: again on halves of these sets.
WEIGHTS: Final = ((0.3, 0.3), (0.6, 0.6), (0.8, 0.8), (1.0, 1.0), (0.5, 3.0), (0.6, 3.0), (0.6, 4.0), (0.8, 3.0))
HALVED: Final = (STDLIB, CODE, DOCS)
PARTITIONS: Final = 10


@dataclass(frozen=True, slots=True)
class Row:
    """One encoder against the default on some queries."""

    part: str
    queries: str
    row: ComparisonRow
    wanted: str = ""  # the target
    met: bool | None = None


def main() -> Section:
    """Ask every set and measure the cost."""
    encoder = os.environ.get("ASSAY_BENCH_ENCODER", "minilm")
    delta = os.environ.get("ASSAY_BENCH_DELTA", "")
    try:
        for spec in filter(None, (encoder, delta)):
            resolve_encoder(spec)
    except ConfigError as error:
        raise Unavailable(f"{error.message}; {error.hint}") from error
    rows: list[Row] = []
    weighted: dict[str, Scores] = {}
    for part, sources in _parts().items():
        scores, resolved = _ask(part, sources, encoder, delta)
        rows += _rows(part, resolved, scores)
        if part in HALVED:
            weighted[part] = scores
        print("\n".join("  ".join(map(str, _cells(row))) for row in rows if row.part == part), file=sys.stderr)
    header = ("set", "queries", "n", "engine", DEFAULT, "with encoder", "difference", "better, same, worse", "target")
    lines = (
        f"Encoder `{encoder}`{f', delta `{delta}`' if delta else ''}. nDCG@10 by lines; the visible half by file "
        f"(semble's rule, each repository counts once). Few shared words: at most {FEW:.0%} of the stems of the query "
        "are in its target. Intervals are at 95 %, by repository where there are six, else by intent.",
        "",
        *table(header, [_cells(row) for row in rows]),
        *_halves(weighted),
        *cost(encoder),
    )
    return Section(lines, passed=all(row.met is not False for row in rows))


def _parts() -> dict[str, list[Source]]:
    """Collect the sets of this machine."""
    wanted = list(filter(None, os.environ.get("ASSAY_BENCH_PARTS", "").split(";")))
    library = stdlib_source()
    human = tuple(replace(query, forms={"human": query.forms["human"]}) for query in library.gold.queries)
    library = replace(library, gold=replace(library.gold, queries=human))
    by_file = replace(library, part=BY_FILE, asking=Asking(("nDCG(level=file)@10",), as_written=False))
    parts = {STDLIB: [library], BY_FILE: [by_file]}
    try:
        parts |= {source.part: [source] for source in octocode_sources()}
        golds = visible().golds
        parts[VISIBLE] = visible_sources(golds)
        if not wanted or SYNTHETIC in wanted:
            parts[SYNTHETIC] = [_sample(one) for one in synthetic_sources(reported(golds).sets)]
    except Unavailable as problem:
        print(f"!! {problem}", file=sys.stderr)
    return {part: sources for part, sources in parts.items() if not wanted or part in wanted}


def _sample(source: Source) -> Source:
    drawn = sorted(source.gold.queries, key=lambda query: sha256(query.id.encode()).digest())[:SAMPLE]
    return replace(source, gold=replace(source.gold, queries=tuple(drawn)))


def _variants(part: str, encoder: str, delta: str) -> list[Variant]:
    made = [variant(DEFAULT, {}), variant(LAZY, {"dense.encoder": encoder})]
    full = part in ENCODED and not os.environ.get("ASSAY_BENCH_LAZY")
    if full:
        made.append(variant(FULL, {"dense.encoder": encoder, "encoder.mode": "full"}))
    if part in HALVED:
        for low, high in WEIGHTS:
            changes = {"encoder.language": low, "encoder.keywords": low, "encoder.rise": high / low - 1}
            if _weighted(low, high) != LAZY:
                made.append(variant(_weighted(low, high), {"dense.encoder": encoder, **changes}))
    if delta:
        made.append(variant(DELTA, {"dense.encoder": delta}))
        if full:
            made.append(variant(DELTA_FULL, {"dense.encoder": delta, "encoder.mode": "full"}))
    return made


@dataclass(frozen=True, slots=True)
class _StoredShelves(Shelves):
    """Shelves that keep vectors between runs."""

    def of(self, corpus: Corpus) -> SharedCache:
        return self.by_corpus.setdefault(corpus.digest, SharedCache(corpus, Store()))


def _ask(part: str, sources: Sequence[Source], encoder: str, delta: str) -> tuple[Scores, list[GoldSet]]:
    """Return the scores and the gold sets with the lines of their targets."""
    tables, resolved = [], list[GoldSet]()
    for source in sources:
        shelves = _StoredShelves()
        engines = {
            one.name: SharedEngine(BuiltinEngine(one.search, source.asking.per), shelves)
            for one in _variants(part, encoder, delta)
        }
        made = run(engines, source.gold, k=10, missing="report")
        resolved += made.suite.golds
        judged = replace(made, suite=Suite((source.gold,))) if source.asking.as_written else made
        tables.append(housed(score(judged, source.asking.measures), {source.gold.name: source.home}))
    return joined(tables), resolved


def _rows(part: str, golds: Sequence[GoldSet], scores: Scores) -> Iterator[Row]:
    """Compare every engine with the default, on all queries and on those that share few words with their target."""
    shown = by_repository(scores) if part == VISIBLE else scores
    engines = [name for name in scores.engines[1:] if "weight" not in name]
    for name in engines:
        row = _compare(shown, name)
        yield Row(part, "all", row, *_target(part, row))
    if part == VISIBLE:  # its targets are files
        return
    roots = {gold.name: _root(gold) for gold in golds}
    few = {(gold.name, query.id) for gold in golds for query in gold.queries if _is_few(roots[gold.name], query)}
    some = chosen(scores, lambda unit: (unit.gold, unit.query) in few)
    for name in engines if some.units else ():
        row = _compare(some, name)
        met = row.mean >= 0.12 if part == STDLIB else None
        yield Row(part, "few shared words", row, "at least .12" if part == STDLIB else "", met)
    if DELTA in scores.engines:
        yield Row(part, "delta against the plain encoder", _compare(scores, DELTA, LAZY))


def _compare(scores: Scores, name: str, baseline: str = DEFAULT) -> ComparisonRow:
    return next(iter(differences(scores, [name], baseline).values()))


def _target(part: str, row: ComparisonRow) -> tuple[str, bool | None]:
    if part == STDLIB:
        return "at least +.05, interval above 0", row.difference >= 0.05 and row.interval.low > 0
    if part in (CODE, DOCS):
        return "at least -.005, interval above -.03", row.difference >= -0.005 and row.interval.low > -0.03
    if part == VISIBLE:
        return "at least .872", row.mean >= 0.872
    if part == BY_FILE:
        return "at least .60", row.mean >= 0.6
    return "", None


def _weighted(low: float, high: float) -> str:
    own = SearchConfig().encoder
    shipped = (own.language, own.language * (1 + own.rise))
    return LAZY if np.allclose((low, high), shipped) else f"{LAZY}, weight {_range(low, high)}"


def _range(low: float, high: float) -> str:
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _halves(tables: Mapping[str, Scores]) -> tuple[str, ...]:
    """Choose the weight on one half of the queries of all sets and score it on the other, both ways, several times."""
    if tables.keys() != set(HALVED):
        return ()
    draw = np.random.default_rng(0)
    rows_of = {part: [one.engines.index(_weighted(*weight)) for weight in WEIGHTS] for part, one in tables.items()}
    unseen = {part: np.zeros(len(one.units)) for part, one in tables.items()}
    picked: list[tuple[float, float]] = []
    for _ in range(PARTITIONS):
        halves = {part: draw.permutation(len(one.units)) % 2 for part, one in tables.items()}
        for tuned in (0, 1):
            means = np.zeros(len(WEIGHTS))
            for part, one in tables.items():
                means += np.nanmean(one.values[rows_of[part], 0][:, halves[part] == tuned], axis=1)
            best = int(means.argmax())
            picked.append(WEIGHTS[best])
            for part, one in tables.items():
                test = halves[part] != tuned
                unseen[part][test] += one.values[rows_of[part][best], 0][test] / PARTITIONS
    rows = []
    for part, one in tables.items():
        default = one.values[one.engines.index(DEFAULT), 0]
        name = "+ encoder, lazy, weight from other half"
        scores = Scores((DEFAULT, name), one.measures[:1], one.units, np.stack([default, unseen[part]])[:, None])
        row = _compare(scores, name)
        each = (f"{float(np.nanmean(one.values[at, 0])):.3f}" for at in rows_of[part])
        rows.append((part, *each, f"{row.mean:.3f}", difference_text(row)))
    counts = ", ".join(f"{_range(*weight)} {picked.count(weight)} times" for weight in WEIGHTS if weight in picked)
    header = (
        "set",
        *(f"weight {_range(*weight)}" for weight in WEIGHTS),
        "weight from the other half",
        "minus default",
    )
    return (
        "The weight of the encoder in lazy mode (`encoder.language`, `.keywords`; with `encoder.rise` up to the second "
        "number where the first results lack the words of the query), and the weight chosen on a random "
        f"half of the queries of these sets and scored on the other half, {PARTITIONS} times both ways: {counts}.",
        "",
        *table(header, rows),
    )


def _root(gold: GoldSet) -> Path:
    return open_corpus(gold.corpus, base=Path(gold.source).parent if gold.source else None).root


@cache
def _lines(file: Path) -> tuple[str, ...]:
    try:
        return tuple(file.read_text("utf-8", "replace").split("\n"))
    except OSError:
        return ()


def _is_few(root: Path, query: Query) -> bool:
    """Return whether at most FEW of the stems of a query occur in its targets."""
    stems = set(parse_query(next(iter(query.forms.values()))).words)
    found: set[str] = set()
    for target in query.targets:
        span = target.span
        lines = _lines(root / span.path)[(span.start or 1) - 1 : span.end]
        found |= set(parse_query("\n".join(lines)).words)
    return bool(stems) and len(stems & found) <= FEW * len(stems)


def _cells(one: Row) -> tuple[object, ...]:
    row = one.row
    counts = f"{row.wins}, {row.ties}, {row.losses}"
    met = "" if one.met is None else f"{'met' if one.met else 'missed'}: {one.wanted}"
    means = (f"{row.baseline_mean:.3f}", f"{row.mean:.3f}")
    return (one.part, one.queries, row.queries, row.engine, *means, difference_text(row), counts, met)


#: Chunks whose encoding is timed, and rounds; the two programs take turns.
CHUNKS: Final = 192
ROUNDS: Final = 3


def cost(encoder: str) -> tuple[str, ...]:
    """Measure chunks per second beside plain onnxruntime, the time of a query, memory, and a refresh."""
    spec = resolve_encoder(encoder)
    source = stdlib_source()
    before = os.environ.get("ASSAY_CACHE_DIR")
    with TemporaryDirectory() as folder:
        root = Path(shutil.copytree(open_corpus(source.gold.corpus).root / "asyncio", Path(folder, "asyncio")))
        os.environ["ASSAY_CACHE_DIR"] = str(Path(folder, "cache"))
        try:
            figures = {**_throughput(spec, root), **_latency(spec, root, source.gold), **_refresh(spec, root)}
        finally:
            os.environ.pop("ASSAY_CACHE_DIR")
            os.environ.update({"ASSAY_CACHE_DIR": before} if before else {})
    return (
        "Cost, on a copy of `asyncio` of the standard library:",
        "",
        *table(("figure", "value"), list(figures.items())),
    )


def _throughput(spec: str, root: Path) -> dict[str, str]:
    """Encode the same chunks with ours (one text per call, a thread per core) and in padded batches of 32."""
    table_ = Index.build(root).table
    texts = [passage_text(table_, row) for row in range(min(CHUNKS, len(table_.chunks)))]
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ours = make_embedder(spec, EmbedderConfig(max_tokens=128))
    plain = _plain(Path(spec.partition(":")[2]))
    programs: tuple[Callable[[], object], ...] = (lambda: ours.embed(texts, "code"), lambda: plain(texts))
    taken: list[list[float]] = [[], []]
    for _ in range(ROUNDS):
        for times, program in zip(taken, programs, strict=True):
            began = time.perf_counter()
            program()
            times.append(len(texts) / (time.perf_counter() - began))
    ratios = sorted(a / b for a, b in zip(*taken, strict=True))
    added = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held) / 1000
    return {
        "chunks per second": f"{median(taken[0]):.0f}",
        "plain onnxruntime, batches of 32": f"{median(taken[1]):.0f}",
        "ratio": f"{median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})",
        "memory added by both, peak": f"{added:.0f} MB",
    }


def _plain(directory: Path) -> Callable[[Sequence[str]], object]:
    onnxruntime, tokenizers = import_module("onnxruntime"), import_module("tokenizers")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = os.cpu_count() or 1
    session = onnxruntime.InferenceSession(str(directory / "model.onnx"), options, providers=["CPUExecutionProvider"])
    tokenizer = tokenizers.Tokenizer.from_file(str(directory / "tokenizer.json"))
    tokenizer.enable_truncation(128)
    tokenizer.enable_padding()

    def encode(texts: Sequence[str]) -> object:
        found = []
        for start in range(0, len(texts), 32):
            encoded = tokenizer.encode_batch(list(texts[start : start + 32]))
            ids = np.array([each.ids for each in encoded], dtype=np.int64)
            mask = np.array([each.attention_mask for each in encoded], dtype=np.int64)
            found.append(session.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": ids * 0})[0])
        return found

    return encode


def _latency(spec: str, root: Path, gold: GoldSet) -> dict[str, str]:
    queries = [query.forms["human"] for query in gold.queries[:15]]
    default, lazy = Index.open(root), Index.open(root, _config(spec))
    lazy.search("load the model", 10)

    def times(index: Index) -> str:
        walls, processors = [], []
        for query in queries:
            began, used = time.perf_counter(), time.process_time()
            index.search(query, 10, per="span")
            walls.append(1000 * (time.perf_counter() - began))
            processors.append(1000 * (time.process_time() - used))
        return f"{median(walls):.1f} ms, of which processor {median(processors):.1f} ms"

    cold, warm = times(lazy), times(lazy)
    return {
        "median query, default": times(default),
        "median query, lazy, cold": cold,
        "median query, lazy, warm": warm,
    }


def _refresh(spec: str, root: Path) -> dict[str, str]:
    """Change one file and count the texts that full mode encodes again."""

    def encoded() -> int:
        reported: list[int] = []
        scores = Index.open(root, _config(spec, mode="full")).view.encoder
        assert scores is not None
        scores.encoder.encode_all(lambda _, total: reported.append(total))
        return reported[-1] if reported else 0

    encoded()
    chunks = len(Index.open(root).table.chunks)
    (root / "locks.py").write_text((root / "locks.py").read_text() + "\n\ndef added():\n    return 1\n")
    return {"texts encoded after a change of one file": f"{encoded()} of {chunks}"}


def _config(spec: str, **settings: object) -> SearchConfig:
    return configure({"dense.encoder": spec, **{f"encoder.{name}": value for name, value in settings.items()}})
