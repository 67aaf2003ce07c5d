"""A folder of results with all that a page has to show: forms, adversaries, failures, ties, and names that attack it.

Two small repositories of a library that lends books; every word that others wrote (a gold set, a path, a file's text,
the name of an engine, an error) holds markup that would run if it were ever read as such.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from assay import Hit
from assay.experiment import read_run, write_run
from tests.running import run_experiment

#: What must never run. The page would be marked, and a test looks for the mark.
ATTACK = "</script><script>window.hacked=1</script>"
IMAGE = "<img src=x onerror=window.hacked=1>"
#: A name that turns the direction of writing, that a list of names would cut and that reads as an address.
HOSTILE_ENGINE = f'grep,b%2C\u202e "><b>{ATTACK}'
SHOWN_ENGINE = HOSTILE_ENGINE.replace("\u202e", "\ufffd")  # as pages write it
HOSTILE_PATH = "lending/<img src=x onerror=hacked()>.py"
HOSTILE_QUERY = "fines"
BASELINE = "keywords"
NEWEST = "2026 <b>newest</b>"

_TOPICS = {
    "loans": ("how is a book lent to a reader?", "lend book reader", "how is a book sold to a reader?"),
    "returns": ("what happens when a book comes back?", "return book shelf", "what happens when a book is refunded?"),
    "fines": (f"what does a late book cost? {IMAGE}", "late fee days", "what does a late parcel cost?"),
    "holds": ("who is next in line for a book?", "hold queue next", "who is next in the lottery for a book?"),
    "search": ("where are titles looked up?", "find title catalogue", "where are films looked up?"),
    "members": ("how does somebody become a reader?", "register member card", "how does somebody become a seller?"),
}
_DIFFICULTY = {"fines": "hard", "holds": "hard"}
_WORDS = ("shelf", "date", "card", "desk", "copy", "branch")


def _module(topic: str, other: str) -> str:
    """Write a module about one topic that names another one."""
    human, keyword, _ = _TOPICS[topic]
    functions = "\n\n".join(
        f'def {topic}_{word}(book, reader):\n    """{human.partition(" <")[0].capitalize()} The {word} decides."""\n'
        f'    steps = ["{keyword}", "{word}"]\n    return [step for step in steps if step in (book, reader)]\n'
        for word in _WORDS
    )
    return f'"""{topic.capitalize()}: {keyword}. See {other}."""\n\nMARK = "{ATTACK}"\n\n\n{functions}'


def write_repository(root: Path, name: str) -> Path:
    """Write one of the repositories with its gold set, and give the file of the set."""
    topics = list(_TOPICS)
    for place, topic in enumerate(topics):
        path = HOSTILE_PATH if topic == HOSTILE_QUERY else f"lending/{topic}.py"
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(_module(topic, topics[place - 1]), encoding="utf-8")
        (root / f"docs/{topic}.md").parent.mkdir(exist_ok=True)
        (root / f"docs/{topic}.md").write_text(f"# {topic}\n\n{_TOPICS[topic][0]}\n{IMAGE}\n", encoding="utf-8")
    (root / "README.md").write_text(f"# The library of the {name}\n", encoding="utf-8")
    gold = {
        "assay": 1,
        "name": f"{name}<script>window.hacked=1<&>",
        "corpus": {"path": "."},
        "queries": [*map(_query, topics)],
    }
    (root / "gold.yaml").write_text(yaml.safe_dump(gold, allow_unicode=True), encoding="utf-8")
    return root / "gold.yaml"


def _query(topic: str) -> dict[str, object]:
    """Write one query with its five layers."""
    human, keyword, wrong = _TOPICS[topic]
    topics = list(_TOPICS)
    path = HOSTILE_PATH if topic == HOSTILE_QUERY else f"lending/{topic}.py"
    other = topics[topics.index(topic) - 1]
    trap = HOSTILE_PATH if other == HOSTILE_QUERY else f"lending/{other}.py"
    return {
        "id": topic,
        "retrieval": {"primary": [f"{path}:6-9"], "secondary": [f"docs/{topic}.md"]},
        "cognitive": {"human": human, "keyword": keyword, "wrong_terminology": wrong},
        "interference": [
            {"target": trap, "relationship": "sibling", "strength": "strong", "confusion": f"same words {IMAGE}"}
        ],
        "rationale": {"owner": f"{topic}_shelf", "reason": f"it decides {IMAGE}", "boundary": f"not {other}"},
        "tags": {
            "category": "behaviour" if len(topic) > 5 else "place",
            "difficulty": "hard" if "s" in topic else "easy",
        },
    }


def backwards(query: str, k: int) -> list[Hit]:
    """Answer with the files in a wrong order, and fail on one question with words that attack."""
    if "late" in query:
        raise RuntimeError(f"no answer {ATTACK}")
    names = sorted(_TOPICS, key=lambda topic: (topic[0] not in query, topic))
    paths = [HOSTILE_PATH if topic == HOSTILE_QUERY else f"lending/{topic}.py" for topic in names]
    return [Hit(path, 1, 12, 0.5) for path in paths][:k]


def make_sample(folder: Path) -> None:
    """Run four engines over two repositories, into `results`."""
    for name in ("town", "school"):
        write_repository(folder / name, name)
    run_experiment(_SAMPLE, folder, folder / "results")


def make_runs(folder: Path, sample: Path) -> None:
    """Fill a folder that `assay serve` lists: the sample, an older run, one of other questions, and a broken one."""
    shutil.copytree(sample, folder / NEWEST)
    _edit(folder / NEWEST / "results.json", _say_within_the_margin)
    run_experiment(_OLDER, sample.parent, folder / "old")
    _edit(folder / "old/run.json", lambda data: data["header"].update(date="2020-01-01T00:00:00+00:00"))
    older = read_run(folder / "old")
    write_run(replace(older, hashes=dict.fromkeys(older.hashes, "other")), folder / "unlike")
    (folder / "broken").mkdir()
    (folder / "broken/run.json").write_text(json.dumps({"assay_run": IMAGE}), encoding="utf-8")


def _edit(file: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change a JSON file in place."""
    data = json.loads(file.read_text(encoding="utf-8"))
    change(data)
    file.write_text(json.dumps(data), encoding="utf-8")


def _say_within_the_margin(results: dict[str, Any]) -> None:
    """Have the list show a difference that is real and small."""
    results["decision"].update(outcome="slightly better")


_SAMPLE = f"""\
[run]
gold = ["town/gold.yaml", "school/gold.yaml"]
references = false
level = "file"
times = true
baseline = "{BASELINE}"
measures = ["nDCG@10", "RR@10", "Hit@1", "nDCG(level=lines)@10", "RecallAtTokens(500)"]

[engines.builtin]
kind = "builtin"

[engines.{BASELINE}]
kind = "keywords"

[engines.{json.dumps(HOSTILE_ENGINE)}]
kind = "python"
target = "tests.browser.sample:backwards"

[engines.random]
kind = "random"
"""
_OLDER = """\
[run]
gold = ["town/gold.yaml", "school/gold.yaml"]
references = false
level = "file"
baseline = "builtin"
measures = ["nDCG@10", "RR@10"]

[engines.builtin]
kind = "builtin"
search = {dense = {model = ""}, stem = {files = 0.0}}
"""
