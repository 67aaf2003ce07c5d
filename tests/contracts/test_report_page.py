"""The decoded data of report.html and the page around it: blocks, sections, security policy and escaping."""

import base64
import csv
import gzip
import hashlib
import json
import math
import re
import struct
from html.parser import HTMLParser
from typing import Any, NamedTuple

import pytest

from tests.conftest import write_tree
from tests.contracts.calling import Workspace
from tests.contracts.seen import settled_workspace, transcript
from tests.contracts.snapshot import check, substituted
from tests.report.explorer.unpacking import Answer, rankings

SHOWN_UNITS = ["shop/cart-total (human)", "shop/coupon-percentage (human)", "library/title-search (keyword)"]


class Page(NamedTuple):
    html: str
    blocks: dict[str, bytes]
    output: str  # of `assay report`

    def json(self, block: str) -> Any:
        return json.loads(self.blocks[block])

    def units(self) -> list[str]:
        """Return the names of the columns of values and rankings."""
        data = self.json("queries")
        golds, forms = data["golds"], data["forms"]
        asked = [(data["queries"][unit["q"]], unit) for unit in data["units"]]
        return [f"{golds[query['gold']]}/{query['id']} ({forms[unit['form']]})" for query, unit in asked]

    def engines(self) -> list[str]:
        return [engine["name"] for engine in self.json("summary")["results"]["engines"]]


class Elements(HTMLParser):
    """The script elements and tag names of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.tags: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_data(self, data):
        if self.lasttag == "script" and self.scripts:
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)


def make_page(place: Workspace, *flags: str, run: str = "results") -> Page:
    argv = ("report", run, "--out", "page.html", *flags)
    outcome = place.call(*argv, env={"COLUMNS": "80"})
    assert outcome.code == 0, outcome.err
    html = (place.root / "page.html").read_text("utf-8")
    found = re.findall(r'<script type="application/gzip" id="data-(\w+)">([^<]*)</script>', html)
    blocks = {name: gzip.decompress(base64.b64decode(data)) for name, data in found}
    return Page(html, blocks, transcript(argv, outcome))


@pytest.fixture(scope="module")
def place(workspace) -> Workspace:
    return settled_workspace(workspace)


@pytest.fixture(scope="module")
def page(place) -> Page:
    return make_page(place)


def test_frame(page):
    hidden = {
        r"(?s)<style>.*?</style>": "<style>…</style>",
        r'(?s)(<script type="module">).*?</script>': r"\1…</script>",
        r'(<script type="application/gzip" id="data-\w+">)[^<]*': r"\1…",
        r"sha256-[^']+": "sha256-…",
    }
    check("report_page/frame.html", substituted(page.html, hidden))


def test_policy_allows_the_own_script_and_style_only(page):
    policy = page.html.partition('Content-Security-Policy" content="')[2].partition('"')[0]
    for directive, tag in (("script-src", '<script type="module">'), ("style-src", "<style>")):
        text = page.html.partition(tag)[2].partition("</")[0]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")


def test_sections(page):
    """Section titles are literals in the script, in the order of its SECTIONS list."""
    script = page.html.partition('<script type="module">')[2]
    titles = dict(re.findall(r'(\w+Section) = \{ id: "\w+", title: "([^"]+)"', script))
    listed = script.partition("SECTIONS = [")[2].partition("]")[0]
    check("report_page/sections.json", [titles[name.strip()] for name in listed.split(",") if name.strip()])


def test_summary(page):
    summary = page.json("summary")
    del summary["results"]
    check("report_page/summary.json", summary)


def test_results_are_those_of_score_with_words_beside_them(place, page):
    shown = page.json("summary")["results"]
    scored = json.loads(place.call("score", "results", "--json").out)
    added = {}
    for rows in ("rows", "secondary"):
        for mine, other in zip(shown["comparison"][rows], scored["comparison"][rows], strict=True):
            words = {key: mine.pop(key) for key in sorted(mine.keys() - other.keys())}
            added[f"{rows}: {mine['engine']} on {mine['measure']}"] = words
    for part in ("engines", "spending"):
        for mine, other in zip(shown[part], scored[part], strict=True):
            added[f"{part}: {mine.get('name') or mine['engine']}"] = {
                key: mine.pop(key) for key in sorted(mine.keys() - other.keys())
            }
    assert shown == {key: value for key, value in scored.items() if key not in ("low_scores", "decision")}
    check("report_page/results.json", added)


def test_queries(page):
    data = page.json("queries")
    units = zip(page.units(), data["units"], strict=True)
    shown = [query for query in data["queries"] if query["id"] in ("cart-total", "title-search")]
    lines = [
        f"{name}{' headline' * unit['headline']}, {data['repositories'][unit['repo']]}"
        f"{', names the answer' * unit['leak']}: {unit['text']}"
        for name, unit in units
    ]
    check("report_page/queries.json", {**data, "queries": shown, "units": lines})


def test_rankings(page):
    answers = dict(zip(page.units(), rankings(page.blocks["rankings"]), strict=True))
    shown = {
        name: {engine: format_answer(answer) for engine, answer in zip(page.engines(), answers[name], strict=True)}
        for name in SHOWN_UNITS
    }
    check("report_page/rankings.json", shown)


def format_answer(answer: Answer) -> list[str]:
    """Format an answer, one line per hit; scores are rounded to digits that do not depend on the machine."""
    scores = answer.scores or [math.nan] * len(answer.hits)
    hits = zip(answer.hits, answer.marks, answer.repeats, scores, strict=True)
    return [
        f"{answer.status} in {answer.seconds:.3f} s{f': {answer.error}' if answer.error else ''}",
        *(
            f"{path}:{start}-{end}, {tokens} tokens, mark {mark}, {repeats} repeats"
            f"{'' if math.isnan(score) else f', score {score:.2f}'}"
            for (path, start, end, tokens), mark, repeats, score in hits
        ),
    ]


def test_rankings_are_those_of_the_records(place, page):
    answers = rankings(page.blocks["rankings"])
    for number, engine in enumerate(page.engines()):
        lines = (place.root / "results" / "engines" / f"{engine}.jsonl").read_text("utf-8").splitlines()
        records = {f"{one['gold']}/{one['query']} ({one['form']})": one for one in map(json.loads, lines[1:])}
        for name, unit in zip(page.units(), answers, strict=True):
            seen, record = unit[number], records.pop(name)
            assert (seen.status, seen.error or "") == (record["status"], record.get("error", ""))
            assert seen.seconds == pytest.approx(record["seconds"], rel=1e-6)
            keys = ("path", "start", "end", "tokens")
            assert seen.hits == [tuple(hit.get(key) for key in keys) for hit in record["hits"]]
            scores = [hit.get("score", math.nan) for hit in record["hits"]]
            assert seen.scores == pytest.approx(scores, rel=2e-5, nan_ok=True)
        assert records == {}


def test_values_are_those_of_the_table(place, page):
    measures = [measure["name"] for measure in page.json("summary")["values"]["measures"]]
    units, engines = page.units(), page.engines()
    numbers = iter(struct.unpack(f"<{len(engines) * len(measures) * len(units)}f", page.blocks["values"]))
    values = {(engine, measure, unit): next(numbers) for engine in engines for measure in measures for unit in units}
    with open(place.root / "results" / "per-query.csv", newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    expected = {
        (row["engine"], measure, f"{row['gold']}/{row['query']} ({row['form']})"): float(row[measure])
        for row in rows
        for measure in measures
        if measure in row  # the page adds the reciprocal rank by lines
    }
    assert {key: values[key] for key in expected} == pytest.approx(expected, rel=1e-6)


def test_sources_are_excerpts_of_the_corpora(place, page):
    golds, shown = page.json("queries")["golds"], {}
    for number, files in page.json("sources").items():
        gold = golds[int(number)]
        for path, excerpts in files.items():
            lines = (place.root / gold / path).read_text("utf-8").split("\n")
            for start, text in excerpts:
                assert lines[start - 1 :][: len(text.split("\n"))] == text.split("\n")
            shown[f"{gold}/{path}"] = [f"{start}-{start + text.count(chr(10))}" for start, text in excerpts]
    check("report_page/sources.json", shown)


def test_traces(page):
    units, traces = page.units(), page.json("traces")
    assert sorted(units[int(number)] for number in traces) == sorted(units)
    trace = traces[str(units.index("shop/receipt-text (human)"))]
    rows = {
        f"{one['path']}:{one['start']}-{one['end']}": [
            f"{stage}: {step['score']:.2f}, rank {step['before']} → {step['rank']}"
            for stage, step in zip(trace["stages"], one["steps"], strict=True)
            if step["change"] or step["rank"] != step["before"]
        ]
        for one in trace["candidates"]
    }
    check("report_page/trace.json", {**trace, "candidates": rows})


def test_what_is_left_out_is_said(place, page):
    assert page.json("summary")["left_out"][0]["block"] == "sources"
    bare = make_page(place, "--no-source", "--traces", "0")
    assert set(page.blocks) - set(bare.blocks) == {"sources", "traces"}
    output = {"usual": page.output, "bare": bare.output}
    small = ("report", "results", "--out", "small.html", "--max-size", "20kB")
    output["too small"] = transcript(small, place.call(*small, env={"COLUMNS": "80"}))
    assert not (place.root / "small.html").exists()
    text = "\n".join(f"=== {name} ===\n{part}" for name, part in output.items())
    # Most of the size is the script.
    check("report_page/left_out.txt", substituted(text, {r"\d+\.\d\d MB": "#.## MB", r"\d\.\d+MB": "#.###MB"}))


HOSTILE = "</script><script>alert(1)</script><!-- <b>\u2028 & ]]>"
HOSTILE_ENGINE = "assay_hostile_engine"


@pytest.fixture(scope="module")
def hostile_page(place, tmp_path_factory) -> Page:
    """Return the page of a run whose file, query, engine and error contain markup."""
    quoted = json.dumps(HOSTILE)
    root = write_tree(
        tmp_path_factory.mktemp("hostile"),
        {
            "code/page.py": f"TEXT = {quoted}\n# {HOSTILE}\n",
            "code/other.py": "OTHER = 1\n",
            "gold.yaml": f"assay: 1\nname: shop\ncorpus: {{path: code}}\nqueries:\n"
            f"  - id: markup\n    retrieval: {{primary: [page.py]}}\n    cognitive: {{human: {quoted}}}\n"
            f"    rationale: {{owner: {quoted}, reason: {quoted}, boundary: {quoted}}}\n"
            "  - id: error\n    retrieval: {primary: [other.py]}\n    cognitive: {human: fail}\n",
            f"{HOSTILE_ENGINE}.py": f"def search(query, k):\n    if query == 'fail':\n"
            f"        raise ValueError({quoted})\n    return ['page.py:1-2', 'other.py']\n",
            "assay.toml": f'[run]\ngold = "gold.yaml"\nreferences = false\nbaseline = {quoted}\n'
            f'[engines.{quoted}]\nkind = "python"\ntarget = "{HOSTILE_ENGINE}:search"\n',
        },
    )
    home = Workspace(root, place.home)
    outcome = home.call("run", "--quiet")
    assert outcome.code == 0, outcome.err
    return make_page(home)


def test_markup_in_a_run_stays_data(hostile_page, page):
    plain, hostile = Elements(page.html), Elements(hostile_page.html)
    kinds = [(attributes.get("type"), attributes.get("id")) for attributes, _ in hostile.scripts]
    names = [name for name in page.blocks if name in hostile_page.blocks]
    assert kinds == [*(("application/gzip", f"data-{name}") for name in names), ("module", None)]
    assert hostile.scripts[-1] == plain.scripts[-1]
    assert set(hostile.tags) <= set(plain.tags)
    assert "alert(1)" not in hostile_page.html.replace("&lt;script&gt;alert(1)", "")


def test_markup_in_a_run_is_kept(hostile_page):
    query = hostile_page.json("queries")["queries"][0]
    assert query["rationale"]["reason"] == hostile_page.json("queries")["units"][0]["text"] == HOSTILE
    assert HOSTILE in hostile_page.json("sources")["0"]["page.py"][0][1]
    errors = [answer.error for unit in rankings(hostile_page.blocks["rankings"]) for answer in unit if answer.error]
    # Errors lose line separators, which would end a log line.
    assert errors == [f"ValueError: {HOSTILE}".replace("\u2028", "")]
