// What several sections say of engines and comparisons, in the words that the other documents use.

import { fixed, signed } from "../../common/format.js";

const VERDICT_TONES = { better: "good", worse: "bad", equivalent: "plain", "not inferior": "plain", inconclusive: "warning" };
const TONE_SIGNS = { good: "▲", bad: "▼", warning: "?", plain: "=" };
export const FEW_QUERIES = 30; // below this many a single query moves a mean by three points and more

/** Name an engine, marked where it answered nothing. */
export function shownName(data, name) {
  const facts = data.engines[data.engineIndex(name)];
  return facts && isDead(facts) ? `${name} (failed)` : name;
}

/** Tell whether every query of an engine failed: its values are then no measurement. */
export function isDead(facts) {
  return facts.asked > 0 && facts.failed === facts.asked;
}

/** Tell whether an engine is there to compare with, not to compete. */
export function isReference(facts) {
  return facts.role === "floor" || facts.role === "ceiling";
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
export function compareNumbers(a, b) {
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
  return value >= 0.0001 ? value.toFixed(4) : "<0.0001";
}

/** Give the p-value that a verdict rests on. */
export function decidingP(row) {
  return row.p_adjusted ?? row.p;
}

/** Write a number with one significant digit: a smallest detectable difference is not known better. */
export function oneDigit(value) {
  if (value === null || value === undefined) return "none";
  return value === 0 ? "0" : String(Number(value.toPrecision(1)));
}

/** Say the verdict on a comparison, without how far it reaches. */
export function verdictText(row) {
  if (!row.verdict) return "no verdict";
  if (row.identical) return "changed no ranking";
  const within = row.within_margin && (row.verdict === "better" || row.verdict === "worse");
  return within ? `${row.verdict}, within the margin` : row.verdict;
}

/** Colour a comparison by its verdict; one of equals is no good news: something may not be connected. */
export function verdictTone(row) {
  if (row.identical) return "warning";
  return VERDICT_TONES[row.verdict] ?? "plain";
}

/** Give the sign of a tone, for those who do not see its colour. */
export function toneSign(tone) {
  return TONE_SIGNS[tone];
}

/** Warn under what rests on too few queries. */
export function fewText(queries) {
  return queries < FEW_QUERIES ? `Fewer than ${FEW_QUERIES} queries: noise.` : "";
}

/** Put sentences together; what is empty is left out. */
export function sentences(...parts) {
  return parts.filter(Boolean).join(" ");
}
