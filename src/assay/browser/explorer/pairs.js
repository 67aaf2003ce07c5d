// Two engines side by side: which ones, on which measure, and which did better on a query.

import { isReference } from "./data.js";

const SAME_VALUE = 1e-6; // the page stores values with seven digits

/** Return {a, b, measure} from parameters; by default the baseline, its challenger and the primary measure. */
export function pairOf(data, params) {
  const indexOf = (name, fallback) => (data.engineIndex(name) >= 0 ? data.engineIndex(name) : fallback);
  const measure = data.measures.find(({ name }) => name === params.measure) ?? data.primaryMeasure;
  const a = indexOf(params.a, data.baselineIndex);
  return { a, b: indexOf(params.b, data.challengerIndex === a ? otherEngine(data, a) : data.challengerIndex), measure };
}

function otherEngine(data, index) {
  const other = data.engines.findIndex((engine, candidate) => candidate !== index && !isReference(engine));
  return other >= 0 ? other : index;
}

/** Return a unit's row: {unit, a, b, difference (positive is better), outcome, rankA, rankB}. */
export function rowOf(data, pair, unit) {
  const a = data.value(pair.a, pair.measure.name, unit.index);
  const b = data.value(pair.b, pair.measure.name, unit.index);
  const difference = pair.measure.higher ? b - a : a - b;
  const [rankA, rankB] = [firstRank(data, pair.a, unit), firstRank(data, pair.b, unit)];
  return { unit, a, b, difference, outcome: outcomeOf(difference), rankA, rankB };
}

/** Return "win", "tie" or "loss"; null if the measure does not apply. */
function outcomeOf(difference) {
  if (Number.isNaN(difference)) return null;
  if (Math.abs(difference) <= SAME_VALUE) return "tie";
  return difference > 0 ? "win" : "loss";
}

/** Return the rank of the first relevant result; null if none was returned. */
export function firstRank(data, engine, unit) {
  const value = data.value(engine, data.rankMeasure, unit.index);
  return value > 0 ? Math.round(1 / value) : null;
}
