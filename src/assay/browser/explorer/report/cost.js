// What engines took: time, memory, disk, calls; under which conditions; and how they behaved otherwise.

import { counted, fixed, grouped, percent } from "../../common/format.js";
import { table } from "../../common/table.js";
import { engineColumn, folded, note, stack, subtitle } from "./parts.js";
import { sentences } from "./words.js";

export const costSection = { id: "cost", title: "Cost and behaviour", render: renderCost };
const MEGABYTE = 1_000_000;

/** Show what engines took and how they behaved. */
function renderCost(data) {
  const { results } = data;
  return stack(
    results.spending.length > 0 && spendingPart(data),
    subtitle("How the engines behaved"),
    behaviourTable(data),
  );
}

/** Show time and space. */
function spendingPart(data) {
  const rows = data.results.spending.map((row) => ({ ...row, name: row.engine }));
  const several = Object.keys(data.results.header.corpora).length > 1;
  const columns = spendingColumns(data, rows);
  const untimed = note(data.summary.notes.times);
  if (!columns.some((column) => column.align === "right")) return untimed ?? note("Nothing was timed in this run.");
  return [
    untimed,
    table({ caption: "Time and space", rows, columns }),
    note(spendingNote(rows, several)),
    note(conditionsText(data.results.conditions)),
    several && folded("Cold index by gold set", indexTable(data, rows)),
  ];
}

/** Make the columns; those that no engine has a value in are left out. */
function spendingColumns(data, rows) {
  const number = (id, title, value, digits, tip) => ({
    id,
    title,
    align: "right",
    value,
    text: (row) => grouped(value(row), digits),
    tip,
  });
  const mega = (bytes) => (bytes === null ? null : bytes / MEGABYTE);
  const columns = [
    { id: "version", title: "version", value: (row) => row.version || null },
    number("startup", "start-up s", (row) => row.startup_seconds, 2),
    number("index", "cold index s", (row) => row.index_seconds, 2),
    ratioColumn("index_ratio"),
    {
      ...number("first", "first ms", (row) => row.first_ms, 1),
      text: (row) => (row.first_failed ? "failed" : grouped(row.first_ms, 1)),
    },
    { ...number("warm", "warm ms", (row) => row.warm_ms, 1), text: warmText },
    ratioColumn("warm_ratio"),
    {
      ...number("p95", "p95 ms", (row) => row.warm_p95_ms, 1),
      text: (row) => (row.mostly_failed ? "failed" : grouped(row.warm_p95_ms, 1)),
    },
    number("memory", "memory MB", (row) => mega(row.peak_bytes), 1),
    number("disk", "index MB", (row) => mega(row.index_bytes), 1),
    number("calls", "calls", (row) => row.calls, 0),
    number("tokens", "tokens", (row) => row.tokens, 0),
  ];
  return [engineColumn(data), ...columns.filter((column) => rows.some((row) => column.value(row) !== null))];
}

/** Make the column of a ratio to the fastest engine. */
function ratioColumn(id) {
  return {
    id,
    title: "ratio",
    align: "right",
    value: (row) => row[id],
    text: (row) => (row[id] === null ? "–" : `${grouped(row[id], row[id] < 10 ? 1 : 0)}×`),
    tip: "to the fastest engine of this run that competes",
  };
}

/** Write the median of warm queries, or that they failed. */
function warmText(row) {
  if (!row.mostly_failed) return grouped(row.warm_ms, 1);
  return row.answered_ms === null ? "failed" : `failed (answered: ${grouped(row.answered_ms, 1)})`;
}

/** Say how to read the numbers. */
function spendingNote(rows, several) {
  const charged = rows
    .filter((row) => row.charged)
    .map((row) => `${row.engine} ${row.charged} (limit ${row.limit_seconds} s)`);
  return sentences(
    `first: the first query on ${several ? "each corpus (the median of them)" : "the corpus"};`,
    "warm: the median of all others, p95 their 95th percentile.",
    "memory: the highest ever taken; 1 MB is 1,000,000 bytes.",
    "cold index: on a fresh copy of the corpus. – : not measured, or not told by the engine.",
    charged.length > 0 && `A query that failed is charged all the time it had: ${charged.join("; ")}.`,
    several && "Start-up, index time and index size are sums over gold sets.",
  );
}

/** Say what the times were taken under. */
function conditionsText(conditions) {
  const { pinned, machine, cores, alone, interleaved, in_flight: flights } = conditions;
  return sentences(
    pinned ? `Each engine was pinned to ${counted(pinned, "thread")}.` : "Threads were not pinned.",
    machine && `Machine: ${machine}${cores ? ` (${cores} cores)` : ""}.`,
    !alone &&
      (interleaved
        ? "Engines took turns, question by question."
        : "Engines were asked one after the other, so what changed on the machine meanwhile is part of the times."),
    ...Object.entries(flights).map(
      ([name, many]) => `${name} had up to ${many} questions in flight: its times are those of a busy engine.`,
    ),
  );
}

/** Show the cold index corpus by corpus. */
function indexTable(data, rows) {
  const golds = Object.keys(data.results.header.corpora);
  const column = (gold) => ({
    id: gold,
    title: gold,
    align: "right",
    value: (row) => row.index_by_gold[gold] ?? null,
    text: (row) => grouped(row.index_by_gold[gold], 2),
  });
  return table({
    caption: "Cold index by gold set, in seconds",
    rows,
    columns: [engineColumn(data), ...golds.map(column)],
  });
}

/** Show failures, duplicates, ties and notes of every engine. */
function behaviourTable(data) {
  const columns = [
    engineColumn(data),
    {
      id: "failed",
      title: "failed",
      align: "right",
      value: (row) => row.failed,
      text: (row) => (row.failed ? `${grouped(row.failed)} of ${grouped(row.asked)}` : "0"),
    },
    {
      id: "distinct",
      title: `distinct files of ${data.results.k}`,
      align: "right",
      value: (row) => row.distinct,
      text: (row) => fixed(row.distinct, 1),
    },
    {
      id: "ties",
      title: "queries with ties",
      align: "right",
      value: (row) => row.tie_rate,
      text: (row) => percent(row.tie_rate),
    },
    {
      id: "range",
      title: "primary over shuffled ties",
      align: "right",
      value: (row) => row.tie_range?.[1] ?? null,
      text: (row) => (row.tie_range ? row.tie_range.map((end) => fixed(end)).join(" … ") : "–"),
    },
    { id: "notes", title: "notes", value: (row) => row.notes.join("; ") || null },
  ];
  return table({
    caption: "How the engines behaved",
    rows: data.engines,
    columns: columns.filter(
      (column) => column.id === "engine" || data.engines.some((row) => column.value(row) !== null),
    ),
  });
}
