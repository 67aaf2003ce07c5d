"""The files that `assay init` writes: a short assay.toml and a gold set with drafts."""

from __future__ import annotations

import json
from collections import Counter
from importlib import resources
from shutil import which
from typing import Final

from assay.errors import CorpusError
from assay.gold.code_index import CodeIndex
from assay.gold.mining.drafts import draft_queries
from assay.gold.mining.intake import Intake
from assay.types import Corpus

_HEAD: Final = """\
# Gold set: queries and their targets. `assay gold review` shows the drafts one by one with their code: accept, reword
# or reject each. Or edit them here: correct the question and the target, then delete `status: draft`.
# Results from fewer than thirty queries are unreliable.
"""
#: Presets of tools that `init` looks for, by program.
_DETECTED: Final = {
    "rg": "ripgrep-literal",
    "semble": "semble-cli",
    "probe": "probe",
    "ck": "ck",
    "colgrep": "colgrep",
    "octocode": "octocode",
}


def starter_config() -> str:
    """Return a short assay.toml, with a commented table for each installed search tool."""
    text = (resources.files("assay.data") / "starter.toml").read_text(encoding="utf-8")
    tables = [
        f'# [engines.{name}]\n# preset = "{name}"\n'
        for program, name in _DETECTED.items()
        if which(program) is not None
    ]
    if tables:
        text += "\n# Installed on this machine; `assay engines show NAME` prints the settings of a preset.\n"
    return text + "\n".join(tables)


def starter_gold(corpus: Corpus) -> tuple[str, tuple[str, ...], dict[str, int]]:
    """Return the text of a gold file with drafts, the anchors of their main targets, and the drafts per source."""
    code = CodeIndex(corpus)
    items = Intake(code, None).queries(draft_queries(code)).items
    if not items:
        hint = "run it in a directory with code in functions, methods or classes"
        raise CorpusError("no definition is suitable for a draft", file=corpus.root, hint=hint)
    name = _quote(corpus.root.resolve().name or "gold")
    lines = [_HEAD, "assay: 1", f"name: {name}", "corpus: {path: .}", "queries:"]
    for item in items:
        query = item.query
        secondary = [target.anchor for target in query.targets if target not in query.primaries]
        also = f", secondary: {_quote(secondary)}" if secondary else ""
        lines += [
            f"  - id: {query.id}  # {item.origin.source}",
            f"    retrieval: {{primary: {_quote([target.anchor for target in query.primaries])}{also}}}",
            f"    cognitive: {{human: {_quote(query.headline)}}}",
            "    tags: {status: draft}",
        ]
    anchors = tuple(item.anchor for item in items)
    return "\n".join(lines) + "\n", anchors, dict(Counter(item.origin.how for item in items))


def _quote(value: str | list[str]) -> str:
    return json.dumps(value, ensure_ascii=False)
