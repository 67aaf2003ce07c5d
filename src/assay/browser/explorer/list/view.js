// The list of queries: two engines side by side, one row per query, filtered by the address.

import { fill, h } from "../../common/dom.js";
import { counted, fixed, grouped, signed } from "../../common/format.js";
import { setViewKeys } from "../../common/page.js";
import { noteRoute } from "../../common/route.js";
import { numberColumn, sortedRows, table, textColumn } from "../../common/table.js";
import { isReference } from "../data.js";
import { pairOf } from "../pairs.js";
import { queriesHref, queryHref } from "../parts.js";
import { filteredRows, filterForm, sortOf, withOutcome } from "./filters.js";

/**
 * Draw the list that the parameters describe; a list already shown is changed in place and keeps the focus.
 * Return the link to `lastUnit`, if it is in the list.
 */
export async function renderQueries(data, params, container, lastUnit = null) {
  if (!container.firstElementChild?.updateList) fill(container, buildList(data));
  setViewKeys([
    { keys: ["j"], label: "Next query of the list", run: () => focusNeighbor(container, 1) },
    { keys: ["k"], label: "Previous query of the list", run: () => focusNeighbor(container, -1) },
  ]);
  await container.firstElementChild.updateList(params, lastUnit);
  return lastUnit && container.querySelector(`a[data-unit="${lastUnit.index}"]`);
}

/** Return the rows in the order of the parameters: what the list shows, and what j and k step through. */
export function listedRows(data, params, rankings) {
  const rows = withOutcome(filteredRows(data, params, rankings), params.outcome);
  return sortedRows(listColumns(data, params), rows, sortOf(params));
}

function buildList(data) {
  let current = {};
  const change = (changes, { typed = false } = {}) => {
    const isSet = ([, value]) => value !== null && value !== "" && value !== undefined;
    const next = Object.fromEntries(Object.entries({ ...current, ...changes }).filter(isSet));
    noteRoute(queriesHref(next), { step: !typed });
    update(next);
  };
  const form = filterForm(data, change);
  const outcomes = h("div.outcomes", { role: "group", "aria-label": "Outcome of B against A" });
  const summary = h("p.note.sums", { role: "status" });
  const results = h("div");
  const head = h("div.list-head", h("h1", "Queries"), form.reset);
  const node = h("div.queries-view", head, form.node, outcomes, summary, results);

  async function update(params, lastUnit = null) {
    current = params;
    form.show(params);
    const rankings = params.status ? await data.load("rankings") : null;
    if (current !== params) return;
    const rows = filteredRows(data, params, rankings);
    const shown = withOutcome(rows, params.outcome);
    fill(outcomes, outcomeButtons(rows, params.outcome ?? null, change));
    fill(summary, listSummary(data, params, shown));
    fill(results, listTable(data, params, shown, change, lastUnit));
  }

  node.updateList = update;
  return node;
}

/** Create the buttons for win, tie and loss, each with its count. */
function outcomeButtons(rows, current, change) {
  const labels = [
    [null, "All"],
    ["win", "▲ B better"],
    ["tie", "= equal"],
    ["loss", "▼ B worse"],
  ];
  return labels.map(([outcome, text]) => {
    const props = {
      "aria-pressed": String(current === outcome),
      dataset: { outcome: outcome ?? "all" },
      onclick: () => change({ outcome, sort: null, desc: null }),
    };
    return h("button", props, `${text} `, h("span.count", grouped(withOutcome(rows, outcome).length)));
  });
}

function listTable(data, params, rows, change, lastUnit) {
  const index = rows.findIndex((row) => row.unit === lastUnit);
  return table({
    columns: listColumns(data, params),
    rows,
    caption: "Queries",
    sort: sortOf(params),
    onsort: ({ id, descending }) => change({ sort: id, desc: descending ? "1" : null }),
    empty: "No query passes these filters.",
    upTo: sortOf(params) && index >= 0 ? rows.length : index + 1,
  });
}

/** Describe how many queries are shown and the means of both engines on them. */
function listSummary(data, params, rows) {
  const all = filteredRows(data, { form: params.form }, null).length;
  const total = counted(all, "query", "queries");
  const applicable = rows.filter((row) => row.outcome !== null);
  const mean = (key) => applicable.reduce((sum, row) => sum + row[key], 0) / applicable.length;
  const [a, b] = [mean("a"), mean("b")];
  const means = applicable.length
    ? `Mean ${pairOf(data, params).measure.name}: A ${fixed(a)}, B ${fixed(b)} (${signed(b - a)}).`
    : "";
  if (rows.length === all) return `${total}. ${means}`;
  return `${grouped(rows.length)} of ${total}. ${means} A selection of queries has no verdict.`;
}

function listColumns(data, params) {
  const pair = pairOf(data, params);
  const { name: measure, higher } = pair.measure;
  const engineColumn = (id, title) =>
    numberColumn(id, title, (row) => row[id], 3, {
      label: h("span.engine-label", title),
      wide: true,
      tip: `${title}, ${measure}`,
    });
  const category = (row) => row.unit.query.tags.category ?? null;
  const differenceText = (row) => signed(higher ? row.difference : -row.difference);
  const competing = [...data.engines.keys()].filter((index) => !isReference(data.engines[index]));
  const spread = (row) => {
    const values = competing.map((engine) => data.value(engine, measure, row.unit.index));
    return Math.max(...values) - Math.min(...values);
  };
  return [
    textColumn("query", "Query", (row) => row.unit.text, {
      text: ({ unit }) => `${unit.text} (${unit.gold}/${unit.query.id})`,
      cell: ({ unit }) => listedQuery(data, unit, params),
    }),
    params.form === "all" && textColumn("form", "Phrasing", (row) => row.unit.form, { wide: true }),
    data.queries.some((query) => query.tags.category) &&
      textColumn("category", "Category", category, { wide: true, text: (row) => category(row) ?? "" }),
    engineColumn("a", `A: ${data.engines[pair.a].name}`),
    engineColumn("b", `B: ${data.engines[pair.b].name}`),
    numberColumn("difference", "B − A", (row) => row.difference, null, {
      text: differenceText,
      cell: (row) => differenceCell(row, differenceText(row)),
      tip: `B better or worse than A by ${measure}`,
    }),
    numberColumn("ranks", "Rank A → B", (row) => row.rankB, null, {
      text: (row) => `${row.rankA ?? "–"} → ${row.rankB ?? "–"}`,
      first: "ascending",
      tip: "Rank of the first relevant result: A → B",
    }),
    competing.length > 2 &&
      numberColumn("spread", "Range", spread, 3, { wide: true, tip: "Best minus worst engine under test" }),
  ].filter(Boolean);
}

function listedQuery(data, unit, params) {
  return [
    h("a.query-link", { href: queryHref(unit, params), dataset: { unit: unit.index } }, unit.text),
    h("span.query-id", data.golds.length > 1 ? `${unit.gold} / ${unit.query.id}` : unit.query.id),
  ];
}

/** Render a difference with a sign that needs no color. */
function differenceCell({ outcome }, text) {
  if (outcome === null) return h("span.soft", { title: "The measure does not apply" }, "–");
  const [tone, sign] = { win: ["good", "▲"], tie: ["soft", "="], loss: ["bad", "▼"] }[outcome];
  return h("span", { class: tone }, text, " ", h("span", { "aria-hidden": "true" }, sign));
}

/** Move the focus to the next or previous query of the list. */
function focusNeighbor(container, step) {
  const links = [...container.querySelectorAll("a.query-link")];
  const index = links.indexOf(document.activeElement);
  const next = links[index < 0 ? (step > 0 ? 0 : links.length - 1) : index + step];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}
