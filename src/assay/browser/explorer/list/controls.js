// The controls of the list of queries.

import { h, option } from "../../common/dom.js";
import { grouped } from "../../common/format.js";
import { pairOf } from "../pairs.js";
import { tagChoices } from "./filters.js";

const COMPARED = 3; // the first controls, always in sight: A, B and the measure
const TYPING_PAUSE = 120; // milliseconds: shorter than between two words, longer than between two letters

/** Make the controls: {node, reset, show(params)}; `change(params, {typed})` is told what is chosen. */
export function filterForm(data, change) {
  const search = searchField(change);
  const controls = [...comparedChoices(data, change), ...narrowingChoices(data, change)].filter(Boolean);
  const [compared, narrowing] = [controls.slice(0, COMPARED), controls.slice(COMPARED)].map((some) =>
    some.map((one) => one.node),
  );
  const reset = resetButton(controls, change);
  const node = h(
    "form.filters",
    { role: "search", "aria-label": "Filter queries", onsubmit: (event) => event.preventDefault() },
    [
      search.node,
      h("div.choices.compared", compared),
      h("details.more-filters", { open: matchMedia("(min-width: 40rem)").matches }, [
        h("summary", "Filters"),
        h("div.choices", narrowing),
      ]),
    ],
  );
  return { node, reset, show: (params) => showChosen(data, params, search, controls, reset) };
}

/** Let the two engines be chosen, and what they are compared by. */
function comparedChoices(data, change) {
  const engines = data.engines.map((engine) => engine.name);
  const measures = data.measures.map((one) => one.name);
  return [
    filterChoice("a", "A", engines, change, { always: true }),
    filterChoice("b", "B", engines, change, { always: true }),
    filterChoice("measure", "Measure", measures, change, { always: true }),
  ];
}

/** Let queries be chosen by what they are. */
function narrowingChoices(data, change) {
  return [
    filterChoice("form", "Phrasing", data.forms, change, { first: "headline", more: [["all", "all phrasings"]] }),
    filterChoice("gold", "Gold set", data.golds, change),
    filterChoice("repo", "Repository", sameAsGolds(data) ? [] : data.repositories, change),
    ...tagChoices(data).map((tag) => filterChoice(tag.param, capital(tag.name), tag.values, change)),
    filterChoice("leak", "Leak", leakChoices(data), change),
    filterChoice("status", "Answer of B", statusChoices(data), change),
  ];
}

/** Make the button that takes all filters away. */
function resetButton(controls, change) {
  const clear = () => change(Object.fromEntries(clearedParams(controls).map((name) => [name, null])));
  return h("button.quiet-button.reset", { onclick: clear }, "Clear filters");
}

/** Name the parameters that clear away. */
function clearedParams(controls) {
  return [
    "search",
    "outcome",
    "sort",
    "desc",
    ...controls.map((one) => one.param).filter((name) => !["a", "b", "measure"].includes(name)),
  ];
}

/** Show in the controls what the parameters say. */
function showChosen(data, params, search, controls, reset) {
  const pair = pairOf(data, params);
  const shown = { ...params, a: data.engines[pair.a].name, b: data.engines[pair.b].name, measure: pair.measure.name };
  if (search.input.value.trim() !== (params.search ?? "")) search.input.value = params.search ?? "";
  for (const control of controls) control.input.value = shown[control.param] ?? "";
  reset.hidden = !clearedParams(controls).some((name) => params[name]);
}

/** Make the field for words; the list follows while somebody types. */
function searchField(change) {
  let timer = 0;
  const tell = () => change({ search: input.value.trim() }, { typed: true });
  const input = h("input", {
    type: "search",
    id: "search",
    placeholder: "Search text, id or path",
    autocomplete: "off",
    spellcheck: "false",
    oninput: () => {
      clearTimeout(timer);
      timer = setTimeout(tell, TYPING_PAUSE);
    },
  });
  return { input, node: h("label.search", h("span.label", "Search"), input) };
}

/** Make a list to choose from; null where there is nothing to choose. */
function filterChoice(param, title, values, change, { always = false, first = "all", more = [] } = {}) {
  if (values.length < 2 && !always) return null;
  const entries = [
    ...(always ? [] : [["", first]]),
    ...more,
    ...values.map((value) => (Array.isArray(value) ? value : [value, value])),
  ];
  const options = entries.map(([value, text]) => option(value, text));
  const input = h("select", { onchange: () => change({ [param]: input.value }) }, options);
  return { param, input, node: h("label", h("span.label", title), input) };
}

/** Make the buttons for win, tie and loss, with how many there are of each. */
export function outcomeButtons(rows, chosen, choose) {
  const count = (outcome) => rows.filter((row) => row.outcome === outcome).length;
  const named = [
    [null, "All", rows.length],
    ["win", "▲ B better", count("win")],
    ["tie", "= equal", count("tie")],
    ["loss", "▼ B worse", count("loss")],
  ];
  return named.map(([outcome, text, many]) =>
    h(
      "button",
      {
        "aria-pressed": String((chosen ?? null) === outcome),
        dataset: { outcome: outcome ?? "all" },
        onclick: () => choose(outcome),
      },
      [`${text} `, h("span.count", grouped(many))],
    ),
  );
}

/** Offer a choice by leak where both kinds are there. */
function leakChoices(data) {
  const kinds = new Set(data.units.map((unit) => unit.leak));
  return kinds.size > 1
    ? [
        ["yes", "answer's name in the words"],
        ["no", "no leak"],
      ]
    : [];
}

/** Offer a choice by how the answer of B ended, where the page knows it. */
function statusChoices(data) {
  const known = new Set(data.engines.flatMap((engine) => Object.keys(engine.statuses)));
  return data.has("rankings") ? [...known].sort() : [];
}

/** Tell whether repositories and gold sets cut the queries in the same way. */
function sameAsGolds(data) {
  const pairs = new Set(data.units.map((unit) => `${unit.repository}\n${unit.gold}`));
  return pairs.size === data.golds.length && pairs.size === data.repositories.length;
}

/** Begin a word with a capital. */
function capital(word) {
  return word.charAt(0).toUpperCase() + word.slice(1).replaceAll("_", " ");
}
