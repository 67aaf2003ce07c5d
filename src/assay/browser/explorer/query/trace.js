// The trace of the builtin engine: the score and rank of each candidate after each stage.

import { h } from "../../common/dom.js";
import { fixed, signed, spanText } from "../../common/format.js";
import { headColumn, numberColumn, table } from "../../common/table.js";
import { omissionNote, spanNodes } from "../parts.js";

/** Draw the trace of a query, or explain how to get one. */
export function traceSection({ data, unit, loaded }) {
  const title = h("h2", { id: "trace-title" }, "Trace: scores by stage");
  const section = (...content) => h("section", { "aria-labelledby": "trace-title" }, title, content);
  if (!loaded.traces) return section(omissionNote(data, "traces"));
  const trace = loaded.traces[String(unit.index)];
  if (!trace) return section(omissionNote(data, "traces", "This query was not traced."));
  const { kind, terms } = trace.question;
  return section(
    h("p.note", [
      `${trace.engine} classified this as a ${kind} query and searched for `,
      terms.map((term, index) => [index ? " " : null, h("code", term)]),
      ".",
    ]),
    stageTable(trace, unit.query.targets),
  );
}

export function stageTable({ stages, candidates }, targets) {
  const finalRank = (row) => row.steps[stages.length - 1]?.rank || null;
  return table({
    caption: "Scores and ranks of each candidate after each stage",
    columns: [
      numberColumn("final", "Rank", finalRank, (rank) => String(rank ?? "–"), { first: "ascending" }),
      headColumn("place", "Candidate", spanText, {
        cell: (row) => [
          h("span.place", spanNodes(row)),
          targets.some((target) => target.path === row.path) && h("span.badge.good", "✓ file of a target"),
        ],
      }),
      ...stages.map((stage, index) => stageColumn(stage, index, candidates)),
    ],
    rows: candidates,
    empty: "No candidates.",
  });
}

/** Create the column of a stage: a bar relative to the stage's best, the score, and the change of rank. */
function stageColumn(title, index, candidates) {
  const max = Math.max(...candidates.map(({ steps }) => steps[index]?.score ?? 0)) || 1;
  return {
    id: `stage-${index}`,
    title,
    align: "right",
    value: (row) => row.steps[index]?.score ?? null,
    text: (row) => stepText(row.steps[index], index),
    cell: (row) => stepCell(row.steps[index], index, max),
  };
}

function stepText(step, stage) {
  if (!step) return "–";
  return `${fixed(step.score)}${stage ? ` (${signed(step.change)})` : ""} ${rankText(step, stage)}`.trim();
}

/** Format a rank and where it came from. */
function rankText({ rank, before }, stage) {
  if (!rank) return "no match";
  if (!stage || !before) return `#${rank}`;
  if (before === rank) return `#${rank} =`;
  return `#${rank} ${rank < before ? "↑" : "↓"}${Math.abs(rank - before)}`;
}

function stepCell(step, stage, max) {
  if (!step) return "–";
  const { score, rank, before } = step;
  const width = `${Math.max(0, Math.min(1, score / max)) * 100}%`;
  const tone = stage && before && rank !== before ? (rank && rank < before ? "good" : "bad") : "soft";
  return h("div.stage", [
    h("span", fixed(score)),
    h("span.stage-bar", { "aria-hidden": "true" }, h("span", { style: { width } })),
    h("span", { class: tone }, rankText(step, stage)),
  ]);
}
