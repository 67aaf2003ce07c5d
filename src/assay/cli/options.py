"""Flags shared by several commands."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.cli.output import info, progress_callback, warn
from assay.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.chat import Endpoint
    from assay.experiment.ablation import DevData, SplitUse
    from assay.experiment.corpora import Missing
    from assay.experiment.ledger import LedgerEntry, LedgerPlan
    from assay.experiment.spec import Spec
    from assay.report.explorer.excerpts import PagePlan
    from assay.types import AnalysisPlan, Run, Suite


class Once(argparse.Action):
    """Store a value, and refuse a second one instead of dropping the first."""

    def __call__(
        self,
        _parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        _option: str | None = None,
    ) -> None:
        """Store the value."""
        if getattr(namespace, self.dest) is not None:
            raise argparse.ArgumentError(self, "is given twice; name one, or leave it out for all")
        setattr(namespace, self.dest, values)


#: The flags that say which claim is made.
_CLAIM: Mapping[str, Mapping[str, Any]] = {
    "measure": {"action": "append", "metavar": "M", "help": "a measure such as nDCG@10 (repeatable)"},
    "primary": {"metavar": "M", "help": "the measure verdicts are about"},
    "baseline": {"metavar": "ENGINE", "help": "the engine the others are compared with"},
    "margin": {"type": float, "metavar": "X", "help": "smallest difference that matters (0.02)"},
    "alpha": {"type": float, "metavar": "X", "help": "error rate of the verdicts (0.05)"},
    "family": {"metavar": "LIST", "help": "engines that get a verdict, by commas; globs too (all)"},
    "cluster-by": {"metavar": "UNIT", "help": "drawn independently: auto, repository, intent, tag:NAME"},
    "seed": {"type": int, "metavar": "N", "help": "seed of every random draw (0)"},
}
#: Their names, as a program has them.
CLAIM = tuple(flag.replace("-", "_") for flag in _CLAIM)
#: Those that mean something where the engines to compare are chosen otherwise.
JUDGING = ("primary", "margin", "alpha", "cluster-by", "seed")


def add_claim(parser: argparse.ArgumentParser, flags: Sequence[str] = tuple(_CLAIM)) -> None:
    """Add the flags that say which claim is made, or some of them."""
    group = parser.add_argument_group("the claim")
    for flag in flags:
        group.add_argument(f"--{flag}", **_CLAIM[flag])


def add_full(parser: argparse.ArgumentParser) -> None:
    """Add the flag that prints every section."""
    parser.add_argument("--full", action="store_true", help="print every section that report.html has")


def add_page(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say what report.html holds."""
    parser.add_argument("--max-size", metavar="SIZE", help="the most that report.html may have (3MB)")
    parser.add_argument("--no-source", action="store_true", help="put no line of source into report.html")


def page_flags(args: argparse.Namespace, spec: Spec | None = None) -> PagePlan:
    """Say how report.html is made: by the flags, then by [report] of an assay.toml, this folder's if none is given."""
    from assay.report.explorer.page import page_plan

    plan = page_plan(
        spec or declared(None),
        max_size=getattr(args, "max_size", None),
        no_source=getattr(args, "no_source", False),
        traces=getattr(args, "traces", None),
    )
    return _with_sources(plan)


def _with_sources(plan: PagePlan) -> PagePlan:
    from assay.experiment.corpora import CorpusTexts
    from assay.experiment.tracing import trace_queries

    return replace(plan, texts=CorpusTexts, tracer=trace_queries)


def claim_flags(args: argparse.Namespace) -> dict[str, Any]:
    """Collect the claim flags that the command has; None where one was not given."""
    names = {"measures": "measure", "primary": "primary", "baseline": "baseline", "margin": "margin"}
    names |= {"alpha": "alpha", "seed": "seed", "cluster": "cluster_by"}
    given = {key: getattr(args, flag, None) for key, flag in names.items()}
    return given | {"measures": tuple(given["measures"]) if given["measures"] else None}


def family_flag(args: argparse.Namespace, names: Sequence[str]) -> tuple[str, ...] | None:
    """Read the engines that --family names; None where it was not given."""
    from assay.experiment.spec.model import split_names

    text = getattr(args, "family", None)
    return None if text is None else split_names(text, names)


def given_flags(args: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Collect the flags that were given; the others keep the default of the record they are for."""
    return {name: getattr(args, name) for name in names if getattr(args, name) is not None}


def typed(args: argparse.Namespace, *names: str) -> list[str]:
    """Write flags that were given as they are typed again."""
    words: list[str] = []
    for name, value in given_flags(args, *names).items():
        flag = f"--{name.replace('_', '-')}"
        values = value if isinstance(value, list) else [value]
        words += [flag] * (value is True) if isinstance(value, bool) else [w for v in values for w in (flag, str(v))]
    return words


def claim_for(run: Run, args: argparse.Namespace) -> AnalysisPlan:
    """Take the claim that a run was made for, changed by the flags given now."""
    from assay.experiment.spec.model import analysis_plan_of, change_plan, check_plan, check_suite, resolve_family

    names = [*(engine.name for engine in run.engines), *run.header.skipped]
    claim = change_plan(analysis_plan_of(run), run.k, **claim_flags(args))
    family = family_flag(args, names)
    if family is not None:
        claim = replace(claim, family=resolve_family(family, names, claim.baseline))
    check_suite(claim.cluster, run.suite)
    return check_plan(claim, run.k, names)


def reject_flags(args: argparse.Namespace, what: str, *flags: str) -> None:
    """Refuse flags that mean nothing here: a flag without an effect is worse than none."""
    for flag in flags:
        if getattr(args, flag) is not None:
            raise ConfigError(f"--{flag.replace('_', '-')} means nothing for {what}", hint="leave it out")


def read_results(text: str) -> Run:
    """Read the run in a folder."""
    from assay.experiment import read_run

    path = Path(text)
    if not path.is_dir():
        what = "is a file, not a folder of results" if path.exists() else "no such folder"
        raise ConfigError(what, file=path, hint="name the folder that `assay run --out` wrote")
    return read_run(path)


def split_today(suite: Suite) -> Suite:
    """Give the queries of a run the parts that their sets have now: a run from before the split tells no less."""
    from assay.gold.load import reload_set
    from assay.gold.split import TAG, split_of

    golds = []
    for gold in suite.golds:
        now = reload_set(gold)
        parts = {query.id: split_of(query) for query in now.queries} if now else {}
        tagged = [replace(q, tags={**q.tags, TAG: part}) if (part := parts.get(q.id)) else q for q in gold.queries]
        golds.append(replace(gold, queries=tuple(tagged)))
    return replace(suite, golds=tuple(golds))


def log_look(args: argparse.Namespace, run: Run, command: str) -> None:
    """Write down that results on sealed queries are shown once more."""
    from assay.gold.split import sealed_queries

    sealed = sum(len(sealed_queries(gold)) for gold in run.suite.golds)
    if not sealed:
        return
    from assay.gold.load import log_reaccess

    if not log_reaccess(run.suite, command, [engine.name for engine in run.engines]):
        info(args, f"{sealed} sealed queries are in this run; their gold file is not here, so the look is not logged")


def add_source(parser: argparse.ArgumentParser) -> None:
    """Add the flags that name an experiment, and change any key of it."""
    parser.add_argument("--config", metavar="FILE", help="an assay.toml (default: the one in this folder, if any)")
    parser.add_argument("--preset", metavar="NAME", help="an experiment that ships, instead of an assay.toml")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="TABLE.KEY=VALUE",
        help="change any key of the file: run.k=20 (repeatable)",
    )


def add_questions(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say what is asked, and on what."""
    parser.add_argument("--gold", action="append", metavar="PATH", help="gold file or folder, or 'stdlib' (repeatable)")
    parser.add_argument("--corpus", metavar="SPEC", help="folder, stdlib, git:URL@REV, pypi:NAME==V, npm:NAME@V")
    parser.add_argument("--tag", action="append", metavar="K=V:ROWS", help="tag rows of a CSV: difficulty=hard:101-127")
    parser.add_argument("-k", type=int, metavar="N", help="results asked for and scored (10)")
    parser.add_argument("--forms", metavar="LIST", help="phrasings to ask, by commas (all)")
    parser.add_argument("--allow-missing", action="store_true", help="report targets that are not there and go on")


def config_file(config: str | None) -> Path | None:
    """Find the assay.toml that is named, or this folder's; None where there is none."""
    from assay.experiment.spec import FILE

    if config:
        return Path(config)
    return Path(FILE) if Path(FILE).is_file() else None


def declared(config: str | None) -> Spec:
    """Read the assay.toml that is named, or this folder's; without one, every default."""
    from assay.experiment.spec import load_spec

    return load_spec(config_file(config))


def declared_by(args: argparse.Namespace) -> Spec:
    """Read the experiment that the flags name, changed by --set."""
    from assay.experiment.spec import load_spec

    if args.preset and args.config:
        hint = f'write extends = "preset:{args.preset}" into {args.config}'
        raise ConfigError("--preset and --config are two experiments", hint=hint)
    return load_spec(None if args.preset else config_file(args.config), preset=args.preset, sets=args.set)


def question_flags(args: argparse.Namespace) -> dict[str, Any]:
    """Collect what the flags say of the questions; None where one was not given."""
    return {
        "gold": tuple(args.gold) if args.gold else None,
        "corpus": args.corpus,
        "tags": tuple(args.tag) if args.tag else None,
        "k": args.k,
        "forms": listed(args.forms),
    }


def listed(text: str | None) -> tuple[str, ...] | None:
    """Split a list at its commas; None where none was given."""
    return tuple(part.strip() for part in text.split(",")) if text else None


def add_endpoint(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the flags, below a line that says what the model is asked to do."""
    group = parser.add_argument_group(f"{what} (any OpenAI-compatible endpoint)")
    group.add_argument("--endpoint", metavar="URL", help="address of its chat completions")
    group.add_argument("--model", metavar="NAME", help="the model")
    group.add_argument("--token-env", metavar="VAR", help="environment variable that holds its token")


def endpoint_of(args: argparse.Namespace) -> Endpoint | None:
    """Give the endpoint that was named, if one was; half of a name is refused."""
    from assay.chat import Endpoint

    if bool(args.endpoint) != bool(args.model):
        raise ConfigError("--endpoint and --model go together", hint="such as --endpoint URL --model qwen3")
    if args.token_env and not args.endpoint:
        raise ConfigError("--token-env means nothing without --endpoint", hint="name the endpoint, or leave it out")
    return Endpoint(args.endpoint, args.model, args.token_env) if args.endpoint else None


def required_endpoint(args: argparse.Namespace) -> Endpoint:
    """Give the endpoint where nothing can be done without one."""
    endpoint = endpoint_of(args)
    if endpoint is None:
        raise ConfigError("no endpoint is named", hint="such as --endpoint URL --model qwen3")
    return endpoint


def add_varied(parser: argparse.ArgumentParser, engine: str) -> None:
    """Add the flags that say what is varied, on what, and where the run goes."""
    parser.add_argument("engine", nargs="?", metavar="ENGINE", help=engine)
    add_source(parser)
    add_questions(parser)
    parser.add_argument("--jobs", type=int, metavar="N", help="processes to run in (all processors)")
    parser.add_argument("--out", metavar="FOLDER", help="keep the run there, as `assay run` does (not kept)")
    add_claim(parser, JUDGING)


def add_ledger(parser: argparse.ArgumentParser) -> None:
    """Add the flags that put what was found into the ledger."""
    group = parser.add_argument_group("the ledger")
    group.add_argument(
        "--ledger", nargs="?", const="", metavar="FILE", help="add what was found to the ledger (ledger.jsonl)"
    )
    add_rule(group)


def add_rule(group: argparse._ArgumentGroup | argparse.ArgumentParser) -> None:
    """Add the flags of an entry."""
    group.add_argument("--rule", metavar="NAME", help="the rule that decides ([ledger] rule); a wrong name lists them")
    group.add_argument("--by", default="", metavar="WHO", help="who tried it")
    group.add_argument("--again", action="store_true", help="add a comparison that is in the ledger already")


def varied_spec(args: argparse.Namespace) -> Spec:
    """Read the configuration file, if there is one, and apply the flags."""
    from assay.experiment.spec import override

    return override(declared_by(args), **question_flags(args), **claim_flags(args), jobs=args.jobs)


def varied_data(args: argparse.Namespace, spec: Spec, use: SplitUse) -> DevData:
    """Load the queries that may be used; what a flag or the file asks for and may not have is refused by name."""
    from assay.experiment.ablation import dev_data
    from assay.experiment.corpora import load_suite
    from assay.experiment.spec.model import locate_error

    asked = listed(args.split)
    suite = load_suite(spec)
    try:
        data = dev_data(suite, spec.split if asked is None else asked, use)
    except ConfigError as error:
        raise (error if asked else locate_error(error, spec, "run", {"split": spec.split})) from error
    for note in data.notes:
        if note.kind == "used up":
            warn(note.text)
    return data


def run_varied(args: argparse.Namespace, spec: Spec, suite: Suite) -> Run:
    """Run a specification."""
    from assay.experiment import check_directory
    from assay.experiment.plan import ExecutionOptions
    from assay.experiment.runner import run_spec

    folder = check_directory(Path(args.out)) if args.out else None
    missing: Missing | None = "report" if args.allow_missing else None
    return run_spec(spec, suite, missing=missing, progress=progress_callback(args), options=ExecutionOptions(folder))


def keep_run(args: argparse.Namespace, made: Run, spec: Spec, suite: Suite) -> None:
    """Write a run as `assay run` does, where asked: what stands there keeps its rows."""
    from assay.experiment.spec.model import retained_engines
    from assay.report.explorer.excerpts import PagePlan
    from assay.report.publish import publish

    if args.out:
        page, declared = _with_sources(PagePlan()), retained_engines(spec, suite)
        publish(made, spec.analysis_plan(), Path(args.out), declared=declared, page=page)
        info(args, f"written to {args.out}/")


def plan_ledger(args: argparse.Namespace, spec: Spec) -> LedgerPlan | None:
    """Find the ledger and the rule before anything runs; None where nothing is to be added."""
    from assay.experiment.ledger import ledger_plan, read_ledger

    if args.ledger is None:
        return None
    plan = ledger_plan(spec, args.ledger or None, args.rule)
    read_ledger(plan.path)  # a ledger that is broken is told before hours are spent
    return plan


def add_found(args: argparse.Namespace, plan: LedgerPlan, entries: Sequence[LedgerEntry]) -> tuple[LedgerEntry, ...]:
    """Add entries and say which."""
    from assay.experiment.ablation import spent_warning
    from assay.experiment.ledger import add_entries

    added = add_entries(plan.path, entries, again=args.again)
    accepted = sum(entry.accepted for entry in added)
    numbers = f"{added[0].number}" if len(added) == 1 else f"{added[0].number} to {added[-1].number}"
    info(args, f"{plan.path}: entry {numbers} added; {accepted} of {len(added)} accepted")
    spent = sorted({part for entry in added for part in entry.spent})
    if spent:
        warn(f"{plan.path}: entry {numbers}: {spent_warning(spent).text}")
    return added
