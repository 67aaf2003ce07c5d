// Paired differences against the baseline: the picture, and the table with all that belongs beside them.

import { counted, fixed, percent, signed } from "../../common/format.js";
import { table } from "../../common/table.js";
import { forest } from "../charts/forest.js";
import { linearAxis } from "../charts/marks.js";
import { chooser } from "./choices.js";
import { note, sideText, stack, toned } from "./parts.js";
import {
  comparisonsOn,
  decidingP,
  differenceText,
  measureOf,
  pText,
  sentences,
  signedEnds,
  verdictSign,
  withoutReferences,
} from "./words.js";

export const differencesSection = { id: "differences", title: "Differences", render: renderDifferences };

/** Show every engine against the baseline, on the measure that is chosen. */
function renderDifferences(data) {
  const { comparison } = data.results;
  const measures = data.results.measures.filter((name) => comparisonsOn(data, name).length);
  if (!measures.length) return null;
  const options = measures.map((name) => [name, name === data.primary ? `${name} (primary)` : name]);
  const failed = comparison.failed.length
    ? `Not compared, as every query failed: ${comparison.failed.join(", ")}.`
    : "";
  return stack(
    chooser("differences", { measure: measures[0] }, [{ key: "measure", label: "Measure", options }], (state) =>
      differencesOn(data, state.measure),
    ),
    note(sentences(failed, ...comparison.notes)),
  );
}

/** Draw the differences on one measure. */
function differencesOn(data, measure) {
  const rows = [...comparisonsOn(data, measure)].sort(
    (a, b) => better(data, measure) * (b.difference - a.difference) || (a.engine < b.engine ? -1 : 1),
  );
  return [
    differencesForest(data, measure, withoutReferences(data, rows)),
    differencesTable(data, rows),
    note(measure === data.primary ? FAMILY_LEGEND : SECONDARY_LEGEND),
  ];
}

const FAMILY_LEGEND =
  "better and worse need Holm's p; equivalent and not inferior are read from the 90% interval, " +
  "which allows for unseen differences. d_z: the difference in standard deviations of the differences. " +
  "harmed: queries that got worse. " +
  "ICC, n eff.: how alike queries of one cluster are, and how many independent ones they are worth. " +
  "MDE: the smallest difference this set would probably have shown.";
const SECONDARY_LEGEND =
  "A secondary measure: there is no verdict on it, and its p-values are not adjusted. " +
  "Read it to understand the primary one.";

/** Give the direction that is good on a measure. */
function better(data, measure) {
  return measureOf(data, measure).higher ? 1 : -1;
}

/** Draw the forest of differences around zero, with the margin that nobody would act on. */
function differencesForest(data, measure, rows) {
  const { margin, baseline } = data.results.comparison;
  const primary = measure === data.primary;
  const reach = Math.max(
    ...rows.flatMap((row) => [Math.abs(row.interval.low), Math.abs(row.interval.high)]),
    primary ? margin : 0,
  );
  return forest({
    label: `Differences on ${measure} against ${baseline}, with ${percent(rows[0].interval.level)} intervals`,
    axis: linearAxis(-reach, reach, { count: 6 }),
    rows: rows.map(differenceRow),
    line: 0,
    lineName: `as ${baseline}`,
    band: primary ? [-margin, margin] : null,
    bandName: `within ±${margin}: not worth a change`,
    side: sideText(data, measure),
    format: (tick) => (tick === 0 ? "0" : signed(tick, 2)),
  });
}

/** Give a comparison as a row of a forest. */
function differenceRow(row) {
  const verdict = row.verdict && row.said;
  const said = `${row.engine} against ${row.baseline}: ${differenceText(row)}${verdict ? `, ${verdict}` : ""}`;
  return {
    name: row.engine,
    value: row.difference,
    low: row.interval.low,
    high: row.interval.high,
    tone: row.tone,
    text: [differenceText(row), verdict && [" ", toned(row.tone, verdict, verdictSign(row))]],
    tip: `${said}; p ${pText(decidingP(row))}; MDE ${row.mde_text}`,
  };
}

/** Show all numbers of the comparisons. */
function differencesTable(data, rows) {
  const judged = rows.some((row) => row.verdict);
  const columns = [
    { id: "engine", title: "engine", head: true, value: (row) => row.engine },
    ...(judged ? [VERDICT_COLUMN] : []),
    ...claimColumns(rows[0]),
    ...powerColumns(rows[0]),
  ];
  return table({ caption: `Comparisons with ${data.results.comparison.baseline}`, rows, columns });
}

const VERDICT_COLUMN = {
  id: "verdict",
  title: "verdict",
  value: (row) => row.said,
  cell: (row) => (row.verdict ? toned(row.tone, row.said, verdictSign(row)) : "–"),
};

/** Make the columns of what a claim rests on. */
function claimColumns({ interval }) {
  const title = `difference [${percent(interval.level)}]`;
  const balance = (row) => `${row.wins}/${row.ties}/${row.losses}`;
  return [
    numbers("difference", title, (row) => row.difference, differenceText),
    numbers("p", "p", decidingP, (row) => pText(decidingP(row)), "adjusted by Holm inside the family"),
    numbers(
      "mde",
      "MDE",
      (row) => row.mde,
      (row) => row.mde_text,
    ),
    numbers("wins", "win/tie/loss", (row) => row.wins - row.losses, balance),
    numbers(
      "harmed",
      "harmed",
      (row) => row.harmed,
      (row) => percent(row.harmed),
      "share of queries that got worse",
    ),
  ];
}

/** Make the columns of how much can be known. */
function powerColumns({ equivalence, queries }) {
  const narrow = (row) => signedEnds(row.equivalence);
  const [tip, of] = ["the interval that equivalence is read from", `of ${counted(queries, "query", "queries")}`];
  return [
    numbers("narrow", `[${percent(equivalence.level)}]`, (row) => row.equivalence.low, narrow, tip),
    numbers(
      "d_z",
      "d_z",
      (row) => row.d_z,
      (row) => fixed(row.d_z, 2),
    ),
    numbers(
      "icc",
      "ICC",
      (row) => row.icc,
      (row) => fixed(row.icc, 2),
    ),
    numbers(
      "n",
      "n eff.",
      (row) => row.effective_n,
      (row) => fixed(row.effective_n, 0),
      of,
    ),
  ];
}

/** Make a column of numbers. */
function numbers(id, title, value, text, tip) {
  return { id, title, align: "right", value, text, tip };
}
