// The means as a picture: every engine with its interval, on the measure that is chosen.

import { grouped, percent } from "../../common/format.js";
import { forest } from "../charts/forest.js";
import { linearAxis } from "../charts/marks.js";
import { isReference } from "../data.js";
import { chooser } from "./choices.js";
import { note, sideText, stack } from "./parts.js";
import { meansOf, meanText, measureOf, rankedNames, roleOf, shownName } from "./words.js";

export const meansSection = { id: "means", title: "Means", render: renderMeans };

/** Show the forest of means, with a choice of measures. */
function renderMeans(data) {
  if (!data.results.comparison.means.length) return null;
  const measures = { key: "measure", label: "Measure", options: data.results.measures.map((name) => [name, name]) };
  return stack(chooser("means", { measure: data.primary }, [measures], (state) => meansForest(data, state.measure)));
}

/** Draw the means of one measure. */
function meansForest(data, measure) {
  const known = new Map(meansOf(data, measure).map((row) => [row.engine, row]));
  const rows = rankedNames(data, measure)
    .filter((name) => known.has(name))
    .map((name) => known.get(name));
  const baseline = known.get(data.results.comparison.baseline);
  const level = rows[0] && percent(rows[0].interval.level);
  if (!rows.length) return note(`${measure} applies to no query.`);
  return [
    forest({
      label: `Means of ${measure} with their ${level} intervals`,
      axis: meansAxis(data, measure, rows),
      rows: rows.map((row) => meanRow(data, row)),
      line: baseline?.mean,
      lineName: baseline && `mean of the baseline, ${baseline.engine}`,
      side: sideText(data, measure),
    }),
    note(
      `${level} intervals. Intervals that overlap do not say that two engines are equal: ` +
        "the differences below are paired, and sharper.",
    ),
  ];
}

/** Make an axis that holds all intervals and no more than the measure can be. */
function meansAxis(data, measure, rows) {
  const { low, high } = measureOf(data, measure);
  const ends = rows.flatMap((row) => [row.interval.low, row.interval.high]);
  return linearAxis(Math.min(...ends), Math.max(...ends), { least: low ?? -Infinity, most: high ?? Infinity });
}

/** Give a mean as a row of a forest. */
function meanRow(data, row) {
  const facts = data.engines[data.engineIndex(row.engine)];
  const text = meanText(row.mean, row.interval.low, row.interval.high);
  return {
    name: shownName(data, row.engine),
    note: roleOf(data, row.engine),
    value: row.mean,
    low: row.interval.low,
    high: row.interval.high,
    text,
    hollow: isReference(facts),
    tone: row.engine === data.results.challenger ? "chosen" : "plain",
    tip: `${row.engine}: ${text}, ${row.queries} queries worth ${grouped(row.effective_n)} independent ones`,
  };
}
