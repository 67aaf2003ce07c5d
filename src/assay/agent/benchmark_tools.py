"""The MCP tools `run_benchmark` and `read_report`."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import Field

from assay.agent.context import LIMITS, RootedPath, Roots, ServerContext, ToolResponse, answered
from assay.errors import AssayError, ConfigError, did_you_mean
from assay.files import write_atomic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assay.experiment import Progress
    from assay.experiment.spec import Spec
    from assay.report.render.document import Block
    from assay.report.results import Results
    from assay.stats.records import MeanRow
    from assay.types import GoldSet, Suite


#: Engines that execute nothing but Assay itself.
OWN: Final = ("builtin", "keywords")
_FOLDER = "assay-runs"
_GIT_IGNORE = "# Runs of an agent: name a folder as `out` to keep one.\n*\n"


@dataclass(frozen=True, slots=True)
class BenchmarksConfig:
    """How the end of a run is waited for."""

    seconds: float = 5.0  # at the end of the server: its programs are killed, the rest is cleaning up


CONFIG: Final = BenchmarksConfig()


class RunCancelled(AssayError):
    """A run was taken back."""


class RunMonitor:
    """The eyes on one run: what it did last, and whether it is still wanted."""

    def __init__(self) -> None:
        self.last: Progress | None = None
        self._unwanted = threading.Event()

    def __call__(self, progress: Progress) -> None:
        """Take note, and end the run at this step when nobody wants it any more."""
        if self._unwanted.is_set():
            raise RunCancelled("the run was stopped", hint="nothing was written; start it again when you want it")
        self.last = progress

    def stop(self) -> None:
        """Want it no more."""
        self._unwanted.set()


@dataclass(frozen=True, slots=True)
class BenchmarkRequest:
    """What a call wants measured."""

    gold: str | None
    engines: tuple[str, ...]
    k: int | None
    out: str | None


@dataclass(frozen=True, slots=True)
class BenchmarkResult:
    """A run that was made, and where it lies."""

    folder: Path
    results: Results


class Benchmarks:
    """Runs benchmarks, one at a time."""

    def __init__(self, roots: Roots, spec: Spec | None = None) -> None:
        self._roots = roots
        self._spec = spec
        self._busy = threading.Lock()
        self._watch: RunMonitor | None = None

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines that a call may name."""
        return tuple(dict.fromkeys((*OWN, *(self._spec.engines if self._spec else ()))))

    @property
    def gold(self) -> tuple[str, ...]:
        """The gold sets of the configuration."""
        return self._spec.gold if self._spec else ()

    def carry_out(self, order: BenchmarkRequest, watch: RunMonitor) -> BenchmarkResult:
        """Run, write the records and the reports."""
        from assay.experiment import check_directory
        from assay.experiment.corpora import CorpusTexts
        from assay.experiment.runner import run_spec
        from assay.experiment.tracing import trace_queries
        from assay.report.explorer.excerpts import PagePlan
        from assay.report.publish import publish

        with self._alone(watch):
            spec = self._specified(order)
            suite = self._suite(spec, trusted=order.gold is None)
            folder = check_directory(Path(spec.out))
            made = run_spec(spec, suite, progress=watch)
            if order.out is None:
                _keep_from_git(folder.parent)
            page = PagePlan(texts=CorpusTexts, tracer=trace_queries)
            return BenchmarkResult(folder, publish(made, spec.analysis_plan(), folder, page=page).results)

    def stop(self) -> None:
        """End the run that is under way, in the middle of a question too, and wait until its engines are gone."""
        if self._watch is not None:
            from assay.processes.running import kill_all

            self._watch.stop()
            kill_all()
        if self._busy.acquire(timeout=CONFIG.seconds):
            self._busy.release()

    @contextmanager
    def _alone(self, watch: RunMonitor) -> Iterator[None]:
        if not self._busy.acquire(blocking=False):
            raise ConfigError("a benchmark is running already", hint="wait until it has ended, or cancel it")
        self._watch = watch
        try:
            yield
        finally:
            self._watch = None
            self._busy.release()

    def _specified(self, order: BenchmarkRequest) -> Spec:
        from assay.experiment.spec import Spec, override
        from assay.gold.load import SHIPPED

        root, named = self._roots.folders[0], order.gold
        if order.gold is not None and order.gold not in SHIPPED:
            place = self._roots.existing(order.gold, "gold set")
            root, named = place.root, os.path.relpath(place.real)  # a record shows no more of this machine than it must
        changes: dict[str, object] = {
            "engines": self._chosen(order.engines),
            "k": order.k,
            "out": str(self._out(order.out, root)),
            # A call names whole engines; what the file varies, and claims of it, is for its own runs.
            "variants": {},
            "sweeps": {},
            "family": (),
        }
        if named is not None:  # the corpus and the tags of the configuration belong to its own sets
            changes |= {"gold": (named,), "corpus": "", "tags": (), "cluster": "auto"}
        return override(self._spec or Spec(), **changes, split=())

    def _chosen(self, names: tuple[str, ...]) -> dict[str, Mapping[str, Any] | str]:
        from assay.experiment.spec.model import without_template_keys

        known = without_template_keys(self._spec.engines) if self._spec else {}
        for name in names:
            if name not in self.engines:
                hint = (
                    f"{did_you_mean(name, self.engines)} there are {', '.join(self.engines)}; others must stand in the"
                )
                raise ConfigError(f"no engine is called {name[:80]!r}", hint=f"{hint.lstrip()} server's --config")
        return {name: known.get(name, name) for name in names or OWN[:1]}

    def _out(self, text: str | None, root: Path) -> Path:
        place = self._roots.find(text) if text else _free(root)
        if place.real.exists() and any(place.real.iterdir() if place.real.is_dir() else [place.real]):
            raise ConfigError("there is something already", file=place.path, hint="name a new folder as out")
        return place.real

    def _suite(self, spec: Spec, *, trusted: bool) -> Suite:
        from assay.experiment.corpora import load_suite

        if not spec.gold:
            raise ConfigError("no gold set is named", hint="name a gold file or folder, or 'stdlib', as gold")
        suite = load_suite(spec)
        for gold in suite.golds:
            if not trusted and gold.corpus.kind != "stdlib":
                self._check_inside(gold)
        return suite

    def _check_inside(self, gold: GoldSet) -> None:
        source = Path(gold.source or "")
        corpus = source.parent / gold.corpus.value
        if not self._roots.holds(source) or gold.corpus.kind != "path" or not self._roots.holds(corpus):
            raise ConfigError(
                f"the code of {gold.name} is {gold.corpus.repository}, which is not served",
                hint=f"a call may use code in {self._roots}; other sets must stand in the server's --config",
            )


def _keep_from_git(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        write_atomic(ignore, _GIT_IGNORE)


def _free(root: Path) -> RootedPath:
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    names = (f"{stamp}-{number}" if number else stamp for number in range(1000))
    return next(RootedPath(root, f"{_FOLDER}/{name}") for name in names if not (root / _FOLDER / name).exists())


RUN = """\
Measure how well code search finds the right code, on a gold set: a file of questions with the places that answer them.
Use it to compare engines, or to see whether a change of settings helped. It takes seconds to minutes, tells progress,
and can be cancelled; one runs at a time. Beside the engines you name, chance (`random`), a careful grep (`keywords`)
and the gold answers (`oracle`) are measured, so that every number has a floor and a ceiling.

Engines: {engines}. Gold sets: a gold file or folder below a served folder{gold}, or "stdlib", which ships with Assay.

Comes back: the report, and the folder that the records were written to; `read_report` shows every section of it.

Example: {{"gold": "gold.yaml", "engines": ["builtin"], "k": 10}}"""

READ = """\
Read the report of a benchmark that `run_benchmark` or `assay run` wrote. Use it for the sections that the first answer
left out, or for an earlier run. Numbers are computed anew from the records.

Comes back: one sentence with the verdict, the scores with their intervals, the comparisons, and as Markdown what
decides, or one section of the full report when you name it. Claim no more than the verdict says: "inconclusive" is not
"equal".

Example: {"folder": "assay-runs/20260801-120000", "section": "Scores"}"""


@dataclass(frozen=True, slots=True)
class TellingConfig:
    """How progress is told."""

    seconds: float = 0.25  # between two notices: quick enough to look alive, few enough to cost nothing


TELLING: Final = TellingConfig()


@dataclass(frozen=True, slots=True)
class Score:
    """The mean of one engine on one measure, and its interval."""

    engine: str
    measure: str
    mean: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class ComparisonSummary:
    """One engine against the baseline on the primary measure, and what may be claimed."""

    engine: str
    baseline: str
    measure: str
    difference: float | None
    low: float | None
    high: float | None
    verdict: str


@dataclass(frozen=True)  # no slots: the package takes them for defaults of its schema
class ReportAnswer:
    """A report; `sections` can be asked for by name, `cut` says that the Markdown is not whole."""

    folder: str
    headline: str
    scores: tuple[Score, ...]
    comparisons: tuple[ComparisonSummary, ...]
    sections: tuple[str, ...]
    markdown: str
    cut: bool


_Gold = Annotated[str | None, Field(description="the gold set; without it those of the server's configuration")]
_Engines = Annotated[list[str] | None, Field(description='names of engines; ["builtin"] without')]
_K = Annotated[int | None, Field(description="results asked for and scored (10)", ge=1, le=1000)]
_Out = Annotated[str | None, Field(description="a new folder for the records, below a served folder")]
_Folder = Annotated[str, Field(description="the folder of the run, below a served folder")]
_Section = Annotated[str | None, Field(description="a title, or how only one begins; without it, what decides")]


def add_benchmark(server: MCPServer, house: ServerContext) -> None:
    """Give the server the tool that measures."""
    also = (
        f", those of the server's configuration ({', '.join(house.benchmarks.gold)})" if house.benchmarks.gold else ""
    )
    about = RUN.format(engines=", ".join(house.benchmarks.engines), gold=also)
    hints = ToolAnnotations(title="Measure code search", read_only_hint=False, destructive_hint=False)

    @server.tool(structured_output=True, description=about, annotations=hints)
    async def run_benchmark(
        ctx: Context, gold: _Gold = None, engines: _Engines = None, k: _K = None, out: _Out = None
    ) -> Annotated[CallToolResult, ReportAnswer]:
        order = BenchmarkRequest(gold, tuple(dict.fromkeys(engines or ())), k, out)
        async with _watched(ctx) as watch:
            return await answered(partial(measure, house, order, watch))


def add_report(server: MCPServer, house: ServerContext) -> None:
    """Give the server the tool that reads."""

    @server.tool(
        structured_output=True,
        description=READ,
        annotations=ToolAnnotations(title="Read a report", read_only_hint=True),
    )
    async def read_report(folder: _Folder, section: _Section = None) -> Annotated[CallToolResult, ReportAnswer]:
        return await answered(partial(read, house, folder, section))


@asynccontextmanager
async def _watched(ctx: Context) -> AsyncIterator[RunMonitor]:
    watch = RunMonitor()
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_tell, ctx, watch)
            yield watch
            group.cancel_scope.cancel()
    finally:
        watch.stop()  # of no effect on a run that has ended


async def _tell(ctx: Context, watch: RunMonitor) -> None:
    told: Progress | None = None
    step = 0
    while True:
        await anyio.sleep(TELLING.seconds)
        if watch.last is not None and watch.last != told:
            told, step = watch.last, step + 1
            await ctx.report_progress(step, None, _words(told))


def _words(progress: Progress) -> str:
    if progress.step == "corpus":
        return f"reading the code of {progress.gold}"
    if progress.step == "index":
        return f"{progress.engine} gets ready on {progress.gold}"
    if progress.step == "trouble":
        return f"{progress.engine} {progress.trouble}"
    return f"{progress.engine}: {progress.done} of {progress.total} questions of {progress.gold}"


def measure(house: ServerContext, order: BenchmarkRequest, watch: RunMonitor) -> ToolResponse:
    """Run, and show the report."""
    done = house.benchmarks.carry_out(order, watch)
    return _report(done.results, done.folder, None)


def read(house: ServerContext, folder: str, section: str | None) -> ToolResponse:
    """Score a run again from its records, and show the report or a part of it."""
    from assay.experiment import read_run
    from assay.experiment.spec.model import analysis_plan_of
    from assay.gold.split import sealed_queries
    from assay.report.analysis import analyse

    place = house.roots.existing(folder, "run")
    run = read_run(place.real)
    if any(sealed_queries(gold) for gold in run.suite.golds):
        hint = "people read it with `assay score`, which writes the look down"
        raise ConfigError("the run holds sealed queries", file=place.path, hint=hint)
    return _report(analyse(run, analysis_plan_of(run)), place.real, section)


def _report(results: Results, folder: Path, section: str | None) -> ToolResponse:
    from assay.report.render.document import Heading
    from assay.report.render.markup import to_markdown
    from assay.report.sections import document

    whole = document(results)
    titles = tuple(block.text for block in whole.blocks if isinstance(block, Heading))
    shown = document(results, full=False)
    if section is not None:
        shown = replace(whole, blocks=_part(whole.blocks, _named(section, titles)))
    text = to_markdown(shown)
    data = ReportAnswer(
        folder=str(folder),
        headline=whole.title,
        scores=tuple(Score(m.engine, m.measure, m.mean, m.interval.low, m.interval.high) for m in _means(results)),
        comparisons=tuple(_compared(results)),
        sections=titles,
        markdown=_bounded(text),
        cut=len(text) > LIMITS.text,
    )
    cut = "The report was cut short; ask for a section.\n" if data.cut else ""
    return ToolResponse(f"{data.markdown}\n{cut}Records: {folder}\nSections:\n{_listed(titles)}", data)


def _named(section: str, titles: tuple[str, ...]) -> str:
    asked = section.strip().casefold()
    begin = [title for title in titles if asked and title.casefold().startswith(asked)]
    whole = [title for title in begin if title.casefold() == asked]
    if whole or len(begin) == 1:
        return (whole or begin)[0]
    if begin:
        raise ConfigError(f"several sections begin with {section[:80]!r}", hint=f"name one:\n{_listed(begin)}")
    hint = f"{did_you_mean(section, titles)} sections:\n{_listed(titles)}".lstrip()
    raise ConfigError(f"no section is called {section[:80]!r}", hint=hint)


def _listed(titles: Sequence[str]) -> str:
    return "\n".join(f"- {title}" for title in titles)


def _part(blocks: tuple[Block, ...], title: str) -> tuple[Block, ...]:
    from assay.report.render.document import Heading

    heads = [at for at, block in enumerate(blocks) if isinstance(block, Heading)] + [len(blocks)]
    first = next(at for at in heads if blocks[at] == Heading(title))
    return blocks[first : heads[heads.index(first) + 1]]


def _bounded(text: str) -> str:
    return text if len(text) <= LIMITS.text else text[: LIMITS.text].rpartition("\n")[0] + "\n"


def _means(results: Results) -> list[MeanRow]:
    return [row for row in results.comparison.means if row.measure in results.measures]


def _compared(results: Results) -> list[ComparisonSummary]:
    return [
        ComparisonSummary(r.engine, r.baseline, r.measure, r.difference, r.interval.low, r.interval.high, r.claim)
        for r in results.comparison.rows
    ]
