// The primary measure over groups of queries, slices of the comparison, and the phrasings of a query.

import { h } from "../../common/dom.js";
import { fixed } from "../../common/format.js";
import { headColumn, numberColumn, table } from "../../common/table.js";
import { forest } from "../charts/forest.js";
import { heatCell, linearAxis, rangeOf } from "../charts/marks.js";
import { queryHref } from "../parts.js";
import {
  chooser, differenceText, engineTable, fewText, intervalColumn, measureOf, note, pText, queryCell, rankedNames,
  sentences, shownName, stack, subtitle,
} from "./parts.js";

export const groupsSection = { id: "groups", title: "Groups", render: renderGroups };
export const phrasingsSection = { id: "phrasings", title: "Phrasings", render: renderPhrasings };

const FIRST_BREAKDOWNS = ["category", "form", "language of the target", "language", "repository"];
const MAX_COLUMNS = 8; // that fit a screen with their intervals; with more, groups become rows
const SHOWN_QUERIES = 12; // rows: one screen; a button shows the rest

function renderGroups(data) {
  const order = ({ by }) => FIRST_BREAKDOWNS.indexOf(by) + 1 || FIRST_BREAKDOWNS.length + 1;
  const breakdowns = data.results.breakdowns.filter(({ groups }) => groups.length).sort((a, b) => order(a) - order(b));
  const options = breakdowns.map(({ by, groups }) => [by, `${by} (${new Set(groups.map(({ group }) => group)).size})`]);
  const draw = (state) =>
    breakdownTable(
      data,
      breakdowns.find(({ by }) => by === state.by),
    );
  return stack(
    breakdowns.length > 0 && chooser("groups", { by: breakdowns[0].by }, [{ key: "by", label: "By", options }], draw),
    slicesPart(data),
  );
}

/** Render engines against groups; the longer of the two become rows. */
function breakdownTable(data, { by, measure, groups: cells }) {
  const estimates = new Map(cells.map((cell) => [JSON.stringify([cell.engine, cell.group]), cell]));
  const find = (engine, group) => estimates.get(JSON.stringify([engine, group]));
  const [low, high] = rangeOf(cells.map(({ mean }) => mean));
  const column = (id, title, findCell) =>
    intervalColumn(id, title, findCell, ({ mean }, interval) => heatCell(mean, low, high, fixed(mean), interval));
  const groups = [...new Map(cells.map(({ group, queries }) => [group, queries]))];
  const engines = rankedNames(data).filter((name) => cells.some(({ engine }) => engine === name));
  const caption = `${measure} by ${by}`;
  const engineRows = () =>
    engineTable(data, {
      caption,
      rows: engines.map((name) => ({ name })),
      columns: groups.map(([group, queries]) =>
        column(group, `${group} (n=${queries})`, (row) => find(row.name, group)),
      ),
    });
  const groupRows = () =>
    table({
      caption,
      rows: groups.map(([group, queries]) => ({ group, queries })),
      columns: [
        headColumn("group", "Group", (row) => row.group),
        numberColumn("queries", "Queries", (row) => row.queries),
        ...engines.map((name) => column(name, shownName(data, name), (row) => find(name, row.group))),
      ],
    });
  const flipped = groups.length > MAX_COLUMNS && engines.length < groups.length;
  const { few } = data.summary;
  const small = groups.some(([, queries]) => queries < few) && `Groups below ${few} queries are unreliable.`;
  return [
    flipped ? groupRows() : engineRows(),
    note(sentences(`${measure}, with the interval of every mean; groups are exploratory.`, small)),
  ];
}

/** Draw where the challenger is better and worse than the baseline. */
function slicesPart(data) {
  const { slices, challenger, comparison } = data.results;
  if (!slices.length) return null;
  const reach = Math.max(...slices.flatMap(({ row }) => [Math.abs(row.interval.low), Math.abs(row.interval.high)]));
  return [
    subtitle(`Where ${challenger} is better and worse`),
    forest({
      label: `Differences between ${challenger} and ${comparison.baseline} on ${comparison.primary}, by group`,
      axis: linearAxis(-reach, reach, { count: 6 }),
      rows: slices.map(sliceRow),
      line: 0,
      lineName: `same as ${comparison.baseline}`,
    }),
    note(
      "Slices are exploratory: p-values are adjusted over all slices by Benjamini–Hochberg, and there is no verdict.",
    ),
  ];
}

function sliceRow({ by, value, row }) {
  const { interval, difference } = row;
  const p = row.p_adjusted === null ? "" : `, p ${pText(row.p_adjusted)}`;
  const excludesZero = interval.low > 0 || interval.high < 0;
  const isBetter = difference > 0 === row.higher_is_better;
  return {
    group: by,
    name: value,
    note: `n=${row.queries}`,
    value: difference,
    ...interval,
    tone: excludesZero ? (isBetter ? "good" : "bad") : "plain",
    text: differenceText(row) + p,
    tip: `${by} ${value}: ${differenceText(row)}${p}; ${row.wins} better, ${row.ties} the same, ${row.losses} worse`,
  };
}

// --- phrasings -----------------------------------------------------------------------------------------------------

function renderPhrasings(data) {
  const queries = data.queries.filter(({ units }) => units.length > 1);
  return stack(phrasingMeasures(data), queries.length > 0 && data.forms.length > 1 && phrasingGrid(data, queries));
}

function phrasingMeasures(data) {
  const { phrasings } = data.results;
  if (!phrasings.length) return null;
  const measures = [...new Map(phrasings.map(({ measure, intents }) => [measure, intents]))];
  const rows = rankedNames(data).map((name) => ({
    name,
    estimates: new Map(phrasings.filter(({ engine }) => engine === name).map((item) => [item.measure, item])),
  }));
  const columns = measures.map(([measure, intents]) =>
    intervalColumn(measure, `${measure} (n=${intents})`, (row) => row.estimates.get(measure)),
  );
  return [
    engineTable(data, { caption: "Measures over the phrasings of a query", rows, columns }),
    note(
      sentences(
        "Worst: the mean over the worst phrasing of each query. Spread: the best phrasing minus the worst; " +
          "lower is more stable. Drop: the loss caused by one wrong term.",
        fewText(data, Math.min(...measures.map(([, intents]) => intents))),
      ),
    ),
  ];
}

function phrasingGrid(data, queries) {
  const choices = [
    { key: "engine", label: "Engine", options: rankedNames(data).map((name) => [name, shownName(data, name)]) },
    { key: "measure", label: "Measure", options: data.results.measures.map((name) => [name, name]) },
  ];
  return [
    subtitle("Every query, every phrasing"),
    chooser("phrasings", { engine: data.results.challenger, measure: data.primary }, choices, (state) =>
      phrasingTable(data, queries, state),
    ),
  ];
}

/** Render one row per query, one column per phrasing. */
function phrasingTable(data, queries, { engine, measure }) {
  const rows = queries
    .map((query) => phrasingRow(data, query, data.engineIndex(engine), measure))
    .filter((row) => row.values.size > 1);
  if (!rows.length) return note(`${measure} has no value for single phrasings.`);
  const range = rangeOf(rows.flatMap((row) => [...row.values.values()]));
  const { low, high } = measureOf(data, measure);
  const firstUnit = (row) => row.units.get(data.forms.find((form) => row.units.has(form)));
  const formColumn = (form) => {
    const value = (row) => row.values.get(form) ?? null;
    const cell = (row) => phrasingCell(row, form, value(row), low ?? range[0], high ?? range[1]);
    return numberColumn(form, form, value, 3, { cell });
  };
  return [
    table({
      caption: `${measure} of ${engine}, by query and phrasing`,
      rows,
      slice: SHOWN_QUERIES,
      rowHref: (row) => queryHref(firstUnit(row)),
      sort: { id: "spread", descending: true },
      columns: [
        headColumn("intent", "Query", (row) => row.query.id, { cell: (row) => queryCell(data, firstUnit(row)) }),
        numberColumn("spread", "Spread", (row) => row.spread, 3),
        ...data.forms.map(formColumn),
      ],
    }),
    note("Spread: the best phrasing minus the worst. The first queries depend most on the wording."),
  ];
}

function phrasingRow(data, query, engine, measure) {
  const units = new Map(query.units.map((index) => [data.units[index].form, data.units[index]]));
  const all = [...units].map(([form, unit]) => [form, data.value(engine, measure, unit.index)]);
  const values = new Map(all.filter(([, value]) => !Number.isNaN(value)));
  const known = [...values.values()];
  return { query, units, values, spread: known.length ? Math.max(...known) - Math.min(...known) : null };
}

/** Render a value, linked to this phrasing of the query. */
function phrasingCell(row, form, value, low, high) {
  if (value === null) return "–";
  const label = `${row.query.id}, ${form}: ${fixed(value)}`;
  const props = { href: queryHref(row.units.get(form)), "aria-label": label };
  return h("a.cell-link", props, heatCell(value, low, high, fixed(value)));
}
