// What several sections say of engines and comparisons, in the words that the other documents use.

import { fixed, signed } from "../../common/format.js";
import { isReference } from "../data.js";

const TONE_SIGNS = { good: "▲", bad: "▼", warning: "?", plain: "=" };

/** Name an engine, marked where it answered nothing. */
export function shownName(data, name) {
  const facts = data.engines[data.engineIndex(name)];
  return facts?.answered_nothing ? `${name} (failed)` : name;
}

/** Say what an engine is in this run, where it is something special. */
export function roleOf(data, name) {
  const facts = data.engines[data.engineIndex(name)];
  if (name === data.results.comparison.baseline) return "baseline";
  return facts && facts.role !== "contestant" ? facts.role : "";
}

/** Find a measure by its name: {name, low, high, higher}. */
export function measureOf(data, name) {
  return data.measures.find((one) => one.name === name) ?? { name, low: null, high: null, higher: true };
}

/** List the names of engines by a measure's mean, best first; those that have none go last. */
export function rankedNames(data, measure = data.primary) {
  const means = new Map(meansOf(data, measure).map((row) => [row.engine, row.mean]));
  const way = measureOf(data, measure).higher ? -1 : 1;
  const key = (name) => (means.has(name) ? way * means.get(name) : Infinity);
  const names = data.engines.map((facts) => facts.name);
  return names.sort((a, b) => compareNumbers(key(a), key(b)) || (a < b ? -1 : 1));
}

/** Order two numbers, infinite ones too. */
function compareNumbers(a, b) {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** Give the means of a measure, one an engine. */
export function meansOf(data, measure) {
  return data.results.comparison.means.filter((row) => row.measure === measure);
}

/** Give the comparisons on a measure: the family's on the primary one, the others without a verdict. */
export function comparisonsOn(data, measure) {
  const { rows, secondary } = data.results.comparison;
  return [...rows, ...secondary].filter((row) => row.measure === measure);
}

/** Leave floor and ceiling out of a picture, whose axis they would stretch; where there is nothing else they stay. */
export function withoutReferences(data, rows) {
  const rest = rows.filter((row) => !isReference(data.engines[data.engineIndex(row.engine)]));
  return rest.length ? rest : rows;
}

/** Write a mean with its interval. */
export function meanText(mean, low, high) {
  return `${fixed(mean)} ${endsText(low, high)}`;
}

/** Write an interval. */
export function endsText(low, high) {
  return `[${fixed(low, 2)}, ${fixed(high, 2)}]`;
}

/** Write a difference with its interval. */
export function differenceText(row) {
  return `${signed(row.difference)} ${signedEnds(row.interval)}`;
}

/** Write the interval of a difference. */
export function signedEnds(interval) {
  return `[${signed(interval.low)}, ${signed(interval.high)}]`;
}

/** Write a p-value. */
export function pText(value) {
  if (value === null || value === undefined) return "–";
  return value >= 0.0001 ? fixed(value, 4) : "<0.0001";
}

/** Give the p-value that a verdict rests on. */
export function decidingP(row) {
  return row.p_adjusted ?? row.p;
}

/** Give the sign of a tone, for those who do not see its colour. */
export function toneSign(tone) {
  return TONE_SIGNS[tone];
}

/** Give the sign of a verdict: that of its tone, and one of its own for what is at least as good. */
export function verdictSign(row) {
  return row.verdict === "not inferior" ? "≥" : toneSign(row.tone);
}

/** Warn under what rests on too few queries. */
export function fewText(data, queries) {
  const { few } = data.summary;
  return queries < few ? `Fewer than ${few} queries: noise.` : "";
}

/** Put sentences together; what is empty is left out. */
export function sentences(...parts) {
  return parts.filter(Boolean).join(" ");
}
