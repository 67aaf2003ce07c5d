// Which engines stand side by side on a query's page, and how all of them did.

import { h } from "../../common/dom.js";
import { table } from "../../common/table.js";
import { duration, fixed, isNumber } from "../../common/format.js";
import { namesOf, namesParam } from "../links.js";
import { pairOf, rankAt } from "../pairs.js";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** Read which engines are shown: those that the address names, else the two that are compared. */
export function chosenEngines(data, params) {
  const named = namesOf(params.engines)
    .map(data.engineIndex)
    .filter((place) => place >= 0);
  const pair = pairOf(data, params);
  return [...new Set(named.length ? named : [pair.a, pair.b])];
}

/** Write which engines are shown; nothing where they are the two that are compared. */
export function enginesParam(data, engines, pair) {
  const usual = [...new Set([pair.a, pair.b])];
  if (engines.length === usual.length && engines.every((engine, place) => engine === usual[place])) return null;
  return namesParam(engines.map((engine) => data.engines[engine].name));
}

/** Give the sign of a column of rankings: A, B, C, …; the 27th has two letters. */
export function letterOf(place) {
  return place < LETTERS.length
    ? LETTERS[place]
    : LETTERS[Math.floor(place / LETTERS.length) - 1] + LETTERS[place % LETTERS.length];
}

/** Draw how every engine did on this query; a box beside each puts its ranking above. */
export function engineScores(view, choose) {
  const { data, unit, loaded } = view;
  const rows = data.engines.map((engine, place) => ({
    engine,
    place,
    ranking: loaded.rankings?.ranking(place, unit.index) ?? null,
  }));
  const grid = table({
    caption: "All engines on this query",
    columns: [
      engineChoice(view, choose),
      { id: "engine", title: "Engine", head: true, value: (row) => row.engine.name, cell: namedEngine },
      ...data.measures.map((measure) => engineMeasure(data, unit, measure)),
      ...engineCosts(data, unit),
    ],
    rows,
    sort: { id: data.primary, descending: data.measures.find((one) => one.name === data.primary).higher },
  });
  return h("section", { "aria-labelledby": "scores-title" }, [
    h("h2", { id: "scores-title" }, "All engines on this query"),
    grid,
  ]);
}

/** Name an engine and what it stands for. */
function namedEngine(row) {
  return [row.engine.name, row.engine.role === "contestant" ? null : h("span.note", ` ${row.engine.role}`)];
}

/** Make the column with the boxes. */
function engineChoice(view, choose) {
  const toggle = (place, on) => choose(on ? [...view.engines, place] : view.engines.filter((one) => one !== place));
  return {
    id: "shown",
    title: "Shown",
    fixed: true,
    value: () => null,
    text: (row) => (view.engines.includes(row.place) ? letterOf(view.engines.indexOf(row.place)) : ""),
    cell: (row) =>
      h("input", {
        type: "checkbox",
        checked: view.engines.includes(row.place),
        "aria-label": `Show the ranking of ${row.engine.name}`,
        onchange: (event) => toggle(row.place, event.target.checked),
      }),
  };
}

/** Make the column of a measure. */
function engineMeasure(data, unit, measure) {
  return {
    id: measure.name,
    title: measure.name,
    align: "right",
    first: measure.higher ? "descending" : "ascending",
    value: (row) => data.value(row.place, measure.name, unit.index),
    text: (row) => fixed(data.value(row.place, measure.name, unit.index)),
  };
}

/** Make the columns of rank, time, tokens and status. */
function engineCosts(data, unit) {
  const tokens = (row) =>
    row.ranking?.hits.reduce((sum, hit) => (hit.tokens === null ? sum : sum + hit.tokens), 0) ?? null;
  return [
    {
      id: "rank",
      title: "Rank",
      align: "right",
      first: "ascending",
      value: (row) => rankAt(data, row.place, unit),
      text: (row) => String(rankAt(data, row.place, unit) ?? "–"),
      tip: "Of the first right answer",
    },
    {
      id: "tokens",
      title: "Tokens",
      align: "right",
      first: "ascending",
      value: tokens,
      tip: "Of all results together",
    },
    {
      id: "seconds",
      title: "Time",
      align: "right",
      first: "ascending",
      value: (row) => timeOf(data, row),
      text: (row) => duration(timeOf(data, row)),
    },
    { id: "status", title: "Status", value: (row) => row.ranking?.status ?? null, cell: statusCell },
  ];
}

/** Give the time an answer took, where times were taken. */
function timeOf(data, row) {
  const seconds = row.ranking?.seconds;
  return data.results.header.timed && isNumber(seconds) ? seconds : null;
}

/** Show how an answer ended. */
function statusCell(row) {
  const status = row.ranking?.status ?? "–";
  return status === "ok" ? h("span.soft", "ok") : h("span.badge.bad", { title: row.ranking?.error }, status);
}
