// The means of every engine: as a table over all measures, and as a forest plot of one.

import { counted, grouped, percent } from "../../common/format.js";
import { headColumn, numberColumn, table, textColumn } from "../../common/table.js";
import { forest } from "../charts/forest.js";
import { linearAxis } from "../charts/marks.js";
import { isReference } from "../data.js";
import {
  betterSide, chooser, engineColor, engineOf, engineTable, folded, intervalColumn, meansOf, meanText, measureOf,
  measureText, note, rankedNames, roleOf, shownName, stack,
} from "./parts.js";

export const scoresSection = { id: "scores", title: "All measures", render: renderScores };
export const meansSection = { id: "means", title: "Means", render: renderMeans };

function renderScores(data) {
  const { measures, comparison, repositories } = data.results;
  const rows = rankedNames(data).map((name) => ({
    name,
    means: new Map(comparison.means.filter(({ engine }) => engine === name).map((row) => [row.measure, row])),
  }));
  if (!rows.length) return null;
  const estimate = (mean) => mean && { mean: mean.mean, ...mean.interval };
  const columns = measures.map((name) => intervalColumn(name, name, (row) => estimate(row.means.get(name))));
  const macro = measures.map((name) =>
    numberColumn(name, name, (row) => row.means.get(name)?.repository_mean ?? null, 3),
  );
  const caption = "Scores: mean and interval of every engine on every measure";
  return stack(
    engineTable(data, { caption, rows, columns }),
    note(data.summary.notes.scores),
    repositories > 1 &&
      folded(
        "Each repository counted once",
        engineTable(data, { caption: "Means over repositories", rows, columns: macro }),
      ),
    layersFold(data),
    otherEnginesFold(data),
  );
}

/** Render each measure over the queries that request it. */
function layersFold(data) {
  const { layers } = data.results;
  if (!layers.length) return null;
  const rows = rankedNames(data).map((name) => ({
    name,
    means: new Map(layers.filter(({ engine }) => engine === name).map(({ measure, mean }) => [measure, mean])),
  }));
  const columns = [...new Map(layers.map(({ measure, queries }) => [measure, queries]))].map(([measure, queries]) =>
    numberColumn(measure, `${measure} (n=${queries})`, (row) => row.means.get(measure) ?? null, 3),
  );
  return folded(
    "Over the queries whose evaluation layer names the measure",
    engineTable(data, { caption: "Measures requested by queries", rows, columns }),
  );
}

/** Render engines that were skipped, and rows of earlier runs. */
function otherEnginesFold(data) {
  const rows = (data.results.rows ?? []).filter((row) => row.state !== "measured");
  if (!rows.length) return null;
  const mean = (row) => (row.values ?? []).find(({ measure }) => measure === data.primary)?.mean ?? null;
  const columns = [
    headColumn("engine", "Engine", (row) => row.engine),
    textColumn("state", "State", (row) => row.state),
    textColumn("reason", "Reason", (row) => row.reason),
    textColumn("date", "Date", (row) => row.date),
    numberColumn("value", data.primary, mean, 3),
  ];
  return folded(
    `${counted(rows.length, "engine")} not in this run`,
    table({ caption: "Engines that were skipped or measured earlier", rows, columns }),
  );
}

function renderMeans(data) {
  if (!data.results.comparison.means.length) return null;
  const measures = { key: "measure", label: "Measure", options: data.results.measures.map((name) => [name, name]) };
  return stack(
    chooser("means", { measure: data.primary }, [measures], (state) => meansForest(data, state.measure)),
    note(
      "Overlapping intervals do not mean that two engines are equal: the differences are paired and more precise.",
    ),
  );
}

/** Draw the means of a measure; those of references are folded. */
export function meansForest(data, measure) {
  const means = new Map(meansOf(data, measure).map((row) => [row.engine, row]));
  const names = rankedNames(data, measure).filter((name) => means.has(name));
  if (!names.length) return note(`${measure} applies to no query.`);
  const references = names.filter((name) => isReference(engineOf(data, name)));
  const tested = names.filter((name) => !references.includes(name));
  const baseline = means.get(data.results.comparison.baseline);
  const level = percent(means.get(names[0]).interval.level);
  const { low, high } = measureOf(data, measure);
  const limits = { least: low ?? -Infinity, most: high ?? Infinity };
  const draw = (label, shown) => {
    const rows = shown.map((name) => means.get(name));
    const ends = rows.flatMap(({ interval }) => [interval.low, interval.high]);
    return forest({
      label: `${label} of ${measure} with ${level} intervals`,
      axis: linearAxis(Math.min(...ends), Math.max(...ends), limits),
      axisName: `mean ${measureText(measure)} (${level} CI)`,
      rows: rows.map((row) => meanRow(data, row)),
      line: baseline?.mean,
      lineName: baseline && `mean of the baseline, ${baseline.engine}`,
      side: betterSide(data, measure),
    });
  };
  if (!tested.length || !references.length) return draw("Means", names);
  return [draw("Means", tested), folded(`References: ${references.join(", ")}`, draw("Reference means", references))];
}

function meanRow(data, row) {
  const { engine, mean, interval } = row;
  const text = meanText(mean, interval);
  return {
    name: shownName(data, engine),
    note: roleOf(data, engine),
    value: mean,
    ...interval,
    text,
    hollow: isReference(engineOf(data, engine)),
    tone: engine === data.results.challenger ? "chosen" : "plain",
    color: engineColor(data, engine),
    tip: `${engine}: ${text}, ${row.queries} queries, effective n ${grouped(row.effective_n)}`,
  };
}
