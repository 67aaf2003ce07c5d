"""kill -9 at random instants: the old state or the new one, and a resumed command gives the same bytes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.attacks.outside import Attack, World, kill_often, results, tree

RUN = (
    "run",
    "--gold",
    "gold.yaml",
    "--engine",
    "builtin",
    "--engine",
    "keywords",
    "--quiet",
    "--no-times",
    "--jobs",
    "1",
)
#: The same with worker processes, which die too.
PARALLEL = (*RUN[:-1], "2")


def ask(world: World) -> str:
    done = world.assay("search", "total of items", "--json", "--no-snippets")
    assert done.code == 0, done
    return json.dumps([(hit["path"], hit["score"]) for hit in json.loads(done.out)["hits"]])


def test_kill_index(world: World, attack: Attack) -> None:
    changing = world.repo / "shop" / "changing.py"
    states = ("def total_of_items(): ...\n" * 30, "class Other:\n    total = 1\n" * 400)
    known = []
    for text in states:
        changing.write_text(text)
        known.append(ask(world))
    assert known[0] != known[1]

    def check() -> str | None:
        answer = ask(world)
        return None if answer == known[states.index(changing.read_text())] else f"another answer: {answer}"

    kill_often(world, attack, ("index", "--workers", "2"), lambda n: changing.write_text(states[n % 2]), check)


def test_kill_run_and_resume(world: World, attack: Attack) -> None:
    assert world.assay(*RUN).code == 0
    whole = results(world)
    cache = world.base / "cache"

    def prepare(number: int) -> None:
        if number % 2:  # no cells; every other time, no results either
            shutil.rmtree(cache)
        if number % 4 > 1:
            shutil.rmtree(world.repo / "results")

    def check() -> str | None:
        left = results(world) if (world.repo / "results" / "results.json").exists() else whole
        # a run that was killed while it wrote the times is complete; the next one removes the file
        if {name: data for name, data in left.items() if not name.startswith(".timings.json.")} != whole:
            return f"half a run: {sorted(left)}"
        done = world.assay(*RUN)
        return None if done.code == 0 and results(world) == whole else f"resumed: {done}"

    kill_often(world, attack, PARALLEL, prepare, check)


def test_kill_review_votes(world: World, attack: Attack) -> None:
    assert world.assay("gold", "review", "gold.yaml", "--queue-labels").code == 0
    listed = json.loads(world.assay("gold", "review", "gold.yaml", "--list", "--json").out)
    items = [item["item"] for item in listed["items"]]
    votes = world.repo / "gold.review" / "votes" / "ada.jsonl"
    before: list[bytes] = []

    def prepare(number: int) -> None:
        before[:] = [votes.read_bytes() if votes.exists() else b""]

    def check() -> str | None:
        after = votes.read_bytes() if votes.exists() else b""
        if not after.startswith(before[0]):
            return f"votes were lost: {before[0]!r} {after!r}"
        done = world.assay("gold", "review", "gold.yaml", "--reviewer", "ada", "--list", "--json")
        return None if done.code == 0 else str(done)

    flags = [flag for item in items for flag in ("--vote", f"{item}=2", "--reason", "it is the one")]
    kill_often(world, attack, ("gold", "review", "gold.yaml", "--reviewer", "ada", *flags), prepare, check)
    assert world.assay("gold", "review", "gold.yaml", "--reviewer", "ada", *flags).code == 0
    open_items = json.loads(world.assay("gold", "review", "gold.yaml", "--reviewer", "ada", "--list", "--json").out)
    assert not open_items["items"]


def test_kill_reanchor_in_place(world: World, attack: Attack) -> None:
    cart = world.repo / "shop" / "retry.py"
    cart.write_text("# moved\n" * 40 + cart.read_text())
    world.git("commit", "-qam", "second")
    gold = world.repo / "gold.yaml"
    old = gold.read_bytes()
    command = ("gold", "reanchor", "gold.yaml", "--from", "HEAD~1", "--to", "HEAD", "--in-place")
    assert world.assay(*command).code == 0
    new = gold.read_bytes()
    assert old != new

    def check() -> str | None:
        if gold.read_bytes() not in (old, new):
            return f"half a file: {gold.read_bytes()!r}"
        left = list(world.repo.glob(".gold.yaml.*"))  # the file that was being written; nobody can remove it in time
        for path in left:
            path.unlink()
        return f"files were left: {left}" if len(left) > 1 else None

    kill_often(world, attack, command, lambda number: gold.write_bytes(old), check)
    gold.write_bytes(old)
    assert world.assay(*command).code == 0
    assert gold.read_bytes() == new


def test_kill_ledger(world: World, attack: Attack) -> None:
    assert world.assay(*RUN).code == 0
    ledger = world.repo / "ledger.jsonl"
    before: list[bytes] = []

    def check() -> str | None:
        done = world.assay("ledger", "verify")
        after = ledger.read_bytes() if ledger.exists() else b""
        if done.code or not after.startswith(before[0]):
            return f"{done} {after[-300:]!r}"
        return None

    def prepare(number: int) -> None:
        before[:] = [ledger.read_bytes() if ledger.exists() else b""]

    command = ("ledger", "add", "results", "--engine", "builtin", "--baseline", "keywords", "--allow-duplicate")
    kill_often(world, attack, command, prepare, check)


def test_kill_cache_prune(world: World, attack: Attack) -> None:
    assert world.assay(*RUN).code == 0
    assert world.assay("index").code == 0
    whole, cache, saved = results(world), world.base / "cache", world.base / "saved"
    answer = ask(world)
    shutil.copytree(cache, saved)
    number = 0

    def prepare(_: int) -> None:
        shutil.rmtree(cache)
        shutil.copytree(saved, cache)

    def check() -> str | None:
        nonlocal number
        number += 1
        done = world.assay("cache", "verify")
        if done.code:
            return f"verify: {done}"
        if number % 5:
            return None
        done = world.assay(*RUN)
        return None if done.code == 0 and results(world) == whole and ask(world) == answer else f"resumed: {done}"

    kill_often(world, attack, ("cache", "prune", "--older-than", "0h"), prepare, check)


@pytest.mark.parametrize("command", ["gold split", "gate --write-baseline"])
def test_kill_writer_of_a_file(world: World, attack: Attack, command: str) -> None:
    gold = world.repo / "gold.yaml"
    text = gold.read_bytes()
    assert world.assay(*RUN).code == 0
    lines = {
        "gold split": ("gold", "split", "gold.yaml", "--sealed", "0"),
        "gate --write-baseline": ("gate", "results", "--write-baseline", "baseline.json"),
    }
    made = ("assay.toml", "baseline.json", ".gitattributes")

    def clean(_: int) -> None:
        for name in made:
            (world.repo / name).unlink(missing_ok=True)
        gold.write_bytes(text)

    clean(0)
    done = world.assay(*lines[command])
    assert done.code == 0, done
    whole = tree(world.repo, ".lock")

    def check() -> str | None:
        now = tree(world.repo, ".lock")
        if now["gold.yaml"] not in (text, whole["gold.yaml"]):
            return "half a gold file"
        return next((f"half a file: {name}" for name in made if name in now and now[name] != whole.get(name)), None)

    kill_often(world, attack, lines[command], clean, check, times=20)


def test_kill_leaves_no_files_in_the_temporary_folder(world: World, attack: Attack) -> None:
    temporary = world.base / "tmp"
    temporary.mkdir()
    env = world.env(TMPDIR=str(temporary))
    for _ in range(3):
        done = world.assay(*RUN, env=env)
        attack.expect(done.code == 0 and not list(temporary.iterdir()), f"{done} {list(temporary.iterdir())}")
    assert Path(temporary).is_dir()
