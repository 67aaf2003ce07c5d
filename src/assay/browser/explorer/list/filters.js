// Which queries are listed and in which order. All filters are parameters of the address, so every list has a link:
//
// search   words in the text, the id or a target's path            form     "" headline, "all", or a phrasing
// gold, repo, tag.NAME, leak (yes|no), status (of b: ok, error, …)  a, b     names of two engines
// measure  what they are compared by                                outcome  win, tie or loss of b against a
// sort, desc   a column of the list and whether it is descending

import { h, option } from "../../common/dom.js";
import { pairOf, rowOf } from "../pairs.js";

const TAG_PREFIX = "tag.";
const MAX_TAG_VALUES = 40; // a tag with more is an identifier, not a category
const TYPING_PAUSE = 120; // milliseconds: shorter than a pause between words, longer than one between letters

/** Return the rows that pass all filters except the outcome, in the order of the run. `rankings` may be null. */
export function filteredRows(data, params, rankings) {
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
export function withOutcome(rows, outcome) {
  return outcome ? rows.filter((row) => row.outcome === outcome) : rows;
}

/** Return the order; a list of losses begins with the worst, one of wins with the best. */
export function sortOf({ sort, desc, outcome }) {
  if (sort) return { id: sort, descending: desc === "1" };
  return outcome === "win" || outcome === "loss" ? { id: "difference", descending: outcome === "win" } : null;
}

/** Create the controls: {node, reset, show(params)}; `change(params, {typed})` is called with each choice. */
export function filterForm(data, change) {
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
