from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from assay.cli.arguments import require_flag
from assay.cli.console import emit_blocks, info, pluralize
from assay.cli.gold.lint import lint_dependencies
from assay.cli.options import default_set, endpoint_of, load_one_set, read_results
from assay.clock import today
from assay.corpus import open_corpus, parse_spec
from assay.errors import AssayError, ConfigError, GoldError, did_you_mean
from assay.gold.code_index import CodeIndex, SampleSize
from assay.gold.git_history import commit_of
from assay.gold.mining import intake as mining
from assay.gold.mining.adversaries import mine_adversaries
from assay.gold.mining.docs import mine_comments, mine_docs, mine_names
from assay.gold.mining.endpoint import ask_phrasings, propose
from assay.gold.mining.history import mine_history
from assay.gold.mining.log_queries import mine_shell, mine_transcript
from assay.gold.mining.phrasings import mine_phrasings
from assay.gold.review.items import ReviewItem, ReviewQueue, item_mapping
from assay.gold.split import refuse_sealed, sealed_queries
from assay.report.render.document import Block, Heading, Paragraph, table
from assay.types import GoldSet, Run, Suite

#: Other names of sources.
_SYNONYMS = {"commits": "history", "commit": "history", "git": "history", "log": "history", "docstrings": "comments"}


def mine_command(args: Namespace) -> None:
    require_flag(args, "adversaries", "run")
    require_flag(args, "endpoint", "propose")
    if not args.phrasings:
        require_flag(args, "propose", "endpoint")
    endpoint_of(args)
    sources = _source_names(args)
    args.set = default_set(args, args.set)
    gold = _load_set(Path(args.set), needed=args.adversaries or args.phrasings)
    run = _load_run(args.run, gold) if args.run and gold else None
    intake, queue = _open_intake(args, gold)
    if args.sources is None and (args.shell or args.transcript or args.propose):
        info(args, f"add --from {','.join(mining.DEFAULT_SOURCES)} to mine the code and its history as well")
    tallies: list[_Tally] = []
    for source, batches in _mine(args, sources, intake, gold, run):
        tallies.append(_Tally(source))
        info(args, f"mining {source}")
        _collect(args, intake, queue, tallies, batches)
    _report(args, gold, tallies)


@dataclass(slots=True)
class _Tally:
    source: str
    items: list[ReviewItem] = field(default_factory=list)
    known: int = 0
    refused: list[mining.Rejection] = field(default_factory=list)
    unplaced: list[mining.UnlocatedQuery] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def _source_names(args: Namespace) -> tuple[str, ...]:
    if args.sources is None:
        other = args.shell or args.transcript or args.propose or args.adversaries or args.phrasings
        return () if other else mining.DEFAULT_SOURCES
    names = tuple(name.strip() for name in args.sources.split(","))
    for name in names:
        if name not in mining.SOURCES:
            meant = f"did you mean '{_SYNONYMS[name]}'?" if name in _SYNONYMS else did_you_mean(name, mining.SOURCES)
            raise ConfigError(f"unknown source {name!r}", hint=meant or f"sources: {', '.join(mining.SOURCES)}")
    return names


def _load_set(path: Path, *, needed: bool) -> GoldSet | None:
    if path.exists():
        return load_one_set(path)
    if needed:
        raise GoldError("no such file", file=path, hint="pass an existing gold file, or mine and review queries first")
    if path.suffix not in (".yaml", ".yml"):
        message = f"expected a .yaml file for a new set, got {path.name}"
        raise GoldError(message, file=path, hint=f"--set {path.with_suffix('.yaml')}")
    return None


def _load_run(directory: str, gold: GoldSet) -> Run:
    """Read a run, and refuse queries that were sealed then or are sealed now."""
    run = read_results(directory)
    refuse_sealed(run.suite, "mining")
    ran = {query.id for one in run.suite.golds if one.name == gold.name for query in one.queries}
    sealed = tuple(query for query in sealed_queries(gold) if query.id in ran)
    refuse_sealed(Suite((replace(gold, queries=sealed),)), "mining")
    return run


def _open_intake(args: Namespace, gold: GoldSet | None) -> tuple[mining.Intake, ReviewQueue]:
    spec = parse_spec(args.repo)
    if gold:
        own = gold.corpus
        include, exclude = spec.include or own.include, spec.exclude or own.exclude
        spec = replace(spec, root=spec.root or own.root, include=include, exclude=exclude)
    info(args, f"reading {args.repo}")
    corpus = open_corpus(spec)
    if gold and (warning := mining.check_same_corpus(corpus, gold)):
        info(args, warning)
    queue = ReviewQueue(Path(args.set))
    check = mining.lint_check(gold, corpus, lint_dependencies(gold.name if gold else "proposals", spec, None))
    code = CodeIndex(corpus)
    return mining.Intake(code, gold, queue.items(), on=today(), commit=commit_of(corpus), check=check), queue


def _mine(
    args: Namespace, sources: Sequence[str], intake: mining.Intake, gold: GoldSet | None, run: Run | None
) -> Iterator[tuple[str, Iterable[mining.IntakeResult | mining.MinedItems]]]:
    """Yield each source with its proposals, mined lazily: those of earlier sources are queued first."""
    miners = {"history": mine_history, "docs": mine_docs, "comments": mine_comments, "names": mine_names}
    code, size, endpoint = intake.code, SampleSize(count=args.count, seed=args.seed), endpoint_of(args)
    for name in sources:
        yield name, map(miners[name], [code], [size])
    for file in args.shell:
        yield "shell", map(mine_shell, [code], [Path(file)])
    for file in args.transcript:
        yield "transcript", map(mine_transcript, [code], [Path(file)])
    if args.propose and endpoint:
        yield "endpoint", propose(intake, endpoint, size)
    if args.adversaries and gold:
        yield "adversaries", map(mine_adversaries, [intake], [gold], [run])
    if args.phrasings and gold:
        phrasings = ask_phrasings(intake, gold, endpoint) if endpoint else map(mine_phrasings, [intake], [gold])
        yield "phrasings", phrasings


def _collect(
    args: Namespace,
    intake: mining.Intake,
    queue: ReviewQueue,
    tallies: list[_Tally],
    batches: Iterable[mining.IntakeResult | mining.MinedItems],
) -> None:
    tally = tallies[-1]
    try:
        for mined in batches:
            batch = intake.queries(mined.intents) if isinstance(mined, mining.MinedItems) else mined
            if isinstance(mined, mining.MinedItems):
                tally.unplaced += mined.unplaced
                tally.refused += mined.refused
                tally.notes += mined.notes
            known = {item.id for item in queue.items()}
            new = [item for item in batch.items if item.id not in known]
            if new and not args.dry_run:
                queue.add(new)
            tally.items += new
            tally.refused += batch.refused
            tally.notes += batch.notes
            tally.known += batch.known + len(batch.items) - len(new)
            if batch.items:
                info(args, f"{tally.source}: {pluralize(len(tally.items), 'new proposal')}, {tally.known} known")
    except AssayError as error:
        count = sum(len(tally.items) for tally in tallies)
        if not count:
            raise
        queued = "found" if args.dry_run else "queued"
        message = f"{error.message}; {pluralize(count, 'proposal')} {queued} before that"
        raise type(error)(message, file=error.file, line=error.line, hint=error.hint) from error


def _report(args: Namespace, gold: GoldSet | None, tallies: list[_Tally]) -> None:
    items = [item for tally in tallies for item in tally.items]
    data = {
        "schema": "assay/gold-mine/1",
        "set": args.set,
        "dry_run": args.dry_run,
        "sources": [
            {
                "source": tally.source,
                "new": len(tally.items),
                "known": tally.known,
                "refused": [{"source": r.source, "reason": r.reason, "text": r.text} for r in tally.refused],
                "asked_without_location": [{"text": u.text, "source": u.source} for u in tally.unplaced],
                "notes": tally.notes,
            }
            for tally in tallies
        ],
        "items": [item_mapping(item) for item in items],
    }
    if args.dry_run:
        then = "Nothing was queued: --dry-run."
    elif not items:
        then = "No new proposals; try another --seed or a larger --count."
    else:
        then = f"Then: assay gold review {args.set}" + ("" if gold else f" --corpus {args.repo}")
    blocks = (*_tally_blocks(tallies, items if args.dry_run else None), then)
    emit_blocks(args, f"Proposals for {Path(args.set).name}", blocks, data)


def _tally_blocks(tallies: list[_Tally], items: list[ReviewItem] | None) -> Iterator[Block]:
    rows = [[t.source, str(len(t.items)), str(t.known), str(len(t.refused)), str(len(t.unplaced))] for t in tallies]
    yield table(["Source", ">New", ">Known", ">Refused", ">Without a location"], rows)
    yield from (Paragraph(note, "warning") for tally in tallies for note in tally.notes)
    if items is not None:
        yield Heading("Proposals")
        yield table(["Kind", "Text", "Targets"], [_item_row(item) for item in items])
    refused = [[r.source, r.reason, r.text] for tally in tallies for r in tally.refused]
    unplaced = [[u.source, u.text] for tally in tallies for u in tally.unplaced]
    most = 20
    for title, columns, rows in (
        ("Refused", ["Source", "Reason", "Text"], refused),
        ("Without a location", ["Source", "Text"], unplaced),
    ):
        if rows:
            left = len(rows) - most
            yield Heading(title)
            yield table(columns, rows[:most], f"{left} more: --json has all" if left > 0 else "")


def _item_row(item: ReviewItem) -> list[str]:
    text = item.query.headline
    if item.kind == "adversary":
        adversary = item.adversary
        kind = f"{item.kind}: {adversary.relationship}"
        return [kind, f"{text} ({adversary.confusion})", adversary.target.anchor]
    kind = f"{item.kind}: {item.form}" if item.kind == "phrasing" else item.kind
    return [kind, text, ", ".join(target.anchor for target in item.query.targets)]
