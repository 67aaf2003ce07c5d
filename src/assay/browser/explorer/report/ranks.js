// Where the first right answer stood: bars of every engine, and the counts behind them.

import { h } from "../../common/dom.js";
import { grouped, percent } from "../../common/format.js";
import { table } from "../../common/table.js";
import { barRow, heatCell } from "../charts/marks.js";
import { engineColumn, folded, note, stack } from "./parts.js";
import { fewText, rankedNames, sentences } from "./words.js";

export const ranksSection = { id: "ranks", title: "Ranks", render: renderRanks };
const CUTS = [1, 3, 5]; // the ranks that people look at: the first, one screen of an editor's list, half a page

/** Show the distribution of ranks of every engine. */
function renderRanks(data) {
  const known = new Map(data.results.ranks.map((item) => [item.engine, item]));
  const rows = rankedNames(data)
    .filter((name) => known.has(name))
    .map((name) => rankRow(known.get(name)));
  if (!rows.length || !rows[0].total) return null;
  const k = rows[0].counts.length;
  const level = known.get(rows[0].name).level;
  return stack(
    table({ caption: "Rank of the first right answer, every engine", rows, columns: rankColumns(data, rows, k) }),
    note(
      sentences(
        `Bars: rank 1 to ${k}, then apart the queries whose answer is not among the first ${k}. ` +
          `An answer is right by ${level}.`,
        fewText(data, rows[0].total),
      ),
    ),
    folded(
      "What the distributions say",
      h(
        "ul.plain-list",
        rows.map((row) => h("li", h("strong", row.name), ": ", row.sentence)),
      ),
    ),
    folded("Counts of every rank", countsTable(data, rows, k)),
  );
}

/** Give the counts of an engine with their sum. */
function rankRow(item) {
  return {
    name: item.engine,
    counts: item.counts,
    missed: item.missed,
    sentence: item.sentence,
    total: item.counts.reduce((sum, n) => sum + n, item.missed),
  };
}

/** Make the columns: the engine, its bars, how many answers the first ranks hold. */
function rankColumns(data, rows, k) {
  const most = Math.max(...rows.flatMap((row) => [...row.counts, row.missed]));
  const cuts = [...CUTS.filter((cut) => cut < k), k];
  return [
    engineColumn(data),
    {
      id: "bars",
      title: `rank 1 … ${k} | not found`,
      fixed: true,
      value: () => null,
      text: (row) => [...row.counts, row.missed].join(" "),
      cell: (row) => rankBars(row, most),
    },
    ...cuts.map((cut) => ({
      id: `in${cut}`,
      title: cut === 1 ? "rank 1" : `in first ${cut}`,
      align: "right",
      value: (row) => inFirst(row, cut),
      text: (row) => percent(inFirst(row, cut)),
    })),
    {
      id: "missed",
      title: "not found",
      align: "right",
      value: (row) => row.missed / row.total,
      text: (row) => `${grouped(row.missed)} (${percent(row.missed / row.total)})`,
    },
  ];
}

/** Give the share of queries whose answer is in the first ranks. */
function inFirst(row, cut) {
  return row.counts.slice(0, cut).reduce((sum, n) => sum + n, 0) / row.total;
}

/** Draw one distribution; the queries without an answer stand apart. */
function rankBars(row, most) {
  const share = (n) => `${grouped(n)} of ${grouped(row.total)} (${percent(n / row.total)})`;
  const bars = row.counts.map((n, place) => ({ value: n, tip: `rank ${place + 1}: ${share(n)}` }));
  return barRow(
    [...bars, { value: row.missed, tip: `not found: ${share(row.missed)}`, class: "missed" }],
    most,
    `Ranks of ${row.name}`,
  );
}

/** Show every count. */
function countsTable(data, rows, k) {
  const most = Math.max(...rows.flatMap((row) => row.counts));
  const columns = [
    engineColumn(data),
    ...Array.from({ length: k }, (_, place) =>
      countColumn(`rank${place + 1}`, String(place + 1), (row) => row.counts[place], most),
    ),
    countColumn("missed", "not found", (row) => row.missed, most),
  ];
  return table({ caption: "How many queries have their first right answer at each rank", rows, columns });
}

/** Make the column of one rank. */
function countColumn(id, title, value, most) {
  return {
    id,
    title,
    align: "right",
    value,
    text: (row) => grouped(value(row)),
    cell: (row) => heatCell(value(row), 0, most, grouped(value(row))),
  };
}
