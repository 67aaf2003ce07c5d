from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.options import add_endpoint, endpoint_of, required_endpoint
from assay.cli.output import emit, info
from assay.errors import AssayError, ConfigError, GoldError, closest_match

if TYPE_CHECKING:
    from assay.gold.code_index import CodeIndex, SampleSize
    from assay.gold.mining.intake import Intake, IntakeResult, MinedItems, Rejection, UnlocatedQuery
    from assay.gold.review.items import ReviewItem, ReviewQueue
    from assay.report.render.document import Document
    from assay.types import CorpusSpec, GoldSet, Run

#: Entries of a list on the terminal; --json has all.
_LISTED = 20
#: What sources are called by people who do not know their names; the nearest spelling would be another one.
_OTHERWISE = {"commits": "history", "commit": "history", "git": "history", "log": "history", "docstrings": "comments"}


def mine_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("repo", metavar="REPO", help="the code: folder, pypi:NAME==V, git:URL@REV, ... (a corpus)")
    parser.add_argument("--set", required=True, metavar="FILE", help="the gold file, which need not be there yet")
    parser.add_argument("--count", type=int, default=40, metavar="N", help="most queries of a source (40)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the draw (0)")
    parser.add_argument("--dry-run", action="store_true", help="show the proposals, queue nothing")
    queries = parser.add_argument_group("queries")
    queries.add_argument("--from", dest="sources", metavar="LIST", help="by commas, of: history,docs,comments,names")
    queries.add_argument("--shell", action="append", default=[], metavar="FILE", help="a shell history (repeatable)")
    queries.add_argument("--transcript", action="append", default=[], metavar="FILE", help="of an agent (repeatable)")
    queries.add_argument("--propose", action="store_true", help="ask the endpoint, module by module")
    more = parser.add_argument_group("for the queries that the set has")
    more.add_argument("--adversaries", action="store_true", help="plausible wrong answers")
    more.add_argument("--run", metavar="RESULTS", help="with --adversaries: a run, for what engines confuse")
    more.add_argument("--phrasings", action="store_true", help="the forms they lack")
    add_endpoint(parser, "for --propose and --phrasings")


@dataclass(slots=True)
class _Tally:
    """What one source brought."""

    source: str
    items: list[ReviewItem] = field(default_factory=list)
    known: int = 0
    refused: list[Rejection] = field(default_factory=list)
    unplaced: list[UnlocatedQuery] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Work:
    """What the sources work with."""

    args: argparse.Namespace
    ground: CodeIndex
    gold: GoldSet | None
    intake: Intake
    queue: ReviewQueue
    wanted: SampleSize
    run: Run | None


def mine_command(args: argparse.Namespace) -> int:
    """Propose queries, adversaries and phrasings for review.

    assay gold mine . --set gold.yaml                              from commits, documents and comments
    assay gold mine . --set gold.yaml --from history --count 60    from one of: history, docs, comments, names
    assay gold mine . --set gold.yaml --shell ~/.zsh_history --transcript session.jsonl    searches and opened files
    assay gold mine . --set gold.yaml --adversaries --run results  wrong answers: near by name, and what engines confuse
    assay gold mine . --set gold.yaml --phrasings                  the forms that queries lack, by rules
    assay gold mine . --set gold.yaml --phrasings --endpoint http://localhost:8080/v1/chat/completions --model qwen3
    assay gold mine . --set gold.yaml --propose --endpoint ... --model ...    queries by a model, all locations checked

    Proposals wait in gold.review/ beside the set until they are voted on: assay gold review gold.yaml --as NAME With
    --shell, --transcript or --propose alone nothing else is mined: name more with --from. Of histories and transcripts
    nothing but the words of a query is kept, and what looks like a secret or a private path is left out. Look through
    the proposals of a shell history before you share them.
    """
    from assay.gold.code_index import SampleSize
    from assay.gold.mining.intake import DEFAULT_SOURCES

    _check(args)
    gold = _load(Path(args.set), needed=args.adversaries or args.phrasings)
    run = _run(args.run, gold) if args.run and gold else None
    spec = _spec(args.repo, gold)
    work = _work(args, spec, gold, SampleSize(count=args.count, seed=args.seed), run)
    if args.sources is None and (args.shell or args.transcript or args.propose):
        info(args, f"only what is named is mined; add --from {','.join(DEFAULT_SOURCES)} for the code's own texts")
    tallies: list[_Tally] = []
    for source, batches in _sources(work):
        tallies.append(_Tally(source))
        info(args, f"mining {source}")
        _collect(work, tallies, batches)
    _emit(work, tallies)
    return 0


def _check(args: argparse.Namespace) -> None:
    asks = args.propose or args.phrasings
    problems = {
        "--count is less than 1": args.count < 1,
        "--seed is less than 0": args.seed < 0,
        "--run means nothing without --adversaries": args.run and not args.adversaries,
        "--propose needs an endpoint": args.propose and not args.endpoint,
        "--endpoint means nothing without --propose or --phrasings": args.endpoint and not asks,
    }
    for problem, found in problems.items():
        if found:
            raise ConfigError(problem, hint="assay gold mine --help shows what goes with what")
    endpoint_of(args)
    _source_names(args)


def _source_names(args: argparse.Namespace) -> tuple[str, ...]:
    from assay.gold.mining.intake import DEFAULT_SOURCES, SOURCES

    if args.sources is None:
        other = args.shell or args.transcript or args.propose or args.adversaries or args.phrasings
        return () if other else DEFAULT_SOURCES
    names = tuple(name.strip() for name in args.sources.split(",") if name.strip())
    for name in names:
        if name not in SOURCES:
            near = [_OTHERWISE[name]] if name in _OTHERWISE else closest_match(name, SOURCES)
            meant = f"did you mean '{near[0]}'? " if near else ""
            raise ConfigError(f"there is no source {name!r}", hint=f"{meant}there are: {', '.join(SOURCES)}")
    if not names:
        raise ConfigError("--from names no source", hint=f"there are: {', '.join(SOURCES)}")
    return names


def _load(path: Path, *, needed: bool) -> GoldSet | None:
    from assay.gold import load_gold

    if path.is_dir():
        raise GoldError("is a folder", file=path, hint="name one gold file, such as gold.yaml")
    if not path.exists():
        if needed:
            hint = "make one first: mine queries, review them, then `assay gold review --accept`"
            raise GoldError("there is no such set, so no query to work on", file=path, hint=hint)
        if path.suffix not in (".yaml", ".yml"):
            raise GoldError("a new set is native", file=path, hint=f"name it {path.stem or 'gold'}.yaml")
        return None
    golds = load_gold(path).golds
    if len(golds) != 1:
        raise GoldError(f"holds {len(golds)} sets", file=path, hint="mine for one file at a time")
    return golds[0]


def _run(folder: str, gold: GoldSet) -> Run:
    from assay.cli.options import read_results
    from assay.gold.split import refuse_sealed, sealed_queries
    from assay.types import Suite

    run = read_results(folder)
    refuse_sealed(run.suite, "mining")
    ran = {query.id for one in run.suite.golds if one.name == gold.name for query in one.queries}
    since = tuple(query for query in sealed_queries(gold) if query.id in ran)
    refuse_sealed(Suite((replace(gold, queries=since),)), "mining")
    return run


def _spec(repo: str, gold: GoldSet | None) -> CorpusSpec:
    from assay.corpus import parse_spec

    spec = parse_spec(repo)
    if gold is None:
        return spec
    own = gold.corpus
    return replace(
        spec, root=spec.root or own.root, include=spec.include or own.include, exclude=spec.exclude or own.exclude
    )


def _work(
    args: argparse.Namespace, spec: CorpusSpec, gold: GoldSet | None, wanted: SampleSize, run: Run | None
) -> _Work:
    from assay.cli.gold.lint import lint_dependencies
    from assay.clock import today
    from assay.corpus import open_corpus
    from assay.gold.code_index import CodeIndex
    from assay.gold.git_history import commit_of
    from assay.gold.mining.intake import Intake, check_same_corpus, lint_check
    from assay.gold.review.items import ReviewQueue

    info(args, f"reading {args.repo}")
    corpus = open_corpus(spec)
    warning = check_same_corpus(corpus, gold) if gold else None
    if warning:
        info(args, warning)
    ground = CodeIndex(corpus)
    queue = ReviewQueue(Path(args.set))
    check = lint_check(gold, corpus, lint_dependencies(gold.name if gold else "proposals", spec, None))
    intake = Intake(ground, gold, queue.items(), on=today(), commit=commit_of(corpus), check=check)
    return _Work(args, ground, gold, intake, queue, wanted, run)


def _sources(work: _Work) -> Iterator[tuple[str, Iterable[IntakeResult | MinedItems]]]:
    from assay.gold.mining.docs import mine_comments, mine_docs, mine_names
    from assay.gold.mining.endpoint import propose
    from assay.gold.mining.history import mine_history
    from assay.gold.mining.log_queries import mine_shell, mine_transcript

    miners = {"history": mine_history, "docs": mine_docs, "comments": mine_comments, "names": mine_names}
    args, ground, wanted = work.args, work.ground, work.wanted
    for name in _source_names(args):
        yield name, _once(miners[name], ground, wanted)
    for file in args.shell:
        yield "shell", _once(mine_shell, ground, Path(file))
    for file in args.transcript:
        yield "transcript", _once(mine_transcript, ground, Path(file))
    if args.propose:
        yield "endpoint", propose(work.intake, required_endpoint(args), wanted)
    if args.adversaries and work.gold:
        yield "adversaries", _adversaries(work, work.gold)
    if args.phrasings and work.gold:
        yield "phrasings", _phrasings(work, work.gold)


def _once(miner: Callable[..., MinedItems], *arguments: object) -> Iterator[MinedItems]:
    """Mine when it is asked for, so that what comes before is queued whatever happens here."""
    yield miner(*arguments)


def _adversaries(work: _Work, gold: GoldSet) -> Iterator[IntakeResult]:
    from assay.gold.mining.adversaries import mine_adversaries

    yield mine_adversaries(work.intake, gold, work.run)


def _phrasings(work: _Work, gold: GoldSet) -> Iterator[IntakeResult]:
    from assay.gold.mining.endpoint import ask_phrasings
    from assay.gold.mining.phrasings import mine_phrasings

    if work.args.endpoint:
        yield from ask_phrasings(work.intake, gold, required_endpoint(work.args))
    else:
        yield mine_phrasings(work.intake, gold)


def _collect(work: _Work, tallies: list[_Tally], batches: Iterable[IntakeResult | MinedItems]) -> None:
    try:
        for batch in batches:
            _take(work, tallies[-1], batch)
    except AssayError as error:
        kept = sum(len(tally.items) for tally in tallies)
        if not kept:
            raise
        stays = "would have been queued" if work.args.dry_run else "queued before are kept"
        message = f"{error.message}; {_count(kept, 'proposal')} {stays}"
        raise type(error)(message, file=error.file, line=error.line, hint=error.hint) from error


def _take(work: _Work, tally: _Tally, batch: IntakeResult | MinedItems) -> None:
    from assay.gold.mining.intake import MinedItems

    if isinstance(batch, MinedItems):
        tally.unplaced += batch.unplaced
        tally.refused += batch.refused
        tally.notes += batch.notes
        batch = work.intake.queries(batch.intents)
    known = {item.id for item in work.queue.items()}
    new = [item for item in batch.items if item.id not in known]
    if new and not work.args.dry_run:
        work.queue.add(new)
    tally.items += new
    tally.refused += batch.refused
    tally.notes += batch.notes
    tally.known += batch.known + len(batch.items) - len(new)
    if batch.items:
        info(work.args, f"{tally.source}: {_count(len(tally.items), 'new proposal')}, {tally.known} known")


def _emit(work: _Work, tallies: list[_Tally]) -> None:
    from assay.gold.review.items import item_mapping

    data = {
        "schema": "assay/gold-mine/1",
        "set": work.args.set,
        "dry_run": work.args.dry_run,
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
        "items": [item_mapping(item) for tally in tallies for item in tally.items],
    }
    emit(work.args, _document(work, tallies), data)


def _document(work: _Work, tallies: list[_Tally]) -> Document:
    from assay.report.render.document import Block, Document, Heading, Paragraph, table

    rows = [[t.source, str(len(t.items)), str(t.known), str(len(t.refused)), str(len(t.unplaced))] for t in tallies]
    blocks: list[Block] = [table(["source", ">new", ">known", ">refused", ">asked, no location"], rows)]
    blocks += [Paragraph(note, "warning") for tally in tallies for note in tally.notes]
    items = [item for tally in tallies for item in tally.items]
    if work.args.dry_run:
        blocks += [Heading("Proposals"), table(["kind", "text", "where"], [_shown(item) for item in items])]
    refused = [[r.source, r.reason, r.text] for tally in tallies for r in tally.refused]
    unplaced = [[u.source, u.text] for tally in tallies for u in tally.unplaced]
    for title, columns, entries in (
        ("Refused", ["source", "reason", "text"], refused),
        ("Asked, no location", ["source", "text"], unplaced),
    ):
        if entries:
            left = len(entries) - _LISTED
            blocks += [
                Heading(title),
                table(columns, entries[:_LISTED], f"{left} more: --json has all" if left > 0 else ""),
            ]
    blocks.append(Paragraph(_next(work, len(items))))
    return Document("Proposals for " + Path(work.args.set).name, tuple(blocks))


def _shown(item: ReviewItem) -> list[str]:
    text = item.query.headline
    if item.kind == "adversary":
        wrong = item.adversary
        return [f"{item.kind}: {wrong.relationship}", f"{text} ({wrong.confusion})", wrong.target.anchor]
    kind = f"{item.kind}: {item.form}" if item.kind == "phrasing" else item.kind
    return [kind, text, ", ".join(target.anchor for target in item.query.targets)]


def _next(work: _Work, count: int) -> str:
    if work.args.dry_run:
        return "Nothing was queued. Run it without --dry-run to queue them."
    if not count:
        return "Nothing new. Another --seed draws others; --count draws more."
    corpus = "" if work.gold else f" --corpus {work.args.repo}"
    return f"Then: assay gold review {work.args.set} --as NAME{corpus}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
