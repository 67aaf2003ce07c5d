// Two engines side by side: their values on a query, and which hits of their rankings are the same.

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

// --- rankings: which hits count, and which are the same, by the rules of scoring/match.py --------------------------

/** Return each hit's rank among distinct hits, as measures count them; null for a repeated hit. */
export function distinctRanks(hits, level) {
  const known = new Set();
  return hits.map(({ path, start, end }) => {
    const key = level === "file" ? path : JSON.stringify([path, start, end]);
    if (known.has(key)) return null;
    known.add(key);
    return known.size;
  });
}

export function distinctHits(hits, level) {
  const ranks = distinctRanks(hits, level);
  return hits.filter((_, index) => ranks[index] !== null);
}

/**
 * Map ranks of the second ranking to the rank of the same hit in the first, both among distinct hits. Each hit is
 * matched once: equal lines first, then hits that share a line or, at file level, the file.
 */
export function matchDistinct(before, after, level) {
  const equalPaths = (a, b) => a.path === b.path;
  const equalLines = (a, b) => a.path === b.path && a.start === b.start && a.end === b.end;
  const [old, current] = [distinctHits(before, level), distinctHits(after, level)];
  const free = new Set(old.keys());
  const matches = new Map();
  for (const isSame of [equalLines, level === "file" ? equalPaths : shareLines]) {
    current.forEach((hit, index) => {
      if (matches.has(index + 1)) return;
      const match = [...free].find((candidate) => isSame(old[candidate], hit));
      if (match === undefined) return;
      matches.set(index + 1, match + 1);
      free.delete(match);
    });
  }
  return matches;
}

/** Return whether two spans share a line; a span without lines is the whole file. */
export function shareLines(a, b) {
  return a.path === b.path && (!a.start || !b.start || (a.start <= b.end && b.start <= a.end));
}
