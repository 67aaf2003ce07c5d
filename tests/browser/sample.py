"""A folder of results with all that a page has to show: forms, adversaries, failures, ties, and names that attack it.

Two small repositories of a library that lends books; every word that others wrote (a gold set, a path, a file's text,
the name of an engine, an error) holds markup that would run if it were ever read as such.
"""

from __future__ import annotations

from pathlib import Path

import yaml

from assay.engines import make_engine
from assay.experiment.running.turns import Searcher, run
from assay.gold import load_gold
from assay.report import publish
from assay.types import Claim, Hit, Suite

#: What must never run. The page would be marked, and a test looks for the mark.
ATTACK = "</script><script>window.hacked=1</script>"
IMAGE = "<img src=x onerror=window.hacked=1>"
#: A name that turns the direction of writing, that a list of names would cut and that reads as an address.
HOSTILE_ENGINE = f'grep,b%2C\u202e "><b>{ATTACK}'
SHOWN_ENGINE = HOSTILE_ENGINE.replace("\u202e", "\ufffd")  # as pages write it
HOSTILE_PATH = "lending/<img src=x onerror=hacked()>.py"
HOSTILE_QUERY = "fines"
BASELINE = "keywords"

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


def _backwards(query: str, k: int) -> list[Hit]:
    """Answer with the files in a wrong order, and fail on one question with words that attack."""
    if "late" in query:
        raise RuntimeError(f"no answer {ATTACK}")
    names = sorted(_TOPICS, key=lambda topic: (topic[0] not in query, topic))
    paths = [HOSTILE_PATH if topic == HOSTILE_QUERY else f"lending/{topic}.py" for topic in names]
    return [Hit(path, 1, 12, 0.5) for path in paths][:k]


def make_sample(folder: Path) -> Path:
    """Run four engines over two repositories and give the folder of results, reports and all."""
    golds = [load_gold(write_repository(folder / name, name)).golds[0] for name in ("town", "school")]
    engines: dict[str, Searcher] = {
        "builtin": make_engine("builtin"),
        BASELINE: make_engine("keywords"),
        HOSTILE_ENGINE: _backwards,
        "random": make_engine("random"),
    }
    made = run(engines, Suite(tuple(golds)), k=10, cache=folder / "cache")
    claim = Claim(("nDCG@10", "RR@10", "Hit@1", "nDCG(level=lines)@10", "RecallAtTokens(500)"), BASELINE)
    publish(made, claim, folder / "results")
    return folder / "results"
