// Which queries are listed, in which order: read from the parameters of an address, so that every list has a link.
//
// search   words that the text, the id or an answer's path holds      form     "" headline, "all", or a form
// gold, repo, tag.NAME, leak (yes|no), status (of b: ok, error, …)      a, b     names of two engines
// measure  what they are compared by, the primary one unless told       outcome  win, tie or loss: of b against a
// sort, desc   a column of the list and whether it runs down

import { sortedRows } from "../../common/table.js";
import { pairOf, rowOf } from "../pairs.js";

const TAG_PREFIX = "tag.";
const MOST_TAG_VALUES = 40; // a tag with more is an identifier, nothing to choose from

/** List the rows that pass all filters but that on the outcome, in the order of the run. `rankings` may be null. */
export function filteredRows(data, params, rankings) {
  const pair = pairOf(data, params);
  const tests = [
    formTest(params.form),
    searchTest(params.search),
    tagTest(params),
    ...plainTests(data, params, pair, rankings),
  ].filter(Boolean);
  return data.units.filter((unit) => tests.every((test) => test(unit))).map((unit) => rowOf(data, pair, unit));
}

/** Keep the rows of one outcome. */
export function withOutcome(rows, outcome) {
  return outcome ? rows.filter((row) => row.outcome === outcome) : rows;
}

/** List the rows in the order that the parameters ask for: what the list shows, and what j and k go through. */
export function listedRows(data, params, columns, rankings) {
  return sortedRows(columns, withOutcome(filteredRows(data, params, rankings), params.outcome), sortOf(params));
}

/** Read the order; a list of losses begins with the worst, one of wins with the best. */
export function sortOf(params) {
  if (params.sort) return { id: params.sort, descending: params.desc === "1" };
  if (params.outcome === "win" || params.outcome === "loss")
    return { id: "difference", descending: params.outcome === "win" };
  return null;
}

/** Name the tags that there is something to choose from, with their values. */
export function tagChoices(data) {
  const found = new Map();
  for (const query of data.queries) {
    for (const [name, value] of Object.entries(query.tags)) found.set(name, (found.get(name) ?? new Set()).add(value));
  }
  return [...found]
    .filter(([, values]) => values.size > 1 && values.size <= MOST_TAG_VALUES)
    .map(([name, values]) => ({ name, param: TAG_PREFIX + name, values: [...values].sort() }))
    .sort((x, y) => (x.name < y.name ? -1 : 1));
}

/** Choose by form: headlines unless told otherwise. */
function formTest(form) {
  if (form === "all") return null;
  return form ? (unit) => unit.form === form : (unit) => unit.headline;
}

/** Choose by words: all of them, in any order. */
function searchTest(search) {
  const words = (search ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return null;
  return (unit) => {
    const text = [unit.text, unit.query.id, ...unit.query.targets.map((target) => target.anchor)]
      .join("\n")
      .toLowerCase();
    return words.every((word) => text.includes(word));
  };
}

/** Choose by tags. */
function tagTest(params) {
  const wanted = Object.entries(params)
    .filter(([name]) => name.startsWith(TAG_PREFIX))
    .map(([name, value]) => [name.slice(TAG_PREFIX.length), value]);
  return wanted.length ? (unit) => wanted.every(([name, value]) => unit.query.tags[name] === value) : null;
}

/** Choose by gold set, repository, leak and how the answer of b ended. */
function plainTests(data, params, pair, rankings) {
  return [
    params.gold && ((unit) => unit.gold === params.gold),
    params.repo && ((unit) => unit.repository === params.repo),
    params.leak && ((unit) => unit.leak === (params.leak === "yes")),
    params.status && rankings && ((unit) => rankings.status(pair.b, unit.index) === params.status),
  ];
}
