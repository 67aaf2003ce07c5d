// What a page knows of a run. `summary`, `queries` and `values` are read at once, the rest when it is first needed.

import { blockBytes, blockJson, hasBlock } from "../common/blocks.js";
import { parseRankings } from "./rankings.js";

/**
 * Read the run: {summary, results, engines, measures, primary, rankMeasure, level, units, queries, golds, repositories,
 * forms, value(), engineIndex(), unitIndex(), baselineIndex, challengerIndex, unitsOfHeadline, has(), load(), live}.
 *
 * A unit is {index, query, gold, repository, form, headline, leak, text}, with names, not indices; a query is
 * {index, gold, id, line, targets, adversaries, rationale, tags, measures, units: [unit indices]}.
 */
export async function loadData() {
  const [summary, block, bytes] = await Promise.all([blockJson("summary"), blockJson("queries"), blockBytes("values")]);
  return makeData(summary, block, floatsOf(bytes));
}

/** Put the blocks of a run together. */
function makeData(summary, block, floats) {
  const { results } = summary;
  const queries = block.queries.map((query, index) => ({
    ...query,
    index,
    goldIndex: query.gold,
    gold: block.golds[query.gold],
    units: [],
  }));
  const units = block.units.map((unit, index) => namedUnit(unit, index, block, queries));
  for (const unit of units) queries[unit.q].units.push(unit.index);
  const names = results.engines.map((engine) => engine.name);
  const { measures } = summary.values;
  return {
    summary,
    results,
    queries,
    units,
    measures,
    engines: results.engines,
    golds: block.golds,
    repositories: block.repositories,
    forms: block.forms,
    primary: results.comparison.primary,
    rankMeasure: summary.values.rank,
    level: summary.values.level,
    unitsOfHeadline: units.filter((unit) => unit.headline).map((unit) => unit.index),
    baselineIndex: Math.max(0, names.indexOf(results.comparison.baseline)),
    challengerIndex: Math.max(0, names.indexOf(results.challenger)),
    live: summary.live,
    engineIndex: (name) => names.indexOf(name),
    unitIndex: indexOfUnits(units),
    value: valueReader(
      floats,
      measures.map((one) => one.name),
      units.length,
    ),
    has: hasBlock,
    load: blockLoader(),
  };
}

/** Tell whether an engine is there to compare with, not to compete. */
export function isReference(facts) {
  return facts.role === "floor" || facts.role === "ceiling";
}

/** Read the values as they lie in the block: little-endian, at any offset. */
function floatsOf(bytes) {
  if (!bytes) return new Float32Array(0);
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
}

/** Give a unit the names that it holds as indices. */
function namedUnit(unit, index, block, queries) {
  const query = queries[unit.q];
  return {
    ...unit,
    index,
    query,
    gold: query.gold,
    form: block.forms[unit.form],
    repository: block.repositories[unit.repo],
  };
}

/** Make a look-up of units by gold set, query and form; -1 where there is none. */
function indexOfUnits(units) {
  const known = new Map(units.map((unit) => [JSON.stringify([unit.gold, unit.query.id, unit.form]), unit.index]));
  return (gold, id, form) => known.get(JSON.stringify([gold, id, form])) ?? -1;
}

/** Make the reader of values: by engine, measure and unit; NaN where a measure does not apply. */
function valueReader(floats, names, units) {
  const places = new Map(names.map((name, place) => [name, place]));
  return (engine, measure, unit) => {
    const place = places.get(measure);
    return place === undefined ? NaN : doubleOf(floats[(engine * names.length + place) * units + unit]);
  };
}

/** Give the double that a float stands for, as far as seven digits tell: 0.6, not 0.60000002384. */
function doubleOf(value) {
  return Number.isInteger(value) ? value : Number(value.toPrecision(7));
}

/** Make the loader of the blocks that are big; null where the page does not have one. */
function blockLoader() {
  const loading = new Map();
  const readers = {
    rankings: async () => {
      const bytes = await blockBytes("rankings");
      return bytes && parseRankings(bytes);
    },
    sources: () => blockJson("sources"),
    traces: () => blockJson("traces"),
  };
  return (name) => {
    if (!loading.has(name)) loading.set(name, readers[name]());
    return loading.get(name);
  };
}
