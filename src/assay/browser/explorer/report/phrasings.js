// One intent, several phrasings: how much the wording decides, on average and intent by intent.

import { h } from "../../common/dom.js";
import { fixed } from "../../common/format.js";
import { table } from "../../common/table.js";
import { heatCell, rangeOf } from "../charts/marks.js";
import { queryHref } from "../parts.js";
import { chooser } from "./choices.js";
import { engineColumn, note, queryCell, stack, subtitle } from "./parts.js";
import { endsText, fewText, meanText, measureOf, rankedNames, sentences, shownName } from "./words.js";

export const phrasingsSection = { id: "phrasings", title: "Phrasings", render: renderPhrasings };
const SHOWN_INTENTS = 12; // a screen; the rest is one press away

/** Show the measures over phrasings, and the grid of intents and forms. */
function renderPhrasings(data) {
  const intents = data.queries.filter((query) => query.units.length > 1);
  return stack(overPhrasings(data), intents.length > 0 && data.forms.length > 1 && intentsPart(data, intents));
}

/** Show how much the wording decides on average. */
function overPhrasings(data) {
  const { phrasings } = data.results;
  if (!phrasings.length) return null;
  const measures = [...new Map(phrasings.map((one) => [one.measure, one.intents]))];
  const rows = rankedNames(data).map((name) => ({
    name,
    of: new Map(phrasings.filter((one) => one.engine === name).map((one) => [one.measure, one])),
  }));
  const columns = [engineColumn(data), ...measures.map(([measure, intents]) => phrasingColumn(measure, intents))];
  return [
    table({ caption: "Measures over the phrasings of one intent", rows, columns }),
    note(
      sentences(
        "Worst: the mean of every intent's worst phrasing. Spread: how far its best and its worst lie " +
          "apart; less is steadier. Drop: what one wrong term costs.",
        fewText(data, Math.min(...measures.map(([, intents]) => intents))),
      ),
    ),
  ];
}

/** Make the column of one measure over phrasings. */
function phrasingColumn(measure, intents) {
  const find = (row) => row.of.get(measure);
  return {
    id: measure,
    title: `${measure} (n=${intents})`,
    align: "right",
    value: (row) => find(row)?.mean ?? null,
    text: (row) => (find(row) ? meanText(find(row).mean, find(row).low, find(row).high) : "–"),
    cell: (row) =>
      find(row)
        ? [h("strong", fixed(find(row).mean)), " ", h("small.ends", endsText(find(row).low, find(row).high))]
        : "–",
  };
}

/** Show the grid: choose the engine and the measure. */
function intentsPart(data, intents) {
  const engines = rankedNames(data).map((name) => [name, shownName(data, name)]);
  const measures = data.results.measures.map((name) => [name, name]);
  const choices = [
    { key: "engine", label: "Engine", options: engines },
    { key: "measure", label: "Measure", options: measures },
  ];
  return [
    subtitle("Every intent, every form"),
    chooser("phrasings", { engine: data.results.challenger, measure: data.primary }, choices, (state) =>
      intentsTable(data, intents, state),
    ),
  ];
}

/** Show one row an intent, one column a form. */
function intentsTable(data, intents, { engine, measure }) {
  const rows = intents
    .map((query) => intentRow(data, query, data.engineIndex(engine), measure))
    .filter((row) => row.values.size > 1);
  if (!rows.length) return note(`${measure} has no value for single phrasings.`);
  const [low, high] = rangeOf(rows.flatMap((row) => [...row.values.values()]));
  const ends = measureOf(data, measure);
  return [
    table({
      caption: `${measure} of ${engine}, by intent and form`,
      rows,
      slice: SHOWN_INTENTS,
      sort: { id: "spread", descending: true },
      columns: [
        intentColumn(data),
        spreadColumn(),
        ...data.forms.map((form) => formColumn(form, [ends.low ?? low, ends.high ?? high])),
      ],
    }),
    note(
      "Spread: the best form's value less the worst form's. An intent on top is found in some words and not in others.",
    ),
  ];
}

/** Give the values of an intent by form. */
function intentRow(data, query, engine, measure) {
  const values = new Map();
  const units = new Map();
  for (const index of query.units) {
    const value = data.value(engine, measure, index);
    units.set(data.units[index].form, data.units[index]);
    if (!Number.isNaN(value)) values.set(data.units[index].form, value);
  }
  const known = [...values.values()];
  return { query, units, values, spread: known.length ? Math.max(...known) - Math.min(...known) : null };
}

/** Make the column of intents; the first form stands for the others. */
function intentColumn(data) {
  const first = (row) => row.units.get(data.forms.find((form) => row.units.has(form)));
  return {
    id: "intent",
    title: "intent",
    head: true,
    value: (row) => row.query.id,
    cell: (row) => queryCell(data, first(row)),
  };
}

/** Make the column of one form. */
function formColumn(form, [low, high]) {
  const value = (row) => row.values.get(form) ?? null;
  return {
    id: form,
    title: form,
    align: "right",
    value,
    text: (row) => fixed(value(row)),
    cell: (row) => formCell(row, form, value(row), low, high),
  };
}

/** Show one value, linked to the query in this form. */
function formCell(row, form, value, low, high) {
  if (value === null) return "–";
  return h(
    "a.cell-link",
    { href: queryHref(row.units.get(form)), "aria-label": `${row.query.id}, ${form}: ${fixed(value)}` },
    [heatCell(value, low, high, fixed(value))],
  );
}

/** Make the column of spreads. */
function spreadColumn() {
  return {
    id: "spread",
    title: "spread",
    align: "right",
    value: (row) => row.spread,
    text: (row) => fixed(row.spread),
  };
}
