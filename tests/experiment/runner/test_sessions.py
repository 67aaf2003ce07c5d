"""One rule for all engines: their own copy, their turn, and nothing they say gets out unchecked."""

import os
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from assay import load_gold, run
from assay.engines import make_engine
from assay.engines.base import EngineReply, SessionUsage
from assay.errors import EngineError, EngineTimeoutError, InputError
from assay.experiment import Progress
from assay.report.analysis import analyze
from assay.report.publish import write_reports
from assay.report.scored_run import score_run
from assay.types import AnalysisPlan, Cost, Hit, Status
from tests.report.explorer.unpacking import everything


class Recording:
    """An engine that writes down what happens to it."""

    def __init__(self, name="mine", log=None, **declared):
        self.log = [] if log is None else log
        self.name = name
        self.roots = []
        for key, value in declared.items():
            setattr(self, key, value)

    @property
    def config(self):
        return {"kind": "test", "name": self.name}

    def open(self, corpus):
        self.roots.append(corpus.root)
        self.log.append((self.name, "open"))
        (corpus.root / ".index").write_bytes(b"x" * 1000)
        return self

    def search(self, query, k):
        self.log.append((self.name, query))
        return ["shop/cart.py"]

    def close(self):
        self.log.append((self.name, "close"))


def test_private_engine_gets_a_copy_that_is_gone_afterwards(shop):
    before = sorted(shop.rglob("*"))
    engine = Recording()
    made = run({"mine": engine}, load_gold("gold.yaml"))
    (root,) = engine.roots
    assert root != shop
    assert root.name == shop.name  # engines read names
    assert not root.exists()
    assert sorted(shop.rglob("*")) == before
    assert made.engines[0].resources["shop"].index_bytes == 1000


def test_engine_that_is_not_private_reads_the_corpus_itself(shop):
    engine = Recording(private=False)
    run({"mine": engine}, load_gold("gold.yaml"))
    assert engine.roots == [shop]
    (shop / ".index").unlink()


def test_copy_for_git_tools_is_a_repository_with_one_commit(shop):
    seen = []

    class Git(Recording):
        def open(self, corpus):
            for asked in (["log", "--format=%s"], ["status", "--porcelain"]):
                seen.append(subprocess.check_output(["git", *asked], cwd=corpus.root, text=True))
            return super().open(corpus)

    run({"mine": Git(git=True)}, load_gold("gold.yaml"))
    assert seen == ["corpus\n", ""]


def test_absolute_paths_of_the_copy_and_of_the_original_are_both_known(shop):
    class Absolute(Recording):
        def search(self, query, k):
            return [str(self.roots[0] / "shop/cart.py"), str(shop / "shop/tax.py")]

    made = run({"mine": Absolute()}, load_gold("gold.yaml"))
    assert [hit.path for hit in made.engines[0].rankings[0].hits] == ["shop/cart.py", "shop/tax.py"]


def test_engines_take_turns_and_the_first_one_rotates(shop):
    log: list[tuple[str, str]] = []
    engines = {name: Recording(name, log) for name in "abc"}
    run(engines, load_gold("gold.yaml"), forms=["human"])
    asked = [name for name, what in log if what not in ("open", "close")]
    assert asked == [*"abc", *"bca", *"cab"]
    assert [name for name, what in log if what == "open"] == [*"abc"]


def test_one_at_a_time_closes_an_engine_before_the_next_opens(shop):
    log: list[tuple[str, str]] = []
    run({name: Recording(name, log) for name in "ab"}, load_gold("gold.yaml"), forms=["human"], interleave=False)
    assert [entry for entry in log if entry[1] in ("open", "close")] == [
        ("a", "open"),
        ("a", "close"),
        ("b", "open"),
        ("b", "close"),
    ]


def test_rankings_do_not_depend_on_taking_turns(shop):
    engines: dict[str, Any] = {"mine": lambda q, k: ["shop/tax.py"] if "tax" in q else ["shop/cart.py"]}
    engines["keywords"] = make_engine("keywords")
    together = run(engines, load_gold("gold.yaml"))
    apart = run(engines, load_gold("gold.yaml"), interleave=False)
    for one, other in zip(together.engines, apart.engines, strict=True):
        assert [r.hits for r in one.rankings] == [r.hits for r in other.rankings]


def test_every_engine_is_closed_when_one_interrupts(shop, monkeypatch, tmp_path):
    log: list[tuple[str, str]] = []

    class Stopped(Recording):
        def search_within(self, query, k, seconds):
            raise KeyboardInterrupt

        def open_within(self, corpus, seconds):
            return self.open(corpus)

    (tmp_path / "passing").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "passing"))
    with pytest.raises(KeyboardInterrupt):
        run({"a": Recording("a", log), "b": Stopped("b", log)}, load_gold("gold.yaml"))
    assert {name for name, what in log if what == "close"} == {"a", "b"}
    assert not [path for path in (tmp_path / "passing").glob("*/*") if path.is_dir()]


def test_engine_that_keeps_timing_out_is_not_asked_for_ever(shop):
    asked = []

    class Slow(Recording):
        def open_within(self, corpus, seconds):
            return self.open(corpus)

        def search_within(self, query, k, seconds):
            asked.append(query)
            raise EngineTimeoutError("no answer")

    made = run({"mine": Slow()}, load_gold("gold.yaml"), max_timeouts=2, failed="report")
    statuses = {ranking.status for ranking in made.engines[0].rankings}
    assert len(asked) == 2
    assert statuses == {Status.TIMEOUT}
    assert "2 consecutive timeouts" in (made.engines[0].rankings[-1].error or "")
    asked.clear()
    run({"mine": Slow()}, load_gold("gold.yaml"), max_timeouts=0, failed="report")
    assert len(asked) == 9


def test_time_outs_between_answers_do_not_add_up(shop):
    class Moody(Recording):
        count = 0

        def open_within(self, corpus, seconds):
            return self.open(corpus)

        def search_within(self, query, k, seconds):
            Moody.count += 1
            if Moody.count % 2:
                raise EngineTimeoutError("no answer")
            return []

    made = run({"mine": Moody()}, load_gold("gold.yaml"), max_timeouts=2, failed="report")
    assert sum(ranking.status is Status.OK for ranking in made.engines[0].rankings) == 4


SECRET = "tok-9f8e7d6c5b4a"


def test_secret_is_struck_out_of_all_that_an_engine_says(shop, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "key-0123456789")

    class Leaky(Recording):
        secrets = (SECRET,)
        notes = (f"uses {SECRET}",)

        @property
        def config(self):
            return {"argv": ["tool", SECRET], "nested": {"key": ["key-0123456789"]}}

        def search(self, query, k):
            if "tax" in query:
                raise EngineError(f"refused {SECRET}")
            return EngineReply((Hit(f"x/{SECRET}.py"), Hit("key-0123456789")), notes=(f"said {SECRET}",))

        def usage(self):
            return SessionUsage(version=f"1.0 {SECRET}", stderr=f"Authorization: Bearer {SECRET}")

    made = run({"mine": Leaky()}, load_gold("gold.yaml"))
    text = repr(made)
    assert SECRET not in text
    assert "key-0123456789" not in text
    assert "***" in text


def test_path_of_the_corpus_is_kept_though_it_looks_like_a_secret(shop, monkeypatch):
    monkeypatch.setenv("SOME_TOKEN", "shop/cart.py")
    made = run({"mine": lambda q, k: ["shop/cart.py"]}, load_gold("gold.yaml"))
    assert made.engines[0].rankings[0].hits[0].path == "shop/cart.py"


def test_cost_version_and_start_up_are_recorded(shop):
    class Billed(Recording):
        def search(self, query, k):
            return EngineReply((Hit("shop/cart.py"),), Cost(1, 20))

        def usage(self):
            return SessionUsage(startup_seconds=0.5, store_bytes=7, peak_bytes=11, version="9.9", stderr="ready")

    engine = run({"mine": Billed()}, load_gold("gold.yaml")).engines[0]
    assert engine.rankings[0].cost == Cost(1, 20)
    assert engine.version == "9.9"
    assert engine.stderr == {"shop": "ready"}
    taken = engine.resources["shop"]
    assert (taken.startup_seconds, taken.index_bytes, taken.peak_bytes) == (0.5, 1007, 11)


@pytest.mark.soak  # memory is sampled
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak of a process is Linux's to tell")
def test_memory_of_an_engine_in_this_process_is_what_it_adds(shop):
    class Hungry(Recording):
        def open(self, corpus):
            self.kept = bytearray(os.urandom(1 << 20) * 64)
            return super().open(corpus)

    class Thirsty(Recording):
        def search(self, query, k):
            return [f"{len(bytearray(os.urandom(1 << 20) * 32))}.py"]

    engines = {"small": Recording(), "big": Hungry(), "thirsty": Thirsty()}
    taken = run(engines, load_gold("gold.yaml")).engines
    small, big, thirsty = (engine.resources["shop"].peak_bytes or 0 for engine in taken)
    # 64 MB and 32 MB, each with a copy for a moment; freed memory that is used again does not count
    assert 0.9 < big / (64 << 20) < 2.4
    assert 0.9 < thirsty / (32 << 20) < 2.4
    assert small < thirsty / 3


def test_parallel_engine_has_several_in_flight_and_keeps_the_order(shop):
    gate = threading.Barrier(3, timeout=300)

    class Wide(Recording):
        parallel = 3

        def open_within(self, corpus, seconds):
            return self.open(corpus)

        def search_within(self, query, k, seconds):
            time.sleep(0.01 * gate.wait())  # answers come in another order than questions
            return [Hit(query)]

    made = run({"mine": Wide()}, load_gold("gold.yaml")).engines[0]
    texts = [q.forms[f] for g in load_gold("gold.yaml").golds for q in g.queries for f in q.ordered_forms]
    assert [ranking.hits[0].path for ranking in made.rankings] == texts
    assert any("3 concurrent queries" in note for note in made.notes)


def test_engines_have_the_processors_that_were_asked_for(shop):
    seen = []

    class Looking(Recording):
        def search(self, query, k):
            seen.append((os.environ["OMP_NUM_THREADS"], len(os.sched_getaffinity(0))))
            return []

    before = os.sched_getaffinity(0)
    made = run({"mine": Looking()}, load_gold("gold.yaml"), threads=1)
    assert set(seen) == {("1", 1)}
    assert made.header.environment["pinned"] == 1
    assert os.sched_getaffinity(0) == before
    with pytest.raises(InputError, match="threads of at least 1, got 0"):
        run({"mine": Looking()}, load_gold("gold.yaml"), threads=0)


def test_engine_that_does_not_open_is_told_once_and_counted_never(shop):
    class Shut(Recording):
        def open(self, corpus):
            raise RuntimeError("no licence")

    told: list[Progress] = []
    run({"shut": Shut(), "mine": Recording()}, load_gold("gold.yaml"), failed="report", progress=told.append)
    steps = [(one.step, one.trouble) for one in told if one.engine == "shut"]
    said = "could not be opened on shop: RuntimeError: no licence → open the engine outside Assay to see the traceback"
    assert steps == [("index", ""), ("trouble", said)]
    assert len([one for one in told if one.engine == "mine" and one.step == "search"]) == 9


def test_last_words_of_an_engine_that_does_not_open_are_kept(shop):
    class Shut(Recording):
        secrets = (SECRET,)

        def open(self, corpus):
            problem = EngineError("indexing failed: last line", hint="run it")
            problem.stderr = f"Traceback in {corpus.root}\n  {SECRET}\nlast line" if self.name == "talks" else ""
            raise problem

    talks, silent = run({"talks": Shut("talks"), "silent": Shut()}, load_gold("gold.yaml"), failed="report").engines
    assert talks.stderr == {"shop": "Traceback in {root}\n  ***\nlast line"}
    assert silent.stderr == {}
    assert "indexing failed: last line" in silent.notes[0]


def test_what_a_tool_said_before_it_failed_to_open_is_kept(shop):
    index = ["sh", "-c", "echo the real reason >&2; echo try again >&2; exit 3"]
    stays = {"argv": ["sh", "-c", "echo no model >&2; exit 4"], "mode": "lines", "request": "{query}"}
    engines = {
        "index": make_engine({"kind": "command", "index": index, "argv": ["true", "{query}"]}),
        "stays": make_engine({"kind": "command", "ready": "ready", **stays}),
        "server": make_engine({"kind": "mcp", "command": stays["argv"], "tool": "search"}),
    }
    done = run(engines, load_gold("gold.yaml"), failed="report")
    made = {engine.name: engine.stderr.get("shop", "") for engine in done.engines}
    assert "the real reason" in made["index"]
    assert "no model" in made["stays"]
    assert "no model" in made["server"]


def test_stderr_of_a_tool_that_succeeds_reaches_the_report(shop, tmp_path):
    argv = ["sh", "-c", "echo WARN-model-old >&2; echo shop/cart.py:1", "{query}"]
    mine = make_engine({"kind": "command", "argv": argv})
    made = run({"mine": mine, "base": lambda q, k: []}, load_gold("gold.yaml"))
    assert "WARN-model-old" in made.engines[0].stderr["shop"]
    plan = AnalysisPlan(("nDCG@10",), "base")
    write_reports(analyze(made, plan), score_run(made, plan), tmp_path)
    assert "WARN-model-old" in everything((tmp_path / "report.html").read_bytes())
