"""Results of the built-in engines on three corpora: rankings with scores, stages, filters and ablations."""

import json
from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest

import assay
from assay.cli.main import main
from assay.corpus import decode_text
from tests.contracts.near import check_near
from tests.contracts.sample_corpora import CORPORA, Per, corpus_root, gold_file, index_of, make_engine
from tests.contracts.snapshot import RECORDING

PERS: tuple[Per, ...] = ("file", "span")
#: Scores closer than this, but not equal, may swap places under another BLAS build.
CLOSE = 1e-5

QUERIES = {
    "python_package": {
        "question": "where are failed requests retried with exponential backoff",
        "question-2": "how does an alert get cleared again?",
        "keywords": "sqlite insert transaction",
        "many-keywords": "alert severity threshold level hysteresis reading",
        "name": "parse_reading",
        "qualified-name": "StationRegistry.find",
        "name-in-a-sentence": "who calls fetch_readings and what happens on a 404",
        "error-message": "stale reading for koeln: 2024-01-02 is before 2024-01-03",
        "other-words": "delete old rows from the database",
        "german": "Hochwasserwarnung Pegelstand überschritten",
        "about-tests": "test that the missing value marker is dropped",
        "example": "draw readings as a bar chart",
        "legacy": "parse an archived XML document",
        "vendored": "slugify",
        "nonsense": "xyzzy plugh frobnicate",
        "stop-words": "how is the",
    },
    "web_app": {
        "question": "what happens when two customers pick the same seat",
        "question-2": "who sends the confirmation mail once the payment succeeded?",
        "keywords": "rate limiting middleware",
        "name": "cancelBooking",
        "qualified-name": "PaymentGateway#refund",
        "type-name": "Seat",
        "vendored": "formatDate",
        "header": "Idempotency-Key",
        "error-message": "409 seat already taken",
        "style": "colour of sold seats",
        "sql": "CREATE UNIQUE INDEX hold_once",
        "french": "réservation expirée",
        "japanese": "座席を選択",
        "nonsense": "zzqx vrombl",
    },
    "systems_mix": {
        "question": "how are files cut into chunks by their content",
        "question-2": "which photos are uploaded while the phone is charging?",
        "keywords": "watch folder changes interval",
        "name": "ring_write",
        "qualified-name": "BackupService::onPowerChanged",
        "type-name": "Manifest",
        "error-message": "server is busy, giving up",
        "documentation": "readme of the wire protocol handshake",
        "other-words": "remove old backups",
        "vendored": "xxmini_hash",
        "about-vendored": "third party hash function",
        "french": "fréquence de sauvegarde",
        "nonsense": "flurb wozzle",
    },
}
SIGNALS = (
    "coherence", "neighbours", "stem", "definition", "scope", "references", "identifier", "noise", "gaps",
)  # fmt: skip
#: Queries to repeat with each signal left out.
ABLATED = {
    "python_package": ("question", "qualified-name", "about-tests"),
    "web_app": ("question", "name", "keywords"),
    "systems_mix": ("question", "type-name", "error-message"),
}
#: Parts of the engine that are not signals, and the settings that disable them.
PARTS = {
    "names": ("index.fields.name=0", "index.fields.scope=0", "index.fields.signature=0"),
    "paths": ("index.fields.stem=0", "index.fields.folder=0"),
    "joined-words": ("lexical.joined=0",),
    "translation": ("translation.model=",),
    "dense": ("dense.model=",),
    "dense-paths": ("dense.path=0",),
    "feedback": ("dense.feedback.weight=0",),
    "growth": ("growth.neighbour=0",),
}
#: Settings whose defaults have no effect on corpora of this size, or that select another method.
CHANGED = {
    "chunks-of-lines": ("index.chunks.kind=lines", "index.chunks.size=20", "index.chunks.overlap=5"),
    "coherence-chunks": ("coherence.chunks=2",),
    "coherence-pool": ("coherence.pool=5",),
    "dense-docs-model": ("dense.docs_model=static",),
    "dense-reach": ("dense.reach=5",),
    "dense-rise": ("dense.rise=1",),
    "dense-words": ("dense.words=0",),
    "fusion-rrf": ("dense.fusion=rrf(k=20)",),
    "fusion-zscore": ("dense.fusion=zscore",),
    "graph-definers": ("graph.definers=1",),
    "graph-strength": ("graph.strength=0.5",),
    "growth-lines": ("growth.lines=15",),
    "noise-of-others": ("noise.files.generated=0.5", "noise.files.stub=0.4", "noise.files.barrel=0.3"),
    "references-least": ("references.least=0.6",),
    "translation-most": ("translation.most=1",),
}
LEFT_OUT = {**{signal: (f"without={signal}",) for signal in SIGNALS}, **PARTS}
FILTERS: dict[str, dict[str, Any]] = {
    "paths": {"paths": ["src/**", "!*.pyi"]},
    "language": {"languages": ["md"]},
    "two-languages": {"languages": ["python", "rst"]},
    "file-kind": {"kinds": ["docs"]},
    "unit-kind": {"kinds": ["function"]},
    "regex": {"regex": r"threshold(s)?\b"},
    "min-score": {"min_score": 0.4},
    "several": {"paths": ["src/**"], "kinds": ["class", "function"], "regex": "level"},
}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("ASSAY_INDEX_DIR", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)


def queries() -> Iterable[tuple[str, str]]:
    return [(name, query) for name in CORPORA for query in QUERIES[name]]


def located(hit: assay.Hit) -> str:
    return hit.path if hit.start is None else f"{hit.path}:{hit.start}-{hit.end}"


def ranked(hits: Iterable[assay.Hit]) -> list[str]:
    return [f"  {hit.score or 0.0:9.6f}  {located(hit)}" for hit in hits]


def answers(index: assay.Index, text: str, k: int) -> list[str]:
    """Return both rankings of a query; reject scores that are too close while recording contracts."""
    lines = [f"query: {text}"]
    for per in PERS:
        hits = index.search(text, k + 1, per=per)
        if RECORDING:
            scores = [hit.score or 0.0 for hit in hits]
            close = [pair for pair in zip(scores, scores[1:], strict=False) if 0 < pair[0] - pair[1] < CLOSE]
            assert not close, f"{text!r} per {per}: choose another query, these scores may swap places: {close}"
        lines += [f"per {per}", *(ranked(hits[:k]) or ["  nothing"])]
    return lines


@pytest.mark.parametrize(("name", "query"), queries())
def test_ranking(name, query):
    text = QUERIES[name][query]
    asked = index_of(name).explain(text, k=1).waterfall()
    lines = [f"{asked.kind}: {' '.join(asked.terms)}", *answers(index_of(name), text, 10)]
    check_near(f"rankings/{name}/{query}.txt", "\n".join(lines))


@pytest.mark.parametrize("name", CORPORA)
@pytest.mark.parametrize("left_out", LEFT_OUT)
def test_ranking_without_a_part(name, left_out):
    index = index_of(name, *LEFT_OUT[left_out])
    lines = [line for query in ABLATED[name] for line in answers(index, QUERIES[name][query], 5)]
    check_near(f"rankings/{name}/without/{left_out}.txt", "\n".join(lines))


@pytest.mark.parametrize("left_out", LEFT_OUT)
def test_every_part_changes_a_ranking(left_out):
    """Ensure that the contracts above depend on it."""
    assert any(changed(name, LEFT_OUT[left_out]) for name in CORPORA)


@pytest.mark.parametrize("setting", CHANGED)
def test_ranking_with_another_setting(setting):
    index = index_of("web_app", *CHANGED[setting])
    lines = [line for query in ABLATED["web_app"] for line in answers(index, QUERIES["web_app"][query], 5)]
    check_near(f"rankings/web_app/settings/{setting}.txt", "\n".join(lines))
    assert changed("web_app", CHANGED[setting])


def changed(name, settings):
    """Return the rankings that settings change."""
    return [
        (query, per)
        for query in ABLATED[name]
        for per in PERS
        if search(index_of(name, *settings), name, query, per) != search(index_of(name), name, query, per)
    ]


def search(index, name, query, per, k=10, **wanted):
    return index.search(QUERIES[name][query], k, per=per, **wanted)


@pytest.mark.parametrize("per", PERS)
@pytest.mark.parametrize(("name", "query"), queries())
def test_fewer_results_are_a_prefix_of_more(name, query, per):
    every = search(index_of(name), name, query, per, 1000)
    for k in (0, 1, 5, 10):
        assert search(index_of(name), name, query, per, k) == every[:k]


@pytest.mark.parametrize("name", CORPORA)
@pytest.mark.parametrize("per", PERS)
def test_results_are_ordered_and_distinct(name, per):
    for query in QUERIES[name]:
        hits = search(index_of(name), name, query, per, 1000)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        places = [(hit.path, line) for hit in hits for line in range(hit.start or 0, (hit.end or 0) + 1)]
        assert len(set(places)) == len(places), "a line is returned twice"
        if per == "file":
            assert len({hit.path for hit in hits}) == len(hits)


@pytest.mark.parametrize("name", CORPORA)
def test_snippets_are_the_lines_of_the_result(name):
    for per in PERS:
        for hit in search(index_of(name), name, "question", per, 1000):
            text = decode_text((corpus_root(name) / hit.path).read_bytes())
            if hit.start is None or hit.end is None:
                assert (text, hit.snippet) == ("", None)
            else:
                assert hit.snippet == "".join(text.splitlines(keepends=True)[hit.start - 1 : hit.end])


@pytest.mark.parametrize("wanted", FILTERS)
def test_filters(wanted):
    lines = []
    for per in PERS:
        find = partial(search, index_of("python_package"), "python_package", "question-2", per, 1000)
        found, every = find(**FILTERS[wanted]), iter(find())
        assert all(hit in every for hit in found), "the filter changed a score or the order"
        lines += [f"per {per}", *(ranked(found[:10]) or ["  nothing"])]
    check_near(f"rankings/python_package/filters/{wanted}.txt", "\n".join(lines))


@pytest.mark.parametrize("name", CORPORA)
def test_search_command_gives_what_the_index_gives(name, capsys):
    for query, per in (("question", "file"), ("name", "span")):
        command = ["search", QUERIES[name][query], str(corpus_root(name)), "--per", per, "-k", "7", "--json", "--quiet"]
        assert main(command) == 0
        found = json.loads(capsys.readouterr().out)["hits"]
        expected = [
            {
                "rank": rank,
                "path": hit.path,
                "start": hit.start,
                "end": hit.end,
                "score": hit.score,
                "snippet": hit.snippet,
            }
            for rank, hit in enumerate(search(index_of(name), name, query, per, 7), start=1)
        ]
        assert found == expected


def test_search_command_reads_filters_and_settings(capsys):
    filters = "--path src/** --language py --kind class --regex hysteresis --min-score 0.1"
    settings = "--set without=stem,noise --set lexical.b=0.2"
    command = ["search", "alert threshold", str(corpus_root("python_package")), *filters.split(), *settings.split()]
    assert main([*command, "--per", "span", "--all", "--json", "--quiet"]) == 0
    hits = json.loads(capsys.readouterr().out)["hits"]
    index = index_of("python_package", "without=stem,noise", "lexical.b=0.2")
    wanted: dict[str, Any] = {"languages": ["py"], "kinds": ["class"], "regex": "hysteresis", "min_score": 0.1}
    found = index.search("alert threshold", 1000, per="span", paths=["src/**"], **wanted)
    assert [(hit["path"], hit["start"], hit["score"]) for hit in hits] == [
        (hit.path, hit.start, hit.score) for hit in found
    ]
    assert hits


@pytest.mark.parametrize(
    ("query", "per"), [("question", "file"), ("question", "span"), ("name", "file"), ("name", "span")]
)
@pytest.mark.parametrize("name", CORPORA)
def test_stages(name, query, per, tmp_path, capsys):
    trace = tmp_path / "trace.jsonl"
    command = ["search", QUERIES[name][query], str(corpus_root(name)), "--per", per, "-k", "3", "--trace", str(trace)]
    assert main([*command, "--json", "--quiet"]) == 0
    capsys.readouterr()
    head, *rows = map(json.loads, trace.read_text(encoding="utf-8").splitlines())
    lines = [f"{key}: {head[key]}" for key in ("query", "kind", "terms", "per", "stages")]
    place = ""
    for row in (row for row in rows if "top" not in row):
        if place != (place := located(assay.Hit(row["path"], row["start"], row["end"]))):
            lines.append(place)
        ranks = f"rank {row['before']} -> {row['rank']}"
        lines.append(f"  {row['stage']:<10} {row['score']:9.6f}  change {row['change']:9.6f}  {ranks}")
    check_near(f"rankings/{name}/stages/{query}-per-{per}.txt", "\n".join(lines), absolute=1e-5)


@pytest.mark.parametrize(
    ("name", "query", "expected"),
    [
        ("python_package", "question-2", "src/hydrolog/meldungen.py"),
        ("web_app", "question", "server/seats.ts"),
        ("systems_mix", "keywords", "docs/drafts/roadmap.md"),
    ],
)
def test_explanation(name, query, expected, capsys):
    command = ["explain", QUERIES[name][query], str(corpus_root(name)), "-k", "2", "--expect", expected, "--quiet"]
    assert main(command) == 0
    shown = capsys.readouterr().out
    check_near(f"rankings/{name}/explain-{query}.txt", shown, absolute=2e-3)  # the output has three decimals
    assert main([*command, "--json"]) == 0
    lost = json.loads(capsys.readouterr().out)["expect"]
    assert (lost["path"], lost["reason"] in shown) == (expected, True)


@pytest.mark.parametrize("name", CORPORA)
def test_other_engines(name):
    """The reference engines in a complete run."""
    suite = assay.load_gold(gold_file(name))
    engines = {
        "keywords": make_engine("keywords"),
        "keywords, window of 5 lines": make_engine({"kind": "keywords", "window": 5}),
        "random": make_engine("random"),
        "random, seed 7": make_engine({"kind": "random", "seed": 7, "window": 10}),
        "oracle": make_engine("oracle", suite=suite),
    }
    run = assay.run(engines, suite, k=4)
    texts = {(query.id, form): text for query in suite.golds[0].queries for form, text in query.forms.items()}
    for engine in run.engines:
        lines = [f"role: {engine.role}"]
        for ranking in engine.rankings:
            lines.append(f"query: {texts[ranking.query, ranking.form]} ({ranking.status})")
            scored = any(hit.score is not None for hit in ranking.hits)
            lines += ranked(ranking.hits) if scored else [f"  {located(hit)}" for hit in ranking.hits]
        slug = engine.name.replace(", ", "-").replace(" ", "-")
        check_near(f"rankings/{name}/engines/{slug}.txt", "\n".join(lines))


def test_builtin_engine_of_a_run_gives_what_the_index_gives():
    suite = assay.load_gold(gold_file("web_app"))
    run = assay.run({per: make_engine(f"builtin:{per}") for per in PERS}, suite, k=5)
    texts = {(query.id, form): text for query in suite.golds[0].queries for form, text in query.forms.items()}
    for per, engine in zip(PERS, run.engines, strict=True):
        for ranking in engine.rankings:
            found = index_of("web_app").search(texts[ranking.query, ranking.form], 5, per=per)
            assert [(hit.path, hit.start, hit.end, hit.score) for hit in ranking.hits] == [hit[:4] for hit in found]
