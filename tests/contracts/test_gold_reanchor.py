"""`assay gold reanchor`: the new anchors after scripted edits, and the written files."""

import difflib
import json
from pathlib import Path

import pytest

from tests.contracts.gold import Repository, gold, isolate, transcripts, write_tree
from tests.contracts.snapshot import check


def function(name: str, topic: str) -> str:
    """Return an eight-line function that shares no words with functions on other topics."""
    words = [f"{topic}_{word}" for word in ("open", "read", "check", "join", "sort", "close")]
    body = "".join(f"    {word} = {topic}.{word}({name}, {number})\n" for number, word in enumerate(words))
    return f"def {name}({topic}):\n{body}    return {words[-1]}\n\n\n"


def module(topic: str, *names: str) -> str:
    """Return eight-line functions, each followed by two blank lines, so that they start at lines 1, 11, 21."""
    return "".join(function(name, f"{topic}_{name}") for name in names)


def edit_line(text: str, word: str) -> str:
    """Replace the line that assigns `word`."""
    return "".join("    pass\n" if f" {word} = " in line else line for line in text.splitlines(keepends=True))


SPLIT = """\
def second(split_second):
    split_second_open = split_second.split_second_open(second, 0)
    split_second_read = split_second.split_second_read(second, 1)
    split_second_check = split_second.split_second_check(second, 2)
    return second_rest(split_second)


def second_rest(split_second):
    split_second_join = split_second.split_second_join(second, 3)
    split_second_sort = split_second.split_second_sort(second, 4)
    split_second_close = split_second.split_second_close(second, 5)
    return split_second_close


"""
REWRITTEN = """\
def second(rewritten_second):
    rewritten_second_open = rewritten_second.rewritten_second_open(second, 0)
    for part in rewritten_second.parts:
        part.verify(deep=True)
        part.store.write(part.name)
        log(part.name, part.size)
    return None


"""
#: Deleted code must resemble nothing else, or equally good candidates would be listed in arbitrary order.
GONE = """\
class Ledger:
    accounts: list[str] = []

    @property
    def balance(self) -> float:
        if not self.accounts:
            raise LookupError("empty ledger")
        return max(map(len, self.accounts)) / 2


def audit(book: Ledger) -> str:
    while book.accounts:
        book.accounts.pop()
    return f"{book.balance:.2f}"
"""
DELETED = """\
def weigh(crates, *, limit=40):
    heavy = {crate.label for crate in crates if crate.kilos > limit}
    yield from sorted(heavy, key=str.casefold)


"""
#: Half of `scattered_second`, in a function with another name.
GATHERED = """\
def collect(everything):
    scattered_second_open = scattered_second.scattered_second_open(second, 0)
    scattered_second_read = scattered_second.scattered_second_read(second, 1)
    scattered_second_check = scattered_second.scattered_second_check(second, 2)
    for single in everything:
        single.announce(scattered_second_check)
    return everything.finish()
"""
README = (
    "# Guide\n\nWords.\n\n## Fruit\n\nApples are kept in the cellar, below the stairs.\n\n## Herbs\n\nDill is dried.\n"
)

#: Per edit: files before, files after (None: deleted), and the anchors to migrate.
EDITS: dict[str, tuple[dict[str, str], dict[str, str | None], list[str]]] = {
    "untouched": (
        {"same.py": module("same", "first", "second")},
        {},
        ["same.py", "same.py:1-8", "same.py::second"],
    ),
    "shifted": (
        {"shifted.py": module("shifted", "first", "second")},
        {"shifted.py": "import os\n\n\n" + module("shifted", "first", "second")},
        ["shifted.py", "shifted.py:1-8", "shifted.py::second", "shifted.py:3-4", "shifted.py:13-15#3e19f53843be"],
    ),
    "changed lines": (
        {"changed.py": module("changed", "first", "second")},
        {"changed.py": edit_line(module("changed", "first", "second"), "changed_second_check")},
        ["changed.py:11-18", "changed.py::second", "changed.py:14-14", "changed.py:13-15"],
    ),
    "rewritten": (
        {"rewritten.py": module("rewritten", "first", "second")},
        {"rewritten.py": module("rewritten", "first") + REWRITTEN},
        ["rewritten.py:11-18", "rewritten.py::second", "rewritten.py:14-17"],
    ),
    "renamed definition": (
        {"names.py": module("names", "first", "second")},
        {"names.py": module("names", "first", "second").replace("def second(", "def second_step(")},
        ["names.py:11-18", "names.py::second"],
    ),
    "renamed file": (
        {"old_name.py": module("file", "first", "second", "third")},
        {"old_name.py": None, "lib/new_name.py": module("file", "first", "second", "third")},
        ["old_name.py", "old_name.py:11-18", "old_name.py::third"],
    ),
    "renamed and edited file": (
        {"before.py": module("edited", "first", "second")},
        {"before.py": None, "after.py": edit_line(module("edited", "first", "second"), "edited_second_sort")},
        ["before.py", "before.py:1-8", "before.py::second"],
    ),
    "moved to another file": (
        {"from.py": module("moved", "first", "second"), "to.py": module("target", "first")},
        {"from.py": module("moved", "first"), "to.py": module("target", "first") + function("second", "moved_second")},
        ["from.py:11-18", "from.py::second"],
    ),
    "split definition": (
        {"split.py": module("split", "first", "second")},
        {"split.py": module("split", "first") + SPLIT},
        ["split.py:11-18", "split.py::second"],
    ),
    "split file": (
        {"whole.py": module("whole", "first", "second")},
        {"whole.py": None, "one.py": function("first", "whole_first"), "two.py": function("second", "whole_second")},
        ["whole.py", "whole.py:1-8", "whole.py:11-18", "whole.py::second"],
    ),
    "scattered lines": (
        {"scattered.py": module("scattered", "first", "second")},
        {"scattered.py": module("scattered", "first"), "gathered.py": GATHERED},
        ["scattered.py:11-18", "scattered.py::second", "scattered.py:12-14"],
    ),
    "deleted definition": (
        {"fewer.py": module("fewer", "first") + DELETED + module("fewer", "third")},
        {"fewer.py": module("fewer", "first", "third")},
        ["fewer.py:11-13", "fewer.py::weigh", "fewer.py::third"],
    ),
    "deleted file": (
        {"gone.py": GONE},
        {"gone.py": None},
        ["gone.py", "gone.py:5-8", "gone.py::audit"],
    ),
    "document": (
        {"README.md": README},
        {"README.md": README.replace("## Fruit", "## Fruit and nuts").replace("# Guide\n", "# Guide\n\nMore.\n")},
        ["README.md:5-7", "README.md:9-11"],
    ),
    "anchors that never held": (
        {"never.py": module("never", "first")},
        {},
        ["never.py:1-90", "never.py::nothing", "nowhere.py", "never.py:1-2#0123456789ab"],
    ),
}


def gold_set(revision: str, anchors: dict[str, list[str]]) -> str:
    queries = "".join(
        f"  - id: {name.replace(' ', '-')}\n"
        f"    retrieval: {{primary: {json.dumps(places)}}}\n"
        f"    cognitive: {{human: what happens to {name}?}}\n"
        for name, places in anchors.items()
    )
    return f"assay: 1\nname: moved\ncorpus: {{git: repo, rev: {revision}}}\nqueries:\n  # comments stay\n{queries}"


MORE = """\
    interference:
      - {target: "shifted.py::first", relationship: sibling, strength: weak, confusion: near}
      - {target: "gone.py::Ledger", relationship: sibling, strength: weak, confusion: far}
    labels:
      - {target: "same.py:1-8", by: [ann], commit: REVISION}
"""


@pytest.fixture(scope="module")
def edited(tmp_path_factory) -> tuple[Path, str]:
    """A repository with one commit before all edits and one after, and the id of the first."""
    repository = Repository(tmp_path_factory.mktemp("edited") / "repo")
    old = repository.commit("before", {name: text for before, _, _ in EDITS.values() for name, text in before.items()})
    repository.commit("after", {name: text for _, after, _ in EDITS.values() for name, text in after.items()})
    return repository.root, old


@pytest.fixture
def world(tmp_path, monkeypatch, edited) -> Path:
    """A gold set pinned to the first commit, next to the repository, in the current directory."""
    root = isolate(monkeypatch, tmp_path)
    repository, old = edited
    (root / "repo").symlink_to(repository)
    first, rest = gold_set(old, {name: anchors for name, (_, _, anchors) in EDITS.items()}).split("  - id: shifted\n")
    write_tree(root, {"gold.yaml": f"{first}{MORE.replace('REVISION', old)}  - id: shifted\n{rest}"})
    return root


def changes(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="", n=0)
    return "\n".join(lines)


def test_outcomes(world):
    data = gold("reanchor", "gold.yaml", "--to", "main", "--json", "--quiet").data
    check("gold_reanchor/moves.jsonl", "\n".join(json.dumps(move, ensure_ascii=False) for move in data.pop("moves")))
    check("gold_reanchor/summary.json", data)
    assert set(data["counts"]) == {"unchanged", "exact", "sure", "low", "lost"}
    assert all(data["counts"].values())


def test_text(world):
    check("gold_reanchor/text.txt", gold("reanchor", "gold.yaml", "--to", "main").transcript)
    check("gold_reanchor/text-all.txt", gold("reanchor", "gold.yaml", "--to", "main", "--all").transcript)


@pytest.mark.parametrize("flag", ["--drop-lost", "--keep-lost"])
def test_written_set(world, flag):
    before = Path("gold.yaml").read_text()
    called = gold("reanchor", "gold.yaml", "--to", "main", "--in-place", flag, "--json")
    assert called.code == 0
    notes = "\n".join(called.data["notes"])
    difference = changes(before, Path("gold.yaml").read_text())
    check(f"gold_reanchor/written{flag}.txt", f"{notes}\n{called.err}{difference}")


def test_lost_anchors_are_not_written_unasked(world):
    before = Path("gold.yaml").read_text()
    called = gold("reanchor", "gold.yaml", "--to", "main", "--in-place")
    check("gold_reanchor/refused-lost.txt", called.transcript)
    assert Path("gold.yaml").read_text() == before


def test_second_move_finds_nothing_to_do(world):
    assert gold("reanchor", "gold.yaml", "--to", "main", "--out", "moved.yaml", "--drop-lost", "--quiet").code == 0
    counts = gold("reanchor", "moved.yaml", "--to", "main", "--json", "--quiet").data["counts"]
    assert {name for name, count in counts.items() if count} == {"unchanged"}


def test_digests(world):
    before = Path("gold.yaml").read_text()
    called = gold("reanchor", "gold.yaml", "--digest", "--in-place", "--quiet")
    assert called.code == 0
    check("gold_reanchor/digests.txt", f"{called.transcript}\n{changes(before, Path('gold.yaml').read_text())}")


def test_format_without_a_corpus(world, edited):
    write_tree(world, {"code.csv": "query,result1,result2,result3\nwhere?,shifted.py:1-8:2,names.py:11-18:1,\n"})
    moved = ("reanchor", "code.csv", "--repo", "repo", "--from", edited[1], "--to", "main", "--out", "moved.csv")
    assert gold(*moved, "--quiet").code == 0
    assert Path("moved.csv").read_text() == (
        "query,result1,result2,result3\nwhere?,shifted.py:4-11:2,names.py:11-18:1,\n"
    )


def test_refused_calls(world):
    write_tree(world, {"code.csv": "query,result1,result2,result3\nwhere?,shifted.py:1-8:2,,\n"})
    calls = [
        ("reanchor", "gold.yaml"),
        ("reanchor", "none.yaml", "--to", "main"),
        ("reanchor", "gold.yaml", "--to", "nosuch"),
        ("reanchor", "gold.yaml", "--to", "main", "--from=-x"),
        ("reanchor", "gold.yaml", "--to", "main", "--repo", "nowhere"),
        ("reanchor", "code.csv", "--to", "main"),
    ]
    check("gold_reanchor/refused.txt", transcripts(calls).replace(str(world), "."))
