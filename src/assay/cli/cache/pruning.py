"""Remove cache entries that are old, or the least recently used until the rest fits.

Without --kind it is about artefacts alone, and what somebody uses stays. Other kinds (trees, mirrors, index,
embeddings, descriptions, unfinished) go when they are named: the oldest first. Who uses those is not known, so let
nothing run.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from assay.cli.cache.kinds import others, shown_size
from assay.cli.output import emit, pluralize
from assay.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from assay.store import ArtifactStore, PruneResult


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this action."""
    parser.add_argument("--to", metavar="SIZE", help="how much may stay, such as 1GB; by default the limit")
    parser.add_argument("--older-than", metavar="AGE", help="remove what was not used for so long, such as 30d or 12h")
    parser.add_argument("--kind", action="append", default=[], help="only this kind (repeatable)")
    parser.add_argument("--dry-run", action="store_true", help="say what would go, and remove nothing")


def handle(args: argparse.Namespace) -> int:
    """Prune and say what went."""
    from assay.report.render.document import Document, Paragraph
    from assay.store import ArtifactStore, parse_age, parse_size

    most = None if args.to is None else parse_size(args.to, "--to")
    age = None if args.older_than is None else parse_age(args.older_than, "--older-than")
    store = ArtifactStore()
    named = _named(store, tuple(args.kind))
    if most is None and age is None and named & {other.kind for other in others()}:
        raise ConfigError("--kind: how much of it?", hint="add --to SIZE or --older-than AGE")
    own = tuple(sorted(named - {other.kind for other in others()}))
    done = [store.prune(most, age, own, dry_run=args.dry_run)] if own or not named else []
    done += [other.prune(most, age, dry_run=args.dry_run) for other in others() if other.kind in named]
    total = _total(done)
    document = Document("The cache, pruned", (Paragraph(_sentence(total, dry_run=args.dry_run)),))
    emit(args, document, {"schema": "assay/cache-prune/1", "dry_run": args.dry_run, **total})
    return 0


def _named(store: ArtifactStore, kinds: tuple[str, ...]) -> set[str]:
    from assay.store import KINDS

    known = {one.kind for one in store.usage()} | {other.kind for other in others()}
    known |= {kind.name for kind in KINDS}
    for kind in kinds:
        if kind not in known:
            hint = did_you_mean(kind, known) or f"kinds: {', '.join(sorted(known))}"
            raise ConfigError(f"--kind: nothing in the cache is of the kind {kind!r}", hint=hint)
    return set(kinds)


def _total(done: list[PruneResult]) -> dict[str, int]:
    parts = [asdict(one) for one in done]
    return {name: sum(part[name] for part in parts) for name in ("entries", "bytes", "held", "left")}


def _sentence(data: Mapping[str, int], *, dry_run: bool) -> str:
    went = "would go" if dry_run else "went"
    held = pluralize(data["held"], "entry", "entries")
    stayed = f" {held} stayed because somebody uses them." if data["held"] else ""
    gone = pluralize(data["entries"], "entry", "entries")
    return f"{gone} {went}, {shown_size(data['bytes'])}; {shown_size(data['left'])} stay.{stayed}"
