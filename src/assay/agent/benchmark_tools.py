from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import anyio
from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import Field

from assay.agent.context import MaxTokens, RootedPath, Roots, fit_lines, respond
from assay.errors import AssayError, ConfigError, did_you_mean
from assay.files import write_atomic

if TYPE_CHECKING:
    from assay.experiment import Progress
    from assay.experiment.spec import Spec
    from assay.report.render.document import Block, Table
    from assay.report.results_file import Results
    from assay.types import Suite

RUN = """\
Measure the quality of code search on a gold set: a file of queries with their targets. Use it to compare engines, or
to see whether a change of settings helped. It takes seconds to minutes, reports progress and can be cancelled; one
benchmark runs at a time. The reference engines `random` (chance), `keywords` (a careful grep) and `oracle` (the
targets) are measured too, as floor, baseline and ceiling.

Engines: {engines}. Gold sets: a gold file or directory in a served directory{gold}, or "stdlib" (shipped).

Returns the decision, a table of the engines and the directory of the records; `read_report` shows every section.

Example: {{"gold": "gold.yaml", "engines": ["builtin"], "k": 10}}"""

READ = """\
Read the report of a benchmark that `run_benchmark` or `assay run` wrote. Use it for a section of the full report, or
for an earlier run. All numbers are recomputed from the records.

Returns the decision and a table of the engines, or the named section, as Markdown. Do not claim more than the decision:
"inconclusive" does not mean "equal".

Example: {"folder": "assay-runs/20260801-120000", "section": "Time and memory"}"""

#: Engines that run no code but Assay's.
OWN: Final = ("builtin", "keywords")
_RUNS = "assay-runs"
_GIT_IGNORE = "# Runs of an agent: name a directory as `out` to keep one.\n*\n"
_STOP_SECONDS = 5.0  # to wait for a stopped run: its programs are killed, the rest is cleanup
_PROGRESS_SECONDS = 0.25  # between two progress notifications


class Benchmarks:
    """Tools `run_benchmark` and `read_report`; benchmarks run one at a time."""

    def __init__(self, roots: Roots, spec: Spec | None = None) -> None:
        self._roots = roots
        self._spec = spec
        self._busy = threading.Lock()
        self._monitor: RunMonitor | None = None
        self._engines = tuple(dict.fromkeys((*OWN, *(spec.engines if spec else ()))))  # that a call may name

    @property
    def description(self) -> str:
        gold = ", ".join(self._spec.gold) if self._spec else ""
        configured = f", those of the server's configuration ({gold})" if gold else ""
        return RUN.format(engines=", ".join(self._engines), gold=configured)

    async def run_benchmark(
        self,
        ctx: Context,
        gold: Annotated[
            str | None, Field(description="the gold set; default: those of the server's configuration")
        ] = None,
        engines: Annotated[list[str] | None, Field(description='names of engines; default: ["builtin"]')] = None,
        k: Annotated[int | None, Field(description="results per query; default: 10", ge=1, le=1000)] = None,
        out: Annotated[str | None, Field(description="a new directory for the records, in a served directory")] = None,
        max_tokens: MaxTokens = 2_000,
    ) -> CallToolResult:
        monitor = RunMonitor()
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(_report_progress, ctx, monitor)
                result = await respond(lambda: self._run(gold, engines or OWN[:1], k, out, monitor, max_tokens))
                group.cancel_scope.cancel()
        finally:  # if the call is cancelled
            monitor.stopped.set()
        return result

    def read_report(
        self,
        folder: Annotated[str, Field(description="the directory of the run, in a served directory")],
        section: Annotated[
            str | None, Field(description="a section title or its unambiguous beginning; default: a summary")
        ] = None,
        max_tokens: MaxTokens = 2_000,
    ) -> str:
        from assay.experiment import read_run
        from assay.experiment.spec.analysis_plan import analysis_plan_of
        from assay.gold.split import sealed_queries
        from assay.report.analysis import analyze

        location = self._roots.find_existing(folder, "run")
        run = read_run(location.real)
        if any(sealed_queries(gold) for gold in run.suite.golds):
            hint = "`assay score` reads it and logs the access"
            raise ConfigError("the run contains sealed queries", file=location.path, hint=hint)
        return _report_text(analyze(run, analysis_plan_of(run)), location.real, section, max_tokens)

    def _run(
        self,
        gold: str | None,
        engines: Sequence[str],
        k: int | None,
        out: str | None,
        monitor: RunMonitor,
        max_tokens: int,
    ) -> str:
        from assay.experiment import check_directory
        from assay.experiment.corpora import load_suite
        from assay.experiment.execution import run_spec
        from assay.experiment.source_texts import CorpusTexts
        from assay.experiment.spec.analysis_plan import analysis_plan_of
        from assay.experiment.tracing import trace_queries
        from assay.report.explorer.html_page import PageOptions
        from assay.report.publish import publish

        with self._exclusive(monitor):
            spec = self._make_spec(gold, engines, k, out)
            if not spec.gold:
                raise ConfigError("missing gold set", hint="name a gold file or directory, or 'stdlib', as gold")
            suite = load_suite(spec)
            if gold is not None:
                self._check_served(suite)
            directory = check_directory(Path(spec.out))
            made = run_spec(spec, suite, progress=monitor)
            ignore = directory.parent / ".gitignore"
            if out is None and not ignore.exists():
                write_atomic(ignore, _GIT_IGNORE)
            page = PageOptions(texts=CorpusTexts, tracer=trace_queries)
            published = publish(made, analysis_plan_of(made), directory, page=page)
        return _report_text(published.results, directory, None, max_tokens)

    def stop(self) -> None:
        """Stop the current run, kill its engines and wait for the cleanup."""
        if self._monitor is not None:
            from assay.processes.running import kill_all

            self._monitor.stopped.set()
            kill_all()
        if self._busy.acquire(timeout=_STOP_SECONDS):
            self._busy.release()

    @contextmanager
    def _exclusive(self, monitor: RunMonitor) -> Iterator[None]:
        if not self._busy.acquire(blocking=False):
            raise ConfigError("a benchmark is already running", hint="wait until it has ended, or cancel it")
        self._monitor = monitor
        try:
            yield
        finally:
            self._monitor = None
            self._busy.release()

    def _make_spec(self, gold: str | None, engines: Sequence[str], k: int | None, out: str | None) -> Spec:
        from assay.experiment.spec import Spec, override
        from assay.gold.load import SHIPPED

        root = self._roots.directories[0]
        if gold is not None and gold not in SHIPPED:
            location = self._roots.find_existing(gold, "gold set")
            root, gold = location.root, os.path.relpath(location.real)  # records contain no absolute path
        changes: dict[str, object] = {
            "engines": self._choose_engines(engines),
            "k": k,
            "out": str(self._choose_directory(out, root)),
            # a call names whole engines; variants and family of the file are for its own runs
            "variants": {},
            "sweeps": {},
            "family": (),
        }
        if gold is not None:  # the corpus and tags of the configuration belong to its own gold sets
            changes |= {"gold": (gold,), "corpus": "", "tags": (), "cluster": "auto"}
        return override(self._spec or Spec(), **changes, split=())

    def _choose_engines(self, names: Sequence[str]) -> dict[str, Mapping[str, Any] | str]:
        from assay.experiment.spec.engine_entries import without_template_keys

        known = without_template_keys(self._spec.engines) if self._spec else {}
        for name in names:
            if name not in self._engines:
                hint = f"{did_you_mean(name, self._engines)} known: {', '.join(self._engines)}".lstrip()
                hint += "; declare others in the server's --config"
                raise ConfigError(f"unknown engine {name[:80]!r}", hint=hint)
        return {name: known.get(name, name) for name in names}

    def _choose_directory(self, text: str | None, root: Path) -> Path:
        if text is None or not text:
            stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
            names = (f"{stamp}-{number}" if number else stamp for number in range(1000))
            location = next(RootedPath(root, f"{_RUNS}/{name}") for name in names if not (root / _RUNS / name).exists())
        else:
            location = self._roots.find(text)
        real = location.real
        if real.exists() and (not real.is_dir() or any(real.iterdir())):
            raise ConfigError("expected an empty directory", file=location.path, hint="name a new directory as out")
        return real

    def _check_served(self, suite: Suite) -> None:
        for gold in suite.golds:
            source, kind = Path(gold.source or ""), gold.corpus.kind
            served = self._roots.contains(source) and self._roots.contains(source.parent / gold.corpus.value)
            if kind != "stdlib" and not (kind == "path" and served):
                hint = f"use a gold set with a corpus in {self._roots}, or declare it in the server's --config"
                raise ConfigError(
                    f"the corpus of {gold.name} is {gold.corpus.repository}, which is not served", hint=hint
                )


class RunMonitor:
    def __init__(self) -> None:
        self.last: Progress | None = None
        self.stopped = threading.Event()

    def __call__(self, progress: Progress) -> None:
        if self.stopped.is_set():
            raise AssayError("the run was stopped", hint="nothing was written; call run_benchmark again")
        self.last = progress


async def _report_progress(ctx: Context, monitor: RunMonitor) -> None:
    reported: Progress | None = None
    step = 0
    while True:
        await anyio.sleep(_PROGRESS_SECONDS)
        if monitor.last is not None and monitor.last != reported:
            reported, step = monitor.last, step + 1
            await ctx.report_progress(step, None, str(reported))


def _report_text(results: Results, directory: Path, section: str | None, max_tokens: int) -> str:
    """Return the decision card and a table of the engines, or a section, within the budget."""
    from assay.report.comparison_text import run_card
    from assay.report.render.document import Heading, Paragraph, to_markdown
    from assay.report.report_sections import document

    whole = document(results)
    titles = tuple(block.text for block in whole.blocks if isinstance(block, Heading))
    if section is not None:
        blocks = _section_blocks(whole.blocks, _find_title(section, titles))
        return fit_lines(to_markdown(replace(whole, blocks=blocks)), max_tokens, "raise max_tokens")
    warnings = (Paragraph(text, "warning") for text in results.warnings)
    blocks = (run_card(results.decision, str(directory)), _engine_table(results), *warnings)
    summary = to_markdown(replace(whole, blocks=blocks)).rstrip("\n")
    text = f"{summary}\n\nRecords: {directory}\nSections for read_report:\n{_list_titles(titles)}"
    return fit_lines(text, max_tokens, "raise max_tokens, or read one section with read_report")


def _engine_table(results: Results) -> Table:
    from assay.report.comparison_text import verdict_badge
    from assay.report.render.document import table
    from assay.report.render.formatting import difference_text, mean_text
    from assay.scoring import parse_measure

    comparison = results.comparison
    primary, baseline = comparison.primary, comparison.baseline
    compared = {row.engine: row for row in comparison.rows if row.measure == primary}
    failed = {row.engine: str(row.failed) for row in results.rows if row.state == "measured"}
    sign = -1 if parse_measure(primary).higher_is_better else 1
    means = sorted((row for row in comparison.means if row.measure == primary), key=lambda row: sign * row.mean)
    rows = []
    for mean in means:
        row = compared.get(mean.engine)
        difference = "–" if row is None else difference_text(row.difference, row.interval)
        verdict = "Baseline" if mean.engine == baseline else verdict_badge(row) if row else "–"
        cells = [mean_text(mean.mean, mean.interval), difference, verdict, failed.get(mean.engine, "–")]
        rows.append([results.label(mean.engine), *cells])
    return table(["Engine", f">{primary}", f">Difference from {baseline}", "Verdict", ">Failed queries"], rows)


def _find_title(section: str, titles: tuple[str, ...]) -> str:
    wanted = section.strip().casefold()
    matching = [title for title in titles if wanted and title.casefold().startswith(wanted)]
    exact = [title for title in matching if title.casefold() == wanted]
    if exact or len(matching) == 1:
        return (exact or matching)[0]
    if matching:
        raise ConfigError(f"several sections begin with {section[:80]!r}", hint=f"name one:\n{_list_titles(matching)}")
    hint = f"{did_you_mean(section, titles)} sections:\n{_list_titles(titles)}".lstrip()
    raise ConfigError(f"unknown section {section[:80]!r}", hint=hint)


def _list_titles(titles: Sequence[str]) -> str:
    return "\n".join(f"- {title}" for title in titles)


def _section_blocks(blocks: tuple[Block, ...], title: str) -> tuple[Block, ...]:
    from assay.report.render.document import Heading

    starts = [index for index, block in enumerate(blocks) if isinstance(block, Heading)] + [len(blocks)]
    first = next(index for index in starts if blocks[index] == Heading(title))
    return blocks[first : starts[starts.index(first) + 1]]
