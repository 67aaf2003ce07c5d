"""The command init: a short assay.toml and a gold set with drafts."""

from __future__ import annotations

import json
from argparse import Namespace
from collections import Counter
from importlib import resources
from pathlib import Path
from shutil import which
from typing import Final

from assay.cli.console import emit_blocks, info, pluralize
from assay.corpus import open_corpus, parse_spec
from assay.errors import ConfigError, CorpusError
from assay.files import write_atomic
from assay.gold.code_index import CodeIndex
from assay.gold.mining.drafts import DraftRules, draft_queries
from assay.gold.mining.intake import Intake
from assay.report.render.document import Block, Paragraph
from assay.types import Corpus


def init_command(args: Namespace) -> None:
    config, gold = Path(args.folder) / "assay.toml", Path(args.folder) / "gold.yaml"
    for path in (config, gold):
        if path.exists():
            raise ConfigError("file already exists", file=path, hint="remove it and repeat `assay init`, or edit it")
    corpus = open_corpus(parse_spec(str(Path(args.folder))))
    info(
        args,
        f"drafting queries from commits, docs, tests and messages ({pluralize(len(corpus.files), 'file')}) ...",
    )
    text, drafts, sources = starter_gold(corpus)
    write_atomic(gold, text)
    write_atomic(config, starter_config())
    origins = {"history": "commits", "docs": "documents", "rules": "messages and tests"}
    counts = ", ".join(f"{count} from {origins.get(how, how)}" for how, count in sources.items())
    few = f"Fewer than {DraftRules.count} drafts: add your own queries, or `assay gold mine` with looser rules."
    blocks: list[Block | str] = [
        f"{gold}: {pluralize(len(drafts), 'draft')} ({counts}).",
        *([Paragraph(few, "warning")] if len(drafts) < DraftRules.count else []),
        f"{config}: the configuration. Add your engine under [engines.NAME].",
        "Then: `assay gold review` to accept, edit or reject each draft; `assay run` to compare engines",
    ]
    data = {
        "schema": "assay/init/1",
        "config": str(config),
        "gold": str(gold),
        "targets": list(drafts),
        "sources": sources,
    }
    emit_blocks(args, "A first gold set", blocks, data)


_HEAD: Final = """\
# Gold set: queries and their targets. `assay gold review` shows the drafts one by one with their code: accept, reword
# or reject each. Or edit them here: correct the query and the target, then delete `status: draft`.
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
        raise CorpusError("found no function, method or class to draft a query from", file=corpus.root, hint=hint)
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
