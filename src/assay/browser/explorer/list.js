// The list of queries: two engines side by side, one row per query. All filters are parameters of the address, so every
// list has a link:
//
// search   words in the text, the id or a target's path            form     "" headline, "all", or a phrasing
// gold, repo, tag.NAME, leak (yes|no), status (of b: ok, error, …)  a, b     names of two engines
// measure  what they are compared by                                outcome  win, tie or loss of b against a
// sort, desc   a column of the list and whether it is descending

import { fill, h, option } from "../common/dom.js";
import { counted, fixed, grouped, signed } from "../common/format.js";
import { setViewKeys } from "../common/page.js";
import { noteRoute } from "../common/route.js";
import { numberColumn, sortedRows, table, textColumn } from "../common/table.js";
import { isReference } from "./data.js";
import { pairOf, rowOf } from "./pairs.js";
import { queriesHref, queryHref } from "./parts.js";
import { engineColor } from "./report/parts.js";

const TAG_PREFIX = "tag.";
const MAX_TAG_VALUES = 40; // a tag with more is an identifier, not a category
const TYPING_PAUSE = 120; // milliseconds: shorter than a pause between words, longer than one between letters

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
    rowHref: (row) => queryHref(row.unit, params),
    sort: sortOf(params),
    onsort: ({ id, descending }) => change({ sort: id, desc: descending ? "1" : null }),
    empty: "No queries match these filters.",
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
  return `${grouped(rows.length)} of ${total}. ${means} Selected queries have no verdict.`;
}

function listColumns(data, params) {
  const pair = pairOf(data, params);
  const { name: measure, higher } = pair.measure;
  const engineColumn = (id, title) =>
    numberColumn(id, title, (row) => row[id], 3, {
      label: h("span.engine-label", { class: engineColor(data, title.slice(3)) }, title),
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

// --- filters -------------------------------------------------------------------------------------------------------

/** Return the rows that pass all filters except the outcome, in the order of the run. `rankings` may be null. */
function filteredRows(data, params, rankings) {
  const pair = pairOf(data, params);
  const { form, gold, repo, leak, status } = params;
  const words = (params.search ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const tags = Object.entries(params)
    .filter(([name]) => name.startsWith(TAG_PREFIX))
    .map(([name, value]) => [name.slice(TAG_PREFIX.length), value]);
  const passes = (unit) =>
    (form === "all" || (form ? unit.form === form : unit.headline)) &&
    (!gold || unit.gold === gold) &&
    (!repo || unit.repository === repo) &&
    (!leak || unit.leak === (leak === "yes")) &&
    (!status || !rankings || rankings.status(pair.b, unit.index) === status) &&
    tags.every(([name, value]) => unit.query.tags[name] === value) &&
    (!words.length || hasWords(unit, words));
  return data.units.filter(passes).map((unit) => rowOf(data, pair, unit));
}

function hasWords({ text, query }, words) {
  const searched = [text, query.id, ...query.targets.map((target) => target.anchor)].join("\n").toLowerCase();
  return words.every((word) => searched.includes(word));
}

/** Return the rows of one outcome, or all without one. */
function withOutcome(rows, outcome) {
  return outcome ? rows.filter((row) => row.outcome === outcome) : rows;
}

/** Return the order; a list of losses begins with the worst, one of wins with the best. */
function sortOf({ sort, desc, outcome }) {
  if (sort) return { id: sort, descending: desc === "1" };
  return outcome === "win" || outcome === "loss" ? { id: "difference", descending: outcome === "win" } : null;
}

/** Create the controls: {node, reset, show(params)}; `change(params, {typed})` is called with each choice. */
function filterForm(data, change) {
  const search = searchField(change);
  const engines = data.engines.map(({ name }) => name);
  const measures = data.measures.map(({ name }) => name);
  const compared = [
    filterChoice("a", "A", engines, change, { always: true }),
    filterChoice("b", "B", engines, change, { always: true }),
    filterChoice("measure", "Measure", measures, change, { always: true }),
  ];
  const filters = [
    filterChoice("form", "Phrasing", data.forms, change, { first: "headline", more: [["all", "all phrasings"]] }),
    filterChoice("gold", "Gold set", data.golds, change),
    filterChoice("repo", "Repository", repositoryChoices(data), change),
    ...tagChoices(data).map(({ name, title, values }) => filterChoice(TAG_PREFIX + name, title, values, change)),
    filterChoice("leak", "Leakage", leakageChoices(data), change),
    filterChoice("status", "Answer of B", statusChoices(data), change),
  ].filter(Boolean);
  const cleared = ["search", "outcome", "sort", "desc", ...filters.map(({ param }) => param)];
  const clear = () => change(Object.fromEntries(cleared.map((param) => [param, null])));
  const reset = h("button.quiet-button.reset", { onclick: clear }, "Clear filters");
  const props = { role: "search", "aria-label": "Filter queries", onsubmit: (event) => event.preventDefault() };
  const node = h("form.filters", props, [
    h("label.search", h("span.label", "Search"), search),
    h(
      "div.choices.compared",
      compared.map((control) => control.node),
    ),
    h("details.more-filters", { open: matchMedia("(min-width: 40rem)").matches }, [
      h("summary", "Filters"),
      h(
        "div.choices",
        filters.map((control) => control.node),
      ),
    ]),
  ]);
  const show = (params) => {
    const { a, b, measure } = pairOf(data, params);
    const values = { ...params, a: engines[a], b: engines[b], measure: measure.name };
    if (search.value.trim() !== (params.search ?? "")) search.value = params.search ?? "";
    for (const { param, input } of [...compared, ...filters]) input.value = values[param] ?? "";
    reset.hidden = !cleared.some((param) => params[param]);
  };
  return { node, reset, show };
}

function searchField(change) {
  let timer = 0;
  const search = () => change({ search: input.value.trim() }, { typed: true });
  const input = h("input", {
    type: "search",
    id: "search",
    placeholder: "Search text, id or path",
    autocomplete: "off",
    spellcheck: "false",
    oninput: () => {
      clearTimeout(timer);
      timer = setTimeout(search, TYPING_PAUSE);
    },
  });
  return input;
}

/** Create a labeled list of values or [value, label] pairs; null if there is nothing to choose. */
function filterChoice(param, title, values, change, { always = false, first = "all", more = [] } = {}) {
  if (values.length < 2 && !always) return null;
  const pairs = values.map((value) => (Array.isArray(value) ? value : [value, value]));
  const entries = [...(always ? [] : [["", first]]), ...more, ...pairs];
  const options = entries.map(([value, label]) => option(value, label));
  const input = h("select", { onchange: () => change({ [param]: input.value }) }, options);
  return { param, input, node: h("label", h("span.label", title), input) };
}

/** Return the repositories; none if they split the queries exactly as the gold sets do. */
function repositoryChoices({ units, golds, repositories }) {
  const pairs = new Set(units.map((unit) => `${unit.repository}\n${unit.gold}`));
  return pairs.size === golds.length && pairs.size === repositories.length ? [] : repositories;
}

/** Return {name, title, values} of the tags with several values, by name. */
function tagChoices(data) {
  const known = new Map();
  for (const { tags } of data.queries)
    for (const [name, value] of Object.entries(tags)) known.set(name, (known.get(name) ?? new Set()).add(value));
  return [...known]
    .filter(([, values]) => values.size > 1 && values.size <= MAX_TAG_VALUES)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, values]) => {
      const title = name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");
      return { name, title, values: [...values].sort() };
    });
}

function leakageChoices({ units }) {
  const both = new Set(units.map((unit) => unit.leak)).size > 1;
  return both
    ? [
        ["yes", "target's name in the query"],
        ["no", "no leakage"],
      ]
    : [];
}

function statusChoices(data) {
  const known = new Set(data.engines.flatMap((engine) => Object.keys(engine.statuses)));
  return data.has("rankings") ? [...known].sort() : [];
}
