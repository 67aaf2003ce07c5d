"""Several files under stable names, replaced as one: old or new, and a diff shows what changed."""

import difflib
import multiprocessing
import os
import random
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from assay.errors import InputError
from assay.experiment import check_directory, lock_directory, read_run, write_run
from assay.experiment.records.directory import COMMITTED, MANIFEST, STAGED, file_names, read_snapshot
from assay.types import EngineRun, Hit, Query, Ranking, Run, Span, Suite, Target
from tests.experiment.test_records import example
from tests.waiting import wait_until


def numbered(number: int) -> Run:
    """A run whose every member says its number, so that a mixture would show."""
    base = example()
    ranking = Ranking("g", "q1", "human", (Hit(f"a{number}.py"),), (number,))
    engines = (replace(base.engines[0], rankings=(ranking,)), EngineRun(f"e{number % 3}", (ranking,)))
    gold = replace(base.suite.golds[0], provenance={"number": str(number)})
    return replace(base, k=number, engines=engines, suite=Suite((gold,)), lines={"g": {"a.py": (number,)}})


def number_of(run: Run) -> int:
    """Check that all members are of one run, and name it."""
    assert run == numbered(run.k)
    return run.k


def _write_for_ever(folder: str, first: int) -> None:
    for number in range(first, first + 10**6):
        write_run(numbered(number), Path(folder))


@contextmanager
def writer(folder: Path, first: int) -> Iterator[None]:
    """Have another process write one run after the other, and kill it in the end."""
    child = multiprocessing.get_context("spawn").Process(target=_write_for_ever, args=(str(folder), first))
    child.start()
    try:
        yield
    finally:
        child.kill()
        child.join()


def test_reader_beside_a_busy_writer_never_sees_a_mixture_nor_when_it_is_killed(tmp_path):
    write_run(numbered(1), tmp_path)
    seen = set()

    def look() -> bool:
        seen.add(number_of(read_run(tmp_path)))
        return len(seen) >= 10

    with writer(tmp_path, 2):
        wait_until(look, "ten runs")
    assert number_of(read_run(tmp_path)) >= max(seen)


@pytest.mark.soak
def test_writer_killed_at_fifty_instants_leaves_the_old_run_or_the_new_one(tmp_path):
    write_run(numbered(1), tmp_path)
    rng = random.Random(0)
    for _ in range(50):
        before = number_of(read_run(tmp_path))
        with writer(tmp_path, before + 1):
            wait_until(lambda: number_of(read_run(tmp_path)) > before, "the writer to write")  # noqa: B023
            time.sleep(rng.uniform(0.0, 0.02))
        assert number_of(read_run(tmp_path)) > before


class Cut(BaseException):
    """The power goes."""


def cut_at(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Let the step-th change of the disk be the last one."""
    left = [step]
    for module, name in ((os, "replace"), (os, "rename"), (os, "unlink"), (shutil, "rmtree")):
        monkeypatch.setattr(module, name, _counting(getattr(module, name), left))


def _counting(real, left):
    def call(*args, **kwargs):
        if left[0] <= 0:
            raise Cut
        left[0] -= 1
        return real(*args, **kwargs)

    return call


@pytest.mark.parametrize("first", [True, False], ids=["first", "second"])
def test_every_step_of_a_writer_may_be_its_last(tmp_path, monkeypatch, first):
    """Cut at each step in turn: what is read is one of the two, and the next writer goes on from there."""
    seen = set()
    for step in range(100):
        folder = tmp_path / str(step)
        if not first:
            write_run(numbered(1), folder)
        try:
            with monkeypatch.context() as patched:
                cut_at(patched, step)
                write_run(numbered(2), folder)
        except Cut:
            seen.add(_state(folder))
            check_directory(folder)
            with lock_directory(folder):
                write_run(numbered(3), folder)
            assert number_of(read_run(folder)) == 3
            assert _tidy(folder)
        else:
            break
    assert step > 8
    assert seen == ({None, 2} if first else {1, 2})


def _state(folder: Path) -> int | None:
    """Name the run that is there."""
    if (folder / MANIFEST).exists() or (folder / COMMITTED / MANIFEST).exists():
        return number_of(read_run(folder))
    with pytest.raises(InputError, match="no run found"):
        read_run(folder)
    return None


def _tidy(folder: Path) -> bool:
    """Tell whether only a run is there."""
    names = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    engines = {f"engines/{name}.jsonl" for name in ("my-engine-v2-d846de", "e0")}
    return names == {MANIFEST, "gold.jsonl", "lines.jsonl", ".assayignore", ".gitignore", ".lock", *engines}


def test_two_writers_take_turns(tmp_path):
    threads = [threading.Thread(target=write_run, args=(numbered(n), tmp_path)) for n in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert number_of(read_run(tmp_path)) in range(1, 9)
    assert not (tmp_path / COMMITTED).exists()
    assert not (tmp_path / STAGED).exists()


def test_member_of_another_generation_is_refused(tmp_path):
    write_run(numbered(1), tmp_path)
    old = (tmp_path / "lines.jsonl").read_bytes()
    write_run(numbered(2), tmp_path)
    (tmp_path / "lines.jsonl").write_bytes(old)
    with pytest.raises(InputError, match=r"lines\.jsonl was changed after the run"):
        read_snapshot(tmp_path)


def grown(base: Run) -> Run:
    """The same with one query put before the others, as people do."""
    gold = base.suite.golds[0]
    query = Query("q0", {"human": "new"}, (Target(Span("new.py")),), line=4)
    later = tuple(replace(q, line=(q.line or 0) + 9) for q in gold.queries)
    engines = tuple(
        replace(e, rankings=(Ranking("g", "q0", "human", (Hit("new.py"),), (3,)), *e.rankings)) for e in base.engines
    )
    lines = {"g": {**base.lines["g"], "new.py": (3,)}}
    header = replace(base.header, gold_hash="f" * 16)
    suite = Suite((replace(gold, queries=(query, *later)),))
    return replace(
        base, suite=suite, engines=engines, lines=lines, hashes={**base.hashes, "g/q0": "eeee"}, header=header
    )


def several() -> Run:
    """A run with several queries and engines."""
    base = example()
    queries = tuple(replace(base.suite.golds[0].queries[0], id=f"q{n}", line=10 * n) for n in range(1, 6))
    rankings = tuple(Ranking("g", q.id, "human", (Hit("a/b.py"),), (3,)) for q in queries)
    engines = tuple(EngineRun(name, rankings, config={"kind": name}) for name in ("one", "two"))
    suite = Suite((replace(base.suite.golds[0], queries=queries),))
    return replace(base, suite=suite, engines=engines, hashes={f"g/{q.id}": "ffff" for q in queries})


def texts(folder: Path) -> dict[str, list[str]]:
    return {
        p.relative_to(folder).as_posix(): p.read_text().splitlines() for p in folder.rglob("*.json*") if p.is_file()
    }


def changed(before: dict[str, list[str]], after: dict[str, list[str]]) -> dict[str, tuple[int, int]]:
    """Count the lines that left and that came, file by file, where some did."""
    assert before.keys() == after.keys(), "a member was renamed"
    found = {}
    for name in before:
        marks = [line[0] for line in difflib.ndiff(before[name], after[name])]
        if "-" in marks or "+" in marks:
            found[name] = (marks.count("-"), marks.count("+"))
    return found


def test_new_query_changes_only_the_lines_that_are_about_it(tmp_path):
    write_run(several(), tmp_path)
    before = texts(tmp_path)
    write_run(grown(several()), tmp_path)
    found = changed(before, texts(tmp_path))
    manifest = found.pop("run.json")
    # The set's line and the header of each engine hold counts and hashes of the set.
    assert found == {
        "gold.jsonl": (1, 2),
        "lines.jsonl": (0, 1),
        "engines/one.jsonl": (1, 2),
        "engines/two.jsonl": (1, 2),
    }
    assert manifest == (5, 6)  # the hash of the set and of four members; and the new query's own


def test_changed_engine_changes_only_its_own_lines(tmp_path):
    made = several()
    write_run(made, tmp_path)
    before = texts(tmp_path)
    rankings = list(made.engines[1].rankings)
    rankings[2] = replace(rankings[2], hits=(Hit("c.py"),))
    write_run(replace(made, engines=(made.engines[0], replace(made.engines[1], rankings=tuple(rankings)))), tmp_path)
    assert changed(before, texts(tmp_path)) == {"engines/two.jsonl": (1, 1), "run.json": (1, 1)}


def test_order_of_settings_and_of_line_tables_changes_nothing(tmp_path):
    made = several()
    settings = {"b": {"y": 1, "x": [{"q": 1, "p": 2}]}, "a": 2}
    shuffled = {"a": 2, "b": {"x": [{"p": 2, "q": 1}], "y": 1}}
    lines = {"g": {"b.py": (1,), "a.py": (2,)}}
    write_run(replace(made, engines=(replace(made.engines[0], config=settings),), lines=lines), tmp_path / "one")
    other = {"g": dict(reversed(lines["g"].items()))}
    write_run(replace(made, engines=(replace(made.engines[0], config=shuffled),), lines=other), tmp_path / "two")
    assert texts(tmp_path / "one") == texts(tmp_path / "two")


def test_git_takes_a_run_for_small_changes(tmp_path):
    """Git itself shows a second run as changed lines of the same files."""
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(tmp_path))
    write_run(several(), tmp_path)
    (tmp_path / "report.html").write_text("large")
    for command in (("init", "-q"), ("add", "."), ("commit", "-qm", "one")):
        subprocess.run([*git, *command], check=True, capture_output=True)
    write_run(grown(several()), tmp_path)
    said = subprocess.run([*git, "status", "--porcelain"], check=True, capture_output=True, text=True).stdout
    assert {line[:2] for line in said.splitlines()} == {" M"}
    tracked = subprocess.run([*git, "ls-files"], check=True, capture_output=True, text=True).stdout.split()
    assert "report.html" not in tracked
    assert "run.json" in tracked


def test_own_ignore_rules_of_the_user_for_git_are_kept(tmp_path):
    (tmp_path / ".gitignore").write_text("*\n")
    write_run(example(), tmp_path)
    assert (tmp_path / ".gitignore").read_text() == "*\n"


def test_folder_of_a_run_that_was_cut_off_is_taken_again(tmp_path):
    for name in (".unfinished", "shards"):
        (tmp_path / name).mkdir()
    (tmp_path / ".lock").write_bytes(b"")
    assert check_directory(tmp_path) == tmp_path


def test_file_names_are_distinct_on_every_file_system():
    names = ["mine", "Mine", "a/b", "a b", "x" * 300, "x" * 301, "...", "weights:dense=0.3,files=0.2"]
    made = file_names(names)
    assert len({name.casefold() for name in made.values()}) == len(names)
    assert all(len(name) <= 120 and "/" not in name and not name.startswith(".") for name in made.values())
    assert file_names(["mine"]) == {"mine": "mine"}
