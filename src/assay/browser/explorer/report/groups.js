// The same measure over parts of the queries: by form, language, repository, leak and tag; and where the best rival
// of the baseline helps and hurts.

import { fixed } from "../../common/format.js";
import { table } from "../../common/table.js";
import { forest } from "../charts/forest.js";
import { heatCell, linearAxis, rangeOf } from "../charts/marks.js";
import { chooser } from "./choices.js";
import { engineColumn, note, stack, subtitle } from "./parts.js";
import { differenceText, endsText, meanText, pText, rankedNames, sentences, shownName } from "./words.js";

export const groupsSection = { id: "groups", title: "Groups", render: renderGroups };
const FIRST_CUTS = ["category", "form", "language of the answer", "language", "repository"]; // what people ask first
const WIDEST = 8; // columns that a screen holds with their intervals; with more, groups become rows

/** Show one way of cutting the queries at a time, and all slices of the comparison. */
function renderGroups(data) {
  const cuts = data.results.breakdowns.filter((cut) => cut.groups.length).sort((a, b) => turnOf(a) - turnOf(b));
  const slices = slicesPart(data);
  if (!cuts.length && !slices) return null;
  const options = cuts.map((cut) => [cut.by, cutTitle(cut)]);
  return stack(
    cuts.length > 0 &&
      chooser("groups", { by: cuts[0].by }, [{ key: "by", label: "By", options }], ({ by }) =>
        cutTable(
          data,
          cuts.find((cut) => cut.by === by),
        ),
      ),
    slices,
  );
}

/** Tell how early a way of cutting is asked for. */
function turnOf(cut) {
  const place = FIRST_CUTS.indexOf(cut.by);
  return place < 0 ? FIRST_CUTS.length : place;
}

/** Name a way of cutting, with how many groups it makes. */
function cutTitle(cut) {
  return `${cut.by} (${new Set(cut.groups.map((one) => one.group)).size})`;
}

/** Show engines against groups; the longer of the two goes down. */
function cutTable(data, cut) {
  const cells = new Map(cut.groups.map((one) => [JSON.stringify([one.engine, one.group]), one]));
  const at = (engine, group) => cells.get(JSON.stringify([engine, group]));
  const groups = [...new Map(cut.groups.map((one) => [one.group, one.queries]))];
  const span = rangeOf(cut.groups.map((one) => one.mean));
  const engines = rankedNames(data).filter((name) => cut.groups.some((one) => one.engine === name));
  const flipped = groups.length > WIDEST && engines.length < groups.length;
  const view = flipped ? groupRows(data, groups, engines, at, span) : engineRows(data, groups, engines, at, span);
  const { few } = data.summary;
  const small = groups.some(([, queries]) => queries < few) && `Groups below ${few} queries are noise.`;
  return [
    table({ caption: `${cut.measure} by ${cut.by}`, ...view }),
    note(sentences(`${cut.measure}, with the interval of every mean; groups are exploratory.`, small)),
  ];
}

/** Put engines in rows. */
function engineRows(data, groups, engines, at, span) {
  const columns = groups.map(([group, queries]) =>
    groupColumn(group, `${group} (n=${queries})`, (row) => at(row.name, group), span),
  );
  return { rows: engines.map((name) => ({ name })), columns: [engineColumn(data), ...columns] };
}

/** Put groups in rows. */
function groupRows(data, groups, engines, at, span) {
  const columns = engines.map((name) => groupColumn(name, shownName(data, name), (row) => at(name, row.group), span));
  const heads = [
    { id: "group", title: "group", head: true, value: (row) => row.group },
    { id: "queries", title: "queries", align: "right", value: (row) => row.queries },
  ];
  return { rows: groups.map(([group, queries]) => ({ group, queries })), columns: [...heads, ...columns] };
}

/** Make a column of means with their intervals. */
function groupColumn(id, title, find, [low, high]) {
  return {
    id,
    title,
    align: "right",
    value: (row) => find(row)?.mean ?? null,
    text: (row) => (find(row) ? meanText(find(row).mean, find(row).low, find(row).high) : "–"),
    cell: (row) =>
      find(row)
        ? heatCell(find(row).mean, low, high, fixed(find(row).mean), endsText(find(row).low, find(row).high))
        : "–",
  };
}

/** Draw where the best rival helps and where it hurts. */
function slicesPart(data) {
  const { slices, challenger, comparison } = data.results;
  if (!slices.length) return null;
  const reach = Math.max(...slices.flatMap(({ row }) => [Math.abs(row.interval.low), Math.abs(row.interval.high)]));
  return [
    subtitle(`Where ${challenger} helps and where it hurts`),
    forest({
      label: `Differences of ${challenger} and ${comparison.baseline} on ${comparison.primary}, part by part`,
      axis: linearAxis(-reach, reach, { count: 6 }),
      rows: slices.map(sliceRow),
      line: 0,
      lineName: `as ${comparison.baseline}`,
    }),
    note(
      "Slices are exploratory: p-values are adjusted over all slices by Benjamini–Hochberg, and there is no verdict.",
    ),
  ];
}

/** Give one slice as a row of a forest. */
function sliceRow({ by, value, row }) {
  const p = row.p_adjusted === null ? "" : `, p ${pText(row.p_adjusted)}`;
  const certain = row.interval.low > 0 || row.interval.high < 0;
  const good = row.difference > 0 === row.higher_is_better;
  return {
    group: by,
    name: value,
    note: `n=${row.queries}`,
    value: row.difference,
    low: row.interval.low,
    high: row.interval.high,
    tone: certain ? (good ? "good" : "bad") : "plain",
    text: differenceText(row) + p,
    tip: `${by} ${value}: ${differenceText(row)}${p}; ${row.wins} better, ${row.ties} the same, ${row.losses} worse`,
  };
}
