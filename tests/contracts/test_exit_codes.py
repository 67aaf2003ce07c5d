"""Exit codes and messages: one recorded block per situation, with code, message and hint."""

import re
import shlex
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.contracts.calling import Outcome, Workspace
from tests.contracts.inputs import ENGINE_MODULE, SHOP_GOLD
from tests.contracts.snapshot import check, substituted

LONE = ["--no-references", "--quiet"]
KEYWORDS = ["--engine", "keywords", "--baseline", "keywords", *LONE]


@dataclass(frozen=True)
class Case:
    """A situation: files to write first, the command line, environment variables."""

    argv: tuple[str, ...]
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)


def case(*argv: str, files: Mapping[str, str | bytes] | None = None, env: Mapping[str, str] | None = None) -> Case:
    return Case(argv, files or {}, env or {})


def verify(name: str, workspace: Workspace, cases: Mapping[str, Case], *codes: int) -> None:
    """Run the cases in order in a workspace and check the recorded blocks."""
    blocks = []
    for title, one in cases.items():
        for path, content in one.files.items():
            place = workspace.root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content if isinstance(content, bytes) else content.encode())
        outcome = workspace.call(*one.argv, env=one.env)
        assert outcome.code in codes, f"{title}: {outcome.code}\n{outcome.err}"
        assert "Traceback" not in outcome.err
        blocks.append(block(title, one, outcome, workspace))
    check(f"exit_codes/{name}.txt", "\n\n".join(blocks))


def block(title: str, one: Case, outcome: Outcome, workspace: Workspace) -> str:
    lines = [f"# {title}", f"$ assay {shlex.join(one.argv)}", f"exit code {outcome.code}"]
    lines += [f"stdout: {line}" for line in outcome.out.splitlines()[:1]]
    lines += [f"stderr: {line}" for line in error_lines(outcome.err)]
    places = {
        re.escape(str(workspace.root)): "<root>",
        re.escape(str(workspace.home)): "<home>",
        r"-[0-9a-f]{20}\b": "-<digest>",
        r"assay \d+\.\d+\.\d+\S*": "assay <version>",
    }
    return substituted("\n".join(lines), places)


def error_lines(err: str) -> list[str]:
    """Return the message and its hint."""
    lines = [re.sub(r" \(choose from .*\)$", " (choose from …)", line) for line in err.splitlines()]
    start = next((at for at, line in enumerate(lines) if line.startswith("error: ")), None)
    return [] if start is None else lines[start : start + 2]


def test_0_done(scratch):
    verify(
        "0-done",
        scratch,
        {
            "a run": case("run", *KEYWORDS, "--gold", "gold/library.yaml", "--out", "small"),
            "a run in which some queries of an engine failed": case(
                "run", "--engine", "flaky", "--baseline", "flaky", *LONE, "--out", "flaky"
            ),
            "an inconclusive comparison passes": case("gate", "results", "--engine", "builtin"),
            "a floor is kept": case("gate", "results", "--engine", "builtin", "--require", "nDCG(level=file)@10>=0.2"),
            "two runs are compared": case("compare", "results", "results", "--engine", "keywords"),
            "findings of lint that are no errors": case("gold", "lint", "gold/shop.yaml", "--quiet"),
            "a rejected change is an entry of the ledger": case("ledger", "add", "results", "--engine", "builtin"),
            "an empty ledger": case("ledger", "verify", "--ledger", "new.ledger.jsonl"),
            "nothing is found": case("search", "total", "shop", "--quiet", "--path", "*.rs"),
            "the version": case("--version"),
        },
        0,
    )


def test_1_worse(scratch):
    verify(
        "1-worse",
        scratch,
        {
            "a significant regression": case("gate", "results", "--engine", "random", "--baseline", "oracle"),
            "a floor is missed": case("gate", "results", "--engine", "builtin", "--require", "nDCG@10>=0.9"),
            "one of two floors is missed": case(
                "gate",
                "results",
                "--engine",
                "builtin",
                "--require",
                "nDCG(level=file)@10>=0.2",
                "--require",
                "Hit(level=file)@1>=0.99",
            ),
            "a missed floor outweighs what is inconclusive": case(
                *("gate", "results", "--engine", "builtin", "--baseline", "keywords", "--strict"),
                *("--require", "nDCG@10>=0.9"),
            ),
        },
        1,
    )


def test_3_inconclusive(scratch):
    strict = case("gate", "results", "--engine", "keywords", "--baseline", "builtin", "--strict")
    verify("3-inconclusive", scratch, {"an inconclusive comparison under --strict": strict}, 3)


def test_4_failed(scratch, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    tools = {f"{ENGINE_MODULE}_dead.py": "def search(query, k):\n    raise OSError('down')\n"}
    dead_kind = f"python:{ENGINE_MODULE}_dead:search"
    dead = f"dead={dead_kind}"
    no_class = f"odd=python:{ENGINE_MODULE}_odd:Odd"
    verify(
        "4-failed",
        scratch,
        {
            "more than 5 % of an engine's queries failed": case("gate", "results"),
            "a failed engine outweighs a missed floor": case("gate", "results", "--require", "nDCG@10>=0.9"),
            "a baseline of an engine that failed": case("gate", "results", "--write-baseline", "baseline.json"),
            "every query of an engine failed": case(
                "run", "--engine", dead, "--baseline", "dead", *LONE, "--out", "dead", files=tools
            ),
            "an engine cannot be opened": case(
                *("run", "--engine", no_class, "--baseline", "odd", *LONE, "--out", "odd"),
                files={f"{ENGINE_MODULE}_odd.py": "class Odd:\n    def open(self, corpus):\n        raise OSError\n"},
            ),
            "a program of a preset is not installed": case(
                "run", "--engine", "ck", "--baseline", "ck", *LONE, env={"PATH": "/nowhere"}
            ),
            "an engine that does not work": case("engines", "check", dead_kind, "shop", "--quiet"),
            "an engine that does not answer": case("engines", "query", dead_kind, "tax", "shop", "--quiet"),
            "an audit of an engine that fails on everything": case(
                "audit", dead_kind, "shop", "--only", "answers", "--queries", "2", "--quiet"
            ),
            "an extra is not installed": case("run", *KEYWORDS, "--parquet", "--out", "table"),
            "git is not installed": case(
                "run", *KEYWORDS, "--gold", "gold/git.yaml",
                files={"gold/git.yaml": SHOP_GOLD.replace("{path: ../shop}", "{git: ../shop, rev: HEAD}")},
                env={"PATH": "/nowhere"},
            ),
            "the cache cannot be written": case(
                "index", "shop", "--quiet", files={"file": ""}, env={"ASSAY_CACHE_DIR": "file/cache"}
            ),
        },
        4,
    )  # fmt: skip


def test_4_unexpected_exception_is_no_regression(scratch, monkeypatch):
    def broken(*_: object) -> str:
        raise RuntimeError("broken installation")

    monkeypatch.setattr(sysconfig, "get_path", broken)
    verify("4-unexpected", scratch, {"a bug": case("run", *KEYWORDS, "--gold", "stdlib")}, 4)


def test_5_not_comparable(scratch):
    def run(*more: str, code: int = 0) -> None:
        outcome = scratch.call("run", *KEYWORDS, "--gold", "gold/library.yaml", *more)
        assert outcome.code == code, outcome.err

    run("--out", "same")
    run("--out", "two", "--engine", "builtin")
    (scratch.root / f"{ENGINE_MODULE}_down.py").write_text("def search(query, k):\n    raise OSError('down')\n")
    run("--out", "dead", "--engine", f"dead=python:{ENGINE_MODULE}_down:search", code=4)
    run("--out", "five", "-k", "5", "--set", 'run.measures=["nDCG@5"]')
    assert scratch.call("gate", "same", "--write-baseline", "baseline.json").code == 0
    fines = scratch.root / "library" / "library" / "fines.py"
    fines.write_text(fines.read_text() + "\n# changed\n")
    run("--out", "changed")
    verify(
        "5-not-comparable",
        scratch,
        {
            "other queries": case("compare", "results", "same", "--engine", "keywords"),
            "another k": case("compare", "same", "five", "--engine", "keywords"),
            "no engine in common": case("compare", "results", "same"),
            "an engine that only one side has": case("gate", "two", "--against", "baseline.json"),
            "a missing counterpart outweighs a missed floor": case(
                "gate", "two", "--against", "baseline.json", "--require", "LineR@10>=0.99"
            ),
            "a change measured on another corpus": case(
                "ledger", "add", "changed", "--engine", "keywords", "--against", "same"
            ),
            "a failed engine outweighs a missing counterpart": case("gate", "dead", "--against", "baseline.json"),
        },
        *(4, 5),
    )
    verify(
        "0-changed-corpus",
        scratch,
        {
            "the corpus changed": case("compare", "same", "changed", "--engine", "keywords"),
            "the corpus changed since the baseline": case("gate", "changed", "--against", "baseline.json"),
        },
        0,
    )


def test_130_interrupted(scratch, monkeypatch):
    def interrupt(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(sysconfig, "get_path", interrupt)
    argv = ["run", *KEYWORDS, "--gold", "stdlib", "--out", "interrupted"]
    verify("130-interrupted", scratch, {"Ctrl-C": case(*argv)}, 130)
    assert not (scratch.root / "interrupted").exists()


def test_2_usage(scratch):
    verify(
        "2-usage",
        scratch,
        {
            "no such command": case("frobnicate"),
            "no such sub-command": case("gold", "frobnicate"),
            "no sub-command": case("gold"),
            "no such flag": case("run", "--frobnicate"),
            "a flag misspelt": case("run", "--measures", "nDCG@10"),
            "an experiment without --config": case("run", "assay.toml"),
            "a flag without its value": case("run", "--gold"),
            "no number": case("run", "-k", "ten"),
            "a flag that is required": case("plan"),
            "flags that exclude each other": case(
                "gold", "reanchor", "gold/shop.yaml", "--to", "x", "--in-place", "--out", "y"
            ),
            "no such choice": case("gold", "split", "gold/shop.yaml", "--by", "letter"),
        },
        2,
    )


FOLDERS = {
    "search": case("search", "total", "nowhere"),
    "explain --run": case("explain", "--run", "nowhere", "--missed"),
    "index": case("index", "nowhere"),
    "mcp": case("mcp", "nowhere"),
    "init": case("init", "nowhere"),
    "engines query": case("engines", "query", "keywords", "cart", "nowhere"),
    "gold lint": case("gold", "lint", "nowhere.yaml"),
    "gold access-log": case("gold", "access-log", "nowhere.yaml"),
    "gold pool": case("gold", "pool", "gold/shop.yaml", "nowhere"),
    "gold mine": case("gold", "mine", "nowhere", "--set", "x.yaml"),
    "gold synth": case("gold", "synth", "nowhere"),
    "run --gold": case("run", "--gold", "nowhere.yaml"),
    "run --config": case("run", "--config", "nowhere.toml"),
    "merge": case("merge", "nowhere"),
    "score": case("score", "nowhere"),
    "report": case("report", "nowhere"),
    "compare": case("compare", "results", "nowhere"),
    "serve": case("serve", "nowhere"),
    "gate": case("gate", "nowhere"),
    "gate --against": case("gate", "results", "--against", "nowhere.json"),
    "audit": case("audit", "keywords", "nowhere"),
    "train": case("train", "nowhere", "--out", "x"),
}


def test_2_missing_files_and_folders(scratch):
    verify("2-missing", scratch, FOLDERS, 2)


def test_2_flags_that_mean_nothing(scratch):
    verify(
        "2-flags",
        scratch,
        {
            "an engine misspelt": case("run", "--engine", "bultin"),
            "a module that is not there": case("run", "--engine", "python:no_such_module:f"),
            "a function that is not there": case("run", "--engine", f"python:{ENGINE_MODULE}:nothing"),
            "a measure misspelt": case("run", "--measure", "NDCG@10"),
            "a measure without its cut-off": case("run", "--primary", "nDCG"),
            "a measure that looks further than k": case("run", "--measure", "nDCG@20"),
            "a baseline that is not in the run": case("run", "--baseline", "nobody"),
            "no results asked for": case("run", "-k", "0"),
            "a form that no query has": case("run", "--phrasings", "cross_module"),
            "a part that no query is in": case("run", "--split", "sealed"),
            "rows that are not there": case("run", "--tag", "difficulty=hard:1-99"),
            "a key that is not there": case("run", "--set", "run.kay=20"),
            "a value of another kind": case("run", "--set", "run.k=many"),
            "times of engines that run side by side": case("run", "--times", "--jobs", "2"),
            "one repeat": case("run", "--repeat", "1"),
            "a shard that is not there": case("run", "--shard", "3/2"),
            "a place that is a file": case("run", "--out", "assay.toml"),
            "nothing to search for": case("search"),
            "a setting misspelt": case("search", "total", "shop", "--set", "stem.file=0.1"),
            "no regular expression": case("search", "total", "shop", "--regex", "("),
            "a line that is not there": case("related", "shop/cart.py:999", "shop"),
            "a file that is not there": case("related", "shop/nope.py:1", "shop"),
            "an experiment that does not ship": case("run", "--preset", "nothing"),
            "a preset that is not there": case("engines", "show", "nothing"),
            "a gold format that is not there": case("gold", "convert", "gold/shop.yaml", "x.y", "--to", "xyz"),
            "shares that make no whole": case("gold", "split", "gold/shop.yaml", "--dev", "2"),
            "nobody votes": case("gold", "review", "gold/shop.yaml", "--list"),
            "a vote for nothing": case("gold", "review", "gold/shop.yaml", "--reviewer", "ada", "--vote", "ff=2"),
            "nobody voted": case("gold", "agreement", "gold/shop.yaml"),
            "no commit": case("gold", "reanchor", "gold/shop.yaml", "--to", "HEAD"),
            "a rule of lint that is not there": case("gold", "lint", "gold/shop.yaml", "--select", "G9"),
            "a direction for runs, whose measures have one": case("compare", "results", "results", "--lower-is-better"),
            "a floor that cannot be read": case("gate", "results", "--require", "nDCG@10"),
            "a floor that looks too far": case("gate", "results", "--require", "nDCG@20>=0.1"),
            "a query that is not there": case("show", "results", "xyzzy"),
            "a text that several queries have": case("show", "results", "price"),
            "nothing to detect": case("plan", "--detect", "0"),
            "no such entry": case("ledger", "show", "9"),
            "no such engine in the run": case("ledger", "add", "results", "--engine", "nobody"),
            "no such rule of the ledger": case("ledger", "add", "results", "--engine", "builtin", "--rule", "x"),
            "no size": case("cache", "prune", "--to", "many"),
            "no param": case("tune", "builtin"),
            "a param misspelt": case("tune", "builtin", "--param", "search.nope=1,2"),
            "an engine without parts": case("ablate", "flaky"),
            "an address of others": case("serve", "results", "--host", "0.0.0.0"),
        },
        2,
    )


def gold_case(old: str, new: str) -> Case:
    assert old in SHOP_GOLD
    return case("run", *KEYWORDS, "--gold", "gold/bad.yaml", files={"gold/bad.yaml": SHOP_GOLD.replace(old, new, 1)})


def gold_text(text: str | bytes, name: str = "bad.yaml") -> Case:
    return case("run", *KEYWORDS, "--gold", f"gold/{name}", "--corpus", "shop", files={f"gold/{name}": text})


def test_2_bad_gold(scratch):
    verify(
        "2-gold",
        scratch,
        {
            "broken YAML": gold_case("{path: ../shop}", "{path: ../shop"),
            "another version": gold_case("assay: 1", "assay: 2"),
            "a key misspelt": gold_case("    tags: {difficulty: standard", "    tag: {difficulty: standard"),
            "an id twice": gold_case("id: cart-add", "id: cart-total"),
            "a path that is not there": gold_case("shop/tax.py::tax_rate", "shop/taxes.py::tax_rate"),
            "a range past the end": gold_case("retry.py:6-13", "retry.py:6-1300"),
            "a range backwards": gold_case("retry.py:6-13", "retry.py:13-6"),
            "a symbol that is not there": gold_case("cart.py::Cart.total", "cart.py::Cart.totall"),
            "a path that climbs": gold_case("shop/receipt.py", "../receipt.py"),
            "a form misspelt": gold_case("keyword: cart total sum", "keywords: cart total sum"),
            "a measure misspelt": gold_case("[RR@10, Displacement@10]", "[NDCG@10]"),
            "a part misspelt": gold_case("split: dev", "split: Sealed"),
            "a corpus that is not there": gold_case("{path: ../shop}", "{path: ../gone}"),
            "a corpus of no kind": gold_case("{path: ../shop}", "{folder: ../shop}"),
            "no queries": gold_text(SHOP_GOLD.partition("queries:")[0] + "queries: []\n"),
            "an empty file": gold_text(""),
            "not UTF-8": gold_text(SHOP_GOLD.encode() + b"# caf\xe9\n"),
            "a CSV without its columns": gold_text("question,file\nx,shop/cart.py\n", "bad.csv"),
            "a row of a CSV that is too short": gold_text("query,path\nwhere is the cart?\n", "bad.csv"),
            "JSON lines that are no objects": gold_text('{"query": "x", "path": "shop/cart.py"}\n[1]\n', "bad.jsonl"),
            "a CSV without a corpus": case(
                "run", *KEYWORDS, "--gold", "gold/rows.csv", files={"gold/rows.csv": "query,path\nx,shop/cart.py\n"}
            ),
            "lint finds an error": case(
                "gold", "lint", "gold/lost.yaml", "--quiet",
                files={"gold/lost.yaml": SHOP_GOLD.replace("shop/tax.py::tax_rate", "shop/taxes.py::tax_rate", 1)},
            ),
        },
        2,
    )  # fmt: skip


def config_case(text: str) -> Case:
    return case("run", *LONE, "--config", "bad.toml", files={"bad.toml": text})


RUN = '[run]\ngold = "gold/shop.yaml"\n'


def test_2_bad_config(scratch):
    verify(
        "2-config",
        scratch,
        {
            "broken TOML": config_case(RUN + "k = \n"),
            "a key twice": config_case(RUN + "k = 1\nk = 2\n"),
            "not UTF-8": case("run", "--config", "bad.toml", files={"bad.toml": b"# caf\xe9\n"}),
            "a key misspelt": config_case(RUN + "mesures = []\n"),
            "a table misspelt": config_case(RUN + '[engine.mine]\nkind = "keywords"\n'),
            "a value of another kind": config_case(RUN + 'k = "ten"\n'),
            "a value out of bounds": config_case(RUN + "alpha = 0.7\n"),
            "no gold": config_case('[engines.mine]\nkind = "keywords"\n'),
            "an engine without a kind": config_case(RUN + "[engines.mine]\nwindow = 3\n"),
            "an engine of no kind": config_case(RUN + '[engines.mine]\nkind = "keyword"\n'),
            "a setting that the engine does not have": config_case(RUN + '[engines.mine]\nkind = "keywords"\nx = 1\n'),
            "a search setting misspelt": config_case(
                RUN + '[engines.mine]\nkind = "builtin"\nsearch = { stem = { file = 1.0 } }\n'
            ),
            "a placeholder misspelt": config_case(
                RUN + '[engines.mine]\nkind = "command"\nargv = ["find", "{querry}"]\n'
            ),
            "a key in the settings": config_case(
                RUN + '[engines.mine]\nkind = "http"\nurl = "https://x.org/?q={query}"\nheaders = '
                '{ Authorization = "Bearer sk-0123456789abcdef" }\n'
            ),
            "a variant of nothing": config_case(RUN + '[variants.less]\nengine = "mine"\nset = { k1 = 1.0 }\n'),
            "a sweep without params": config_case(
                RUN + '[engines.mine]\nkind = "builtin"\n[sweeps.some]\nengine = "mine"\n'
            ),
            "a file that extends itself": config_case('extends = "bad.toml"\n'),
            "something dropped that is not there": config_case(
                'extends = "assay.toml"\ndrop = "engines.nothing"\n'
            ),
            "a [search] table that is wrong": case(
                "search", "total", "shop", "--config", "search.toml",
                files={"search.toml": "[search.stem]\nfile = 1.0\n"},
            ),
        },
        2,
    )  # fmt: skip


def test_2_damaged_records(scratch):
    """Each case damages another file; later cases do not read what earlier ones damaged."""
    root = scratch.root
    for name in ("torn", "edited", "gone"):
        outcome = scratch.call("run", *KEYWORDS, "--gold", "gold/library.yaml", "--out", name)
        assert outcome.code == 0, outcome.err
    assert scratch.call("gate", "torn", "--write-baseline", "baseline.json").code == 0
    assert scratch.call("ledger", "add", "results", "--engine", "builtin").code == 0
    (root / "gone" / "engines" / "keywords.jsonl").unlink()
    assert scratch.call("gold", "review", "gold/shop.yaml", "--queue-labels").code == 0
    records = (root / "torn" / "engines" / "keywords.jsonl").read_text()
    baseline = (root / "baseline.json").read_text()
    verify(
        "2-records",
        scratch,
        {
            "records that are torn": case(
                "score", "torn", files={"torn/engines/keywords.jsonl": records[: len(records) // 2]}
            ),
            "records that were edited": case(
                "score", "edited", files={"edited/engines/keywords.jsonl": records.replace('"ok"', '"error"', 1)}
            ),
            "records that are gone": case("score", "gone"),
            "a run that is no JSON": case("score", "edited", files={"edited/run.json": "{"}),
            "a run of another version": case("score", "edited", files={"edited/run.json": '{"assay_run": 99}'}),
            "a folder that is no run": case("score", "shop"),
            "a baseline that was edited": case(
                "gate", "results", "--against", "edited.json", "--engine", "builtin",
                files={"edited.json": baseline.replace("[1, 1, 1, 1, 1]", "[0, 1, 1, 1, 1]", 1)},
            ),
            "a baseline without the engine": case(
                "gate", "results", "--against", "baseline.json", "--engine", "builtin"
            ),
            "a baseline that is no JSON": case("gate", "results", "--against", "no.json", files={"no.json": "x"}),
            "a baseline of another kind": case(
                "gate", "results", "--against", "other.json", files={"other.json": '{"schema": "assay/rows/1"}'}
            ),
            "a CSV without values": case("compare", "a.csv", "a.csv", files={"a.csv": "query\nx\n"}),
            "a CSV with a value that is no number": case(
                "compare", "a.csv", "a.csv", files={"a.csv": "query,value\nx,0.5\ny,much\n"}
            ),
            "a run file that is no run": case(
                "run", "--engine", "mine=runfile:run.trec", "--baseline", "mine", *LONE,
                files={"run.trec": "cart-total Q0 shop/cart.py 1 2.0 mine\ncart-add shop/cart.py\n"},
            ),
            "a ledger that is torn": case("ledger", "list", files={"ledger.jsonl": '{"number": 1\n'}),
            "a shard that is none": case("merge", "parts", files={"parts/1-of-1.jsonl.gz": "x"}),
            "votes that cannot be read": case(
                "gold", "review", "gold/shop.yaml", "--reviewer", "ada", "--votes", "votes.csv",
                files={"votes.csv": "item,vote,reason\nff,2\n"},
            ),
            "chunks that cannot be read": case(
                "gold", "lint", "gold/shop.yaml", "--reach", "chunks.jsonl", "--quiet",
                files={"chunks.jsonl": '{"path": "shop/cart.py", "start": 1, "end": 3}\n{"path": 1}\n'},
            ),
        },
        2,
    )  # fmt: skip
