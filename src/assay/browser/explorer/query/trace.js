// Why the builtin engine answered as it did: each candidate, stage by stage.

import { h } from "../../common/dom.js";
import { table } from "../../common/table.js";
import { fixed, placeText, signed } from "../../common/format.js";
import { missingBlock } from "../missing.js";
import { placeNodes } from "../places.js";

/** Draw the waterfall of a query, or say how to get one. */
export function tracePanel(view) {
  const { data, unit, loaded } = view;
  const section = (...content) =>
    h("section", { "aria-labelledby": "trace-title" }, [
      h("h2", { id: "trace-title" }, "What each stage did"),
      ...content,
    ]);
  if (!loaded.traces) return section(missingBlock(data, "traces"));
  const trace = loaded.traces[String(unit.index)];
  if (!trace) return section(missingBlock(data, "traces", "This query was not traced."));
  return section(traceQuestion(trace), waterfallTable(trace, unit.query));
}

/** Say what the engine took the query for. */
function traceQuestion(trace) {
  return h("p.note", [
    `${trace.engine} took this for a ${trace.question.kind} query and looked up `,
    trace.question.terms.map((term, place) => [place ? " " : null, h("code", term)]),
    ".",
  ]);
}

/** Draw the table of candidates and stages. */
export function waterfallTable(trace, query) {
  const rows = trace.candidates.map((candidate, place) => ({ ...candidate, place: place + 1 }));
  const last = trace.stages.length - 1;
  return table({
    caption: "Scores and ranks of each candidate after each stage",
    columns: [
      {
        id: "final",
        title: "Rank",
        align: "right",
        first: "ascending",
        value: (row) => row.steps[last]?.rank || null,
        text: (row) => String(row.steps[last]?.rank || "–"),
      },
      { id: "place", title: "Candidate", head: true, value: placeText, cell: (row) => candidateCell(row, query) },
      ...trace.stages.map((stage, at) => stageColumn(stage, at, trace)),
    ],
    rows,
    empty: "Nothing matched.",
  });
}

/** Name a candidate, and whether it is an answer. */
function candidateCell(row, query) {
  const answer = query.targets.some((target) => target.path === row.path);
  return [h("span.place", placeNodes(row)), answer ? h("span.badge.good", "✓ file of an answer") : null];
}

/** Make the column of a stage: a bar against the stage's best, the score, and where the rank went. */
function stageColumn(stage, at, trace) {
  const most = Math.max(...trace.candidates.map((one) => one.steps[at]?.score ?? 0)) || 1;
  return {
    id: `stage-${at}`,
    title: stage,
    align: "right",
    value: (row) => row.steps[at]?.score ?? null,
    text: (row) => stepText(row.steps[at], at),
    cell: (row) => stepCell(row.steps[at], at, most),
  };
}

/** Write what a stage did. */
function stepText(step, at) {
  if (!step) return "–";
  return `${fixed(step.score)}${at ? ` (${signed(step.change)})` : ""} ${rankMove(step, at)}`.trim();
}

/** Write a rank and where it came from. */
function rankMove(step, at) {
  if (!step.rank) return "no match";
  if (!at || !step.before) return `#${step.rank}`;
  if (step.before === step.rank) return `#${step.rank} =`;
  return `#${step.rank} ${step.rank < step.before ? "↑" : "↓"}${Math.abs(step.rank - step.before)}`;
}

/** Draw what a stage did. */
function stepCell(step, at, most) {
  if (!step) return "–";
  const bar = h("span.stage-bar", { "aria-hidden": "true" }, [
    h("span", { style: { width: `${Math.max(0, Math.min(1, step.score / most)) * 100}%` } }),
  ]);
  const tone =
    at && step.before && step.rank !== step.before ? (step.rank && step.rank < step.before ? "good" : "bad") : "soft";
  return h("div.stage", h("span", fixed(step.score)), bar, h("span", { class: tone }, rankMove(step, at)));
}
