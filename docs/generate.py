"""Write the reference pages from the program itself; a test fails when a page and the program differ."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import Field, fields, is_dataclass
from pathlib import Path
from typing import Any, cast

from assay.gold.lint.rules import RULES
from assay.scoring.measures import MEASURES
from assay.search.config import config_schema
from assay.training.adapt import AdaptConfig
from assay.training.config import TrainConfig
from docs.commands_page import commands
from docs.engines_page import MADE, engines
from docs.gate_page import gate
from docs.peers_page import peers
from docs.python_page import exit_codes, python
from docs.records_page import records
from docs.settings_page import settings
from docs.simulations_page import statistics

_Setting = tuple[str, Field[Any], object]

FOLDER = Path(__file__).parent


def measures() -> str:
    """Describe every measure with its settings."""
    rows = []
    for name, measure in MEASURES.items():
        taken = ", ".join(f"`{p.name}`: {p.expects}" for p in measure.kind.params).replace("|", "\\|")
        cut = f"{name}@k" if measure.kind.cutoff else name
        rows.append(f"| `{cut}` | {measure.about} | {taken} |")
    table = ["| measure | what it says | settings |", "|---|---|---|", *rows]
    return "\n\n".join(["# Measures", MADE, "\n".join(table), _GRADES, _CUT]) + "\n"


_GRADES = """## Grades

The gain of nDCG is the grade that the gold set gives. `primary` targets have grade 2 and `secondary` ones grade 1;
TREC, BEIR, CodeSearchNet and CSV sets keep their own grades, any whole number from 1 on. A native set states other
grades as lists by grade, where 0 is judged and not relevant:

```yaml
# one query of a gold set with four grades
retrieval:
  grades:
    3: [docs/install.md]
    1: [docs/faq.md, docs/upgrade.md]
    0: [docs/license.md]
```

What was judged irrelevant counts for `Judged@k` alone, and is in the qrels that a run writes. `grade=2` makes a measure
count targets of grade 2 and above; it does not apply to a query that has none. [Measures of other
tools](../how-we-know/measures.md) says where trec_eval, ir_measures, pytrec_eval and ranx compute the same numbers."""


_CUT = """## Which comes first, the cutoff or the folding of results of one file?

The cutoff. An engine is asked for k results and `@k` keeps the first k as it returned them. At file level the results
of one file are one answer, at the rank of the first of them among the different files; the places of the others are
not filled up with what stands below the cutoff.

So two cutoffs can disagree about one list. The right file is `c.py`, and the engine returns

| place in the list | 1 | 2 | 3 | 4 | 5 | 6 |
|---|---|---|---|---|---|---|
| result | `a.py:1-9` | `a.py:20-30` | `b.py:1-5` | `a.py:40-44` | `b.py:9-12` | `c.py:3-8` |

Of the different files `c.py` is the third, and place 6 is inside the first 10: `RR@10` = 1/3. Of the first 5 results
none is of `c.py`: `Hit@5` = 0. At line level nothing is folded: `RR(level=lines)@10` = 1/6."""


def lint() -> str:
    """Describe every rule of `assay gold lint`, by its family."""
    parts = ["# Rules of `assay gold lint`", MADE, _LINT]
    for family, about in _FAMILIES.items():
        rows = [
            f"| {rule.code} | {rule.name} | {rule.severity}{', `--fix`' if rule.fixable else ''} | {rule.about} "
            f"{rule.advice} |"
            for rule in RULES
            if rule.code.startswith(family)
        ]
        parts += [
            f"## {family}: {about}",
            "\n".join(["| code | name | severity | what and why |", "|---|---|---|---|", *rows]),
        ]
    return "\n\n".join(parts) + "\n"


_FAMILIES = {
    "G1": "anchors and the corpus",
    "G2": "answers that lie elsewhere",
    "G3": "labels that do not stand apart",
    "G4": "words",
    "G5": "what engines can return",
    "G6": "the set as a whole",
}

_LINT = """\
`assay gold lint SET...` looks at gold sets in any format, on the corpus they name. It ends with 2 when there are
errors, under `--strict` when there are warnings too. `--select` and `--ignore` take codes, which may be cut short: `G2`
is all that begin so. A code keeps its meaning for good.

A rule tells only what can be decided: a finding is a fact about the set and the code that can be looked up. `--fix`
repairs what is certain (the findings marked `[--fix]`), shows what it changed, and changes nothing when run again.

As a hook of pre-commit, for every file called like `gold.yaml`, `gold-2.yaml` or `shop-gold.yaml`:

```yaml
- repo: …/assay      # the git repository that you have Assay from
  rev: …
  hooks:
    - id: assay-gold-lint
```

`--reach FILE` names the chunks of an engine, one JSON object a line: `{"path": "src/a.py", "start": 1, "end": 20}`.
Then G503 and G504 tell which labels that engine can never return, beside those that engines of definitions cannot.
`--reach builtin` asks the same of Assay's own engine.

A set whose corpus is a remote repository is linted on a local clone, without the network, by git's own means:
`git config --global url.file:///clones/chi.insteadOf https://github.com/go-chi/chi.git`."""


def training() -> str:
    """Describe what a recipe of `assay train` may say."""
    whole = _recipe(TrainConfig())
    other = [one for one in _recipe(AdaptConfig()) if one[0].partition(".")[0] not in _SHARED]
    parts = ["# Training a model of your own", MADE, _TRAINING, _settings(whole), _ADAPTING, _settings(other)]
    return "\n\n".join(parts) + "\n"


def _settings(listed: list[_Setting]) -> str:
    """Show settings as a table."""
    rows = [f"| `{name}` | `{json.dumps(value)}` | {field.metadata['about']} |" for name, field, value in listed]
    return "\n".join(["| setting | default | meaning |", "|---|---|---|", *rows])


def _recipe(config: object) -> list[_Setting]:
    """List the settings of a recipe, those outside a table first, as TOML has them."""
    return sorted(_iter_settings(config, ""), key=lambda one: "." in one[0])


def _iter_settings(record: object, prefix: str) -> Iterator[_Setting]:
    for field in fields(cast(Any, record)):
        value = getattr(record, field.name)
        if is_dataclass(value):
            yield from _iter_settings(value, f"{prefix}{field.name}.")
        else:
            yield f"{prefix}{field.name}", field, value


_SHARED = ("mining", "kinds", "seed", "threads")  # what both kinds of recipes say in the same way


_TRAINING = """\
`assay train FOLDER --out DIR` learns word vectors and a table of translations from the git repositories in a folder,
and writes DIR/model. It needs `pip install '.[train]'` in a checkout; a search needs numpy only:

<!-- not run: it learns for minutes; tests/training/test_train.py takes seconds, tests/cli/test_search.py has --set -->

```sh
assay train ~/code --recipe recipe.toml --out trained
assay search "where are retries limited?" \\
  --set dense.model=static:trained/model --set translation.model=static:trained/model
```

A recipe is a TOML file; what it leaves out is as in the table below.

<!-- a recipe of assay train -->

```toml
seed = 1

[vectors]
steps = 1000
hard.share = 0.25
```

The same repositories, recipe, seed and versions of Assay, numpy and scipy on the same kind of processor give the same
model, byte for byte. A run that was interrupted goes on when the same command is given again."""

_ADAPTING = """\
## Adapting a model to one code base

`assay train --adapt REPO --out DIR` starts from the model that ships with Assay, or from the one that `--from` names,
and learns the words of one git repository, a checkout or a bare one:

<!-- not run: it learns from a repository of yours; tests/training/test_adapt.py adapts to a small one -->

```sh
assay train --adapt ~/code/shop --out adapted
assay search "where are retries limited?" \\
  --set dense.model=static:adapted/model --set translation.model=static:adapted/model
```

What happens:

1. Comments, names, paths, headings and commits are mined as for any training, whatever the licence: it is your code.
2. A quarter of the documented files is drawn by the hash of the path and the seed, more where there are few, and kept
   for the test. None of them is learned from, nor any commit that touches one.
3. The words of the rest that the model does not know get a vector, all vectors are moved for a few steps, and half of
   that way is taken: what the model knew before counts as much as what it learned.
4. The comments of the files kept for the test are asked as questions, each without its comment in the code. Old and
   adapted model rank all definitions of the repository as a dense search does; nDCG@10 is compared question by question
   by the paired test of `assay compare`, with files as what was drawn.
5. The verdict is *better*, *worse* or *not shown to be better*. DIR/model is written only if it is *better*; else the
   old model is kept, and the smallest difference that could have shown is named. Either way the exit code is 0.

The test speaks of the model alone, on questions that are comments of the same repository: it is not the whole search,
and not the questions of people. Translations stay those of the model that it starts from. The adapted model names words
of the code in its vocabulary.txt, so treat it like the code.

A repository with fewer than 12 documented files is refused. One with 3,354 files took a minute on two cores. `mining`,
`kinds`, `seed` and `threads` of a recipe are as above; the rest is:"""


def search_schema() -> str:
    """Describe the settings of a search for editors."""
    return json.dumps(config_schema(), indent=2, ensure_ascii=False) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "guides/training.md": training,
    "how-we-know/gate.md": gate,
    "how-we-know/peers.md": peers,
    "how-we-know/statistics.md": statistics,
    "reference/commands.md": commands,
    "reference/engines.md": engines,
    "reference/exit-codes.md": exit_codes,
    "reference/json.md": records,
    "reference/lint.md": lint,
    "reference/measures.md": measures,
    "reference/python.md": python,
    "reference/settings.md": settings,
    "../src/assay/data/schemas/search.schema.json": search_schema,
}


if __name__ == "__main__":
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding="utf-8")
