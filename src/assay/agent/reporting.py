"""The tools `run_benchmark` and `read_report`: how well search finds code, and what may be claimed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import Field

from assay.agent.answers import LIMITS, Answer, answered
from assay.agent.benchmarks import Order, Watch
from assay.agent.house import House
from assay.errors import ConfigError, meant

if TYPE_CHECKING:
    from assay.experiment import Progress
    from assay.report.pages.document import Block
    from assay.report.results import Results
    from assay.stats.records import MeanRow

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
class Compared:
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
    comparisons: tuple[Compared, ...]
    sections: tuple[str, ...]
    markdown: str
    cut: bool


_Gold = Annotated[str | None, Field(description="the gold set; without it those of the server's configuration")]
_Engines = Annotated[list[str] | None, Field(description='names of engines; ["builtin"] without')]
_K = Annotated[int | None, Field(description="results asked for and scored (10)", ge=1, le=1000)]
_Out = Annotated[str | None, Field(description="a new folder for the records, below a served folder")]
_Folder = Annotated[str, Field(description="the folder of the run, below a served folder")]
_Section = Annotated[str | None, Field(description="a title, or how only one begins; without it, what decides")]


def add_benchmark(server: MCPServer, house: House) -> None:
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
        order = Order(gold, tuple(dict.fromkeys(engines or ())), k, out)
        async with _watched(ctx) as watch:
            return await answered(partial(measure, house, order, watch))


def add_report(server: MCPServer, house: House) -> None:
    """Give the server the tool that reads."""

    @server.tool(
        structured_output=True,
        description=READ,
        annotations=ToolAnnotations(title="Read a report", read_only_hint=True),
    )
    async def read_report(folder: _Folder, section: _Section = None) -> Annotated[CallToolResult, ReportAnswer]:
        return await answered(partial(read, house, folder, section))


@asynccontextmanager
async def _watched(ctx: Context) -> AsyncIterator[Watch]:
    """Tell progress while a run goes on, and stop it when its call is cancelled."""
    watch = Watch()
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_tell, ctx, watch)
            yield watch
            group.cancel_scope.cancel()
    finally:
        watch.stop()  # of no effect on a run that has ended


async def _tell(ctx: Context, watch: Watch) -> None:
    """Send what is new, as a number that only grows."""
    told: Progress | None = None
    step = 0
    while True:
        await anyio.sleep(TELLING.seconds)
        if watch.last is not None and watch.last != told:
            told, step = watch.last, step + 1
            await ctx.report_progress(step, None, _words(told))


def _words(progress: Progress) -> str:
    """Say where a run is."""
    if progress.step == "corpus":
        return f"reading the code of {progress.gold}"
    if progress.step == "index":
        return f"{progress.engine} gets ready on {progress.gold}"
    if progress.step == "trouble":
        return f"{progress.engine} {progress.trouble}"
    return f"{progress.engine}: {progress.done} of {progress.total} questions of {progress.gold}"


def measure(house: House, order: Order, watch: Watch) -> Answer:
    """Run, and show the report."""
    done = house.benchmarks.carry_out(order, watch)
    return _report(done.results, done.folder, None)


def read(house: House, folder: str, section: str | None) -> Answer:
    """Score a run again from its records, and show the report or a part of it."""
    from assay.experiment import read_run
    from assay.experiment.spec.claim import claim_of
    from assay.gold.split import sealed_queries
    from assay.report import analyse

    place = house.roots.existing(folder, "run")
    run = read_run(place.real)
    if any(sealed_queries(gold) for gold in run.suite.golds):
        hint = "people read it with `assay score`, which writes the look down"
        raise ConfigError("the run holds sealed queries", file=place.path, hint=hint)
    return _report(analyse(run, claim_of(run)), place.real, section)


def _report(results: Results, folder: Path, section: str | None) -> Answer:
    """Write a report, or a part of it, within bounds."""
    from assay.report import document
    from assay.report.pages.document import Heading
    from assay.report.pages.markdown import to_markdown

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
    return Answer(f"{data.markdown}\n{cut}Records: {folder}\nSections:\n{_listed(titles)}", data)


def _named(section: str, titles: tuple[str, ...]) -> str:
    """Find a section by its title or how only that title begins, whatever the case."""
    asked = section.strip().casefold()
    begin = [title for title in titles if asked and title.casefold().startswith(asked)]
    whole = [title for title in begin if title.casefold() == asked]
    if whole or len(begin) == 1:
        return (whole or begin)[0]
    if begin:
        raise ConfigError(f"several sections begin with {section[:80]!r}", hint=f"name one:\n{_listed(begin)}")
    hint = f"{meant(section, titles)} sections:\n{_listed(titles)}".lstrip()
    raise ConfigError(f"no section is called {section[:80]!r}", hint=hint)


def _listed(titles: Sequence[str]) -> str:
    """List titles, which may have commas in them, one on each line."""
    return "\n".join(f"- {title}" for title in titles)


def _part(blocks: tuple[Block, ...], title: str) -> tuple[Block, ...]:
    """Take the blocks from one heading to the next."""
    from assay.report.pages.document import Heading

    heads = [at for at, block in enumerate(blocks) if isinstance(block, Heading)] + [len(blocks)]
    first = next(at for at in heads if blocks[at] == Heading(title))
    return blocks[first : heads[heads.index(first) + 1]]


def _bounded(text: str) -> str:
    """Cut a text between lines where it is too long."""
    return text if len(text) <= LIMITS.text else text[: LIMITS.text].rpartition("\n")[0] + "\n"


def _means(results: Results) -> list[MeanRow]:
    """List the means that the report shows."""
    return [row for row in results.comparison.means if row.measure in results.measures]


def _compared(results: Results) -> list[Compared]:
    """List the comparisons that verdicts are about."""
    return [
        Compared(r.engine, r.baseline, r.measure, r.difference, r.interval.low, r.interval.high, r.claim)
        for r in results.comparison.rows
    ]
