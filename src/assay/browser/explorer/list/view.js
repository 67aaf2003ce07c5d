// The list of queries: two engines side by side, one row a query, with filters that stand in the address.

import { h, fill } from "../../common/dom.js";
import { table } from "../../common/table.js";
import { noteRoute } from "../../common/route.js";
import { setViewKeys } from "../../common/keys.js";
import { counted, fixed, grouped, signed } from "../../common/format.js";
import { pairOf } from "../pairs.js";
import { filteredRows, sortOf, withOutcome } from "./filters.js";
import { listColumns } from "./columns.js";
import { filterForm, outcomeButtons } from "./controls.js";
import { queriesHref, queryHref } from "../links.js";

/**
 * Draw the list that the parameters describe; one that is there already is changed in place, and keeps the focus.
 * Give the link to the unit that was seen last, where it is in the list.
 */
export async function renderQueries(data, params, container, seen = null) {
  if (!container.firstElementChild?.updateList) fill(container, makeList(data));
  setViewKeys([
    { keys: ["j"], label: "Next query of the list", run: () => stepInList(container, 1) },
    { keys: ["k"], label: "Previous query of the list", run: () => stepInList(container, -1) },
  ]);
  await container.firstElementChild.updateList(params, seen);
  return seen && container.querySelector(`a[data-unit="${seen.index}"]`);
}

/** Make the view with its controls. */
function makeList(data) {
  const state = { params: {} };
  const change = (changes, { typed = false } = {}) => {
    const next = withoutEmpty({ ...state.params, ...changes });
    noteRoute(queriesHref(next), { step: !typed });
    update(next);
  };
  const form = filterForm(data, change);
  const outcomes = h("div.outcomes", { role: "group", "aria-label": "Outcome of B against A" });
  const sums = h("p.note.sums", { role: "status" });
  const results = h("div");
  const head = h("div.list-head", h("h1", "Queries"), form.reset);
  const node = h("div.queries-view", head, form.node, outcomes, sums, results);

  /** Show the list of these parameters. */
  async function update(params, seen = null) {
    state.params = params;
    form.show(params);
    const rankings = params.status ? await data.load("rankings") : null;
    if (state.params !== params) return;
    const rows = filteredRows(data, params, rankings);
    const chosen = withOutcome(rows, params.outcome);
    fill(
      outcomes,
      outcomeButtons(rows, params.outcome, (outcome) => change({ outcome, sort: null, desc: null })),
    );
    fill(sums, sumsOf(data, params, chosen));
    fill(results, listTable(data, params, chosen, change, seen));
  }

  node.updateList = update;
  return node;
}

/** Leave out parameters that say nothing. */
function withoutEmpty(params) {
  return Object.fromEntries(
    Object.entries(params).filter(([, value]) => value !== null && value !== "" && value !== undefined),
  );
}

/** Draw the rows. */
function listTable(data, params, rows, change, seen) {
  const place = rows.findIndex((row) => row.unit === seen);
  return table({
    columns: listColumns(data, params, (row) => queryHref(row.unit, params)),
    rows,
    caption: "Queries",
    sort: sortOf(params),
    onsort: ({ id, descending }) => change({ sort: id, desc: descending ? "1" : null }),
    empty: "No query passes these filters.",
    upTo: sortOf(params) && place >= 0 ? rows.length : place + 1,
  });
}

/** Say how many queries are shown and how the two engines do on them. */
function sumsOf(data, params, rows) {
  const all = filteredRows(data, { form: params.form }, null).length;
  const shown = counted(all, "query", "queries");
  return rows.length === all
    ? `${shown}. ${meansOfRows(data, params, rows)}`
    : `${grouped(rows.length)} of ${shown}. ${meansOfRows(data, params, rows)} A choice of queries bears no verdict.`;
}

/** Give the means of both engines over the rows that their measure applies to. */
function meansOfRows(data, params, rows) {
  const both = rows.filter((row) => row.outcome !== null);
  if (!both.length) return "";
  const [a, b] = ["a", "b"].map((key) => both.reduce((sum, row) => sum + row[key], 0) / both.length);
  return `Mean ${pairOf(data, params).measure.name}: A ${fixed(a)}, B ${fixed(b)} (${signed(b - a)}).`;
}

/** Put the focus on the next query of the list, or the one before. */
function stepInList(container, way) {
  const links = [...container.querySelectorAll("a.query-link")];
  const at = links.indexOf(document.activeElement);
  const next = links[at < 0 ? (way > 0 ? 0 : links.length - 1) : at + way];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}
