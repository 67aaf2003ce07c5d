// Two engines side by side: which ones, by what, and who did better on a query.

import { isReference } from "./data.js";

const SAME_VALUE = 1e-6; // two values closer than this are one: the page holds them with seven digits

/** Read what two engines are compared, and by what; the baseline and its challenger unless told otherwise. */
export function pairOf(data, params) {
  const named = (name, otherwise) => (data.engineIndex(name) >= 0 ? data.engineIndex(name) : otherwise);
  const measure =
    data.measures.find((one) => one.name === params.measure) ?? data.measures.find((one) => one.name === data.primary);
  const a = named(params.a, data.baselineIndex);
  return { a, b: named(params.b, data.challengerIndex === a ? otherEngine(data, a) : data.challengerIndex), measure };
}

/** Choose somebody to compare an engine with. */
function otherEngine(data, engine) {
  const found = data.engines.findIndex((one, place) => place !== engine && !isReference(one));
  return found >= 0 ? found : engine;
}

/** Give a unit's row of the list: {unit, a, b, difference (good is positive), outcome, rankA, rankB}. */
export function rowOf(data, pair, unit) {
  const a = data.value(pair.a, pair.measure.name, unit.index);
  const b = data.value(pair.b, pair.measure.name, unit.index);
  const difference = pair.measure.higher ? b - a : a - b;
  return {
    unit,
    a,
    b,
    difference,
    outcome: outcomeNamed(difference),
    rankA: rankAt(data, pair.a, unit),
    rankB: rankAt(data, pair.b, unit),
  };
}

/** Name an outcome; null where the measure does not apply. */
function outcomeNamed(difference) {
  if (Number.isNaN(difference)) return null;
  if (Math.abs(difference) <= SAME_VALUE) return "tie";
  return difference > 0 ? "win" : "loss";
}

/** Give the rank of the first right answer; null where there is none among the results. */
export function rankAt(data, engine, unit) {
  const value = data.value(engine, data.rankMeasure, unit.index);
  return value > 0 ? Math.round(1 / value) : null;
}
