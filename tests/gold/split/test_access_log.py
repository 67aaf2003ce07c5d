"""Every access to sealed queries is logged beside the set."""

import subprocess
import sys
from pathlib import Path

import pytest

import assay
from assay.errors import GoldError
from assay.gold.access_log import log_access, read_access_log
from assay.gold.split import access_log_path
from assay.types import CorpusSpec, GoldSet, Query, Span, Suite, Target
from tests.waiting import WATCHDOG


def gold(path, *parts):
    if path is not None and path.parent.is_dir():
        path.touch()
    queries = tuple(
        Query(f"q{n}", {"human": f"{n}?"}, (Target(Span("a.py")),), tags={"split": part})
        for n, part in enumerate(parts)
    )
    return GoldSet("g", CorpusSpec("path", "."), queries, source=None if path is None else str(path))


def test_an_entry_has_user_time_command_engines_and_count(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    (tmp_path / "gitconfig").write_text("[user]\n\tname = Ada Example\n")
    path = tmp_path / "gold.yaml"
    files = log_access(Suite((gold(path, "dev", "sealed", "sealed"),)), "run", ["mine", "keywords"])
    assert files == (tmp_path / "gold.looks.jsonl",)
    (access,) = read_access_log(path)
    assert (access.who, access.command, access.engines, access.sealed) == (
        "Ada Example",
        "run",
        ("mine", "keywords"),
        2,
    )
    assert len(access.gold) == 16
    assert access.when.endswith("+00:00")


def test_accesses_add_up_and_unsealed_sets_have_none(tmp_path):
    path = tmp_path / "gold.yaml"
    for _ in range(3):
        log_access(Suite((gold(path, "sealed"),)), "score", [])
    log_access(Suite((gold(path, "dev"),)), "run", [])
    assert [access.command for access in read_access_log(path)] == ["score"] * 3
    assert read_access_log(tmp_path / "other.yaml") == ()


def test_a_set_without_a_file_has_nowhere_to_write(tmp_path):
    assert log_access(Suite((gold(None, "sealed"),)), "run", []) == ()
    assert log_access(Suite((gold(tmp_path / "gone" / "g.yaml", "sealed"),)), "run", []) == ()


def test_a_damaged_log_is_told_with_its_line(tmp_path):
    access_log_path(tmp_path / "gold.yaml").write_text("no JSON\n")
    with pytest.raises(GoldError, match="invalid JSON") as caught:
        read_access_log(tmp_path / "gold.yaml")
    assert caught.value.line == 1


@pytest.mark.parametrize("damage", [b'{"when": "2026', b"\xff\xfe\x00"])
def test_half_a_line_of_a_log_is_told_and_not_overwritten(tmp_path, damage):
    path = tmp_path / "gold.yaml"
    path.touch()
    suite = Suite((gold(path, "sealed"),))
    log_access(suite, "run", [])
    with open(access_log_path(path), "ab") as log:
        log.write(damage)
    for _ in range(2):
        with pytest.raises(GoldError) as caught:
            read_access_log(path)
        assert caught.value.line == 2
        log_access(suite, "score", [])
    assert damage in access_log_path(path).read_bytes()


LOOKER = """\
import sys
from assay.gold.access_log import log_access
from assay.gold import load_gold
suite = load_gold(sys.argv[1])
for _ in range(10):
    log_access(suite, "run", ["mine"])
"""


def test_accesses_from_several_processes_are_all_kept(tmp_path):
    path = tmp_path / "gold.yaml"
    path.write_text(
        "assay: 1\nname: g\ncorpus: {path: .}\nqueries:\n"
        "- {id: q, retrieval: {primary: [a.py]}, cognitive: {human: a?}, tags: {split: sealed}}\n"
    )
    children = [subprocess.Popen([sys.executable, "-c", LOOKER, str(path)]) for _ in range(2)]
    assert [child.wait(WATCHDOG) for child in children] == [0, 0]
    assert len(read_access_log(path)) == 20


def seal(shop: Path, name: str) -> None:
    text = (shop / "gold.yaml").read_text()
    head, mark, rest = text.partition(f"- id: {name}")
    (shop / "gold.yaml").write_text(head + mark + rest.replace("tags: {", "tags: {split: sealed, ", 1))


def test_a_run_of_the_python_interface_leaves_sealed_queries_out_and_logs_those_it_asks(shop):
    seal(shop, "retry-wait")
    suite = assay.load_gold(shop / "gold.yaml")
    engine = {"mine": lambda text, k: ["shop/cart.py"]}
    run = assay.run(engine, suite)
    assert {r.query for r in run.engines[0].rankings} == {"cart-total", "tax-lookup"}
    assert read_access_log(shop / "gold.yaml") == ()
    run = assay.run(engine, suite, split=["sealed"])
    assert {r.query for r in run.engines[0].rankings} == {"retry-wait"}
    (access,) = read_access_log(shop / "gold.yaml")
    assert (access.command, access.engines, access.sealed) == ("run", ("mine",), 1)


def test_the_log_is_no_part_of_the_corpus_it_lies_in(shop):
    seal(shop, "retry-wait")
    suite = assay.load_gold(shop / "gold.yaml")
    found = []
    for _ in range(2):
        run = assay.run({"mine": lambda text, k: ["gold.looks.jsonl"]}, suite, split=["sealed"])
        found.append(run.header.corpora["shop"].digest)
        assert run.engines[0].rankings[0].hits == ()
    assert found[0] == found[1]
