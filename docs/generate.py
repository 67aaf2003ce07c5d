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
from docs.attacks_page import attacks
from docs.commands_page import commands
from docs.engines_page import MADE, engines
from docs.gate_page import gate
from docs.peers_page import peers
from docs.python_page import exit_codes, python
from docs.records_page import records
from docs.settings_page import settings
from docs.simulations_page import statistics

_Setting = tuple[str, Field[Any], object]

DIR = Path(__file__).parent


def measures() -> str:
    """Describe every measure with its settings."""
    rows = []
    for name, measure in MEASURES.items():
        taken = ", ".join(f"`{p.name}`: {p.expects}" for p in measure.kind.params).replace("|", "\\|")
        cut = f"{name}@k" if measure.kind.cutoff else name
        rows.append(f"| `{cut}` | {measure.about} | {taken} |")
    table = ["| measure | meaning | parameters |", "|---|---|---|", *rows]
    return "\n\n".join(["# Measures", MADE, "\n".join(table), _GRADES, _CUT]) + "\n"


_GRADES = """## Grades

The gain of nDCG is the grade in the gold set: 2 for `primary` targets, 1 for `secondary` ones. TREC, BEIR,
CodeSearchNet and CSV sets keep their grades (any integer from 1). A native set can list targets by grade; 0 is judged
irrelevant and counts for `Judged@k` only:

```yaml
# one query of a gold set with four grades
retrieval:
  grades:
    3: [docs/install.md]
    1: [docs/faq.md, docs/upgrade.md]
    0: [docs/license.md]
```

`grade=2` counts only targets of grade 2 and above; queries without one are left out. [Measures of other
tools](../how-we-know/measures.md) compares these measures with trec_eval, ir_measures, pytrec_eval and ranx."""


_CUT = """## Cutoff and de-duplication

`@k` keeps the first k results as returned. At file level, results of one file then count as one, at the rank of the
first among the different files; results below the cutoff do not move up. Two cutoffs can therefore give different
ranks for the same list. For the target `c.py` and the results

| position | 1 | 2 | 3 | 4 | 5 | 6 |
|---|---|---|---|---|---|---|
| result | `a.py:1-9` | `a.py:20-30` | `b.py:1-5` | `a.py:40-44` | `b.py:9-12` | `c.py:3-8` |

`c.py` is the third file: `RR@10` = 1/3. It is not in the first five results: `Hit@5` = 0. By lines, nothing is
de-duplicated: `RR(level=lines)@10` = 1/6."""


def lint() -> str:
    """Describe every rule of `assay gold lint`, by its family."""
    parts = ["# Lint rules", MADE, _LINT]
    for family, about in _FAMILIES.items():
        rows = [
            f"| {rule.code} | {rule.name} | {rule.severity}{', `--fix`' if rule.fixable else ''} | {rule.about} "
            f"{rule.advice} |"
            for rule in RULES
            if rule.code.startswith(family)
        ]
        parts += [
            f"## {family}: {about}",
            "\n".join(["| code | name | severity | meaning |", "|---|---|---|---|", *rows]),
        ]
    return "\n\n".join(parts) + "\n"


_FAMILIES = {
    "G1": "anchors and corpus",
    "G2": "targets defined elsewhere",
    "G3": "indistinct labels",
    "G4": "query wording",
    "G5": "reachability",
    "G6": "the whole set",
}

_LINT = """\
`assay gold lint SET...` checks gold sets in any format against their corpora. It exits with 2 on errors, with
`--strict` on warnings too. `--select` and `--ignore` take codes or prefixes (`G2`). Codes never change their meaning.
Every finding is a fact that can be looked up in the code; `--fix` repairs the findings marked `[--fix]` and prints
what it changed.

As a pre-commit hook, for files named like `gold.yaml`, `gold-2.yaml` or `shop-gold.yaml`:

```yaml
- repo: …/assay      # the Git repository you have Assay from
  rev: …
  hooks:
    - id: assay-gold-lint
```

`--reach FILE` lists the chunks of an engine, one JSON object per line
(`{"path": "src/a.py", "start": 1, "end": 20}`); G503 and G504 then report labels that this engine can never return.
`--reach builtin` does the same for the built-in engine.

To lint a set on a remote repository offline, redirect Git to a local clone:
`git config --global url.file:///clones/chi.insteadOf https://github.com/go-chi/chi.git`."""


def training() -> str:
    """Describe the keys of a recipe of `assay train`."""
    other = [one for one in _recipe(AdaptConfig()) if one[0].partition(".")[0] not in _SHARED]
    parts = ["# Keys of a training recipe", MADE, _TRAINING, _settings(_recipe(TrainConfig())), _ADAPTING]
    return "\n\n".join([*parts, _settings(other)]) + "\n"


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


_SHARED = ("mining", "kinds", "seed", "threads")  # keys that both kinds of recipes have


_TRAINING = """\
A recipe is a TOML file for `--recipe` of `assay train` with the keys that differ from the defaults below
([guide](../guides/training.md)).

<!-- a recipe of assay train -->

```toml
seed = 1

[vectors]
steps = 1000
hard.share = 0.25
```"""

_ADAPTING = """\
## With --adapt

`mining`, `kinds`, `seed` and `threads` are as above. The other keys are:"""


def search_schema() -> str:
    """Describe the settings of a search for editors."""
    return json.dumps(config_schema(), indent=2, ensure_ascii=False) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "how-we-know/attacks.md": attacks,
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
    "reference/training.md": training,
    "../src/assay/data/schemas/search.schema.json": search_schema,
}


if __name__ == "__main__":
    for name, page in PAGES.items():
        (DIR / name).write_text(page(), encoding="utf-8")
