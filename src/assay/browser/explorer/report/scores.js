// The table of scores: one row an engine, one column a measure, intervals in every cell.

import { h } from "../../common/dom.js";
import { counted, fixed } from "../../common/format.js";
import { table } from "../../common/table.js";
import { engineColumn, folded, note, stack } from "./parts.js";
import { endsText, meanText, rankedNames } from "./words.js";

export const scoresSection = { id: "scores", title: "Scores", render: renderScores };

/** Show means with intervals, means over repositories, and rows that are not of this run. */
function renderScores(data) {
  const { results } = data;
  const rows = rankedNames(data).map((name) => ({ name, means: meansOfEngine(data, name) }));
  if (!rows.length) return null;
  return stack(
    table({ caption: "Scores: mean and interval of every engine on every measure", rows, columns: scoreColumns(data) }),
    note(data.summary.notes.scores),
    results.repositories > 1 && folded("Each repository counted once", macroTable(data, rows)),
    layersFold(data),
    othersFold(data),
  );
}

/** Give the means of an engine by measure. */
function meansOfEngine(data, name) {
  return new Map(data.results.comparison.means.filter((row) => row.engine === name).map((row) => [row.measure, row]));
}

/** Make the columns: the engine, then its means. */
function scoreColumns(data) {
  return [
    engineColumn(data),
    ...data.results.measures.map((measure) => ({
      id: measure,
      title: measure,
      align: "right",
      value: (row) => row.means.get(measure)?.mean ?? null,
      text: (row) => scoreText(row.means.get(measure)),
      cell: (row) => scoreCell(row.means.get(measure)),
    })),
  ];
}

/** Write a mean for a copy. */
function scoreText(row) {
  return row ? meanText(row.mean, row.interval.low, row.interval.high) : "–";
}

/** Show a mean, its interval smaller. */
function scoreCell(row) {
  if (!row) return "–";
  return [h("strong", fixed(row.mean)), " ", h("small.ends", endsText(row.interval.low, row.interval.high))];
}

/** Show the means over repositories. */
function macroTable(data, rows) {
  const columns = [
    engineColumn(data),
    ...data.results.measures.map((measure) => ({
      id: measure,
      title: measure,
      align: "right",
      value: (row) => row.means.get(measure)?.repository_mean ?? null,
      text: (row) => fixed(row.means.get(measure)?.repository_mean),
    })),
  ];
  return table({ caption: "Means over repositories", rows, columns });
}

/** Fold in each measure over the queries that ask for it. */
function layersFold(data) {
  const { layers } = data.results;
  if (!layers.length) return null;
  const measures = [...new Map(layers.map((one) => [one.measure, one.queries]))];
  const rows = rankedNames(data).map((name) => ({
    name,
    means: new Map(layers.filter((one) => one.engine === name).map((one) => [one.measure, one.mean])),
  }));
  const columns = [
    engineColumn(data),
    ...measures.map(([measure, queries]) => ({
      id: measure,
      title: `${measure} (n=${queries})`,
      align: "right",
      value: (row) => row.means.get(measure) ?? null,
      text: (row) => fixed(row.means.get(measure)),
    })),
  ];
  return folded(
    "Over the queries whose evaluation layer names the measure",
    table({ caption: "Measures that queries ask for", rows, columns }),
  );
}

/** Fold in engines that were skipped, and rows that earlier runs left. */
function othersFold(data) {
  const others = (data.results.rows ?? []).filter((row) => row.state !== "measured");
  if (!others.length) return null;
  const columns = [
    { id: "engine", title: "engine", head: true, value: (row) => row.engine },
    { id: "state", title: "state", value: (row) => row.state },
    { id: "reason", title: "why", value: (row) => row.reason },
    { id: "date", title: "asked on", value: (row) => row.date },
    {
      id: "value",
      title: data.primary,
      align: "right",
      value: (row) => otherMean(row, data.primary),
      text: (row) => fixed(otherMean(row, data.primary)),
    },
  ];
  return folded(
    `${counted(others.length, "engine")} not of this run`,
    table({ caption: "Engines that were skipped or measured earlier", rows: others, columns }),
  );
}

/** Give the mean of a row of an earlier run. */
function otherMean(row, measure) {
  return (row.values ?? []).find((one) => one.measure === measure)?.mean ?? null;
}
